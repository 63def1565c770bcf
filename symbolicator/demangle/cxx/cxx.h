/*
 * The C++ demangler, and what its object file calls in place of the C library: see cxx.c.
 *
 * All of these belong to the run that cxx.c has begun on this thread; no other code calls them.
 */
#ifndef SYM_DEMANGLE_CXX_H
#define SYM_DEMANGLE_CXX_H

#include <stddef.h>

#include "base/attr.h"

/* As __cxa_demangle(), with `buffer` and `len` NULL; the text is in the run's arena. */
char *fz_cxa_demangle(const char *name, char *buffer, size_t *len, int *status);

void *fz_cxa_malloc(size_t size);
void *fz_cxa_realloc(void *block, size_t size);
void fz_cxa_free(void *block);
void fz_cxa_delete(void *block, size_t size);

/* Leave the demangler: the name is given up. */
FZ_NORETURN void fz_cxa_abort(void);
FZ_NORETURN void fz_cxa_terminate(void);
FZ_NORETURN void fz_cxa_abort_message(const char *fmt, ...);

/* Of C++ itself: cxx_runtime.c. */
FZ_NORETURN void fz_cxa_resume(void *exception);
FZ_NORETURN void fz_cxa_begin_catch(void *exception);
FZ_NORETURN void fz_cxa_personality(void);
extern const void *const fz_cxa_class_type_info[4], *const fz_cxa_si_class_type_info[4];

#endif
