#include "server/ingest/common/strip.h"

#include <stdlib.h>

#include "base/arch/arch.h"

/* An image of unknown size ends here at the latest. */
static const uint64_t IMAGE_MAX = 256u * 1024 * 1024;
/* A function may save registers below sp, and the report's stack begins above them. */
enum { BELOW_STACK = 256 };

static int
compare_ranges(const void *a, const void *b)
{
    const struct ingest_strip_range *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

/* Sort the ranges and join those that touch, for a binary search. */
static size_t
join_ranges(struct ingest_strip_range *ranges, size_t n)
{
    size_t n_joined = 0;
    if (n)
        qsort(ranges, n, sizeof(*ranges), compare_ranges);
    for (size_t i = 0; i < n; i++) {
        struct ingest_strip_range *last = n_joined ? &ranges[n_joined - 1] : NULL;
        if (last && ranges[i].start <= last->end)
            last->end = ranges[i].end > last->end ? ranges[i].end : last->end;
        else
            ranges[n_joined++] = ranges[i];
    }
    return n_joined;
}

static bool
is_in(const struct ingest_strip_range *ranges, size_t n, uint64_t addr)
{
    size_t low = 0;
    while (n > low) {
        size_t middle = low + (n - low) / 2;
        if (addr < ranges[middle].start)
            n = middle;
        else if (addr >= ranges[middle].end)
            low = middle + 1;
        else
            return true;
    }
    return false;
}

static struct ingest_strip_range
make_range(uint64_t addr, uint64_t size)
{
    return (struct ingest_strip_range){addr, size > UINT64_MAX - addr ? UINT64_MAX : addr + size};
}

static void
add_images(struct ingest_strip *s, const struct report *report)
{
    for (size_t i = 0; i < report->n_images; i++) {
        const struct report_image *image = &report->images[i];
        uint64_t size = image->size;
        /* With neither address nor size, no pointer is known to lead into it. */
        if (image->addr == 0 && size == 0)
            continue;
        for (size_t k = 0; size == 0 && k < report->n_images; k++) {
            uint64_t next = report->images[k].addr;
            if (next > image->addr && (size == 0 || next - image->addr < size))
                size = next - image->addr;
        }
        if (image->size == 0 && (size == 0 || size > IMAGE_MAX))
            size = IMAGE_MAX;
        s->images[s->n_images++] = make_range(image->addr, size);
    }
    s->n_images = join_ranges(s->images, s->n_images);
}

enum fz_code
ingest_strip_init(struct ingest_strip *s, struct fz_span body, const struct report *report,
                  struct fz_arena *arena, struct fz_error *err)
{
    *s = (struct ingest_strip){.len = body.len, .arena = arena};
    s->bytes = fz_arena_alloc(arena, body.len + 1);
    if (!s->bytes)
        return fz_arena_fail(arena, err);
    memcpy(s->bytes, body.data, body.len);
    return ingest_strip_ranges(s, report, arena, err);
}

enum fz_code
ingest_strip_ranges(struct ingest_strip *s, const struct report *report, struct fz_arena *arena,
                    struct fz_error *err)
{
    enum fz_arch_cpu cpu = report_cpu(report);
    s->word = 8;
    s->images = fz_arena_array(arena, report->n_images + 1, sizeof(*s->images));
    s->stacks = fz_arena_array(arena, report->n_threads + 1, sizeof(*s->stacks));
    if (!s->images || !s->stacks)
        return fz_arena_fail(arena, err);
    if (cpu == FZ_CPU_ARM || cpu == FZ_CPU_X86)
        s->word = 4;
    s->is_signed = cpu == FZ_CPU_ARM64;
    s->is_big_endian = cpu == FZ_CPU_UNKNOWN;
    add_images(s, report);
    for (size_t i = 0; i < report->n_threads; i++) {
        const struct report_memory *stack = &report->threads[i].stack;
        uint64_t below = stack->addr < BELOW_STACK ? stack->addr : BELOW_STACK;
        if (stack->bytes.len)
            s->stacks[s->n_stacks++] =
                make_range(stack->addr - below, stack->bytes.len + below + s->word);
    }
    s->n_stacks = join_ranges(s->stacks, s->n_stacks);
    return FZ_OK;
}

static bool
are_same(const struct ingest_strip_range *a, size_t n_a, const struct ingest_strip_range *b,
         size_t n_b)
{
    return n_a == n_b && (n_a == 0 || memcmp(a, b, n_a * sizeof(*a)) == 0);
}

bool
ingest_strip_same_ranges(const struct ingest_strip *a, const struct ingest_strip *b)
{
    return a->word == b->word && a->is_signed == b->is_signed &&
           a->is_big_endian == b->is_big_endian &&
           are_same(a->images, a->n_images, b->images, b->n_images) &&
           are_same(a->stacks, a->n_stacks, b->stacks, b->n_stacks);
}

bool
ingest_strip_is_stack(const struct ingest_strip *s, uint64_t addr, uint64_t size)
{
    const struct ingest_strip_range range = make_range(addr, size);
    for (size_t i = 0; i < s->n_stacks; i++) {
        if (range.start < s->stacks[i].end && s->stacks[i].start < range.end)
            return true;
    }
    return false;
}

static bool
is_text(const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (bytes[i] < 0x20 || bytes[i] >= 0x7f)
            return false;
    }
    return true;
}

/* Signatures of pointers are above bit 47, 39 or 36. */
static bool
is_pointer(const struct ingest_strip *s, const uint8_t *bytes)
{
    static const unsigned bits[] = {47, 39, 36};
    uint64_t value = 0;
    for (unsigned i = s->word; i-- > 0;)
        value = value << 8 | bytes[i];
    /* Text of a pointer's length may happen to be an address: rather lose that one. */
    if (s->is_big_endian || value == 0 || is_text(bytes, s->word))
        return false;
    if (is_in(s->images, s->n_images, value) || is_in(s->stacks, s->n_stacks, value))
        return true;
    /* Swift marks the frame pointer of an async function with bit 60. */
    if (s->word == 8 && is_in(s->stacks, s->n_stacks, value & ~(UINT64_C(1) << 60)))
        return true;
    for (size_t i = 0; s->is_signed && i < FZ_ARRAY_LEN(bits); i++) {
        if (is_in(s->images, s->n_images, value & ((UINT64_C(1) << bits[i]) - 1)))
            return true;
    }
    return false;
}

/* Where the first whole word is. */
static size_t
first_word(const struct ingest_strip *s, uint64_t addr, size_t n)
{
    size_t skip = (size_t)(-addr % s->word);
    return skip < n ? skip : n;
}

void
ingest_strip_words(struct ingest_strip *s, uint8_t *bytes, size_t n, uint64_t addr)
{
    size_t at = first_word(s, addr, n);
    s->found = s->found || n > 0;
    if (n == 0)
        return;
    memset(bytes, 0, at);
    for (; n - at >= s->word; at += s->word) {
        if (!is_pointer(s, bytes + at))
            memset(bytes + at, 0, s->word);
    }
    memset(bytes + at, 0, n - at);
}

static bool
is_zero(const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (bytes[i])
            return false;
    }
    return true;
}

bool
ingest_strip_is_clean(const struct ingest_strip *s, struct fz_span bytes, uint64_t addr)
{
    size_t at = first_word(s, addr, bytes.len);
    if (bytes.len == 0)
        return true;
    bool clean = is_zero(bytes.data, at);
    for (; clean && bytes.len - at >= s->word; at += s->word)
        clean = is_zero(bytes.data + at, s->word) || is_pointer(s, bytes.data + at);
    return clean && is_zero(bytes.data + at, bytes.len - at);
}
