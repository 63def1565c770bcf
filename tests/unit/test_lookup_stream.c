/* `framezero lookup`: lines of addresses in, frames out. */
#include "server/cli/lookup_stream.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "symbolicator/index/reader.h"
#include "tests/unit/dwarf_text.h"

/* f() at 0x1000 to 0x1020, into which a C++ function is inlined at 0x1008 to 0x1010. */
static const struct dwarf_text sample = {
    .abbrev = "1 11 1 11 1 12 6 10 17 1b 8 0 0 2 2e 1 3 8 11 1 12 6 0 0 "
              "3 1d 1 31 13 11 1 12 6 58 b 59 b 57 b 0 0 4 2e 0 6e 8 0 0 0",
    .info = "{ 2:4 4:0 8 1 8:1000 4:1000 4:0 '/d' 4 '_ZN3Foo3barEv' "
            "2 'f' 8:1000 4:20 3 4:1f 8:1008 4:8 1 7 9 0 0 0 }",
    .line = "{2:4 { 1 1 1 fb e d 0 1 1 1 1 0 0 0 1 0 0 1 'inc' 0 'a.c' u0 u0 u0 'b.h' u1 u0 u0 0 } "
            "0 u9 2 8:1000 5 u3 1 2 u8 4 u2 3 s20 1 2 u8 4 u1 3 s-10 1 2 u10 0 u1 1 }",
};

struct fixture {
    struct fz_buffer bytes;
    struct sym_index *index;
};

static FILE *
temporary(const char *content, size_t len)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(fwrite(content, 1, len, file), len);
    rewind(file);
    return file;
}

static void
read_back(int fd, struct fz_buffer *ret)
{
    char part[65536];
    ssize_t n;
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    while ((n = read(fd, part, sizeof(part))) > 0)
        fz_buffer_append(ret, part, (size_t)n);
}

static int
setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    assert_non_null(fixture);
    struct dwarf_sample built;
    dwarf_sample_init(&built, &sample);
    FILE *file = tmpfile();
    assert_non_null(file);
    struct sym_build_stats stats;
    struct sym_problems problems = {0};
    struct fz_error err;
    assert_int_equal(sym_index_build(&built.macho, NULL, fileno(file), &stats, &problems, &err),
                     FZ_OK);
    fz_buffer_init(&fixture->bytes, 0);
    read_back(fileno(file), &fixture->bytes);
    fclose(file);
    dwarf_sample_deinit(&built);
    assert_int_equal(index_open_bytes(fz_buffer_span(&fixture->bytes), &fixture->index, &err),
                     FZ_OK);
    *state = fixture;
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *fixture = *state;
    sym_index_close(fixture->index);
    fz_buffer_deinit(&fixture->bytes);
    free(fixture);
    return 0;
}

/* The answers to `input`, appended to `ret`; returns how many lines were bad. */
static size_t
answers(const struct sym_index *index, bool is_json, unsigned n_threads, const char *input,
        struct fz_buffer *ret)
{
    struct lookup_stream_options options = {.is_json = is_json, .n_threads = n_threads};
    FILE *in = temporary(input, strlen(input)), *out = tmpfile();
    struct fz_error err;
    size_t n_bad = SIZE_MAX;
    assert_non_null(out);
    assert_int_equal(lookup_stream(index, &options, fileno(in), fileno(out), &n_bad, &err), FZ_OK);
    read_back(fileno(out), ret);
    fclose(in);
    fclose(out);
    return n_bad;
}

static void
test_answers(void **state)
{
    const struct fixture *fixture = *state;
    static const struct {
        const char *name, *input, *want;
        bool is_json;
        size_t n_bad;
    } cases[] = {
        {"nothing", "", "", false, 0},
        {"one", "0x1000\n", "0x1000 f + 0 (/d/a.c:1:3)\n", false, 0},
        {"inlined call", "1008\n",
         "0x1008 Foo::bar() (/d/inc/b.h:21:3)\n    inlined into f + 8 (/d/a.c:7:9)\n", false, 0},
        {"no file", "101f", "0x101f f + 31\n", false, 0},
        {"outside", "0X20000\n", "0x20000 ?\n", false, 0},
        {"no newline at the end, white space around", " \t0x1000 \r\n0x20000",
         "0x1000 f + 0 (/d/a.c:1:3)\n0x20000 ?\n", false, 0},
        {"all digits", "0x0123456789abcdef\nFEDCBA9876543210\n0\n",
         "0x123456789abcdef ?\n0xfedcba9876543210 ?\n0x0 ?\n", false, 0},
        {"no addresses", "\nmain\n0x\n10000000000000000\n12 34\n0x20000\n", "0x20000 ?\n", false,
         5},
        {"JSON", "1008\n20000\n",
         "{\"address\":\"0x1008\",\"symbols\":[{\"function\":\"Foo::bar()\","
         "\"mangled\":\"_ZN3Foo3barEv\",\"file\":\"/d/inc/b.h\",\"line\":21,\"column\":3,"
         "\"inlined\":true,\"source\":\"dwarf\"},{\"function\":\"f\",\"mangled\":\"f\","
         "\"file\":\"/d/a.c\",\"line\":7,\"column\":9,\"offset\":8,\"inlined\":false,"
         "\"source\":\"dwarf\"}]}\n{\"address\":\"0x20000\",\"symbols\":[]}\n",
         true, 0},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer got = {0};
        print_message("%s\n", cases[i].name);
        assert_int_equal(answers(fixture->index, cases[i].is_json, 1, cases[i].input, &got),
                         cases[i].n_bad);
        assert_string_equal(fz_buffer_cstr(&got), cases[i].want);
    }
}

/* Long input, so that all threads take part, has its answers in its order. */
static void
test_threads(void **state)
{
    const struct fixture *fixture = *state;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer input = {0};
    for (unsigned i = 0; i < 100000; i++)
        fz_buffer_printf(&input, i % 1000 == 7 ? "bad%x\n" : "%x\n", 0xff0 + i * 7 % 0x40);
    for (int is_json = 0; is_json < 2; is_json++) {
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer one = {0};
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer many = {0};
        const char *text = fz_buffer_cstr(&input);
        assert_int_equal(answers(fixture->index, is_json, 1, text, &one),
                         answers(fixture->index, is_json, 5, text, &many));
        assert_true(one.len > input.len);
        assert_int_equal(one.len, many.len);
        assert_memory_equal(one.data, many.data, one.len);
    }
}

/* A line longer than any batch is not an address, and the lines after it are looked up. */
static void
test_long_line(void **state)
{
    const struct fixture *fixture = *state;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer input = {0};
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer got = {0};
    for (unsigned i = 0; i < 300000; i++)
        fz_buffer_char(&input, '1');
    fz_buffer_text(&input, "\n0x20000\n");
    assert_int_equal(answers(fixture->index, false, 2, fz_buffer_cstr(&input), &got), 1);
    assert_string_equal(fz_buffer_cstr(&got), "0x20000 ?\n");
}

struct talk {
    const struct sym_index *index;
    int in, out;
};

static void *
answer_all(void *user)
{
    const struct talk *talk = user;
    struct lookup_stream_options options = {.n_threads = 2};
    size_t n_bad;
    fz_ignore(lookup_stream(talk->index, &options, talk->in, talk->out, &n_bad, NULL));
    return NULL;
}

/* Who waits for each answer before it asks again gets it. */
static void
test_conversation(void **state)
{
    const struct fixture *fixture = *state;
    int there[2], back[2];
    assert_int_equal(pipe(there), 0);
    assert_int_equal(pipe(back), 0);
    struct talk talk = {fixture->index, there[0], back[1]};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, answer_all, &talk), 0);
    for (int i = 0; i < 3; i++) {
        static const char want[] = "0x20000 ?\n";
        char got[sizeof(want)] = "";
        size_t len = 0;
        assert_int_equal(write(there[1], "0x20000\n", 8), 8);
        while (len < sizeof(want) - 1) {
            ssize_t n = read(back[0], got + len, sizeof(want) - 1 - len);
            assert_true(n > 0);
            len += (size_t)n;
        }
        assert_string_equal(got, want);
    }
    close(there[1]);
    pthread_join(thread, NULL);
    close(there[0]);
    close(back[0]);
    close(back[1]);
}

static void
test_errors(void **state)
{
    const struct fixture *fixture = *state;
    struct lookup_stream_options options = {.n_threads = 3};
    struct fz_error err;
    size_t n_bad = 0;
    FILE *out = tmpfile();
    assert_non_null(out);
    assert_int_equal(lookup_stream(fixture->index, &options, -1, fileno(out), &n_bad, &err),
                     FZ_E_INTERNAL);
    assert_non_null(strstr(err.text, "cannot read the addresses"));
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer input = {0};
    for (unsigned i = 0; i < 100000; i++)
        fz_buffer_text(&input, "1000\n");
    FILE *in = temporary(input.data, input.len);
    assert_int_equal(lookup_stream(fixture->index, &options, fileno(in), -1, &n_bad, &err),
                     FZ_E_INTERNAL);
    assert_non_null(strstr(err.text, "cannot write"));
    fclose(in);
    fclose(out);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),   cmocka_unit_test(test_threads),
        cmocka_unit_test(test_long_line), cmocka_unit_test(test_conversation),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
