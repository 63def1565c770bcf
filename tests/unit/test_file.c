#include "base/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>

#include <cmocka.h>

static char top[64];

/* A path in the test's own folder; good until the next call. */
static const char *
at(const char *name)
{
    static char path[256];
    snprintf(path, sizeof(path), "%s/%s", top, name);
    return path;
}

static int
set_up(void **state)
{
    (void)state;
    snprintf(top, sizeof(top), "fz_test_file.XXXXXX");
    return mkdtemp(top) ? 0 : -1;
}

static int
tear_down(void **state)
{
    (void)state;
    unlink(at("a/b/c"));
    rmdir(at("a/b"));
    rmdir(at("a"));
    unlink(at("file"));
    unlink(at("empty"));
    return rmdir(top); /* fails if a temporary file remains */
}

static void
test_write_and_read(void **state)
{
    (void)state;
    struct fz_error err;
    struct fz_buffer out;
    struct stat st;
    fz_buffer_init(&out, 0);
    assert_int_equal(fz_file_write_atomic(at("file"), fz_span_cstr("one"), 0600, &err), FZ_OK);
    assert_int_equal(fz_file_write_atomic(at("file"), fz_span_cstr("two!"), 0640, &err), FZ_OK);
    assert_int_equal(stat(at("file"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    assert_int_equal(fz_file_read(at("file"), 4, &out, &err), FZ_OK);
    assert_string_equal(fz_buffer_cstr(&out), "two!");
    fz_buffer_clear(&out);
    assert_int_equal(fz_file_read(at("file"), 3, &out, &err), FZ_E_LIMIT);
    assert_non_null(strstr(err.text, "larger than the limit of 3 bytes"));
    assert_int_equal(fz_file_read(at("none"), 3, &out, &err), FZ_E_NOT_FOUND);
    assert_int_equal(fz_file_read(top, 3, &out, &err), FZ_E_INTERNAL);
    assert_int_equal(fz_file_write_atomic(at("no/file"), fz_span_cstr("x"), 0600, &err),
                     FZ_E_NOT_FOUND);
    fz_buffer_deinit(&out);
}

static void
test_map(void **state)
{
    (void)state;
    struct fz_error err;
    struct fz_map map;
    assert_int_equal(fz_file_write_atomic(at("file"), fz_span_cstr("mapped"), 0600, &err), FZ_OK);
    assert_int_equal(fz_map_open(at("file"), &map, &err), FZ_OK);
    assert_true(fz_span_is(map.bytes, "mapped"));
    fz_map_close(&map);
    fz_map_close(&map);
    fz_map_close(NULL);
    assert_int_equal(fz_file_write_atomic(at("empty"), fz_span_make(NULL, 0), 0600, &err), FZ_OK);
    assert_int_equal(fz_map_open(at("empty"), &map, &err), FZ_OK);
    assert_int_equal(map.bytes.len, 0);
    fz_map_close(&map);
    assert_int_equal(fz_map_open(at("none"), &map, &err), FZ_E_NOT_FOUND);
    assert_int_equal(fz_map_open(top, &map, &err), FZ_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "not a regular file"));
}

static void
test_make_dirs(void **state)
{
    (void)state;
    struct fz_error err;
    struct stat st;
    assert_int_equal(fz_file_make_dirs(at("a/b"), &err), FZ_OK);
    assert_int_equal(stat(at("a/b"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_int_equal(fz_file_make_dirs(at("a/b/"), &err), FZ_OK);
    assert_int_equal(fz_file_make_dirs("/", &err), FZ_OK);
    assert_int_equal(fz_file_make_dirs("", &err), FZ_E_NOT_FOUND);
    assert_int_equal(fz_file_write_atomic(at("a/b/c"), fz_span_cstr("x"), 0600, &err), FZ_OK);
    assert_int_equal(fz_file_make_dirs(at("a/b/c"), &err), FZ_E_INTERNAL);
    assert_int_equal(fz_file_make_dirs(at("a/b/c/d"), &err), FZ_E_INTERNAL);
    assert_int_equal(fz_file_sync_parent(at("a/b/c"), &err), FZ_OK);
    assert_int_equal(fz_file_sync_parent("name", &err), FZ_OK);
    assert_int_equal(fz_file_sync_parent(at("none/x"), &err), FZ_E_NOT_FOUND);
}

/* A failed write leaves neither the file nor its temporary one. */
static void
test_write_fails(void **state)
{
    (void)state;
    struct fz_error err;
    assert_int_equal(fz_file_make_dirs(at("a"), &err), FZ_OK);
    assert_int_not_equal(fz_file_write_atomic(at("a"), fz_span_cstr("x"), 0600, &err), FZ_OK);
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    if (full < 0)
        return;
    assert_int_equal(fz_file_write_fd(full, fz_span_cstr("x"), &err), FZ_E_UNAVAILABLE);
    fz_closep(&full);
    assert_int_equal(full, -1);
    fz_closep(&full);
}

static enum fz_code
on_entry(void *user, const char *path, const struct stat *st, struct fz_error *err)
{
    fz_buffer_printf(user, "%s%s ", path + strlen(top) + 1, S_ISLNK(st->st_mode) ? "@" : "");
    return strstr(path, "stop") ? fz_fail(err, FZ_E_LIMIT, "enough") : FZ_OK;
}

static void
test_list(void **state)
{
    (void)state;
    struct fz_error err;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer seen = fz_buffer_make(0);
    char folder[80];
    snprintf(folder, sizeof(folder), "%s/", top); /* no second slash */
    assert_int_equal(fz_file_write_atomic(at("file"), fz_span_cstr("x"), 0600, &err), FZ_OK);
    assert_int_equal(mkdir(at("a"), 0700), 0);
    assert_int_equal(symlink("a", at("link")), 0);
    assert_int_equal(fz_file_list(folder, on_entry, &seen, &err), FZ_OK);
    assert_string_equal(fz_buffer_cstr(&seen), "a file link@ ");
    assert_int_equal(fz_file_write_atomic(at("b.stop"), fz_span_cstr("x"), 0600, &err), FZ_OK);
    fz_buffer_clear(&seen);
    assert_int_equal(fz_file_list(top, on_entry, &seen, &err), FZ_E_LIMIT);
    assert_string_equal(fz_buffer_cstr(&seen), "a b.stop ");
    assert_int_equal(fz_file_list(at("none"), on_entry, &seen, &err), FZ_E_NOT_FOUND);
    unlink(at("b.stop"));
    unlink(at("link"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_write_and_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_map, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_list, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_make_dirs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_write_fails, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
