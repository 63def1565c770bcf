#include "server/http/framing.h"

#include <ctype.h>
#include <strings.h>

#include "base/text.h"

bool
http_name_is(struct fz_span name, const char *want)
{
    return name.len == strlen(want) &&
           (name.len == 0 || strncasecmp((const char *)name.data, want, name.len) == 0);
}

/* RFC 9110, 5.6.2: what a field name may consist of. */
static bool
is_token(struct fz_span text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = text.data[i];
        if (!isalnum(c) && (c == '\0' || !strchr("!#$%&'*+-.^_`|~", c)))
            return false;
    }
    return text.len > 0;
}

static enum fz_code
check_bytes(const struct http_field *field, struct fz_error *err)
{
    if (!is_token(field->name))
        return fz_fail(err, FZ_E_MALFORMED,
                       "a header field name is empty or has a character that no name may have");
    for (size_t i = 0; i < field->value.len; i++) {
        unsigned char c = field->value.data[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return fz_fail(err, FZ_E_MALFORMED, "the header field %.*s has a control character",
                           (int)field->name.len, (const char *)field->name.data);
    }
    return FZ_OK;
}

static enum fz_code
check_length(struct fz_span value, struct http_framing *framing, struct fz_error *err)
{
    /* Even if both are equal: RFC 9112, 6.3 allows to refuse them, and a proxy may have used the
     * other. */
    if (framing->has_length)
        return fz_fail(err, FZ_E_MALFORMED, "the request has two Content-Length fields");
    /* fz_text_u64 also takes 0x; here only digits are a length. */
    for (size_t i = 0; i < value.len; i++) {
        if (value.data[i] < '0' || value.data[i] > '9')
            return fz_fail(err, FZ_E_MALFORMED, "Content-Length is not a number");
    }
    if (!fz_text_u64(value, &framing->content_length))
        return fz_fail(err, FZ_E_MALFORMED, "Content-Length is not a number below 2^64");
    framing->has_length = true;
    return FZ_OK;
}

static enum fz_code
check_field(const struct http_field *field, struct http_framing *framing, size_t *n_hosts,
            struct fz_error *err)
{
    struct fz_span value = fz_text_trim(field->value);
    if (http_name_is(field->name, "Content-Length"))
        return check_length(value, framing, err);
    if (http_name_is(field->name, "Transfer-Encoding")) {
        if (framing->chunked)
            return fz_fail(err, FZ_E_MALFORMED, "the request has two Transfer-Encoding fields");
        /* RFC 9112, 6.1: with a coding that it does not know, a server cannot find the end of the
         * body. */
        if (!http_name_is(value, "chunked"))
            return fz_fail(err, FZ_E_MALFORMED,
                           "the only transfer coding that is understood is 'chunked'");
        framing->chunked = true;
    } else if (http_name_is(field->name, "Host")) {
        /* RFC 9112, 3.2: two of them may lead a proxy and this server to different sites. */
        (*n_hosts)++;
    } else if (http_name_is(field->name, "Expect")) {
        if (!http_name_is(value, "100-continue"))
            return fz_fail(err, FZ_E_UNSUPPORTED,
                           "the only expectation that can be met is '100-continue'");
        framing->expects_continue = true;
    }
    return FZ_OK;
}

enum fz_code
http_framing_check(bool http_1_1, const struct http_field *fields, size_t n_fields,
                   struct http_framing *ret, struct fz_error *err)
{
    struct http_framing framing = {0};
    size_t n_hosts = 0;
    for (size_t i = 0; i < n_fields; i++) {
        enum fz_code code = check_bytes(&fields[i], err);
        if (code == FZ_OK)
            code = check_field(&fields[i], &framing, &n_hosts, err);
        if (code != FZ_OK)
            return code;
    }
    /* RFC 9112, 6.3: a proxy that goes by the other one sees another request in the body
     * (smuggling). */
    if (framing.chunked && framing.has_length)
        return fz_fail(err, FZ_E_MALFORMED,
                       "the request has both Content-Length and Transfer-Encoding");
    if (framing.chunked && !http_1_1)
        return fz_fail(err, FZ_E_MALFORMED, "HTTP/1.0 has no transfer codings");
    if (n_hosts > 1 || (http_1_1 && n_hosts == 0))
        return fz_fail(err, FZ_E_MALFORMED, "the request must have one Host field, it has %zu",
                       n_hosts);
    if (!http_1_1)
        framing.expects_continue = false; /* RFC 9110, 10.1.1: ignored from a 1.0 client */
    *ret = framing;
    return FZ_OK;
}

static const char ACCEPTED[] = "accepted are gzip, deflate, zstd";

/* One Content-Encoding value. Old clients send an empty value or a character set ("UTF-8") there:
 * both mean identity. */
static enum fz_code
parse_coding(struct fz_span value, enum http_coding *ret, struct fz_error *err)
{
    static const struct {
        const char *name;
        enum http_coding coding;
    } names[] = {
        {"", HTTP_CODING_IDENTITY},      {"identity", HTTP_CODING_IDENTITY},
        {"utf-8", HTTP_CODING_IDENTITY}, {"gzip", HTTP_CODING_GZIP},
        {"x-gzip", HTTP_CODING_GZIP},    {"deflate", HTTP_CODING_DEFLATE},
        {"zstd", HTTP_CODING_ZSTD},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(names); i++) {
        if (http_name_is(value, names[i].name)) {
            *ret = names[i].coding;
            return FZ_OK;
        }
    }
    if (fz_text_contains(value, ","))
        return fz_fail(err, FZ_E_UNSUPPORTED, "one content coding at most; %s", ACCEPTED);
    return fz_fail(err, FZ_E_UNSUPPORTED, "this content coding is not supported; %s", ACCEPTED);
}

enum fz_code
http_framing_coding(const struct http_field *fields, size_t n_fields, enum http_coding *ret,
                    struct fz_error *err)
{
    enum http_coding coding = HTTP_CODING_IDENTITY;
    for (size_t i = 0; i < n_fields; i++) {
        if (!http_name_is(fields[i].name, "Content-Encoding"))
            continue;
        enum http_coding next = HTTP_CODING_IDENTITY;
        enum fz_code code = parse_coding(fz_text_trim(fields[i].value), &next, err);
        if (code != FZ_OK)
            return code;
        if (next == HTTP_CODING_IDENTITY)
            continue;
        if (coding != HTTP_CODING_IDENTITY)
            return fz_fail(err, FZ_E_UNSUPPORTED, "one content coding at most; %s", ACCEPTED);
        /* Codings are not stacked: each layer would multiply how far a body can inflate. */
        coding = next;
    }
    *ret = coding;
    return FZ_OK;
}
