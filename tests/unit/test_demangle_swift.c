/* Swift names: own examples of each construct, hostile names, and Swift's own lists. */
#include "symbolicator/demangle.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/attr.h"
#include "tests/unit/corpus.h"

/* "name ---> text" a line; in front of the text may stand "{...} ", which is no part of it. */
static bool
split_line(char *line, const char **ret_want)
{
    static const char arrow[] = " ---> ";
    line[strcspn(line, "\n")] = '\0';
    char *want = strstr(line, arrow);
    if (!want)
        return false;
    char *end = want;
    while (end > line && end[-1] == ' ')
        end--;
    *end = '\0';
    want += sizeof(arrow) - 1;
    if (want[0] == '{') {
        char *close = strchr(want, '}');
        want = close && close[1] == ' ' ? close + 2 : want;
    }
    *ret_want = want;
    return true;
}

static void
check_list(const char *file, bool simplified)
{
    char name[128], path[512];
    snprintf(name, sizeof(name), "demangle/%s", file);
    if (!corpus_path(name, path, sizeof(path)))
        skip();
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    struct sym_demangle_options options = {.simplified = simplified};
    char *line = NULL;
    size_t room = 0, n = 0, n_right = 0;
    while (getline(&line, &room, in) > 0) {
        const char *want;
        struct fz_buffer out;
        if (!split_line(line, &want))
            continue;
        fz_buffer_init(&out, 0);
        fz_ignore(sym_demangle(line, false, &options, &out)); /* the text tells */
        bool right = strcmp(fz_buffer_cstr(&out), want) == 0;
        if (!right)
            print_message("%s\n  want %s\n  have %s\n", line, want, fz_buffer_cstr(&out));
        n_right += right;
        n++;
        fz_buffer_deinit(&out);
    }
    free(line);
    fclose(in);
    print_message("%s: %zu of %zu as expected\n", file, n_right, n);
    assert_true(n_right * 100 >= n * 99);
}

static void
test_list(void **state)
{
    (void)state;
    check_list("swift-manglings.txt", false);
}

static void
test_list_simplified(void **state)
{
    (void)state;
    check_list("swift-simplified-manglings.txt", true);
}

static void
test_list_with_clang_types(void **state)
{
    (void)state;
    check_list("swift-manglings-with-clang-types.txt", false);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_list_simplified),
        cmocka_unit_test(test_list_with_clang_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
