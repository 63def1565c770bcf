/* The result of an upload: what is written is read back, and what older programs stored too. */
#include "server/upload/upload.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const char written[] =
    "{\"files\":[{\"uuid\":\"4c4c445b55553144a12988beb9d5eb60\",\"arch\":\"arm64\",\"kind\":"
    "\"dsym\","
    "\"name\":\"De\\\"mo\",\"size\":77,\"status\":\"new\",\"features\":{\"symtab\":true,"
    "\"function_starts\":false,\"dwarf\":true,\"lines\":true,\"inlines\":false,\"variables\":false,"
    "\"unwind\":true,\"dwarf_min\":4,\"dwarf_max\":5,\"symbols\":3,\"functions\":2,\"units\":1},"
    "\"problems\":[{\"kind\":\"truncated\",\"text\":\"caf\xc3\xa9 \\u0001\",\"count\":2}],"
    "\"verdict\":{\"code\":\"truncated\",\"retry\":true,\"todo\":\"the file was still being "
    "written, "
    "or was cut or damaged on its way; wait until the build has finished with it and upload it "
    "again\"}},"
    "{\"uuid\":\"00000000000000000000000000000000\",\"arch\":\"\",\"kind\":\"uuidmap\",\"name\":"
    "\"x.plist\",\"size\":1,\"status\":\"known\",\"features\":{\"symtab\":false,"
    "\"function_starts\":false,\"dwarf\":false,\"lines\":false,\"inlines\":false,"
    "\"variables\":false,\"unwind\":false,\"symbols\":0,\"functions\":0,\"units\":0},"
    "\"problems\":[],\"verdict\":{\"code\":\"map\"}},"
    "{\"uuid\":\"4c4c445b55553144a12988beb9d5eb60\",\"arch\":\"arm64\",\"kind\":\"dsym\","
    "\"name\":\"Demo\",\"size\":1,\"status\":\"known\",\"features\":{\"symtab\":false,"
    "\"function_starts\":false,\"dwarf\":false,\"lines\":false,\"inlines\":false,"
    "\"variables\":true,\"unwind\":false,\"symbols\":0,\"functions\":0,\"units\":0},"
    "\"problems\":[],\"verdict\":{\"code\":\"ok\",\"todo\":\"for the values of variables upload "
    "the binary too: in optimised code 59 % instead of 51 % of them can be read\"}}],"
    "\"problems\":[{\"kind\":\"bad_member\",\"text\":\"x\",\"count\":1}],\"unblocked_reports\":9}";

static void
read_write(const char *json, struct fz_buffer *out)
{
    struct upload_result result;
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(64 * 1024);
    assert_int_equal(upload_result_read(json, &arena, &result, NULL), FZ_OK);
    struct json_write w = json_write_start(out);
    fz_buffer_clear(out);
    upload_result_write(&w, NULL, &result);
    assert_int_equal(fz_buffer_done(out, NULL), FZ_OK);
}

static void
test_round_trip(void **state)
{
    (void)state;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    read_write(written, &out);
    assert_string_equal(fz_buffer_cstr(&out), written);
}

/* Of before there were verdicts, and of an upload that is not done. */
static void
test_older(void **state)
{
    (void)state;
    static const char older[] =
        "{\"files\":[{\"uuid\":\"4c4c445b55553144a12988beb9d5eb60\",\"arch\":\"arm64\",\"kind\":"
        "\"binary\",\"name\":\"Demo\",\"size\":7,\"status\":\"known\",\"features\":{\"symtab\":"
        "true,"
        "\"function_starts\":false,\"dwarf\":false,\"lines\":false,\"inlines\":false,"
        "\"variables\":false,\"unwind\":false,\"symbols\":0,\"functions\":0,\"units\":0},"
        "\"problems\":[]}],\"unblocked_reports\":0}";
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    read_write(older, &out);
    assert_string_equal(fz_buffer_cstr(&out), older);
    read_write(NULL, &out);
    assert_string_equal(fz_buffer_cstr(&out), "{\"files\":[],\"unblocked_reports\":0}");
}

static void
test_damaged(void **state)
{
    (void)state;
    struct upload_result result;
    struct fz_error err;
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(64 * 1024);
    assert_int_equal(upload_result_read("{\"files\":[", &arena, &result, &err), FZ_E_INTERNAL);
    assert_string_equal(err.text, "the stored result of an upload is damaged");
    arena.fail_after = 1;
    assert_int_equal(upload_result_read(written, &arena, &result, &err), FZ_E_NO_MEMORY);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_older),
        cmocka_unit_test(test_damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
