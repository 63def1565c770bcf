/* What version 3.0 of KSCrash's client writes and 2.x did not. The reports are made by hand, after its
 * source; none came from a device. */
#include "tests/unit/ingest_case.h"

#include "base/text.h"
#include "tests/unit/check_body.h"

static struct report
parse(const char *text)
{
    return parse_as(fz_span_cstr(text), "kscrash");
}

/* The type of the error, its other members, and what the report is about. */
static void
test_types(void **state)
{
    (void)state;
    static const struct {
        const char *error, *kind, *termination;
    } cases[] = {
        {"\"type\":\"termination\",\"exit_reason\":{\"namespace\":20,\"code\":1,\"flags\":0}", NULL,
         "WATCHDOG 1"},
        {"\"type\":\"termination\",\"termination_reason\":\"os_upgrade\"", NULL, "os_upgrade"},
        {"\"type\":\"memory_termination\",\"exit_reason\":{\"namespace\":1,\"code\":7}", "memory",
         "JETSAM 7"},
        {"\"type\":\"resource_termination\",\"subtype\":\"CPU\"", "cpu", "resource_termination"},
        {"\"type\":\"resource_termination\",\"termination_reason\":\"memory_limit\"", "memory",
         "memory_limit"},
        {"\"type\":\"resource_termination\",\"subtype\":\"disk_writes\"", "disk_write",
         "resource_termination"},
        {"\"type\":\"resource_termination\"", NULL, "resource_termination"},
        {"\"type\":\"hang\",\"is_fatal\":false,\"hang\":{\"hang_start_nanos\":1}", "hang", NULL},
        {"\"type\":\"mach\",\"hang\":{\"hang_start_nanos\":1}", "hang", NULL},
        {"\"type\":\"profile\",\"profile\":{\"frames\":[],\"samples\":[]}", "cpu", NULL},
        /* A watchdog's code decides, whatever the client calls it. */
        {"\"type\":\"termination\",\"exit_reason\":{\"namespace\":10,\"code\":2343432205}", "hang",
         "SPRINGBOARD 0x8badf00d"},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct report r = parse(fz_arena_printf(
            &arena, "{\"report\":{\"version\":\"3.8.0\"},\"crash\":{\"error\":{%s}}}",
            cases[i].error));
        if (!r.kind != !cases[i].kind || (r.kind && strcmp(r.kind, cases[i].kind) != 0))
            fail_msg("%s: %s", cases[i].error, r.kind ? r.kind : "crash");
        const char *got = r.crash.termination;
        if (!got != !cases[i].termination || (got && strcmp(got, cases[i].termination) != 0))
            fail_msg("%s: %s", cases[i].error, got ? got : "none");
    }
}

static void
test_corpse(void **state)
{
    (void)state;
    struct report r = parse(
        "{\"report\":{\"version\":\"3.9.0\",\"id\":\"0FDFF9A9-4C27-4A3D-9F26-5A4B2F0B6C11\","
        "\"run_id\":\"11111111-2222-3333-4444-555555555555\",\"session_id\":\"s-1\","
        "\"monitor_id\":\"CrashReportExtension\",\"finalized\":true,"
        "\"timestamp\":1795169472345000},"
        "\"corpse\":{\"exception\":10,\"crashInfo\":{\"signal\":11,\"machException\":1,"
        "\"faultAddress\":16,\"exitReason\":{\"namespace\":2,\"code\":11},"
        "\"exitReasonDescription\":\"Segmentation fault\",\"processName\":\"Shop\",\"pid\":812,"
        "\"processPath\":\"/a/Shop\"},\"kernelTriage\":[\"VM - fault\"]},"
        "\"monitor_data\":{\"X\":{\"a\":1}},"
        "\"binary_images\":[{\"image_addr\":4096,\"image_size\":4096,\"image_vmaddr\":4294967296,"
        "\"name\":\"/a/Shop\",\"uuid\":\"4C4C445B-5555-3144-A129-88BEB9D5EB60\","
        "\"crash_info_message\":\"Fatal error: empty\"}],"
        "\"crash\":{\"error\":{\"type\":\"mach\"},\"last_exception_backtrace\":{\"contents\":["
        "{\"instruction_addr\":4100}]},\"threads\":[{\"index\":0,\"crashed\":true,"
        "\"backtrace\":{\"contents\":[{\"instruction_addr\":4200},{\"instruction_addr\":4300},"
        "{\"instruction_addr\":9000,\"object_addr\":8192,"
        "\"object_uuid\":\"5C4C445B-5555-3144-A129-88BEB9D5EB60\"}]}}]}}");
    assert_string_equal(r.run_id, "11111111-2222-3333-4444-555555555555");
    assert_string_equal(r.session_id, "s-1");
    assert_string_equal(r.capture.way, "corpse");
    assert_null(r.kind);
    assert_string_equal(r.crash.signal, "SIGSEGV");
    assert_string_equal(r.crash.mach, "EXC_BAD_ACCESS");
    assert_true(r.crash.has_address);
    assert_int_equal(r.crash.address, 16);
    assert_string_equal(r.crash.termination, "SIGNAL 11 Segmentation fault");
    assert_string_equal(r.process.name, "Shop");
    assert_string_equal(r.process.path, "/a/Shop");
    assert_int_equal(r.process.pid, 812);
    assert_string_equal(r.crash.messages[0], "Fatal error: empty");
    assert_int_equal(r.n_exception_frames, 1);
    assert_int_equal(r.threads[0].n_frames, 3);
    assert_int_equal(r.threads[0].frames[1].trust, REPORT_TRUST_GIVEN);
    /* An image that only a frame names has its UUID, so a symbol file can be found for it. */
    assert_int_equal(r.n_images, 2);
    assert_int_equal(r.images[1].addr, 8192);
    assert_true(r.images[1].has_uuid);
    assert_int_equal(r.n_notes, 0);
    /* What has no place is kept. */
    assert_non_null(strstr(r.extra_json, "\"kernelTriage\":[\"VM - fault\"]"));
    assert_non_null(strstr(r.extra_json, "\"monitor_data\":{\"X\":{\"a\":1}}"));
    assert_null(strstr(r.extra_json, "run_id"));
}

/* The error of the report counts more than the kernel's record; odd records cost nothing. */
static void
test_corpse_odd(void **state)
{
    (void)state;
    struct report r =
        parse("{\"report\":{},\"corpse\":{\"crashInfo\":{\"signal\":11,\"machException\":10,"
              "\"exitReason\":7,\"exitReasonDescription\":\"why\",\"faultAddress\":16}},"
              "\"crash\":{\"error\":{\"type\":\"mach\",\"signal\":{\"signal\":6},"
              "\"mach\":{\"exception\":10}}}}");
    assert_string_equal(r.crash.signal, "SIGABRT");
    assert_string_equal(r.crash.mach, "EXC_CRASH");
    assert_false(r.crash.has_address);
    assert_string_equal(r.crash.termination, "why");
    static const char *const odd[] = {"[]", "{\"crashInfo\":[]}", "{\"crashInfo\":{\"pid\":\"x\"}}",
                                      "{\"crashInfo\":{\"signal\":-1,\"machException\":-1}}"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(odd); i++) {
        r = parse(fz_arena_printf(&arena, "{\"report\":{},\"corpse\":%s,\"crash\":{\"error\":{}}}",
                                  odd[i]));
        assert_null(r.crash.signal);
        assert_null(r.crash.mach);
    }
}

/* A run that ended is not a crash, and must not be counted as one. */
static void
test_run_summary(void **state)
{
    (void)state;
    static const char *const summaries[] = {
        "{\"schema_version\":1,\"sdk_version\":\"3.0.0\",\"run_id\":\"r\",\"device_id\":\"d\","
        "\"started_at_ms\":1795169472345,\"ended_at_ms\":1795169482345,"
        "\"outcome\":{\"termination_reason\":\"clean\",\"user_perceptible\":false},"
        "\"durations_ms\":{\"active\":9000,\"background\":0},\"sessions\":{\"records\":[]},"
        "\"app\":{\"bundle_id\":\"com.acme.shop\"},\"os\":{},\"device\":{},\"metadata\":{}}",
        "{\"schema_version\":1,\"run_id\":\"r\",\"sessions\":{}}",
        "{\"system\":{},\"binary_images\":[],\"schema_version\":1,\"run_id\":\"r\",\"outcome\":{}}",
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(summaries); i++) {
        const char *format;
        char id[FZ_UUID_TEXT];
        struct fz_error err;
        struct report report;
        struct fz_span body = fz_span_cstr(summaries[i]);
        assert_int_equal(check_body(body, &limits, &format, id, &err), FZ_E_UNSUPPORTED);
        assert_string_equal(err.text,
                            "KSCrash run summary: not a report; it says how a run of the app "
                            "ended");
        assert_int_equal(ingest_parse(body, &limits, &arena, &report, &err), FZ_E_UNSUPPORTED);
    }
    /* Beside reports it costs only itself. */
    const char *both = fz_arena_printf(
        &arena, "[%s,{\"report\":{},\"crash\":{\"error\":{},\"threads\":[]}}]", summaries[0]);
    struct ingest_item *items;
    size_t n, n_cut;
    assert_int_equal(ingest_split(fz_span_cstr(both), &limits, &arena, &items, &n, &n_cut, NULL),
                     FZ_OK);
    assert_int_equal(n, 2);
    assert_int_equal(items[0].code, FZ_E_UNSUPPORTED);
    assert_int_equal(items[1].code, FZ_OK);
    /* A report may have such members, too. */
    struct report r = parse("{\"schema_version\":1,\"run_id\":\"r\",\"outcome\":{},\"report\":{},"
                            "\"crash\":{\"error\":{\"type\":\"signal\"}}}");
    assert_string_equal(r.format, "kscrash");
}

/* Texts that the reporter found are memory, with the zero byte at their end. */
static void
test_notable(void **state)
{
    (void)state;
    struct report r =
        parse("{\"report\":{},\"crash\":{\"error\":{},\"threads\":[{\"notable_addresses\":{"
              "\"x0\":{\"address\":4096,\"type\":\"string\",\"value\":\"h\\u00e4\"},"
              "\"x1\":{\"address\":8192,\"type\":\"objc_object\",\"value\":\"NSString\"},"
              "\"x2\":{\"address\":8192,\"type\":\"string\",\"value\":\"bad \\ufffd\"},"
              "\"x3\":{\"address\":8192,\"type\":\"string\",\"value\":\"a\\u0000b\"},"
              "\"x4\":{\"address\":18446744073709551615,\"type\":\"string\",\"value\":\"end\"},"
              "\"x5\":{\"address\":\"x\",\"type\":\"string\",\"value\":\"no place\"},"
              "\"x6\":{\"type\":\"string\"},\"x7\":7,"
              "\"stack@0x10\":{\"address\":12288,\"type\":\"string\",\"value\":\"two\"}}}]}}");
    assert_int_equal(r.n_memory, 2);
    assert_int_equal(r.memory[0].addr, 4096);
    assert_int_equal(r.memory[0].bytes.len, 4);
    assert_memory_equal(r.memory[0].bytes.data, "h\xc3\xa4", 4);
    assert_string_equal(r.memory[0].why, "notable");
    assert_int_equal(r.memory[1].addr, 12288);
    assert_int_equal(r.memory[1].bytes.len, 4);
    assert_non_null(r.threads[0].notable_json);
    limits.memory_bytes = 4;
    r = parse("{\"report\":{},\"crash\":{\"error\":{},\"threads\":[{\"notable_addresses\":{"
              "\"x0\":{\"address\":4096,\"type\":\"string\",\"value\":\"four\"},"
              "\"x1\":{\"address\":4096,\"type\":\"string\",\"value\":\"abc\"},"
              "\"x2\":{\"address\":4096,\"type\":\"string\",\"value\":\"x\"}}}]}}");
    assert_int_equal(r.n_memory, 1);
    assert_memory_equal(r.memory[0].bytes.data, "abc", 4);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_types, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_corpse, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_corpse_odd, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_run_summary, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_notable, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
