#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "client/include/framezero.h"
#include "client/src/pending.h"

#define RUN "0eace5cf-5f40-49ba-a68c-a6c976fd769e"

static void
test_names(void **state)
{
    static const struct {
        const char *name;
        enum framezero_name want;
    } table[] = {
        {RUN ".json", FRAMEZERO_NAME_COMPLETE},
        {RUN "-corpse.json", FRAMEZERO_NAME_COMPLETE},
        {RUN "-hang.json", FRAMEZERO_NAME_COMPLETE},
        {RUN ".part", FRAMEZERO_NAME_PART},
        {RUN "-hang.part", FRAMEZERO_NAME_PART},
        {RUN "-corpse.part", FRAMEZERO_NAME_CORPSE_PART},
        {RUN ".sending", FRAMEZERO_NAME_SENDING},
        {RUN "-corpse.sending", FRAMEZERO_NAME_SENDING},
        {RUN, FRAMEZERO_NAME_FOREIGN},
        {RUN ".jsonx", FRAMEZERO_NAME_FOREIGN},
        {RUN "-hang-corpse.json", FRAMEZERO_NAME_FOREIGN},
        {"x" RUN ".json", FRAMEZERO_NAME_FOREIGN},
        {"0EACE5CF-5F40-49BA-A68C-A6C976FD769E.json", FRAMEZERO_NAME_FOREIGN},
        {"0eace5cf-5f40.json", FRAMEZERO_NAME_FOREIGN},
        {"notes.json", FRAMEZERO_NAME_FOREIGN},
        {"", FRAMEZERO_NAME_FOREIGN},
        {"..", FRAMEZERO_NAME_FOREIGN},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        if (framezero_name_kind(table[i].name) != table[i].want)
            print_message("%s\n", table[i].name);
        assert_int_equal(framezero_name_kind(table[i].name), table[i].want);
    }
}

static int
make_folder(void **state)
{
    static char folder[] = "/tmp/framezero-pending-XXXXXX";
    *state = mkdtemp(folder);
    return *state ? 0 : -1;
}

static int
remove_folder(void **state)
{
    return rmdir(*state);
}

static void
add(const char *folder, const char *name)
{
    char path[FRAMEZERO_PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
}

static void
test_taken_once(void **state)
{
    const char *folder = *state;
    char path[FRAMEZERO_PATH_MAX], other[FRAMEZERO_PATH_MAX];
    add(folder, RUN ".json");
    assert_int_equal(framezero_pending_next(folder, path), 1);
    assert_int_equal(framezero_pending_next(folder, other), 0);
    assert_int_equal(framezero_pending_return(path), 0);
    assert_int_equal(framezero_pending_next(folder, other), 1);
    assert_string_equal(path, other);
    assert_int_equal(framezero_pending_done(other), 0);
    assert_int_equal(framezero_pending_done(other), -1);
    assert_int_equal(framezero_pending_next(folder, path), 0);
}

static void
test_cleaned_at_start(void **state)
{
    const char *folder = *state;
    char path[FRAMEZERO_PATH_MAX];
    add(folder, RUN ".sending");
    add(folder, RUN ".part");
    add(folder, RUN "-corpse.part");
    add(folder, RUN ".json");
    framezero_pending_clean(folder);
    assert_int_equal(framezero_pending_next(folder, path), 1);
    assert_int_equal(framezero_pending_done(path), 0);
    /* Fresh: an extension may be writing it. */
    snprintf(path, sizeof(path), "%s/" RUN "-corpse.part", folder);
    assert_int_equal(unlink(path), 0);
}

static void
test_paths_that_are_not_reports(void **state)
{
    (void)state;
    assert_int_equal(framezero_pending_done("/etc/passwd"), -1);
    assert_int_equal(framezero_pending_done(RUN ".sending"), -1);
    assert_int_equal(framezero_pending_done(NULL), -1);
    assert_int_equal(framezero_pending_return("/tmp/" RUN ".json"), -1);
    char path[FRAMEZERO_PATH_MAX];
    assert_int_equal(framezero_pending_next("/nonexistent", path), -1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_taken_once),
        cmocka_unit_test(test_cleaned_at_start),
        cmocka_unit_test(test_paths_that_are_not_reports),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
