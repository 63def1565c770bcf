#include "server/ingest/ingest.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/file.h"
#include "tests/unit/check_body.h"

static struct fz_arena arena;
static struct limits limits;
static struct fz_buffer input; /* the golden case "usual" */

static void
read_case(const char *name)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/tests/golden/plcrash/%s/input.plcrash", FZ_TOP, name);
    fz_buffer_clear(&input);
    if (fz_file_read(path, 1 << 20, &input, NULL) != FZ_OK)
        fail_msg("%s cannot be read", path);
}

static int
set_up(void **state)
{
    (void)state;
    limits = limits_default();
    fz_arena_init(&arena, limits.report_memory);
    fz_buffer_init(&input, 0);
    read_case("usual");
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    fz_buffer_deinit(&input);
    fz_arena_deinit(&arena);
    return 0;
}

static struct report
parse(void)
{
    struct report report;
    struct fz_error err;
    if (ingest_parse(fz_buffer_span(&input), &limits, &arena, &report, &err) != FZ_OK)
        fail_msg("%s", err.text);
    return report;
}

/* A text with the NUL that ends it in C, in place of its last letter. */
static void
end_with_nul(const char *text)
{
    size_t len = strlen(text);
    for (size_t i = 0; i + len <= input.len; i++) {
        if (memcmp(input.data + i, text, len) == 0) {
            input.data[i + len - 1] = 0;
            return;
        }
    }
    fail_msg("%s is not in the file", text);
}

static void
test_ends_of_texts(void **state)
{
    (void)state;
    struct report whole = parse();
    const char *texts[] = {whole.process.path, whole.process.name, whole.process.parent,
                           whole.device_model, whole.images[1].path};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        end_with_nul(texts[i]);
    struct report r = parse();
    const char *cut[] = {r.process.path, r.process.name, r.process.parent, r.device_model,
                         r.images[1].path};
    for (size_t i = 0; i < sizeof(cut) / sizeof(cut[0]); i++) {
        assert_int_equal(strlen(cut[i]), strlen(texts[i]) - 1);
        assert_memory_equal(cut[i], texts[i], strlen(cut[i]));
    }
}

/* Newest first; frame 0 exact by the rule; the client's names in the symbolicator's spelling. */
static void
test_frames(void **state)
{
    (void)state;
    struct report r = parse();
    const struct report_thread *thread = report_crashed_thread(&r);
    assert_int_equal(thread->index, 1);
    assert_int_equal(thread->n_frames, 4);
    assert_int_equal(thread->frames[0].addr, 0x104004068);
    assert_int_equal(thread->frames[0].adjust, REPORT_ADJUST_AUTO);
    assert_int_equal(thread->frames[3].addr, 0x1a0000104);
    assert_int_equal(thread->frames[3].adjust, REPORT_ADJUST_AUTO);
    assert_int_equal(thread->frames[0].n_client, 1);
    assert_string_equal(thread->frames[0].client[0].function, "work_step");
    assert_int_equal(thread->frames[0].client[0].offset, 8);
    assert_true(thread->frames[0].has_client_start);
    assert_int_equal(thread->frames[0].client_start, 0x104004060);
    assert_int_equal(thread->frames[1].n_client, 0); /* <redacted> */
    assert_string_equal(thread->frames[2].client[0].function, "-[Shop open:]");
    assert_int_equal(thread->frames[3].n_client, 0);
    assert_int_equal(thread->n_registers, 6);
    assert_true(thread->registers[4].value == UINT64_MAX);
    assert_int_equal(r.n_notes, 0);
}

static void
test_exception(void **state)
{
    (void)state;
    read_case("exception");
    struct report r = parse();
    assert_string_equal(r.crash.exception, "NSRangeException");
    assert_int_equal(r.n_exception_frames, 2);
    assert_int_equal(r.exception_frames[0].addr, 0x1a0000300);
    assert_string_equal(r.exception_frames[0].client[0].function, "__exceptionPreprocess");
    assert_string_equal(r.exception_frames[1].client[0].function, "_Z4testv");
    assert_int_equal(r.threads[0].frames[0].adjust, REPORT_ADJUST_AUTO);
}

static void
test_check(void **state)
{
    (void)state;
    const char *format;
    char id[FZ_UUID_TEXT];
    struct fz_error err;
    assert_int_equal(check_body(fz_buffer_span(&input), &limits, &format, id, &err), FZ_OK);
    assert_string_equal(format, "plcrash");
    assert_string_equal(id, "5e1f2a2e0000400080000000000000aa");
    read_case("old");
    assert_int_equal(check_body(fz_buffer_span(&input), &limits, &format, id, &err), FZ_OK);
    assert_string_equal(id, "");
}

static void
test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        size_t len;
        enum fz_code code;
        int64_t offset;
        const char *text;
    } cases[] = {
        {"plcrash", 7, FZ_E_MALFORMED, 7, "plcrash: cut off within its header of 8 bytes"},
        {"plcrash\x01", 8, FZ_E_MALFORMED, 8, "plcrash: nothing follows the header"},
        {"plcrash\x03\x0a", 9, FZ_E_UNSUPPORTED, 7,
         "plcrash: version 3 of the format, only version 1 is supported"},
        {"plcrash\x01\x08\x05", 10, FZ_E_MALFORMED, 8, "plcrash: no field of a report"},
        {"plcrash\x01\x08\x05\x07", 11, FZ_E_MALFORMED, 10,
         "plcrash: no field of a report: not the key of a field"},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct fz_span body = fz_span_make(cases[i].body, cases[i].len);
        struct fz_error err;
        struct report report;
        const char *format;
        char id[FZ_UUID_TEXT];
        assert_int_equal(check_body(body, &limits, &format, id, &err), cases[i].code);
        assert_string_equal(err.text, cases[i].text);
        assert_int_equal(err.offset, cases[i].offset);
        assert_int_equal(ingest_parse(body, &limits, &arena, &report, &err), cases[i].code);
        assert_string_equal(err.text, cases[i].text);
    }
}

/* Wherever a file ends: the part before the cut is used, and the cut is reported. */
static void
test_every_cut(void **state)
{
    (void)state;
    size_t whole = input.len, most = 0, kept = 0;
    for (size_t len = 0; len <= whole; len++) {
        struct fz_error err;
        struct report r;
        struct fz_span body = fz_span_make(input.data, len);
        if (ingest_parse(body, &limits, &arena, &r, &err) != FZ_OK) {
            assert_true(len < 12);
            continue;
        }
        size_t n = r.n_images;
        for (size_t i = 0; i < r.n_threads; i++)
            n += r.threads[i].n_frames + r.threads[i].n_registers;
        if (n < most)
            fail_msg("%zu bytes give %zu things, fewer bytes gave %zu", len, n, most);
        most = n;
        kept++;
    }
    assert_int_equal(most, 1 + 4 + 6 + 2);
    assert_true(kept > whole - 12);
}

/* The limits keep the crashed thread, and report what they cut. */
static void
test_limits(void **state)
{
    (void)state;
    limits.threads = 1;
    limits.frames = 2;
    limits.images = 1;
    struct report r = parse();
    assert_int_equal(r.n_threads, 1);
    assert_int_equal(r.threads[0].index, 1);
    assert_true(r.threads[0].crashed);
    assert_int_equal(r.threads[0].n_frames, 2);
    assert_int_equal(r.threads[0].n_frames_cut, 2);
    assert_int_equal(r.n_images, 1);
    assert_int_equal(r.n_notes, 3);
    assert_string_equal(r.notes[0], "threads: 2, of which 1 are kept");
}

static void
test_memory(void **state)
{
    (void)state;
    struct fz_error err;
    struct report report;
    enum fz_code code = FZ_E_NO_MEMORY;
    for (int64_t n = 0; code != FZ_OK; n++) {
        struct fz_arena small;
        fz_arena_init(&small, limits.report_memory);
        small.fail_after = n;
        code = ingest_parse(fz_buffer_span(&input), &limits, &small, &report, &err);
        assert_true(code == FZ_OK || code == FZ_E_NO_MEMORY);
        assert_true(n < 10000);
        fz_arena_deinit(&small);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_frames, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_ends_of_texts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_exception, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_check, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_every_cut, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_limits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_memory, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
