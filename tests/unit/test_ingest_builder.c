#include "server/ingest/common/image_map.h"
#include "server/ingest/common/json_member.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct fz_arena arena;
static struct report report;
static struct limits limits;
static struct ingest_builder b;

static int
setup(void **state)
{
    (void)state;
    fz_arena_init(&arena, 1 << 24);
    report = (struct report){.crash.thread = -1};
    limits = (struct limits){.threads = 3, .frames = 20, .images = 3, .memory_bytes = 4};
    b = ingest_builder_make(&report, &arena, &limits);
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    fz_arena_deinit(&arena);
    return 0;
}

static void
assert_note(size_t i, const char *text)
{
    assert_true(i < report.n_notes);
    assert_string_equal(report.notes[i], text);
}

static void
test_threads(void **state)
{
    (void)state;
    assert_int_equal(ingest_free_index(&report), 0);
    for (int64_t i = 0; i < 3; i++)
        ingest_add_thread(&b)->index = 10 + i;
    assert_null(ingest_add_thread(&b));
    assert_int_equal(report.n_threads, 3);
    assert_int_equal(ingest_free_index(&report), 13);
    report.threads[1].crashed = true;
    ingest_mark_crashed(&report);
    assert_int_equal(report.crash.thread, 11);
    ingest_note_cut(&b);
    assert_note(0, "threads: 4, of which 3 are kept");
}

static void
add_frame(struct ingest_stack *stack, uint64_t addr, enum report_adjust adjust)
{
    struct report_frame frame = {.addr = addr, .image = -1, .adjust = adjust};
    (void)ingest_stack_add(&b, stack, &frame);
}

/* The first frame is the exact pc, unless newer ones are missing and its reader has not set it. */
static void
test_first_frame(void **state)
{
    (void)state;
    struct ingest_stack whole = {.n = 0}, rest = {.has_gap = true}, exact = {.has_gap = true};
    add_frame(&whole, 1, REPORT_ADJUST_AUTO);
    add_frame(&rest, 1, REPORT_ADJUST_AUTO);
    add_frame(&rest, 2, REPORT_ADJUST_AUTO);
    add_frame(&exact, 1, REPORT_ADJUST_EXACT);
    assert_int_equal(whole.frames[0].adjust, REPORT_ADJUST_AUTO);
    assert_int_equal(rest.frames[0].adjust, REPORT_ADJUST_RETURN);
    assert_int_equal(rest.frames[1].adjust, REPORT_ADJUST_AUTO);
    assert_int_equal(exact.frames[0].adjust, REPORT_ADJUST_EXACT);
    ingest_first_is_return(whole.frames, whole.n);
    ingest_first_is_return(exact.frames, exact.n);
    assert_int_equal(whole.frames[0].adjust, REPORT_ADJUST_RETURN);
    assert_int_equal(exact.frames[0].adjust, REPORT_ADJUST_EXACT);
    assert_true(ingest_same_stack(whole.frames, 1, exact.frames, 1));
    assert_false(ingest_same_stack(whole.frames, 1, rest.frames, 2));
}

static void
test_frame_limit(void **state)
{
    (void)state;
    struct ingest_stack known = ingest_stack_make(&b, "frames", 25), grown = {.n = 0};
    assert_int_equal(known.n_cut, 5);
    assert_note(0, "frames: 25, of which 20 are kept");
    for (uint64_t i = 0; i < 25; i++)
        add_frame(&grown, i, REPORT_ADJUST_AUTO);
    assert_int_equal(grown.n, 20);
    assert_int_equal(grown.n_cut, 5);
    for (uint64_t i = 0; i < 20; i++)
        assert_int_equal(grown.frames[i].addr, i);
}

static void
test_registers(void **state)
{
    (void)state;
    struct report_frame frame = {.addr = 0x1000};
    struct report_thread thread = {.frames = &frame, .n_frames = 1};
    for (uint64_t i = 0; i < 300; i++)
        ingest_add_register(&b, &thread, fz_span_cstr("r1"), i);
    assert_int_equal(thread.n_registers, INGEST_REGISTERS_MAX);
    for (uint64_t i = 0; i < INGEST_REGISTERS_MAX; i++)
        assert_int_equal(thread.registers[i].value, i);
    assert_false(ingest_starts_elsewhere(&thread)); /* no pc */
    thread.n_registers = 0;
    thread.registers = NULL;
    ingest_add_register(&b, &thread, fz_span_cstr("rip"), 0x1001);
    assert_false(ingest_starts_elsewhere(&thread)); /* bit 0 does not count */
    thread.registers[0].value = 0x1002;
    assert_true(ingest_starts_elsewhere(&thread));
}

static void
test_images(void **state)
{
    (void)state;
    struct report_image image = {.addr = 0x10, .size = UINT64_MAX, .has_uuid = true};
    ingest_clip_size(&b, &image, "images[0]", "size");
    assert_note(0, "images[0].size: reaches beyond 2^64");
    assert_int_equal(image.size, UINT64_MAX - 0x10);
    assert_int_equal(ingest_add_image(&b, &image), 0);
    assert_false(report.images[0].has_uuid); /* all zeros */
    ingest_set_uuid(&b, &image, "00000000000000000000000000000000", true, "images[0]", "uuid");
    ingest_set_uuid(&b, &image, NULL, false, "images[0]", "uuid");
    assert_int_equal(report.n_notes, 1);
    ingest_set_uuid(&b, &image, NULL, true, "images[0]", "uuid");
    ingest_set_uuid(&b, &image, "x", false, "images[0]", "uuid");
    assert_note(1, "images[0].uuid: missing");
    assert_note(2, "images[0].uuid: not a UUID");
    assert_int_equal(ingest_add_image(&b, &image), 1);
    assert_int_equal(ingest_add_image(&b, &image), 2);
    assert_int_equal(ingest_add_image(&b, &image), -1);
    ingest_note_cut(&b);
    assert_note(3, "images: 4, of which 3 are kept");
}

/* Far more images than the map begins with: each keeps its number. */
static void
test_image_map_grows(void **state)
{
    (void)state;
    enum { MANY = 1000 };
    limits.images = 2 * MANY; /* setup() sets it for each test */
    struct ingest_image_map map = ingest_image_map_make(&b, true);
    for (int round = 0; round < 2; round++) {
        for (uint64_t i = 0; i < MANY; i++) {
            const struct ingest_image_key key = {.addr = (i + 1) << 14};
            assert_int_equal(ingest_image_map_find(&map, &key), round ? (int)i : -1);
            assert_int_equal(ingest_image_map_add(&map, &key), (int)i);
        }
    }
    assert_int_equal(report.n_images, MANY);
    /* A map of listed images begins with room for them. */
    map = ingest_image_map_make(&b, true);
    const struct ingest_image_key last = {.addr = (uint64_t)MANY << 14};
    const struct ingest_image_key more = {.addr = 1};
    assert_int_equal(ingest_image_map_find(&map, &last), MANY - 1);
    assert_int_equal(ingest_image_map_find(&map, &more), -1);
    assert_int_equal(ingest_image_map_add(&map, &more), MANY);
}

static void
test_image_map(void **state)
{
    (void)state;
    struct report_image listed = {.addr = 0x5000};
    struct ingest_image_key at_5 = {.addr = 0x5000}, at_9 = {.addr = 0x9000},
                            at_7 = {.addr = 0x7000}, at_1 = {.addr = 0x1000};
    ingest_add_image(&b, &listed);
    struct ingest_image_map map = ingest_image_map_make(&b, true);
    assert_int_equal(ingest_image_map_find(&map, &at_5), 0);
    assert_int_equal(ingest_image_map_find(&map, &at_9), -1);
    assert_int_equal(ingest_image_map_add(&map, &at_9), 1);
    assert_int_equal(ingest_image_map_add(&map, &at_7), 2);
    assert_int_equal(ingest_image_map_add(&map, &at_9), 1);
    assert_int_equal(ingest_image_map_add(&map, &at_1), -1);
    assert_int_equal(ingest_image_map_add(&map, &at_1), -1);
    assert_int_equal(report.n_notes, 1);
    assert_note(0, "images: more than 3, frames in others are not named");
    ingest_image_map_swap(&map, 0, 2);
    assert_int_equal(ingest_image_map_find(&map, &at_7), 0);
    assert_int_equal(ingest_image_map_find(&map, &at_5), 2);
    assert_int_equal(report.images[0].addr, 0x7000);
    ingest_image_map_sort(&map); /* all but the one that was listed */
    assert_int_equal(report.images[0].addr, 0x7000);
    assert_int_equal(report.images[1].addr, 0x5000);
    assert_int_equal(report.images[2].addr, 0x9000);
}

/* The limit cuts the end of a list, but not the item that must be there. */
static void
test_list(void **state)
{
    (void)state;
    static const char *const keys[] = {"id", NULL};
    json_auto_t *list =
        json_loads("[{\"id\":7},{\"id\":\"8\"},1,{\"id\":9,\"bad\":true}]", 0, NULL);
    assert_non_null(list);
    assert_int_equal(ingest_json_crashed(list, keys, "bad", 8), 1);
    assert_int_equal(ingest_json_crashed(list, keys, "bad", -1), 3);
    assert_int_equal(ingest_json_crashed(list, NULL, "none", -1), 0);
    struct ingest_json_list first = ingest_json_list_start(&b, list, "threads", 2);
    first.must = 3;
    assert_true(ingest_json_list_next(&first));
    assert_string_equal(first.where, "threads[0]");
    assert_true(ingest_json_list_next(&first));
    assert_string_equal(first.where, "threads[3]");
    assert_false(ingest_json_list_next(&first));
    assert_note(0, "threads: 4, of which 2 are kept");
    struct ingest_json_list back = ingest_json_list_start(&b, list, "threads", 9);
    back.backwards = true;
    assert_true(ingest_json_list_next_object(&back));
    assert_int_equal(back.number, 3);
    assert_true(ingest_json_list_next_object(&back));
    assert_int_equal(back.number, 1);
    assert_note(1, "threads[2]: not an object, left out");
}

static void
test_memory(void **state)
{
    (void)state;
    struct report_memory memory = {.addr = 0};
    assert_false(ingest_hex_memory(&b, "stack", 16, fz_span_cstr("zz"), &memory));
    assert_note(0, "stack: not hex digits, left out");
    assert_true(ingest_hex_memory(&b, "stack", 16, fz_span_cstr("0102030405"), &memory));
    assert_note(1, "stack: cut, the report may carry 4 bytes of memory");
    assert_int_equal(memory.bytes.len, 4);
    assert_int_equal(memory.bytes.data[3], 4);
    assert_int_equal(b.memory_left, 0);
}

/* After memory is out, nothing is added and nothing crashes. */
static void
test_out_of_memory(void **state)
{
    (void)state;
    struct report_thread thread = {.n_registers = 0};
    struct ingest_stack stack = {.n = 0};
    struct report_image image = {.addr = 1};
    arena.fail_after = 0;
    assert_null(ingest_add_thread(&b));
    assert_true(b.failed);
    arena.fail_after = -1; /* `failed` stays */
    assert_null(ingest_add_thread(&b));
    assert_int_equal(ingest_add_image(&b, &image), -1);
    add_frame(&stack, 1, REPORT_ADJUST_AUTO);
    ingest_add_register(&b, &thread, fz_span_cstr("pc"), 1);
    ingest_set_mach_codes(&b, (uint64_t[]){1}, 1);
    assert_true(ingest_add_message(&b, "text"));
    assert_null(ingest_printf(&b, "%d", 1));
    assert_int_equal(report.n_threads + report.n_images + stack.n + thread.n_registers, 0);
    assert_int_equal(report.crash.n_mach_codes + report.crash.n_messages, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_threads, setup, teardown),
        cmocka_unit_test_setup_teardown(test_first_frame, setup, teardown),
        cmocka_unit_test_setup_teardown(test_frame_limit, setup, teardown),
        cmocka_unit_test_setup_teardown(test_registers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_images, setup, teardown),
        cmocka_unit_test_setup_teardown(test_image_map, setup, teardown),
        cmocka_unit_test_setup_teardown(test_image_map_grows, setup, teardown),
        cmocka_unit_test_setup_teardown(test_list, setup, teardown),
        cmocka_unit_test_setup_teardown(test_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(test_out_of_memory, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
