#include "tests/unit/ingest_case.h"

#include <stdio.h>

#include "base/buffer.h"
#include "base/time.h"

static struct report
parse(const char *text)
{
    return parse_as(fz_span_cstr(text), "framezero");
}

static void
test_full(void **state)
{
    (void)state;
    struct report r = parse(
        "{\"framezero\":1,\"id\":\"8c1f\",\"timestamp\":\"2026-11-20T10:11:12.345Z\","
        "\"app\":{\"id\":\"com.acme.shop\",\"name\":\"Shop\",\"version\":\"4.2\",\"build\":4201},"
        "\"os\":{\"name\":\"iOS\",\"version\":18.1,\"build\":\"22B83\"},"
        "\"device\":{\"model\":\"iPhone15,2\"},\"arch\":\"arm64\","
        "\"crash\":{\"thread\":7,\"signal\":\"SIGSEGV\",\"mach\":\"EXC_BAD_ACCESS\","
        "\"code\":\"KERN_INVALID_ADDRESS\",\"address\":\"0x10\",\"exception\":\"NSRangeException\","
        "\"reason\":\"index 7 beyond bounds\"},"
        "\"threads\":[{\"index\":3},{\"index\":7,\"name\":\"main\",\"queue\":\"q\","
        "\"registers\":{\"pc\":\"0x1045f8a10\",\"x8\":18446744073709551615},"
        "\"frames\":[\"0x1045f8a10\",{\"address\":4368354048,\"adjusted\":true,"
        "\"function\":\"f\",\"file\":\"a.c\",\"line\":12}],"
        "\"stack\":{\"address\":\"0x16f0ffa60\",\"bytes\":\"AAECAw==\"}}],"
        "\"memory\":[{\"address\":10,\"bytes\":\"//8=\"}],"
        "\"images\":[{\"uuid\":\"4c4c445b-5555-3144-a129-88beb9d5eb60\",\"name\":\"Shop\","
        "\"path\":\"/a/Shop.app/Shop\",\"arch\":\"arm64\",\"address\":\"0x1045f0000\","
        "\"size\":262144}],\"user\": { \"id\" : \"a b\" },\"tags\":{\"channel\":\"beta\"},"
        "\"breadcrumbs\":[ 1.50 ],\"colour\":\"red\",\"n\":[1, 2]}");
    assert_string_equal(r.format, "framezero");
    assert_string_equal(r.id, "8c1f");
    char when[FZ_TIME_TEXT];
    fz_time_format(r.timestamp_ms, when);
    assert_string_equal(when, "2026-11-20T10:11:12.345Z");
    assert_string_equal(r.app_id, "com.acme.shop");
    assert_string_equal(r.app_build, "4201");
    assert_string_equal(r.os_version, "18.1");
    assert_string_equal(r.device_model, "iPhone15,2");
    assert_int_equal(r.crash.thread, 7);
    assert_true(r.crash.has_address);
    assert_int_equal(r.crash.address, 0x10);
    assert_string_equal(r.crash.reason, "index 7 beyond bounds");
    assert_int_equal(r.n_threads, 2);
    assert_false(r.threads[0].crashed);
    const struct report_thread *thread = &r.threads[1];
    assert_true(thread->crashed);
    assert_ptr_equal(report_crashed_thread(&r), thread);
    assert_string_equal(thread->queue, "q");
    assert_int_equal(thread->n_registers, 2);
    assert_int_equal(thread->registers[1].number, 8);
    assert_true(thread->registers[1].value == UINT64_MAX);
    assert_int_equal(thread->n_frames, 2);
    assert_int_equal(thread->frames[0].addr, 0x1045f8a10);
    assert_int_equal(thread->frames[0].adjust, REPORT_ADJUST_AUTO);
    assert_int_equal(thread->frames[0].image, -1);
    assert_int_equal(thread->frames[1].adjust, REPORT_ADJUST_EXACT);
    assert_string_equal(thread->frames[1].client[0].function, "f");
    assert_int_equal(thread->frames[1].client[0].line, 12);
    assert_int_equal(thread->stack.addr, 0x16f0ffa60);
    assert_int_equal(thread->stack.bytes.len, 4);
    assert_memory_equal(thread->stack.bytes.data, "\0\1\2\3", 4);
    assert_int_equal(r.n_memory, 1);
    assert_memory_equal(r.memory[0].bytes.data, "\xff\xff", 2);
    assert_int_equal(r.n_images, 1);
    assert_true(r.images[0].has_uuid);
    assert_int_equal(r.images[0].size, 262144);
    assert_string_equal(r.user_json, "{\"id\":\"a b\"}");
    assert_string_equal(r.breadcrumbs_json, "[1.50]");
    assert_string_equal(r.extra_json, "{\"colour\":\"red\",\"n\":[1,2]}");
    assert_int_equal(r.n_notes, 0);
}

/* What the client of this project sends beyond the common members (client/). */
static void
test_capture(void **state)
{
    (void)state;
    struct report r = parse(
        "{\"framezero\":1,\"run_id\":\"4c4c\",\"session_id\":\"s\","
        "\"started\":\"2026-11-20T10:11:12.345Z\",\"arch\":\"arm64\","
        "\"crash\":{\"thread\":0,\"codes\":[\"0x1\",\"x\",16],\"hang_ms\":4100,"
        "\"throw\":[\"0x1000\",\"0x2000\"],\"odd\":7,\"exit_reason\":{\"namespace\":10,"
        "\"code\":\"0x8badf00d\",\"text\":\"scene-update watchdog\"}},"
        "\"threads\":[{\"crashed\":true,\"frames\":[],\"frames_truncated\":true,"
        "\"registers\":{\"fp\":\"0x10\",\"v8\":\"0x000000000000000a3ff0000000000000\","
        "\"d9\":\"0x4000000000000000\",\"s10\":1065353216},"
        "\"stack\":{\"address\":\"0x10\",\"bytes\":\"AA==\",\"truncated\":true}}],"
        "\"memory\":[{\"address\":\"0x20\",\"why\":\"register\",\"bytes\":\"AQ==\"}],"
        "\"images\":[],\"capture\":{\"client\":\"framezero 1.0\",\"way\":\"corpse\","
        "\"privacy\":\"values\",\"handler_crashed\":true,\"truncated\":[\"memory\",7,\"data\"]}}");
    assert_string_equal(r.run_id, "4c4c");
    assert_string_equal(r.session_id, "s");
    assert_int_equal(r.process.launched_ms, 1795169472345);
    assert_string_equal(r.kind, "hang");
    assert_string_equal(r.crash.termination, "SPRINGBOARD 0x8badf00d scene-update watchdog");
    assert_int_equal(r.crash.n_mach_codes, 3);
    assert_int_equal(r.crash.mach_codes[1], 0);
    assert_int_equal(r.crash.mach_codes[2], 16);
    assert_int_equal(r.n_exception_frames, 2);
    assert_int_equal(r.exception_frames[1].addr, 0x2000);
    assert_string_equal(r.extra_json, "{\"crash\":{\"odd\":7}}");
    const struct report_thread *thread = &r.threads[0];
    assert_true(thread->frames_truncated && thread->stack.truncated);
    assert_int_equal(thread->n_registers, 1);
    assert_int_equal(thread->registers[0].number, FZ_ARM64_FP);
    assert_int_equal(thread->n_vectors, 3);
    assert_int_equal(thread->vectors[0].index, 8);
    assert_int_equal(thread->vectors[0].size, 16);
    assert_memory_equal(thread->vectors[0].bytes, "\0\0\0\0\0\0\xf0\x3f\x0a", 9);
    assert_int_equal(thread->vectors[1].size, 8);
    assert_int_equal(thread->vectors[2].size, 4);
    assert_memory_equal(thread->vectors[2].bytes, "\0\0\x80\x3f", 4);
    assert_string_equal(r.memory[0].why, "register");
    assert_string_equal(r.capture.client, "framezero 1.0");
    assert_string_equal(r.capture.way, "corpse");
    assert_string_equal(r.capture.privacy, "values");
    assert_true(r.capture.handler_crashed);
    assert_int_equal(r.capture.n_truncated, 2);
    assert_string_equal(r.capture.truncated[1], "data");
    assert_int_equal(r.n_notes, 0);
}

/* Why the kernel ended the process, in Apple's words. */
static void
test_exit_reasons(void **state)
{
    (void)state;
    static const struct {
        const char *reason, *want;
    } cases[] = {
        {"{\"namespace\":2,\"code\":6}", "SIGNAL 6"},
        {"{\"namespace\":1,\"code\":7,\"text\":\"highwater\"}", "JETSAM 7 highwater"},
        {"{\"namespace\":99,\"code\":1}", "NAMESPACE 99 1"},
        {"{\"namespace\":\"DYLD\",\"code\":4}", "DYLD 4"},
        {"{\"code\":1}", "exit reason 0x1"},
        {"{\"namespace\":2}", NULL},
        {"{}", NULL},
        {"[]", NULL},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        char text[256];
        snprintf(text, sizeof(text),
                 "{\"addresses\":[1],\"images\":[],\"kind\":\"memory\",\"crash\":{"
                 "\"exit_reason\":%s}}",
                 cases[i].reason);
        struct report r = parse(text);
        if (cases[i].want)
            assert_string_equal(r.crash.termination, cases[i].want);
        else
            assert_null(r.crash.termination);
        assert_string_equal(r.kind, "memory");
    }
}

static void
test_shortest(void **state)
{
    (void)state;
    struct report r = parse("{\"framezero\":1,\"addresses\":[\"0x10\",32,\"48\"],\"images\":["
                            "{\"uuid\":\"4C4C445B55553144A12988BEB9D5EB600\",\"path\":\"/b/Demo\","
                            "\"arch\":\"arm64e\",\"address\":16}]}");
    assert_int_equal(r.n_threads, 1);
    assert_true(r.threads[0].crashed);
    assert_int_equal(r.threads[0].n_frames, 3);
    assert_int_equal(r.threads[0].frames[2].addr, 48);
    assert_string_equal(r.images[0].name, "Demo");
    assert_true(r.images[0].has_uuid);
    assert_string_equal(r.arch, "arm64e");
    assert_null(r.user_json);
    assert_null(r.extra_json);
    assert_int_equal(r.n_notes, 0);
    /* All zeros is not a UUID. */
    r = parse("{\"addresses\":[],\"images\":[{\"address\":1,"
              "\"uuid\":\"00000000-0000-0000-0000-000000000000\"}]}");
    assert_false(r.images[0].has_uuid);
    assert_int_equal(r.n_notes, 0);
}

#define IMAGES ",\"images\":[]"

/* One odd thing each: the report is kept, and a note names the place. */
static const struct {
    const char *in, *note;
} odd[] = {
    {"{\"addresses\":[\"zz\"]" IMAGES "}", "addresses[0]: not an address"},
    {"{\"addresses\":[1,null]" IMAGES "}", "addresses[1]: not an address"},
    {"{\"addresses\":[1,{}]" IMAGES "}", "addresses[1]: not an address"},
    {"{\"addresses\":[1.5]" IMAGES "}", "addresses[0]: not an address"},
    {"{\"addresses\":[\"0x10000000000000000\"]" IMAGES "}", "addresses[0]: not an address"},
    {"{\"addresses\":[1]}", "images: missing, so no address can be named"},
    {"{\"addresses\":[1],\"images\":{}}", "images: not an array"},
    {"{\"framezero\":2,\"addresses\":[1]" IMAGES "}", "framezero: version 2, read as version 1"},
    {"{\"framezero\":\"x\",\"addresses\":[1]" IMAGES "}", "framezero: not a number"},
    {"{\"threads\":[],\"addresses\":[1]" IMAGES "}", "addresses: not used, there are threads"},
    {"{\"addresses\":[1],\"app\":\"x\"" IMAGES "}", "app: not an object"},
    {"{\"addresses\":[1],\"app\":{\"name\":[]}" IMAGES "}", "app.name: not a text"},
    {"{\"addresses\":[1],\"arch\":true" IMAGES "}", "arch: not a text"},
    {"{\"addresses\":[1],\"timestamp\":\"yesterday\"" IMAGES "}", "timestamp: not a time"},
    {"{\"addresses\":[1],\"timestamp\":-5" IMAGES "}", "timestamp: not a time"},
    {"{\"addresses\":[1],\"timestamp\":1e300" IMAGES "}", "timestamp: not a time"},
    {"{\"addresses\":[1],\"crash\":[]" IMAGES "}", "crash: not an object"},
    {"{\"addresses\":[1],\"crash\":{\"thread\":\"x\"}" IMAGES "}", "crash.thread: not a number"},
    {"{\"addresses\":[1],\"crash\":{\"address\":\"x\"}" IMAGES "}",
     "crash.address: not an address or number"},
    {"{\"threads\":[7]" IMAGES "}", "threads[0]: not an object, left out"},
    {"{\"threads\":[{\"frames\":{}}]" IMAGES "}", "threads[0].frames: not an array"},
    {"{\"threads\":[{\"frames\":[1,2,3,\"?\"]}]" IMAGES "}",
     "threads[0].frames[3]: not an address"},
    {"{\"threads\":[{\"frames\":[{\"address\":1,\"adjusted\":\"yes\"}]}]" IMAGES "}",
     "threads[0].frames[0].adjusted: neither true nor false"},
    {"{\"threads\":[{\"index\":\"a\"}]" IMAGES "}", "threads[0].index: not a number"},
    {"{\"threads\":[{\"crashed\":1}]" IMAGES "}", "threads[0].crashed: neither true nor false"},
    {"{\"threads\":[{},{\"registers\":[]}]" IMAGES "}", "threads[1].registers: not an object"},
    {"{\"threads\":[{\"registers\":{\"x0\":\"0x1ffffffffffffffff\"}}]" IMAGES "}",
     "threads[0].registers.x0: not a register's value"},
    {"{\"threads\":[{\"stack\":{\"address\":1}}]" IMAGES "}",
     "threads[0].stack: no address or no bytes, left out"},
    {"{\"threads\":[{\"stack\":{\"address\":1,\"bytes\":\"AA*A\"}}]" IMAGES "}",
     "threads[0].stack: base64: byte 0x2a at 2 is not base64, left out"},
    {"{\"addresses\":[1],\"memory\":[{\"address\":\"x\",\"bytes\":\"AAAA\"}]" IMAGES "}",
     "memory[0].address: not an address or number"},
    {"{\"addresses\":[1],\"memory\":7" IMAGES "}", "memory: not an array"},
    {"{\"addresses\":[1],\"images\":[{\"name\":\"a\"}]}", "images[0]: no address, left out"},
    {"{\"addresses\":[1],\"images\":[\"a\"]}", "images[0]: no address, left out"},
    {"{\"addresses\":[1],\"images\":[{\"address\":1}]}", "images[0].uuid: missing"},
    {"{\"addresses\":[1],\"images\":[{\"address\":1,\"uuid\":\"4c4c\"}]}",
     "images[0].uuid: not a UUID"},
    {"{\"addresses\":[1],\"images\":[{\"address\":2,\"size\":18446744073709551615,"
     "\"uuid\":\"00000000000000000000000000000000\"}]}",
     "images[0].size: reaches beyond 2^64"},
    {"{\"addresses\":[1],\"tags\":{\"a\":\"\xff\"}" IMAGES "}",
     "bytes and escapes that are not Unicode became U+FFFD: 1, the first at byte 30"},
};

static void
test_odd(void **state)
{
    (void)state;
    for (size_t i = 0; i < FZ_ARRAY_LEN(odd); i++) {
        struct report r = parse(odd[i].in);
        if (r.n_notes == 0 || strcmp(r.notes[0], odd[i].note) != 0)
            fail_msg("%s: %s", odd[i].in, r.n_notes ? r.notes[0] : "no note");
    }
}

/* null is absent, and no reason for a note. */
static void
test_nulls(void **state)
{
    (void)state;
    struct report r = parse(
        "{\"framezero\":null,\"id\":null,\"timestamp\":null,\"app\":null,\"os\":{\"name\":null},"
        "\"crash\":{\"thread\":null,\"address\":null},\"threads\":[{\"index\":null,\"name\":null,"
        "\"registers\":null,\"frames\":null,\"stack\":null,\"crashed\":null}],\"memory\":null,"
        "\"images\":[],\"user\":null,\"tags\":null,\"breadcrumbs\":null,\"arch\":\"\"}");
    assert_int_equal(r.n_notes, 0);
    assert_null(r.user_json);
    assert_null(r.arch);
    assert_int_equal(r.crash.thread, -1);
}

/* A frame after one that was left out is still a return address. */
static void
test_frame_left_out(void **state)
{
    (void)state;
    struct report r = parse("{\"addresses\":[\"?\",32,64]" IMAGES "}");
    assert_int_equal(r.threads[0].n_frames, 2);
    assert_int_equal(r.threads[0].frames[0].addr, 32);
    assert_int_equal(r.threads[0].frames[0].adjust, REPORT_ADJUST_RETURN);
    assert_int_equal(r.threads[0].frames[1].adjust, REPORT_ADJUST_AUTO);
}

static void
test_times(void **state)
{
    (void)state;
    assert_true(parse("{\"addresses\":[],\"timestamp\":1767225600" IMAGES "}").timestamp_ms ==
                1767225600000);
    assert_true(parse("{\"addresses\":[],\"timestamp\":1767225600.5" IMAGES "}").timestamp_ms ==
                1767225600500);
    assert_true(parse("{\"addresses\":[],\"timestamp\":1767225600123" IMAGES "}").timestamp_ms ==
                1767225600123);
    assert_true(
        parse("{\"addresses\":[],\"timestamp\":\"2026-01-01 00:00:00\"" IMAGES "}").timestamp_ms ==
        1767225600000);
}

static void
test_limits(void **state)
{
    (void)state;
    limits.threads = 3;
    limits.frames = 2;
    limits.images = 1;
    limits.memory_bytes = 6;
    struct report r = parse(
        "{\"threads\":[{\"frames\":[1,2,3,4,5]},{},{},{},{\"crashed\":true,\"name\":\"c\"},{}],"
        "\"images\":[{\"address\":1,\"uuid\":\"4c4c445b55553144a12988beb9d5eb60\"},{},{}],"
        "\"memory\":[{\"address\":1,\"bytes\":\"AAECAwQFBgcICQ==\"}]}");
    assert_int_equal(r.threads[0].n_frames, 2);
    assert_int_equal(r.threads[0].n_frames_cut, 3);
    /* The crashed thread takes the last place. */
    assert_int_equal(r.n_threads, 3);
    assert_int_equal(r.threads[2].index, 4);
    assert_string_equal(r.threads[2].name, "c");
    assert_int_equal(r.crash.thread, 4);
    assert_int_equal(r.n_images, 1);
    assert_int_equal(r.memory[0].bytes.len, 6);
    assert_true(r.memory[0].truncated);
    static const char *const notes[] = {
        "threads: 6, of which 3 are kept", "threads[0].frames: 5, of which 2 are kept",
        "images: 3, of which 1 are kept", "memory[0]: cut, the report may carry 6 bytes of memory"};
    assert_int_equal(r.n_notes, FZ_ARRAY_LEN(notes));
    for (size_t i = 0; i < r.n_notes; i++)
        assert_string_equal(r.notes[i], notes[i]);
}

static void
test_crashed_thread(void **state)
{
    (void)state;
    struct report by_number = parse("{\"crash\":{\"thread\":1},\"threads\":[{},{},{}]" IMAGES "}");
    assert_true(by_number.threads[1].crashed);
    assert_false(by_number.threads[0].crashed);
    struct report by_mark = parse("{\"threads\":[{},{},{\"crashed\":true}]" IMAGES "}");
    assert_int_equal(by_mark.crash.thread, 2);
    struct report unknown = parse("{\"threads\":[{},{}]" IMAGES "}");
    assert_int_equal(unknown.crash.thread, -1);
    assert_false(unknown.threads[0].crashed);
}

static void
test_many_notes(void **state)
{
    (void)state;
    struct fz_buffer body;
    fz_buffer_init(&body, 0);
    fz_buffer_text(&body, "{\"addresses\":[\"?\"");
    for (size_t i = 0; i < 500; i++)
        fz_buffer_text(&body, ",\"?\"");
    fz_buffer_text(&body, "]" IMAGES "}");
    struct report r = parse(fz_buffer_cstr(&body));
    assert_int_equal(r.n_notes, REPORT_NOTES_MAX);
    assert_int_equal(r.threads[0].n_frames, 0);
    fz_buffer_deinit(&body);
}

/* A body that would make a huge tree is refused before the tree is built. */
static void
test_tree_limit(void **state)
{
    (void)state;
    struct fz_buffer body;
    fz_buffer_init(&body, 0);
    fz_buffer_text(&body, "{\"addresses\":[],\"user\":[[]");
    for (size_t i = 0; i < 2000000; i++)
        fz_buffer_text(&body, ",[]");
    fz_buffer_text(&body, "]}");
    struct report report;
    struct fz_error err;
    assert_int_equal(ingest_parse(fz_buffer_span(&body), &limits, &arena, &report, &err),
                     FZ_E_LIMIT);
    assert_non_null(strstr(err.text, "json: needs about "));
    fz_buffer_deinit(&body);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_full),           TEST(test_capture),    TEST(test_exit_reasons),
        TEST(test_shortest),       TEST(test_odd),        TEST(test_nulls),
        TEST(test_frame_left_out), TEST(test_times),      TEST(test_limits),
        TEST(test_crashed_thread), TEST(test_many_notes), TEST(test_tree_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
