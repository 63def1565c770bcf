/*
 * Libraries that are loaded when they are first needed.
 *
 * libpq, libcurl, libmicrohttpd and libarchive bring forty others with them, which took 5 ms of
 * every start and 7 MiB, also of commands and children that use none of them; libcrypto and
 * libsqlite3 took another one. cmake/FzLazy.cmake
 * links a jump for each of their functions in their place; the room that is a library's home calls
 * fz_lazy_load() before its first call and then calls the functions as ever. Where CMake does not
 * know how to make the jumps the library is linked as usual, and loading it does nothing.
 */
#ifndef FZ_LAZY_H
#define FZ_LAZY_H

#include <stddef.h>

#include "base/error.h"

typedef void (*fz_lazy_fn)(void);

struct fz_lazy {
    const char *library; /* its soname */
    const char *const *names;
    fz_lazy_fn *functions; /* where the jumps lead; n of them, as of names */
    size_t n;
};

/* Load the library unless it is; any thread may call it. It stays until the process ends. Errors:
 * INTERNAL it is not there or lacks a function. */
FZ_MUST_CHECK enum fz_code fz_lazy_load(const struct fz_lazy *lazy, struct fz_error *err);

/* Where each jump leads before: tells that a call to fz_lazy_load() is missing, and aborts. */
FZ_NORETURN void fz_lazy_unloaded(void);

extern const struct fz_lazy fz_lazy_archive, fz_lazy_crypto, fz_lazy_curl, fz_lazy_microhttpd,
    fz_lazy_pq, fz_lazy_sqlite3;

#endif
