#include "base/log.h"

#include "base/file.h"
#include "base/time.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 1000 };

static _Atomic int lowest_level = FZ_LOG_INFO;

void
fz_log_set_level(enum fz_log_level level)
{
    atomic_store(&lowest_level, (int)level);
}

static const char *
level_name(enum fz_log_level level)
{
    switch (level) {
    case FZ_LOG_DEBUG:
        return "debug";
    case FZ_LOG_INFO:
        return "info";
    case FZ_LOG_WARN:
        return "warn";
    case FZ_LOG_ERROR:
        return "error";
    }
    return "error";
}

void
fz_log(enum fz_log_level level, const char *msg, const char *fmt, ...)
{
    if ((int)level < atomic_load(&lowest_level))
        return;
    char stamp[FZ_TIME_TEXT];
    fz_time_format(fz_time_now_ms(), stamp);
    char line[LINE_MAX_BYTES + 2];
    int head =
        snprintf(line, LINE_MAX_BYTES, "ts=%s level=%s msg=\"%s\" ", stamp, level_name(level), msg);
    size_t len = head < 0 ? 0 : head < LINE_MAX_BYTES ? (size_t)head : LINE_MAX_BYTES - 1;
    va_list args;
    va_start(args, fmt);
    int tail = vsnprintf(line + len, LINE_MAX_BYTES - len, fmt, args);
    va_end(args);
    if (tail > 0)
        len += (size_t)tail < LINE_MAX_BYTES - len ? (size_t)tail : LINE_MAX_BYTES - len - 1;
    while (len && line[len - 1] == ' ')
        len--;
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
            line[i] = '?';
    }
    line[len++] = '\n';
    fz_ignore(fz_file_write_fd(STDERR_FILENO, fz_span_make(line, len),
                               NULL)); /* nowhere left to tell it */
}

const char *
fz_log_quote(const char *text, char *ret, unsigned size)
{
    unsigned at = 0;
    if (size < 3)
        return "";
    ret[at++] = '"';
    for (; *text && at + 3 < size; text++) {
        if (*text == '"' || *text == '\\')
            ret[at++] = '\\';
        ret[at++] = *text;
    }
    ret[at++] = '"';
    ret[at] = '\0';
    return ret;
}
