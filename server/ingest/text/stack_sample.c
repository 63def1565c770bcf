/*
 * The trees of sampled processes: a line is a call with its count; its callees are further right.
 *
 *   sample    + ! 2426 mach_msg  (in libsystem_kernel.dylib) + 60  [0x7fff7375a170]  mach.c:12
 *   spindump      25  main + 12 (main.m:16 in Demo + 5900) [0x10000170c 1-25]
 *
 * Where a line has more samples than its callees together, a stack ended there.
 */
#include "server/ingest/text/stack.h"

#include "base/text.h"

enum { DEPTH_MAX = 4096 };

/* Cut "(...)" off the end of the text: what is in it. */
static struct fz_span
cut_group(struct fz_span *text)
{
    size_t open = fz_span_ends(*text, ")") ? fz_text_find_last(*text, " (") : SIZE_MAX;
    if (open == SIZE_MAX)
        return (struct fz_span){NULL, 0};
    struct fz_span inside = fz_span_between(*text, open + 2, text->len - 1);
    *text = fz_text_trim(fz_span_until(*text, open));
    return inside;
}

/* spindump's "(main.m:16 in Demo + 5900)"; false for other groups. */
static bool
read_image_group(struct fz_span inside, struct ingest_text_frame *ret)
{
    size_t plus = fz_text_find_last(inside, " + ");
    uint64_t offset;
    if (plus == SIZE_MAX || !fz_text_u64(fz_span_from(inside, plus + 3), &offset) ||
        offset > ret->addr)
        return false;
    struct fz_span image = fz_text_trim(fz_span_until(inside, plus));
    size_t in = fz_text_find(image, " in ");
    if (in != SIZE_MAX && ingest_text_place_parse(fz_span_until(image, in), &ret->symbol))
        image = fz_span_from(image, in + 4);
    /* spindump has the offset in the image here, and no offset in the function. */
    ret->image = image;
    ret->symbol.has_load = true;
    ret->symbol.load = ret->addr - offset;
    ret->symbol.load_offset = offset;
    return true;
}

static bool
parse_call(struct fz_span text, struct ingest_text_frame *ret)
{
    struct ingest_text_frame frame = {.index = 0};
    size_t open = fz_text_find_last(text, "[0x");
    if (open == SIZE_MAX)
        return false;
    struct fz_span rest = fz_span_from(text, open + 1);
    if (!ingest_text_cut_hex(&rest, &frame.addr))
        return false;
    struct fz_span place = fz_text_trim(ingest_text_after(rest, "]", NULL));
    struct fz_span name = fz_text_trim(fz_span_until(text, open));
    struct fz_span shorter = name;
    /* spindump has the image in the last group, sample in "(in Demo)". */
    if (read_image_group(cut_group(&shorter), &frame)) {
        struct ingest_text_symbol symbol = frame.symbol;
        /* It fills a new symbol, so the place and the image are set after it. */
        frame.symbol = ingest_text_symbol_parse(shorter, frame.image, frame.addr);
        frame.symbol.file = symbol.file;
        frame.symbol.line = symbol.line;
        frame.symbol.has_load = true;
        frame.symbol.load = symbol.load;
    } else {
        size_t in = fz_text_find_last(name, "(in ");
        struct fz_span image =
            in == SIZE_MAX ? (struct fz_span){NULL, 0} : fz_span_from(name, in + 4);
        frame.image = fz_span_until(image, fz_text_find(image, ")"));
        /* sample writes "<unknown binary>" for code that was made at run time. */
        if (fz_span_begins(frame.image, "<unknown"))
            frame.image = (struct fz_span){NULL, 0};
        frame.symbol = ingest_text_symbol_parse(name, frame.image, frame.addr);
        if (place.len)
            (void)ingest_text_place_parse(place, &frame.symbol);
    }
    *ret = frame;
    return true;
}

/* A line of the tree; *ret_text is what follows its count. */
static bool
parse_line(struct fz_span line, struct ingest_text_call *ret, struct fz_span *ret_text)
{
    size_t at = 0;
    uint64_t count;
    /* sample draws the branches of the tree with these. */
    while (at < line.len && (fz_text_is_blank(line.data[at]) || strchr("+!:|*", line.data[at])))
        at++;
    struct fz_span rest = fz_span_from(line, at);
    if (!ingest_text_cut_decimal(&rest, &count) || count == 0 || count > UINT32_MAX || !rest.len ||
        !fz_text_is_blank(rest.data[0]))
        return false;
    *ret_text = fz_text_trim(rest);
    *ret = (struct ingest_text_call){.column = at, .count = (uint32_t)count};
    ret->is_frame = parse_call(*ret_text, &ret->frame);
    return ret->is_frame || fz_span_begins(*ret_text, "Thread_");
}

bool
ingest_text_sample_is_line(struct fz_span line)
{
    struct ingest_text_call node;
    struct fz_span text;
    return parse_line(line, &node, &text) && node.is_frame;
}

/* The stack that ends at the last node, as a thread. */
static void
add_stack(struct ingest_text_sample *s, uint32_t samples)
{
    struct ingest_text *c = s->c;
    struct report_thread *thread = ingest_text_add_thread(c, ingest_text_thread_count(c), false);
    if (!thread)
        return;
    thread->samples = samples;
    thread->name = ingest_text(c->b, s->name);
    thread->queue = ingest_text(c->b, s->queue);
    for (size_t i = s->n; i-- > 0 && !c->b->failed;) {
        /* The node above the frames is the thread's own line. */
        if (!s->nodes[i].is_frame)
            break;
        s->nodes[i].frame.symbol.samples = s->nodes[i].count;
        ingest_text_add_frame(c, &s->nodes[i].frame);
    }
}

/* Leave the nodes at `column` or further right. */
static void
close_to(struct ingest_text_sample *s, size_t column)
{
    while (s->n && s->nodes[s->n - 1].column >= column) {
        const struct ingest_text_call *node = &s->nodes[s->n - 1];
        /* Samples that no callee accounts for ended in this call. */
        if (node->is_frame && node->count > node->below)
            add_stack(s, node->count - node->below);
        s->n--;
    }
}

/* "Thread_13078: name   DispatchQueue_1: com.apple.main-thread  (serial)" */
static void
name_thread(struct ingest_text_sample *s, struct fz_span text)
{
    size_t queue = fz_text_find(text, "DispatchQueue_");
    struct fz_span name = fz_text_trim(fz_span_until(text, queue));
    size_t colon = fz_text_find(name, ": ");
    s->name = colon == SIZE_MAX ? name : fz_text_trim(fz_span_from(name, colon + 2));
    /* Not of the thread before. */
    s->queue = (struct fz_span){NULL, 0};
    if (queue == SIZE_MAX)
        return;
    struct fz_span rest = fz_span_from(text, queue);
    colon = fz_text_find(rest, ": ");
    if (colon != SIZE_MAX)
        rest = fz_span_from(rest, colon + 2);
    s->queue = fz_text_trim(fz_span_until(rest, fz_text_find(rest, "  (")));
}

static bool
read_heading(struct ingest_text_sample *s, struct fz_span line)
{
    bool is_thread = fz_span_begins(line, "Thread 0x");
    bool ends = fz_span_begins(line, "Total number in stack") ||
                fz_span_begins(line, "Sort by top of stack") ||
                fz_span_begins(line, "Heaviest stack") || fz_span_begins(line, "Binary Images");
    bool starts = fz_span_is(line, "Call graph:");
    if (!is_thread && !ends && !starts)
        return false;
    /* Each thread has a tree of its own. */
    close_to(s, 0);
    s->in_tree = !ends;
    if (is_thread) { /* spindump: Thread 0x4c7  DispatchQueue "q"(1)  Thread name "n"  25 samples */
        s->name = ingest_text_after(line, "Thread name \"", "\"");
        s->queue = ingest_text_after(line, "DispatchQueue \"", "\"");
    }
    return !fz_span_begins(line, "Binary Images");
}

bool
ingest_text_sample_take(struct ingest_text_sample *s, struct fz_span line, size_t indent)
{
    struct ingest_text_call node;
    struct fz_span text;
    if (read_heading(s, line))
        return true;
    if (!s->in_tree || !parse_line(line, &node, &text))
        return false;
    /* The depth is in the column; quote marks of a mail are not counted. */
    node.column += indent;
    close_to(s, node.column);
    if (!node.is_frame)
        name_thread(s, text);
    if (s->n == DEPTH_MAX || s->c->b->failed) /* deeper calls count as samples of this one */
        return true;
    if (s->n) {
        /* A broken text may claim more samples below a call than the call has. */
        uint32_t left = s->nodes[s->n - 1].count - s->nodes[s->n - 1].below;
        s->nodes[s->n - 1].below += node.count < left ? node.count : left;
    }
    s->nodes = ingest_grow(s->c->b, s->nodes, s->n, &s->room, sizeof(*s->nodes));
    if (s->nodes)
        s->nodes[s->n++] = node;
    return true;
}

void
ingest_text_sample_end(struct ingest_text_sample *s)
{
    if (!s->c->b->failed)
        close_to(s, 0);
}
