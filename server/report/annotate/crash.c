/*
 * Writes names into the frame lines of a text:
 *
 *   4   Shop   0x0000000104004068 0x104000000 + 16488
 *   4   Shop   0x0000000104004068 inner(int) + 0 (work.c:2) [inlined]
 *   4   Shop   0x0000000104004068 work_step + 8 (work.c:5)
 *
 * A line is matched with a frame of the model by its thread's heading, its order and its address.
 * Inlined calls get lines of their own with the number of their frame, so that the following lines
 * keep theirs. The addresses of an exception without lines, "(0x1845f8a10 0x1845f8b00)", become
 * lines if a name is known.
 */
#include "server/report/annotate/parts.h"

#include <stdlib.h>

#include "base/text.h"
#include "server/report/annotate/line.h"
#include "server/report/apple.h"
#include "server/report/crash/parts.h"

enum { AHEAD_MAX = 256 }; /* consecutive frames of the model that the text may lack */

/* The frames that the next lines may be of. */
struct place {
    const struct report_frame *frames;
    size_t n, next;
};

struct annotate {
    const struct report *r;
    struct fz_buffer *out;
    struct fz_span line_end; /* of the lines so far, for a last line that has none */
    bool *used;              /* which threads' headings were read */
    bool is_plain;           /* a text without headings */
    bool exception_used;
    size_t thread; /* of a plain text: the current one */
    struct place place;
    size_t n_found;
    /* Lines of inlined calls, until the line of their frame is read. */
    struct fz_span group;
    const struct report_frame *group_frame;
    struct annotate_named group_named;
};

/* The frame of the model that a line with this address belongs to; NULL if there is none. */
static const struct report_frame *
find_frame(struct place *place, uint64_t addr)
{
    size_t end = place->n - place->next > AHEAD_MAX ? place->next + AHEAD_MAX : place->n;
    /* Only so far: a text with lines of other stacks would cost a pass over all frames for each. */
    for (size_t i = place->next; i < end; i++) {
        /* Forward only: with recursion the same address occurs often. */
        if (place->frames[i].addr != addr)
            continue;
        place->next = i + 1;
        return &place->frames[i];
    }
    return NULL;
}

/* A text without headings: the threads one after the other. A line of no frame leaves the place
 * unchanged, since other lines may look like frames. */
static const struct report_frame *
find_plain(struct annotate *a, uint64_t addr)
{
    /* A copy: only a line that is a frame moves the place. */
    struct place place = a->place;
    for (size_t thread = a->thread;;) {
        const struct report_frame *frame = find_frame(&place, addr);
        if (frame) {
            a->place = place;
            a->thread = thread;
        }
        /* After the last thread the frames of the exception were tried. */
        if (frame || thread == a->r->n_threads)
            return frame;
        thread++;
        place =
            thread < a->r->n_threads
                ? (struct place){a->r->threads[thread].frames, a->r->threads[thread].n_frames, 0}
                : (struct place){a->r->exception_frames, a->r->n_exception_frames, 0};
    }
}

static void
put(struct annotate *a, struct fz_span bytes)
{
    fz_buffer_append(a->out, bytes.data, bytes.len);
}

/* "work_step + 8 at work.c:5:3", "work_step [inlined] inner(int) at work.c:2:9" */
static void
put_lldb_symbol(struct annotate *a, const struct report_frame *frame, size_t k)
{
    const struct report_symbol *symbol = &frame->symbols[k];
    const char *name = report_apple_function(symbol);
    const char *own = report_apple_function(&frame->symbols[frame->n_symbols - 1]);
    /* lldb puts the function that has the frame before the inlined one. */
    if (symbol->inlined && own) {
        report_crash_text(a->out, own);
        fz_buffer_text(a->out, " [inlined] ");
    }
    report_crash_text(a->out, name ? name : "???");
    if (symbol->has_offset)
        fz_buffer_printf(a->out, " + %llu", (unsigned long long)symbol->offset);
    if (!symbol->file)
        return;
    fz_buffer_text(a->out, " at ");
    report_crash_text(a->out, fz_text_base_name(symbol->file));
    fz_buffer_printf(a->out, ":%u", symbol->line);
    if (symbol->column)
        fz_buffer_printf(a->out, ":%u", symbol->column);
}

/* What separates the lines, or items of an array, that replace one. */
static void
put_between(struct annotate *a, const struct annotate_line *line)
{
    struct fz_span end = annotate_line_end(line);
    struct fz_span before = fz_span_until(line->all, line->start);
    /* An array is printed on one line or with a line for each item. */
    bool own_line = !line->is_inner; /* nothing but blanks is before the item's quote mark */
    for (size_t i = 0; line->is_quoted && i + 1 < before.len; i++)
        own_line = own_line && annotate_is_blank(before.data[i]);
    if (line->is_quoted && !(own_line && end.len)) {
        fz_buffer_text(a->out, "\", \"");
        return;
    }
    if (line->is_quoted)
        fz_buffer_text(a->out, "\",");
    put(a, end.len ? end : a->line_end);
    put(a, before);
}

/* The line once for each name, with its own start and end around the name. */
static void
put_named(struct annotate *a, const struct annotate_line *line, const struct report_frame *frame)
{
    bool has_tick = line->is_lldb && line->all.data[line->name - 1] == '`';
    /* What is before the content (quote marks, "> ") comes first and before each added line. */
    put(a, fz_span_until(line->all, line->start));
    for (size_t k = 0; k < frame->n_symbols; k++) {
        put(a, fz_span_between(line->all, line->start, line->name));
        if (line->is_lldb) {
            fz_buffer_text(a->out, has_tick ? "" : "`");
            put_lldb_symbol(a, frame, k);
        } else {
            fz_buffer_char(a->out, ' ');
            report_crash_symbol(a->out, &frame->symbols[k]);
        }
        if (k + 1 < frame->n_symbols)
            put_between(a, line);
    }
    put(a, line->is_quoted ? fz_span_from(line->all, line->end) : annotate_line_end(line));
}

/* Lines of inlined calls whose frame did not follow: they stay as they are. */
static void
flush(struct annotate *a)
{
    /* As they came: without their frame it is not known whether the symbol file agrees. */
    put(a, a->group);
    a->group = (struct fz_span){NULL, 0};
    a->group_frame = NULL;
}

static void
annotate_frame(struct annotate *a, const struct annotate_line *line)
{
    struct annotate_named named = annotate_read_names(line);
    const struct report_frame *frame = a->group_frame;
    /* The last line of a group has the address of the inlined calls before it. */
    bool joins = frame && frame->addr == line->addr;
    if (!joins) {
        flush(a);
        frame = a->is_plain ? find_plain(a, line->addr) : find_frame(&a->place, line->addr);
        /* Counted for the caller, which rejects a text of which only some frames were found. */
        a->n_found += frame != NULL;
        a->group_named = (struct annotate_named){false, false};
    }
    /* A frame has its names on several lines if the text had inlined calls before. */
    named.has_name = named.has_name || a->group_named.has_name;
    named.has_place = named.has_place || a->group_named.has_place;
    if (frame && fz_text_contains(fz_span_between(line->all, line->name, line->end), "[inlined]")) {
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
read_thread(struct annotate *a, struct fz_span text)
{
    const struct report *r = a->r;
    uint64_t number;
    if (!fz_span_begins(text, "Thread "))
        return false;
    size_t end = annotate_skip_digits(text, 7, false);
    struct fz_span rest = fz_span_from(text, end);
    if (!fz_text_u64(fz_span_between(text, 7, end), &number) || !fz_text_contains(rest, ":"))
        return false;
    /* Until a heading of a stack follows, no line is a frame of the model. */
    a->place = (struct place){NULL, 0, 0};
    /* Lines about a thread that begin no stack: "Thread 0 name:", "Thread 0 crashed with ARM
     * Thread State". */
    if (fz_span_begins(rest, " name:") || fz_text_contains(rest, "crashed with") ||
        fz_text_contains(rest, "thread state"))
        return true;
    for (size_t i = 0; i < r->n_threads; i++) {
        /* A text may contain two reports: each thread of the model takes one heading. */
        if (a->used[i] || r->threads[i].index < 0 || (uint64_t)r->threads[i].index != number)
            continue;
        a->used[i] = true;
        a->place = (struct place){r->threads[i].frames, r->threads[i].n_frames, 0};
        break;
    }
    return true;
}

static void
read_heading(struct annotate *a, struct fz_span text)
{
    /* macOS has the same stack under another heading as well. */
    bool is_exception = fz_span_begins(text, "Last Exception Backtrace") ||
                        fz_span_begins(text, "Application Specific Backtrace");
    if (read_thread(a, text))
        return;
    if (is_exception) {
        a->place = (struct place){NULL, 0, 0};
        if (!a->exception_used)
            a->place = (struct place){a->r->exception_frames, a->r->n_exception_frames, 0};
        a->exception_used = a->exception_used || fz_span_begins(text, "Last");
    } else if (fz_span_begins(text, "Binary Images")) {
        a->place = (struct place){NULL, 0, 0};
    }
}

/* Nothing but addresses from `at` to the end of the line, in brackets or not. */
static bool
is_list(const struct annotate_line *line, size_t at)
{
    struct fz_span text = fz_span_until(line->all, line->end);
    uint64_t addr;
    bool any = false;
    if (at < text.len && text.data[at] == '(')
        at++;
    while (at < text.len) {
        size_t end = annotate_take_address(text, at, &addr);
        if (!end)
            return any && text.data[at] == ')' && at + 1 == text.len;
        any = true;
        at = end;
        while (at < text.len && (annotate_is_blank(text.data[at]) || text.data[at] == ','))
            at++;
    }
    return any;
}

static void
put_list_frame(struct annotate *a, const struct report_frame *frame, size_t number,
               struct fz_span end)
{
    /* The list has addresses only, so the image is the model's. */
    const struct report_image *image = report_apple_frame_image(a->r, frame);
    const char *name = image && image->name ? image->name : "???";
    /* A frame without a name has a line all the same, so that the numbers are right. */
    size_t n_lines = frame->n_symbols ? frame->n_symbols : 1;
    for (size_t k = 0; k < n_lines; k++) {
        fz_buffer_printf(a->out, "%-3zu ", number);
        report_crash_text(a->out, name);
        fz_buffer_printf(a->out, "%*s\t0x%016llx ",
                         strlen(name) < 30 ? (int)(30 - strlen(name)) : 0, "",
                         (unsigned long long)frame->addr);
        if (frame->n_symbols)
            report_crash_symbol(a->out, &frame->symbols[k]);
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
annotate_list(struct annotate *a, const struct annotate_line *line)
{
    const struct report *r = a->r;
    struct fz_span text = fz_span_until(line->all, line->end);
    size_t at = line->start;
    bool named = false;
    const struct report_frame *frames = a->place.frames;
    size_t n = a->place.n;
    /* NSLog prints "First throw call stack:\n(0x1845f8a10 0x1845f8b00)"; such a list is the
     * thread's stack. */
    bool is_plain_list = a->is_plain && text.len > at && text.data[at] == '(';
    /* Elsewhere a line of addresses is a message or a register dump. */
    if (!frames || (frames != r->exception_frames && !is_plain_list))
        return false;
    if (fz_span_begins(fz_span_from(text, at), "Last Exception Backtrace")) {
        while (at < text.len && text.data[at] != '(')
            at++;
    }
    if (at >= text.len || !is_list(line, at))
        return false;
    /* Without any name the list stays as it came. */
    for (size_t i = 0; i < n; i++)
        named = named || frames[i].n_symbols;
    struct fz_span end = fz_span_from(line->all, line->end);
    if (!end.len)
        end = a->line_end;
    /* The heading stays on a line of its own. */
    if (named && at > line->start) {
        size_t head = at;
        while (head > 0 && annotate_is_blank(text.data[head - 1]))
            head--;
        put(a, fz_span_until(text, head));
        put(a, end);
    }
    for (size_t addr_at = at + (text.data[at] == '('); addr_at < text.len;) {
        uint64_t addr;
        size_t addr_end = annotate_take_address(text, addr_at, &addr);
        if (!addr_end)
            break;
        size_t number = a->place.next;
        const struct report_frame *frame = find_frame(&a->place, addr);
        a->n_found += frame != NULL;
        if (named && frame)
            put_list_frame(a, frame, number, end);
        addr_at = addr_end;
        while (addr_at < text.len &&
               (annotate_is_blank(text.data[addr_at]) || text.data[addr_at] == ','))
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
    /* In plain texts there are no headings, and lines take many forms. */
    a.is_plain = strcmp(report->format, "text") == 0;
    if (a.is_plain && report->n_threads)
        a.place = (struct place){report->threads[0].frames, report->threads[0].n_frames, 0};
    bool is_inner = false;
    for (struct fz_span rest = raw; rest.len;) {
        struct annotate_line line = annotate_take_line(rest, a.is_plain);
        rest = fz_span_from(rest, line.all.len);
        line.is_inner = is_inner;
        is_inner = !annotate_line_end(&line).len;
        /* The last line may have no end; added lines take that of the others. */
        if (rest.len && !is_inner)
            a.line_end = annotate_line_end(&line);
        if (!a.is_plain && line.start < line.end)
            read_heading(&a, fz_span_between(line.all, line.start, line.end));
        /* After the heading: "Thread 0 Crashed:" is not a frame, but a frame may hold such words.
         * */
        if (annotate_read_frame(&line, a.is_plain)) {
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
