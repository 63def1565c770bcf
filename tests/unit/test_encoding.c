/* Texts in other encodings and with other line ends; headings of every spelling end what precedes. */
#include "base/encoding.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/attr.h"
#include "server/ingest/ingest.h"
#include "tests/unit/check_body.h"

static const char crash[] =
    "Incident Identifier: 0FDFF9A9-4C27-4A3D-9F26-5A4B2F0B6C11\n"
    "Process:             Caf\xc3\xa9 [1]\n"
    "Exception Type:  EXC_CRASH (SIGABRT)\n\n"
    "Application Specific Information:\n\xe2\x80\x9cno\xe2\x80\x9d \xf0\x9f\x98\x80\n\n"
    "Thread 0 Crashed:\n0   Shop  0x0000000104004068 0x104000000 + 16488\n";

static const char ips[] =
    "{\"bug_type\":\"309\",\"name\":\"Shop\"}\n{\"procName\":\"Caf\xc3\xa9\",\"incident\":"
    "\"0FDFF9A9-4C27-4A3D-9F26-5A4B2F0B6C11\",\"threads\":[{\"triggered\":true,\"frames\":[]}],"
    "\"usedImages\":[]}";

struct parsed {
    struct report report;
    const char *format;
    char id[FZ_UUID_TEXT];
};

static struct parsed
parse(struct fz_arena *arena, struct fz_span body, const char *what)
{
    struct limits limits = limits_default();
    struct parsed parsed;
    struct fz_error err;
    if (check_body(body, &limits, &parsed.format, parsed.id, &err) != FZ_OK ||
        ingest_parse(body, &limits, arena, &parsed.report, &err) != FZ_OK)
        fail_msg("%s: %s", what, err.text);
    assert_string_equal(ingest_detect(body), parsed.format);
    return parsed;
}

/* UTF-8 to UTF-16; the inverse of what is tested. */
static void
to_utf16(const char *text, bool mark, bool big, struct fz_buffer *out)
{
    const uint8_t *p = (const uint8_t *)text;
    uint32_t units[2];
    for (bool first = mark; first || *p; first = false) {
        size_t n = 1;
        if (first) {
            units[0] = 0xfeff;
        } else if (*p < 0x80) {
            units[0] = *p++;
        } else if (*p < 0xe0) {
            units[0] = (uint32_t)(p[0] & 0x1f) << 6 | (p[1] & 0x3f);
            p += 2;
        } else if (*p < 0xf0) {
            units[0] = (uint32_t)(p[0] & 0xf) << 12 | (uint32_t)(p[1] & 0x3f) << 6 | (p[2] & 0x3f);
            p += 3;
        } else {
            uint32_t c = (uint32_t)(p[0] & 7) << 18 | (uint32_t)(p[1] & 0x3f) << 12 |
                         (uint32_t)(p[2] & 0x3f) << 6 | (p[3] & 0x3f);
            units[0] = 0xd800 + ((c - 0x10000) >> 10);
            units[1] = 0xdc00 + ((c - 0x10000) & 0x3ff);
            n = 2;
            p += 4;
        }
        for (size_t i = 0; i < n; i++) {
            fz_buffer_char(out, (char)(big ? units[i] >> 8 : units[i] & 0xff));
            fz_buffer_char(out, (char)(big ? units[i] & 0xff : units[i] >> 8));
        }
    }
}

static void
test_utf16(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 8; i++) {
        FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(16 << 20);
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer body = fz_buffer_make(0);
        to_utf16(i & 4 ? ips : crash, i & 1, i & 2, &body);
        struct parsed p = parse(&arena, fz_buffer_span(&body), i & 2 ? "big" : "little");
        assert_string_equal(p.format, i & 4 ? "ips" : "crash");
        assert_string_equal(p.report.format, p.format);
        assert_string_equal(p.id, "0fdff9a94c274a3d9f265a4b2f0b6c11");
        assert_string_equal(p.report.process.name, "Caf\xc3\xa9");
        if (!(i & 4))
            assert_string_equal(p.report.crash.reason,
                                "\xe2\x80\x9cno\xe2\x80\x9d \xf0\x9f\x98\x80");
    }
}

/* Several reports in one body are several in UTF-16, too. */
static void
test_several(void **state)
{
    (void)state;
    struct limits limits = limits_default();
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(16 << 20);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer body = fz_buffer_make(0);
    for (int i = 0; i < 2; i++)
        fz_buffer_printf(&text, "%s\nBinary Images:\n0x1000 - 0x1fff Shop arm64\n", crash);
    to_utf16(fz_buffer_cstr(&text), true, false, &body);
    struct ingest_item *items;
    size_t n, n_cut;
    assert_int_equal(ingest_split(fz_buffer_span(&body), &limits, &arena, &items, &n, &n_cut, NULL),
                     FZ_OK);
    assert_int_equal(n, 2);
    for (size_t i = 0; i < n; i++)
        assert_string_equal(items[i].format, "crash");
}

static void
test_not_utf16(void **state)
{
    (void)state;
    static const struct {
        struct fz_span bytes;
        bool is, big;
    } cases[] = {
        {{(const uint8_t *)"a\0b\0c\0d\0e\0f\0g\0h\0", 16}, true, false},
        {{(const uint8_t *)"\0a\0b\0c\0d\0e\0f\0g\0h", 16}, true, true},
        {{(const uint8_t *)"a\0b\0c\0d\0e\0f\0g\0", 14}, false, false}, /* too short to say */
        {{(const uint8_t *)"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16}, false, false},
        {{(const uint8_t *)"a\0b\0c\0d\0e\0\0fg\0h\0", 16}, false, false},
        {{(const uint8_t *)"abcdefghijklmnop", 16}, false, false},
        {{NULL, 0}, false, false},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        bool big = false;
        assert_int_equal(fz_encoding_is_utf16(cases[i].bytes, &big), cases[i].is);
        assert_int_equal(big, cases[i].big);
    }
    /* A lone surrogate, and half a unit at the end. */
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    fz_encoding_append_text(&out, fz_span_make((const uint8_t *)"\x00\xd8x\0\x3d\xd8", 7), false);
    assert_string_equal(fz_buffer_cstr(&out), "\xef\xbf\xbdx\xef\xbf\xbd");
}

static void
test_single_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *text;
    } cases[] = {
        {"Caf\xe9.app", "Caf\xc3\xa9.app"}, /* Latin */
        {"Caf\x8e.app", "Caf\xc3\xa9.app"}, /* Mac Roman */
        {"Gr\xf6\xdf"
         "e \xfc"
         "ber",
         "Gr\xc3\xb6\xc3\x9f"
         "e \xc3\xbc"
         "ber"},
        {"Gr\x9a\xa7"
         "e \x9f"
         "ber",
         "Gr\xc3\xb6\xc3\x9f"
         "e \xc3\xbc"
         "ber"},
        {"it\x92s \x93quoted\x94", "it\xe2\x80\x99s \xe2\x80\x9cquoted\xe2\x80\x9d"},
        {"it\xd5s \xd2quoted\xd3", "it\xe2\x80\x99s \xe2\x80\x9cquoted\xe2\x80\x9d"},
        {"a\xa0"
         "b",
         "a\xc2\xa0"
         "b"},
        {"mixed \xc3\xa9 and \xe9t\xe9", "mixed \xc3\xa9 and \xc3\xa9t\xc3\xa9"},
        {"plain", "plain"},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
        fz_encoding_append_single(&out, fz_span_cstr(cases[i].bytes));
        if (strcmp(fz_buffer_cstr(&out), cases[i].text) != 0)
            fail_msg("%zu: %s, wanted is %s", i, fz_buffer_cstr(&out), cases[i].text);
    }
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(16 << 20);
    struct parsed p = parse(&arena,
                            fz_span_cstr("\xef\xbb\xbfProcess: Caf\x8e [1]\r\rThread 0 Crashed:\r"
                                         "0   Shop  0x0000000104004068 0x104000000 + 16488\r"),
                            "Mac Roman");
    assert_string_equal(p.report.process.name, "Caf\xc3\xa9");
    assert_int_equal(p.report.threads[0].n_frames, 1);
}

/* Line ends of Windows, of old Macs, and mixed. */
static void
test_line_ends(void **state)
{
    (void)state;
    static const char *const ends[] = {"\n", "\r\n", "\r"};
    for (size_t k = 0; k < FZ_ARRAY_LEN(ends); k++) {
        FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(16 << 20);
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer body = fz_buffer_make(0);
        for (const char *p = crash; *p; p++) {
            if (*p == '\n')
                fz_buffer_text(&body, ends[k]);
            else
                fz_buffer_char(&body, *p);
        }
        struct parsed p = parse(&arena, fz_buffer_span(&body), "line ends");
        assert_string_equal(p.report.crash.mach, "EXC_CRASH");
        assert_string_equal(p.report.crash.reason, "\xe2\x80\x9cno\xe2\x80\x9d \xf0\x9f\x98\x80");
        assert_int_equal(p.report.threads[0].frames[0].addr, 0x104004068);
    }
}

/* What follows `key` in extra_json, up to its closing quote. */
static void
assert_extra(const struct report *r, const char *key, const char *want)
{
    char member[256];
    snprintf(member, sizeof(member), "\"%s\":\"%s\"", key, want);
    if (!r->extra_json || !strstr(r->extra_json, member))
        fail_msg("%s is not in %s", member, r->extra_json ? r->extra_json : "-");
}

/* Known and unknown headings, in capitals and not, after a blank line and in the head. */
static void
test_headings(void **state)
{
    (void)state;
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(16 << 20);
    struct parsed p =
        parse(&arena,
              fz_span_cstr(
                  "Process: Shop [1]\nReport Version: 12\nkernel messages:\nfirst\n\n"
                  "Exception Type: EXC_BAD_ACCESS (SIGSEGV)\n"
                  "Termination Reason: Namespace SIGNAL, Code 0xb\n\nkernel messages:\nsecond\n\n"
                  "VM Region Info: 0x10 is not in any region.\n      UNUSED SPACE AT START\n\n"
                  "some other heading:\nDevice: x\n\n"
                  "Global Trace Buffer (reverse chronological seconds):\n1.5     CFNetwork\n\n"
                  "APPLICATION SPECIFIC INFORMATION:\nabort() called\nreason: none\n\n"
                  "Thread 0 Crashed:\n0   Shop  0x0000000104004068 0x104000000 + 16488\n\n"
                  "vm region summary:\nReadOnly portion of Libraries: Total=1\n\n"
                  "-----------\nFull Report\n-----------\n\n{\"cut\n"),
              "headings");
    const struct report *r = &p.report;
    assert_extra(r, "Report Version", "12");
    assert_extra(r, "kernel messages", "first\\nsecond");
    assert_string_equal(r->crash.termination, "Namespace SIGNAL, Code 0xb");
    assert_extra(r, "VM Region Info", "0x10 is not in any region.\\n      UNUSED SPACE AT START");
    assert_extra(r, "some other heading", "Device: x");
    assert_extra(r, "Global Trace Buffer (reverse chronological seconds)", "1.5     CFNetwork");
    assert_extra(r, "VM Region Summary", "ReadOnly portion of Libraries: Total=1");
    assert_extra(r, "Full Report", "-----------\\n\\n{\\\"cut");
    assert_int_equal(r->crash.n_messages, 2);
    assert_int_equal(r->n_notes, 1); /* the image is known from its frame only */
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_utf16),     cmocka_unit_test(test_several),
        cmocka_unit_test(test_not_utf16), cmocka_unit_test(test_single_bytes),
        cmocka_unit_test(test_line_ends), cmocka_unit_test(test_headings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
