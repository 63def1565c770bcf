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
static struct fz_buffer input; /* a golden case, or one made by make_dump() */

static void
read_case(const char *name)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/tests/golden/minidump/%s/input.dmp", FZ_TOP, name);
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
    read_case("crashpad_mac");
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

static void
test_memory(void **state)
{
    (void)state;
    struct report r = parse();
    const struct report_thread *crashed = report_crashed_thread(&r);
    assert_int_equal(crashed->index, 771);
    assert_int_equal(crashed->stack.addr, 0x16fdff000);
    assert_int_equal(crashed->stack.bytes.len, 16 + 3 * 16);
    assert_int_equal(r.threads[0].stack.bytes.len, 32);
    /* The stack's own region in the memory list has other bytes here, so it is kept as well. */
    assert_int_equal(r.n_memory, 2);
    assert_int_equal(r.memory[1].addr, 0x600000000000);
    assert_memory_equal(r.memory[1].bytes.data, "heap bytes", 10);
    assert_int_equal(r.n_notes, 0);
}

/* Crashpad's build string in the dump's misc info: 260 UTF-16 units at byte 232 of the stream. */
static void
set_build(const char *text)
{
    enum { ENTRY = 12, MISC_INFO = 15, BUILD_AT = 232, UNITS = 260 };
    const uint8_t *head = (const uint8_t *)input.data;
    uint32_t n = head[8] | (uint32_t)head[9] << 8, at = head[12] | (uint32_t)head[13] << 8;
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *entry = head + at + (size_t)i * ENTRY;
        if (entry[0] != MISC_INFO)
            continue;
        uint32_t offset = entry[8] | (uint32_t)entry[9] << 8 | (uint32_t)entry[10] << 16;
        uint8_t *build = (uint8_t *)input.data + offset + BUILD_AT;
        memset(build, 0, (size_t)2 * UNITS);
        for (size_t k = 0; text[k] && k < UNITS; k++)
            build[2 * k] = (uint8_t)text[k];
        return;
    }
    fail_msg("the dump has no misc info");
}

/* Which of its words names the device. */
static void
test_model(void **state)
{
    (void)state;
    static const struct {
        const char *build, *model;
    } cases[] = {
        {"Mac OS X 10.15.7 (19H2); MacBookPro16,1 (Mac-E1008331FDC96864)", "MacBookPro16,1"},
        {"iOS 17.2 (21C62); Darwin 23.2.0 Darwin Kernel Version 23.2.0: Mon Nov 6 2023; "
         "root:xnu-10002.62.5~3/RELEASE_ARM64_T8120 arm64; iPhone15,2",
         "iPhone15,2"},
        {"macOS 14.2 (23C64) Darwin 23.2.0 Darwin Kernel Version 23.2.0: Wed 2023; "
         "root:xnu-10002.61.3~2/RELEASE_ARM64_T6000 arm64; Mac14,9 (J414sAP)",
         "Mac14,9"},
        {"iOS 16.0 (20A362); D73AP", "D73AP"},
        {"iOS 17.2 (21C62); Darwin 23.2.0", NULL},
        {"Darwin; iOS", NULL},
        {"MAP; 15,2; iPhone15,; iPhone,2; iPhone15,2x", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        set_build(cases[i].build);
        struct report r = parse();
        if (!r.device_model != !cases[i].model ||
            (r.device_model && strcmp(r.device_model, cases[i].model) != 0))
            fail_msg("%s: %s", cases[i].build, r.device_model ? r.device_model : "-");
    }
}

/* The first module is the process; what an annotation says of the app stays. */
static void
test_process(void **state)
{
    (void)state;
    struct report r = parse();
    assert_string_equal(r.process.name, "Shop");
    assert_string_equal(r.process.path, "/private/var/Shop.app/Shop");
    read_case("signal_ios");
    r = parse();
    assert_string_equal(r.app_name, "Shop");
    assert_string_equal(r.process.name, "Shop");
}

/* A thread without a stack gets it from the memory list, which then does not hold it twice. */
static void
test_stack_in_list(void **state)
{
    (void)state;
    read_case("breakpad_arm64_old");
    struct report r = parse();
    assert_int_equal(r.threads[0].stack.bytes.len, 8 + 2 * 16);
    assert_int_equal(r.n_memory, 0);
}

/* The crashed thread's stack first, then the rest, and the crashed thread whatever the limit. */
static void
test_limits(void **state)
{
    (void)state;
    limits.memory_bytes = 70;
    limits.threads = 1;
    limits.images = 1;
    struct report r = parse();
    assert_int_equal(r.n_threads, 1);
    assert_int_equal(r.threads[0].index, 771);
    assert_int_equal(r.threads[0].stack.bytes.len, 64);
    assert_int_equal(r.n_images, 1);
    assert_int_equal(r.n_memory, 1);
    assert_int_equal(r.memory[0].bytes.len, 1);
    assert_false(r.threads[0].stack.truncated || r.memory[0].truncated);
    limits.memory_bytes = 63;
    r = parse();
    assert_true(r.threads[0].stack.truncated);
    assert_int_equal(r.threads[0].stack.bytes.len, 63);
    assert_string_equal(r.notes[0], "images: 2, of which 1 are kept");
    assert_string_equal(r.notes[1], "threads: 2, of which 1 are kept");
}

static void
test_check(void **state)
{
    (void)state;
    const char *format;
    char id[FZ_UUID_TEXT];
    struct fz_error err;
    assert_int_equal(check_body(fz_buffer_span(&input), &limits, &format, id, &err), FZ_OK);
    assert_string_equal(format, "minidump");
    assert_string_equal(id, "5e1f2a2e0000400080000000000000aa");
}

static void
put32(size_t at, uint32_t value)
{
    for (unsigned i = 0; i < 4; i++)
        input.data[at + i] = (char)(value >> (8 * i));
}

static uint32_t
get32(size_t at)
{
    uint32_t value = 0;
    for (unsigned i = 0; i < 4; i++)
        value |= (uint32_t)(uint8_t)input.data[at + i] << (8 * i);
    return value;
}

/* Where a stream begins. */
static size_t
stream_at(uint32_t type)
{
    size_t directory = get32(12);
    for (uint32_t i = 0; i < get32(8); i++) {
        if (get32(directory + 12 * i) == type)
            return get32(directory + 12 * i + 8);
    }
    fail_msg("no stream %u", type);
    return 0;
}

static void
test_refused(void **state)
{
    (void)state;
    static const struct {
        uint32_t platform;
        const char *text;
    } cases[] = {
        {2, "minidump of Windows (platform 0x2): only those of macOS and iOS are supported; "
            "symbols of other systems are not Mach-O"},
        {0x8201, "minidump of Linux (platform 0x8201): only those of macOS and iOS are supported; "
                 "symbols of other systems are not Mach-O"},
        {0x8203,
         "minidump of Android (platform 0x8203): only those of macOS and iOS are supported; "
         "symbols of other systems are not Mach-O"},
        {77, "minidump of an unknown system (platform 0x4d): only those of macOS and iOS are "
             "supported; symbols of other systems are not Mach-O"},
    };
    const char *format;
    char id[FZ_UUID_TEXT];
    struct fz_error err;
    struct report report;
    size_t at = stream_at(7) + 20;
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        put32(at, cases[i].platform);
        struct fz_span body = fz_buffer_span(&input);
        assert_int_equal(check_body(body, &limits, &format, id, &err), FZ_E_UNSUPPORTED);
        assert_string_equal(err.text, cases[i].text);
        assert_int_equal(err.offset, at);
        assert_int_equal(ingest_parse(body, &limits, &arena, &report, &err), FZ_E_UNSUPPORTED);
    }
    put32(4, 0x1234);
    assert_int_equal(check_body(fz_buffer_span(&input), &limits, &format, id, &err),
                     FZ_E_MALFORMED);
    assert_string_equal(err.text,
                        "minidump: version 0x1234 of the format, only 0xa793 is supported");
    assert_int_equal(check_body(fz_span_make(input.data, 31), &limits, &format, id, &err),
                     FZ_E_MALFORMED);
    assert_string_equal(err.text, "minidump: cut off within its header of 32 bytes");
    put32(4, 0xa793);
    put32(12, 0x7fffffff);
    assert_int_equal(check_body(fz_buffer_span(&input), &limits, &format, id, &err),
                     FZ_E_MALFORMED);
    assert_int_equal(err.offset, 12);
}

/* The vectors of each processor's context, in a dump whose contexts are large enough for all. */
static void
test_vectors(void **state)
{
    (void)state;
    static const struct {
        const char *name, *dump;
        uint32_t cpu, flags_at, flags, without; /* the context's flags, and those without vectors */
        size_t at;                              /* of the vectors in the context */
        uint8_t n, size;
    } cases[] = {
        {"amd64", "crashpad_mac", 9, 48, 0x10000f, 0x100007, 416, 16, 16},
        {"x86", "crashpad_mac", 0, 0, 0x1003f, 0x1001f, 364, 8, 16},
        {"arm", "crashpad_mac", 5, 0, 0x40000006, 0x40000002, 80, 32, 8},
        {"arm64", "crashpad_mac", 12, 0, 0x400007, 0x400003, 272, 32, 16},
        {"arm64 of Breakpad", "crashpad_mac", 0x8003, 0, 0x80000006, 0x80000002, 284, 32, 16},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        read_case(cases[i].dump);
        size_t system = stream_at(7), list = stream_at(3), context = get32(list + 4 + 48 + 44);
        size_t last = context + cases[i].at + (size_t)(cases[i].n - 1) * cases[i].size;
        put32(system, (get32(system) & 0xffff0000) | cases[i].cpu);
        /* Zeros alone: Breakpad's writer did not fill it. */
        memset(input.data + context, 0, 1232);
        put32(context + cases[i].flags_at, cases[i].flags);
        struct report r = parse();
        assert_int_equal(report_crashed_thread(&r)->n_vectors, 0);
        put32(context + cases[i].at, 0x04030201);
        put32(last + cases[i].size - 4, 0x0d0c0b0a);
        r = parse();
        const struct report_thread *thread = report_crashed_thread(&r);
        if (thread->n_vectors != cases[i].n)
            fail_msg("%s: %zu vectors", cases[i].name, thread->n_vectors);
        for (uint8_t k = 0; k < cases[i].n; k++) {
            assert_int_equal(thread->vectors[k].index, k);
            assert_int_equal(thread->vectors[k].size, cases[i].size);
        }
        assert_memory_equal(thread->vectors[0].bytes, "\1\2\3\4", 5);
        assert_memory_equal(thread->vectors[cases[i].n - 1].bytes + cases[i].size - 4,
                            "\x0a\x0b\x0c\x0d", 4);
        put32(context + cases[i].flags_at, cases[i].without);
        r = parse();
        assert_int_equal(report_crashed_thread(&r)->n_vectors, 0);
        /* A context that ends before its vectors keeps its registers. */
        put32(context + cases[i].flags_at, cases[i].flags);
        put32(list + 4 + 48 + 40, (uint32_t)(last - context));
        put32(stream_at(6) + 160, (uint32_t)(last - context));
        r = parse();
        assert_int_equal(report_crashed_thread(&r)->n_vectors, 0);
        assert_true(report_crashed_thread(&r)->n_registers > 0);
    }
}

/* Compare the first thread's frames with addresses up to a 0: return addresses that the dump gives. */
static void
want_calls(const char *name, const uint64_t *want)
{
    struct report r = parse();
    const struct report_thread *thread = report_crashed_thread(&r);
    size_t n = 0;
    for (; want[n]; n++) {
        if (n >= thread->n_frames || thread->frames[n].addr != want[n])
            fail_msg("%s: frame %zu", name, n);
        assert_int_equal(thread->frames[n].trust, REPORT_TRUST_GIVEN);
        assert_int_equal(thread->frames[n].adjust,
                         n == 0 ? REPORT_ADJUST_RETURN : REPORT_ADJUST_AUTO);
    }
    if (thread->n_frames != n)
        fail_msg("%s: %zu frames", name, thread->n_frames);
    /* The list is not memory, and its registers are not values. */
    assert_int_equal(thread->stack.bytes.len, 0);
    assert_int_equal(thread->n_vectors, 0);
    assert_non_null(report_find_register(&r, thread, FZ_REGISTER_PC));
    assert_null(report_find_register(&r, thread, FZ_REGISTER_SP));
}

/* The list of an exception's return addresses, in place of a stack. */
static void
test_calls(void **state)
{
    (void)state;
    static const uint64_t whole[] = {0x1a0000300, 0x104004120, 0x104004030, 0x1a0000104, 0},
                          one[] = {0x1a0000300, 0},
                          no_lr[] = {0x1a0000300, 0x104004ff0, 0x104004030, 0x1a0000104, 0};
    read_case("nsexception_ios");
    size_t context = get32(stream_at(6) + 164), thread = stream_at(3) + 4;
    size_t stack = get32(thread + 36);
    want_calls("as it is", whole);
    /* A body that was stored without memory has no links. */
    put32(stack + 8, 0);
    want_calls("no links", whole);
    limits.frames = 2;
    assert_int_equal(parse().threads[0].n_frames, 2);
    assert_int_equal(parse().threads[0].n_frames_cut, 2);
    limits.frames = 1024;
    /* fp beyond all memory, and no lr. */
    put32(context + 8 + 8 * 29 + 4, 0xffffffff);
    put32(context + 8 + 8 * 30, 0);
    put32(context + 8 + 8 * 30 + 4, 0);
    want_calls("one call", one);
    /* x86_64: the second address is on the stack alone. */
    memset(input.data + context, 0, 400);
    put32(stream_at(7), (get32(stream_at(7)) & 0xffff0000) | 9);
    put32(context + 248, 0xa0000300);
    put32(context + 252, 1);
    put32(context + 160, 8);
    put32(stack, 0x04004ff0);
    put32(stack + 4, 1);
    want_calls("x86_64", no_lr);
    /* A thread that has its stack is none of this. */
    read_case("signal_ios");
    struct report r = parse();
    assert_int_equal(report_crashed_thread(&r)->n_frames, 0);
    assert_true(report_crashed_thread(&r)->stack.bytes.len > 0);
    assert_true(report_crashed_thread(&r)->n_registers > 30);
}

static void
test_every_cut(void **state)
{
    (void)state;
    static const char *const cases[] = {"crashpad_mac", "breakpad_arm64_old", "big_endian"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        read_case(cases[i]);
        for (size_t len = 0; len < input.len; len++) {
            struct fz_error err = {.text = ""};
            struct report r;
            struct fz_arena small;
            fz_arena_init(&small, limits.report_memory);
            enum fz_code code =
                ingest_parse(fz_span_make(input.data, len), &limits, &small, &r, &err);
            if (code != FZ_OK)
                assert_true(err.text[0] != '\0');
            fz_arena_deinit(&small);
        }
    }
}

static void
test_no_memory(void **state)
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
        cmocka_unit_test_setup_teardown(test_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_model, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_process, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_stack_in_list, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_limits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_check, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_vectors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_calls, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_every_cut, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_memory, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
