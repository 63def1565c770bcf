/* The maps of an upload: what is one, which image each is for, which are left over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/attr.h"
#include "symbolicator/symbolicator.h"

#define IMAGE "4C4C445B-5555-3144-A129-88BEB9D5EB60"
#define ORIGINAL "11111111-2222-3333-4444-555555555555"
static const char map_text[] = "BCSymbolMap Version: 2.0\n-[Shop pay:]\n_work\n",
                  link_text[] = "<plist><dict><key>DBGOriginalUUID</key><string>" ORIGINAL
                                "</string></dict></plist>";

static struct fz_uuid
uuid_of(const char *text)
{
    struct fz_uuid uuid;
    assert_true(fz_uuid_parse(fz_span_cstr(text), &uuid));
    return uuid;
}

static bool
add(struct sym_maps *maps, const char *name, const char *text, struct sym_map_file *ret,
    struct sym_problems *problems)
{
    return sym_maps_add(maps, name, fz_span_cstr(text), ret, problems);
}

static void
test_wanted(void **state FZ_UNUSED)
{
    static const struct {
        const char *name, *text;
        bool want;
    } cases[] = {
        {"BCSymbolMaps/" ORIGINAL ".bcsymbolmap", map_text, true},
        {"any name", map_text, true}, /* it is a problem later, which says what to do */
        {"a.dSYM/Contents/Resources/" IMAGE ".plist", link_text, true},
        {"a.dSYM/Contents/Info.plist", link_text, false},
        {IMAGE ".txt", "text", false},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++)
        assert_int_equal(sym_maps_wants(cases[i].name, fz_span_cstr(cases[i].text)), cases[i].want);
}

/* By the property list of the dSYM if it came, else by the image's own UUID. */
static void
test_which_image(void **state FZ_UNUSED)
{
    FZ_CLEANUP(sym_maps_destroyp) struct sym_maps *maps = NULL;
    const struct fz_uuid image = uuid_of(IMAGE), original = uuid_of(ORIGINAL);
    struct sym_problems problems = {.n = 0};
    struct sym_map_file file;
    assert_int_equal(sym_maps_create(1 << 20, &maps, NULL), FZ_OK);
    assert_null(sym_maps_find(maps, &image));
    assert_true(add(maps, "x/" ORIGINAL ".bcsymbolmap", map_text, &file, &problems));
    assert_true(file.is_map && fz_uuid_equal(&file.uuid, &original));
    sym_maps_report_unused(maps, &problems);
    assert_int_equal(problems.n, 1);
    assert_non_null(strstr(problems.list[0].text, "needs the BCSymbolMap 11111111"));
    assert_null(sym_maps_find(maps, &image));
    struct fz_uuid wanted = sym_maps_wanted(maps, &image);
    assert_true(fz_uuid_equal(&wanted, &image));

    assert_true(add(maps, IMAGE ".plist", link_text, &file, &problems));
    assert_true(!file.is_map && fz_uuid_equal(&file.uuid, &image) &&
                fz_uuid_equal(&file.map, &original));
    wanted = sym_maps_wanted(maps, &image);
    assert_true(fz_uuid_equal(&wanted, &original));
    const struct sym_symbol_map *map = sym_maps_find(maps, &image);
    assert_non_null(map);
    assert_int_equal(map->n, 2);
    problems.n = 0;
    sym_maps_report_unused(maps, &problems);
    assert_int_equal(problems.n, 0);

    /* One that the user names is for every image. */
    assert_false(sym_maps_is_given(maps));
    assert_int_equal(sym_maps_give(maps, fz_span_cstr("BCSymbolMap Version: 2.0\n_one\n"), NULL),
                     FZ_OK);
    assert_true(sym_maps_is_given(maps));
    map = sym_maps_find(maps, &original);
    assert_true(map && map->n == 1);
}

static void
test_problems(void **state FZ_UNUSED)
{
    FZ_CLEANUP(sym_maps_destroyp) struct sym_maps *maps = NULL;
    struct sym_problems problems = {.n = 0};
    struct sym_map_file file;
    assert_int_equal(sym_maps_create(1 << 20, &maps, NULL), FZ_OK);
    assert_false(add(maps, "Shop.bcsymbolmap", map_text, &file, &problems));
    assert_non_null(strstr(problems.list[0].text, "name it <UUID>.bcsymbolmap"));
    assert_false(add(maps, IMAGE ".plist", "<plist><dict></dict></plist>", &file,
                     &problems)); /* every dSYM has some */
    assert_false(add(maps, "Info.plist", link_text, &file, &problems));
    assert_int_equal(problems.n, 1);
    problems.n = 0;
    assert_false(add(maps, IMAGE ".bcsymbolmap", "BCSymbolMap Version: 9.0\n", &file, &problems));
    assert_int_equal(problems.n, 1);
    assert_string_equal(sym_problem_kind_name(problems.list[0].kind), "bad_symbol_map");
    problems.n = 0;
    for (unsigned i = 0; i < 65; i++) {
        char name[64];
        snprintf(name, sizeof(name), "11111111-2222-3333-4444-5555555555%02x.bcsymbolmap", i);
        assert_int_equal(add(maps, name, map_text, &file, &problems), i < 64);
    }
    assert_string_equal(problems.list[0].text, "more than 64 BCSymbolMaps");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wanted),
        cmocka_unit_test(test_which_image),
        cmocka_unit_test(test_problems),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
