/*
 * What the demangler's object file needs from the C library and a C++ runtime.
 *
 * Memory comes from the run's arena, and abort() leaves the run. No C++ runtime is linked:
 * libc++abi's own needs an unwinder, and that one the C library that it was built for. The
 * demangler throws nothing, catches nothing and asks no object for its type. In libc++abi an
 * exception there would end the process; here it would leave the run.
 */
#include "symbolicator/demangle/cxx/cxx.h"
#include "symbolicator/demangle/language.h"

/* The output doubles as it grows, and a name of the longest kind has a pointer for each byte. */
enum { BLOCK_MAX = 2 * 8 * DEMANGLE_NAME_MAX };

/* The signatures of malloc() and the others have no place for the run. */
static _Thread_local struct sym_cxa_run *current_run;

void
sym_cxa_enter(struct sym_cxa_run *run)
{
    current_run = run;
}

FZ_NORETURN void
sym_cxa_abort(void)
{
    longjmp(current_run->out_of_bounds, 1);
}

FZ_NORETURN void
sym_cxa_terminate(void)
{
    sym_cxa_abort();
}

FZ_NORETURN void
sym_cxa_abort_message(const char *fmt, ...)
{
    (void)fmt;
    sym_cxa_abort();
}

void *
sym_cxa_malloc(size_t size)
{
    if (size > SIZE_MAX - CXA_BLOCK_HEAD)
        sym_cxa_abort();
    struct sym_cxa_run *run = current_run;
    /* Head and content, rounded up: the demangler keeps nodes that need alignment. */
    size_t need = (size + 2 * CXA_BLOCK_HEAD - 1) & ~(size_t)(CXA_BLOCK_HEAD - 1);
    char *block;
    /* The arena clears its blocks, which cost a quarter of the time of short names; the scratch is
     * not cleared. */
    if (need >= size && need <= CXA_SCRATCH_BYTES - run->scratch_used) {
        block = run->scratch + run->scratch_used;
        run->scratch_used += need;
    } else {
        block = fz_arena_alloc(&run->arena, size + CXA_BLOCK_HEAD);
    }
    if (!block)
        sym_cxa_abort();
    /* realloc() is not given the old size, so it is kept in front of the block. */
    memcpy(block, &size, sizeof(size));
    return block + CXA_BLOCK_HEAD;
}

void *
sym_cxa_realloc(void *block, size_t size)
{
    size_t old_size = 0;
    if (block)
        memcpy(&old_size, (char *)block - CXA_BLOCK_HEAD, sizeof(old_size));
    /* The arena's cap alone would allow one block that no real name needs. */
    if (size > BLOCK_MAX)
        sym_cxa_abort();
    /* The old block is not reused: an arena frees all at once. */
    void *grown = sym_cxa_malloc(size);
    if (block)
        memcpy(grown, block, old_size < size ? old_size : size);
    return grown;
}

void
sym_cxa_free(void *block)
{
    (void)block; /* the arena frees all at once */
}

void
sym_cxa_delete(void *block, size_t size)
{
    (void)block;
    (void)size;
}

FZ_NORETURN void
sym_cxa_resume(void *exception FZ_UNUSED)
{
    sym_cxa_abort();
}

FZ_NORETURN void
sym_cxa_begin_catch(void *exception FZ_UNUSED)
{
    sym_cxa_abort();
}

FZ_NORETURN void
sym_cxa_personality(void)
{
    sym_cxa_abort();
}

/* The classes of std::type_info: only their addresses are in the demangler's tables. */
const void *const sym_cxa_class_type_info[4], *const sym_cxa_si_class_type_info[4];
