#include "base/json/pool.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/json/scan.h"

enum { ITEMS = 20000 };

static json_t *
load(const char *text)
{
    static const struct json_scan_limits limits = {64, SIZE_MAX, 0};
    json_t *tree = NULL;
    assert_int_equal(json_scan_load(fz_span_cstr(text), &limits, NULL, &tree, NULL), FZ_OK);
    return tree;
}

/* "[1,1,1...]" with values that have memory of their own. */
static char *
many(void)
{
    char *text = malloc(4 * ITEMS + 3), *to = text;
    assert_non_null(text);
    *to++ = '[';
    for (size_t i = 0; i < ITEMS; i++) {
        memcpy(to, i ? ",{}" : "{}", i ? 3 : 2);
        to += i ? 3 : 2;
    }
    memcpy(to, "]", 2);
    return text;
}

/* The memory of one document is that of the next, whoever has freed what. */
static void
test_same_memory(void **state)
{
    (void)state;
    json_t *before = load("{\"a\":[1,2,{}]}");
    uintptr_t first = 0;
    for (size_t i = 0; i < 3; i++) {
        json_pool_start();
        json_t *tree = load("{\"a\":[1,2,{\"b\":\"c\"}]}");
        assert_true(first == 0 || (uintptr_t)tree == first);
        first = (uintptr_t)tree;
        /* Changed as the trees of parsers are. */
        assert_int_equal(json_object_set_new(tree, "d", json_string("e")), 0);
        assert_int_equal(json_object_del(tree, "a"), 0);
        assert_string_equal(json_string_value(json_object_get(tree, "d")), "e");
        json_decref(tree);
        json_pool_end();
    }
    /* Made before, freed after; and what is made without a pool is the heap's. */
    assert_int_equal(json_array_size(json_object_get(before, "a")), 3);
    json_decref(before);
    json_t *after = load("[1]");
    assert_true((uintptr_t)after != first);
    json_decref(after);
}

/* What the pool has no room for is in the heap, and is freed there; a sanitizer would tell. */
static void
test_more_than_room(void **state)
{
    (void)state;
    char *text = many();
    for (size_t round = 0; round < 2; round++) {
        json_pool_start();
        /* Each has 4 MB. */
        for (size_t i = 0; i < 2 * JSON_POOL_BYTES / (ITEMS * (size_t)200); i++) {
            json_t *tree = load(text);
            assert_int_equal(json_array_size(tree), ITEMS);
            json_decref(tree);
        }
        json_pool_end();
    }
    free(text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_memory),
        cmocka_unit_test(test_more_than_room),
    };
    json_pool_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
