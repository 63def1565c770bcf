/*
 * Apple's crash text (.crash), versions 104, 105, 12 and older, as the systems, Xcode,
 * PLCrashReporter, KSCrash and Hockey write it:
 *
 *   Process:             Demo [4242]                         head: "Key: value"
 *   Exception Type:  EXC_BAD_ACCESS (SIGSEGV)
 *
 *   Application Specific Information:                        a section: lines of text
 *   objc_msgSend() selector name: self
 *
 *   Thread 0 Crashed:: Dispatch queue: com.apple.main-thread
 *   0   Demo    0x0000000104004068 0x104000000 + 16488       frame.h
 *
 *   Thread 0 crashed with ARM Thread State (64-bit):
 *       x0: 0x0000000000000015     x1: 0x0000000000000000
 *
 *   Binary Images:
 *   0x104000000 - 0x10400bfff Demo arm64  <4c4c...> /.../Demo   images.c
 *
 * The parts may come in any order, and each may be missing.
 */
#include "server/ingest/text/text.h"

#include "server/ingest/common/format.h"

enum { LINES_NOTED_MAX = 8, INDENT_MAX = 32 };

enum state {
    IN_HEAD,
    IN_SECTION,
    IN_FRAMES,
    IN_EXCEPTION,
    IN_BACKTRACE,
    IN_REGISTERS,
    IN_IMAGES,
    IN_REST
};

/* "kernel messages:" and other headings in small letters: alone on a line, not indented. */
static bool
is_small_heading(const struct ingest_text_lines *lines, struct fz_span line,
                 struct fz_span *ret_key)
{
    struct fz_span value;
    return lines->indent == 0 && line.data[0] >= 'a' && line.data[0] <= 'z' &&
           fz_span_ends(line, ":") && ingest_text_split_words(line, ret_key, &value) &&
           value.len == 0;
}

/* Keys that hardly any other text has; with two more keys of the head it is a crash text. */
static bool
is_typical(struct fz_span key)
{
    static const char *const keys[] = {"Incident Identifier", "CrashReporter Key", "Hardware Model",
                                       "Code Type",           "Report Version",    "Crashed Thread",
                                       "Triggered by Thread", "Parent Process",    NULL};
    return ingest_is_one_of(key, keys);
}

static bool
is_head_key(struct fz_span key)
{
    static const char *const keys[] = {"Process",    "Path",      "Identifier", "Version",
                                       "OS Version", "Date/Time", NULL};
    return ingest_is_one_of(key, keys) || is_typical(key);
}

/* Keys of the head that may follow a section without an empty line between them. */
static bool
is_event_key(struct fz_span key)
{
    static const char *const keys[] = {"Exception Note",
                                       "Exception Message",
                                       "Termination Signal",
                                       "Termination Reason",
                                       "Termination Description",
                                       "Terminating Process",
                                       NULL};
    return ingest_is_one_of(key, keys);
}

/* "Thread 0 Crashed:", "Thread 12:", "Thread 0 name:" */
static bool
is_thread_heading(struct fz_span line)
{
    uint64_t number;
    if (!fz_span_begins(line, "Thread "))
        return false;
    struct fz_span rest = fz_span_from(line, 7);
    return ingest_text_cut_decimal(&rest, &number) &&
           (fz_span_begins(rest, ":") || fz_span_begins(rest, " Crashed:") ||
            fz_span_begins(rest, " name:") || fz_span_begins(rest, " crashed with "));
}

static bool
detect(struct fz_span head)
{
    size_t n_keys = 0, n_typical = 0;
    bool threads = false;
    struct ingest_text_lines lines = ingest_text_lines_start(fz_span_until(head, TEXT_HEAD_MAX));
    struct fz_span line, key, value;
    while (ingest_text_lines_next(&lines, &line)) {
        /* Of a sampled process: the same head and images, but a tree between them. */
        if (fz_span_is(line, "Call graph:") || fz_span_begins(line, "Heaviest stack for"))
            return false;
        threads =
            threads || is_thread_heading(line) || fz_span_begins(line, "Last Exception Backtrace:");
        if (!ingest_text_split_key(line, &key, &value))
            continue;
        if (fz_span_is(key, "Data Source") || fz_span_is(key, "Steps")) /* of a sampled one */
            return false;
        /* A report that is cut before its threads still has the exception. */
        if (fz_span_is(key, "Exception Type") && value.len)
            threads = true;
        n_keys += is_head_key(key);
        /* Logs have lines like "Process: x", but not three such keys by chance. */
        n_typical += is_typical(key);
    }
    return threads || (n_typical && n_keys >= 3);
}

static enum fz_code
check(struct fz_span body, const struct ingest_context *in, char ret_id[FZ_UUID_TEXT],
      struct fz_error *err)
{
    (void)in;
    (void)err;
    struct ingest_text_lines lines = ingest_text_lines_start(fz_span_until(body, TEXT_HEAD_MAX));
    struct fz_span line, key, value;
    while (ingest_text_lines_next(&lines, &line)) {
        if (ingest_text_split_key(line, &key, &value) && fz_span_is(key, "Incident Identifier") &&
            ingest_set_id(value, ret_id))
            break;
    }
    return FZ_OK;
}

/* Does this line begin a report? macOS writes the process first, other systems an id. */
static bool
is_first_line(struct fz_span line)
{
    return fz_span_begins(line, "Incident Identifier:") || fz_span_begins(line, "Process:");
}

/* Several texts one after the other: each ends at the head that follows its images. */
static enum fz_code
split(struct fz_span body, struct ingest_found *found, struct fz_error *err)
{
    struct ingest_text_lines lines = ingest_text_lines_start(body);
    struct fz_span line;
    size_t start = 0, n = 0;
    bool images = false;
    (void)err;
    while (ingest_text_lines_next(&lines, &line)) {
        images = images || fz_span_begins(line, "Binary Images:");
        /* A head has such keys only once: after a list of images they begin another report. */
        if (!images || !is_first_line(line))
            continue;
        size_t at = (size_t)(lines.line - body.data);
        ingest_found_body(found, fz_span_between(body, start, at));
        start = at;
        images = false;
        n++;
    }
    if (n)
        ingest_found_body(found, fz_span_from(body, start));
    return FZ_OK;
}

struct reader {
    struct ingest_text *c;
    enum state state;
    bool started; /* a line of the report has been read */
    size_t n_before, n_odd;
};

static void
start_section(struct reader *r, struct fz_span key, struct fz_span value)
{
    bool after_blank = r->c->n_blank > 0;
    ingest_text_end_section(r->c);
    r->c->key = key;
    r->c->is_heading = after_blank && !value.len;
    fz_buffer_append(&r->c->text, value.data, value.len);
    r->state = IN_SECTION;
}

static void
add_to_section(struct reader *r, struct fz_span line, size_t indent)
{
    struct ingest_text *c = r->c;
    if (c->text.len) {
        /* Empty lines inside a section belong to it, but only two of them say anything. */
        for (size_t i = 0; i < c->n_blank + 1 && i < 3; i++)
            fz_buffer_char(&c->text, '\n');
        /* The indent of tables (VM regions) is kept, since columns are aligned by it. */
        for (size_t i = 0; i < indent && i < INDENT_MAX; i++)
            fz_buffer_char(&c->text, ' ');
    }
    c->n_blank = 0;
    fz_buffer_append(&c->text, line.data, line.len);
}

/* "-----------" */
static bool
is_ruler(struct fz_span line)
{
    size_t n = 0;
    while (n < line.len && line.data[n] == '-')
        n++;
    return n == line.len && n >= 5;
}

/* Headings that begin a part; true if the line is one. */
static bool
read_heading(struct reader *r, struct fz_span line)
{
    bool registers;
    struct fz_span after;
    if (fz_span_begins(line, "Last Exception Backtrace")) {
        ingest_text_end_section(r->c);
        r->state = IN_EXCEPTION;
        /* iOS before 15 wrote the exception's addresses as one list. */
        size_t open = fz_text_find(line, "(0x");
        if (open != SIZE_MAX)
            (void)ingest_text_stack_add_list(r->c->b, &r->c->exception, fz_span_from(line, open));
    } else if (fz_span_begins(line, "Application Specific Backtrace")) {
        ingest_text_end_section(r->c);
        r->state = IN_BACKTRACE;
        if (r->c->backtrace.n) /* a second one is kept as text: the model has one */
            start_section(r, fz_span_until(line, fz_text_find(line, ":")),
                          (struct fz_span){NULL, 0});
    } else if (fz_span_begins(line, "Binary Images:") ||
               fz_span_is(line, "Binary Images Description:")) {
        ingest_text_end_section(r->c);
        r->state = IN_IMAGES;
        after = fz_text_trim(fz_span_from(line, fz_text_find(line, ":") + 1));
        if (after.len)
            /* Some texts have the first image on the line of the heading. */
            (void)ingest_text_read_image(r->c, after);
    } else if (ingest_text_read_thread(r->c, line, &registers)) {
        ingest_text_end_section(r->c);
        r->state = registers ? IN_REGISTERS : IN_FRAMES;
    } else if (r->started && r->c->n_blank && is_ruler(line)) {
        ingest_text_end_section(r->c);
        r->state = IN_HEAD;
    } else if (r->started && fz_span_is(line, "Full Report")) {
        /* The report once more, as JSON; detection has refused it as an .ips. */
        start_section(r, line, (struct fz_span){NULL, 0});
        r->state = IN_REST;
    } else if (fz_span_begins(line, "Handler crashed while reporting:")) {
        /* KSCrash: the handler crashed too; what follows has threads of its own. */
        start_section(r, fz_span_until(line, fz_text_find(line, ":")), (struct fz_span){NULL, 0});
        r->state = IN_REST;
    } else {
        return false;
    }
    return true;
}

/* A line of the current part; false if it does not belong to it. */
static bool
read_part(struct reader *r, struct fz_span line)
{
    struct ingest_text *c = r->c;
    struct ingest_text_frame frame;
    struct ingest_stack *stack = r->state == IN_EXCEPTION ? &c->exception : &c->backtrace;
    switch (r->state) {
    case IN_EXCEPTION:
    case IN_BACKTRACE:
    case IN_FRAMES:
        /* A line without a number is text that happens to contain an address. */
        if (!ingest_text_frame_parse(line, &frame) || !frame.has_index)
            return r->state != IN_FRAMES && ingest_text_stack_add_list(c->b, stack, line);
        if (r->state == IN_FRAMES)
            ingest_text_add_frame(c, &frame);
        else
            ingest_text_stack_add(c->b, stack, &frame, &c->hints);
        return true;
    case IN_REGISTERS:
        return ingest_text_read_registers(c, line);
    case IN_IMAGES:
        return ingest_text_read_image(c, line);
    case IN_HEAD:
    case IN_SECTION:
    case IN_REST:
        break;
    }
    return false;
}

/* A line of no known form: part of the current section, else noted and kept as an extra. */
static void
read_odd(struct reader *r, const struct ingest_text_lines *lines, struct fz_span line)
{
    struct ingest_text *c = r->c;
    if (c->key.len) {
        add_to_section(r, line, lines->indent);
    } else if (!r->started) {
        r->n_before++;
    } else {
        if (r->n_odd++ < LINES_NOTED_MAX)
            /* Some lines are enough to see what the text is; all of them are in extra. */
            ingest_note(c->b, "line %zu: not understood: \"%.*s\"", lines->number,
                        (int)(line.len < 80 ? line.len : 80), (const char *)line.data);
        ingest_text_add_extra(c, fz_span_cstr("Other lines"), line);
    }
}

static void
read_line(struct reader *r, const struct ingest_text_lines *lines, struct fz_span line)
{
    struct ingest_text *c = r->c;
    struct fz_span key, value;
    bool may_end = c->n_blank || r->state != IN_SECTION;
    if (line.len == 0) {
        c->n_blank++;
        return;
    }
    if (r->state == IN_REST) {
        add_to_section(r, line, lines->indent);
        return;
    }
    /* The end of Apple's reports; the rest of a mail may follow. */
    if (r->started && may_end && !lines->indent && fz_span_is(line, "EOF")) {
        ingest_text_end_section(c);
        r->state = IN_HEAD;
        return;
    }
    if (read_heading(r, line) || read_part(r, line)) {
        r->started = true;
        return;
    }
    if (r->started && (may_end || !ingest_text_is_section(c->key)) &&
        is_small_heading(lines, line, &key)) {
        start_section(r, key, (struct fz_span){NULL, 0});
        return;
    }
    bool is_key = ingest_text_split_key(line, &key, &value);
    /* Sections are known by name: their first line may also be "Key: value". */
    bool is_section = is_key && ingest_text_is_section(key);
    bool is_known = is_key && !is_section && lines->indent == 0 &&
                    (ingest_text_is_key(key) || is_head_key(key) || is_event_key(key));
    /* In a section, a line like "Device: iPhone" belongs to it unless an empty line precedes. */
    bool in_text = ingest_text_is_section(c->key) ||
                   ((c->is_heading || fz_span_is(c->key, "Termination Reason")) && !c->n_blank);
    bool may_start = is_section || is_known || !c->key.len || (c->n_blank && value.len == 0) ||
                     r->state != IN_SECTION || !in_text;
    if (!is_key || !may_start || (!r->started && !is_section && !is_known)) {
        read_odd(r, lines, line);
        return;
    }
    /* Before it, lines are a mail or a log that the report was pasted into. */
    r->started = true;
    if (ingest_text_read_key(c, key, value)) {
        ingest_text_end_section(c);
        r->state = IN_HEAD;
        return;
    }
    start_section(r, key, value);
}

static void
read_lines(struct ingest_text *c, struct fz_span text)
{
    struct reader reader = {.c = c};
    struct ingest_text_lines lines = ingest_text_lines_start(text);
    struct fz_span line;
    while (!c->b->failed && ingest_text_lines_next(&lines, &line))
        read_line(&reader, &lines, line);
    ingest_text_end_section(c);
    /* A mail or a log around the report; all of it is in the raw body. */
    if (reader.n_before)
        ingest_note(c->b, "lines before the report: %zu, left out", reader.n_before);
    if (reader.n_odd > LINES_NOTED_MAX)
        ingest_note(c->b, "further lines that were not understood: %zu",
                    reader.n_odd - LINES_NOTED_MAX);
}

static enum fz_code
parse(struct fz_span body, const struct ingest_context *in, struct fz_arena *arena,
      struct report *ret, struct fz_error *err)
{
    struct ingest_builder b = ingest_builder_make(ret, arena, in->limits);
    FZ_CLEANUP(ingest_text_end) struct ingest_text c = ingest_text_start(&b);
    read_lines(&c, ingest_text_clean(&b, body));
    /* The parts come in any order, so what depends on several of them waits for the end. */
    ingest_text_settle(&c);
    return b.failed ? fz_arena_fail(arena, err) : FZ_OK;
}

const struct ingest_format ingest_crash_text = {
    .name = "crash",
    .detect = detect,
    .check = check,
    .parse = parse,
    .split = split,
};
