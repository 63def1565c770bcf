#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/attr.h"
#include "server/protocol/intake.h"

enum { BODY = 100, MADE = 10 };

static struct fz_arena arena;

static int
set_up(void **state FZ_UNUSED)
{
    fz_arena_init(&arena, 256 * 1024 * 1024);
    return 0;
}

static int
tear_down(void **state FZ_UNUSED)
{
    fz_arena_deinit(&arena);
    return 0;
}

static struct proto_piece pieces[] = {{NULL, 10, 20}, {"name", 0, 0}, {NULL, 100, 0}};

static struct proto_item
sound_item(void)
{
    return (struct proto_item){.offset = 4,
                               .len = 96,
                               .format = "kscrash",
                               .reader = "multipart/1/kscrash",
                               .id = "0fdff9a94c274a3d9f265a4b2f0b6c11",
                               .pieces = pieces,
                               .n_pieces = FZ_ARRAY_LEN(pieces)};
}

static enum fz_code
decode(const struct proto_intake *intake, struct proto_intake *ret)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    struct fz_error err;
    proto_intake_encode(intake, &out);
    return proto_intake_decode(fz_buffer_span(&out), BODY, MADE, &arena, ret, &err);
}

static void
test_round_trip(void **state FZ_UNUSED)
{
    struct proto_item items[] = {
        sound_item(),
        {.is_made = true, .offset = 3, .len = 7, .format = "a", .reader = "b_2", .id = ""},
        {.code = FZ_E_UNSUPPORTED, .text = "no report", .err_offset = 7},
    };
    struct proto_session sessions[] = {
        {.sid = "0fdff9a94c274a3d9f265a4b2f0b6c11", .release = "a@1", .outcome = 3},
        {.sid = "", .environment = "b", .user = "u", .started_ms = -5, .n = {1, 2, 3, 4}},
    };
    struct proto_discarded discarded[] = {{"r", NULL, 9}};
    const struct proto_intake intake = {.items = items,
                                        .n_items = 3,
                                        .n_cut = 5,
                                        .has_report = true,
                                        .has_sessions = true,
                                        .id = "",
                                        .sessions = sessions,
                                        .n_sessions = 2,
                                        .discarded = discarded,
                                        .n_discarded = 1};
    struct proto_intake got;
    assert_int_equal(decode(&intake, &got), FZ_OK);
    assert_int_equal(got.n_items, 3);
    assert_int_equal(got.n_cut, 5);
    assert_string_equal(got.items[0].reader, "multipart/1/kscrash");
    assert_string_equal(got.items[0].id, "0fdff9a94c274a3d9f265a4b2f0b6c11");
    assert_int_equal(got.items[0].pieces[0].offset, 10);
    assert_string_equal(got.items[0].pieces[1].text, "name");
    assert_int_equal(got.items[0].n_pieces, 3);
    assert_true(got.items[1].is_made);
    assert_string_equal(got.items[2].text, "no report");
    assert_int_equal(got.items[2].err_offset, 7);
    assert_true(got.has_report && got.has_sessions && !got.has_counted);
    assert_int_equal(got.sessions[0].outcome, 3);
    assert_int_equal(got.sessions[1].started_ms, -5);
    assert_int_equal(got.sessions[1].n[3], 4);
    assert_null(got.sessions[0].user);
    assert_string_equal(got.sessions[1].user, "u");
    assert_string_equal(got.discarded[0].reason, "r");
    assert_null(got.discarded[0].category);
}

/* What no sound child says is refused, each in one way. */
static void
test_refused(void **state FZ_UNUSED)
{
    static struct proto_piece outside[] = {{NULL, 99, 2}}, wraps[] = {{NULL, 1, UINT64_MAX}};
    struct proto_item rows[14], sound = sound_item();
    for (size_t i = 0; i < FZ_ARRAY_LEN(rows); i++)
        rows[i] = sound;
    rows[1].len = 97;
    rows[2].offset = UINT64_MAX;
    rows[3].is_made = true;
    rows[4].format = "Crash";
    rows[5].format = NULL;
    rows[6].reader = "";
    rows[7].reader = "a/b c";
    memcpy(rows[8].id, "0FDF", 4);
    memcpy(rows[9].id, "0fdf", 5);
    rows[10].pieces = outside;
    rows[10].n_pieces = 1;
    rows[11].pieces = wraps;
    rows[11].n_pieces = 1;
    rows[12] = (struct proto_item){.code = FZ_E_INTERNAL, .text = "x", .err_offset = -1};
    rows[13] = (struct proto_item){.code = FZ_E_LIMIT, .text = NULL, .err_offset = -1};
    for (size_t i = 0; i < FZ_ARRAY_LEN(rows); i++) {
        const struct proto_intake intake = {.items = &rows[i], .n_items = 1};
        struct proto_intake got;
        enum fz_code code = decode(&intake, &got);
        if (code != (i == 0 ? FZ_OK : FZ_E_MALFORMED))
            fail_msg("row %zu: %s", i, fz_code_name(code));
    }
}

static void
test_too_much(void **state FZ_UNUSED)
{
    struct proto_item *items = calloc(PROTO_ITEMS_MAX + 1, sizeof(*items));
    struct proto_session session = {.outcome = PROTO_OUTCOMES};
    struct proto_intake got, many = {.items = items, .n_items = PROTO_ITEMS_MAX + 1};
    const struct proto_intake odd = {.sessions = &session, .n_sessions = 1};
    struct proto_discarded nameless = {NULL, "c", 1};
    const struct proto_intake discards = {.discarded = &nameless, .n_discarded = 1};
    assert_non_null(items);
    for (size_t i = 0; i <= PROTO_ITEMS_MAX; i++)
        items[i] = (struct proto_item){.code = FZ_E_LIMIT, .text = "x", .err_offset = -1};
    assert_int_equal(decode(&many, &got), FZ_E_MALFORMED);
    many.n_items--;
    assert_int_equal(decode(&many, &got), FZ_OK);
    assert_int_equal(decode(&odd, &got), FZ_E_MALFORMED);
    assert_int_equal(decode(&discards, &got), FZ_E_MALFORMED);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    proto_intake_encode(&many, &out);
    for (size_t len = 0; len < out.len; len += 7) {
        struct fz_error err;
        assert_int_equal(
            proto_intake_decode(fz_span_make(out.data, len), BODY, MADE, &arena, &got, &err),
            FZ_E_MALFORMED);
    }
    fz_buffer_char(&out, 'x');
    assert_int_equal(proto_intake_decode(fz_buffer_span(&out), BODY, MADE, &arena, &got, NULL),
                     FZ_E_MALFORMED);
    free(items);
}

/* A body travels in the packet as long as it fits. */
static void
test_request(void **state FZ_UNUSED)
{
    static uint8_t body[PROTO_PACKET_MAX];
    const struct proto_intake_request request = {
        .kind = PROTO_INTAKE_MINIDUMP, .was_packed = true, .boundary = "B"};
    const size_t lens[] = {0, 1, 17 * 1024, sizeof(body)};
    for (size_t i = 0; i < FZ_ARRAY_LEN(lens); i++) {
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(PROTO_PACKET_MAX);
        struct proto_intake_request got;
        bool fits;
        proto_intake_request_encode(&request, fz_span_make(body, lens[i]), &fits, &out);
        assert_int_equal(proto_intake_request_decode(fz_buffer_span(&out), &arena, &got, NULL),
                         FZ_OK);
        assert_int_equal(fits, lens[i] < sizeof(body));
        assert_int_equal(got.len, lens[i]);
        assert_int_equal(got.body.len, fits ? lens[i] : 0);
        assert_int_equal(got.kind, PROTO_INTAKE_MINIDUMP);
        assert_true(got.was_packed);
        assert_string_equal(got.boundary, "B");
    }
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    const struct proto_intake_request odd = {.kind = (enum proto_intake_kind)9};
    struct proto_intake_request got;
    bool fits;
    proto_intake_request_encode(&odd, (struct fz_span){NULL, 0}, &fits, &out);
    assert_int_equal(proto_intake_request_decode(fz_buffer_span(&out), &arena, &got, NULL),
                     FZ_E_MALFORMED);
}

/* A flag is 0 or 1: the fuzzer found one of 56 in info_flag_56, at byte 0xf0, which was read as 1. */
static void
test_flag(void **state FZ_UNUSED)
{
    const struct proto_issue issue = {.stack = fz_span_cstr("s"), .title = "t", .label = "l"};
    const size_t at = 4 + 1 + 2 * PROTO_HASH;
    static const char flags[] = {0, 1, 2, 56, 127};
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena own = fz_arena_make(1 << 16);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer body = fz_buffer_make(0);
    struct proto_issue got;
    proto_issue_encode(&issue, &body);
    for (size_t i = 0; i < sizeof(flags); i++) {
        body.data[at] = flags[i];
        enum fz_code code = proto_issue_decode(fz_buffer_span(&body), &own, &got, NULL);
        assert_int_equal(code, flags[i] <= 1 ? FZ_OK : FZ_E_MALFORMED);
        assert_true(code != FZ_OK || got.is_placeholder == flags[i]);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_round_trip, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_too_much, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_request, set_up, tear_down),
        cmocka_unit_test(test_flag),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
