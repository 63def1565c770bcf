/* What every store of blobs has to do (storage/blob/blob_ops.h), on whichever the argument names. */
#include "tests/contract/blobs_case.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/file.h"
#include "base/time.h"

static const char HELLO[] = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";

static void
test_ready(void **state)
{
    struct blobs_case *c = *state;
    bool may_pass = true;
    enum fz_code code = blob_ready(c->blobs, &may_pass, &c->err);
    if (code != FZ_OK)
        fail_msg("%s", c->err.text);
    assert_false(may_pass);
    assert_int_equal(blob_is_guarded(c->blobs), blobs_case_is_s3());
}

static void
test_put_and_get(void **state)
{
    struct blobs_case *c = *state;
    static const size_t sizes[] = {0, 1, 5, 262143, 262145, 3 * 1024 * 1024 + 17};
    for (size_t i = 0; i < FZ_ARRAY_LEN(sizes); i++) {
        char sha256[FZ_SHA256_TEXT], want[FZ_SHA256_TEXT];
        uint8_t *bytes = blobs_case_bytes(sizes[i], (unsigned)i);
        struct fz_span span = fz_span_make(bytes, sizes[i]);
        fz_sha256_hex(span, want);
        /* Twice: the second one is there already. */
        for (int n = 0; n < 2; n++) {
            enum fz_code code = blobs_case_put(c->blobs, span, sha256, &c->err);
            if (code != FZ_OK)
                fail_msg("%zu bytes: %s", sizes[i], c->err.text);
            assert_string_equal(sha256, want);
            blobs_case_expect(c, sha256, span);
        }
        free(bytes);
    }
}

/* Of more than one part of an object store's upload, and another store sees it. */
static void
test_large(void **state)
{
    struct blobs_case *c = *state;
    size_t len = 35 * 1024 * 1024 + 1;
    uint8_t *bytes = blobs_case_bytes(len, 7);
    char sha256[FZ_SHA256_TEXT];
    struct fz_span span = fz_span_make(bytes, len);
    uint64_t size = 0;
    assert_int_equal(blobs_case_put(c->blobs, span, sha256, &c->err), FZ_OK);
    struct blob_store *mine = c->blobs;
    c->blobs = blobs_case_open(c, "another", 0);
    blobs_case_expect(c, sha256, span);
    assert_int_equal(blob_check(c->blobs, sha256, &size, &c->err), FZ_OK);
    assert_int_equal(size, len);
    blob_close(c->blobs);
    c->blobs = mine;
    free(bytes);
}

/* From whatever descriptor, at any offset, which stays. */
static void
test_any_descriptor(void **state)
{
    struct blobs_case *c = *state;
    char sha256[FZ_SHA256_TEXT], path[128];
    uint64_t size = 0;
    snprintf(path, sizeof(path), "%s/named.XXXXXX", c->dir);
    FZ_CLEANUP(fz_closep) int fd = mkstemp(path);
    assert_int_equal(write(fd, "hello", 5), 5);
    assert_int_equal(lseek(fd, 3, SEEK_SET), 3);
    assert_int_equal(blob_put_fd(c->blobs, fd, sha256, &size, &c->err), FZ_OK);
    assert_string_equal(sha256, HELLO);
    assert_int_equal(lseek(fd, 0, SEEK_CUR), 3);
    /* Who still has the file cannot change the blob. */
    assert_int_equal(pwrite(fd, "J", 1, 0), 1);
    blobs_case_expect(c, sha256, fz_span_cstr("hello"));
}

static void
test_damage(void **state)
{
    struct blobs_case *c = *state;
    char sha256[FZ_SHA256_TEXT];
    uint64_t size = 0;
    /* Of the same size and of another. */
    static const char *const bytes[] = {"jello", "hell"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(bytes); i++) {
        assert_int_equal(blobs_case_put(c->blobs, fz_span_cstr("hello"), sha256, &c->err), FZ_OK);
        blobs_case_damage(c, sha256, bytes[i]);
        assert_int_equal(blob_check(c->blobs, sha256, &size, &c->err), FZ_E_MALFORMED);
        assert_non_null(strstr(c->err.text, "are damaged"));
        /* To put it again repairs it. */
        assert_int_equal(blobs_case_put(c->blobs, fz_span_cstr("hello"), sha256, &c->err), FZ_OK);
        assert_int_equal(blob_check(c->blobs, sha256, &size, &c->err), FZ_OK);
        assert_int_equal(size, 5);
        blobs_case_expect(c, sha256, fz_span_cstr("hello"));
    }
}

static void
test_names(void **state)
{
    struct blobs_case *c = *state;
    char upper[FZ_SHA256_TEXT], longer[FZ_SHA256_TEXT + 1];
    memset(upper, 'A', sizeof(upper) - 1);
    upper[sizeof(upper) - 1] = '\0';
    memset(longer, 'a', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    const char *const names[] = {NULL,  "",     "x",  "../../../../../../../etc/passwd",
                                 upper, longer, HELLO};
    for (size_t i = 0; i < FZ_ARRAY_LEN(names); i++) {
        int fd = -1;
        bool is_there = true;
        uint64_t size;
        assert_int_equal(blob_get_fd(c->blobs, names[i], &fd, &c->err), FZ_E_NOT_FOUND);
        assert_string_equal(c->err.text, "there is no such blob");
        assert_int_equal(fd, -1);
        assert_int_equal(blob_check(c->blobs, names[i], &size, &c->err), FZ_E_NOT_FOUND);
        assert_int_equal(blob_is_there(c->blobs, names[i], &is_there, &c->err), FZ_OK);
        assert_false(is_there);
    }
}

static void
test_delete(void **state)
{
    struct blobs_case *c = *state;
    for (int how = 0; how < 2; how++) {
        char sha256[FZ_SHA256_TEXT];
        struct blob_gone gone;
        bool is_there = false;
        int fd = -1;
        assert_int_equal(blobs_case_put(c->blobs, fz_span_cstr("hello"), sha256, &c->err), FZ_OK);
        FZ_CLEANUP(fz_closep) int open_fd = -1;
        assert_int_equal(blob_get_fd(c->blobs, sha256, &open_fd, &c->err), FZ_OK);
        assert_int_equal(blob_is_there(c->blobs, sha256, &is_there, &c->err), FZ_OK);
        assert_true(is_there);
        if (how == 0) {
            assert_int_equal(blob_delete(c->blobs, sha256, &c->err), FZ_OK);
        } else {
            assert_int_equal(blob_take_away(c->blobs, sha256, &gone, &c->err), FZ_OK);
            blob_end(c->blobs, &gone);
        }
        assert_int_equal(blob_is_there(c->blobs, sha256, &is_there, &c->err), FZ_OK);
        assert_false(is_there);
        assert_int_equal(blob_get_fd(c->blobs, sha256, &fd, &c->err), FZ_E_NOT_FOUND);
        /* Who has it open keeps it. */
        char text[8] = "";
        assert_int_equal(pread(open_fd, text, sizeof(text), 0), 5);
        enum fz_code again = blob_delete(c->blobs, sha256, &c->err);
        assert_true(again == FZ_E_NOT_FOUND || (blobs_case_is_s3() && again == FZ_OK));
    }
}

/* ---- lists ---- */

enum { MANY = 40 };

struct listed {
    char names[MANY][FZ_SHA256_TEXT];
    unsigned seen[MANY];
    size_t n;
};

static enum fz_code
on_old(void *user, const char *sha256, struct fz_error *err FZ_UNUSED)
{
    struct listed *all = user;
    for (size_t i = 0; i < MANY; i++)
        all->seen[i] += strcmp(all->names[i], sha256) == 0;
    all->n++;
    return FZ_OK;
}

/* Each blob once in one turn, however many calls that takes; none that is young. */
static void
test_list(void **state)
{
    struct blobs_case *c = *state;
    static struct listed all;
    struct blob_place place = {.folder = ""}, first;
    memset(&all, 0, sizeof(all));
    assert_int_equal(blob_list_old(c->blobs, NULL, -5000, on_old, &all, &c->err), FZ_OK);
    assert_int_equal(all.n, 0);
    for (size_t i = 0; i < MANY; i++) {
        char text[16];
        snprintf(text, sizeof(text), "blob %zu", i);
        assert_int_equal(blobs_case_put(c->blobs, fz_span_cstr(text), all.names[i], &c->err),
                         FZ_OK);
    }
    assert_int_equal(blob_list_old(c->blobs, NULL, 3600 * 1000, on_old, &all, &c->err), FZ_OK);
    assert_int_equal(all.n, 0);
    /* The store's clock may be ahead of ours by less than a second. */
    assert_int_equal(blob_list_old(c->blobs, &place, -5000, on_old, &all, &c->err), FZ_OK);
    first = place;
    for (int i = 0; i < 256; i++) {
        struct blob_place next = place;
        struct listed copy = all;
        assert_int_equal(blob_list_old(c->blobs, &next, -5000, on_old, &copy, &c->err), FZ_OK);
        if (strcmp(next.folder, first.folder) == 0)
            break;
        all = copy;
        place = next;
    }
    assert_int_equal(all.n, MANY);
    for (size_t i = 0; i < MANY; i++)
        assert_int_equal(all.seen[i], 1);
}

static enum fz_code
stop(void *user FZ_UNUSED, const char *sha256 FZ_UNUSED, struct fz_error *err)
{
    return fz_fail(err, FZ_E_LIMIT, "enough");
}

static void
test_list_stops(void **state)
{
    struct blobs_case *c = *state;
    char sha256[FZ_SHA256_TEXT];
    struct blob_place place = {.folder = ""};
    assert_int_equal(blobs_case_put(c->blobs, fz_span_cstr("hello"), sha256, &c->err), FZ_OK);
    assert_int_equal(blob_list_old(c->blobs, &place, -5000, stop, NULL, &c->err), FZ_E_LIMIT);
    assert_string_equal(c->err.text, "enough");
}

/* ---- several at once ---- */

enum { THREADS = 4, ROUNDS = 6 };

struct writer {
    struct blobs_case *c;
    pthread_t thread;
    struct blob_store *blobs;
    enum fz_code code;
    struct fz_error err;
};

/* All write the same blobs, as nodes do that get the same symbol file. */
static void *
write_blobs(void *user)
{
    struct writer *w = user;
    for (unsigned i = 0; w->code == FZ_OK && i < ROUNDS; i++) {
        size_t len = i == 1 ? 17 * 1024 * 1024 : 1000 + i; /* one in parts */
        uint8_t *bytes = blobs_case_bytes(len, 1000 + i);
        char sha256[FZ_SHA256_TEXT], want[FZ_SHA256_TEXT];
        FZ_CLEANUP(fz_closep) int fd = -1;
        fz_sha256_hex(fz_span_make(bytes, len), want);
        w->code = blobs_case_put(w->blobs, fz_span_make(bytes, len), sha256, &w->err);
        if (w->code == FZ_OK)
            w->code = blob_get_fd(w->blobs, want, &fd, &w->err);
        free(bytes);
    }
    return NULL;
}

static void
test_threads(void **state)
{
    struct blobs_case *c = *state;
    struct writer writers[THREADS];
    struct blob_store *other = blobs_case_open(c, "cache", c->config.cache_bytes);
    for (size_t i = 0; i < THREADS; i++) {
        writers[i] = (struct writer){.c = c, .blobs = i % 2 ? c->blobs : other};
        assert_int_equal(pthread_create(&writers[i].thread, NULL, write_blobs, &writers[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(writers[i].thread, NULL);
    for (size_t i = 0; i < THREADS; i++) {
        if (writers[i].code != FZ_OK)
            fail_msg("thread %zu: %s", i, writers[i].err.text);
    }
    blob_close(other);
}

static void
test_copy(void **state)
{
    struct blobs_case *c = *state;
    char url[128], sha256[FZ_SHA256_TEXT], damaged[FZ_SHA256_TEXT];
    struct blob_store *folder = NULL;
    uint64_t size = 0;
    snprintf(url, sizeof(url), "file:%s/folder", c->dir);
    const struct blob_config config = {.url = url};
    assert_int_equal(blob_open(&config, &folder, &c->err), FZ_OK);
    assert_int_equal(blobs_case_put(c->blobs, fz_span_cstr("hello"), sha256, &c->err), FZ_OK);
    assert_int_equal(blobs_case_put(c->blobs, fz_span_cstr("damaged"), damaged, &c->err), FZ_OK);
    blobs_case_damage(c, damaged, "damagee");
    for (int i = 0; i < 2; i++) { /* the second time it is there */
        assert_int_equal(blob_copy(c->blobs, folder, sha256, &size, &c->err), FZ_OK);
        assert_int_equal(size, 5);
    }
    assert_int_equal(blob_delete(c->blobs, sha256, &c->err), FZ_OK);
    assert_int_equal(blob_copy(folder, c->blobs, sha256, &size, &c->err), FZ_OK);
    blobs_case_expect(c, sha256, fz_span_cstr("hello"));
    /* Without copies of its own, which are whole. */
    struct blob_store *plain = blobs_case_open(c, "another", 0);
    assert_int_equal(blob_copy(plain, folder, damaged, &size, &c->err), FZ_E_MALFORMED);
    assert_int_equal(blob_check(folder, damaged, NULL, &c->err), FZ_E_NOT_FOUND);
    blob_close(plain);
    blob_close(folder);
}

/* FZ_BLOBS_MB: of so many MB, in a file with holes, with memory that does not grow with it. */
static void
test_huge(void **state)
{
    struct blobs_case *c = *state;
    const char *mb = getenv("FZ_BLOBS_MB");
    uint64_t size = (mb ? strtoull(mb, NULL, 10) : 0) << 20, found = 0;
    char sha256[FZ_SHA256_TEXT];
    struct rusage usage;
    FZ_CLEANUP(fz_closep) int fd = -1;
    if (size == 0)
        skip();
    assert_int_equal(blob_temp(c->blobs, &fd, &c->err), FZ_OK);
    for (uint64_t at = 0; at < size; at += 1 << 20)
        assert_int_equal(fz_file_write_at(fd, at, fz_span_make(&at, sizeof(at)), &c->err), FZ_OK);
    assert_int_equal(ftruncate(fd, (off_t)size), 0);
    int64_t start_ms = fz_time_monotonic_ms();
    enum fz_code code = blob_put_fd(c->blobs, fd, sha256, &found, &c->err);
    if (code != FZ_OK)
        fail_msg("%s", c->err.text);
    int64_t put_ms = fz_time_monotonic_ms() - start_ms;
    assert_int_equal(found, size);
    assert_int_equal(blob_check(c->blobs, sha256, &found, &c->err), FZ_OK);
    assert_int_equal(found, size);
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    print_message("mb=%llu put_ms=%lld check_ms=%lld peak_mb=%ld\n",
                  (unsigned long long)(size >> 20), (long long)put_ms,
                  (long long)(fz_time_monotonic_ms() - start_ms - put_ms), usage.ru_maxrss / 1024);
    assert_int_equal(blob_delete(c->blobs, sha256, &c->err), FZ_OK);
}

static void
test_space(void **state)
{
    struct blobs_case *c = *state;
    uint64_t left = 0, all = 0;
    assert_int_equal(blob_space(c->blobs, &left, &all, &c->err), FZ_OK);
    assert_true(left > 0 && left <= all);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, blobs_case_set_up, blobs_case_tear_down)

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        /* First, since it looks at the peak of memory. */
        TEST(test_huge),           TEST(test_ready),  TEST(test_put_and_get), TEST(test_large),
        TEST(test_any_descriptor), TEST(test_damage), TEST(test_names),       TEST(test_delete),
        TEST(test_list),           TEST(test_copy),   TEST(test_threads),     TEST(test_list_stops),
        TEST(test_space),
    };
    blobs_case_url = argc > 1 ? argv[1] : "file";
    int failed = cmocka_run_group_tests_name("blobs", tests, NULL, NULL);
    return failed + (blobs_case_is_s3() ? blobs_s3_run() + blobs_keys_run() : 0);
}
