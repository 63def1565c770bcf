/* Which frames of a report give a name, for which function and which range. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/attr.h"
#include "server/child/learned.h"
#include "server/protocol/protocol.h"
#include "server/resolve/resolve.h"

enum { APP = 0x14000000, SYSTEM = 0x50000000, OTHER = 0x60000000, SIZE = 0x1000000 };

/* There are no symbol files. */
static enum fz_code
find(void *user FZ_UNUSED, const struct report_image *image FZ_UNUSED, unsigned rank FZ_UNUSED,
     struct resolve_found *ret FZ_UNUSED, struct fz_error *err)
{
    return fz_fail(err, FZ_E_NOT_FOUND, "none");
}

struct names {
    struct proto_learned *list;
    size_t n;
};

static struct names
collect(struct report_frame *frames, size_t n, const char *arch, const char *path,
        struct fz_arena *arena)
{
    struct report_image images[] = {
        {.uuid = {{1}}, .has_uuid = true, .path = "/x/Shop.app/Shop", .addr = APP, .size = SIZE},
        {.uuid = {{3}}, .has_uuid = true, .path = path, .addr = SYSTEM, .size = SIZE},
        {.uuid = {{2}}, .has_uuid = true, .path = "/usr/lib/a.dylib", .addr = OTHER},
    };
    struct report_thread thread = {.frames = frames, .n_frames = n};
    struct report report = {.arch = arch,
                            .threads = &thread,
                            .n_threads = 1,
                            .images = images,
                            .n_images = FZ_ARRAY_LEN(images)};
    struct names names;
    struct fz_error err;
    assert_int_equal(resolve_report(&report, find, NULL, NULL, arena, &err), FZ_OK);
    child_learned_collect(&report, arena, &names.list, &names.n);
    return names;
}

static const struct frame_case {
    const char *name;
    const char *arch, *path; /* of the image at SYSTEM; NULL = /usr/lib/libc.dylib */
    uint64_t addr, start;
    enum report_adjust adjust;
    const char *function;
    int want; /* -1: no name */
    uint32_t want_reach;
} frame_cases[] = {
    {"crash frame", "arm64", NULL, SYSTEM + 0x110, SYSTEM + 0x100, REPORT_ADJUST_EXACT, "f", 0x100,
     0x10},
    {"return address", "arm64", NULL, SYSTEM + 0x110, SYSTEM + 0x100, REPORT_ADJUST_RETURN, "f",
     0x100, 0xf},
    {"at its start", "arm64", NULL, SYSTEM + 0x100, SYSTEM + 0x100, REPORT_ADJUST_EXACT, "f", 0x100,
     0},
    {"the call was in the function before", "arm64", NULL, SYSTEM + 0x100, SYSTEM + 0x100,
     REPORT_ADJUST_RETURN, "f", -1, 0},
    {"after its start", "arm64", NULL, SYSTEM + 0x100, SYSTEM + 0x110, REPORT_ADJUST_EXACT, "f", -1,
     0},
    {"signed pointer", "arm64e", NULL, UINT64_C(0x0011800000000000) | (SYSTEM + 0x110),
     UINT64_C(0x0011800000000000) | (SYSTEM + 0x100), REPORT_ADJUST_RETURN, "f", 0x100, 0xf},
    {"signed pointer, plain start", "arm64e", NULL, UINT64_C(0x0011800000000000) | (SYSTEM + 0x110),
     SYSTEM + 0x100, REPORT_ADJUST_RETURN, "f", -1, 0},
    {"Thumb", "armv7", NULL, SYSTEM + 0x111, SYSTEM + 0x100, REPORT_ADJUST_RETURN, "f", 0x100, 0xf},
    {"Thumb, in both", "armv7", NULL, SYSTEM + 0x111, SYSTEM + 0x101, REPORT_ADJUST_EXACT, "f",
     0x100, 0x10},
    {"as far as a name goes", "arm64", NULL, SYSTEM + 0x100 + PROTO_REACH_MAX, SYSTEM + 0x100,
     REPORT_ADJUST_EXACT, "f", 0x100, PROTO_REACH_MAX},
    {"too far", "arm64", NULL, SYSTEM + 0x101 + PROTO_REACH_MAX, SYSTEM + 0x100,
     REPORT_ADJUST_EXACT, "f", -1, 0},
    {"the image's header", "arm64", NULL, SYSTEM + 0x110, SYSTEM, REPORT_ADJUST_EXACT, "f", -1, 0},
    {"before the image", "arm64", NULL, SYSTEM + 0x110, SYSTEM - 0x10, REPORT_ADJUST_EXACT, "f", -1,
     0},
    {"the app's", "arm64", NULL, APP + 0x110, APP + 0x100, REPORT_ADJUST_EXACT, "f", -1, 0},
    {"in no image", "arm64", NULL, 0x110, 0x100, REPORT_ADJUST_EXACT, "f", -1, 0},
    {"redacted", "arm64", NULL, SYSTEM + 0x110, SYSTEM + 0x100, REPORT_ADJUST_EXACT, "<redacted>",
     -1, 0},
    {"folded", "arm64", NULL, SYSTEM + 0x110, SYSTEM + 0x100, REPORT_ADJUST_EXACT,
     "<deduplicated_symbol>", -1, 0},
    {"a Rust name", "arm64", NULL, SYSTEM + 0x110, SYSTEM + 0x100, REPORT_ADJUST_EXACT,
     "<T as core::fmt::Debug>::fmt", 0x100, 0x10},
    {"an address", "arm64", NULL, SYSTEM + 0x110, SYSTEM + 0x100, REPORT_ADJUST_EXACT, "0x50000100",
     -1, 0},
    {"unknown", "arm64", NULL, SYSTEM + 0x110, SYSTEM + 0x100, REPORT_ADJUST_EXACT, "???", -1, 0},
    {"made up by lldb", "arm64", NULL, SYSTEM + 0x110, SYSTEM + 0x100, REPORT_ADJUST_EXACT,
     "___lldb_unnamed_symbol12", -1, 0},
    {"header's name", "arm64", NULL, SYSTEM + 0x110, SYSTEM + 0x100, REPORT_ADJUST_EXACT,
     "_mh_execute_header", -1, 0},
    {"system framework", "arm64", "/System/Library/Frameworks/UIKit.framework/UIKit",
     SYSTEM + 0x110, SYSTEM + 0x100, REPORT_ADJUST_EXACT, "f", 0x100, 0x10},
    {"simulator", "arm64",
     "/Library/Developer/CoreSimulator/Volumes/iOS_22A/Library/Developer/CoreSimulator/Profiles/"
     "Runtimes/iOS 18.0.simruntime/Contents/Resources/RuntimeRoot/usr/lib/libobjc.A.dylib",
     SYSTEM + 0x110, SYSTEM + 0x100, REPORT_ADJUST_EXACT, "f", 0x100, 0x10},
    {"looks like the system's", "arm64", "/Users/me/usr/lib/libmine.dylib", SYSTEM + 0x110,
     SYSTEM + 0x100, REPORT_ADJUST_EXACT, "f", -1, 0},
    {"installed by people", "arm64", "/usr/local/lib/libmine.dylib", SYSTEM + 0x110, SYSTEM + 0x100,
     REPORT_ADJUST_EXACT, "f", -1, 0},
    {"no path", "arm64", "", SYSTEM + 0x110, SYSTEM + 0x100, REPORT_ADJUST_EXACT, "f", -1, 0},
};

static void
test_frames(void **state FZ_UNUSED)
{
    for (size_t i = 0; i < FZ_ARRAY_LEN(frame_cases); i++) {
        const struct frame_case *c = &frame_cases[i];
        struct fz_arena arena;
        fz_arena_init(&arena, 8 * 1024 * 1024);
        struct report_symbol client = {.function = c->function, .source = "client"};
        struct report_frame frame = {.addr = c->addr,
                                     .image = -1,
                                     .adjust = c->adjust,
                                     .client = &client,
                                     .n_client = 1,
                                     .has_client_start = true,
                                     .client_start = c->start};
        struct names names =
            collect(&frame, 1, c->arch, c->path ? c->path : "/usr/lib/libc.dylib", &arena);
        if (names.n != (c->want >= 0 ? 1U : 0U))
            fail_msg("%s: %zu names", c->name, names.n);
        if (names.n &&
            (names.list[0].start != (uint32_t)c->want || names.list[0].reach != c->want_reach ||
             names.list[0].uuid.bytes[0] != 3 || strcmp(names.list[0].name, c->function) != 0))
            fail_msg("%s: start %#x reach %#x", c->name, (unsigned)names.list[0].start,
                     (unsigned)names.list[0].reach);
        fz_arena_deinit(&arena);
    }
}

static struct report_frame
named(uint64_t addr, uint64_t start, struct report_symbol *client, size_t n)
{
    return (struct report_frame){.addr = addr,
                                 .image = -1,
                                 .adjust = REPORT_ADJUST_EXACT,
                                 .client = client,
                                 .n_client = n,
                                 .has_client_start = true,
                                 .client_start = start};
}

/* Sorted, each function once: the first name, the largest reach. */
static void
test_order(void **state FZ_UNUSED)
{
    struct fz_arena arena;
    fz_arena_init(&arena, 8 * 1024 * 1024);
    struct report_symbol first = {.function = "first", .source = "client"},
                         second = {.function = "second", .source = "client"},
                         both[] = {{.function = "inner", .source = "client", .inlined = true},
                                   {.function = "outer", .source = "client"}},
                         only_inlined = {.function = "x", .source = "client", .inlined = true};
    struct report_frame frames[] = {
        named(SYSTEM + 0x210, SYSTEM + 0x200, &first, 1),
        named(SYSTEM + 0x240, SYSTEM + 0x200, &second, 1),
        named(SYSTEM + 0x220, SYSTEM + 0x200, &first, 1),
        named(SYSTEM + 0x110, SYSTEM + 0x100, both, 2),
        named(OTHER + 0x910, OTHER + 0x900, &second, 1),
        named(SYSTEM + 0x310, SYSTEM + 0x300, &only_inlined, 1),
        {.addr = SYSTEM + 0x410, .image = -1, .client = &first, .n_client = 1},
    };
    struct names names =
        collect(frames, FZ_ARRAY_LEN(frames), "arm64", "/usr/lib/libc.dylib", &arena);
    assert_int_equal(names.n, 3);
    assert_int_equal(names.list[0].uuid.bytes[0], 2);
    assert_int_equal(names.list[0].start, 0x900);
    assert_int_equal(names.list[1].start, 0x100);
    assert_string_equal(names.list[1].name, "outer");
    assert_int_equal(names.list[2].start, 0x200);
    assert_int_equal(names.list[2].reach, 0x40);
    assert_string_equal(names.list[2].name, "first");
    fz_arena_deinit(&arena);
}

/* A report gives at most as many names as its worker accepts; out of memory is not a failure. */
static void
test_limits(void **state FZ_UNUSED)
{
    enum { N = 5 * PROTO_LEARNED_MAX };
    struct fz_arena arena;
    static struct report_frame frames[N];
    struct report_symbol client = {.function = "f", .source = "client"};
    for (size_t i = 0; i < N; i++)
        frames[i] = named(SYSTEM + 0x100 + 16 * i, SYSTEM + 0x100 + 16 * i, &client, 1);
    fz_arena_init(&arena, 64 * 1024 * 1024);
    struct names names = collect(frames, N, "arm64", "/usr/lib/libc.dylib", &arena);
    assert_int_equal(names.n, PROTO_LEARNED_MAX);
    assert_int_equal(names.list[PROTO_LEARNED_MAX - 1].start, 0x100 + 16 * (PROTO_LEARNED_MAX - 1));
    fz_arena_deinit(&arena);

    struct report_thread thread = {.frames = frames, .n_frames = 100};
    struct report report = {.threads = &thread, .n_threads = 1};
    struct fz_arena none;
    fz_arena_init(&none, 1);
    child_learned_collect(&report, &none, &names.list, &names.n);
    assert_int_equal(names.n, 0);
    fz_arena_deinit(&none);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
