#include "server/alert/build.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/time.h"
#include "server/alert/escape.h"

const char *
alert_build_text(struct alert_build *b, size_t max, const char *fmt, ...)
{
    char text[4096];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    /* What is longer is cut in any case, perhaps within a character, which then is not shown. */
    const char *clean = n < 0 ? NULL : alert_plain(b->arena, text, max);
    if (!clean)
        b->failed = true;
    return clean ? clean : "";
}

void
alert_build_field(struct alert_build *b, const char *name, const char *value)
{
    struct alert_doc *doc = b->doc;
    if (!value || !*value || doc->n_fields == ALERT_FIELDS_MAX)
        return;
    doc->fields[doc->n_fields].name = name;
    doc->fields[doc->n_fields++].value = alert_build_text(b, ALERT_VALUE_MAX, "%.1000s", value);
}

void
alert_build_line(struct alert_build *b, const char *line)
{
    if (b->doc->n_lines < ALERT_LINES_MAX)
        b->doc->lines[b->doc->n_lines++] = alert_build_text(b, ALERT_LINE_MAX, "%.2000s", line);
}

const char *
alert_build_time(struct alert_build *b, int64_t time_ms)
{
    char text[FZ_TIME_TEXT];
    fz_time_format(time_ms, text);
    return alert_build_text(b, ALERT_VALUE_MAX, "%.10s %.5s UTC", text, text + 11);
}

const char *
alert_build_count(struct alert_build *b, uint64_t n, const char *one, const char *many)
{
    return alert_build_text(b, ALERT_VALUE_MAX, "%llu %s", (unsigned long long)n,
                            n == 1 ? one : many);
}

const char *
alert_build_percent(struct alert_build *b, uint64_t part, uint64_t whole)
{
    /* Without overflow for any numbers. */
    uint64_t tenths = whole == 0                 ? 0
                      : part >= whole            ? 1000
                      : part > UINT64_MAX / 1000 ? part / (whole / 1000)
                                                 : part * 1000 / whole;
    return tenths % 10
               ? alert_build_text(b, ALERT_VALUE_MAX, "%llu.%llu %%",
                                  (unsigned long long)(tenths / 10),
                                  (unsigned long long)(tenths % 10))
               : alert_build_text(b, ALERT_VALUE_MAX, "%llu %%", (unsigned long long)(tenths / 10));
}
