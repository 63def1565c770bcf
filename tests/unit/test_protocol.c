/* The messages between worker and child: round trips, and invalid messages of every kind. */
#define _GNU_SOURCE /* memfd_create */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/file.h"
#include "server/protocol/protocol.h"

struct pair {
    int a, b;
    struct proto_inbox inbox;
};

static int
set_up(void **state)
{
    struct pair *pair = calloc(1, sizeof(*pair));
    int socks[2];
    assert_non_null(pair);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks), 0);
    pair->a = socks[0];
    pair->b = socks[1];
    assert_int_equal(proto_inbox_init(&pair->inbox, NULL), FZ_OK);
    *state = pair;
    return 0;
}

static int
tear_down(void **state)
{
    struct pair *pair = *state;
    fz_closep(&pair->a);
    fz_closep(&pair->b);
    proto_inbox_deinit(&pair->inbox);
    free(pair);
    return 0;
}

static int
make_file(const char *text)
{
    int fd = memfd_create("test", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(fz_file_write_fd(fd, fz_span_cstr(text), NULL), FZ_OK);
    return fd;
}

static void
test_packets(void **state)
{
    struct pair *pair = *state;
    struct fz_error err;
    assert_int_equal(
        proto_send(pair->a, PROTO_INDEX, fz_span_cstr("0123456789abcdef"), NULL, 0, &err), FZ_OK);
    assert_int_equal(proto_send(pair->a, PROTO_FILE, (struct fz_span){NULL, 0}, NULL, 0, &err),
                     FZ_OK);
    assert_int_equal(proto_receive(pair->b, 1000, false, &pair->inbox, &err), FZ_OK);
    assert_int_equal(pair->inbox.kind, PROTO_INDEX);
    assert_true(fz_span_is(pair->inbox.body, "0123456789abcdef"));
    assert_int_equal(proto_receive(pair->b, 1000, false, &pair->inbox, &err), FZ_OK);
    assert_int_equal(pair->inbox.kind, PROTO_FILE);
    assert_int_equal(pair->inbox.body.len, 0);
    assert_int_equal(proto_receive(pair->b, 10, false, &pair->inbox, &err), FZ_E_UNAVAILABLE);
    fz_closep(&pair->a);
    assert_int_equal(proto_receive(pair->b, 1000, false, &pair->inbox, &err), FZ_E_NOT_FOUND);
    assert_int_equal(proto_send(pair->b, PROTO_FILE, (struct fz_span){NULL, 0}, NULL, 0, &err),
                     FZ_E_NOT_FOUND);
}

static void
test_descriptors_one_way(void **state)
{
    struct pair *pair = *state;
    struct fz_error err;
    int fds[2] = {make_file("one"), make_file("two")};
    char text[4] = "";
    assert_int_equal(proto_send(pair->a, PROTO_SYMBOLICATE, fz_span_cstr("x"), fds, 2, &err),
                     FZ_OK);
    assert_int_equal(proto_receive(pair->b, 1000, true, &pair->inbox, &err), FZ_OK);
    assert_int_equal(pair->inbox.n_fds, 2);
    int second = proto_take_fd(&pair->inbox, 1);
    assert_int_equal(pread(second, text, 3, 0), 3);
    assert_string_equal(text, "two");
    assert_int_equal(proto_take_fd(&pair->inbox, 1), -1); /* taken already */
    assert_int_equal(proto_take_fd(&pair->inbox, 2), -1);
    close(second);

    /* The trusted side takes none. */
    assert_int_equal(proto_send(pair->b, PROTO_DONE, fz_span_cstr("x"), fds, 1, &err), FZ_OK);
    assert_int_equal(proto_receive(pair->a, 1000, false, &pair->inbox, &err), FZ_E_MALFORMED);
    assert_string_equal(err.text, "a message carries descriptors that were not asked for");
    close(fds[0]);
    close(fds[1]);
}

static void
test_bad_packets(void **state)
{
    struct pair *pair = *state;
    struct fz_error err;
    static const uint8_t unknown[] = {PROTO_KINDS}, zero[] = {0, 1, 2};
    assert_int_equal(send(pair->a, unknown, sizeof(unknown), 0), sizeof(unknown));
    assert_int_equal(proto_receive(pair->b, 1000, false, &pair->inbox, &err), FZ_E_MALFORMED);
    assert_int_equal(send(pair->a, zero, sizeof(zero), 0), sizeof(zero));
    assert_int_equal(proto_receive(pair->b, 1000, false, &pair->inbox, &err), FZ_E_MALFORMED);
    uint8_t *large = calloc(1, PROTO_PACKET_MAX + 1);
    assert_non_null(large);
    large[0] = PROTO_DONE;
    assert_int_equal(send(pair->a, large, PROTO_PACKET_MAX + 1, 0), PROTO_PACKET_MAX + 1);
    assert_int_equal(proto_receive(pair->b, 1000, false, &pair->inbox, &err), FZ_E_MALFORMED);
    assert_int_equal(
        proto_send(pair->a, PROTO_DONE, fz_span_make(large, PROTO_PACKET_MAX), NULL, 0, &err),
        FZ_E_LIMIT);
    free(large);
}

static struct proto_slice
sample_slice(void)
{
    struct proto_slice slice = {.arch = "arm64e",
                                .kind = PROTO_SLICE_DSYM,
                                .name = "Größe",
                                .file = 3,
                                .has_index = true,
                                .index_file = 4,
                                .index_version = 7,
                                .features = {.dwarf = true,
                                             .unwind = true,
                                             .dwarf_min = 4,
                                             .dwarf_max = 5,
                                             .n_functions = UINT64_MAX}};
    memset(slice.uuid.bytes, 0xab, sizeof(slice.uuid.bytes));
    sym_problem_add(&slice.problems, SYM_PROBLEM_BAD_UNIT, "unit at %d", 17);
    sym_problem_add(&slice.problems, SYM_PROBLEM_NO_LINES, "none");
    return slice;
}

static void
test_slice_round_trip(void **state FZ_UNUSED)
{
    struct proto_slice slice = sample_slice(), got;
    struct fz_buffer body;
    struct fz_arena arena;
    fz_buffer_init(&body, 0);
    fz_arena_init(&arena, 1024 * 1024);
    proto_slice_encode(&slice, &body);
    assert_int_equal(proto_slice_decode(fz_buffer_span(&body), &arena, &got, NULL), FZ_OK);
    assert_true(fz_uuid_equal(&got.uuid, &slice.uuid));
    assert_string_equal(got.arch, "arm64e");
    assert_int_equal(got.kind, PROTO_SLICE_DSYM);
    assert_string_equal(got.name, "Größe");
    assert_int_equal(got.file, 3);
    assert_true(got.has_index);
    assert_int_equal(got.index_file, 4);
    assert_int_equal(got.index_version, 7);
    assert_memory_equal(&got.features, &slice.features, sizeof(slice.features));
    assert_int_equal(got.problems.n, 2);
    assert_string_equal(sym_problem_kind_name(got.problems.list[0].kind), "bad_unit");
    assert_string_equal(got.problems.list[0].text, "unit at 17");
    assert_int_equal(got.problems.list[1].count, 1);

    slice.problems.list[0].kind = (enum sym_problem_kind)SYM_PROBLEM_KINDS;
    fz_buffer_clear(&body);
    proto_slice_encode(&slice, &body);
    assert_int_equal(proto_slice_decode(fz_buffer_span(&body), &arena, &got, NULL), FZ_E_MALFORMED);

    /* Cut anywhere, or with a byte more, it is refused. */
    for (size_t len = 0; len < body.len; len++) {
        struct fz_span cut = fz_span_make(len ? body.data : NULL, len);
        assert_int_equal(proto_slice_decode(cut, &arena, &got, NULL), FZ_E_MALFORMED);
    }
    fz_buffer_char(&body, 'x');
    assert_int_equal(proto_slice_decode(fz_buffer_span(&body), &arena, &got, NULL), FZ_E_MALFORMED);
    fz_arena_deinit(&arena);
    fz_buffer_deinit(&body);
}

/* A hostile child does not use proto_put_text(): "@@" becomes what is not UTF-8. */
static void
spoil(struct fz_buffer *body)
{
    void *at = memmem(body->data, body->len, "@@", 2);
    if (at)
        memset(at, 0xff, 2);
}

static void
test_bad_slices(void **state FZ_UNUSED)
{
    static const struct {
        const char *name, *arch;
        enum proto_slice_kind kind;
        const char *label;
        uint8_t uuid;
        enum fz_code want;
    } cases[] = {
        {"sound", "x86_64", PROTO_SLICE_BINARY, "Demo", 1, FZ_OK},
        {"unknown architecture is sound", "unknown", PROTO_SLICE_DSYM, "Demo", 1, FZ_OK},
        {"made-up architecture", "arm65", PROTO_SLICE_DSYM, "Demo", 1, FZ_E_MALFORMED},
        {"made-up kind", "arm64", PROTO_SLICE_KINDS, "Demo", 1, FZ_E_MALFORMED},
        {"no kind", "arm64", (enum proto_slice_kind)0, "Demo", 1, FZ_E_MALFORMED},
        {"no name", "arm64", PROTO_SLICE_DSYM, NULL, 1, FZ_E_MALFORMED},
        {"bad UTF-8", "arm64", PROTO_SLICE_DSYM, "a@@", 1, FZ_E_MALFORMED},
        {"no UUID", "arm64", PROTO_SLICE_DSYM, "Demo", 0, FZ_E_MALFORMED},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct proto_slice slice = sample_slice(), got;
        slice.arch = cases[i].arch;
        slice.kind = cases[i].kind;
        slice.name = cases[i].label;
        memset(slice.uuid.bytes, cases[i].uuid, sizeof(slice.uuid.bytes));
        struct fz_buffer body;
        struct fz_arena arena;
        fz_buffer_init(&body, 0);
        fz_arena_init(&arena, 1024 * 1024);
        proto_slice_encode(&slice, &body);
        spoil(&body);
        enum fz_code code = proto_slice_decode(fz_buffer_span(&body), &arena, &got, NULL);
        if (code != cases[i].want)
            fail_msg("%s: %s", cases[i].name, fz_code_name(code));
        fz_arena_deinit(&arena);
        fz_buffer_deinit(&body);
    }
}

static void
test_texts(void **state FZ_UNUSED)
{
    struct fz_buffer body;
    struct fz_arena arena;
    fz_buffer_init(&body, 0);
    fz_arena_init(&arena, 1024 * 1024);
    proto_put_text(&body, NULL, 10);
    proto_put_text(&body, "", 10);
    proto_put_text(&body, "abcé", 4); /* cut before the two-byte character */
    proto_put_text(&body,
                   "a\xff"
                   "é\xe2\x82",
                   10); /* in no encoding */
    struct fz_reader in = fz_reader_make(fz_buffer_span(&body), "test");
    assert_null(proto_get_text(&in, 10, &arena));
    assert_string_equal(proto_get_text(&in, 10, &arena), "");
    assert_string_equal(proto_get_text(&in, 10, &arena), "abc");
    assert_string_equal(proto_get_text(&in, 10, &arena), "a?é??");
    assert_int_equal(fz_read_done(&in, NULL), FZ_OK);

    static const uint8_t with_nul[] = {3, 0, 0, 0, 'a', 0, 'b'},
                         long_one[] = {0xfe, 0xff, 0xff, 0x7f};
    in = fz_reader_make(fz_span_make(with_nul, sizeof(with_nul)), "test");
    assert_null(proto_get_text(&in, 10, &arena));
    assert_int_equal(fz_read_done(&in, NULL), FZ_E_MALFORMED);
    in = fz_reader_make(fz_span_make(long_one, sizeof(long_one)), "test");
    assert_null(proto_get_text(&in, 10, &arena));
    assert_int_equal(fz_read_done(&in, NULL), FZ_E_MALFORMED);
    fz_arena_deinit(&arena);
    fz_buffer_deinit(&body);
}

static const struct fz_column column_list[] = {
    {.name = "app", .type = FZ_COLUMN_TEXT},
    {.name = "received_ms", .type = FZ_COLUMN_TIME, .is_fixed = true},
    {.name = "reason", .type = FZ_COLUMN_LONG_TEXT},
    {.name = "line", .type = FZ_COLUMN_NUMBER},
};
static const struct fz_columns columns = {column_list, FZ_ARRAY_LEN(column_list)};

static void
test_info(void **state FZ_UNUSED)
{
    struct proto_image images[2] = {{{{1}}, "Shop", "arm64", true, false},
                                    {{{2}}, NULL, NULL, false, true}};
    struct proto_learned learned[] = {
        {{{1}}, 0x40, PROTO_REACH_MAX, "f"}, {{{1}}, 0x41, 0, "g"}, {{{2}}, 1, 2, "objc_msgSend"}};
    union fz_value values[] = {{.text = "Shop"}, {.number = 77}, {.text = NULL}, {.number = -7}};
    struct proto_info info = {.status = PROTO_PARTIAL,
                              .format = "ips",
                              .timestamp_ms = -5,
                              .values = values,
                              .images = images,
                              .n_images = 2,
                              .learned = learned,
                              .n_learned = 3,
                              .issue = {.stack = fz_span_make("\1\0stack", 7),
                                        .key = {7, [31] = 8},
                                        .variant = {9},
                                        .is_placeholder = true,
                                        .title = "f",
                                        .label = "SIGSEGV"},
                              .n_frames_named = 9},
                      got;
    struct fz_buffer body;
    struct fz_arena arena;
    struct fz_error err;
    fz_buffer_init(&body, 0);
    fz_arena_init(&arena, 1024 * 1024);
    proto_info_encode(&info, &columns, &body);
    assert_int_equal(proto_info_decode(fz_buffer_span(&body), &columns, 2, &arena, &got, NULL),
                     FZ_OK);
    assert_int_equal(got.status, PROTO_PARTIAL);
    assert_string_equal(got.format, "ips");
    assert_int_equal(got.timestamp_ms, -5);
    assert_string_equal(got.values[0].text, "Shop");
    assert_true(got.values[1].number == 0 && !got.values[2].text); /* the number does not travel */
    assert_int_equal(got.values[3].number, -7);
    assert_true(got.images[0].is_waiting && got.images[1].is_damaged);
    assert_true(!got.images[1].is_waiting && !got.images[0].is_damaged);
    assert_string_equal(got.images[0].arch, "arm64");
    assert_true(!got.images[1].arch && got.n_images == 2);
    assert_int_equal(got.images[1].uuid.bytes[0], 2);
    assert_string_equal(got.images[0].name, "Shop");
    assert_null(got.images[1].name);
    assert_int_equal(got.n_frames_named, 9);
    assert_int_equal(got.n_learned, 3);
    assert_int_equal(got.learned[2].uuid.bytes[0], 2);
    assert_int_equal(got.learned[0].reach, PROTO_REACH_MAX);
    assert_int_equal(got.learned[1].start, 0x41);
    assert_string_equal(got.learned[2].name, "objc_msgSend");
    assert_true(fz_span_equal(got.issue.stack, info.issue.stack) && got.issue.is_placeholder);
    assert_memory_equal(got.issue.key, info.issue.key, 2 * sizeof(got.issue.key));
    assert_string_equal(got.issue.label, "SIGSEGV");
    assert_int_equal(proto_info_decode(fz_buffer_span(&body), &columns, 1, &arena, &got, &err),
                     FZ_E_MALFORMED);
    for (size_t len = 0; len < body.len; len++) {
        struct fz_span cut = fz_span_make(len ? body.data : NULL, len);
        assert_int_not_equal(proto_info_decode(cut, &columns, 2, &arena, &got, NULL), FZ_OK);
    }
    static const uint8_t large[PROTO_STACK_MAX + 1];
    info.issue.stack = fz_span_make(large, sizeof(large));
    fz_buffer_clear(&body);
    proto_info_encode(&info, &columns, &body);
    assert_int_equal(proto_info_decode(fz_buffer_span(&body), &columns, 2, &arena, &got, NULL),
                     FZ_E_MALFORMED);
    info.issue.stack.len = 0;
    fz_buffer_clear(&body);
    info.status = (enum proto_status)(PROTO_UNSYMBOLICATED + 1);
    proto_info_encode(&info, &columns, &body);
    assert_int_equal(proto_info_decode(fz_buffer_span(&body), &columns, 2, &arena, &got, NULL),
                     FZ_E_MALFORMED);
    fz_arena_deinit(&arena);
    fz_buffer_deinit(&body);
}

static void
test_bad_learned(void **state FZ_UNUSED)
{
    static struct {
        const char *name;
        struct proto_learned list[2];
        size_t n;
        enum fz_code want;
    } cases[] = {
        {"sound", {{{{1}}, 2, 3, "f"}, {{{1}}, 4, 3, "f"}}, 2, FZ_OK},
        {"none", {{{{1}}, 2, 3, "f"}}, 0, FZ_OK},
        {"the same twice", {{{{1}}, 2, 3, "f"}, {{{1}}, 2, 3, "f"}}, 2, FZ_E_MALFORMED},
        {"starts fall", {{{{1}}, 2, 3, "f"}, {{{1}}, 1, 3, "f"}}, 2, FZ_E_MALFORMED},
        {"UUIDs fall", {{{{2}}, 2, 3, "f"}, {{{1}}, 3, 3, "f"}}, 2, FZ_E_MALFORMED},
        {"no UUID", {{{{0}}, 2, 3, "f"}}, 1, FZ_E_MALFORMED},
        {"reaches too far", {{{{1}}, 2, PROTO_REACH_MAX + 1, "f"}}, 1, FZ_E_MALFORMED},
        {"empty name", {{{{1}}, 2, 3, ""}}, 1, FZ_E_MALFORMED},
        {"no name", {{{{1}}, 2, 3, NULL}}, 1, FZ_E_MALFORMED},
        {"no UTF-8", {{{{1}}, 2, 3, "@@"}}, 1, FZ_E_MALFORMED},
    };
    union fz_value values[FZ_ARRAY_LEN(column_list)] = {{NULL}};
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct proto_info info = {.status = PROTO_PARTIAL,
                                  .values = values,
                                  .learned = cases[i].list,
                                  .n_learned = cases[i].n},
                          got;
        struct fz_buffer body;
        struct fz_arena arena;
        fz_buffer_init(&body, 0);
        fz_arena_init(&arena, 1024 * 1024);
        proto_info_encode(&info, &columns, &body);
        spoil(&body);
        enum fz_code code =
            proto_info_decode(fz_buffer_span(&body), &columns, 2, &arena, &got, NULL);
        if (code != cases[i].want)
            fail_msg("%s: %s", cases[i].name, fz_code_name(code));
        fz_arena_deinit(&arena);
        fz_buffer_deinit(&body);
    }
}

static void
test_too_many_learned(void **state FZ_UNUSED)
{
    static struct proto_learned list[PROTO_LEARNED_MAX + 1];
    for (uint32_t i = 0; i <= PROTO_LEARNED_MAX; i++)
        list[i] = (struct proto_learned){{{1}}, i + 1, 0, "f"};
    union fz_value values[FZ_ARRAY_LEN(column_list)] = {{NULL}};
    for (size_t n = PROTO_LEARNED_MAX; n <= PROTO_LEARNED_MAX + 1; n++) {
        struct proto_info info = {.status = PROTO_PARTIAL,
                                  .values = values,
                                  .learned = list,
                                  .n_learned = n},
                          got;
        struct fz_buffer body;
        struct fz_arena arena;
        struct fz_error err;
        fz_buffer_init(&body, 0);
        fz_arena_init(&arena, 1024 * 1024);
        proto_info_encode(&info, &columns, &body);
        enum fz_code code =
            proto_info_decode(fz_buffer_span(&body), &columns, 2, &arena, &got, &err);
        assert_int_equal(code, n > PROTO_LEARNED_MAX ? FZ_E_MALFORMED : FZ_OK);
        fz_arena_deinit(&arena);
        fz_buffer_deinit(&body);
    }
}

/* A question of the child's, and its answer in as many packets as it takes. */
static void
test_learned_ask(void **state FZ_UNUSED)
{
    struct fz_uuid uuid = {{7}}, got_uuid;
    static uint32_t offsets[PROTO_ASK_MAX + 1];
    static struct proto_learned found[PROTO_ASK_MAX], got[PROTO_ASK_MAX];
    uint32_t *got_offsets;
    size_t n = 0;
    static char name[PROTO_NAME_MAX + 1];
    struct fz_buffer body;
    struct fz_arena arena;
    fz_buffer_init(&body, 0);
    fz_arena_init(&arena, 16 * 1024 * 1024);
    memset(name, 'n', PROTO_NAME_MAX);
    for (uint32_t i = 0; i < PROTO_ASK_MAX; i++) {
        offsets[i] = UINT32_MAX - i;
        found[i] = (struct proto_learned){.start = i, .name = i % 3 == 0 ? NULL : name};
    }
    proto_learned_ask_encode(&uuid, offsets, PROTO_ASK_MAX, &body);
    assert_int_equal(
        proto_learned_ask_decode(fz_buffer_span(&body), &arena, &got_uuid, &got_offsets, &n, NULL),
        FZ_OK);
    assert_int_equal(n, PROTO_ASK_MAX);
    assert_true(fz_uuid_equal(&uuid, &got_uuid));
    assert_memory_equal(got_offsets, offsets, PROTO_ASK_MAX * sizeof(*offsets));
    static const size_t bad[] = {0, 15, 16, 17, 18, 19};
    for (size_t i = 0; i < FZ_ARRAY_LEN(bad); i++)
        assert_int_equal(proto_learned_ask_decode(fz_span_make(bad[i] ? body.data : NULL, bad[i]),
                                                  &arena, &got_uuid, &got_offsets, &n, NULL),
                         FZ_E_MALFORMED);
    fz_buffer_clear(&body);
    proto_learned_ask_encode(&uuid, offsets, PROTO_ASK_MAX + 1, &body);
    assert_int_equal(
        proto_learned_ask_decode(fz_buffer_span(&body), &arena, &got_uuid, &got_offsets, &n, NULL),
        FZ_E_MALFORMED);

    size_t done = 0, n_packets = 0;
    while (done < PROTO_ASK_MAX) {
        fz_buffer_clear(&body);
        proto_learned_answer_encode(found + done, PROTO_ASK_MAX - done, &body);
        assert_true(body.len < PROTO_PACKET_MAX);
        assert_int_equal(proto_learned_answer_decode(fz_buffer_span(&body), PROTO_ASK_MAX - done,
                                                     &arena, got + done, &n, NULL),
                         FZ_OK);
        assert_true(n > 0);
        done += n;
        n_packets++;
    }
    assert_int_equal(done, PROTO_ASK_MAX);
    assert_in_range(n_packets, 2, 20);
    for (uint32_t i = 0; i < PROTO_ASK_MAX; i++) {
        assert_int_equal(got[i].name == NULL, i % 3 == 0);
        assert_true(!got[i].name || (got[i].start == i && strcmp(got[i].name, name) == 0));
    }
    /* An answer to another question. */
    assert_int_equal(
        proto_learned_answer_decode(fz_buffer_span(&body), n - 1, &arena, got, &n, NULL),
        FZ_E_MALFORMED);
    fz_arena_deinit(&arena);
    fz_buffer_deinit(&body);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_packets, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_descriptors_one_way, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_packets, set_up, tear_down),
        cmocka_unit_test(test_slice_round_trip),
        cmocka_unit_test(test_bad_slices),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_info),
        cmocka_unit_test(test_bad_learned),
        cmocka_unit_test(test_too_many_learned),
        cmocka_unit_test(test_learned_ask),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
