#include "server/clients/symbolicate_v5/symbolicate_v5.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

static struct fz_arena arena;
static struct limits limits;
static struct v5_batch batch;
static struct fz_buffer out;

static int
set_up(void **state)
{
    (void)state;
    limits = limits_default();
    batch = (struct v5_batch){0};
    fz_arena_init(&arena, limits.report_memory);
    fz_buffer_init(&out, 0);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    clients_v5_end(&batch);
    fz_buffer_deinit(&out);
    fz_arena_deinit(&arena);
    return 0;
}

static void
read_request(const char *text)
{
    struct fz_error err;
    if (clients_v5_read(fz_span_cstr(text), &limits, &arena, &batch, &err) != FZ_OK)
        fail_msg("%s", err.text);
}

static const char request[] =
    "{\"jobs\":[{\"memoryMap\":[[\"Unused\",\"0\"],[\"Demo\",\"4C4C445B\"]],"
    "\"stacks\":[[[1,16],[-1,5],[1,32]]]},"
    "{\"memoryMap\":[[\"B\\\"\",\"1\"]],\"stacks\":[[[0,4294967296],[0,1]]]}]}";

/* Modules without a frame are left out, threads are as long as a report may have them. */
static void
test_report(void **state)
{
    (void)state;
    limits.frames = 2;
    read_request(request);
    assert_int_equal(batch.n_frames, 3);
    clients_v5_report(&batch, &limits, &out);
    assert_string_equal(
        fz_buffer_cstr(&out),
        "{\"framezero\":1,\"images\":["
        "{\"uuid\":\"4C4C445B\",\"name\":\"Demo\",\"address\":\"0x100000000\",\"size\":4294967296},"
        "{\"uuid\":\"1\",\"name\":\"B\\\"\",\"address\":\"0x200000000\",\"size\":4294967296}],"
        "\"threads\":[{\"frames\":[{\"address\":\"0x100000010\",\"adjusted\":true},"
        "{\"address\":\"0x100000020\",\"adjusted\":true}]},"
        "{\"frames\":[{\"address\":\"0x200000001\",\"adjusted\":true}]}]}");
}

static void
test_answer(void **state)
{
    (void)state;
    static const char report[] =
        "{\"status\":\"partial\",\"threads\":["
        "{\"frames\":[{\"address\":\"0x100000010\",\"symbols\":["
        "{\"function\":\"a\\\"b\",\"file\":\"/"
        "c.h\",\"line\":2,\"inlined\":true,\"source\":\"dwarf\"},"
        "{\"function\":\"main\",\"mangled\":\"_main\",\"offset\":12,\"file\":\"/m.c\"}]},"
        "{\"address\":\"0x100000020\",\"symbols\":[]}]},"
        "{\"frames\":[{\"symbols\":[{\"function\":\"f\",\"inlined\":false}]}]}],"
        "\"images\":[{\"symbols\":\"found\"},{\"symbols\":\"failed\"}]}";
    read_request(request);
    assert_int_equal(clients_v5_answer(&batch, fz_span_cstr(report), &arena, &out, NULL), FZ_OK);
    assert_string_equal(
        fz_buffer_cstr(&out),
        "{\"results\":[{\"stacks\":[[{\"frame\":0,\"module\":\"Demo\",\"module_offset\":\"0x10\","
        "\"function\":\"main\",\"file\":\"/m.c\",\"function_offset\":\"0xc\",\"inlines\":["
        "{\"function\":\"a\\\"b\",\"file\":\"/c.h\",\"line\":2}]},"
        "{\"frame\":1,\"module\":\"<unknown>\",\"module_offset\":\"0x5\"},"
        "{\"frame\":2,\"module\":\"Demo\",\"module_offset\":\"0x20\"}]],"
        "\"found_modules\":{\"Unused/0\":null,\"Demo/4C4C445B\":true}},"
        "{\"stacks\":[[{\"frame\":0,\"module\":\"B\\\"\",\"module_offset\":\"0x100000000\"},"
        "{\"frame\":1,\"module\":\"B\\\"\",\"module_offset\":\"0x1\",\"function\":\"f\","
        "\"function_offset\":\"0x0\"}]],"
        "\"found_modules\":{\"B\\\"/1\":false},"
        "\"module_errors\":{\"B\\\"/1\":[{\"name\":\"MalformedSymbolFile\","
        "\"message\":\"its symbol file cannot be read\"}]}}]}");
}

static void
test_limits(void **state)
{
    (void)state;
    struct fz_error err;
    limits.frames = 1;
    limits.threads = 2;
    assert_int_equal(clients_v5_read(fz_span_cstr(request), &limits, &arena, &batch, &err),
                     FZ_E_LIMIT);
    assert_string_equal(err.text, "3 frames in 2 modules: more than a report may have");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_report, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_answer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_limits, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
