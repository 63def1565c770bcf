#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Most arenas hold one name or one small document, and clearing a large block would be most of
 * their work: with a first block of 64 KiB, demangling a Swift name took 24 % longer. */
enum { FIRST_BLOCK_SIZE = 4 * 1024, BLOCK_SIZE = 64 * 1024, ALIGN = 16 };

struct fz_arena_block {
    struct fz_arena_block *next;
    size_t size; /* of `bytes` */
    size_t used;
    size_t pad; /* keeps `bytes` on 16 */
    uint8_t bytes[];
};

void
fz_arena_init(struct fz_arena *arena, size_t cap)
{
    *arena = fz_arena_make(cap);
}

void
fz_arena_deinit(struct fz_arena *arena)
{
    if (!arena)
        return;
    struct fz_arena_block *block = arena->blocks;
    while (block) {
        struct fz_arena_block *next = block->next;
        free(block);
        block = next;
    }
    arena->blocks = NULL;
    arena->used = 0;
    arena->over_cap = false;
}

static struct fz_arena_block *
add_block(struct fz_arena *arena, size_t need, bool is_cleared)
{
    size_t usual = arena->blocks ? BLOCK_SIZE : FIRST_BLOCK_SIZE;
    size_t size = need > usual ? need : usual;
    size_t total = sizeof(struct fz_arena_block) + size;
    if (total < size || arena->used > arena->cap || total > arena->cap - arena->used) {
        /* Near the cap a smaller block may still do. */
        size = need;
        total = sizeof(struct fz_arena_block) + size;
        if (total < size || arena->used > arena->cap || total > arena->cap - arena->used) {
            arena->over_cap = true;
            return NULL;
        }
    }
    struct fz_arena_block *block = is_cleared ? calloc(1, total) : malloc(total);
    if (!block)
        return NULL;
    *block = (struct fz_arena_block){.next = NULL};
    block->size = size;
    arena->used += total;
    /* A large block is second in the list: the current one may have room for small allocations. */
    if (arena->blocks && need > BLOCK_SIZE / 2) {
        block->next = arena->blocks->next;
        arena->blocks->next = block;
    } else {
        block->next = arena->blocks;
        arena->blocks = block;
    }
    return block;
}

static void *
alloc(struct fz_arena *arena, size_t size, bool is_cleared)
{
    /* Tests of running out of memory fail each allocation in turn. */
    if (arena->fail_after == 0)
        return NULL;
    if (arena->fail_after > 0)
        arena->fail_after--;
    if (size > SIZE_MAX - ALIGN) {
        arena->over_cap = true;
        return NULL;
    }
    size_t need = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    struct fz_arena_block *block = arena->blocks;
    if (!block || need > block->size - block->used) {
        block = add_block(arena, need, is_cleared);
        if (!block)
            return NULL;
    }
    void *at = block->bytes + block->used;
    block->used += need;
    return at;
}

void *
fz_arena_alloc(struct fz_arena *arena, size_t size)
{
    return alloc(arena, size, true);
}

void *
fz_arena_bytes(struct fz_arena *arena, size_t size)
{
    /* Blocks of small ones are cleared as a whole, and serve others as well. */
    return alloc(arena, size, size <= BLOCK_SIZE);
}

void *
fz_arena_array(struct fz_arena *arena, size_t n, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(n, size, &total)) {
        arena->over_cap = true;
        return NULL;
    }
    return fz_arena_alloc(arena, total);
}

char *
fz_arena_text(struct fz_arena *arena, struct fz_span bytes)
{
    if (bytes.len == SIZE_MAX)
        return NULL;
    char *copy = fz_arena_alloc(arena, bytes.len + 1);
    if (copy && bytes.len)
        memcpy(copy, bytes.data, bytes.len);
    return copy;
}

char *
fz_arena_strdup(struct fz_arena *arena, const char *text)
{
    return fz_arena_text(arena, fz_span_cstr(text));
}

char *
fz_arena_printf(struct fz_arena *arena, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    va_list again;
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    char *text = len < 0 ? NULL : fz_arena_alloc(arena, (size_t)len + 1);
    if (text)
        vsnprintf(text, (size_t)len + 1, fmt, again);
    va_end(again);
    return text;
}

enum fz_code
fz_arena_fail(const struct fz_arena *arena, struct fz_error *err)
{
    if (arena->over_cap)
        return fz_fail(err, FZ_E_LIMIT, "needs more than its limit of %zu bytes of memory",
                       arena->cap);
    return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
}
