/*
 * Out of memory at every place, for every format: the inputs of the golden tests are split and
 * parsed with the arena's allocation 0, 1, 2... failing. Each must end with NO_MEMORY, or get by
 * without a note.
 */
#include <dirent.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "server/ingest/ingest.h"

enum { FILE_MAX = 1 << 20, INPUT_MAX = 16 * 1024 };
static const int64_t MANY = 1 << 20;

/* Splits and parses all of it; *ret_used is how many allocations that took. */
static enum fz_code
run(struct fz_span body, int64_t fail_after, int64_t *ret_used, struct fz_error *err)
{
    struct limits limits = limits_default();
    struct ingest_item *items;
    struct fz_arena arena;
    size_t n = 0, n_cut;
    fz_arena_init(&arena, limits.report_memory);
    arena.fail_after = fail_after;
    enum fz_code code = ingest_split(body, &limits, &arena, &items, &n, &n_cut, err);
    for (size_t i = 0; code == FZ_OK && i < n; i++) {
        struct report report;
        if (items[i].code == FZ_OK)
            code = ingest_parse(items[i].body, &limits, &arena, &report, err);
    }
    *ret_used = fail_after - arena.fail_after;
    fz_arena_deinit(&arena);
    return code;
}

static void
check_input(const char *path, int *n_inputs)
{
    struct fz_buffer in;
    struct fz_error err;
    fz_buffer_init(&in, 0);
    assert_int_equal(fz_file_read(path, FILE_MAX, &in, &err), FZ_OK);
    struct fz_span body = fz_buffer_span(&in);
    int64_t total, used;
    if (body.len > INPUT_MAX || run(body, MANY, &total, &err) != FZ_OK) {
        fz_buffer_deinit(&in);
        return;
    }
    for (int64_t n = 0; n < total; n++) {
        enum fz_code code = run(body, n, &used, &err);
        if (code != FZ_OK && (code != FZ_E_NO_MEMORY || err.code != code))
            fail_msg("%s: allocation %lld: %s", path, (long long)n, err.text);
    }
    ++*n_inputs;
    fz_buffer_deinit(&in);
}

/* The files that begin with "input." in the folders below `folder`. */
static void
walk(const char *folder, int depth, int *n_inputs)
{
    DIR *dir = opendir(folder);
    if (!dir)
        return;
    for (struct dirent *entry; (entry = readdir(dir));) {
        char path[PATH_MAX];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        if (depth > 0)
            walk(path, depth - 1, n_inputs);
        else if (strncmp(entry->d_name, "input.", 6) == 0)
            check_input(path, n_inputs);
    }
    closedir(dir);
}

static void
test_formats(void **state)
{
    (void)state;
    int n_inputs = 0;
    walk(FZ_TOP "/tests/golden", 2, &n_inputs);
    printf("%d inputs\n", n_inputs);
    assert_true(n_inputs > 10);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_formats)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
