/* What of a message changes from run to run, and what is kept. */
#include "group_case.h"

static void
test_message(void **state)
{
    static const struct {
        const char *in, *want;
    } cases[] = {
        {"index 7 beyond bounds [0 .. 3]", "index # beyond bounds [# .. #]"},
        {"index 12 beyond bounds for empty array", "index # beyond bounds for empty array"},
        {"-[Cart total]: unrecognized selector sent to instance 0x2812f3a40",
         "-[Cart total]: unrecognized selector sent to instance <hex>"},
        {"<UIView: 0x1045f8a10; frame = (0 0; 320.5 480)>", "<UIView: <hex>; frame = (# #; # #)>"},
        {"CALayer position contains NaN: [nan 100]", "CALayer position contains #: [# #]"},
        {"x = -1.5e-07, {-inf, inf}", "x = #, {-#, #}"},
        {"/var/mobile/1F0C3A52-7E0B-4D5C-9A57-3B5E6C1D2E3F/a.db is busy",
         "/var/mobile/<uuid>/a.db is busy"},
        {"object 1f0c3a527e0b4d5c9a57 is gone", "object <hex> is gone"},
        {"the word deadbeefed stays, cafe8 too", "the word deadbeefed stays, cafe8 too"},
        {"load https://shop.acme.com/cart?id=7&u=anna failed", "load <url> failed"},
        {"mail to anna.b@acme.com bounced", "mail to <email> bounced"},
        {"host 10.1.2.3:8080 at 2026-11-23 10:11:12.345 in 12ms", "host # at # # in #ms"},
        {"key=\"abc\" of 'Cart'", "key=\"\" of 'Cart'"},
        {"utf8String v2 and i64 stay", "utf8String v2 and i64 stay"},
        {"two\n\n  lines\tand more ", "two lines and more"},
        {"", ""},
        {"prix: 5 \342\202\254", "prix: # \342\202\254"},
    };
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(1 << 20);
    (void)state;
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++)
        assert_string_equal(group_message(cases[i].in, &arena), cases[i].want);
}

/* One megabyte costs as much as the start of it, whatever it is made of. */
static void
test_long_message(void **state)
{
    static const char fillers[] = "a1 .@/x\"=:\n";
    enum { SIZE = 1 << 20 };
    char *text = malloc(SIZE + 1);
    (void)state;
    for (size_t f = 0; f < sizeof(fillers) - 1; f++) {
        FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(1 << 20);
        memset(text, fillers[f], SIZE);
        text[SIZE] = '\0';
        const char *made = group_message(text, &arena);
        assert_non_null(made);
        assert_true(strlen(made) <= GROUP_MESSAGE_MAX);
        assert_true(arena.used <= 128 * 1024);
    }
    /* Cut at a character. */
    for (size_t i = 0; i < SIZE; i += 2) {
        text[i] = '\303';
        text[i + 1] = '\251';
    }
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(1 << 20);
    const char *made = group_message(text + 1, &arena);
    assert_true(strlen(made) <= GROUP_MESSAGE_MAX && made[strlen(made) - 1] == '\251');
    free(text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_message),
                                       cmocka_unit_test(test_long_message)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
