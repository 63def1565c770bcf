/*
 * Names into the frame lines of a text:
 *
 *   4   Shop   0x0000000104004068 0x104000000 + 16488
 *   4   Shop   0x0000000104004068 inner(int) + 0 (work.c:2) [inlined]
 *   4   Shop   0x0000000104004068 work_step + 8 (work.c:5)
 *
 * A line belongs to a frame of the model by its thread's heading, its order and its address. Calls
 * that are inlined have lines of their own with the number of their frame, so that the lines behind
 * them keep theirs. The addresses of an exception that has no lines, "(0x1845f8a10 0x1845f8b00)",
 * become lines where a name is known.
 */
#include "server/report/annotate_parts.h"

#include <stdlib.h>

#include "base/text.h"
#include "server/report/render_crash.h"

enum { AHEAD_MAX = 256 }; /* frames that the model may have and the text's lines not */

/* One line, taken apart. All offsets are from its start. */
struct line {
    struct fz_span all; /* with its end */
    size_t start, end;  /* of the content: without quote marks, white space, line break */
    size_t behind;      /* of a frame: behind the address */
    uint64_t addr;
};

/* The frames that the next lines may be of. */
struct place {
    const struct report_frame *frames;
    size_t n, next;
};

struct annotate {
    const struct report *r;
    struct fz_buffer *out;
    struct fz_span line_end; /* of the lines so far, for a last line that has none */
    bool *used;              /* which threads had their heading */
    bool is_plain;           /* a text without headings */
    bool exception_used;
    size_t thread; /* of a plain text: the one that is read */
    struct place place;
    size_t n_found;
    /* Lines of inlined calls that wait for the line of their frame. */
    struct fz_span group;
    const struct report_frame *group_frame;
    struct annotate_named group_named;
};

/* The two bytes of a no-break space, which mail programs make of spaces, count too. */
static bool
is_blank(uint8_t c)
{
    return c == ' ' || c == '\t' || c == 0xc2 || c == 0xa0;
}

static struct fz_span
sub(struct fz_span span, size_t from, size_t to)
{
    return from < to && to <= span.len ? fz_span_make(span.data + from, to - from)
                                       : (struct fz_span){NULL, 0};
}

static bool
begins(struct fz_span text, const char *word)
{
    size_t len = strlen(word);
    return text.len >= len && memcmp(text.data, word, len) == 0;
}

static bool
contains(struct fz_span text, const char *word)
{
    size_t len = strlen(word);
    for (size_t i = 0; i + len <= text.len; i++) {
        if (memcmp(text.data + i, word, len) == 0)
            return true;
    }
    return false;
}

/* A line ends with LF, CRLF, or CR alone as on old Macs. */
static struct line
take_line(struct fz_span rest)
{
    size_t len = 0;
    while (len < rest.len && rest.data[len] != '\n' && rest.data[len] != '\r')
        len++;
    size_t content = len;
    if (len + 1 < rest.len && rest.data[len] == '\r' && rest.data[len + 1] == '\n')
        len++;
    len += len < rest.len;
    struct line line = {.all = fz_span_make(rest.data, len), .end = content};
    while (line.end > 0 &&
           (line.all.data[line.end - 1] == ' ' || line.all.data[line.end - 1] == '\t'))
        line.end--;
    while (line.start < line.end &&
           (is_blank(line.all.data[line.start]) || line.all.data[line.start] == '>' ||
            line.all.data[line.start] == 0xef || line.all.data[line.start] == 0xbb ||
            line.all.data[line.start] == 0xbf))
        line.start++;
    return line;
}

static size_t
skip_digits(struct fz_span text, size_t at, bool hex)
{
    while (at < text.len &&
           ((text.data[at] >= '0' && text.data[at] <= '9') ||
            (hex && (text.data[at] | 0x20) >= 'a' && (text.data[at] | 0x20) <= 'f')))
        at++;
    return at;
}

/* A hexadecimal word at `at`; 0 if there is none, else its end. */
static size_t
take_address(struct fz_span text, size_t at, uint64_t *ret)
{
    if (at + 2 >= text.len || text.data[at] != '0' || (text.data[at + 1] | 0x20) != 'x')
        return 0;
    size_t end = skip_digits(text, at + 2, true);
    if (end == at + 2 || !fz_text_u64(sub(text, at, end), ret))
        return 0;
    return end;
}

/* "4   Shop   0x0000000104004068 ...": a number, the image, the address. */
static bool
read_frame(struct line *line)
{
    struct fz_span text = sub(line->all, 0, line->end);
    size_t at = skip_digits(text, line->start, false);
    if (at == line->start || at >= text.len || !is_blank(text.data[at]))
        return false;
    for (; at + 2 < text.len; at++) {
        if (!is_blank(text.data[at]))
            continue;
        size_t end = take_address(text, at + 1, &line->addr);
        if (end && (end == text.len || is_blank(text.data[end]))) {
            line->behind = end;
            return true;
        }
    }
    return false;
}

/* What the line says behind the address: "0x104000000 + 16488" and "Shop + 16488" are no names. */
static struct annotate_named
read_names(const struct line *line)
{
    static const char *const none[] = {"???",
                                       "<redacted>",
                                       "0x",
                                       "(null)",
                                       "<unknown>",
                                       "_mh_execute_header",
                                       "__mh_execute_header"};
    struct annotate_named named = {.has_name = true};
    struct fz_span text = sub(line->all, line->behind, line->end);
    while (text.len && is_blank(*text.data))
        text = sub(text, 1, text.len);
    size_t at = skip_digits(line->all, line->start, false);
    struct fz_span image = sub(line->all, at, line->behind);
    while (image.len && is_blank(*image.data))
        image = sub(image, 1, image.len);
    size_t len = 0;
    while (len < text.len &&
           !(text.data[len] == ' ' && len + 1 < text.len && text.data[len + 1] == '+'))
        len++;
    bool is_image = len && image.len > len && memcmp(image.data, text.data, len) == 0 &&
                    is_blank(image.data[len]);
    for (size_t i = 0; i < FZ_ARRAY_LEN(none); i++)
        named.has_name = named.has_name && !begins(text, none[i]);
    /* KSCrash writes both: "0x104000000 + 16488 (work_step + 8)". */
    if (!text.len || is_image)
        named.has_name = false;
    size_t end = text.len;
    if (end > 10 && contains(sub(text, end - 10, end), "[inlined]"))
        end -= 10;
    if (end && text.data[end - 1] == ')') {
        size_t digits = end - 1;
        while (digits > 0 && text.data[digits - 1] >= '0' && text.data[digits - 1] <= '9')
            digits--;
        named.has_place = digits < end - 1 && digits > 0 && text.data[digits - 1] == ':';
    }
    return named;
}

/* The frame of the model that a line with this address is of; NULL if it is of none. */
static const struct report_frame *
find_frame(struct place *place, uint64_t addr)
{
    size_t end = place->n - place->next > AHEAD_MAX ? place->next + AHEAD_MAX : place->n;
    for (size_t i = place->next; i < end; i++) {
        if (place->frames[i].addr != addr)
            continue;
        place->next = i + 1;
        return &place->frames[i];
    }
    return NULL;
}

/* A text without headings: the threads one after another. */
static const struct report_frame *
find_plain(struct annotate *a, uint64_t addr)
{
    for (;;) {
        const struct report_frame *frame = find_frame(&a->place, addr);
        if (frame || a->thread == a->r->n_threads)
            return frame;
        size_t next = ++a->thread;
        a->place = next < a->r->n_threads
                       ? (struct place){a->r->threads[next].frames, a->r->threads[next].n_frames, 0}
                       : (struct place){a->r->exception_frames, a->r->n_exception_frames, 0};
    }
}

static void
put(struct annotate *a, struct fz_span bytes)
{
    fz_buffer_append(a->out, bytes.data, bytes.len);
}

/* The line break at the end of the line; empty for the last line of a text that has none. */
static struct fz_span
line_end_of(const struct line *line)
{
    size_t at = line->all.len;
    while (at > line->end && (line->all.data[at - 1] == '\n' || line->all.data[at - 1] == '\r'))
        at--;
    return sub(line->all, at, line->all.len);
}

/* The line once for each name: what was before the name, the name, the line's own end. */
static void
put_named(struct annotate *a, const struct line *line, const struct report_frame *frame)
{
    struct fz_span end = line_end_of(line);
    for (size_t k = 0; k < frame->n_symbols; k++) {
        put(a, sub(line->all, 0, line->behind));
        fz_buffer_char(a->out, ' ');
        render_crash_symbol(a->out, &frame->symbols[k]);
        put(a, end.len || k + 1 == frame->n_symbols ? end : a->line_end);
    }
}

/* Lines of inlined calls without the line that should follow them. */
static void
flush(struct annotate *a)
{
    put(a, a->group);
    a->group = (struct fz_span){NULL, 0};
    a->group_frame = NULL;
}

static void
annotate_frame(struct annotate *a, const struct line *line)
{
    struct annotate_named named = read_names(line);
    const struct report_frame *frame = a->group_frame;
    bool joins = frame && frame->addr == line->addr;
    if (!joins) {
        flush(a);
        frame = a->is_plain ? find_plain(a, line->addr) : find_frame(&a->place, line->addr);
        a->n_found += frame != NULL;
        a->group_named = (struct annotate_named){false, false};
    }
    named.has_name = named.has_name || a->group_named.has_name;
    named.has_place = named.has_place || a->group_named.has_place;
    if (frame && contains(sub(line->all, line->behind, line->end), "[inlined]")) {
        a->group =
            a->group.len ? fz_span_make(a->group.data, a->group.len + line->all.len) : line->all;
        a->group_frame = frame;
        a->group_named = named;
        return;
    }
    if (frame && annotate_is_better(frame, named)) {
        a->group = (struct fz_span){NULL, 0};
        a->group_frame = NULL;
        put_named(a, line, frame);
    } else {
        flush(a);
        put(a, line->all);
    }
}

/* "Thread 3 Crashed:", "Thread 3:: name": the frames that follow are of that thread. */
static bool
take_thread(struct annotate *a, struct fz_span text)
{
    const struct report *r = a->r;
    uint64_t number;
    if (!begins(text, "Thread "))
        return false;
    size_t end = skip_digits(text, 7, false);
    struct fz_span rest = sub(text, end, text.len);
    if (!fz_text_u64(sub(text, 7, end), &number) || !contains(rest, ":"))
        return false;
    a->place = (struct place){NULL, 0, 0};
    if (begins(rest, " name:") || contains(rest, "crashed with") || contains(rest, "thread state"))
        return true;
    for (size_t i = 0; i < r->n_threads; i++) {
        if (a->used[i] || r->threads[i].index < 0 || (uint64_t)r->threads[i].index != number)
            continue;
        a->used[i] = true;
        a->place = (struct place){r->threads[i].frames, r->threads[i].n_frames, 0};
        break;
    }
    return true;
}

static void
take_heading(struct annotate *a, struct fz_span text)
{
    bool is_exception =
        begins(text, "Last Exception Backtrace") || begins(text, "Application Specific Backtrace");
    if (take_thread(a, text))
        return;
    if (is_exception) {
        a->place = (struct place){NULL, 0, 0};
        if (!a->exception_used)
            a->place = (struct place){a->r->exception_frames, a->r->n_exception_frames, 0};
        a->exception_used = a->exception_used || begins(text, "Last");
    } else if (begins(text, "Binary Images")) {
        a->place = (struct place){NULL, 0, 0};
    }
}

/* Nothing but addresses from `at` to the end of the line, in brackets or not. */
static bool
is_list(const struct line *line, size_t at)
{
    struct fz_span text = sub(line->all, 0, line->end);
    uint64_t addr;
    bool any = false;
    if (at < text.len && text.data[at] == '(')
        at++;
    while (at < text.len) {
        size_t end = take_address(text, at, &addr);
        if (!end)
            return any && text.data[at] == ')' && at + 1 == text.len;
        any = true;
        at = end;
        while (at < text.len && (is_blank(text.data[at]) || text.data[at] == ','))
            at++;
    }
    return any;
}

static void
put_list_frame(struct annotate *a, const struct report_frame *frame, size_t number,
               struct fz_span end)
{
    const struct report_image *image = report_apple_frame_image(a->r, frame);
    const char *name = image && image->name ? image->name : "???";
    size_t n_lines = frame->n_symbols ? frame->n_symbols : 1;
    for (size_t k = 0; k < n_lines; k++) {
        fz_buffer_printf(a->out, "%-3zu ", number);
        render_crash_text(a->out, name);
        fz_buffer_printf(a->out, "%*s\t0x%016llx ",
                         strlen(name) < 30 ? (int)(30 - strlen(name)) : 0, "",
                         (unsigned long long)frame->addr);
        if (frame->n_symbols)
            render_crash_symbol(a->out, &frame->symbols[k]);
        else if (image && image->addr)
            fz_buffer_printf(a->out, "0x%llx + %llu", (unsigned long long)image->addr,
                             (unsigned long long)(frame->addr - image->addr));
        else
            fz_buffer_text(a->out, "???");
        put(a, end);
    }
}

/* The addresses of an exception: as lines, if one of them has a name. */
static bool
annotate_list(struct annotate *a, const struct line *line)
{
    const struct report *r = a->r;
    struct fz_span text = sub(line->all, 0, line->end);
    size_t at = line->start;
    bool named = false;
    if (!a->place.frames || a->place.frames != r->exception_frames)
        return false;
    if (begins(sub(text, at, text.len), "Last Exception Backtrace")) {
        while (at < text.len && text.data[at] != '(')
            at++;
    }
    if (at >= text.len || !is_list(line, at))
        return false;
    for (size_t i = 0; i < r->n_exception_frames; i++)
        named = named || r->exception_frames[i].n_symbols;
    struct fz_span end = sub(line->all, line->end, line->all.len);
    if (!end.len)
        end = a->line_end;
    if (named && at > line->start) {
        size_t head = at;
        while (head > 0 && is_blank(text.data[head - 1]))
            head--;
        put(a, sub(text, 0, head));
        put(a, end);
    }
    for (size_t addr_at = at + (text.data[at] == '('); addr_at < text.len;) {
        uint64_t addr;
        size_t addr_end = take_address(text, addr_at, &addr);
        if (!addr_end)
            break;
        size_t number = a->place.next;
        const struct report_frame *frame = find_frame(&a->place, addr);
        a->n_found += frame != NULL;
        if (named && frame)
            put_list_frame(a, frame, number, end);
        addr_at = addr_end;
        while (addr_at < text.len && (is_blank(text.data[addr_at]) || text.data[addr_at] == ','))
            addr_at++;
    }
    if (!named)
        put(a, line->all);
    return true;
}

size_t
annotate_crash(const struct report *report, struct fz_span raw, struct fz_buffer *out)
{
    struct annotate a = {.r = report, .out = out, .line_end = fz_span_cstr("\n")};
    a.used = calloc(report->n_threads ? report->n_threads : 1, sizeof(*a.used));
    if (!a.used) {
        out->failed = true;
        return 0;
    }
    a.is_plain = strcmp(report->format, "text") == 0;
    if (a.is_plain && report->n_threads)
        a.place = (struct place){report->threads[0].frames, report->threads[0].n_frames, 0};
    for (struct fz_span rest = raw; rest.len;) {
        struct line line = take_line(rest);
        rest = sub(rest, line.all.len, rest.len);
        if (rest.len)
            a.line_end = line_end_of(&line);
        if (!a.is_plain && line.start < line.end)
            take_heading(&a, sub(line.all, line.start, line.end));
        if (read_frame(&line)) {
            annotate_frame(&a, &line);
            continue;
        }
        flush(&a);
        if (!annotate_list(&a, &line))
            put(&a, line.all);
    }
    flush(&a);
    free(a.used);
    return a.n_found;
}
