#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void set_text(struct fz_error *err, enum fz_code code, int64_t offset, const char *fmt,
                     va_list args) FZ_PRINTF(4, 0);

static void
set_text(struct fz_error *err, enum fz_code code, int64_t offset, const char *fmt, va_list args)
{
    if (!err)
        return;
    /* A caller may pass err->text as an argument, so the text is made aside. */
    char text[sizeof(err->text)];
    vsnprintf(text, sizeof(text), fmt, args);
    memcpy(err->text, text, sizeof(text));
    err->code = code;
    err->offset = offset;
}

enum fz_code
fz_fail(struct fz_error *err, enum fz_code code, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    set_text(err, code, -1, fmt, args);
    va_end(args);
    return code;
}

enum fz_code
fz_fail_at(struct fz_error *err, enum fz_code code, uint64_t offset, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    set_text(err, code, offset > INT64_MAX ? INT64_MAX : (int64_t)offset, fmt, args);
    va_end(args);
    return code;
}

static enum fz_code
code_of_errno(int number)
{
    switch (number) {
    case ENOMEM:
        return FZ_E_NO_MEMORY;
    case ENOENT:
        return FZ_E_NOT_FOUND;
    /* These conditions pass: the caller may try again later. */
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
        return FZ_E_UNAVAILABLE;
    default:
        return FZ_E_INTERNAL;
    }
}

enum fz_code
fz_fail_errno(struct fz_error *err, const char *fmt, ...)
{
    /* First of all: formatting the message may change it. */
    int number = errno;
    enum fz_code code = code_of_errno(number);
    va_list args;
    va_start(args, fmt);
    set_text(err, code, -1, fmt, args);
    va_end(args);
    if (err) {
        char reason[96];
        /* POSIX strerror_r: 0 on success. */
        if (strerror_r(number, reason, sizeof(reason)) != 0)
            snprintf(reason, sizeof(reason), "error %d", number);
        /* A path may be longer than the text: the reason is more important than its end. */
        size_t len = strlen(err->text), most = sizeof(err->text) - strlen(": ") - sizeof(reason);
        const char *cut = len > most ? "..." : "";
        len = len > most ? most - strlen("...") : len;
        snprintf(err->text + len, sizeof(err->text) - len, "%s: %s", cut, reason);
    }
    return code;
}

enum fz_code
fz_wrap(struct fz_error *err, const char *fmt, ...)
{
    if (!err)
        return FZ_E_INTERNAL;
    char joined[sizeof(err->text)];
    va_list args;
    va_start(args, fmt);
    int len = vsnprintf(joined, sizeof(joined), fmt, args);
    va_end(args);
    if (len < 0)
        return err->code;
    /* vsnprintf() returns what it would have written. */
    size_t used = (size_t)len < sizeof(joined) ? (size_t)len : sizeof(joined) - 1;
    snprintf(joined + used, sizeof(joined) - used, ": %s", err->text);
    memcpy(err->text, joined, sizeof(joined));
    return err->code;
}

static const struct {
    const char *name;
    int http_status;
} codes[] = {
    [FZ_OK] = {"ok", 200},
    [FZ_E_MALFORMED] = {"malformed", 400},
    [FZ_E_UNSUPPORTED] = {"unsupported", 415},
    [FZ_E_LIMIT] = {"limit", 413},
    [FZ_E_DENIED] = {"denied", 403},
    [FZ_E_NOT_FOUND] = {"not_found", 404},
    [FZ_E_CONFLICT] = {"conflict", 409},
    [FZ_E_UNAVAILABLE] = {"unavailable", 503},
    [FZ_E_NO_MEMORY] = {"no_memory", 503},
    [FZ_E_INTERNAL] = {"internal", 500},
};

/* A code that came from elsewhere may be anything. */
static enum fz_code
known(enum fz_code code)
{
    return (size_t)code < FZ_ARRAY_LEN(codes) ? code : FZ_E_INTERNAL;
}

const char *
fz_code_name(enum fz_code code)
{
    return codes[known(code)].name;
}

int
fz_code_http_status(enum fz_code code)
{
    return codes[known(code)].http_status;
}
