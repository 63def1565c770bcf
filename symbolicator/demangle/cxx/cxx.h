/*
 * The C++ demangler of libc++abi, and what its object file calls instead of the C library and a C++
 * runtime.
 *
 * All functions work on the run that cxx.c has started on this thread; no other code calls them.
 */
#ifndef SYM_DEMANGLE_CXX_H
#define SYM_DEMANGLE_CXX_H

#include <setjmp.h>

#include "base/arena.h"
#include "base/attr.h"

/* Blocks are aligned to this and preceded by their size, for realloc. */
enum { CXA_BLOCK_HEAD = 16 };
/* Enough for nearly every name, which saves allocating and clearing the arena's first block. */
enum { CXA_SCRATCH_BYTES = 16 * 1024 };

struct sym_cxa_run {
    _Alignas(CXA_BLOCK_HEAD) char scratch[CXA_SCRATCH_BYTES];
    size_t scratch_used;
    struct fz_arena arena;
    jmp_buf out_of_bounds; /* where the arena is exhausted */
};

/* Make `run` the current run of this thread; NULL ends it. */
void sym_cxa_enter(struct sym_cxa_run *run);

/* As __cxa_demangle(), with `buffer` and `len` NULL; the text is in the run's arena. */
char *sym_cxa_demangle(const char *name, char *buffer, size_t *len, int *status);

void *sym_cxa_malloc(size_t size);
void *sym_cxa_realloc(void *block, size_t size);
void sym_cxa_free(void *block);
void sym_cxa_delete(void *block, size_t size);

/* Leave the demangler; the name stays mangled. */
FZ_NORETURN void sym_cxa_abort(void);
FZ_NORETURN void sym_cxa_terminate(void);
FZ_NORETURN void sym_cxa_abort_message(const char *fmt, ...);

FZ_NORETURN void sym_cxa_resume(void *exception);
FZ_NORETURN void sym_cxa_begin_catch(void *exception);
FZ_NORETURN void sym_cxa_personality(void);
extern const void *const sym_cxa_class_type_info[4], *const sym_cxa_si_class_type_info[4];

#endif
