/* Stacks as they are stored: what comes back, what does not count, and bytes from outside. */
#include "group_case.h"

static const char *const frames[] = {
    "libobjc.A.dylib|objc_msgSend",
    "Shop|inner|/Users/anna/Cart.m:3;Cart_run|/Users/anna/Cart.m:9",
    "Shop|Cart_run|/Users/anna/Cart.m:9",
    "Extra",
    "?",
    "Shop|main",
    NULL};

static void
make(struct group_case *c, struct group_result *ret)
{
    case_init(c);
    case_add_all(c, frames);
    c->report.crash = (struct report_crash){
        .exception = "NSRangeException", .reason = "index 7", .termination = "DYLD 1"};
    c->report.extra_json = "{\"fingerprint\":[\"a\",\"b\"]}";
    case_group(c, NULL, ret);
}

static void
same_text(const char *a, const char *b)
{
    assert_int_equal(a == NULL, b == NULL);
    if (a)
        assert_string_equal(a, b);
}

static void
test_round_trip(void **state)
{
    static struct group_case c;
    struct group_result made;
    struct group_stack got;
    struct group_key key;
    const struct group_rules rules = group_rules_builtin();
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer bytes = fz_buffer_make(0);
    (void)state;
    make(&c, &made);
    group_stack_encode(&made.stack, &bytes);
    assert_int_equal(group_stack_decode(fz_buffer_span(&bytes), &c.arena, &got, NULL), FZ_OK);
    assert_int_equal(got.n_frames, made.stack.n_frames);
    assert_int_equal(got.n_images, made.stack.n_images);
    assert_int_equal(got.source, made.stack.source);
    same_text(got.message, "index #");
    same_text(got.fingerprint, "\"a\"\n\"b\"\n");
    for (size_t i = 0; i < got.n_frames; i++) {
        const struct group_frame *a = &got.frames[i], *b = &made.stack.frames[i];
        same_text(a->name, b->name);
        same_text(a->file, b->file);
        assert_int_equal(a->image, b->image);
        assert_int_equal(a->is_inlined, b->is_inlined);
        assert_int_equal(a->has_place, b->has_place);
        assert_int_equal(a->awaits_symbols, b->awaits_symbols);
        if (a->has_place)
            assert_true(a->offset == b->offset && fz_uuid_equal(&a->uuid, &b->uuid));
    }
    same_text(got.frames[1].file, "/Users/~/Cart.m");
    /* The key of what is stored is that of the report. */
    assert_int_equal(group_key(&got, &rules, &c.arena, &key, NULL), FZ_OK);
    assert_memory_equal(key.hash, made.key.hash, sizeof(key.hash));
    assert_string_equal(key.title, made.key.title);
    case_deinit(&c);
}

/* Runs of the same bug have the same bytes: lines, addresses, signal and message do not count. */
static void
test_identity(void **state)
{
    static struct group_case a, b;
    struct group_result first, second;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer x = fz_buffer_make(0);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer y = fz_buffer_make(0);
    (void)state;
    make(&a, &first);
    case_init(&b);
    case_add_all(&b, frames);
    for (size_t i = 0; i < b.thread.n_frames; i++) {
        struct report_frame *frame = &b.frames[i];
        frame->addr = 0x77 * i;
        if (frame->n_symbols)
            frame->symbols[0].line += 5;
        if (frame->n_symbols) /* a code without a name is where it is */
            frame->image_offset += 0x40;
    }
    b.images[0].path = "/private/other/Shop.app/Shop";
    b.report.crash = a.report.crash;
    b.report.crash.signal = "SIGABRT";
    b.report.crash.reason = "index 9";
    b.report.extra_json = a.report.extra_json;
    case_group(&b, NULL, &second);
    group_stack_encode(&first.stack, &x);
    group_stack_encode(&second.stack, &y);
    assert_int_equal(x.len, y.len);
    assert_memory_equal(x.data, y.data, x.len);
    case_deinit(&a);
    case_deinit(&b);
}

/* Each byte cut off or changed: an error or a stack that has a key, never a crash. */
static void
test_damaged(void **state)
{
    static struct group_case c;
    struct group_result made;
    const struct group_rules rules = group_rules_builtin();
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer bytes = fz_buffer_make(0);
    (void)state;
    make(&c, &made);
    group_stack_encode(&made.stack, &bytes);
    for (size_t i = 0; i < bytes.len; i++) {
        struct group_stack got;
        struct fz_error err;
        assert_int_equal(group_stack_decode(fz_span_make(bytes.data, i), &c.arena, &got, &err),
                         FZ_E_MALFORMED);
        for (unsigned change = 1; change < 256; change += 37) {
            FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(4 << 20);
            struct group_key key;
            bytes.data[i] = (char)(bytes.data[i] ^ (char)change);
            if (group_stack_decode(fz_buffer_span(&bytes), &arena, &got, &err) == FZ_OK)
                assert_int_equal(group_key(&got, &rules, &arena, &key, &err), FZ_OK);
            bytes.data[i] = (char)(bytes.data[i] ^ (char)change);
        }
    }
    fz_buffer_char(&bytes, 0);
    struct group_stack got;
    assert_int_equal(group_stack_decode(fz_buffer_span(&bytes), &c.arena, &got, NULL),
                     FZ_E_MALFORMED);
    case_deinit(&c);
}

/* The longest names that a report can bring still make a stack that can be stored. */
static void
test_largest(void **state)
{
    static struct group_case c;
    struct group_result made;
    struct group_stack got;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer bytes = fz_buffer_make(GROUP_STACK_BYTES);
    char text[5000];
    (void)state;
    case_init(&c);
    for (size_t i = 0; i < CASE_FRAMES; i++) {
        int n = snprintf(text, sizeof(text), "Shop|f%zu", i);
        memset(text + n, 'x', 2000);
        snprintf(text + n + 2000, sizeof(text) - (size_t)n - 2000, "|/src/%zu", i);
        size_t len = strlen(text);
        memset(text + len, 'y', 2000);
        text[len + 2000] = '\0';
        case_add(&c, text);
    }
    case_group(&c, NULL, &made);
    group_stack_encode(&made.stack, &bytes);
    assert_int_equal(fz_buffer_done(&bytes, NULL), FZ_OK);
    assert_int_equal(group_stack_decode(fz_buffer_span(&bytes), &c.arena, &got, NULL), FZ_OK);
    assert_true(got.n_frames > 20 && made.stack.n_cut + got.n_frames == CASE_FRAMES);
    case_deinit(&c);
}

/* Every allocation fails in turn: an error each time, and the same result in the end. */
static void
test_oom(void **state)
{
    static struct group_case c;
    struct group_result made, got;
    struct group_rules rules;
    struct fz_error err;
    enum fz_code code = FZ_E_NO_MEMORY;
    (void)state;
    make(&c, &made);
    int64_t n = 0;
    for (; code != FZ_OK && n < 1000; n++) {
        FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(64 << 20);
        arena.fail_after = n;
        code = group_rules_parse(fz_span_cstr("skip function \"x\"\nfingerprint use"), &arena,
                                 &rules, &err);
        if (code == FZ_OK)
            code = group_report(&c.report, &rules, &arena, &got, &err);
        if (code != FZ_OK)
            assert_int_equal(err.code, FZ_E_NO_MEMORY);
    }
    assert_int_equal(code, FZ_OK);
    assert_true(n > 20);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer bytes = fz_buffer_make(0);
    group_stack_encode(&made.stack, &bytes);
    code = FZ_E_NO_MEMORY;
    for (n = 0; code != FZ_OK && n < 1000; n++) {
        FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(64 << 20);
        struct group_stack stack;
        arena.fail_after = n;
        code = group_stack_decode(fz_buffer_span(&bytes), &arena, &stack, &err);
        if (code != FZ_OK)
            assert_int_equal(err.code, FZ_E_NO_MEMORY);
    }
    assert_int_equal(code, FZ_OK);
    case_deinit(&c);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_identity),
        cmocka_unit_test(test_damaged), cmocka_unit_test(test_largest), cmocka_unit_test(test_oom)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
