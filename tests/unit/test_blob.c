#define _GNU_SOURCE /* O_TMPFILE */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "storage/blob/blob.h"

struct fixture {
    char dir[64], url[128];
    struct blob_store *blobs;
    struct fz_error err;
};

static enum fz_code
open_url(const char *url, struct blob_store **ret, struct fz_error *err)
{
    const struct blob_config config = {.url = url};
    return blob_open(&config, ret, err);
}

static int
set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    snprintf(f->dir, sizeof(f->dir), "/tmp/fzblob.XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    snprintf(f->url, sizeof(f->url), "file:%s/a/b", f->dir);
    assert_int_equal(open_url(f->url, &f->blobs, &f->err), FZ_OK);
    *state = f;
    return 0;
}

static int
tear_down(void **state)
{
    struct fixture *f = *state;
    char command[128];
    blob_close(f->blobs);
    snprintf(command, sizeof(command), "rm -rf %s", f->dir);
    int failed = system(command);
    free(f);
    return failed;
}

static enum fz_code
put(struct blob_store *blobs, struct fz_span bytes, char ret_sha256[FZ_SHA256_TEXT],
    struct fz_error *err)
{
    FZ_CLEANUP(fz_closep) int fd = -1;
    uint64_t size;
    enum fz_code code = blob_temp(blobs, &fd, err);
    if (code == FZ_OK)
        code = fz_file_write_fd(fd, bytes, err);
    return code == FZ_OK ? blob_put_fd(blobs, fd, ret_sha256, &size, err) : code;
}

static void
path_of(const struct fixture *f, const char *sha256, char ret[PATH_MAX])
{
    snprintf(ret, PATH_MAX, "%s/a/b/%.2s/%.2s/%s", f->dir, sha256, sha256 + 2, sha256);
}

static void
assert_blob(struct fixture *f, const char *sha256, const char *want)
{
    FZ_CLEANUP(fz_closep) int fd = -1;
    char text[256] = {0};
    assert_int_equal(blob_get_fd(f->blobs, sha256, &fd, &f->err), FZ_OK);
    assert_int_equal(read(fd, text, sizeof(text)), strlen(want));
    assert_string_equal(text, want);
    assert_int_equal(write(fd, "x", 1), -1); /* read-only */
}

/* No unfinished blob remains. */
static void
assert_no_temporary(const struct fixture *f)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/a/b/tmp", f->dir);
    DIR *dir = opendir(path);
    assert_non_null(dir);
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir))
        if (entry->d_name[0] != '.')
            fail_msg("remains: %s", entry->d_name);
    closedir(dir);
}

static void
test_put_and_get(void **state)
{
    struct fixture *f = *state;
    static const char *const texts[] = {"hello", "", "hello"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(texts); i++) {
        char sha256[FZ_SHA256_TEXT], want[FZ_SHA256_TEXT], path[PATH_MAX];
        struct stat st;
        assert_int_equal(put(f->blobs, fz_span_cstr(texts[i]), sha256, &f->err), FZ_OK);
        fz_sha256_hex(fz_span_cstr(texts[i]), want);
        assert_string_equal(sha256, want);
        assert_blob(f, sha256, texts[i]);
        path_of(f, sha256, path);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0400);
        assert_int_equal(st.st_nlink, 1);
    }
    assert_no_temporary(f);
}

/* From whatever descriptor: unnamed, unlinked, named elsewhere; at any offset. */
static void
test_put_fd(void **state)
{
    struct fixture *f = *state;
    char sha256[FZ_SHA256_TEXT], path[PATH_MAX], named[PATH_MAX];
    uint64_t size = 0;
    struct stat st;
    for (int kind = 0; kind < 3; kind++) {
        char text[16];
        FZ_CLEANUP(fz_closep) int fd = -1;
        snprintf(text, sizeof(text), "kind %d", kind);
        snprintf(named, sizeof(named), "%s/named.XXXXXX", f->dir);
        if (kind == 0)
            assert_int_equal(blob_temp(f->blobs, &fd, &f->err), FZ_OK);
        else
            fd = mkstemp(named);
        if (kind == 1)
            assert_int_equal(unlink(named), 0);
        assert_int_equal(write(fd, text, strlen(text)), strlen(text));
        assert_int_equal(lseek(fd, 3, SEEK_SET), 3);
        assert_int_equal(blob_put_fd(f->blobs, fd, sha256, &size, &f->err), FZ_OK);
        assert_int_equal(size, strlen(text));
        assert_blob(f, sha256, text);
        assert_int_equal(lseek(fd, 0, SEEK_CUR), 3);
        if (kind != 2)
            continue;
        /* Who still has the named file must not be able to change the blob. */
        assert_int_equal(pwrite(fd, "K", 1, 0), 1);
        assert_blob(f, sha256, text);
        path_of(f, sha256, path);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_nlink, 1);
    }
    assert_no_temporary(f);
}

/* A blob that lost its end (a disk that lied) is put right by the next put. */
static void
test_damaged_is_replaced(void **state)
{
    struct fixture *f = *state;
    char sha256[FZ_SHA256_TEXT], path[PATH_MAX];
    assert_int_equal(put(f->blobs, fz_span_cstr("hello"), sha256, &f->err), FZ_OK);
    path_of(f, sha256, path);
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(truncate(path, 2), 0);
    assert_int_equal(put(f->blobs, fz_span_cstr("hello"), sha256, &f->err), FZ_OK);
    assert_blob(f, sha256, "hello");
    assert_no_temporary(f);
}

static void
test_large(void **state)
{
    struct fixture *f = *state;
    size_t len = 3 * 1024 * 1024 + 17;
    uint8_t *bytes = malloc(len);
    char sha256[FZ_SHA256_TEXT];
    struct fz_map map;
    assert_non_null(bytes);
    for (size_t i = 0; i < len; i++)
        bytes[i] = (uint8_t)(i * 31 >> 3);
    assert_int_equal(put(f->blobs, fz_span_make(bytes, len), sha256, &f->err), FZ_OK);
    FZ_CLEANUP(fz_closep) int fd = -1;
    assert_int_equal(blob_get_fd(f->blobs, sha256, &fd, &f->err), FZ_OK);
    assert_int_equal(fz_map_open_fd(fd, &map, &f->err), FZ_OK);
    assert_true(fz_span_equal(map.bytes, fz_span_make(bytes, len)));
    fz_map_close(&map);
    free(bytes);
}

static void
test_names(void **state)
{
    struct fixture *f = *state;
    char upper[FZ_SHA256_TEXT], longer[FZ_SHA256_TEXT + 1];
    memset(upper, 'A', sizeof(upper) - 1);
    upper[sizeof(upper) - 1] = '\0';
    memset(longer, 'a', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    const char *const names[] = {
        NULL,
        "",
        "x",
        "../../../../../../../../../../../../../../../../../../etc/passwd",
        "aa/../../../../../../../../../../../../../../../../../etc/passwd.",
        upper,
        longer,
        "0000000000000000000000000000000000000000000000000000000000000000",
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(names); i++) {
        int fd = -1;
        assert_int_equal(blob_get_fd(f->blobs, names[i], &fd, &f->err), FZ_E_NOT_FOUND);
        assert_string_equal(f->err.text, "there is no such blob");
        assert_int_equal(blob_delete(f->blobs, names[i], &f->err), FZ_E_NOT_FOUND);
        assert_int_equal(fd, -1);
    }
}

static void
test_delete_and_space(void **state)
{
    struct fixture *f = *state;
    char sha256[FZ_SHA256_TEXT];
    uint64_t n_free = 0, n_total = 0;
    int fd = -1;
    assert_int_equal(put(f->blobs, fz_span_cstr("hello"), sha256, &f->err), FZ_OK);
    assert_int_equal(blob_delete(f->blobs, sha256, &f->err), FZ_OK);
    assert_int_equal(blob_get_fd(f->blobs, sha256, &fd, &f->err), FZ_E_NOT_FOUND);
    assert_int_equal(blob_delete(f->blobs, sha256, &f->err), FZ_E_NOT_FOUND);
    assert_int_equal(blob_space(f->blobs, &n_free, &n_total, &f->err), FZ_OK);
    assert_true(n_total > 0 && n_free <= n_total);
}

static void
test_urls(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *url;
        enum fz_code code;
        const char *text;
    } cases[] = {
        {"", FZ_E_MALFORMED, "the blob store must be given as file:DIR or s3://BUCKET/PREFIX"},
        {"file:", FZ_E_MALFORMED, "the blob store must be given as file:DIR"},
        {"s3://?x=y", FZ_E_MALFORMED, "needs the name of a bucket"},
        {"file:/dev/null/x", FZ_E_INTERNAL, "cannot make the folder /dev/null"},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct blob_store *blobs = NULL;
        assert_int_equal(open_url(cases[i].url, &blobs, &f->err), cases[i].code);
        assert_non_null(strstr(f->err.text, cases[i].text));
        assert_null(blobs);
    }
    blob_close(NULL);
}

/* A store of its own for each; both put the same blob over and over. */
static void
test_two_stores(void **state)
{
    struct fixture *f = *state;
    struct blob_store *second = NULL;
    char a[FZ_SHA256_TEXT], b[FZ_SHA256_TEXT];
    assert_int_equal(open_url(f->url, &second, &f->err), FZ_OK);
    for (int i = 0; i < 50; i++) {
        assert_int_equal(put(f->blobs, fz_span_cstr("same"), a, &f->err), FZ_OK);
        assert_int_equal(put(second, fz_span_cstr("same"), b, &f->err), FZ_OK);
        assert_string_equal(a, b);
        assert_blob(f, a, "same");
        if (i % 2)
            assert_int_equal(blob_delete(second, a, &f->err), FZ_OK);
    }
    blob_close(second);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_put_and_get, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_put_fd, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_damaged_is_replaced, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_large, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_delete_and_space, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_urls, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_two_stores, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
