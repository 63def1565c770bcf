#include "server/report/report.h"

#include <stdarg.h>
#include <stdlib.h>

#include <setjmp.h>

#include <cmocka.h>

static void
test_image_at(void **state)
{
    (void)state;
    /* Unsorted, overlapping (0 and 3), of unknown size (2 and 5), ending at 2^64. */
    struct report_image images[] = {
        {.addr = 0x5000, .size = 0x1000},
        {.addr = 0x1000, .size = 0x1000},
        {.addr = 0x3000},
        {.addr = 0x5800, .size = 0x1000},
        {.addr = UINT64_MAX - 0xfff, .size = 0xfff},
        {.addr = 0x100000},
    };
    const struct report report = {.images = images, .n_images = FZ_ARRAY_LEN(images)};
    static const struct {
        uint64_t addr;
        int want;
    } cases[] = {
        {0, -1},
        {0xfff, -1},
        {0x1000, 1},
        {0x1fff, 1},
        {0x2000, -1},
        {0x3000, 2},
        {0x4fff, 2}, /* to the next image */
        {0x5000, 0},
        {0x5800, 0}, /* the first of two */
        {0x5fff, 0},
        {0x6000, 3},
        {0x67ff, 3},
        {0x6800, -1},
        {0x100000, 5},
        {UINT64_C(0x1000fffff), 5},
        {UINT64_C(0x100100000), -1}, /* 4 GiB at most */
        {UINT64_MAX - 0xfff, 4},
        {UINT64_MAX - 1, 4},
        {UINT64_MAX, -1},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        int got = report_image_at(&report, cases[i].addr);
        if (got != cases[i].want)
            fail_msg("0x%llx: image %d", (unsigned long long)cases[i].addr, got);
    }
    const struct report none = {.n_images = 0};
    assert_int_equal(report_image_at(&none, 0x1000), -1);
}

static void
test_status(void **state)
{
    (void)state;
    static const struct {
        const char *frames; /* a letter each: (n)amed, (m)issing, (f)ailed, no (s)ymbol, (u)nknown
                               image, (r)aw */
        enum report_status want;
    } cases[] = {
        {"", REPORT_UNSYMBOLICATED},  {"n", REPORT_SYMBOLICATED},   {"nnn", REPORT_SYMBOLICATED},
        {"m", REPORT_UNSYMBOLICATED}, {"nm", REPORT_PARTIAL},       {"mn", REPORT_PARTIAL},
        {"nf", REPORT_PARTIAL},       {"ns", REPORT_PARTIAL},       {"nu", REPORT_SYMBOLICATED},
        {"unu", REPORT_SYMBOLICATED}, {"u", REPORT_UNSYMBOLICATED}, {"s", REPORT_UNSYMBOLICATED},
        {"r", REPORT_UNSYMBOLICATED}, {"num", REPORT_PARTIAL},      {"fms", REPORT_UNSYMBOLICATED},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct report_symbol symbol = {.function = "f"};
        struct report_frame frames[8] = {{0}};
        size_t n = strlen(cases[i].frames);
        for (size_t k = 0; k < n; k++) {
            char c = cases[i].frames[k];
            frames[k].status = c == 'n'   ? REPORT_FRAME_SYMBOLICATED
                               : c == 'm' ? REPORT_FRAME_MISSING_SYMBOL_FILE
                               : c == 'f' ? REPORT_FRAME_MALFORMED_SYMBOL_FILE
                               : c == 's' ? REPORT_FRAME_NO_SYMBOL
                               : c == 'u' ? REPORT_FRAME_UNKNOWN_IMAGE
                                          : REPORT_FRAME_UNRESOLVED;
            frames[k].symbols = &symbol;
            frames[k].n_symbols = c == 'n';
        }
        /* The first frame in one thread, the others in a second. */
        struct report_thread threads[2] = {{.frames = frames, .n_frames = n ? 1 : 0},
                                           {.frames = frames + 1, .n_frames = n ? n - 1 : 0}};
        const struct report report = {.threads = threads, .n_threads = 2};
        if (report_status(&report) != cases[i].want)
            fail_msg("%s: %s", cases[i].frames, report_status_names[report_status(&report)]);
    }
}

static void
test_ends_run(void **state)
{
    (void)state;
    static const struct {
        const char *kind, *termination;
        bool want;
    } cases[] = {
        {NULL, NULL, true},      {"crash", NULL, true},
        {"memory", NULL, true},  {"hang", NULL, false},
        {"cpu", NULL, false},    {"disk_write", NULL, false},
        {"launch", NULL, false}, {"hang", "SPRINGBOARD 0x8badf00d", true},
        {"cpu", "cpu", true},    {"error", NULL, false},
        {"error", "why", false}, {"message", "why", false},
        {"new", NULL, false},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        const struct report report = {.kind = cases[i].kind,
                                      .crash = {.termination = cases[i].termination}};
        if (report_ends_run(&report) != cases[i].want)
            fail_msg("case %zu", i);
    }
}

static void
test_crashed_thread(void **state)
{
    (void)state;
    struct report_thread threads[] = {{.index = 5}, {.index = 6, .crashed = true}, {.index = 7}};
    struct report report = {.threads = threads, .n_threads = 3, .crash.thread = 7};
    assert_ptr_equal(report_crashed_thread(&report), &threads[2]);
    report.crash.thread = -1;
    assert_ptr_equal(report_crashed_thread(&report), &threads[1]);
    report.crash.thread = 99; /* no such thread */
    assert_ptr_equal(report_crashed_thread(&report), &threads[1]);
    threads[1].crashed = false;
    assert_ptr_equal(report_crashed_thread(&report), &threads[0]);
    report.n_threads = 0;
    assert_null(report_crashed_thread(&report));
}

static void
test_notes(void **state)
{
    (void)state;
    struct fz_arena arena;
    struct report report = {0};
    fz_arena_init(&arena, 1 << 20);
    report_note(&report, &arena, "threads[%d]: %s", 3, "odd");
    assert_string_equal(report.notes[0], "threads[3]: odd");
    /* Cut inside the two bytes of a character: what is left is replaced. */
    char longer[400];
    memset(longer, 'a', sizeof(longer));
    memcpy(longer + 254, "\xc3\xa9", 2);
    longer[399] = '\0';
    report_note(&report, &arena, "%s", longer);
    assert_int_equal(strlen(report.notes[1]), 254 + 3);
    assert_string_equal(report.notes[1] + 254, "\xef\xbf\xbd");
    for (int i = 0; i < 2 * REPORT_NOTES_MAX; i++)
        report_note(&report, &arena, "n");
    assert_int_equal(report.n_notes, REPORT_NOTES_MAX);
    fz_arena_deinit(&arena);

    struct report without = {0};
    fz_arena_init(&arena, 1 << 20);
    arena.fail_after = 0;
    report_note(&without, &arena, "n");
    assert_int_equal(without.n_notes, 0);
    fz_arena_deinit(&arena);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_image_at), cmocka_unit_test(test_status),
        cmocka_unit_test(test_ends_run), cmocka_unit_test(test_crashed_thread),
        cmocka_unit_test(test_notes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
