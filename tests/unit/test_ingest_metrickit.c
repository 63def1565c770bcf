#include "tests/unit/ingest_case.h"

#include "base/buffer.h"

#define UUID_APP "4C4C445B-5555-3144-A129-88BEB9D5EB60"
#define UUID_DYLD "8ACDB580-8AB7-38C0-A586-E667ADB1C11C"

static struct report
parse(struct fz_span text)
{
    return parse_as(text, "metrickit");
}

/* A payload with one diagnostic whose only stack is `root`. */
static struct report
parse_tree(const char *key, const char *root)
{
    char *text = fz_arena_printf(&arena,
                                 "{\"timeStampEnd\":\"2026-01-02 00:00:00\",\"%s\":[{"
                                 "\"callStackTree\":{\"callStackPerThread\":true,\"callStacks\":[{"
                                 "\"callStackRootFrames\":[%s]}]}}]}",
                                 key, root);
    return parse(fz_span_cstr(text));
}

static const char *
frame(const char *uuid, const char *name, uint64_t offset, uint64_t addr, const char *below)
{
    return fz_arena_printf(&arena,
                           "{\"binaryUUID\":\"%s\",\"binaryName\":\"%s\","
                           "\"offsetIntoBinaryTextSegment\":%llu,\"address\":%llu,\"sampleCount\":3"
                           "%s%s%s}",
                           uuid, name, (unsigned long long)offset, (unsigned long long)addr,
                           below ? ",\"subFrames\":[" : "", below ? below : "", below ? "]" : "");
}

/* A crash: the root is the newest frame and exact, in any order. */
static void
test_crash(void **state)
{
    (void)state;
    const char *oldest = frame(UUID_DYLD, "dyld", 0x28, 0x1a0000028, NULL);
    const char *newest = frame(UUID_APP, "Shop", 0x10, 0x104000010, oldest);
    struct report r = parse_tree("crashDiagnostics", newest);
    assert_null(r.kind);
    assert_int_equal(r.timestamp_ms, 1767312000000);
    assert_int_equal(r.n_threads, 1);
    assert_true(r.threads[0].crashed);
    assert_int_equal(r.threads[0].samples, 0);
    assert_int_equal(r.threads[0].n_frames, 2);
    assert_int_equal(r.threads[0].frames[0].addr, 0x104000010);
    assert_int_equal(r.threads[0].frames[0].adjust, REPORT_ADJUST_AUTO);
    assert_int_equal(r.threads[0].frames[1].addr, 0x1a0000028);
    assert_int_equal(r.n_images, 2);
    assert_string_equal(r.images[0].name, "Shop");
    assert_int_equal(r.images[0].addr, 0x104000000);
    assert_string_equal(r.app_name, "Shop");
    /* Xcode puts the code of a debug build into a library of the app. */
    r = parse_tree("crashDiagnostics", frame(UUID_APP, "Shop.debug.dylib", 0x10, 0x104000010,
                                             frame(UUID_DYLD, "dyld", 0x28, 0x1a0000028, NULL)));
    assert_string_equal(r.app_name, "Shop");
    assert_string_equal(r.images[0].name, "Shop.debug.dylib");
    /* Also when it looks as if the root were the oldest one. */
    r = parse_tree("crashDiagnostics", frame(UUID_DYLD, "dyld", 0x28, 0x1a0000028,
                                             frame(UUID_APP, "Shop", 0x10, 0x104000010, NULL)));
    assert_int_equal(r.threads[0].frames[0].addr, 0x1a0000028);
}

/* Samples: the end in dyld is the oldest; without dyld, the end that branches. */
static void
test_direction(void **state)
{
    (void)state;
    const char *app = frame(UUID_APP, "Shop", 0x10, 0x104000010, NULL);
    const char *start = frame(UUID_DYLD, "dyld", 0x28, 0x1a0000028, NULL);
    struct report r =
        parse_tree("hangDiagnostics", frame(UUID_DYLD, "dyld", 0x28, 0x1a0000028, app));
    assert_string_equal(r.kind, "hang");
    assert_int_equal(r.threads[0].frames[0].addr, 0x104000010);
    assert_int_equal(r.threads[0].samples, 3);
    assert_int_equal(r.threads[0].frames[1].samples, 3);
    r = parse_tree("hangDiagnostics", frame(UUID_APP, "Shop", 0x10, 0x104000010, start));
    assert_int_equal(r.threads[0].frames[0].addr, 0x104000010);
    const char *two =
        fz_arena_printf(&arena, "%s,%s", app, frame(UUID_APP, "Shop", 0x20, 0x104000020, NULL));
    r = parse_tree("cpuExceptionDiagnostics", frame(UUID_APP, "Shop", 0x30, 0x104000030, two));
    assert_int_equal(r.n_threads, 2);
    assert_int_equal(r.threads[0].frames[0].addr, 0x104000010);
    assert_int_equal(r.threads[1].frames[0].addr, 0x104000020);
    assert_int_equal(r.threads[1].frames[1].addr, 0x104000030);
    assert_false(r.threads[0].crashed);
}

/* iOS 14 wrote the image's address into the offset. */
static void
test_base_as_offset(void **state)
{
    (void)state;
    struct report r =
        parse_tree("crashDiagnostics", frame(UUID_APP, "Shop", 0x104000000, 0x104000010, NULL));
    assert_int_equal(r.images[0].addr, 0x104000000);
    assert_int_equal(r.threads[0].frames[0].image_offset, 0x10);
    /* A large offset that is not the address of a page stays an offset. */
    r = parse_tree("crashDiagnostics", frame(UUID_APP, "Shop", 0x104000004, 0x304000004, NULL));
    assert_int_equal(r.threads[0].frames[0].image_offset, 0x104000004);
}

/* Stacks as deep as the system writes them, and deeper than the limit. */
static void
test_depth(void **state)
{
    (void)state;
    const char *below = NULL;
    for (uint64_t i = 0; i < 600; i++)
        below = frame(UUID_APP, "Shop", i, 0x104000000 + i, below);
    limits.frames = 512;
    struct report r = parse_tree("crashDiagnostics", below);
    assert_int_equal(r.threads[0].n_frames, 512);
    assert_int_equal(r.threads[0].n_frames_cut, 88);
    assert_int_equal(r.threads[0].frames[0].addr, 0x104000000 + 599);
}

static void
test_split(void **state)
{
    (void)state;
    static const char body[] =
        "[{\"timeStampBegin\":\"a\",\"x\":1,\"crashDiagnostics\":[{\"n\": 1},{\"n\":2}],"
        "\"hangDiagnostics\":[{\"n\":3}]},{\"hangDiagnostics\":[{\"n\":4}]},7]";
    static const char *const want[] = {
        "{\"timeStampBegin\":\"a\",\"x\":1,\"crashDiagnostics\":[{\"n\": 1}]}",
        "{\"timeStampBegin\":\"a\",\"x\":1,\"crashDiagnostics\":[{\"n\":2}]}",
        "{\"timeStampBegin\":\"a\",\"x\":1,\"hangDiagnostics\":[{\"n\":3}]}",
        "{\"hangDiagnostics\":[{\"n\":4}]}",
    };
    struct ingest_item *items;
    struct fz_error err;
    size_t n, n_cut;
    assert_int_equal(ingest_split(fz_span_cstr(body), &limits, &arena, &items, &n, &n_cut, &err),
                     FZ_OK);
    assert_int_equal(n, 5);
    for (size_t i = 0; i < FZ_ARRAY_LEN(want); i++) {
        assert_int_equal(items[i].code, FZ_OK);
        assert_true(fz_span_is(items[i].body, want[i]));
    }
    assert_int_equal(items[4].code, FZ_E_UNSUPPORTED);
}

/* The stack that crashed keeps its place when others are cut. */
static void
test_limit(void **state)
{
    (void)state;
    static const char body[] =
        "{\"callStacks\":[{\"callStackRootFrames\":[{\"address\":16}]},"
        "{\"callStackRootFrames\":[{\"address\":32}]},"
        "{\"threadAttributed\":true,\"callStackRootFrames\":[{\"address\":48}]}]}";
    limits.threads = 2;
    struct report r = parse(fz_span_cstr(body));
    /* No image: no UUID is given. */
    assert_int_equal(r.n_images, 0);
    assert_int_equal(r.n_threads, 2);
    assert_int_equal(r.threads[1].index, 2);
    assert_true(r.threads[1].crashed);
    assert_int_equal(r.threads[1].frames[0].addr, 48);
    assert_string_equal(r.notes[0], "callStacks: 3 stacks, of which 2 are kept");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_crash, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_direction, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_base_as_offset, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_depth, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_split, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_limit, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
