/*
 * Plain stacks as text, with or without images:
 *
 *   0   Demo   0x0000000104004068 0x104000000 + 16488      callStackSymbols, backtrace_symbols
 *   "0   Demo   0x0000000104004068 $s4Demo4mainyyF + 12",  the same, printed as an array
 *   Demo       0x104004068 work_step + 8                   BSBacktraceLogger
 *   frame #0: 0x0000000104004068 Demo`inner at work.c:2:9  lldb
 *   *** First throw call stack:
 *   (0x1845f8a10 0x1845f8b00)                              a console's log of an exception
 *   + 2433 main  (in Demo) + 294  [0x10e3817e6]            sample, spindump
 *
 * Frame 0 is an exact pc, unless the text says that an exception was thrown there or the list
 * begins with a later frame. Images come from lists in the text (images.c), else from the load
 * addresses in frames.
 */
#include "server/ingest/text/stack.h"
#include "server/ingest/common/format.h"
#include "server/ingest/text/thrown.h"

#include "base/time.h"

enum {
    LINES_OF_A_SHORT_TEXT = 32,
    LOOSE_MIN = 3,
    THROWN_BYTES = 4096,
    NAME_TIME = 23,
    LONG_LINE = 4096
};

/* The frame in an item of a printed array: "0 Demo 0x1 f + 1",  */
static struct fz_span
without_marks(struct fz_span line)
{
    line = fz_text_trim(line);
    while (line.len && (line.data[0] == '"' || line.data[0] == '[' || line.data[0] == '('))
        line = fz_text_trim(fz_span_from(line, 1));
    while (line.len && (line.data[line.len - 1] == '"' || line.data[line.len - 1] == ','))
        line = fz_text_trim(fz_span_until(line, line.len - 1));
    if (fz_span_ends(line, "\"]") || fz_span_ends(line, "\")"))
        line = fz_text_trim(fz_span_until(line, line.len - 2));
    return line;
}

/* The next of the frames that Swift prints on one line: ["0 Demo ...", "1 Demo ..."]. */
static struct fz_span
next_piece(struct fz_span *line)
{
    size_t end = fz_text_find(*line, "\", \"");
    struct fz_span piece = fz_span_until(*line, end);
    *line = end == SIZE_MAX ? (struct fz_span){NULL, 0} : fz_span_from(*line, end + 3);
    return piece;
}

static bool
parse_frame(struct fz_span line, struct ingest_text_frame *ret)
{
    return ingest_text_lldb_frame(line, ret) ||
           (ingest_text_frame_parse(without_marks(line), ret) &&
            (ret->image.len || ret->symbol.name.len || ret->symbol.has_load ||
             (ret->has_index && fz_text_contains(line, "???"))));
}

static bool
is_throw_heading(struct fz_span line)
{
    return fz_text_contains(line, "First throw call stack:");
}

static bool
is_address_list(struct fz_span line)
{
    struct fz_span rest = fz_text_trim(line);
    uint64_t addr;
    if (!fz_span_begins(rest, "(0x"))
        return false;
    rest = fz_span_from(rest, 1);
    return ingest_text_cut_hex(&rest, &addr);
}

static bool
is_json_array(struct fz_span head)
{
    return fz_span_begins(fz_text_trim(fz_span_until(head, 64)), "[");
}

/* ["0   Demo   0x104004068 main + 12", ...: an array of JSON, but not one of reports. */
static bool
detect_array(struct fz_span head)
{
    struct ingest_text_frame frame;
    struct ingest_text_lines lines = ingest_text_lines_start(fz_span_until(head, LONG_LINE));
    struct fz_span line;
    if (!is_json_array(head))
        return false;
    while (ingest_text_lines_next(&lines, &line)) {
        line = without_marks(line);
        if (line.len)
            return line.data[0] == '0' && parse_frame(next_piece(&line), &frame) && frame.has_index;
    }
    return false;
}

static bool
detect_text(struct fz_span head)
{
    size_t n_frames = 0, n_first = 0, n_loose = 0, n_lines = 0;
    bool heading = false, tree = false;
    struct ingest_text_lines lines = ingest_text_lines_start(fz_span_until(head, TEXT_HEAD_MAX));
    struct fz_span line;
    struct ingest_text_frame frame;
    /* JSON belongs to other formats; an array of frames has a row of its own. */
    if (fz_span_begins(fz_text_trim(fz_span_until(head, 64)), "{") || is_json_array(head))
        return false;
    while (ingest_text_lines_next(&lines, &line)) {
        n_lines += line.len > 0;
        heading = heading || fz_span_begins(line, "Backtrace of Thread ") || is_throw_heading(line);
        tree = tree || fz_span_is(line, "Call graph:") || fz_span_begins(line, "Thread 0x");
        if ((heading && is_address_list(line)) || (tree && ingest_text_sample_is_line(line)))
            return true;
        if (!parse_frame(line, &frame))
            continue;
        n_frames += frame.has_index;
        n_first += frame.has_index && frame.index == 0;
        n_loose += !frame.has_index;
        /* Lines without a number look like log lines, so more of them are wanted. */
        if (n_frames >= 2 || n_loose >= LOOSE_MIN || (heading && n_loose))
            return true;
    }
    /* A single frame is a stack only in a text with little else; logs contain such lines by
     * chance. */
    return n_first && n_lines <= LINES_OF_A_SHORT_TEXT;
}

static enum fz_code
check(struct fz_span body, const struct ingest_context *in, char ret_id[FZ_UUID_TEXT],
      struct fz_error *err)
{
    (void)body;
    (void)in;
    (void)ret_id;
    (void)err;
    return FZ_OK; /* nothing to check beyond the lines that detection has found */
}

struct stack_reader {
    struct ingest_text *c;
    struct ingest_text_sample sample;
    bool thrown; /* after "First throw call stack:", before its stack */
};

static bool
read_frames(struct stack_reader *r, struct fz_span line)
{
    struct ingest_text *c = r->c;
    struct ingest_text_frame frame;
    bool any = false;
    while (line.len && parse_frame(next_piece(&line), &frame)) {
        /* A frame 0 after others begins a stack. */
        bool next = c->thread && c->thread->n_frames && frame.has_index && frame.index == 0;
        if (!c->thread || next)
            (void)ingest_text_add_thread(c, ingest_text_thread_count(c), false);
        ingest_text_add_frame(c, &frame);
        if (c->thread && c->thread->n_frames == 1 && r->thrown) {
            /* The log was written inside the throw: no frame of it is a pc. */
            ingest_first_is_return(c->thread->frames, 1);
            c->thread->crashed = true;
            r->thrown = false;
        }
        any = true;
    }
    return any;
}

/* "2016-03-15 08:38:21.236 Demo[123:456] *** Terminating app ..." */
static void
read_log_head(struct ingest_text *c, struct fz_span line)
{
    struct report *report = c->b->report;
    size_t open = fz_text_find(fz_span_until(line, 256), "[");
    int64_t pid, ms;
    if (open == SIZE_MAX || !fz_time_parse(fz_span_until(line, NAME_TIME), &ms))
        return;
    /* The first line of a log is the nearest to the crash; later ones are of what followed. */
    if (!report->timestamp_ms)
        report->timestamp_ms = ms;
    struct fz_span name = fz_span_between(line, NAME_TIME, open), digits;
    if (name.len && !fz_text_is_blank(name.data[0]))
        (void)ingest_text_word(&name); /* the rest of the time: "456+0100" */
    digits = fz_span_from(line, open + 1);
    digits = fz_span_until(digits, fz_text_find(digits, ":"));
    name = fz_text_trim(name);
    if (!report->process.name && name.len)
        report->process.name = report->app_name = ingest_text(c->b, name);
    uint64_t number;
    if (ingest_text_cut_decimal(&digits, &number) && number <= INT32_MAX) {
        pid = (int64_t)number;
        report->process.pid = report->process.pid ? report->process.pid : pid;
    }
}

/* A log line about an exception. The text is read beyond the line, since reasons span several. */
static bool
read_thrown(struct stack_reader *r, struct fz_span line, struct fz_span rest)
{
    struct ingest_text *c = r->c;
    if (fz_text_contains(line, "*** Terminating app")) {
        if (c->b->report->crash
                .exception) /* the first one ended the process; later ones follow from it */
            return false;
        size_t len = rest.len ? (size_t)(rest.data - line.data) + rest.len : line.len;
        read_log_head(c, line);
        return ingest_text_read_thrown(
            c->b, fz_span_make(line.data, len < THROWN_BYTES ? len : THROWN_BYTES));
    }
    if (fz_text_contains(line, "uncaught exception of type ") ||
        fz_text_contains(line, "Fatal error: ")) {
        (void)ingest_text_read_thrown(c->b, line);
        return true;
    }
    return false;
}

static bool
read_heading(struct stack_reader *r, struct fz_span line)
{
    struct ingest_text *c = r->c;
    bool registers;
    uint64_t number;
    /* What follows is a new stack, whatever was read before. */
    if (is_throw_heading(line)) {
        r->thrown = true;
        c->thread = NULL;
        return true;
    }
    if (fz_span_begins(line, "Backtrace of Thread ")) {
        struct fz_span rest = fz_span_from(line, 20);
        number = 0;
        if (ingest_text_cut_decimal(&rest, &number) && number <= INT32_MAX)
            (void)ingest_text_add_thread(c, (int64_t)number, false);
        return true;
    }
    return ingest_text_read_lldb_thread(c, line) || ingest_text_read_thread(c, line, &registers);
}

static void
read_line(struct stack_reader *r, const struct ingest_text_lines *lines, struct fz_span line)
{
    struct ingest_text *c = r->c;
    struct fz_span key, value;
    if (!line.len || ingest_text_sample_take(&r->sample, line, lines->indent) ||
        read_heading(r, line))
        return;
    if (r->thrown && is_address_list(line)) {
        (void)ingest_text_stack_add_list(c->b, &c->exception, line);
        return;
    }
    if (ingest_text_read_image(c, line) || ingest_text_read_free_image(c, line) ||
        read_frames(r, line) || read_thrown(r, line, lines->rest))
        return;
    if (ingest_text_split_key(line, &key, &value)) {
        if (fz_span_is(key, "Event"))
            c->b->report->kind = fz_span_begins(value, "cpu")    ? "cpu"
                                 : fz_span_begins(value, "disk") ? "disk_write"
                                                                 : "hang";
        if (!ingest_text_read_key(c, key, value))
            ingest_text_add_extra(c, key, value);
        return;
    }
    if (line.len > 1) /* not the bracket of an array */
        ingest_text_add_extra(c, fz_span_cstr("Other lines"), line);
}

/* A text with no stack but the exception's: that is the crashed thread. */
static void
settle_list(struct ingest_text *c)
{
    if (c->b->report->n_threads || !c->exception.n)
        return;
    /* A log of an exception has no other stack. */
    struct report_thread *thread = ingest_text_add_thread(c, 0, true);
    if (!thread)
        return;
    ingest_set_stack(thread, &c->exception);
    ingest_first_is_return(thread->frames, thread->n_frames);
    thread->crashed = true;
    c->exception = (struct ingest_stack){.n = 0};
}

/* The image of main(), or of what the dynamic linker called; -1 if no frame shows it. */
static int
find_app(const struct ingest_text *c, const struct report_thread *thread)
{
    for (size_t i = 0; i < thread->n_frames; i++) {
        const struct report_frame *frame = &thread->frames[i];
        const char *name = frame->n_client ? frame->client[frame->n_client - 1].function : "";
        int next = i + 1 < thread->n_frames ? thread->frames[i + 1].image : -1;
        /* Stripped binaries have no name for main(), but it is always called by the dynamic
         * linker. */
        bool called = next >= 0 && next != frame->image &&
                      (fz_span_is(c->hints.items[next].name, "dyld") ||
                       fz_span_is(c->hints.items[next].name, "libdyld.dylib"));
        if (frame->image >= 0 && (called || strcmp(name, "main") == 0))
            return frame->image;
    }
    return -1;
}

/* Of the images that only frames name, the app's comes first, as in a list of images. */
static void
settle_app(struct ingest_text *c)
{
    struct report *r = c->b->report;
    int app = -1;
    for (size_t i = 0; i < r->n_threads && app < 0; i++)
        app = find_app(c, &r->threads[i]);
    if (app <= 0)
        return;
    /* Reports without paths take the first image for the app's own. */
    struct ingest_text_hint first = c->hints.items[0];
    c->hints.items[0] = c->hints.items[app];
    c->hints.items[app] = first;
    for (size_t i = 0; i < r->n_threads; i++) {
        for (size_t j = 0; j < r->threads[i].n_frames; j++) {
            int *image = &r->threads[i].frames[j].image;
            *image = *image == app ? 0 : *image == 0 ? app : *image;
        }
    }
}

static enum fz_code
parse(struct fz_span body, const struct ingest_context *in, struct fz_arena *arena,
      struct report *ret, struct fz_error *err)
{
    struct ingest_builder b = ingest_builder_make(ret, arena, in->limits);
    FZ_CLEANUP(ingest_text_end) struct ingest_text c = ingest_text_start(&b);
    struct stack_reader reader = {.c = &c, .sample.c = &c};
    struct ingest_text_lines lines = ingest_text_lines_start(ingest_text_clean(&b, body));
    struct fz_span line;
    while (!b.failed && ingest_text_lines_next(&lines, &line))
        read_line(&reader, &lines, line);
    ingest_text_sample_end(&reader.sample);
    /* People sample a process because it does not respond. */
    if (reader.sample.room && !ret->kind)
        ret->kind = "hang";
    if (b.failed) /* lists may be incomplete */
        return fz_arena_fail(arena, err);
    settle_list(&c);
    settle_app(&c);
    bool any = ret->crash.thread >= 0;
    for (size_t i = 0; i < ret->n_threads; i++)
        any = any || ret->threads[i].crashed;
    /* A stack without a mark is of the thread that the sender wanted to show. */
    if (!any && ret->n_threads)
        ret->threads[0].crashed = true;
    ingest_text_settle(&c);
    return b.failed ? fz_arena_fail(arena, err) : FZ_OK;
}

const struct ingest_format ingest_stack_text = {
    .name = "text",
    .detect = detect_text,
    .check = check,
    .parse = parse,
};

const struct ingest_format ingest_stack_array = {
    .name = "text",
    .reader = "text_array",
    .detect = detect_array,
    .check = check,
    .parse = parse,
};
