/* Names of every language, hostile names, and the published lists of expectations. */
#include "symbolicator/symbolicator.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/attr.h"
#include "tests/unit/corpus.h"

static void
test_names(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool is_macho_symbol, done;
        const char *want;
    } cases[] = {
        {"_Z5inneri", false, true, "inner(int)"},
        {"__Z5inneri", true, true, "inner(int)"},
        {"__Z5inneri", false, true, "inner(int)"},
        {"_ZN3Foo3barEv.cold", false, true, "Foo::bar() (.cold)"},
        {"_ZN3Foo3barEv.llvm.123", false, true, "Foo::bar() (.llvm.123)"},
        {"_ZN3fooL3barEv.isra.0", false, true, "foo::bar() (.isra.0)"},
        {"____ZN3Foo3barEv_block_invoke", true, true,
         "invocation function for block in Foo::bar()"},
        {"___ZN3Foo3barEv_block_invoke_2", false, true,
         "invocation function for block in Foo::bar()"},
        {"_ZN4core3fmt5write17h0123456789abcdefE", false, true, "core::fmt::write"},
        {"__ZN4core3fmt5write17h0123456789abcdefE", true, true, "core::fmt::write"},
        {"_RNvCshGpAVYOtgW1_5hello4rust", false, true, "hello::rust"},
        {"__RNvCshGpAVYOtgW1_5hello4rust", true, true, "hello::rust"},
        {"_RNvC3dot1a.llvm.12", false, true, "dot::a (.llvm.12)"},
        {"___10-[Foo bar]_block_invoke_2", true, true, "-[Foo bar] (block 2)"},
        {"__10-[Foo bar]_block_invoke", false, true, "-[Foo bar] (block)"},
        {"__11+[Foo bar:]_block_invoke", false, true, "+[Foo bar:] (block)"},
        {"___main_block_invoke", true, true, "main (block)"},
        {"__main_block_invoke_12", false, true, "main (block 12)"},
        /* The function has an underscore of its own, or two. */
        {"____CFXNotify_block_invoke", true, true, "_CFXNotify (block)"},
        {"___CFXNotify_block_invoke", false, true, "_CFXNotify (block)"},
        {"____CFXNotify_block_invoke_2", false, true, "__CFXNotify (block 2)"},
        {"___10-[Foo bar]_block_invoke", false, true, "-[Foo bar] (block)"},
        {"____ZN3Foo3barEv_block_invoke", false, true,
         "invocation function for block in Foo::bar()"},
        {"___10-[Foo baz]_block", false, false, "___10-[Foo baz]_block"},
        {"-[Foo bar]", true, false, "-[Foo bar]"},
        {"_main", true, false, "main"},
        {"_main", false, false, "_main"},
        {"main", true, false, "main"},
        {"__mangled", true, false, "_mangled"},
        {"___99-[Foo bar]_block_invoke", true, false, "__99-[Foo bar]_block_invoke"},
        {"__x_block_invokes", false, false, "__x_block_invokes"},
        {"__block_invoke", false, false, "__block_invoke"},
        {"_Z", false, false, "_Z"},
        {"_ZN3foo", false, false, "_ZN3foo"},
        {"_R", false, false, "_R"},
        {"i", false, false, "i"}, /* types alone are not names of symbols */
        {"PKFvRiE", false, false, "PKFvRiE"},
        {"PKFvRiE", true, false, "PKFvRiE"},
        {"", false, false, ""},
        {"_", true, false, ""},
        {"__hidden#12_", false, false, "__hidden#12_"},
        {"_RNvC1au25zzzzzzzzzzzzzzzzzzzzzzzzz", false, false,
         "_RNvC1au25zzzzzzzzzzzzzzzzzzzzzzzzz"},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct fz_buffer out;
        fz_buffer_init(&out, 0);
        print_message("%s\n", cases[i].name);
        assert_int_equal(sym_demangle(cases[i].name, cases[i].is_macho_symbol, NULL, &out),
                         cases[i].done);
        assert_string_equal(fz_buffer_cstr(&out), cases[i].want);
        fz_buffer_deinit(&out);
    }
}

static void
test_simplified(void **state)
{
    (void)state;
    static const struct {
        const char *name, *want;
    } cases[] = {
        {"_ZNSt3__16vectorINS_12basic_stringIcNS_11char_traitsIcEENS_9allocatorIcEEEENS4_IS6_EEE9"
         "push_backERKS6_",
         "std::vector<std::string>::push_back(std::string const&)"},
        {"_ZN3FooIiNSt3__19allocatorIiEEE3barEv", "Foo<int>::bar()"},
        {"_Z3barNSt3__19allocatorIiEE", "bar(std::allocator<int>)"},
        {"_ZN3mapIiNSt3__14lessIiEE1XE3barEv", "map<int, X>::bar()"},
        {"_Z1fPFivE", "f(int (*)())"},
    };
    static const struct sym_demangle_options options = {.simplified = true};
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct fz_buffer out;
        fz_buffer_init(&out, 0);
        assert_true(sym_demangle(cases[i].name, false, &options, &out));
        assert_string_equal(fz_buffer_cstr(&out), cases[i].want);
        fz_buffer_deinit(&out);
    }
}

static void
test_hidden(void **state)
{
    (void)state;
    assert_true(sym_demangle_is_hidden("__hidden#1234_"));
    assert_true(sym_demangle_is_hidden("___hidden#1_"));
    assert_false(sym_demangle_is_hidden("_hidden_function"));
    assert_false(sym_demangle_is_hidden(""));
}

struct hostile {
    const char *name, *head, *unit, *tail;
    size_t times;
    bool done;
};

static const struct hostile hostile[] = {
    {"pointers", "_Z1f", "P", "i", 60000, true},
    {"local names", "_Z", "Z", "1f", 60000, false},
    {"function types", "_Z1f", "F", "i", 60000, false},
    {"nested names", "_Z", "N", "1f", 60000, false},
    {"template arguments", "_Z1f", "1aI", "i", 20000, false},
    {"expressions", "_Z1fIX", "ng", "1aE", 30000, false},
    {"template parameters", "_Z1fI", "Tt", "i", 30000, false},
    {"rust tuples", "_RIC1a", "T", "E", 60000, false},
    {"rust references", "_RIC1a", "R", "E", 60000, false},
    {"longer than is read", "_Z1f", "P", "i", 70000, false},
    {"blocks", "_", "_", "_block_invoke", 60000, true},
};

/* `user` is the room on the stack that the options give; names are as long as that allows. */
static void *
demangle_hostile(void *user)
{
    const size_t *room = user;
    struct sym_demangle_options options = {.stack_room = *room};
    for (size_t i = 0; i < FZ_ARRAY_LEN(hostile); i++) {
        const struct hostile *h = &hostile[i];
        struct fz_buffer name, out;
        fz_buffer_init(&name, 0);
        fz_buffer_init(&out, 0);
        fz_buffer_text(&name, h->head);
        for (size_t k = 0; k < h->times && (*room == 0 || name.len < *room / 1024 - 8); k++)
            fz_buffer_text(&name, h->unit);
        fz_buffer_text(&name, h->tail);
        bool done = sym_demangle(fz_buffer_cstr(&name), false, &options, &out);
        if (*room == 0 && done != h->done)
            fail_msg("%s: %d", h->name, done);
        assert_true(out.len > 0);
        fz_buffer_deinit(&name);
        fz_buffer_deinit(&out);
    }
    return NULL;
}

/* 512 KiB is the smallest stack that the demangler must work on. */
static void
test_deep_nesting_on_small_and_usual_stacks(void **state)
{
    (void)state;
    static const struct {
        size_t stack, room;
    } cases[] = {{512 * 1024, 0}, {8 << 20, 0}, {1 << 20, 768 * 1024}, {8 << 20, 6 << 20}};
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        size_t room = cases[i].room;
        pthread_attr_t attributes;
        pthread_t thread;
        assert_int_equal(pthread_attr_init(&attributes), 0);
        assert_int_equal(pthread_attr_setstacksize(&attributes, cases[i].stack), 0);
        assert_int_equal(pthread_create(&thread, &attributes, demangle_hostile, &room), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        pthread_attr_destroy(&attributes);
    }
}

/* Each pair doubles the text, so 40 of them would need a terabyte. */
FZ_UNUSED static void
test_doubling_substitutions(void **state)
{
    (void)state;
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    for (int n = 4; n <= 36; n += 16) {
        struct fz_buffer name, out;
        fz_buffer_init(&name, 0);
        fz_buffer_init(&out, 0);
        fz_buffer_text(&name, "_Z1fSt4pairIiiE");
        for (int i = 0; i < n; i++)
            fz_buffer_printf(&name, "S_IS%c_S%c_E", digits[i], digits[i]);
        bool done = sym_demangle(fz_buffer_cstr(&name), false, NULL, &out);
        assert_int_equal(done, n == 4);
        if (!done)
            assert_string_equal(fz_buffer_cstr(&out), fz_buffer_cstr(&name));
        fz_buffer_deinit(&name);
        fz_buffer_deinit(&out);
    }
}

/* Lines are mangled<TAB>expected; at least `least` of them must match. */
static void
check_list(const char *file, size_t least)
{
    char name[128], path[512];
    snprintf(name, sizeof(name), "demangle/%s", file);
    if (!corpus_path(name, path, sizeof(path)))
        skip();
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    char *line = NULL;
    size_t room = 0, n = 0, n_right = 0;
    while (getline(&line, &room, in) > 0) {
        line[strcspn(line, "\n")] = '\0';
        char *want = strchr(line, '\t');
        if (!want)
            continue;
        *want++ = '\0';
        want[strcspn(want, "\t")] = '\0';
        struct fz_buffer out;
        fz_buffer_init(&out, 0);
        fz_ignore(sym_demangle(line, false, NULL, &out)); /* the text is compared instead */
        n_right += strcmp(fz_buffer_cstr(&out), want) == 0;
        n++;
        fz_buffer_deinit(&out);
    }
    free(line);
    fclose(in);
    print_message("%s: %zu of %zu as expected\n", file, n_right, n);
    assert_true(n_right >= least);
}

static void
test_list_of_cxx(void **state)
{
    (void)state;
    check_list("itanium-libcxxabi.tsv", 10284); /* the other two are types, not symbols */
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_simplified),
        cmocka_unit_test(test_hidden),
        cmocka_unit_test(test_deep_nesting_on_small_and_usual_stacks),
#if FZ_CXX_RENAMED /* the system's demangler has no bounds */
        cmocka_unit_test(test_doubling_substitutions),
#endif
        cmocka_unit_test(test_list_of_cxx),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
