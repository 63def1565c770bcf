/*
 * Captured memory in a minidump: the stacks of the thread list, and both memory lists.
 */
#include "server/ingest/minidump/strip.h"

#include "base/platform.h"
#include "server/ingest/minidump/minidump.h"

enum { THREAD = 48, THREAD_STACK = 24, REGION = 16, DUMPS_MAX = 16, SCRATCH = 1024 * 1024 };

struct dump {
    struct ingest_strip *strip;
    struct minidump m;
};

/* The captured bytes of a place, as far as the dump has them. */
static void
strip_place(struct dump *d, uint64_t addr, struct minidump_place place, bool is_stack)
{
    struct fz_reader r = minidump_reader(&d->m, place);
    if (r.len == 0)
        return;
    uint8_t *bytes = d->strip->bytes + (r.data - d->strip->bytes);
    d->strip->found = true;
    /* The thread list says which are stacks, but a stack may be in the memory list only. */
    if (is_stack || ingest_strip_is_stack(d->strip, addr, r.len))
        ingest_strip_words(d->strip, bytes, r.len, addr);
    else
        memset(bytes, 0, r.len);
}

static void
strip_threads(struct dump *d)
{
    size_t n;
    struct fz_reader r = minidump_list(&d->m, MINIDUMP_THREAD_LIST, "threads", THREAD, &n);
    for (size_t i = 0; i < n && !r.failed; i++) {
        size_t next = r.pos + THREAD;
        fz_read_skip(&r, THREAD_STACK);
        uint64_t addr = fz_read_u64(&r);
        strip_place(d, addr, minidump_read_place(&r), true);
        fz_read_seek(&r, next);
    }
}

/* Not more of them than the parser reads could have been shown, but all are in the body. */
static void
strip_regions(struct dump *d)
{
    size_t n;
    struct fz_reader r = minidump_list(&d->m, MINIDUMP_MEMORY_LIST, "memory", REGION, &n);
    for (size_t i = 0; i < n && !r.failed; i++) {
        uint64_t addr = fz_read_u64(&r);
        strip_place(d, addr, minidump_read_place(&r), false);
    }
    r = minidump_reader(&d->m, minidump_find(&d->m, MINIDUMP_MEMORY64_LIST));
    uint64_t count = fz_read_u64(&r), base = fz_read_u64(&r);
    for (uint64_t i = 0; i < count && !r.failed && base <= UINT32_MAX; i++) {
        uint64_t addr = fz_read_u64(&r), size = fz_read_u64(&r);
        if (r.failed || size > UINT32_MAX)
            break;
        strip_place(d, addr, (struct minidump_place){(uint32_t)size, (uint32_t)base}, false);
        base += size;
    }
}

static void
strip_dump(struct ingest_strip *strip, struct fz_span body, const struct limits *limits)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena scratch = fz_arena_make(SCRATCH);
    struct report report = {.n_threads = 0};
    struct dump d = {.strip = strip};
    d.m.b = ingest_builder_make(&report, &scratch, limits);
    if (minidump_open(body, &d.m, NULL) != FZ_OK)
        return;
    /* Memory first: a stack that is listed there too is then done by words twice. */
    strip_regions(&d);
    strip_threads(&d);
}

void
minidump_strip(struct ingest_strip *strip, const struct limits *limits)
{
    static const char *const magics[] = {"MDMP", "PMDM"};
    for (size_t kind = 0; kind < FZ_ARRAY_LEN(magics); kind++) {
        size_t at = 0;
        for (size_t i = 0; i < DUMPS_MAX; i++) {
            const uint8_t *found =
                fz_platform_find(strip->bytes + at, strip->len - at, magics[kind], 4);
            if (!found)
                break;
            at = (size_t)(found - strip->bytes);
            strip->n_dumps++;
            strip_dump(strip, fz_span_make(strip->bytes + at, strip->len - at), limits);
            at += 4;
        }
    }
}
