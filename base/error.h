/*
 * Errors: nine codes with one meaning each, and a text that names where and why.
 *
 * The caller provides the struct fz_error (or NULL); nothing is allocated and nothing has to be
 * freed. A code decides the HTTP status and whether a job is tried again:
 *
 *   code          HTTP     job               code          HTTP     job
 *   MALFORMED     400      fail              CONFLICT      409      done already
 *   UNSUPPORTED   415      fail              UNAVAILABLE   503      retry with back-off
 *   LIMIT         413/429  fail              NO_MEMORY     503      retry
 *   DENIED        401/403  -                 INTERNAL      500      fail and log
 *   NOT_FOUND     404      caller decides
 */
#ifndef FZ_ERROR_H
#define FZ_ERROR_H

#include "base/attr.h"
#include <stdint.h>

enum fz_code {
    FZ_OK = 0,
    FZ_E_MALFORMED,
    FZ_E_UNSUPPORTED,
    FZ_E_LIMIT,
    FZ_E_DENIED,
    FZ_E_NOT_FOUND,
    FZ_E_CONFLICT,
    FZ_E_UNAVAILABLE,
    FZ_E_NO_MEMORY,
    FZ_E_INTERNAL,
};

struct fz_error {
    enum fz_code code;
    char text[256];
    int64_t offset; /* byte of the input at which it went wrong, -1 = not known */
};

/* Fill *err (may be NULL) and return `code`. A text that does not fit is cut at 255 bytes. offset
 * becomes -1.
 */
enum fz_code fz_fail(struct fz_error *err, enum fz_code code, const char *fmt, ...) FZ_PRINTF(3, 4);

/* As fz_fail(), with the byte offset of the fault in the input that is being read. */
enum fz_code fz_fail_at(struct fz_error *err, enum fz_code code, uint64_t offset, const char *fmt,
                        ...) FZ_PRINTF(4, 5);

/* As fz_fail() with FZ_E_INTERNAL (ENOMEM: NO_MEMORY, ENOENT: NOT_FOUND,
 * ENOSPC/EDQUOT/EMFILE/ENFILE: UNAVAILABLE), and ": <text of errno>" after the message. Reads
 * errno at once. */
enum fz_code fz_fail_errno(struct fz_error *err, const char *fmt, ...) FZ_PRINTF(2, 3);

/* Put "<message>: " before the text of a failure that is passed up; keeps code and offset and
 * returns the code. With a NULL err the code is not known here (FZ_E_INTERNAL): where that can be,
 * keep the code in a variable. */
enum fz_code fz_wrap(struct fz_error *err, const char *fmt, ...) FZ_PRINTF(2, 3);

/* The code's name in the API's error bodies: "malformed", "not_found"...; "ok" for FZ_OK. Static
 * string. */
const char *fz_code_name(enum fz_code code);

/* The default HTTP status of a code (FZ_OK: 200, LIMIT: 413, DENIED: 403). */
int fz_code_http_status(enum fz_code code);

#endif
