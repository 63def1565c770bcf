/*
 * Out of memory at every place: the road from a body to its JSON and back is walked with the
 * arena's allocation 0, 1, 2... failing, until it succeeds.
 */
#include <stdarg.h>
#include <stdlib.h>

#include <setjmp.h>

#include <cmocka.h>

#include "server/ingest/ingest.h"
#include "server/report/render.h"

static const char body[] =
    "{\"framezero\":2,\"id\":\"8c1f\",\"timestamp\":1,\"app\":{\"id\":\"a\",\"name\":\"b\","
    "\"version\":1,\"build\":2.5},\"os\":{\"name\":\"iOS\"},\"device\":{\"model\":\"m\"},"
    "\"crash\":{\"thread\":0,\"signal\":\"s\",\"reason\":\"\xff\"},"
    "\"threads\":[{\"name\":\"n\",\"queue\":\"q\",\"registers\":{\"pc\":1,\"lr\":2,\"x\":null},"
    "\"frames\":[1,\"?\",{\"address\":2,\"function\":\"f\",\"file\":\"c\"}],"
    "\"stack\":{\"address\":1,\"bytes\":\"AAAA\"}},{}],"
    "\"memory\":[{\"address\":1,\"bytes\":\"AAAA\"},{\"address\":1,\"bytes\":\"*\"}],"
    "\"images\":[{\"uuid\":\"4c4c445b55553144a12988beb9d5eb60\",\"name\":\"i\",\"path\":\"p\","
    "\"arch\":\"arm64\",\"address\":1,\"size\":2},{\"address\":1}],"
    "\"user\":{\"a\":1},\"tags\":{},\"breadcrumbs\":[],\"more\":1}";

static const char stored[] =
    "{\"id\":\"a\",\"client_id\":\"b\",\"project\":\"p\",\"status\":\"partial\","
    "\"threads\":[{\"name\":\"n\",\"registers\":{\"pc\":\"0x1\"},\"frames\":[{\"address\":\"0x1\","
    "\"symbols\":[{\"function\":\"f\",\"mangled\":\"m\",\"file\":\"c\",\"source\":\"dwarf\","
    "\"also\":[\"g\",\"h\"]}]}]}],\"images\":[{\"name\":\"i\",\"path\":\"p\",\"arch\":\"a\"}],"
    "\"user\":{},\"extra\":{},\"notes\":[\"n\"]}";

typedef enum fz_code (*road_fn)(struct fz_arena *arena, struct fz_error *err);

static enum fz_code
ingest(struct fz_arena *arena, struct fz_error *err)
{
    static const struct report_envelope envelope = {.id = "1"};
    struct limits limits = limits_default();
    struct report report;
    struct fz_buffer out;
    enum fz_code code = ingest_parse(fz_span_cstr(body), &limits, arena, &report, err);
    if (code != FZ_OK)
        return code;
    fz_buffer_init(&out, 0);
    code = report_render_json(&report, &envelope, &out, err);
    if (code == FZ_OK)
        code = report_render_crash(&report, &envelope, &out, err);
    fz_buffer_deinit(&out);
    return code;
}

static enum fz_code
load(struct fz_arena *arena, struct fz_error *err)
{
    struct report report;
    struct report_envelope envelope;
    struct fz_buffer out;
    enum fz_code code = report_load_json(fz_span_cstr(stored), arena, &report, &envelope, err);
    if (code != FZ_OK)
        return code;
    fz_buffer_init(&out, 0);
    code = report_render_ips(&report, &envelope, &out, err);
    fz_buffer_deinit(&out);
    return code;
}

static void
walk(road_fn road, int64_t at_least)
{
    enum fz_code code = FZ_E_NO_MEMORY;
    int64_t n = 0;
    for (; code != FZ_OK && n < 1000; n++) {
        struct fz_arena arena;
        struct fz_error err = {.code = FZ_OK};
        fz_arena_init(&arena, 1 << 22);
        arena.fail_after = n;
        code = road(&arena, &err);
        if (code != FZ_OK) {
            assert_int_equal(code, FZ_E_NO_MEMORY);
            assert_int_equal(err.code, FZ_E_NO_MEMORY);
            assert_string_equal(err.text, "out of memory");
        }
        fz_arena_deinit(&arena);
    }
    assert_int_equal(code, FZ_OK);
    assert_true(n > at_least); /* the road really allocates */
}

/* The same with a cap that is too small: that is a limit and is not tried again. */
static void
shrink(road_fn road)
{
    enum fz_code code = FZ_E_LIMIT;
    for (size_t cap = 64; code != FZ_OK; cap += 96) {
        struct fz_arena arena;
        struct fz_error err = {.code = FZ_OK};
        fz_arena_init(&arena, cap);
        code = road(&arena, &err);
        if (code != FZ_OK)
            assert_int_equal(code, FZ_E_LIMIT);
        fz_arena_deinit(&arena);
        assert_true(cap < 1 << 20);
    }
}

static void
test_ingest(void **state)
{
    (void)state;
    walk(ingest, 30);
    shrink(ingest);
}

static void
test_load(void **state)
{
    (void)state;
    walk(load, 20);
    shrink(load);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ingest),
        cmocka_unit_test(test_load),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
