/* What a report keeps besides its stacks: memory, and where functions without a name start. */
#include "server/report/render.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

/* Small memory is shown, of large only where it was and how much; a stored report is read back. */
static void
test_memory(void **state)
{
    (void)state;
    static const uint8_t bytes[1025] = {0xff, 0xfe};
    struct report_memory memory[] = {{.addr = 0x10, .bytes = {bytes, 2}},
                                     {.addr = 0x20, .bytes = {bytes, sizeof(bytes)}}};
    struct report_thread thread = {.stack = memory[0]};
    struct report_frame frame = {.image = -1, .has_client_start = true, .client_start = 0x30};
    thread.frames = &frame;
    thread.n_frames = 1;
    struct report report = {.threads = &thread,
                            .n_threads = 1,
                            .memory = memory,
                            .n_memory = 2,
                            .crash = {.thread = -1}};
    struct report_envelope none = {.id = "1"}, read_envelope;
    struct fz_arena arena;
    fz_arena_init(&arena, 1 << 20);
    for (int i = 0; i < 2; i++) {
        struct fz_buffer out;
        fz_buffer_init(&out, 0);
        assert_int_equal(report_render_json(&report, &none, &out, NULL), FZ_OK);
        assert_non_null(strstr(out.data, "\"stack\":{\"address\":\"0x10\",\"size\":2,"
                                         "\"bytes\":\"//4=\"}"));
        assert_non_null(strstr(out.data, "{\"address\":\"0x20\",\"size\":1025}]"));
        assert_non_null(strstr(out.data, "\"symbol_address\":\"0x30\""));
        assert_int_equal(
            report_load_json(fz_buffer_span(&out), &arena, &report, &read_envelope, NULL), FZ_OK);
        fz_buffer_deinit(&out);
    }
    fz_arena_deinit(&arena);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
