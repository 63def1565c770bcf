/*
 * The name under which a browser keeps what it downloads: "Shop-2026-11-20-8c1f2a90.crash".
 *
 * The app's name is the sender's text: the plain name has only characters that need no quoting, and
 * `filename*` (RFC 6266) carries the rest for browsers that support it.
 */
#include "server/api/api_download.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/time.h"
#include "server/report/columns.h"

enum { NAME_LETTERS = 80 };

static bool
is_plain(unsigned char c)
{
    return isalnum(c) || (c && strchr("._-", c));
}

/* Every run of other characters becomes one '_'. */
static void
make_plain(const char *text, char ret[NAME_LETTERS + 1])
{
    size_t n = 0;
    for (; *text && n < NAME_LETTERS; text++) {
        if (is_plain((unsigned char)*text))
            ret[n++] = *text;
        else if (n == 0 || ret[n - 1] != '_')
            ret[n++] = '_';
    }
    ret[n] = '\0';
}

/* RFC 8187; whole characters only, since a cut one is not UTF-8. */
static void
append_encoded(struct fz_buffer *out, const char *text)
{
    size_t n = 0;
    for (; *text; text++, n++) {
        unsigned char c = (unsigned char)*text;
        /* A continuation byte belongs to a character that is counted already. */
        if (n >= NAME_LETTERS && (c & 0xc0) != 0x80)
            break;
        if (is_plain(c))
            fz_buffer_char(out, (char)c);
        else
            fz_buffer_printf(out, "%%%02X",
                             c < 0x20 || c == 0x7f || c == '/' || c == '\\' ? '_' : c);
    }
}

void
api_download_name(struct http_request *request, bool is_attachment, const char *name,
                  const char *more)
{
    char plain[NAME_LETTERS + 1];
    bool is_odd = false;
    make_plain(name, plain);
    for (const char *at = name; *at; at++)
        is_odd = is_odd || !is_plain((unsigned char)*at);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(1024);
    fz_buffer_printf(&out, "%s; filename=\"%s%s\"", is_attachment ? "attachment" : "inline", plain,
                     more);
    /* Only then: for a plain name the second parameter would say nothing new. */
    if (is_odd) {
        fz_buffer_text(&out, "; filename*=UTF-8''");
        append_encoded(&out, name);
        append_encoded(&out, more);
    }
    /* Without it the download still works, under the URL's last segment. */
    if (!out.failed)
        http_add_header(request, "Content-Disposition", fz_buffer_cstr(&out));
}

void
api_download_report(struct http_request *request, bool is_attachment,
                    const struct store_report *columns, const char *extension)
{
    char more[64], day[FZ_TIME_TEXT];
    const char *name = fz_columns_text(&report_columns, columns->values, "app_name");
    if (!name || !*name)
        name = fz_columns_text(&report_columns, columns->values, "app_id");
    if (!name || !*name)
        name = "report";
    /* The day of the crash, as people look for it; formats without a time have that of the arrival.
     */
    fz_time_format(columns->timestamp_ms ? columns->timestamp_ms : columns->received_ms, day);
    snprintf(more, sizeof(more), "-%.10s-%.8s.%s", day, columns->id, extension);
    api_download_name(request, is_attachment, name, more);
}

const char *
api_download_extension(const char *report_format)
{
    static const char *const rows[][2] = {
        {"crash", "crash"},     {"ips", "ips"},    {"minidump", "dmp"},    {"multipart", "form"},
        {"plcrash", "plcrash"}, {"quincy", "xml"}, {"sentry", "envelope"}, {"text", "txt"},
    };
    for (size_t i = 0; report_format && i < FZ_ARRAY_LEN(rows); i++) {
        if (strcmp(report_format, rows[i][0]) == 0)
            return rows[i][1];
    }
    return "json";
}
