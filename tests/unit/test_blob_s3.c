#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/blob/blob_s3_url.h"
#include "storage/blob/blob_s3_xml.h"

/* ---- where it is ---- */

static void
test_urls(void **state)
{
    (void)state;
    static const struct {
        const char *url, *base, *prefix, *region;
    } cases[] = {
        {"s3://b", "https://b.s3.us-east-1.amazonaws.com/", "", "us-east-1"},
        {"s3://b/", "https://b.s3.us-east-1.amazonaws.com/", "", "us-east-1"},
        {"s3://b/x/y-z_1.2~/", "https://b.s3.us-east-1.amazonaws.com/", "x/y-z_1.2~/", "us-east-1"},
        {"s3://b/p?region=eu-west-3", "https://b.s3.eu-west-3.amazonaws.com/", "p/", "eu-west-3"},
        {"s3://b.c/p", "https://s3.us-east-1.amazonaws.com/b.c/", "p/", "us-east-1"},
        {"s3://b/p?path_style=1", "https://s3.us-east-1.amazonaws.com/b/", "p/", "us-east-1"},
        {"s3://b?endpoint=http://127.0.0.1:9000", "http://127.0.0.1:9000/b/", "", "us-east-1"},
        {"s3://b?endpoint=https%3A%2F%2Fh.local%2F&region=x", "https://h.local/b/", "", "x"},
        {"s3://b/p?endpoint=https://h:1&path_style=0", "https://b.h:1/", "p/", "us-east-1"},
        {"s3://b?endpoint=http://[::1]:9", "http://[::1]:9/b/", "", "us-east-1"},
    };
    unsetenv("AWS_REGION");
    unsetenv("AWS_DEFAULT_REGION");
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct blob_s3_place place;
        struct fz_error err;
        if (blob_s3_url_parse(cases[i].url, &place, &err) != FZ_OK)
            fail_msg("%s: %s", cases[i].url, err.text);
        assert_string_equal(place.base, cases[i].base);
        assert_string_equal(place.prefix, cases[i].prefix);
        assert_string_equal(place.region, cases[i].region);
    }
}

static void
test_parameters(void **state)
{
    (void)state;
    struct blob_s3_place place;
    assert_int_equal(blob_s3_url_parse("s3://b?ca_file=/etc/a%20b.pem&profile=p%26q&credentials="
                                       "instance",
                                       &place, NULL),
                     FZ_OK);
    assert_string_equal(place.ca_file, "/etc/a b.pem");
    assert_string_equal(place.profile, "p&q");
    assert_int_equal(place.source, BLOB_S3_INSTANCE);
    setenv("AWS_DEFAULT_REGION", "from-default", 1);
    assert_int_equal(blob_s3_url_parse("s3://b", &place, NULL), FZ_OK);
    assert_string_equal(place.region, "from-default");
    setenv("AWS_REGION", "from-region", 1);
    assert_int_equal(blob_s3_url_parse("s3://b", &place, NULL), FZ_OK);
    assert_string_equal(place.region, "from-region");
    unsetenv("AWS_REGION");
    unsetenv("AWS_DEFAULT_REGION");
}

static void
test_wrong_urls(void **state)
{
    (void)state;
    static const struct {
        const char *url, *want;
    } cases[] = {
        {"s3:/b", "expected s3://BUCKET/PREFIX"},
        {"s3://", "needs the name of a bucket"},
        {"s3:///p", "needs the name of a bucket"},
        {"s3://.b", "needs the name of a bucket"},
        {"s3://KEY:SECRET@b", "keys belong into the environment"},
        {"s3://b/a//b", "single slashes"},
        {"s3://b//a", "single slashes"},
        {"s3://b/a/../b", "no part that begins with a dot"},
        {"s3://b/a b", "the prefix may have"},
        {"s3://b/a%20b", "the prefix may have"},
        {"s3://b?endpoint", "is not NAME=VALUE"},
        {"s3://b?region=%zz", "is not NAME=VALUE"},
        {"s3://b?region=a%00b", "is not NAME=VALUE"},
        {"s3://b?region=a/b", "is not the name of a region"},
        {"s3://b?endpoint=ftp://h", "is not an endpoint"},
        {"s3://b?endpoint=https://", "is not an endpoint"},
        {"s3://b?endpoint=https://h/path", "is not an endpoint"},
        {"s3://b?endpoint=https://u@h", "is not an endpoint"},
        {"s3://b?path_style=yes", "expected 0 or 1"},
        {"s3://b?credentials=none", "expected environment, file or instance"},
        {"s3://b?access_key=x", "there is no parameter 'access_key'"},
    };
    char longer[700] = "s3://b/";
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct blob_s3_place place;
        struct fz_error err;
        enum fz_code code = blob_s3_url_parse(cases[i].url, &place, &err);
        if (code != FZ_E_MALFORMED || !strstr(err.text, cases[i].want))
            fail_msg("%s: %s", cases[i].url, code == FZ_OK ? "taken" : err.text);
    }
    /* What is too long for its place. */
    memset(longer + 7, 'a', 600);
    struct blob_s3_place place;
    assert_int_equal(blob_s3_url_parse(longer, &place, NULL), FZ_E_MALFORMED);
    memcpy(longer, "s3://b?region=", 14);
    assert_int_equal(blob_s3_url_parse(longer, &place, NULL), FZ_E_MALFORMED);
    memcpy(longer, "s3://aaaaaaaaaa", 15);
    assert_int_equal(blob_s3_url_parse(longer, &place, NULL), FZ_E_MALFORMED);
}

/* ---- what it answers ---- */

static void
test_elements(void **state)
{
    (void)state;
    static const struct {
        const char *xml, *want; /* of all elements "a", with a bar after each */
    } cases[] = {
        {"<a>1</a><a>2</a>", "1|2|"},
        {"<x><a>1</a></x><a/><a />", "1|||"},
        {"<s3:a x='>' y=\">\">1</s3:a>", "1|"},
        {"<a><a>1</a>2</a><a>3</a>", "<a>1</a>2|3|"},
        {"<!-- <a>no</a> --><a>1</a>", "1|"},
        {"<?a x?><![CDATA[<a>no</a>]]><a>1</a>", "1|"},
        {"<ab>1</ab><A>2</A></a><a>3</a>", "3|"},
        {"<a>1", ""},
        {"<a>1</a", ""},
        {"<a", ""},
        {"<", ""},
        {"<>", ""},
        {"</a>", ""},
        {"<a x='></a>", ""},
        {"<!-- <a>1</a>", ""},
        {"", ""},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        char found[128] = "";
        struct fz_span xml = fz_span_cstr(cases[i].xml), element;
        for (size_t pos = 0; blob_s3_xml_next(xml, "a", &pos, &element);)
            snprintf(found + strlen(found), sizeof(found) - strlen(found), "%.*s|",
                     (int)element.len, element.len ? (const char *)element.data : "");
        if (strcmp(found, cases[i].want) != 0)
            fail_msg("%s: '%s', not '%s'", cases[i].xml, found, cases[i].want);
    }
}

static void
test_texts(void **state)
{
    (void)state;
    static const struct {
        const char *xml, *want; /* NULL: none */
    } cases[] = {
        {"<a>text</a>", "text"},
        {"<a>&amp;&lt;&gt;&quot;&apos;</a>", "&<>\"'"},
        {"<a>&#65;&#x42;&#x63;</a>", "ABc"},
        {"<a>&amp;amp;</a>", "&amp;"},
        {"<a>a&b;c&</a>", "a&b;c&"},
        {"<a>&#;&#x;&#xfffffffffffffff;</a>", "&#;&#x;&#xfffffffffffffff;"},
        {"<a>&#0;a\tb&#10;\xc3\xa4</a>", "ab"}, /* only visible ASCII */
        {"<a/>", ""},
        {"<a><b/></a>", NULL},
        {"<b>1</b>", NULL},
        {"<a>0123456789abcdefghijklmnopqrstu</a>", "0123456789abcdefghijklmnopqrstu"},
        {"<a>0123456789abcdefghijklmnopqrstuv</a>", NULL}, /* no room */
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        char text[32] = "before";
        bool found = blob_s3_xml_text(fz_span_cstr(cases[i].xml), "a", text, sizeof(text));
        if (found != (cases[i].want != NULL) ||
            strcmp(text, cases[i].want ? cases[i].want : "") != 0)
            fail_msg("%s: '%s'", cases[i].xml, text);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_urls),       cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_wrong_urls), cmocka_unit_test(test_elements),
        cmocka_unit_test(test_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
