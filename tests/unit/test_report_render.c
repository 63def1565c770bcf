#include "server/report/render.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>

#include <setjmp.h>

#include <cmocka.h>

#include "tests/unit/report_full.h"

static const char full_json[] =
    "{\"id\":\"0192f0c4-7a11-7c3e-8f00-000000000001\",\"client_id\":\"mine\","
    "\"run_id\":\"run\",\"session_id\":\"session\","
    "\"project\":\"default\",\"status\":\"partial\",\"format\":\"framezero\","
    "\"kind\":\"hang\","
    "\"received\":\"2026-11-20T10:11:13.000Z\",\"timestamp\":\"2026-11-20T10:11:12.345Z\","
    "\"app\":{\"id\":\"com.acme.shop\",\"name\":\"Shop\",\"version\":\"4.2\",\"build\":\"4201\"},"
    "\"os\":{\"name\":\"iOS\",\"version\":\"18.1\",\"build\":\"22B83\"},"
    "\"device\":{\"model\":\"iPhone15,2\"},\"arch\":\"arm64\","
    "\"environment\":\"testflight\",\"process\":{\"name\":\"Shop\",\"path\":\"/a/Shop\","
    "\"pid\":4242,\"parent\":\"launchd\",\"parent_pid\":1,"
    "\"launched\":\"2026-11-20T10:11:10.000Z\"},"
    "\"crash\":{\"thread\":0,\"signal\":\"SIGABRT\",\"mach\":\"EXC_CRASH\",\"code\":\"c\","
    "\"address\":\"0x10\",\"exception\":\"NSRangeException\",\"reason\":\"index 7\","
    "\"signal_code\":\"SEGV_MAPERR\",\"subtype\":\"KERN_INVALID_ADDRESS at 0x10\","
    "\"mach_codes\":[\"0x1\",\"0x7fffffffffffffff\"],"
    "\"termination\":\"SIGNAL 6 Abort trap: 6\",\"diagnosis\":\"a guess\","
    "\"messages\":[\"abort() called\",\"two\"]},"
    "\"capture\":{\"client\":\"fz\",\"way\":\"corpse\",\"privacy\":\"stack\","
    "\"handler_crashed\":true,\"truncated\":[\"memory\",\"data\"]},"
    "\"user\":{\"id\":1.50},\"tags\":{},\"threads\":["
    "{\"index\":0,\"name\":\"ma\\u001b[1min\",\"queue\":\"q\","
    "\"state\":\"TH_STATE_RUNNING\",\"crashed\":true,\"samples\":9,"
    "\"registers\":{\"pc\":\"0x10aa\",\"x0\":\"0xffffffffffffffff\",\"x1\":\"0x1\",\"x3\":\"0x3\","
    "\"x29\":\"0x4\",\"odd\":\"0x5\",\"v0\":\"0xff000000000000000000000000000201\","
    "\"d8\":\"0x3ff0000000000000\",\"s9\":\"0x00000007\"},"
    "\"stack\":{\"address\":\"0x16f0ff000\",\"size\":1,\"truncated\":true,\"bytes\":\"AQ==\"},"
    "\"notable_addresses\":{\"x0\":{\"type\":\"string\"}},"
    "\"frames\":["
    "{\"index\":0,\"address\":\"0x10aa\",\"lookup_address\":\"0x10aa\",\"image\":\"Shop\","
    "\"image_uuid\":\"4c4c0000000000000000000000000000\",\"image_offset\":\"0xaa\","
    "\"status\":\"symbolicated\",\"trust\":\"context\",\"symbols\":["
    "{\"function\":\"inner(int)\",\"mangled\":\"_Z5inneri\",\"file\":\"/src/work.c\",\"line\":2,"
    "\"column\":9,\"inlined\":true,\"source\":\"dwarf\","
    "\"variables_availability\":\"no_debug_info\"},"
    "{\"function\":\"main\",\"offset\":0,\"file\":\"/src/ma\\nin.c\",\"line\":5,"
    "\"inlined\":false,\"source\":\"symtab\",\"also\":[\"_b\",\"_c\\\"d\"],"
    "\"variables\":[{\"name\":\"count\",\"type\":\"int\",\"kind\":\"param\",\"value\":\"7\","
    "\"availability\":\"available\",\"location\":\"x19\"},"
    "{\"name\":\"self\",\"type\":\"struct p *\",\"kind\":\"this\",\"value\":\"0x10\","
    "\"availability\":\"entry_value\"},"
    "{\"name\":\"p\\\"q\",\"type\":\"struct p\",\"kind\":\"local\",\"availability\":\"partial\","
    "\"stale\":true,\"address\":\"0x16f0ffc83\",\"fields\":["
    "{\"name\":\"x\",\"type\":\"int\",\"value\":\"1\",\"availability\":\"available\"},"
    "{\"name\":\"y\",\"availability\":\"optimized_out\"}],\"fields_cut\":3},"
    "{\"name\":\"g\",\"kind\":\"global\",\"availability\":\"redacted\"}],"
    "\"variables_cut\":9}],\"samples\":5,"
    "\"in_app\":true,\"rule\":\"executable\",\"anchor\":true},"
    "{\"index\":1,\"address\":\"0x2001\",\"lookup_address\":\"0x2000\",\"image\":\"dyld\","
    "\"image_uuid\":\"8a000000000000000000000000000000\",\"image_offset\":\"0x1\","
    "\"status\":\"missing_symbol_file\",\"trust\":\"frame_pointer\",\"symbols\":[],"
    "\"in_app\":false},"
    "{\"index\":2,\"address\":\"0xffffffffffffffff\",\"lookup_address\":\"0xfffffffffffffffe\","
    "\"status\":\"unknown_image\",\"trust\":\"cfi\",\"symbols\":[],\"in_app\":false},"
    "{\"index\":3,\"address\":\"0x3000\",\"trust\":\"given\",\"symbols\":[],\"in_app\":false}],"
    "\"frames_cut\":7,\"frames_truncated\":true},"
    "{\"index\":3,\"crashed\":false,\"frames\":[]}],"
    "\"exception_backtrace\":{\"frames\":["
    "{\"index\":0,\"address\":\"0x10ab\",\"lookup_address\":\"0x10aa\",\"image\":\"Shop\","
    "\"image_uuid\":\"4c4c0000000000000000000000000000\",\"image_offset\":\"0xab\","
    "\"status\":\"no_symbol\",\"trust\":\"given\",\"symbols\":[],\"in_app\":false}],"
    "\"frames_cut\":2},"
    "\"issue\":{";
/* In two parts: compilers need not take a longer string. */
static const char full_json_rest[] =
    "\"hash\":\"0123456789abcdef\",\"variant\":\"fedcba9876543210\",\"label\":\"SIGABRT, line 5\","
    "\"key\":[\"first own frame: f\",\"class: hang\"]},"
    "\"images\":[{\"uuid\":\"4c4c0000000000000000000000000000\",\"name\":\"Shop\","
    "\"path\":\"/a/Shop\",\"arch\":\"arm64\",\"bundle_id\":\"com.acme.shop\","
    "\"version\":\"4.2\",\"address\":\"0x1000\",\"size\":4096,"
    "\"symbols\":\"found\",\"symbol_files\":[{\"kind\":\"dsym\",\"name\":\"Shop\","
    "\"sha256\":\"ab\"},{\"kind\":\"binary\"}]},"
    "{\"uuid\":\"8a000000000000000000000000000000\",\"name\":\"dyld\",\"address\":\"0x2000\","
    "\"symbols\":\"missing\"},{\"name\":\"none\",\"address\":\"0x4000\",\"size\":1,"
    "\"symbols\":\"missing\"}],"
    "\"missing\":[{\"uuid\":\"8a000000000000000000000000000000\",\"name\":\"dyld\"}],"
    "\"memory\":[{\"address\":\"0x280000000\",\"size\":2,\"why\":\"register\","
    "\"bytes\":\"AQI=\"}],"
    "\"attachments\":[{\"name\":\"log.txt\",\"type\":\"text/plain\","
    "\"kind\":\"event.attachment\",\"offset\":7,\"size\":9},"
    "{\"name\":\"empty\",\"offset\":0,\"size\":0}],"
    "\"breadcrumbs\":[],\"extra\":{\"a\":1},\"notes\":[\"a note\"]}";

static const char full_crash[] =
    "Incident Identifier: 0192F0C4-7A11-7C3E-8F00-000000000001\n"
    "Hardware Model:      iPhone15,2\n"
    "Process:             Shop [4242]\n"
    "Path:                /a/Shop\n"
    "Identifier:          com.acme.shop\n"
    "Version:             4.2 (4201)\n"
    "Code Type:           ARM-64 (Native)\n"
    "Parent Process:      launchd [1]\n"
    "\n"
    "Date/Time:           2026-11-20 10:11:12.3450 +0000\n"
    "Launch Time:         2026-11-20 10:11:10.0000 +0000\n"
    "OS Version:          iPhone OS 18.1 (22B83)\n"
    "Report Version:      104\n"
    "\n"
    "Exception Type:  EXC_CRASH (SIGABRT)\n"
    "Exception Subtype: KERN_INVALID_ADDRESS at 0x10\n"
    "Exception Codes: 0x0000000000000001, 0x7fffffffffffffff\n"
    "Termination Reason: SIGNAL 6 Abort trap: 6\n"
    "\n"
    "Triggered by Thread:  0\n"
    "\n"
    "Application Specific Information:\n"
    "*** Terminating app due to uncaught exception 'NSRangeException', reason: 'index 7'\n"
    "abort() called\n"
    "two\n"
    "\n"
    "Last Exception Backtrace:\n"
    "0   Shop                          \t            0x10ab 0x1000 + 171\n"
    "(2 further frames are left out)\n"
    "\n"
    "Thread 0 name:  ma?[1min Dispatch queue: q\n"
    "Thread 0 Crashed: [9 samples]\n"
    "0   Shop                          \t            0x10aa inner(int) + 0 (work.c:2) [inlined]\n"
    "1   Shop                          \t            0x10aa main + 0 (ma?in.c:5) [5 samples]\n"
    "2   dyld                          \t            0x2001 0x2000 + 1\n"
    "3   ???                           \t0xffffffffffffffff ???\n"
    "4   dyld                          \t            0x3000 0x2000 + 4096\n"
    "(7 further frames are left out)\n"
    "\n"
    "Thread 3:\n\n\n"
    "Thread 0 crashed with ARM Thread State (64-bit):\n"
    "    x0: 0xffffffffffffffff   x1: 0x0000000000000001   x3: 0x0000000000000003\n"
    "    fp: 0x0000000000000004\n    pc: 0x00000000000010aa\n   odd: 0x0000000000000005\n"
    "\nBinary Images:\n"
    "            0x1000 -             0x1fff Shop arm64  <4c4c0000000000000000000000000000> "
    "/a/Shop\n"
    "            0x2000 -                ??? dyld arm64  <8a000000000000000000000000000000> ???\n"
    "            0x4000 -             0x4000 none arm64  <00000000000000000000000000000000> ???\n"
    "\n"
    "CrashDoctor Diagnosis: a guess\n\nEOF\n";

static void
check_full_json(const char *json)
{
    size_t len = strlen(full_json);
    assert_true(strlen(json) > len);
    assert_memory_equal(json, full_json, len);
    assert_string_equal(json + len, full_json_rest);
}

static void
test_json(void **state)
{
    (void)state;
    struct fz_buffer out;
    fz_buffer_init(&out, 0);
    assert_int_equal(report_render_json(&full, &envelope, &out, NULL), FZ_OK);
    check_full_json(fz_buffer_cstr(&out));
    fz_buffer_deinit(&out);
}

static void
test_empty(void **state)
{
    (void)state;
    const struct report empty = {.crash.thread = -1};
    const struct report_envelope none = {.id = NULL};
    struct fz_buffer out;
    fz_buffer_init(&out, 0);
    assert_int_equal(report_render_json(&empty, &none, &out, NULL), FZ_OK);
    assert_string_equal(fz_buffer_cstr(&out),
                        "{\"status\":\"unsymbolicated\",\"threads\":[],\"images\":[],"
                        "\"missing\":[]}");
    fz_buffer_clear(&out);
    assert_int_equal(report_render_crash(&empty, &none, &out, NULL), FZ_OK);
    assert_string_equal(fz_buffer_cstr(&out),
                        "\nReport Version:      104\n\n\n\nBinary Images:\n\nEOF\n");
    fz_buffer_clear(&out);
    assert_int_equal(report_render_ips(&empty, &none, &out, NULL), FZ_OK);
    assert_string_equal(fz_buffer_cstr(&out),
                        "{\"bug_type\":\"309\"}\n{\"version\":2,\"bug_type\":\"309\","
                        "\"exception\":{},\"threads\":[],\"usedImages\":[]}\n");
    fz_buffer_deinit(&out);
}

/* The app's own id is written only if it differs. */
static void
test_client_id(void **state)
{
    (void)state;
    static const struct {
        const char *client, *server, *want;
    } cases[] = {
        {NULL, "a", "{\"id\":\"a\",\"status\""},
        {"b", NULL, "{\"id\":\"b\",\"status\""},
        {"a", "a", "{\"id\":\"a\",\"status\""},
        {"b", "a", "{\"id\":\"a\",\"client_id\":\"b\",\"status\""},
        {"0192F0C4-7A11-7C3E-8F00-000000000001", "0192f0c47a117c3e8f00000000000001",
         "{\"id\":\"0192f0c47a117c3e8f00000000000001\",\"status\""},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        const struct report report = {.id = cases[i].client, .crash.thread = -1};
        const struct report_envelope server = {.id = cases[i].server};
        struct fz_buffer out;
        fz_buffer_init(&out, 0);
        assert_int_equal(report_render_json(&report, &server, &out, NULL), FZ_OK);
        assert_memory_equal(fz_buffer_cstr(&out), cases[i].want, strlen(cases[i].want));
        fz_buffer_deinit(&out);
    }
}

/* Other reports of the crash are added to a result, and stay when that is written again. */
static void
test_same_crash(void **state)
{
    (void)state;
    static const char *const ids[] = {"b", "c"};
    static const char want[] = "{\"id\":\"a\",\"same_crash\":[\"b\",\"c\"],\"status\"";
    const struct report report = {.crash.thread = -1};
    const struct report_envelope server = {.id = "a", .same_crash = ids, .n_same_crash = 2};
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(1 << 16);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer again = fz_buffer_make(0);
    struct report loaded;
    struct report_envelope loaded_server;
    assert_int_equal(report_render_json(&report, &server, &out, NULL), FZ_OK);
    assert_memory_equal(fz_buffer_cstr(&out), want, strlen(want));
    assert_int_equal(report_load_json(fz_buffer_span(&out), &arena, &loaded, &loaded_server, NULL),
                     FZ_OK);
    assert_int_equal(report_render_json(&loaded, &loaded_server, &again, NULL), FZ_OK);
    assert_string_equal(fz_buffer_cstr(&again), fz_buffer_cstr(&out));
}

static void
test_load(void **state)
{
    (void)state;
    struct fz_arena arena;
    struct report report;
    struct report_envelope loaded;
    struct fz_buffer out;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    fz_arena_init(&arena, 1 << 22);
    fz_buffer_init(&out, 0);
    fz_buffer_printf(&text, "%s%s", full_json, full_json_rest);
    assert_int_equal(report_load_json(fz_buffer_span(&text), &arena, &report, &loaded, NULL),
                     FZ_OK);
    assert_string_equal(loaded.status, "partial");
    assert_true(loaded.received_ms == 1795169473000);
    assert_string_equal(report.id, "mine");
    assert_int_equal(report.threads[0].frames[1].image, 1);
    assert_int_equal(report.threads[0].frames[2].image, -1);
    assert_int_equal(report.images[1].state, REPORT_IMAGE_MISSING);
    assert_int_equal(report.threads[0].frames[1].adjust, REPORT_ADJUST_RETURN);
    assert_int_equal(report_render_json(&report, &loaded, &out, NULL), FZ_OK);
    check_full_json(fz_buffer_cstr(&out));
    /* Notes can still be added, and leave the others alone. */
    for (int i = 1; i < 20; i++)
        report_note(&report, &arena, "note %d", i);
    assert_int_equal(report.n_notes, 20);
    assert_string_equal(report.notes[0], "a note");
    assert_string_equal(report.notes[1], "note 1");
    assert_string_equal(report.notes[19], "note 19");
    fz_buffer_clear(&out);
    assert_int_equal(report_render_crash(&report, &loaded, &out, NULL), FZ_OK);
    assert_string_equal(fz_buffer_cstr(&out), full_crash);

    struct fz_error err;
    assert_int_equal(report_load_json(fz_span_cstr("[]"), &arena, &report, &loaded, &err),
                     FZ_E_MALFORMED);
    assert_string_equal(err.text, "stored report: not a JSON object");
    assert_int_equal(report_load_json(fz_span_cstr("{\"id\""), &arena, &report, &loaded, &err),
                     FZ_E_MALFORMED);
    fz_buffer_deinit(&out);
    fz_arena_deinit(&arena);
}

/* Two images that are alike but for their place: a frame finds its own again. */
static void
test_load_twin_images(void **state)
{
    (void)state;
    static const char text[] =
        "{\"threads\":[{\"frames\":[{\"address\":\"0x2010\",\"image\":\"a\","
        "\"image_offset\":\"0x10\",\"status\":\"no_symbol\"},{\"address\":\"0x9000\","
        "\"image\":\"a\",\"status\":\"no_symbol\"},{\"address\":\"0x3001\","
        "\"image_offset\":\"0x1\",\"status\":\"no_symbol\"}]}],\"images\":["
        "{\"name\":\"a\",\"address\":\"0x1000\"},{\"name\":\"a\",\"address\":\"0x2000\"},"
        "{\"address\":\"0x3000\"}]}";
    struct fz_arena arena;
    struct report report;
    struct report_envelope loaded;
    fz_arena_init(&arena, 1 << 20);
    assert_int_equal(report_load_json(fz_span_cstr(text), &arena, &report, &loaded, NULL), FZ_OK);
    assert_int_equal(report.threads[0].frames[0].image, 1);
    assert_int_equal(report.threads[0].frames[1].image, 0);
    assert_int_equal(report.threads[0].frames[2].image, 2);
    fz_arena_deinit(&arena);
}

static void
test_crash(void **state)
{
    (void)state;
    struct fz_buffer out;
    fz_buffer_init(&out, 0);
    assert_int_equal(report_render_crash(&full, &envelope, &out, NULL), FZ_OK);
    assert_string_equal(fz_buffer_cstr(&out), full_crash);
    fz_buffer_deinit(&out);
}

static json_int_t
int_at(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static void
test_ips(void **state)
{
    (void)state;
    struct fz_buffer out;
    struct report report = full;
    fz_buffer_init(&out, 0);
    registers[1].value = 7; /* jansson reads no 2^64 - 1 */
    frames[2].addr = 0x9000;
    assert_int_equal(report_render_ips(&report, &envelope, &out, NULL), FZ_OK);
    registers[1].value = UINT64_MAX;
    frames[2].addr = UINT64_MAX;
    json_t *header = json_loads(out.data, JSON_DISABLE_EOF_CHECK, NULL);
    json_t *body = json_loads(strchr(out.data, '\n') + 1, 0, NULL);
    assert_non_null(header);
    assert_non_null(body);
    assert_string_equal(json_string_value(json_object_get(header, "os_version")),
                        "iPhone OS 18.1 (22B83)");
    assert_string_equal(json_string_value(json_object_get(header, "slice_uuid")),
                        "4c4c0000-0000-0000-0000-000000000000");
    const json_t *thread = json_array_get(json_object_get(body, "threads"), 0);
    const json_t *list = json_object_get(thread, "frames");
    assert_int_equal(json_array_size(list), 5); /* an inlined call is a frame of its own */
    const json_t *inlined = json_array_get(list, 0), *outer = json_array_get(list, 1);
    assert_true(json_is_true(json_object_get(inlined, "inline")));
    assert_int_equal(int_at(inlined, "imageOffset"), 0xaa);
    assert_int_equal(int_at(inlined, "sourceLine"), 2);
    assert_null(json_object_get(outer, "inline"));
    assert_string_equal(json_string_value(json_object_get(outer, "symbol")), "main");
    /* Outside all images: the offset in a placeholder with base 0. */
    const json_t *outside = json_array_get(list, 3);
    assert_int_equal(int_at(outside, "imageIndex"), 3);
    assert_int_equal(int_at(outside, "imageOffset"), 0x9000);
    const json_t *used = json_object_get(body, "usedImages");
    assert_int_equal(json_array_size(used), 4);
    assert_string_equal(json_string_value(json_object_get(json_array_get(used, 3), "source")), "A");
    /* x2 is not known: x3 does not slip into its place. */
    const json_t *registers_out = json_object_get(thread, "threadState");
    assert_int_equal(json_array_size(json_object_get(registers_out, "x")), 2);
    assert_int_equal(int_at(json_object_get(registers_out, "x3"), "value"), 3);
    assert_int_equal(int_at(json_object_get(registers_out, "pc"), "value"), 0x10aa);
    assert_true(json_is_true(json_object_get(thread, "triggered")));
    assert_int_equal(int_at(body, "faultingThread"), 0);
    json_decref(header);
    json_decref(body);
    fz_buffer_deinit(&out);
}

/* A full output says so and not nothing. */
static void
test_output_limit(void **state)
{
    (void)state;
    struct fz_error err;
    struct fz_buffer out;
    for (size_t cap = 1; cap < sizeof(full_crash) - 1; cap += 37) {
        fz_buffer_init(&out, cap);
        assert_int_equal(report_render_json(&full, &envelope, &out, &err), FZ_E_LIMIT);
        fz_buffer_deinit(&out);
        fz_buffer_init(&out, cap);
        assert_int_equal(report_render_crash(&full, &envelope, &out, &err), FZ_E_LIMIT);
        fz_buffer_deinit(&out);
        fz_buffer_init(&out, cap);
        assert_int_equal(report_render_ips(&full, &envelope, &out, &err), FZ_E_LIMIT);
        fz_buffer_deinit(&out);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_client_id),
        cmocka_unit_test(test_load),
        cmocka_unit_test(test_same_crash),
        cmocka_unit_test(test_crash),
        cmocka_unit_test(test_ips),
        cmocka_unit_test(test_output_limit),
        cmocka_unit_test(test_load_twin_images),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
