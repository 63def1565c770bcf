/* What may come at the cursor. */
#include "server/query/query.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/attr.h"

/* The bar in a text is the cursor. */
static const struct {
    const char *text;
    enum query_completes what;
    size_t start;
    const char *prefix, *tag;
    const char *items; /* each with a blank after it; NULL = not compared */
} cases[] = {
    {"ver|", QUERY_COMPLETES_KEYS, 0, "ver", NULL, "version: "},
    {"os:18 -ver|", QUERY_COMPLETES_KEYS, 7, "ver", NULL, "version: "},
    {"VER|", QUERY_COMPLETES_KEYS, 0, "VER", NULL, "version: "},
    {"ver|sion:4.2", QUERY_COMPLETES_KEYS, 0, "ver", NULL, "version: "},
    {"os|", QUERY_COMPLETES_KEYS, 0, "os", NULL, "os: os_version: os_build: "},
    {"env|", QUERY_COMPLETES_KEYS, 0, "env", NULL, "environment: "},
    {"see|", QUERY_COMPLETES_KEYS, 0, "see", NULL, "seen: "},
    {"ta|", QUERY_COMPLETES_KEYS, 0, "ta", NULL, "tag. "},
    {"|", QUERY_COMPLETES_KEYS, 0, "", NULL, NULL},
    {"os:18 |", QUERY_COMPLETES_KEYS, 6, "", NULL, NULL},
    {"os:18 | is:open", QUERY_COMPLETES_KEYS, 6, "", NULL, NULL},
    {"zzz|", QUERY_COMPLETES_KEYS, 0, "zzz", NULL, ""},
    {"\"ver|", QUERY_COMPLETES_NOTHING, 0, "ver", NULL, ""},
    {"has:us|", QUERY_COMPLETES_KEYS, 4, "us", NULL, "user "},
    {"-has:i|", QUERY_COMPLETES_KEYS, 5, "i", NULL, "image issue introduced "},
    {"is:|", QUERY_COMPLETES_CHOICES, 3, "", NULL,
     "open resolved ignored regressed new unassigned placeholder "},
    {"is:re|", QUERY_COMPLETES_CHOICES, 3, "re", NULL, "resolved regressed "},
    {"is:open,RE|", QUERY_COMPLETES_CHOICES, 8, "RE", NULL, "resolved regressed "},
    {"status:p|", QUERY_COMPLETES_CHOICES, 7, "p", NULL, "partial "},
    {"since:|", QUERY_COMPLETES_CHOICES, 6, "", NULL, "1h 24h 7d 30d "},
    {"seen:<2|", QUERY_COMPLETES_CHOICES, 6, "2", NULL, "24h "},
    {"device:iP|", QUERY_COMPLETES_VALUES, 7, "iP", NULL, ""},
    {"device:\"iP a|", QUERY_COMPLETES_VALUES, 7, "iP a", NULL, ""},
    {"device:\"a,b\",\"c\\\"|", QUERY_COMPLETES_VALUES, 13, "c\"", NULL, ""},
    {"version:>=4|", QUERY_COMPLETES_VALUES, 10, "4", NULL, ""},
    {"version:a>4|", QUERY_COMPLETES_VALUES, 8, "a>4", NULL, ""},
    {"tag.|", QUERY_COMPLETES_TAGS, 4, "", NULL, ""},
    {"-tag.cha|", QUERY_COMPLETES_TAGS, 5, "cha", NULL, ""},
    {"tag:cha|", QUERY_COMPLETES_TAGS, 4, "cha", NULL, ""},
    {"tag.channel:b|", QUERY_COMPLETES_VALUES, 12, "b", "channel", ""},
    {"tag.\"my name\":b|", QUERY_COMPLETES_VALUES, 14, "b", "my name", ""},
    {"tag:channel=b|", QUERY_COMPLETES_VALUES, 12, "b", "channel", ""},
    {"vesion:4|", QUERY_COMPLETES_NOTHING, 7, "4", NULL, ""},
    {"\\|", QUERY_COMPLETES_NOTHING, 0, "", NULL, ""},
};

static void
join(const struct query_completion *completion, struct fz_buffer *out)
{
    for (size_t i = 0; i < completion->n_items; i++) {
        fz_buffer_text(out, completion->items[i].text);
        fz_buffer_char(out, ' ');
    }
}

static void
test_cases(void **state FZ_UNUSED)
{
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(QUERY_ARENA);
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
        char text[64];
        struct query_completion got;
        size_t cursor = strcspn(cases[i].text, "|");
        snprintf(text, sizeof(text), "%.*s%s", (int)cursor, cases[i].text,
                 cases[i].text + cursor + 1);
        assert_int_equal(query_complete(fz_span_cstr(text), cursor, &arena, &got, NULL), FZ_OK);
        join(&got, &out);
        if (got.what != cases[i].what || got.start != cases[i].start ||
            strcmp(got.prefix, cases[i].prefix) != 0)
            fail_msg("%s: %d from %zu, '%s'", cases[i].text, (int)got.what, got.start, got.prefix);
        if (cases[i].items && strcmp(fz_buffer_cstr(&out), cases[i].items) != 0)
            fail_msg("%s: %s", cases[i].text, fz_buffer_cstr(&out));
        assert_int_equal(!got.tag, !cases[i].tag);
        if (got.tag)
            assert_string_equal(got.tag, cases[i].tag);
    }
}

/* Each key is offered once, with its help. */
static void
test_all(void **state FZ_UNUSED)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(QUERY_ARENA);
    struct query_completion got;
    assert_int_equal(query_complete(fz_span_cstr(""), 0, &arena, &got, NULL), FZ_OK);
    assert_int_equal(got.n_items, STORE_FIELDS + 3);
    for (size_t i = 0; i < got.n_items; i++)
        assert_true(got.items[i].help && *got.items[i].help);
    assert_int_equal(query_complete(fz_span_cstr("device:x"), 8, &arena, &got, NULL), FZ_OK);
    assert_int_equal(got.field, STORE_FIELD_DEVICE);
    /* A cursor after the end completes nothing. */
    assert_int_equal(query_complete(fz_span_cstr("ver"), 4, &arena, &got, NULL), FZ_OK);
    assert_int_equal(got.what, QUERY_COMPLETES_NOTHING);
}

static void
test_memory(void **state FZ_UNUSED)
{
    static const char *const texts[] = {"", "is:", "tag:a=b", "seen:"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(texts); i++) {
        enum fz_code code = FZ_E_NO_MEMORY;
        for (int64_t n = 0; code != FZ_OK; n++) {
            FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(QUERY_ARENA);
            struct query_completion got;
            arena.fail_after = n;
            code = query_complete(fz_span_cstr(texts[i]), strlen(texts[i]), &arena, &got, NULL);
            assert_true(code == FZ_OK || code == FZ_E_NO_MEMORY);
            assert_in_range(n, 0, 1000);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_all),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
