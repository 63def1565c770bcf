/* Captured memory is taken out of bodies of each format, and what is left can still be unwound. */
#include "ingest_case.h"

#include <stdio.h>

#include "base/buffer.h"
#include "base/file.h"
#include "base/platform.h"
#include "base/text.h"

/* 8 words from 0x16f0ffa60: a frame record (fp, lr in the image), the secret, a number, the same
 * return address signed, an async frame pointer, text that is an address by chance, 0. */
static const uint64_t words[] = {
    0x16f0ffa80,        0x1045f8b00,        0x31797265746e7568, 4111111111111111,
    0x003f0801045f8b00, 0x100000016f0ffa90, 0x2020202020202020, 0};
static const uint64_t left[] = {0x16f0ffa80,        0x1045f8b00,        0, 0,
                                0x003f0801045f8b00, 0x100000016f0ffa90, 0, 0};
#define IMAGES                                                                          \
    "\"images\":[{\"uuid\":\"4c4c445b-5555-3144-a129-88beb9d5eb60\",\"name\":\"Shop\"," \
    "\"address\":\"0x1045f0000\",\"size\":262144}]"

static struct fz_span
strip(struct fz_span body, struct report *ret)
{
    struct fz_error err;
    struct fz_span out = {NULL, 0};
    if (ingest_parse(body, &limits, &arena, ret, &err) != FZ_OK ||
        ingest_strip(body, NULL, &limits, ret, &arena, &out, &err) != FZ_OK)
        fail_msg("%s", err.text);
    return out;
}

static bool
contains(struct fz_span body, const void *bytes, size_t len)
{
    return fz_platform_find(body.data, body.len, bytes, len) != NULL;
}

static char *
base64(const void *bytes, size_t len, bool escapes)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer escaped = fz_buffer_make(0);
    fz_text_base64_append(&out, fz_span_make(bytes, len));
    for (size_t i = 0; i < out.len; i++) {
        if (escapes && out.data[i] == '/')
            fz_buffer_char(&escaped, '\\');
        fz_buffer_char(&escaped, (char)out.data[i]);
    }
    return fz_arena_text(&arena, fz_buffer_span(&escaped));
}

static void
check_stack(struct fz_span body)
{
    struct report report = parse_as(body, "framezero");
    assert_int_equal(report.threads[0].stack.bytes.len, sizeof(left));
    assert_memory_equal(report.threads[0].stack.bytes.data, left, sizeof(left));
    assert_int_equal(report.threads[0].stack.addr, 0x16f0ffa60);
    assert_int_equal(report.n_memory, 0);
    assert_int_equal(report.n_images, 1);
    /* What is stripped once stays as it is. */
    struct fz_span again = strip(body, &report);
    assert_true(fz_span_equal(again, body));
}

static void
test_native(void **state)
{
    (void)state;
    uint8_t odd[64];
    memset(odd, 0xff, sizeof(odd)); /* its base64 is slashes */
    memcpy(odd, words, 16);
    for (int escapes = 0; escapes < 2; escapes++) {
        char text[4096];
        struct report report;
        snprintf(text, sizeof(text),
                 "{\"framezero\":1,\"arch\":\"arm64\",\"threads\":[{\"index\":0,\"crashed\":true,"
                 "\"registers\":{\"pc\":\"0x1045f8a10\"},\"stack\":{\"bytes\":\"%s\","
                 "\"address\":\"0x16f0ffa60\"}}],\"memory\":[{\"address\":\"0x280000000\","
                 "\"bytes\":\"%s\"}],\"tags\":{\"stack\":{\"bytes\":\"a2VlcA==\"}}," IMAGES "}",
                 base64(words, sizeof(words), escapes), base64("hunter2!", 8, false));
        struct fz_span body = fz_span_cstr(text), out = strip(body, &report);
        assert_int_equal(out.len, body.len);
        check_stack(out);
        assert_false(contains(out, base64("hunter2!", 8, false), 10));
        assert_true(contains(out, "a2VlcA==", 8)); /* of the app's author */
        snprintf(text, sizeof(text),
                 "{\"framezero\":1,\"arch\":\"arm64\",\"threads\":[{\"stack\":{\"bytes\":\"%s\","
                 "\"address\":6158285408}}]," IMAGES "}",
                 base64(odd, sizeof(odd), escapes));
        out = strip(fz_span_cstr(text), &report);
        report = parse_as(out, "framezero");
        assert_memory_equal(report.threads[0].stack.bytes.data, left, 16);
        for (size_t i = 16; i < sizeof(odd); i++)
            assert_int_equal(report.threads[0].stack.bytes.data[i], 0);
    }
}

static void
test_without_memory(void **state)
{
    static const char text[] = "{\"framezero\":1,\"addresses\":[\"0x1045f8a10\"]," IMAGES "}";
    struct report report;
    (void)state;
    assert_int_equal(strip(fz_span_cstr(text), &report).len, 0);
}

/* What the parser could not read is in the body all the same. */
static void
test_left_out(void **state)
{
    static const char text[] =
        "{\"framezero\":1,\"arch\":\"arm64\",\"threads\":[{\"stack\":{\"address\":\"0x16f0ffa60\","
        "\"bytes\":\"?hunter2?\"},\"frames\":[\"0x1045f8a10\"]}]," IMAGES "}";
    struct report report;
    (void)state;
    struct fz_span out = strip(fz_span_cstr(text), &report);
    assert_int_equal(report.threads[0].stack.bytes.len, 0);
    assert_int_equal(out.len, strlen(text));
    assert_false(contains(out, "hunter2", 7));
}

/* Names with escapes hide the memory from the walk, but not from the check. */
static void
test_hidden(void **state)
{
    char text[2048];
    struct report report;
    (void)state;
    snprintf(text, sizeof(text),
             "{\"framezero\":1,\"arch\":\"arm64\",\"threads\":[{\"st\\u0061ck\":{\"bytes\":\"%s\","
             "\"address\":\"0x16f0ffa60\"}}]," IMAGES "}",
             base64(words, sizeof(words), false));
    assert_true(fz_span_is(strip(fz_span_cstr(text), &report), "{}"));
}

static void
append_hex(struct fz_buffer *out, const void *bytes, size_t len)
{
    char text[2 * sizeof(words) + 1];
    fz_text_hex(fz_span_make(bytes, len), text);
    fz_buffer_text(out, text);
}

static void
test_kscrash(void **state)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer body = fz_buffer_make(0);
    struct report report;
    (void)state;
    fz_buffer_text(&body, "{\"report\":{\"id\":\"x\",\"type\":\"standard\",\"version\":\"3.4.0\"},"
                          "\"system\":{\"cpu_arch\":\"arm64\",\"memory\":{\"size\":1}},"
                          "\"binary_images\":[{\"image_addr\":4368302080,\"image_size\":262144,"
                          "\"name\":\"/Shop.app/Shop\",\"uuid\":"
                          "\"4C4C445B-5555-3144-A129-88BEB9D5EB60\",\"cpu_type\":16777228,"
                          "\"cpu_subtype\":0}],\"crash\":{\"error\":{\"type\":\"mach\"},"
                          "\"threads\":[{\"index\":0,\"crashed\":true,\"stack\":{\"dump_start\":"
                          "6158285408,\"dump_end\":6158285472,\"contents\":\"");
    append_hex(&body, words, sizeof(words));
    fz_buffer_text(&body, "\"},\"notable_addresses\":{\"x0\":{\"address\":10737418240,\"type\":"
                          "\"string\",\"value\":\"hunter2\"}},\"backtrace\":{\"contents\":["
                          "{\"instruction_addr\":4368337424}]}}]}}");
    struct fz_span out = strip(fz_buffer_span(&body), &report);
    assert_int_equal(out.len, body.len);
    assert_false(contains(out, "hunter2", 7));
    report = parse_as(out, "kscrash");
    assert_memory_equal(report.threads[0].stack.bytes.data, left, sizeof(left));
    assert_int_equal(report.threads[0].n_frames, 1);
    /* The model that is rendered has neither. */
    struct report before = parse_as(fz_buffer_span(&body), "kscrash");
    before.threads[0].vectors = (struct report_vector[]){{.size = 16}};
    before.threads[0].n_vectors = 1;
    assert_non_null(before.threads[0].notable_json);
    ingest_drop_memory(&before, true);
    assert_non_null(before.threads[0].notable_json);
    ingest_drop_memory(&before, false);
    assert_null(before.threads[0].notable_json);
    assert_int_equal(before.threads[0].stack.bytes.len, 0);
    assert_int_equal(before.threads[0].stack.size, sizeof(words));
    assert_int_equal(before.threads[0].n_vectors, 0);
}

static void
test_text(void **state)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer body = fz_buffer_make(0);
    struct report report;
    (void)state;
    fz_buffer_text(&body, "Incident Identifier: 4C4C445B-5555-3144-A129-88BEB9D5EB60\n"
                          "Process:         Shop [1]\nCode Type:       ARM-64\n\n"
                          "Exception Type:  SIGSEGV\nCrashed Thread:  0\n\n"
                          "Thread 0 Crashed:\n0   Shop  0x00000001045f8a10 0x1045f0000 + 35344\n\n"
                          "Binary Images:\n0x1045f0000 - 0x10462ffff Shop arm64  "
                          "<4c4c445b55553144a12988beb9d5eb60> /Shop.app/Shop\n\n"
                          "Extra Information:\n\nStack Dump (0x16f0ffa60-0x16f0ffaa0):\n\n");
    append_hex(&body, words, sizeof(words));
    fz_buffer_text(&body, "\n\nNotable Addresses:\n{\"r0\": {\"value\": \"hunter2\"}}\n");
    struct fz_span out = strip(fz_buffer_span(&body), &report);
    assert_int_equal(report.threads[0].stack.bytes.len, sizeof(words));
    assert_int_equal(out.len, body.len);
    assert_false(contains(out, "hunter2", 7));
    report = parse_as(out, "crash");
    assert_memory_equal(report.threads[0].stack.bytes.data, left, sizeof(left));
}

/* Writes a secret over a 0 on the first thread's stack; false if there is none. */
static bool
plant(struct fz_buffer *dump)
{
    struct report report = parse_as(fz_buffer_span(dump), "minidump");
    struct fz_span stack = report.n_threads ? report.threads[0].stack.bytes : (struct fz_span){0};
    const uint8_t *at =
        stack.len ? fz_platform_find(dump->data, dump->len, stack.data, stack.len) : NULL;
    size_t i = 0;
    while (i + 8 <= stack.len && memcmp(stack.data + i, "\0\0\0\0\0\0\0", 8) != 0)
        i += 8;
    if (!at || i + 8 > stack.len)
        return false;
    /* Another place with the same bytes might be something else. */
    size_t offset = (size_t)(at - (const uint8_t *)dump->data) + 1;
    if (fz_platform_find(at + 1, dump->len - offset, stack.data, stack.len))
        return false;
    memcpy(dump->data + (at - (const uint8_t *)dump->data) + i, "hunter2!", 8);
    return true;
}

/* A golden minidump, alone and in a form: every byte of memory is 0 or belongs to a pointer. */
static void
test_minidump(void **state)
{
    static const char *const names[] = {"crashpad_mac", "signal_ios", "no_crash"};
    size_t n_left = 0, n_cleared = 0, n_planted = 0;
    (void)state;
    for (size_t i = 0; i < FZ_ARRAY_LEN(names); i++) {
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer dump = fz_buffer_make(0);
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer form = fz_buffer_make(0);
        struct report before, after;
        char path[512];
        snprintf(path, sizeof(path), "%s/tests/golden/minidump/%s/input.dmp", FZ_TOP, names[i]);
        if (fz_file_read(path, 1 << 20, &dump, NULL) != FZ_OK)
            fail_msg("%s cannot be read", path);
        n_planted += plant(&dump);
        struct fz_span out = strip(fz_buffer_span(&dump), &before);
        assert_int_equal(out.len, dump.len);
        assert_false(contains(out, "hunter2!", 8));
        after = parse_as(out, "minidump");
        assert_int_equal(after.n_threads, before.n_threads);
        for (size_t t = 0; t < after.n_threads; t++) {
            struct fz_span a = before.threads[t].stack.bytes, b = after.threads[t].stack.bytes;
            assert_int_equal(a.len, b.len);
            assert_int_equal(before.threads[t].n_registers, after.threads[t].n_registers);
            for (size_t k = 0; k < b.len; k++) {
                assert_true(b.data[k] == 0 || b.data[k] == a.data[k]);
                n_left += b.data[k] != 0;
                n_cleared += a.data[k] != b.data[k];
            }
        }
        /* In a form, between a text and its end. */
        fz_buffer_text(&form, "--b\r\nContent-Disposition: form-data; name=\"prod\"\r\n\r\nShop\r\n"
                              "--b\r\nContent-Disposition: form-data; "
                              "name=\"upload_file_minidump\"; filename=\"a.dmp\"\r\n\r\n");
        size_t at = form.len;
        fz_buffer_append(&form, dump.data, dump.len);
        fz_buffer_text(&form, "\r\n--b--\r\n");
        struct fz_span whole = strip(fz_buffer_span(&form), &before);
        assert_int_equal(whole.len, form.len);
        assert_memory_equal(whole.data + at, out.data, out.len);
    }
    assert_true(n_left > 0);
    assert_true(n_planted > 0);
    assert_true(n_cleared >= 8);
}

/* Damaged input ends, and within the body: for sanitizers. */
static void
test_damaged(void **state)
{
    static const char *const texts[] = {
        "{\"stack\":{\"bytes\":\"",
        "{\"stack\":{\"bytes\":",
        "{\"stack\":",
        "{\"memory\":[",
        "[{\"notable_addresses\":",
        "\"stack\"",
        "Stack Dump (",
        "Stack Dump (:",
        "Stack Dump (0x1-:0",
        "Notable Addresses:{",
        "Notable Addresses:",
        "MDMP",
        "MDMP\x93\xa7\0\0",
        "{\"stack\":{\"bytes\":\"====\"}}",
    };
    (void)state;
    for (size_t i = 0; i < FZ_ARRAY_LEN(texts); i++) {
        const struct report report = {.format = "kscrash", .arch = "arm64", .n_notes = 1};
        struct fz_span body = fz_span_cstr(texts[i]), out;
        struct fz_error err;
        assert_int_equal(ingest_strip(body, NULL, &limits, &report, &arena, &out, &err), FZ_OK);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_native, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_without_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_left_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_hidden, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_kscrash, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_text, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_minidump, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_damaged, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
