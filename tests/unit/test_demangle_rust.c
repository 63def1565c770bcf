/* Rust's two manglings in each style, hostile names, and the published lists of expectations. */
#include "symbolicator/demangle/rust/rust.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/attr.h"
#include "symbolicator/symbolicator.h"
#include "tests/unit/corpus.h"

static const char *const style_names[] = {"llvm", "no_hash", "with_hash"};

/* True if `name` becomes `want`, or is refused if `want` is NULL. A mismatch is printed. */
static bool
comes_out_as(const char *name, enum sym_rust_style style, const char *want)
{
    struct fz_buffer out;
    fz_buffer_init(&out, 0);
    bool done = sym_demangle_rust_style(name, style, &out);
    bool right = want ? done && strcmp(fz_buffer_cstr(&out), want) == 0 : !done && out.len == 0;
    if (!right)
        print_message("%s, %s: %s\n", name, style_names[style],
                      done ? fz_buffer_cstr(&out) : "not understood");
    fz_buffer_deinit(&out);
    return right;
}

struct rust_case {
    const char *name, *bare, *plain, *llvm; /* NULL for the last two: as bare */
};

static void
check(const struct rust_case *cases, size_t n)
{
    size_t n_wrong = 0;
    for (size_t i = 0; i < n; i++) {
        const struct rust_case *c = &cases[i];
        n_wrong += !comes_out_as(c->name, RUST_BARE, c->bare);
        n_wrong += !comes_out_as(c->name, RUST_PLAIN, c->plain ? c->plain : c->bare);
        n_wrong += !comes_out_as(c->name, RUST_LLVM, c->llvm ? c->llvm : c->bare);
    }
    assert_int_equal(n_wrong, 0);
}

static void
test_legacy(void **state)
{
    (void)state;
    static const struct rust_case cases[] = {
        {"_ZN3app4main17h0123456789abcdefE", "app::main", "app::main::h0123456789abcdef", NULL},
        {"_ZN3app17h0123456789abcdefE.llvm.12AF@@8", "app", "app::h0123456789abcdef", NULL},
        {"_ZN3app17h0123456789abcdefE.cold.1", "app.cold.1", "app::h0123456789abcdef.cold.1", NULL},
        {"_ZN3app17h0123456789abcdefE.cold.llvm.7", "app.cold", "app::h0123456789abcdef.cold",
         NULL},
        {"ZN3app3runE", "app::run", NULL, NULL},
        {"_ZN3app1hE", "app", "app::h", NULL},
        {"_ZN3app3hogE", "app::hog", NULL, NULL},
        {"_ZN28_$LT$$RF$T$C$$u20$U$u5d$$GT$1xE", "<&T, U]>::x", NULL, NULL},
        {"_ZN21$LP$$SP$$BP$$RP$$u7e$1xE", "(@*)~::x", NULL, NULL},
        {"_ZN9a..b.c..d1xE", "a::b.c::d::x", NULL, NULL},
        {"_ZN9$u4e16$$x1xE", "\xe4\xb8\x96$x::x", NULL, NULL},
        {"_ZN6$uABC$E", "$uABC$", NULL, NULL},     /* only lower case */
        {"_ZN7a$u7f$bE", "a$u7f$b", NULL, NULL},   /* a control character */
        {"_ZN8a$ud800$E", "a$ud800$", NULL, NULL}, /* a surrogate */
        {"_ZN10$u110000$xE", "$u110000$x", NULL, NULL},
        {"_ZN11$u1000000$xE", "$u1000000$x", NULL, NULL},
        {"_ZN8$LT.$..$E", "$LT.$..$", NULL, NULL}, /* text after an unknown escape is kept */
        {"_ZN3a$bE", "a$b", NULL, NULL},
        {"_ZN4a..$E", "a::$", NULL, NULL},
        {"_ZN0E", NULL, NULL, NULL}, /* an empty name */
        {"_ZNE", NULL, NULL, NULL},
        {"_ZN3foo", NULL, NULL, NULL},
        {"_ZN3fo", NULL, NULL, NULL},
        {"_ZN99999999999999999999999fooE", NULL, NULL, NULL},
        {"_ZN3fooEv", NULL, NULL, NULL},
        {"_ZN3fooE.a b", NULL, NULL, NULL},
        {"_ZN3foo\xc3\xa9"
         "E",
         NULL, NULL, NULL},
        {"_ZNK3foo3barE", NULL, NULL, NULL},
        {"ZN", NULL, NULL, NULL},
    };
    check(cases, FZ_ARRAY_LEN(cases));
}

static void
test_v0_paths_and_types(void **state)
{
    (void)state;
    static const struct rust_case cases[] = {
        {"_RNvCs1a_3app4main", "app::main", "app[4a]::main", NULL},
        {"_RNvNtC3app1m3run.llvm.99", "app::m::run", NULL, "app::m::run (.llvm.99)"},
        {"_RNvC3app3run.cold", "app::run.cold", NULL, NULL},
        {"_RNvC3app3run.0.0.llvm.99", "app::run.0.0", NULL, "app::run.0.0 (.llvm.99)"},
        {"_RNSC3app6vtable", "app::{shim:vtable#0}", NULL, NULL},
        {"_RNCNvC3app3run0", "app::run::{closure#0}", NULL, NULL},
        {"_RNCNvC3app3runs_0", "app::run::{closure#1}", NULL, NULL},
        {"_RNvYNtC3app1TNtB4_2Tr1f", "<app::T as app::Tr>::f", NULL, NULL},
        {"_RNvMs_C3appNtB4_1T1f", "<app::T>::f", NULL, NULL},
        {"_RNvXC3appNtB2_1TNtB2_2Tr1f", "<app::T as app::Tr>::f", NULL, NULL},
        {"_RINvC3app1fRL_ePxOdE", "app::f::<&str, *const i64, *mut f64>", NULL, NULL},
        {"_RINvC3app1fTETaETabEE", "app::f::<(), (i8,), (i8, bool)>", NULL, NULL},
        {"_RINvC3app1fShAhj10_E", "app::f::<[u8], [u8; 16]>", "app::f::<[u8], [u8; 16usize]>",
         NULL},
        {"_RINvC3app1fFUKCzEvE", "app::f::<unsafe extern \"C\" fn(!) -> ...>", NULL, NULL},
        {"_RINvC3app1fFK8C_unwindEuE", "app::f::<extern \"C-unwind\" fn()>", NULL, NULL},
        {"_RINvC3app1fFG_RL0_eEBc_E", "app::f::<for<'a> fn(&'a str) -> &'a str>", NULL, NULL},
        {"_RINvC3app1fDG_INtC3std2FnTRL0_eEEp6OutputbEL_E",
         "app::f::<dyn for<'a> std::Fn<(&'a str,), Output = bool>>", NULL, NULL},
        {"_RINvC3app1fDNtC3std1ANtBc_1BEL_E", "app::f::<dyn std::A + std::B>", NULL, NULL},
        {"_RINvC3app1fFG_DNtC3std1AEL0_EuE", "app::f::<for<'a> fn(dyn std::A + 'a)>", NULL, NULL},
        {"_RINvC3app1fDNtC3std1Ap1XKj7_EL_E", "app::f::<dyn std::A<X = 7>>",
         "app::f::<dyn std::A<X = 7usize>>", NULL},
        {"_RINvC3app1fWmRm1_m9_E", "app::f::<u32 is 1..=9>", "app::f::<u32 is 1u32..=9u32>", NULL},
        {"_RINvC3app1fWhORh0_h1_Rh7_h8_EE", "app::f::<u8 is 0..=1 | 7..=8>",
         "app::f::<u8 is 0u8..=1u8 | 7u8..=8u8>", NULL},
        {"_RINvC3app1fWPhNE", "app::f::<*const u8 is !null>", NULL, NULL},
        {"_RNvC3appu9bcher_kva",
         "app::b\xc3\xbc"
         "cher",
         NULL, NULL},
        {"_RNvC3appu10Mnchen_3ya", "app::M\xc3\xbcnchen", NULL, NULL},
        {"_RNvC3app3_12", NULL, NULL, NULL},
        {"_RNvC3app2_12", "app::12", NULL, NULL},
        {"_RINvC3app1fhEC5other", "app::f::<u8>", NULL, NULL},
        {"_RINvC3app1fhEC5otherC5again", NULL, NULL, NULL},
        {"_RNvC3appu3a__", NULL, NULL, NULL},     /* empty Punycode */
        {"_RNvC3appu3xZZ", NULL, NULL, NULL},     /* Punycode digits are lower case */
        {"_RINvC3app1fRL0_eE", NULL, NULL, NULL}, /* an unbound lifetime */
        {"_RINvC3app1fFGzzzz_EuE", NULL, NULL, NULL},
        {"_RINvC3app1fDNtC3std1AEE", NULL, NULL, NULL},
        {"_RINvC3app1fBz_E", NULL, NULL, NULL}, /* a back reference to a later place */
        {"_RNvCszzzzzzzzzzzzz_3app1f", NULL, NULL, NULL},
        {"_RN1C3app1f", NULL, NULL, NULL},
        {"_RNvC3app$1f", NULL, NULL, NULL},
        {"_R1NvC3app1f", NULL, NULL, NULL},
        {"_RNvC3app1f.\x01", NULL, NULL, NULL},
        {"_R", NULL, NULL, NULL},
        {"_RNv", NULL, NULL, NULL},
    };
    check(cases, FZ_ARRAY_LEN(cases));
}

static void
test_v0_constants(void **state)
{
    (void)state;
    static const struct rust_case cases[] = {
        {"_RIC1fKj7b_E", "f::<123>", "f::<123usize>", NULL},
        {"_RIC1fKan80_E", "f::<-128>", "f::<-128i8>", NULL},
        {"_RIC1fKoffffffffffffffff_E", "f::<18446744073709551615>", "f::<18446744073709551615u128>",
         NULL},
        {"_RIC1fKnn10000000000000000_E", "f::<-0x10000000000000000>",
         "f::<-0x10000000000000000i128>", NULL},
        {"_RIC1fKb0_Kb1_KpE", "f::<false, true, _>", NULL, NULL},
        {"_RIC1fKc41_Kc27_Kc22_Kc5c_Kc0_E", "f::<'A', '\\'', '\"', '\\\\', '\\0'>", NULL, NULL},
        {"_RIC1fKc2202_E", "f::<'\xe2\x88\x82'>", NULL, NULL},
        {"_RIC1fKc1f40d_E", "f::<'\xf0\x9f\x90\x8d'>", NULL, "f::<'\\u{1f40d}'>"},
        {"_RIC1fKcad_Kc300_Ke7f_E", "f::<'\\u{ad}', '\\u{300}', {*\"\\u{7f}\"}>", NULL, NULL},
        {"_RIC1fKRe6122270a_E", "f::<\"a\\\"'\\n\">", NULL, NULL},
        {"_RIC1fKRe_Ke_E", "f::<\"\", {*\"\"}>", NULL, NULL},
        {"_RIC1fKRRe61_E", "f::<{&\"a\"}>", NULL, NULL},
        {"_RIC1fKRb1_KQb0_E", "f::<{&true}, {&mut false}>", NULL, NULL},
        {"_RIC1fKAb0_Tb1_EEKTEE", "f::<{[false, (true,)]}, {()}>", NULL, NULL},
        {"_RIC1fKVNvNtC3app1E1AUE", "f::<{app::E::A}>", NULL, NULL},
        {"_RIC1fKVNvINtC3app1EhE1ATb1_b0_EE", "f::<{app::E::<u8>::A(true, false)}>", NULL, NULL},
        {"_RIC1fKVNtC3app1SS1ab1_s_1bRe61_EE", "f::<{app::S { a: true, b: \"a\" }}>", NULL, NULL},
        {"_RIC1fKAb0_EKB4_E", "f::<{[false]}, {[false]}>", NULL, NULL},
        {"_RIC1fAbKb0_E", NULL, NULL, NULL},
        {"_RIC1fKb2_E", NULL, NULL, NULL},
        {"_RIC1fKj_E", NULL, NULL, NULL},
        {"_RIC1fKj07_E", NULL, NULL, NULL},
        {"_RIC1fKjn7_E", NULL, NULL, NULL}, /* unsigned types have no sign */
        {"_RIC1fKjF_E", NULL, NULL, NULL},
        {"_RIC1fKcd800_E", NULL, NULL, NULL},
        {"_RIC1fKc110000_E", NULL, NULL, NULL},
        {"_RIC1fKe616_E", NULL, NULL, NULL},
        {"_RIC1fKeff_E", NULL, NULL, NULL}, /* not UTF-8 */
        {"_RIC1fKd0_E", NULL, NULL, NULL},
        {"_RIC1fKVC1aXE", NULL, NULL, NULL},
    };
    check(cases, FZ_ARRAY_LEN(cases));
}

static void
repeat(struct fz_buffer *out, const char *unit, size_t n)
{
    for (size_t i = 0; i < n; i++)
        fz_buffer_text(out, unit);
}

/* Names that nest or grow without limit, or need unlimited work. */
static void
test_bounds(void **state)
{
    (void)state;
    static const struct {
        const char *what, *head, *unit;
        size_t n;
        const char *tail;
        bool done;
    } cases[] = {
        {"nested within reason", "_RIC1f", "R", 400, "hE", true},
        {"nested deeper", "_RIC1f", "R", 600, "hE", false},
        {"deep binders", "_RIC1f", "FG_", 60000 / 3, "EuE", false},
        {"deep constants", "_RIC1fK", "R", 60000, "h0_E", false},
        {"deep patterns", "_RIC1fWh", "O", 60000, "E", false},
        {"deep skipped impls", "_R", "M", 60000, "C0", false},
        {"wide", "_RIC1f", "h", 10000, "E", true},
        {"too long", "_RIC1f", "h", 30000, "E", false},
        {"a binder of many", "_RIC1fFGzz_", "h", 60, "EuE", false},
        {"long Punycode", "_RCu5000", "a", 5000, "", false},
        {"legacy parts", "_ZN", "1a", 20000, "E", true},
        {"legacy parts, too long", "_ZN", "1a", 30000, "E", false},
        {"escapes", "_ZN60000", "$LT$", 15000, "E", true},
        {"dollars", "_ZN60000", "$", 60000, "E", true},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct fz_buffer name, out;
        fz_buffer_init(&name, 0);
        fz_buffer_init(&out, 0);
        fz_buffer_text(&name, cases[i].head);
        repeat(&name, cases[i].unit, cases[i].n);
        fz_buffer_text(&name, cases[i].tail);
        print_message("%s\n", cases[i].what);
        assert_int_equal(sym_demangle_rust_style(fz_buffer_cstr(&name), RUST_LLVM, &out),
                         cases[i].done);
        assert_true(cases[i].done ? out.len > 0 : out.len == 0);
        fz_buffer_deinit(&name);
        fz_buffer_deinit(&out);
    }
}

/* Each tuple holds the one before it twice: 2^n leaves out of 4 * n bytes. */
static void
test_doubling_backrefs(void **state)
{
    (void)state;
    for (unsigned n = 8; n <= 26; n += 18) {
        struct fz_buffer name, out;
        fz_buffer_init(&name, 0);
        fz_buffer_init(&out, 0);
        fz_buffer_text(&name, "_RMC0");
        repeat(&name, "T", n);
        fz_buffer_char(&name, 'p');
        for (unsigned i = 0; i < n; i++) {
            char c = "0123456789abcdefghijklmnopqrstuvwxyz"[n - i + 2];
            fz_buffer_printf(&name, "B%c_E", c);
        }
        bool done = sym_demangle_rust_style(fz_buffer_cstr(&name), RUST_BARE, &out);
        assert_int_equal(done, n == 8);
        fz_buffer_deinit(&name);
        fz_buffer_deinit(&out);
    }
}

/* Names that are valid in both C++ and legacy Rust. */
static void
test_legacy_beside_cxx(void **state)
{
    (void)state;
    static const struct {
        const char *name, *plain, *with_hash;
    } cases[] = {
        {"_ZN3app4main17h0123456789abcdefE", "app::main", "app::main::h0123456789abcdef"},
        {"_ZN4$RF$1xE", "&::x", "&::x"},
        {"_ZN1a1hE", "a::h", "a::h"},
        {"_ZN12_GLOBAL__N_11aE", "(anonymous namespace)::a", "(anonymous namespace)::a"},
        {"_ZN1a4hashE", "a::hash", "a::hash"},
        {"_ZN1a1bEv", "a::b()", "a::b()"},
        {"_ZN1a1bE.llvm.12", "a::b (.llvm.12)", "a::b (.llvm.12)"},
        {"_ZN4mainE.llvm.12", "main", "main"},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        for (int keep = 0; keep < 2; keep++) {
            struct sym_demangle_options options = {.keep_hash = keep};
            struct fz_buffer out;
            fz_buffer_init(&out, 0);
            assert_true(sym_demangle(cases[i].name, false, &options, &out));
            assert_string_equal(fz_buffer_cstr(&out), keep ? cases[i].with_hash : cases[i].plain);
            fz_buffer_deinit(&out);
        }
    }
}

struct tally {
    size_t n;
    size_t n_styled; /* match in the style that the line names */
    size_t n_shown;  /* match in the style of `framezero demangle` */
};

static void
check_line(const char *name, const char *want, const char *mode, struct tally *tally)
{
    static const struct sym_demangle_options shown = {.keep_hash = true};
    const char *inner = strncmp(name, "__", 2) == 0 ? name + 1 : name; /* Mach-O's underscore */
    enum sym_rust_style style = strcmp(mode, "with_hash") == 0 ? RUST_PLAIN
                                : strcmp(mode, "no_hash") == 0 ? RUST_BARE
                                                               : RUST_LLVM;
    bool is_error = strcmp(mode, "error") == 0 || strcmp(name, want) == 0;
    struct fz_buffer out;
    fz_buffer_init(&out, 0);
    tally->n++;
    tally->n_styled += comes_out_as(inner, style, is_error ? NULL : want);
    fz_ignore(sym_demangle(name, false, &shown, &out)); /* the text is compared instead */
    if (strcmp(fz_buffer_cstr(&out), is_error ? name : want) == 0)
        tally->n_shown++;
    else
        print_message("shown, %s: %s\n", name, fz_buffer_cstr(&out));
    fz_buffer_deinit(&out);
}

static struct tally
check_list(const char *file)
{
    char path[512];
    struct tally tally = {0, 0, 0};
    if (!corpus_path(file, path, sizeof(path)))
        skip();
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, in) > 0) {
        line[strcspn(line, "\n")] = '\0';
        char *want = strchr(line, '\t');
        if (!want)
            continue;
        *want++ = '\0';
        char *mode = strchr(want, '\t');
        if (mode)
            *mode++ = '\0';
        check_line(line, want, mode ? mode : "", &tally);
    }
    free(line);
    fclose(in);
    print_message("%s: of %zu, %zu in their style, %zu as shown\n", file, tally.n, tally.n_styled,
                  tally.n_shown);
    return tally;
}

static void
test_list_of_llvm(void **state)
{
    (void)state;
    struct tally tally = check_list("demangle/rust-llvm-v0.tsv");
    assert_int_equal(tally.n_styled, tally.n);
    assert_int_equal(tally.n_shown, tally.n);
}

/* Some names occur twice, with and without the hash, so n_shown cannot reach n. */
static void
test_list_of_rustc(void **state)
{
    (void)state;
    struct tally tally = check_list("demangle/rust-rustc-demangle.tsv");
    assert_int_equal(tally.n_styled, tally.n);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_legacy),
        cmocka_unit_test(test_v0_paths_and_types),
        cmocka_unit_test(test_v0_constants),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_doubling_backrefs),
        cmocka_unit_test(test_legacy_beside_cxx),
        cmocka_unit_test(test_list_of_llvm),
        cmocka_unit_test(test_list_of_rustc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
