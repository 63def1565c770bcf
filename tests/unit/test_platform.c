/* The calls that differ from system to system. Built twice: with base/platform_linux.c, and with
 * base/platform_posix.c. */
#include "base/platform.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/random.h"

static void
test_memory_file(void **state)
{
    (void)state;
    FZ_CLEANUP(fz_closep) int fd = fz_platform_memory_file("a label");
    FZ_CLEANUP(fz_closep) int other = fz_platform_memory_file("a label");
    struct stat st;
    assert_true(fd >= 0 && other >= 0 && fd != other);
    assert_int_equal(fstat(fd, &st), 0);
    assert_true(S_ISREG(st.st_mode));
    assert_int_equal(st.st_size, 0);
    assert_int_equal(st.st_nlink, 0); /* no path leads to it */
    assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);

    /* Grown by writing, twice, and by ftruncate(); a map outlives the descriptor. */
    assert_int_equal(write(fd, "first", 5), 5);
    assert_int_equal(write(fd, "second", 6), 6);
    assert_int_equal(ftruncate(fd, 100000), 0);
    assert_int_equal(pwrite(fd, "last", 4, 99996), 4);
    uint8_t *map = mmap(NULL, 100000, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(map != MAP_FAILED);
    fz_closep(&fd);
    assert_memory_equal(map, "firstsecond\0", 12);
    assert_memory_equal(map + 99996, "last", 4);
    map[0] = 'F';
    assert_int_equal(map[0], 'F');
    munmap(map, 100000);

    /* What is in one is not in the other. */
    assert_int_equal(fstat(other, &st), 0);
    assert_int_equal(st.st_size, 0);
}

/* A folder for temporary files that is not there, or cannot be one, costs nothing. */
static void
test_memory_file_without_tmpdir(void **state)
{
    (void)state;
    char longer[8192];
    memset(longer, 'x', sizeof(longer));
    longer[0] = '/';
    longer[sizeof(longer) - 1] = '\0';
    const char *const folders[] = {"/nonexistent/folder", "relative", "", longer};
    for (size_t i = 0; i < FZ_ARRAY_LEN(folders); i++) {
        assert_int_equal(setenv("TMPDIR", folders[i], 1), 0);
        FZ_CLEANUP(fz_closep) int fd = fz_platform_memory_file("x");
        assert_true(fd >= 0);
    }
    unsetenv("TMPDIR");
}

static void
test_random(void **state)
{
    (void)state;
    uint8_t a[4096] = {0}, b[4096] = {0};
    assert_true(fz_platform_random(a, sizeof(a)));
    assert_true(fz_platform_random(b, sizeof(b)));
    assert_memory_not_equal(a, b, sizeof(a));
    assert_memory_not_equal(a, a + 2048, 2048);
    uint8_t zero[16] = {0};
    assert_memory_not_equal(a + sizeof(a) - 16, zero, 16); /* up to its end */
    assert_true(fz_platform_random(a, 0));
    memset(a, 0, 32);
    fz_random(a, 16);
    assert_memory_not_equal(a, zero, 16);
    assert_memory_equal(a + 16, zero, 16);
}

/* Of every size: zeros, aligned, and all of it can be written to. */
static void
test_large(void **state)
{
    (void)state;
    static const size_t sizes[] = {
        0, 1, 4096, FZ_PLATFORM_LARGE - 1, FZ_PLATFORM_LARGE, 3 * (size_t)FZ_PLATFORM_LARGE + 5};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        uint8_t *a = fz_platform_large(sizes[i]), *b = fz_platform_large(sizes[i]);
        assert_non_null(a);
        assert_non_null(b);
        for (size_t k = 0; k < sizes[i]; k++)
            assert_int_equal(a[k], 0);
        memset(a, 1, sizes[i]);
        memset(b, 2, sizes[i]);
        assert_true(sizes[i] == 0 || (a[0] == 1 && a[sizes[i] - 1] == 1));
        fz_platform_large_drop(a, sizes[i]);
        assert_true(sizes[i] == 0 || (b[0] == 2 && b[sizes[i] - 1] == 2));
        fz_platform_large_drop(b, sizes[i]);
    }
    fz_platform_large_drop(NULL, 5);
    assert_null(fz_platform_large(SIZE_MAX));
    assert_null(fz_platform_large(SIZE_MAX - 5000));
}

static void
test_populate(void **state)
{
    (void)state;
    size_t len = 3 * 1024 * 1024;
    uint8_t *block = malloc(len);
    assert_non_null(block);
    memset(block, 7, len);
    fz_platform_populate(block + 5, len - 10); /* not at the start of a page */
    fz_platform_populate(block, 0);
    fz_platform_populate(block + 1, 1);
    for (size_t i = 0; i < len; i++)
        assert_int_equal(block[i], 7);
    free(block);
}

static void
test_find(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t len;
        const char *needle;
        size_t needle_len;
        int want; /* -1: not there */
    } cases[] = {
        {"abc", 3, "abc", 3, 0},
        {"abc", 3, "c", 1, 2},
        {"abc", 3, "d", 1, -1},
        {"abc", 3, "abcd", 4, -1},
        {"abc", 2, "c", 1, -1},
        {"", 0, "a", 1, -1},
        {"abc", 3, "", 0, 0},
        {"", 0, "", 0, 0},
        {"aaab", 4, "aab", 3, 1},
        {"ababac", 6, "abac", 4, 2},
        {"a\0b\0c", 5, "\0c", 2, 3},
        {"\r\r\n", 3, "\r\n", 2, 1},
        {"abab", 4, "abb", 3, -1},
        {"xxxx", 4, "xx", 2, 0},
        {"\xff\xfe\xff", 3, "\xfe\xff", 2, 1},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        const char *hit =
            fz_platform_find(cases[i].bytes, cases[i].len, cases[i].needle, cases[i].needle_len);
        assert_int_equal(hit ? (int)(hit - cases[i].bytes) : -1, cases[i].want);
    }
    assert_null(fz_platform_find(NULL, 0, "a", 1));
}

enum { DEEP = 1024 * 1024 };

/* Needs much more stack than the 128 KiB or 512 KiB that some systems give a thread. */
static void *
use_stack(void *user)
{
    volatile char room[DEEP];
    for (size_t i = 0; i < sizeof(room); i += 4096)
        room[i] = 1;
    size_t sum = 0;
    for (size_t i = 0; i < sizeof(room); i += 4096)
        sum += (size_t)room[i];
    *(size_t *)user = sum;
    return NULL;
}

static void
test_thread(void **state)
{
    (void)state;
    pthread_t threads[8];
    size_t sums[8] = {0};
    for (size_t i = 0; i < FZ_ARRAY_LEN(threads); i++)
        assert_int_equal(fz_platform_thread(&threads[i], use_stack, &sums[i]), 0);
    for (size_t i = 0; i < FZ_ARRAY_LEN(threads); i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(sums[i], DEEP / 4096);
    }
}

static void
test_cores(void **state)
{
    (void)state;
    assert_in_range(fz_platform_n_cores(), 1, 65536);
}

enum { CORES = 256 };

/* On which processors the calling thread may run. Only Linux says so, in a list as "0-3,7"; elsewhere "". */
static void
read_cores(char *ret, size_t size)
{
    static const char name[] = "Cpus_allowed_list:";
    char line[CORES];
    FILE *status = fopen("/proc/thread-self/status", "r");
    snprintf(ret, size, "%s", "");
    while (status && fgets(line, sizeof(line), status)) {
        if (strncmp(line, name, strlen(name)) == 0)
            snprintf(ret, size, "%s", line + strlen(name));
    }
    if (status)
        fclose(status);
}

static void *
run_beside(void *user)
{
    read_cores(user, CORES);
    return NULL;
}

static void
test_thread_beside(void **state)
{
    (void)state;
    struct fz_platform_cores cores;
    char before[CORES], own[CORES], other[CORES] = "", after[CORES];
    pthread_t thread;
    read_cores(before, sizeof(before));
    assert_int_equal(fz_platform_thread_beside(&thread, run_beside, other, &cores), 0);
    read_cores(own, sizeof(own));
    assert_int_equal(pthread_join(thread, NULL), 0);
    fz_platform_cores_back(&cores);
    read_cores(after, sizeof(after));
    assert_string_equal(after, before);
    if (cores.are_split) {
        assert_string_not_equal(own, before);
        assert_string_not_equal(own, other);
        assert_string_not_equal(other, before);
    } else {
        assert_string_equal(own, before);
        assert_string_equal(other, before);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_file),   cmocka_unit_test(test_memory_file_without_tmpdir),
        cmocka_unit_test(test_random),        cmocka_unit_test(test_populate),
        cmocka_unit_test(test_large),         cmocka_unit_test(test_find),
        cmocka_unit_test(test_thread),        cmocka_unit_test(test_cores),
        cmocka_unit_test(test_thread_beside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
