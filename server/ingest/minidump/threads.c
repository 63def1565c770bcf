/*
 * The thread list (48 bytes for each thread), the threads' names, and the captured memory.
 *
 *   0   u32 id   4 u32 suspend count   8 u32 priority class   12 u32 priority   16 u64 teb
 *   24  u64 start of its stack   32 place of the stack's bytes   40 place of its context
 */
#include <stdio.h>
#include <stdlib.h>

#include "server/ingest/minidump/minidump.h"

enum { THREAD = 48, NAME = 12, REGION = 16 };

/* The place of the crashed thread, so that the limit does not cut it off. */
static size_t
crashed_position(const struct minidump *m, struct fz_reader r, size_t n)
{
    struct fz_reader exception = minidump_reader(m, minidump_find(m, MINIDUMP_EXCEPTION));
    uint32_t id = fz_read_u32(&exception);
    for (size_t i = 0; i < n && !exception.failed; i++) {
        if (fz_read_u32(&r) == id)
            return i;
        fz_read_skip(&r, THREAD - 4);
    }
    return 0;
}

/* What only a debugger shows: kept where it is not the usual 0. */
static void
add_state(struct minidump *m, uint32_t id, uint32_t suspended, uint32_t priority)
{
    char key[16];
    if (suspended == 0 && priority == 0)
        return;
    json_t *state = json_object();
    /* By id and not by place: the limit can drop threads. */
    snprintf(key, sizeof(key), "%u", id);
    if (suspended)
        ingest_json_set(&m->b, state, "suspend_count", json_integer(suspended));
    if (priority)
        ingest_json_set(&m->b, state, "priority", json_integer(priority));
    ingest_json_set(&m->b, ingest_json_object(&m->b, m->extra, "threads"), key, state);
}

static void
read_thread(struct minidump *m, struct fz_reader *r)
{
    struct report *report = m->b.report;
    struct report_thread *thread = ingest_add_thread(&m->b);
    if (!thread)
        return;
    struct minidump_thread *own = &m->threads[report->n_threads - 1];
    uint32_t id = fz_read_u32(r), suspended = fz_read_u32(r);
    fz_read_skip(r, 4); /* priority class: Windows only */
    uint32_t priority = fz_read_u32(r);
    fz_read_skip(r, 8); /* teb: Windows only */
    thread->index = id;
    own->report = thread;
    /* The stack's bytes are read later: the crashed thread's come first under the limit. */
    own->stack_addr = fz_read_u64(r);
    own->stack = minidump_read_place(r);
    own->context = minidump_read_place(r);
    add_state(m, id, suspended, priority);
    if (!minidump_context(m, own->context, own) && own->context.size && m->cpu != FZ_CPU_UNKNOWN)
        ingest_note(&m->b, "thread %u: its context (at byte %u) is cut off", id,
                    own->context.offset);
}

static void
read_names(struct minidump *m)
{
    struct report *report = m->b.report;
    size_t n;
    struct fz_reader r = minidump_list(m, MINIDUMP_THREAD_NAMES, "thread names", NAME, &n);
    n = n < m->b.limits->threads ? n : m->b.limits->threads;
    for (size_t i = 0; i < n; i++) {
        uint32_t id = fz_read_u32(&r);
        uint64_t offset = fz_read_u64(&r);
        for (size_t k = 0; k < report->n_threads; k++) {
            struct report_thread *thread = &report->threads[k];
            /* Two lists, in an order of their own: the ids connect them. */
            if (thread->index == id && !thread->name)
                thread->name = minidump_utf16(m, offset, MINIDUMP_PATH_UNITS);
        }
    }
}

void
minidump_threads(struct minidump *m)
{
    struct report *report = m->b.report;
    size_t n;
    struct fz_reader r = minidump_list(m, MINIDUMP_THREAD_LIST, "threads", THREAD, &n);
    size_t max = ingest_limit(&m->b, "threads", n, m->b.limits->threads);
    size_t crashed = crashed_position(m, r, n), first = r.pos;
    m->threads = ingest_alloc(&m->b, max, sizeof(*m->threads));
    for (size_t i = 0; i < max && !m->b.failed; i++) {
        /* The crashed thread takes the last place within the limit. */
        size_t number = i + 1 == max && crashed > i ? crashed : i;
        fz_read_seek(&r, first + number * THREAD);
        read_thread(m, &r);
    }
    /* The report's list moves while it grows, so pointers to it are set at the end. */
    for (size_t i = 0; i < report->n_threads; i++)
        m->threads[i].report = &report->threads[i];
    read_names(m);
}

/* A copy of captured bytes within the limit on memory; empty if there are none. */
static struct report_memory
copy_bytes(struct minidump *m, uint64_t addr, struct minidump_place place, bool *ret_cut)
{
    struct report_memory memory = {.addr = addr};
    struct fz_reader r = minidump_reader(m, place);
    size_t len = r.len < m->b.memory_left ? r.len : m->b.memory_left;
    /* Such a region ends beyond all addresses: the dump is broken here. */
    if (len > UINT64_MAX - addr)
        len = 0;
    memory.truncated = len < place.size;
    *ret_cut = *ret_cut || memory.truncated;
    if (len == 0)
        return memory;
    uint8_t *copy = ingest_alloc(&m->b, len, 1);
    if (!copy)
        return memory;
    memcpy(copy, r.data, len);
    m->b.memory_left -= len;
    memory.bytes = fz_span_make(copy, len);
    return memory;
}

/* Crashpad may leave the stack out of the thread and write it to the memory list only. */
static void
find_stack(const struct minidump *m, struct minidump_thread *t,
           const struct minidump_thread *regions, size_t n)
{
    uint64_t sp = minidump_register(m, t, FZ_REGISTER_SP);
    for (size_t i = 0; i < n && t->stack.size == 0 && t->has_context; i++) {
        if (sp >= regions[i].stack_addr && sp - regions[i].stack_addr < regions[i].stack.size) {
            t->stack = regions[i].stack;
            t->stack_addr = regions[i].stack_addr;
        }
    }
}

/* Both memory lists, as pairs of address (stack_addr) and place (stack). */
static size_t
read_regions(struct minidump *m, struct minidump_thread **ret)
{
    size_t n_short, n_long = 0, n = 0;
    struct fz_reader r = minidump_list(m, MINIDUMP_MEMORY_LIST, "memory", REGION, &n_short);
    struct fz_reader full = minidump_reader(m, minidump_find(m, MINIDUMP_MEMORY64_LIST));
    uint64_t count = fz_read_u64(&full), base = fz_read_u64(&full);
    if (!full.failed)
        n_long =
            count < fz_read_left(&full) / REGION ? (size_t)count : fz_read_left(&full) / REGION;
    /* As for other reports, this limit also bounds the number of regions. */
    size_t max = ingest_limit(&m->b, "memory", n_short + n_long, m->b.limits->images);
    *ret = max ? ingest_alloc(&m->b, max, sizeof(**ret)) : NULL;
    for (size_t i = 0; i < n_short && n < max && *ret; i++, n++) {
        (*ret)[n].stack_addr = fz_read_u64(&r);
        (*ret)[n].stack = minidump_read_place(&r);
    }
    for (size_t i = 0; i < n_long && n < max && *ret; i++) {
        uint64_t addr = fz_read_u64(&full), size = fz_read_u64(&full);
        /* No limit allows bodies of 4 GiB, so the dump ends before this region. */
        if (base > UINT32_MAX || size > UINT32_MAX)
            break;
        (*ret)[n].stack_addr = addr;
        (*ret)[n++].stack = (struct minidump_place){(uint32_t)size, (uint32_t)base};
        /* The list has sizes only: the regions' bytes follow each other from `base` on. */
        base += size;
    }
    return n;
}

static int
compare_places(const void *a, const void *b)
{
    const struct minidump_place *x = a, *y = b;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static bool
is_place(const struct minidump_place *places, size_t n, struct minidump_place wanted)
{
    const struct minidump_place *found =
        n ? bsearch(&wanted, places, n, sizeof(wanted), compare_places) : NULL;
    return found && found->size >= wanted.size;
}

/* The stacks, the crashed thread's first, then what else was captured. */
void
minidump_memory(struct minidump *m)
{
    struct report *report = m->b.report;
    struct minidump_thread *regions;
    bool cut = false;
    size_t n = read_regions(m, &regions);
    const struct report_thread *crashed = report_crashed_thread(report);
    struct minidump_place *stacks = ingest_alloc(&m->b, report->n_threads + 1, sizeof(*stacks));
    report->memory = n ? ingest_alloc(&m->b, n, sizeof(*report->memory)) : NULL;
    /* Two passes: the limit on memory must not cut the crashed stack. */
    for (size_t pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < report->n_threads && !m->b.failed; i++) {
            struct minidump_thread *t = &m->threads[i];
            if ((t->report == crashed) != (pass == 0))
                continue;
            find_stack(m, t, regions, n);
            t->report->stack = copy_bytes(m, t->stack_addr, t->stack, &cut);
            stacks[i] = t->stack;
        }
    }
    if (!m->b.failed && report->n_threads)
        qsort(stacks, report->n_threads, sizeof(*stacks), compare_places);
    for (size_t i = 0; i < n && !m->b.failed; i++) {
        /* Writers list the stacks as memory, too; the bytes are kept once. */
        if (is_place(stacks, report->n_threads, regions[i].stack))
            continue;
        struct report_memory memory = copy_bytes(m, regions[i].stack_addr, regions[i].stack, &cut);
        if (memory.bytes.len)
            report->memory[report->n_memory++] = memory;
    }
    if (cut)
        ingest_note(&m->b, "memory: cut, the dump ends before it, or it exceeds %zu bytes",
                    m->b.limits->memory_bytes);
}
