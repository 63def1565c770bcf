#include "tests/unit/ingest_case.h"

#include "base/attr.h"
#include "server/report/render.h"
#include "tests/unit/check_body.h"

static struct report
parse(const char *text)
{
    return parse_as(fz_span_cstr(text), "sentry");
}

static bool
has_note(const struct report *r, const char *text)
{
    for (size_t i = 0; i < r->n_notes; i++) {
        if (strcmp(r->notes[i], text) == 0)
            return true;
        print_message("note: %s\n", r->notes[i]);
    }
    return false;
}

/* ---- what it is -------------------------------------------------------------------------- */

static void
test_detect(void **state)
{
    static const struct {
        const char *body, *format;
    } rows[] = {
        {"{\"event_id\":\"1\",\"level\":\"fatal\"}", "sentry"},
        {" \n{\"event_id\":\"1\",\"exception\":[", "sentry"},
        {"{\"threads\":[],\"debug_meta\":{}}", "sentry"},
        {"{\"event_id\":\"1\"}", NULL},
        {"{\"message\":\"hi\"}", NULL},
        {"{\"event_id\":\"1\",\"level\":1,\"framezero\":1}", "framezero"},
        {"{\"event_id\":\"1\",\"message\":1,\"apiKey\":\"k\"}", NULL},
        {"{\"a\":{\"event_id\":\"1\",\"level\":1}}", NULL},
        {"{}\n{\"type\":\"event\"}\n{}", "sentry"},
        {"{}\r\n\n{\"length\":1,\"type\":\"x\"}\n", "sentry"},
        {"{\"event_id\":\"1\"}\n{\"type\":\"event\",\"le", "sentry"},
        {"{}\n{\"type\":5}\n", NULL},
        {"{}\n{\"type\":\"\"}\n", NULL},
        {"{\n{\"type\":\"event\"}\n", NULL},
        {"{}\n", NULL},
        {"{}\nx", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *format = ingest_detect(fz_span_cstr(rows[i].body));
        if ((format == NULL) != (rows[i].format == NULL) ||
            (format && strcmp(format, rows[i].format) != 0))
            fail_msg("%s: %s", rows[i].body, format ? format : "none");
    }
}

static void
test_check(void **state)
{
    static const struct {
        const char *body;
        enum fz_code code;
        const char *text; /* the message, or the id */
        int64_t offset;
    } rows[] = {
        {"{\"event_id\":\"D3B07384-D113-EDEC-49EA-A6238AD5FF00\",\"level\":\"x\"}", FZ_OK,
         "d3b07384d113edec49eaa6238ad5ff00", 0},
        {"{\"event_id\":\"?\",\"level\":\"x\"}", FZ_OK, "", 0},
        {"{\"event_id\":\"00000000000000000000000000000000\",\"level\":\"x\"}", FZ_OK, "", 0},
        {"{\"event_id\":\"1\",\"level\":\"x\",}", FZ_E_MALFORMED, "json: expected a key at byte 28",
         28},
        {"{\"event_id\":\"1\",\"type\":\"transaction\",\"level\":\"x\"}", FZ_E_UNSUPPORTED,
         "sentry event: a transaction, which holds no crash", -1},
        {"{}\n{\"type\":\"event\"}\n{\"message\":\"hi\"}", FZ_OK, "", 0},
        {"{\"event_id\":\"d3b07384d113edec49eaa6238ad5ff00\"}\n{\"type\":\"event\"}\n"
         "{\"event_id\":\"e3b07384d113edec49eaa6238ad5ff00\"}",
         FZ_OK, "d3b07384d113edec49eaa6238ad5ff00", 0},
        {"{}\n{\"type\":\"event\"}\n{\"event_id\":\"e3b07384d113edec49eaa6238ad5ff00\"}\n\n\n",
         FZ_OK, "e3b07384d113edec49eaa6238ad5ff00", 0},
        {"{}\n{\"type\":\"session\"}\n{}\n", FZ_E_UNSUPPORTED,
         "sentry envelope: no event and no crash report in it", -1},
        {"{}\n{\"type\":\"event\",\"length\":10}\n{\"a\":1}", FZ_E_MALFORMED,
         "sentry envelope: the payload at byte 32 has 7 of 10 bytes", 39},
        {"{}\n{\"type\":\"event\",\"length\":18446744073709551615}\n{\"a\":1}", FZ_E_MALFORMED,
         "sentry envelope: the payload at byte 50 has 7 of 18446744073709551615 bytes", 57},
        {"{}\n{\"type\":\"event\",\"length\":2}\n{ }\n", FZ_E_MALFORMED,
         "sentry envelope: no line break after the payload at byte 31, which is 2 bytes long by "
         "its header",
         33},
        {"{}\n{\"type\":\"event\",\"length\":-1}\n{}\n", FZ_E_MALFORMED,
         "sentry envelope: the length in the item header at byte 3 is not a number", 3},
        {"{}\n{\"type\":\"event\",\"length\":null}\n{}\n", FZ_OK, "", 0},
        {"{}\n{\"type\":\"x\"}\n\n[1]\n{}", FZ_E_MALFORMED,
         "sentry envelope: the item header at byte 17 is not a JSON object", 17},
        {"{]}\n{\"type\":\"event\"}\n{}", FZ_E_MALFORMED,
         "sentry envelope: the header at byte 0 is not a JSON object", 1},
        {"{}\n{\"type\":\"event\"}\n{\"a\":}", FZ_E_MALFORMED,
         "sentry envelope: the event at byte 20: json: expected a value at byte 5", 25},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *format = "none";
        char id[FZ_UUID_TEXT] = "";
        struct fz_error err = {.offset = 0};
        enum fz_code code = check_body(fz_span_cstr(rows[i].body), &limits, &format, id, &err);
        const char *text = code == FZ_OK ? id : err.text;
        if (code != rows[i].code || strcmp(text, rows[i].text) != 0 ||
            (code != FZ_OK && err.offset != rows[i].offset))
            fail_msg("%s: %d %s at %lld", rows[i].body, (int)code, text, (long long)err.offset);
        struct report report;
        assert_int_equal(ingest_parse(fz_span_cstr(rows[i].body), &limits, &arena, &report, &err),
                         rows[i].code);
    }
}

/* ---- addresses --------------------------------------------------------------------------- */

/* One event per row: exception members, registers; what frame 0 and frame 1 mean. Frames are 0x1000
 * (newest) and 0x2000. */
static void
test_adjust(void **state)
{
#define SIGNAL(type, name)                               \
    "\"type\":\"EXC_X\",\"mechanism\":{\"type\":\"" type \
    "\",\"meta\":{\"signal\":{\"name\":\"" name "\"}}}"
    static const char pc[] = "\"pc\":\"0x1000\"", other[] = "\"rip\":\"0x5000\"";
    static const struct {
        const char *exception, *registers, *more;
        enum report_adjust first, second;
    } rows[] = {
        {SIGNAL("mach", "SIGSEGV"), pc, "", REPORT_ADJUST_AUTO, REPORT_ADJUST_AUTO},
        {SIGNAL("mach", "SIGSEGV"), "\"pc\":\"0x1001\"", "", REPORT_ADJUST_AUTO,
         REPORT_ADJUST_AUTO},
        {SIGNAL("mach", "SIGSEGV"), other, "", REPORT_ADJUST_RETURN, REPORT_ADJUST_AUTO},
        {SIGNAL("signal", "SIGBUS"), other, "", REPORT_ADJUST_RETURN, REPORT_ADJUST_AUTO},
        {SIGNAL("signal", "SIGILL"), other, "", REPORT_ADJUST_RETURN, REPORT_ADJUST_AUTO},
        {SIGNAL("signal", "SIGABRT"), other, "", REPORT_ADJUST_AUTO, REPORT_ADJUST_AUTO},
        {SIGNAL("signal", "SIGSEGV"), "", "", REPORT_ADJUST_AUTO, REPORT_ADJUST_AUTO},
        {SIGNAL("nsexception", "SIGABRT"), pc, "", REPORT_ADJUST_RETURN, REPORT_ADJUST_AUTO},
        {SIGNAL("cpp_exception", "SIGABRT"), "", "", REPORT_ADJUST_RETURN, REPORT_ADJUST_AUTO},
        {"\"type\":\"NSGenericException\",\"mechanism\":{\"posix_signal\":{\"signal\":6}}", "", "",
         REPORT_ADJUST_RETURN, REPORT_ADJUST_AUTO},
        {"\"type\":\"NSGenericException\"", pc, "", REPORT_ADJUST_AUTO, REPORT_ADJUST_AUTO},
        {"\"type\":\"App Hanging\",\"mechanism\":{\"type\":\"AppHang\"}", "", "",
         REPORT_ADJUST_AUTO, REPORT_ADJUST_AUTO},
        {SIGNAL("mach", "SIGSEGV"), other, ",\"instruction_addr_adjustment\":\"none\"",
         REPORT_ADJUST_EXACT, REPORT_ADJUST_EXACT},
        {SIGNAL("nsexception", "SIGABRT"), "", ",\"instruction_addr_adjustment\":\"all_but_first\"",
         REPORT_ADJUST_EXACT, REPORT_ADJUST_RETURN},
        {SIGNAL("mach", "SIGSEGV"), pc, ",\"instruction_addr_adjustment\":\"all\"",
         REPORT_ADJUST_RETURN, REPORT_ADJUST_RETURN},
        {SIGNAL("mach", "SIGSEGV"), other, ",\"instruction_addr_adjustment\":\"auto\"",
         REPORT_ADJUST_RETURN, REPORT_ADJUST_AUTO},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *text = fz_arena_printf(
            &arena,
            "{\"event_id\":\"1\",\"level\":\"fatal\",\"exception\":{\"values\":[{%s,"
            "\"stacktrace\":{\"registers\":{%s},\"frames\":[{\"instruction_addr\":\"0x2000\"},"
            "{\"instruction_addr\":\"0x1000\"}]%s}}]}}",
            rows[i].exception, rows[i].registers, rows[i].more);
        struct report r = parse(text);
        const struct report_thread *thread = report_crashed_thread(&r);
        if (!thread || thread->n_frames != 2 || thread->frames[0].addr != 0x1000 ||
            thread->frames[0].adjust != rows[i].first || thread->frames[1].adjust != rows[i].second)
            fail_msg("%s: %d %d", text, (int)thread->frames[0].adjust,
                     (int)thread->frames[1].adjust);
    }
}

/* Dart subtracts by itself; its addresses are at no arm64 instruction. */
static void
test_adjusted_by_client(void **state)
{
    (void)state;
    struct report r = parse("{\"event_id\":\"1\",\"level\":\"fatal\",\"contexts\":{\"device\":"
                            "{\"arch\":\"arm64e\"}},\"exception\":{\"values\":[{\"type\":\"E\","
                            "\"stacktrace\":{\"frames\":[{\"instruction_addr\":\"0x1007\"},"
                            "{\"instruction_addr\":\"0x2000\"}]}}]}}");
    assert_int_equal(r.threads[0].frames[0].adjust, REPORT_ADJUST_RETURN);
    assert_int_equal(r.threads[0].frames[1].adjust, REPORT_ADJUST_EXACT);
}

/* ---- stacks ------------------------------------------------------------------------------ */

static void
test_names_of_both_stacks(void **state)
{
    (void)state;
    struct report r = parse(
        "{\"event_id\":\"1\",\"level\":\"fatal\",\"exception\":{\"values\":[{\"type\":\"E\","
        "\"thread_id\":4,\"stacktrace\":{\"frames\":[{\"instruction_addr\":9,\"function\":"
        "\"<redacted>\"},{\"instruction_addr\":8,\"function\":\"pay\",\"symbol_addr\":\"0x4\","
        "\"filename\":\"cart.m\",\"lineno\":7,\"colno\":2}]}}]},\"threads\":[{\"id\":3},"
        "{\"id\":4,\"stacktrace\":{\"frames\":[{\"instruction_addr\":\"9\"},"
        "{\"instruction_addr\":\"0x8\"}]}}]}");
    assert_int_equal(r.n_threads, 2);
    assert_int_equal(r.crash.thread, 4);
    assert_true(r.threads[1].crashed);
    assert_int_equal(r.n_exception_frames, 0);
    const struct report_frame *frame = &r.threads[1].frames[0];
    assert_int_equal(frame->n_client, 1);
    assert_string_equal(frame->client[0].function, "pay");
    assert_string_equal(frame->client[0].file, "cart.m");
    assert_int_equal(frame->client[0].line, 7);
    assert_int_equal(frame->client[0].column, 2);
    assert_true(frame->has_client_start);
    assert_int_equal(frame->client_start, 4);
    assert_int_equal(r.threads[1].frames[1].n_client, 0);
}

/* Of an error that was only reported, the thread is the one that was running. */
static void
test_current_thread(void **state)
{
#define WITH_STACK                                               \
    "\"exception\":[{\"type\":\"E\",\"stacktrace\":{\"frames\":" \
    "[{\"instruction_addr\":9}]}}],"
    static const char *const exceptions[] = {"", "\"exception\":[{\"type\":\"E\"}],", WITH_STACK};
    (void)state;
    for (size_t i = 0; i < FZ_ARRAY_LEN(exceptions); i++) {
        struct report r = parse(fz_arena_printf(
            &arena,
            "{\"event_id\":\"1\",\"level\":\"error\",%s\"threads\":[{\"id\":3},{\"id\":4,"
            "\"current\":true,\"stacktrace\":{\"frames\":[{\"instruction_addr\":9}]}}]}",
            exceptions[i]));
        assert_int_equal(r.n_threads, 2);
        assert_int_equal(r.crash.thread, 4);
        assert_int_equal(r.n_exception_frames, 0);
    }
    struct report r =
        parse("{\"event_id\":\"1\",\"threads\":[{\"id\":3,\"current\":true},{\"id\":4,"
              "\"crashed\":true}]}");
    assert_int_equal(r.crash.thread, 4);
}

static void
test_limits(void **state)
{
    (void)state;
    limits.threads = 2;
    limits.frames = 2;
    limits.images = 1;
    struct report r = parse(
        "{\"event_id\":\"1\",\"level\":\"fatal\",\"threads\":[{\"id\":0},{\"id\":1},{\"id\":2,"
        "\"crashed\":true,\"stacktrace\":{\"frames\":[{\"instruction_addr\":1,\"image_addr\":16,"
        "\"package\":\"/a\"},{\"instruction_addr\":2,\"image_addr\":32,\"package\":\"/b\"},"
        "{\"instruction_addr\":3,\"image_addr\":48,\"package\":\"/c\"}]}}],"
        "\"debug_meta\":{\"images\":[{\"image_addr\":48,\"code_file\":\"/c\","
        "\"debug_id\":\"4c4c445b55553144a12988beb9d5eb60\"},{}]}}");
    assert_int_equal(r.n_threads, 2);
    assert_int_equal(r.threads[1].index, 2);
    assert_int_equal(r.threads[1].n_frames, 2);
    assert_int_equal(r.threads[1].n_frames_cut, 1);
    assert_int_equal(r.threads[1].frames[0].addr, 3);
    assert_int_equal(r.n_images, 1);
    assert_true(has_note(&r, "threads: 3, of which 2 are kept"));
    assert_true(has_note(&r, "images that only frames name are left out: the limit is 1"));
}

static void
test_kinds(void **state)
{
    static const struct {
        const char *members, *kind;
    } rows[] = {
        {"\"level\":\"fatal\"", NULL},
        {"\"level\":\"error\",\"exception\":[{\"type\":\"E\"}]", "error"},
        {"\"level\":\"error\",\"exception\":[{\"type\":\"E\",\"mechanism\":{\"handled\":false}}]",
         NULL},
        {"\"exception\":[{\"type\":\"SIGABRT\",\"mechanism\":{\"type\":\"signal\"}}]", NULL},
        {"\"exception\":[{\"type\":\"App Hanging\",\"mechanism\":{\"type\":\"AppHang\"}}]", "hang"},
        {"\"level\":\"fatal\",\"exception\":[{\"type\":\"X\",\"mechanism\":{\"type\":"
         "\"watchdog_termination\",\"handled\":false}}]",
         "memory"},
        {"\"exception\":[{\"type\":\"MXCPUException\"}]", "cpu"},
        {"\"message\":\"hi\"", "message"},
        {"\"message\":\"hi\",\"threads\":[{\"crashed\":true}]", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct report r = parse(
            fz_arena_printf(&arena, "{\"event_id\":\"1\",\"platform\":\"c\",%s}", rows[i].members));
        if ((r.kind == NULL) != (rows[i].kind == NULL) ||
            (r.kind && strcmp(r.kind, rows[i].kind) != 0))
            fail_msg("%s: %s", rows[i].members, r.kind ? r.kind : "crash");
    }
}

static void
test_release(void **state)
{
    static const struct {
        const char *release, *id, *version, *build;
    } rows[] = {
        {"com.example.shop@1.2+34", "com.example.shop", "1.2", "34"},
        {"shop@1.2", "shop", "1.2", "7"},
        {"a1b2c3", NULL, "a1b2c3", "7"},
        {"1.2+34", NULL, "1.2+34", "7"},
        {"@", NULL, NULL, "7"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct report r = parse(fz_arena_printf(
            &arena, "{\"event_id\":\"1\",\"level\":1,\"dist\":\"7\",\"release\":\"%s\"}",
            rows[i].release));
        const char *got[] = {r.app_id, r.app_version, r.app_build};
        const char *want[] = {rows[i].id, rows[i].version, rows[i].build};
        for (size_t k = 0; k < 3; k++) {
            if ((got[k] == NULL) != (want[k] == NULL) || (got[k] && strcmp(got[k], want[k]) != 0))
                fail_msg("%s: %zu: %s", rows[i].release, k, got[k] ? got[k] : "none");
        }
    }
}

/* ---- envelopes --------------------------------------------------------------------------- */

static void
test_attachments_lie_in_the_body(void **state)
{
    (void)state;
    static const char body[] =
        "{}\n{\"type\":\"attachment\",\"length\":3,\"filename\":\"a\"}\n\n\n\n"
        "\n{\"type\":\"event\"}\n{}\n{\"type\":\"attachment\"}\nlog";
    struct report r = parse(body);
    assert_int_equal(r.n_attachments, 2);
    assert_memory_equal(body + r.attachments[0].offset, "\n\n\n", 3);
    assert_int_equal(r.attachments[0].size, 3);
    assert_string_equal(r.attachments[0].name, "a");
    assert_memory_equal(body + r.attachments[1].offset, "log", 3);
}

/* A crash text as Apple writes it. */
#define CRASH_TEXT                                                                                 \
    "Incident Identifier: 1\nProcess: Shop [7]\nIdentifier: com.example.shop\nVersion: 1.2 (34)\n" \
    "Code Type: ARM-64\nReport Version: 104\n\nException Type: EXC_BREAKPOINT (SIGTRAP)\n"         \
    "Triggered by Thread: 0\n\nThread 0 Crashed:\n"                                                \
    "0   Shop  0x0000000104004068 0x104000000 + 16488\n"                                           \
    "1   Shop  0x0000000104004030 0x104000000 + 16432\n\nBinary Images:\n"                         \
    "0x104000000 - 0x10400bfff Shop arm64 <4c4c445b55553144a12988beb9d5eb60> /a/Shop.app/Shop\n"

static const char *
with_crash_text(const char *event)
{
    return fz_arena_printf(&arena,
                           "{}\n{\"type\":\"event\"}\n%s\n{\"type\":\"attachment\",\"length\":%zu,"
                           "\"attachment_type\":\"event.applecrashreport\"}\n" CRASH_TEXT,
                           event, strlen(CRASH_TEXT));
}

static void
test_dump_beside_event(void **state)
{
    (void)state;
    struct report r =
        parse(with_crash_text("{\"level\":\"fatal\",\"environment\":\"beta\",\"message\":\"m\"}"));
    assert_string_equal(r.format, "sentry");
    assert_string_equal(r.environment, "beta");
    assert_string_equal(r.app_id, "com.example.shop");
    assert_string_equal(r.crash.signal, "SIGTRAP");
    assert_string_equal(r.crash.reason, "m");
    assert_int_equal(r.n_threads, 1);
    assert_int_equal(r.threads[0].n_frames, 2);
    assert_int_equal(r.threads[0].frames[0].addr, 0x104004068);
    assert_int_equal(r.n_images, 1);
    assert_int_equal(r.n_attachments, 1);
    /* The event's own stack stays. */
    r = parse(with_crash_text(
        "{\"level\":\"fatal\",\"stacktrace\":{\"frames\":[{\"instruction_addr\":7}]}}"));
    assert_int_equal(r.threads[0].n_frames, 1);
    assert_int_equal(r.threads[0].frames[0].addr, 7);
    /* A broken event does not lose the crash. */
    r = parse(with_crash_text("{\"level\":"));
    assert_int_equal(r.threads[0].n_frames, 2);
    assert_int_equal(r.n_notes, 1);
    /* An envelope in an attachment is not read. */
    r = parse("{}\n{\"type\":\"event\"}\n{}\n{\"type\":\"attachment\",\"length\":27,"
              "\"attachment_type\":\"event.minidump\"}\n{}\n{\"type\":\"event\"}\n{\"a\":1}\n");
    assert_int_equal(r.n_threads, 0);
    assert_int_equal(r.n_attachments, 1);
}

static void
test_words_of_users(void **state)
{
    (void)state;
    struct report r = parse("{\"event_id\":\"d3b07384d113edec49eaa6238ad5ff00\"}\n"
                            "{\"type\":\"feedback\"}\n{\"contexts\":{\"feedback\":{\"message\":"
                            "\"it went away\"}},\"level\":\"info\"}");
    assert_string_equal(r.kind, "message");
    assert_string_equal(r.crash.reason, "it went away");
    assert_string_equal(r.id, "d3b07384d113edec49eaa6238ad5ff00");
    /* About a crash that has the id: these words are another report. */
    static const char words[] = "{\"event_id\":\"d3b07384d113edec49eaa6238ad5ff00\"}\n"
                                "{\"type\":\"user_report\"}\n{\"event_id\":"
                                "\"d3b07384d113edec49eaa6238ad5ff00\",\"name\":\"A\","
                                "\"comments\":\"oh\"}";
    r = parse(words);
    assert_string_equal(r.kind, "message");
    assert_string_equal(r.crash.reason, "oh");
    assert_string_equal(r.user_json, "{\"name\":\"A\"}");
    assert_null(r.id);
    char id[FZ_UUID_TEXT] = "";
    const char *format;
    struct fz_error err;
    assert_int_equal(check_body(fz_span_cstr(words), &limits, &format, id, &err), FZ_OK);
    assert_string_equal(id, "");
    /* With an event they belong to it, at any place. */
    r = parse("{}\n{\"type\":\"user_report\"}\n{\"comments\":\"oh\"}\n{\"type\":\"event\"}\n"
              "{\"message\":\"m\"}");
    assert_string_equal(r.crash.reason, "m");
    assert_non_null(strstr(r.extra_json, "\"user_report\":[{\"comments\":\"oh\"}]"));
}

/* ---- memory ------------------------------------------------------------------------------ */

static void
test_out_of_memory(void **state)
{
    static const char body[] =
        "{\"event_id\":\"d3b07384d113edec49eaa6238ad5ff00\"}\n{\"type\":\"attachment\"}\nx\n"
        "{\"type\":\"user_report\"}\n{\"name\":\"A\"}\n{\"type\":\"event\"}\n"
        "{\"level\":\"fatal\",\"release\":\"a@1+2\",\"tags\":[[\"a\",\"b\"]],\"message\":\"m\","
        "\"exception\":[{\"type\":\"C\"},{\"type\":\"EXC_X\",\"value\":\"Exception 1\\nx.\","
        "\"thread_id\":1,\"mechanism\":{\"meta\":{\"mach_exception\":{\"exception\":1,\"code\":1}},"
        "\"data\":{\"crash_info_messages\":[\"m\"]}},\"stacktrace\":{\"registers\":{\"pc\":1},"
        "\"frames\":[{\"instruction_addr\":\"0x1\",\"function\":\"f\",\"image_addr\":16,"
        "\"package\":\"/p\",\"vars\":1}]}}],\"threads\":[{\"id\":1,\"name\":\"n\",\"main\":true}],"
        "\"debug_meta\":{\"images\":[{\"image_addr\":1,\"major_version\":1,\"debug_id\":\"?\"},"
        "{\"type\":\"proguard\"}]}}\n{\"type\":\"other\"}\n";
    enum fz_code code = FZ_E_NO_MEMORY;
    int64_t n = 0;
    (void)state;
    for (; code != FZ_OK && n < 1000; n++) {
        struct fz_arena small;
        struct report report;
        struct fz_error err = {.code = FZ_OK};
        fz_arena_init(&small, limits.report_memory);
        small.fail_after = n;
        code = ingest_parse(fz_span_cstr(body), &limits, &small, &report, &err);
        if (code != FZ_OK)
            assert_int_equal(code, FZ_E_NO_MEMORY);
        fz_arena_deinit(&small);
    }
    assert_in_range(n, 30, 999);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_detect, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_check, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_adjust, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_adjusted_by_client, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_names_of_both_stacks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_current_thread, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_limits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_kinds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_release, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_attachments_lie_in_the_body, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_dump_beside_event, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_words_of_users, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_out_of_memory, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
