#include "server/report/annotate/line.h"

#include "base/text.h"

bool
annotate_is_better(const struct report_frame *frame, struct annotate_named own)
{
    if (frame->n_symbols == 0)
        return false;
    const struct report_symbol *last = &frame->symbols[frame->n_symbols - 1];
    /* The client's own names are those that the text has already. */
    if (!last->function || (last->source && strcmp(last->source, "client") == 0))
        return false;
    return !own.has_name || (last->file && !own.has_place);
}

bool
annotate_is_blank(uint8_t c)
{
    /* 0xc2 0xa0 is a no-break space in UTF-8: mail programs and web pages put it into reports. */
    return c == ' ' || c == '\t' || c == 0xc2 || c == 0xa0;
}

/* Does an item of an array end here? */
static bool
is_item_end(struct fz_span rest, size_t at)
{
    return at + 3 < rest.len && memcmp(rest.data + at, "\", \"", 4) == 0;
}

/* Leave the marks of an array around an item out of the content. */
static void
trim_item(struct annotate_line *line)
{
    const uint8_t *text = line->all.data;
    size_t start = line->start, end = line->end;
    while (start < end &&
           (text[start] == '[' || text[start] == '(' || annotate_is_blank(text[start])))
        start++;
    if (start == end || text[start] != '"')
        return;
    while (end > start + 1 && (text[end - 1] == ',' || text[end - 1] == ']' ||
                               text[end - 1] == ')' || annotate_is_blank(text[end - 1])))
        end--;
    /* Without a quote mark it is not an item, and brackets are a part of the text. */
    line->is_quoted = true;
    line->start = start + 1;
    line->end = end > start + 1 && text[end - 1] == '"' ? end - 1 : line->end;
}

struct annotate_line
annotate_take_line(struct fz_span rest, bool plain)
{
    size_t len = 0;
    /* Carriage returns alone end lines, too: in texts from old Macs. */
    while (len < rest.len && rest.data[len] != '\n' && rest.data[len] != '\r' &&
           !(plain && is_item_end(rest, len)))
        len++;
    size_t content = len;
    /* The quote mark and the comma end an item of an array; its blank belongs to the next one. */
    if (len < rest.len && rest.data[len] == '"')
        len += 2;
    else if (len + 1 < rest.len && rest.data[len] == '\r' && rest.data[len + 1] == '\n')
        len++;
    len += len < rest.len;
    struct annotate_line line = {.all = fz_span_make(rest.data, len), .end = content};
    /* Blanks at the end are left out of the content, and so stay where they are. */
    while (line.end > 0 &&
           (line.all.data[line.end - 1] == ' ' || line.all.data[line.end - 1] == '\t'))
        line.end--;
    /* Quoted mails have '>' before each line; 0xef 0xbb 0xbf is a byte order mark. */
    while (line.start < line.end &&
           (annotate_is_blank(line.all.data[line.start]) || line.all.data[line.start] == '>' ||
            line.all.data[line.start] == 0xef || line.all.data[line.start] == 0xbb ||
            line.all.data[line.start] == 0xbf))
        line.start++;
    if (plain)
        trim_item(&line);
    return line;
}

size_t
annotate_skip_digits(struct fz_span text, size_t at, bool hex)
{
    while (at < text.len &&
           ((text.data[at] >= '0' && text.data[at] <= '9') ||
            (hex && (text.data[at] | 0x20) >= 'a' && (text.data[at] | 0x20) <= 'f')))
        at++;
    return at;
}

size_t
annotate_take_address(struct fz_span text, size_t at, uint64_t *ret)
{
    if (at + 2 >= text.len || text.data[at] != '0' || (text.data[at + 1] | 0x20) != 'x')
        return 0;
    /* Any number of digits: some reporters pad to 16, others do not. */
    size_t end = annotate_skip_digits(text, at + 2, true);
    if (end == at + 2 || !fz_text_u64(fz_span_between(text, at, end), ret))
        return 0;
    return end;
}

/* "* frame #4: 0x104004068 Shop`work_step": the name follows the image. */
static bool
read_lldb_frame(struct annotate_line *line)
{
    static const char key[] = "frame #";
    struct fz_span text = fz_span_until(line->all, line->end);
    size_t at = line->start;
    /* lldb marks the selected frame with an asterisk. */
    while (at < text.len && (text.data[at] == '*' || annotate_is_blank(text.data[at])))
        at++;
    if (!fz_span_begins(fz_span_from(text, at), key))
        return false;
    size_t digits = at + strlen(key), end = annotate_skip_digits(text, digits, false);
    if (end == digits || end + 2 >= text.len || text.data[end] != ':' || text.data[end + 1] != ' ')
        return false;
    end = annotate_take_address(text, end + 2, &line->addr);
    if (!end)
        return false;
    const uint8_t *tick = end < text.len ? memchr(text.data + end, '`', text.len - end) : NULL;
    line->name = tick ? (size_t)(tick - text.data) + 1 : text.len;
    line->is_lldb = true;
    return true;
}

/* A number, the image, the address; in plain texts the number may be missing. */
bool
annotate_read_frame(struct annotate_line *line, bool plain)
{
    struct fz_span text = fz_span_until(line->all, line->end);
    if (plain && read_lldb_frame(line))
        return true;
    size_t at = annotate_skip_digits(text, line->start, false);
    bool has_number = at > line->start && at < text.len && annotate_is_blank(text.data[at]);
    uint64_t first;
    /* A number and then addresses alone: a list of addresses, not a frame. */
    bool is_list =
        at < text.len && annotate_take_address(text, at + (text.data[at] == '('), &first);
    /* In a report every frame has a number; without one it is another line with an address. */
    if (!has_number && (!plain || is_list))
        return false;
    /* The image's name may have blanks in it, so the address is searched for. */
    for (; at + 2 < text.len; at++) {
        if (!annotate_is_blank(text.data[at]))
            continue;
        size_t end = annotate_take_address(text, at + 1, &line->addr);
        if (end && (end == text.len || annotate_is_blank(text.data[end]))) {
            line->name = end;
            return true;
        }
    }
    return false;
}

/* "work_step + 8 at work.c:5:3 [opt]" */
static struct annotate_named
read_lldb_names(const struct annotate_line *line)
{
    struct fz_span text = fz_span_between(line->all, line->name, line->end);
    struct annotate_named named = {.has_name =
                                       text.len && !fz_span_begins(text, "___lldb_unnamed_symbol")};
    /* From the end: a function's name may hold " at ", too. */
    for (size_t i = text.len; i > 4 && !named.has_place; i--) {
        if (memcmp(text.data + i - 4, " at ", 4) == 0)
            named.has_place = fz_text_contains(fz_span_from(text, i), ":");
    }
    return named;
}

struct annotate_named
annotate_read_names(const struct annotate_line *line)
{
    if (line->is_lldb)
        return read_lldb_names(line);
    static const char *const none[] = {"???",
                                       "<redacted>",
                                       "0x",
                                       "(null)",
                                       "<unknown>",
                                       "_mh_execute_header",
                                       "__mh_execute_header"};
    struct annotate_named named = {.has_name = true};
    struct fz_span text = fz_span_between(line->all, line->name, line->end);
    while (text.len && annotate_is_blank(*text.data))
        text = fz_span_from(text, 1);
    size_t at = annotate_skip_digits(line->all, line->start, false);
    struct fz_span image = fz_span_between(line->all, at, line->name);
    while (image.len && annotate_is_blank(*image.data))
        image = fz_span_from(image, 1);
    size_t len = 0;
    while (len < text.len &&
           !(text.data[len] == ' ' && len + 1 < text.len && text.data[len + 1] == '+'))
        len++;
    /* "Demo + 16488": old systems write the image's name where they do not know the function's. */
    bool is_image = len && image.len > len && memcmp(image.data, text.data, len) == 0 &&
                    annotate_is_blank(image.data[len]);
    for (size_t i = 0; i < FZ_ARRAY_LEN(none); i++)
        named.has_name = named.has_name && !fz_span_begins(text, none[i]);
    /* KSCrash writes both: "0x104000000 + 16488 (work_step + 8)". */
    if (!text.len || is_image)
        named.has_name = false;
    size_t end = text.len;
    /* The place is before this mark. */
    if (end > 10 && fz_text_contains(fz_span_between(text, end - 10, end), "[inlined]"))
        end -= 10;
    if (end && text.data[end - 1] == ')') {
        size_t digits = end - 1;
        while (digits > 0 && text.data[digits - 1] >= '0' && text.data[digits - 1] <= '9')
            digits--;
        /* "(work.c:5)": digits between a colon and the parenthesis. */
        named.has_place = digits < end - 1 && digits > 0 && text.data[digits - 1] == ':';
    }
    return named;
}

struct fz_span
annotate_line_end(const struct annotate_line *line)
{
    size_t at = line->all.len;
    while (at > line->end && (line->all.data[at - 1] == '\n' || line->all.data[at - 1] == '\r'))
        at--;
    return fz_span_from(line->all, at);
}
