#include "base/json/value_end.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/text.h"

enum { TEXT = 400, ROUNDS = 20000 };

/* Byte by byte. */
static size_t
slow_end(struct fz_span text, size_t pos)
{
    size_t depth = 0;
    bool is_string = false;
    for (; pos < text.len; pos++) {
        char c = (char)text.data[pos];
        if (is_string) {
            if (c == '\\')
                pos++;
            else if (c == '"')
                is_string = false;
            if (!is_string && depth == 0)
                return pos + 1;
            continue;
        }
        bool is_close = c == '}' || c == ']';
        if (depth == 0 && (is_close || strchr(", \n\r\t", c)))
            return pos;
        is_string = c == '"';
        depth += c == '{' || c == '[';
        if (is_close && --depth == 0)
            return pos + 1;
    }
    return text.len + 1;
}

static void
test_ends(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t end; /* 0: the text ends inside */
    } cases[] = {
        {"1,2", 1},
        {"true}", 4},
        {"\"a\" ", 3},
        {"\"a\\\"b\",1", 6},
        {"\"a\\\\\",1", 5},
        {"{}", 2},
        {"[1,{\"a\":2}],", 11},
        {"{\"}\":1}x", 7},
        {"[\"\\\"]\"]", 7},
        {"{", 0},
        {"[[]", 0},
        {"\"a", 0},
        {"12", 0},
        {"", 0},
        {"]", 0},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct fz_span text = fz_span_cstr(cases[i].text);
        size_t want = cases[i].end || fz_span_begins(text, "]") ? cases[i].end : text.len + 1;
        assert_int_equal(json_value_end(text, 0), want);
        assert_int_equal(slow_end(text, 0), want);
    }
}

/* Pieces of JSON at random, so that each is at each place of a block; sometimes cut, sometimes with brackets that do not match. */
static void
test_blocks(void **state)
{
    (void)state;
    static const char *const pieces[] = {
        "{",        "}",        "[",
        "]",        "\"\"",     ",",
        "123",      "\"a}[b\"", "\"\\\"\"",
        "\"\\\\\"", "\"\\/]\"", "\"\\\\\\\"\"",
        "null",     "    ",     "\"0123456789012345678901234567890123456789\""};
    unsigned seed = 7;
    size_t n_inside = 0;
    for (int round = 0; round < ROUNDS; round++) {
        char bytes[TEXT + 64] = "[";
        size_t len = 1;
        while (len < TEXT && (len == 1 || rand_r(&seed) % 64)) {
            const char *piece = pieces[(unsigned)rand_r(&seed) % FZ_ARRAY_LEN(pieces)];
            memcpy(bytes + len, piece, strlen(piece));
            len += strlen(piece);
        }
        len -= rand_r(&seed) % 4 ? 0 : (unsigned)rand_r(&seed) % len;
        /* Of its own size, so that a tool sees a look beyond it. */
        uint8_t *copy = malloc(len + 1);
        assert_non_null(copy);
        memcpy(copy, bytes, len);
        struct fz_span text = fz_span_make(copy, len);
        size_t want = slow_end(text, 0);
        n_inside += want <= len && want > 64;
        if (json_value_end(text, 0) != want)
            fail_msg("%.*s: %zu, wanted %zu", (int)len, bytes, json_value_end(text, 0), want);
        free(copy);
    }
    assert_true(n_inside > 100);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_blocks),
    };
    return cmocka_run_group_tests_name("json_value_end", tests, NULL, NULL);
}
