#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "server/http/client.h"
#include "server/http/encode.h"

static void
test_choose(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        enum http_coding want;
    } cases[] = {
        {NULL, HTTP_CODING_IDENTITY},
        {"", HTTP_CODING_IDENTITY},
        {"gzip", HTTP_CODING_GZIP},
        {"x-gzip", HTTP_CODING_GZIP},
        {"GZIP", HTTP_CODING_GZIP},
        {"gzip, deflate, br", HTTP_CODING_GZIP},
        {"gzip, deflate, br, zstd", HTTP_CODING_ZSTD},
        {"gzip;q=1.0, zstd;q=0.9", HTTP_CODING_GZIP},
        {"gzip;q=0.5,zstd;q=0.501", HTTP_CODING_ZSTD},
        {"gzip ; q=0.2 , identity;q=0.5", HTTP_CODING_IDENTITY},
        {"gzip;q=0", HTTP_CODING_IDENTITY},
        {"gzip;q=0.000, *;q=0.1", HTTP_CODING_ZSTD},
        {"*", HTTP_CODING_ZSTD},
        {"*;q=0", HTTP_CODING_IDENTITY},
        {"identity;q=0, gzip;q=0", HTTP_CODING_IDENTITY}, /* nothing is left: send something */
        {"br", HTTP_CODING_IDENTITY},
        {"gzip;q=2", HTTP_CODING_IDENTITY},
        {"gzip;q=1.5", HTTP_CODING_IDENTITY},
        {"gzip;q=x", HTTP_CODING_IDENTITY},
        {"gzip;q=", HTTP_CODING_IDENTITY},
        {"gzip;level=3;q=0.7, identity;q=0.6", HTTP_CODING_GZIP},
        {",,gzip,,", HTTP_CODING_GZIP},
        {"gzipped", HTTP_CODING_IDENTITY},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        enum http_coding got = http_encode_choose(cases[i].header);
        if (got != cases[i].want)
            fail_msg("'%s': %d, not %d", cases[i].header, (int)got, (int)cases[i].want);
    }
}

/* A file that was packed as gzip and as brotli, and one that was not. */
static void
test_choose_form(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        enum http_coding want;
    } cases[] = {
        {NULL, HTTP_CODING_IDENTITY},
        {"gzip", HTTP_CODING_GZIP},
        {"br", HTTP_CODING_BROTLI},
        {"BR;q=0.1", HTTP_CODING_BROTLI},
        {"gzip, deflate, br, zstd", HTTP_CODING_BROTLI},
        {"zstd", HTTP_CODING_IDENTITY},
        {"zstd;q=1.0, x-gzip;q=0.1", HTTP_CODING_GZIP},
        {"br;q=0.5, gzip;q=0.6", HTTP_CODING_GZIP},
        {"br;q=0.5, gzip;q=0.5, identity;q=0.4", HTTP_CODING_BROTLI},
        {"br;q=0.5, identity", HTTP_CODING_IDENTITY},
        {"br;q=0, *", HTTP_CODING_GZIP},
        {"gzip;q=0, *;q=0.1", HTTP_CODING_BROTLI},
        {"br;q=0, gzip;q=0.000", HTTP_CODING_IDENTITY},
        {"*", HTTP_CODING_BROTLI},
        {"*;q=0", HTTP_CODING_IDENTITY},
        {"br;q=2", HTTP_CODING_IDENTITY},
        {"brotli", HTTP_CODING_IDENTITY},
    };
    struct fz_span forms[HTTP_CODINGS_N] = {[HTTP_CODING_IDENTITY] = fz_span_make("plain", 5)};
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++)
        assert_int_equal(http_encode_choose_form(cases[i].header, forms), HTTP_CODING_IDENTITY);
    forms[HTTP_CODING_GZIP] = fz_span_make("gz", 2);
    forms[HTTP_CODING_BROTLI] = fz_span_make("b", 1);
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        enum http_coding got = http_encode_choose_form(cases[i].header, forms);
        if (got != cases[i].want)
            fail_msg("'%s': %d, not %d", cases[i].header ? cases[i].header : "(none)", (int)got,
                     (int)cases[i].want);
    }
}

static enum fz_code
append(void *sink, struct fz_span bytes, struct fz_error *err)
{
    (void)err;
    struct fz_span *all = sink;
    memcpy((uint8_t *)(uintptr_t)all->data + all->len, bytes.data, bytes.len);
    all->len += bytes.len;
    return FZ_OK;
}

static void
test_pack(void **state)
{
    (void)state;
    static const enum http_coding codings[] = {HTTP_CODING_GZIP, HTTP_CODING_ZSTD};
    enum { LEN = 300 * 1000 };
    uint8_t *text = malloc(LEN), *back = malloc(LEN), *packed = NULL;
    size_t len = 0;
    for (size_t i = 0; i < LEN; i++)
        text[i] = (uint8_t) "{\"frame\":\"0x1045f8a10\"}\n"[(i * i / 7 + i) % 25];
    for (size_t i = 0; i < FZ_ARRAY_LEN(codings); i++) {
        struct http_inflate *inflate = NULL;
        struct fz_span all = fz_span_make(back, 0);
        assert_true(http_encode_pack(codings[i], fz_span_make(text, LEN), &packed, &len));
        assert_true(len < LEN / 2);
        assert_int_equal(http_inflate_create(codings[i], LEN, &inflate, NULL), FZ_OK);
        assert_int_equal(http_inflate_feed(inflate, fz_span_make(packed, len), append, &all, NULL),
                         FZ_OK);
        assert_int_equal(http_inflate_finish(inflate, NULL), FZ_OK);
        assert_int_equal(all.len, LEN);
        assert_memory_equal(back, text, LEN);
        http_inflate_destroy(inflate);
        free(packed);
        /* What does not become smaller stays as it is. */
        uint8_t noise[64];
        for (size_t k = 0; k < sizeof(noise); k++)
            noise[k] = (uint8_t)(k * 167 + 13);
        assert_false(
            http_encode_pack(codings[i], fz_span_make(noise, sizeof(noise)), &packed, &len));
    }
    free(text);
    free(back);
}

static void
test_types(void **state)
{
    (void)state;
    assert_true(http_encode_helps("application/json"));
    assert_true(http_encode_helps("text/plain; charset=utf-8"));
    assert_true(http_encode_helps("application/xml; charset=utf-8"));
    assert_false(http_encode_helps("application/octet-stream"));
    assert_false(http_encode_helps("application/gzip"));
    assert_false(http_encode_helps(""));
}

static void
test_etag(void **state)
{
    (void)state;
    char plain[HTTP_ETAG_TEXT], gzip[HTTP_ETAG_TEXT], other[HTTP_ETAG_TEXT], header[256];
    http_etag_make(fz_span_cstr("hello"), HTTP_CODING_IDENTITY, plain);
    http_etag_make(fz_span_cstr("hello"), HTTP_CODING_GZIP, gzip);
    http_etag_make(fz_span_cstr("hellp"), HTTP_CODING_IDENTITY, other);
    assert_string_equal(plain, "\"2cf24dba5fb0a30e26e83b2ac5b9e29e\"");
    assert_string_equal(gzip, "\"2cf24dba5fb0a30e26e83b2ac5b9e29e-gzip\"");
    assert_true(http_etag_matches(plain, plain));
    assert_false(http_etag_matches(gzip, plain));
    assert_false(http_etag_matches(plain, gzip));
    assert_false(http_etag_matches(other, plain));
    assert_false(http_etag_matches(NULL, plain));
    assert_false(http_etag_matches("", plain));
    assert_true(http_etag_matches("*", plain));
    snprintf(header, sizeof(header), "\"a,b\", W/%s", plain);
    assert_true(http_etag_matches(header, plain));
    snprintf(header, sizeof(header), "%s , %s", other, gzip);
    assert_true(http_etag_matches(header, gzip));
    assert_false(http_etag_matches(header, plain));
    snprintf(header, sizeof(header), "%sx", plain);
    assert_false(http_etag_matches(header, plain));
    assert_false(http_etag_matches("\"no end", plain));
}

static void
test_origins(void **state)
{
    (void)state;
    static const char list[] = "https://dash.example.com, http://localhost:3000";
    assert_true(http_origins_allows(list, "https://dash.example.com"));
    assert_true(http_origins_allows(list, "http://localhost:3000"));
    assert_false(http_origins_allows(list, "http://localhost"));
    assert_false(http_origins_allows(list, "http://localhost:30001"));
    assert_false(http_origins_allows(list, "https://dash.example.com.evil.example"));
    assert_false(http_origins_allows(list, "https://DASH.example.com"));
    assert_false(http_origins_allows(list, "null"));
    assert_false(http_origins_allows(list, ""));
    assert_false(http_origins_allows(list, NULL));
    assert_false(http_origins_allows(NULL, "https://dash.example.com"));
    assert_false(http_origins_allows("", "https://dash.example.com"));
    assert_true(http_origins_allows("*", "https://any.example"));

    assert_null(http_origins_fault(list));
    assert_null(http_origins_fault("*"));
    assert_null(http_origins_fault(""));
    assert_null(http_origins_fault(NULL));
    assert_null(http_origins_fault("http://[::1]:8480"));
    static const char *const bad[] = {"dash.example.com", "https://", "https://a/path",
                                      "https://a/",       "ftp://a",  "https://A.example",
                                      "https://*.example"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(bad); i++)
        assert_ptr_equal(http_origins_fault(bad[i]), bad[i]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choose), cmocka_unit_test(test_choose_form),
        cmocka_unit_test(test_pack),   cmocka_unit_test(test_types),
        cmocka_unit_test(test_etag),   cmocka_unit_test(test_origins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
