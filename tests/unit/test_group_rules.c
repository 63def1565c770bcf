/* The grammar of a project's rules, and what each rule does to a key. */
#include "group_case.h"

/* ---- the grammar ---- */

static void
test_grammar(void **state)
{
    static const char text[] = "# ours\n"
                               "\n"
                               "  own path \"*/Pods/Our \\\"Kit\\\"/*\"   # a checkout of ours\r\n"
                               "not-own image Analytics*\n"
                               "skip\tfunction Shop.Log.*\n"
                               "group-by module Payments\n"
                               "fingerprint use";
    static const struct group_rule want[] = {
        {GROUP_OWN, GROUP_PATH, "*/Pods/Our \"Kit\"/*", "project rule, line 3"},
        {GROUP_NOT_OWN, GROUP_IMAGE, "Analytics*", "project rule, line 4"},
        {GROUP_SKIP, GROUP_FUNCTION, "Shop.Log.*", "project rule, line 5"},
        {GROUP_BY, GROUP_MODULE, "Payments", "project rule, line 6"},
    };
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(1 << 20);
    struct group_rules rules;
    (void)state;
    assert_int_equal(group_rules_parse(fz_span_cstr(text), &arena, &rules, NULL), FZ_OK);
    assert_int_equal(rules.n, FZ_ARRAY_LEN(want));
    assert_true(rules.use_fingerprint);
    for (size_t i = 0; i < rules.n; i++) {
        assert_int_equal(rules.list[i].effect, want[i].effect);
        assert_int_equal(rules.list[i].subject, want[i].subject);
        assert_string_equal(rules.list[i].pattern, want[i].pattern);
        assert_string_equal(rules.list[i].name, want[i].name);
    }
    /* The version is that of the built-in set, and names the project's text. */
    assert_true(fz_text_has_prefix(rules.version, "apple-1+"));
    assert_int_equal(strlen(rules.version), strlen("apple-1+") + 8);
    assert_int_equal(group_rules_parse(fz_span_cstr(" # none\n"), &arena, &rules, NULL), FZ_OK);
    assert_string_equal(rules.version, "apple-1");
    assert_int_equal(rules.n, 0);
    assert_string_equal(group_rules_builtin().version, "apple-1");
}

static void
test_mistakes(void **state)
{
    static const struct {
        const char *text, *want;
        int64_t offset;
    } cases[] = {
        {"own image A\n  owns image B",
         "rules, line 2, column 3: expected 'own', 'not-own', 'skip', 'group-by' or 'fingerprint'",
         14},
        {"own images A",
         "rules, line 1, column 5: expected 'image', 'path', 'module' or 'function'", 4},
        {"own", "rules, line 1, column 4: expected 'image', 'path', 'module' or 'function'", 3},
        {"skip function",
         "rules, line 1, column 14: a pattern is missing, such as Shop.Log.* or \"*/Pods/*\"", 13},
        {"skip function \"Shop\nown image B",
         "rules, line 1, column 15: the quoted pattern has no end on this line", 14},
        {"skip function \"\"", "rules, line 1, column 15: the pattern is empty", 14},
        {"skip function a b",
         "rules, line 1, column 17: more than one pattern; put it into quotes if it has blanks",
         16},
        {"group-by image Shop",
         "rules, line 1, column 10: 'group-by' is followed by 'module' or 'function'", 9},
        {"fingerprint on",
         "rules, line 1, column 13: 'fingerprint' is followed by 'use' or 'ignore'", 12},
        {"own image \"\303\251\" x",
         "rules, line 1, column 15: more than one pattern; put it into quotes if it has blanks",
         15},
        {"own image \377", "rules: not UTF-8 text", 0},
    };
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(1 << 20);
    (void)state;
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct group_rules rules;
        struct fz_error err;
        assert_int_equal(group_rules_parse(fz_span_cstr(cases[i].text), &arena, &rules, &err),
                         FZ_E_MALFORMED);
        assert_string_equal(err.text, cases[i].want);
        assert_int_equal(err.offset, cases[i].offset);
    }
}

static void
test_limits(void **state)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(1 << 20);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    struct group_rules rules;
    struct fz_error err;
    (void)state;
    for (size_t i = 0; i < GROUP_RULES_MAX; i++)
        fz_buffer_text(&text, "own image A\n");
    assert_int_equal(group_rules_parse(fz_buffer_span(&text), &arena, &rules, &err), FZ_OK);
    fz_buffer_text(&text, "own image A\n");
    assert_int_equal(group_rules_parse(fz_buffer_span(&text), &arena, &rules, &err), FZ_E_LIMIT);
    assert_string_equal(err.text, "rules, line 257: more than 256 rules");
    while (text.len <= GROUP_RULES_BYTES)
        fz_buffer_text(&text, "# and so on\n");
    assert_int_equal(group_rules_parse(fz_buffer_span(&text), &arena, &rules, &err), FZ_E_LIMIT);
}

/* ---- the effects ---- */

static const char *const stack[] = {
    "Analytics|Analytics_send",         "Shop|Log_write|/src/Log.m:3",
    "Shop|Pay_run|/b/Pods/Pay/Pay.m:9", "Shop|Cart_total|/src/Cart.m:12",
    "Kit|Kit_run|/kit/Kit.m:7",         "UIKitCore|UIApplicationMain",
    "Shop|main|/src/main.m:1",          NULL};

static void
test_effects(void **state)
{
    static const struct {
        const char *rules, *want;
        int frame;        /* whose rule is looked at */
        const char *rule; /* its name */
    } cases[] = {
        {NULL, "first own frame: Log_write", 1, "executable"},
        {"skip function Log_*", "first own frame: Cart_total", 1, "project rule, line 1"},
        {"skip function Log_*\nown path */Pods/Pay/*", "first own frame: Pay_run", 2,
         "project rule, line 2"},
        {"skip path /src/Log.?", "first own frame: Cart_total", 1, "project rule, line 1"},
        {"own image Analytics", "first own frame: Analytics_send", 0, "project rule, line 1"},
        {"not-own image Shop", "first own frame: Kit_run", 3, "project rule, line 1"},
        {"not-own image Sh*\nown function Cart_*", "first own frame: Cart_total", 3,
         "project rule, line 2"},
        /* The last rule that matches decides. */
        {"own function Log_write\nskip function Log_*", "first own frame: Cart_total", 1,
         "project rule, line 2"},
        {"skip function Log_*\nown function Log_write", "first own frame: Log_write", 1,
         "project rule, line 2"},
        {"not-own path Shop.app/Shop", "first own frame: Kit_run", 3, "project rule, line 1"},
        {"group-by function Kit_*", "a project rule groups by: Kit_run", 4, "project rule, line 1"},
        {"group-by function Nothing", "first own frame: Log_write", 4, "app bundle"},
        /* What a project calls its own counts even where the built-in rules would skip it. */
        {"own function main\nnot-own function *_*", "first own frame: main", 6,
         "project rule, line 1"},
        {NULL, "first own frame: Log_write", 6, "thread base"},
    };
    static struct group_case c;
    (void)state;
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct group_result result;
        case_init(&c);
        case_add_all(&c, stack);
        case_group(&c, cases[i].rules, &result);
        if (strcmp(result.key.words[0], cases[i].want) != 0)
            fail_msg("row %zu: %s", i, result.key.words[0]);
        if (strcmp(result.key.frames[cases[i].frame].rule, cases[i].rule) != 0)
            fail_msg("row %zu: frame %d, %s", i, cases[i].frame,
                     result.key.frames[cases[i].frame].rule);
        case_deinit(&c);
    }
}

static void
test_fingerprint(void **state)
{
    static const struct {
        const char *extra, *rules;
        int label; /* of the issue; 0 = the key without it */
    } cases[] = {
        {NULL, NULL, 0},
        {"{\"fingerprint\":[\"pay\"]}", NULL, 0},
        {"{\"fingerprint\":[\"pay\"]}", "fingerprint use", 1},
        {"{\"a\":1,\"fingerprint\":[\"pay\"]}", "fingerprint use", 1},
        {"{\"fingerprint\":[\"pay\"]}", "fingerprint use\nfingerprint ignore", 0},
        {"{\"fingerprint\":[\"pay\", \"2\"]}", "fingerprint use", 2},
        {"{\"fingerprint\":[\"{{ default }}\"]}", "fingerprint use", 0},
        {"{\"fingerprint\":[\"{{ default }}\",\"pay\"]}", "fingerprint use", 3},
        {"{\"fingerprint\":[]}", "fingerprint use", 0},
        {"{\"fingerprint\":7}", "fingerprint use", 0},
    };
    enum { N = FZ_ARRAY_LEN(cases) };
    static struct group_case c;
    static uint8_t hashes[N][FZ_SHA256_BYTES];
    (void)state;
    for (size_t i = 0; i < N; i++) {
        struct group_result result;
        case_init(&c);
        case_add_all(&c, stack);
        c.report.extra_json = cases[i].extra;
        case_group(&c, cases[i].rules, &result);
        memcpy(hashes[i], result.key.hash, sizeof(hashes[i]));
        for (size_t k = 0; k < i; k++) {
            if ((memcmp(hashes[i], hashes[k], FZ_SHA256_BYTES) == 0) !=
                (cases[i].label == cases[k].label))
                fail_msg("rows %zu and %zu", k, i);
        }
        case_deinit(&c);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grammar),     cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_limits),      cmocka_unit_test(test_effects),
        cmocka_unit_test(test_fingerprint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
