/* Declarations of hostile names, and what holds for the names of published lists: wrappers, readable
 * forms, and declarations as names. */
#include "symbolicator/demangle/declaration.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/attr.h"
#include "base/text.h"
#include "symbolicator/symbolicator.h"
#include "tests/unit/corpus.h"

enum { ARENA_MAX = 64 * 1024 };

static struct sym_declaration
find(const char *linkage, const char *readable, struct fz_arena *arena)
{
    struct sym_declaration found;
    struct fz_error err;
    assert_int_equal(
        sym_demangle_declaration(linkage, readable, sym_demangle_stack_room(), arena, &found, &err),
        FZ_OK);
    return found;
}

/* `n` times `part` between `start` and `end`. */
static char *
repeated(const char *start, const char *part, size_t n, const char *end)
{
    struct fz_buffer text = fz_buffer_make(0);
    fz_buffer_text(&text, start);
    for (size_t i = 0; i < n; i++)
        fz_buffer_text(&text, part);
    fz_buffer_text(&text, end);
    assert_false(text.failed);
    return text.data; /* the caller frees it */
}

static void
test_hostile(void **state)
{
    (void)state;
    static const struct {
        const char *start, *part, *end;
    } shapes[] = {
        {"", "x", ""},
        {"", "\xff", ""},
        {"", "\xc3\xa4", ""},
        {"foo", "(", ""},
        {"foo", "<", ""},
        {"foo", "()", ""},
        {"foo", "()::", "x"},
        {"foo", "::'lambda'()", ""},
        {"foo", "::operator<", ""},
        {"", "operator ", ""},
        {"", "a ", ""},
        {"", "void (*", ""},
        {"", "closure #1 in ", "f()"},
        {"", "f() in ", "f()"},
        {"", "A #1 in ", "f()"},
        {"", "protocol witness for ", ""},
        {"", "key path getter for ", ""},
        {"", "generic specialization <", ""},
        {"", "(1) await resume partial function for ", "f()"},
        {"", "vtable thunk for ", ""},
        {"f(", "x: A, ", "x: A) -> ()"},
        {"", "{{", ""},
        {"<", "a::<", ""},
        {"", "a.", "b()"},
        {"load", ".cold", ""},
        {"load", ".1", ""},
        {"-[", "(", " x]"},
        {"$s4Shop4loadyyF", "yycfU_", ""},
        {"$s4Shop4loadyyF", "TA", ""},
        {"$s4Shop4loadyyF", "3rowL_yyF", ""},
        {"$s4Shop", "4rowsC", "3addyyF"},
        {"$s4Shop1f", "Si_", "tF"},
        {"_ZN", "3foo", "Ev"},
        {"_Z", "Z", "1fvE"},
        {"_R", "NC", "C1a0"},
        {"__1", "0", "-[Foo bar]_block_invoke"},
        {"", "non-virtual thunk to ", "f()"},
    };
    static const size_t lens[] = {1024, 40 * 1024, 64 * 1024, 1024 * 1024};
    for (size_t i = 0; i < FZ_ARRAY_LEN(shapes); i++) {
        for (size_t k = 0; k < FZ_ARRAY_LEN(lens); k++) {
            FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(ARENA_MAX);
            char *name = repeated(shapes[i].start, shapes[i].part, lens[k] / strlen(shapes[i].part),
                                  shapes[i].end);
            struct sym_declaration found = find(name, NULL, &arena);
            assert_true(strlen(found.name) <= SYM_DECLARATION_MAX);
            assert_true(strlen(found.removed) <= SYM_DECLARATION_MAX);
            assert_true(strlen(found.module) <= SYM_DECLARATION_MAX);
            assert_true(fz_text_is_utf8(fz_span_cstr(found.name)));
            free(name);
        }
    }
}

/* What is cut still tells two names apart. */
static void
test_long_names(void **state)
{
    (void)state;
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(ARENA_MAX);
    char *one = repeated("f", "x", 1 << 20, "a"), *other = repeated("f", "x", 1 << 20, "b");
    const char *a = find(one, NULL, &arena).name, *b = find(other, NULL, &arena).name;
    assert_int_equal(strlen(a), SYM_DECLARATION_MAX);
    assert_string_not_equal(a, b);
    assert_string_equal(a, find(one, NULL, &arena).name);
    assert_true(strncmp(a, "fxxxx", 5) == 0);
    free(one);
    free(other);
}

static void
test_arena_is_exhausted(void **state)
{
    (void)state;
    for (int64_t n = 0; n < 2; n++) { /* name and module */
        FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(ARENA_MAX);
        struct sym_declaration found = {.name = "unchanged"};
        struct fz_error err;
        arena.fail_after = n;
        assert_int_equal(sym_demangle_declaration("$s4Shop4loadyyF", NULL, 0, &arena, &found, &err),
                         FZ_E_NO_MEMORY);
        assert_string_equal(found.name, "unchanged");
    }
}

/* ---- lists of the corpus ---------------------------------------------------------------------- */

typedef void on_name_fn(const char *name, void *user);

/* The mangled names of a list: what comes before a blank or tab. */
static void
read_list(const char *file, on_name_fn *on_name, void *user)
{
    char path[4096];
    if (!corpus_path(file, path, sizeof(path)))
        skip();
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, in) > 0) {
        line[strcspn(line, " \t\n")] = '\0';
        on_name(line, user);
    }
    free(line);
    fclose(in);
}

static bool
is_demangled(const char *name)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    return sym_demangle(name, false, NULL, &out);
}

/* Is the readable form of `name` a part of that of `text`? */
static bool
contains(const char *text, const char *name)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer outer = fz_buffer_make(0);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer inner = fz_buffer_make(0);
    return sym_demangle(text, false, NULL, &outer) && sym_demangle(name, false, NULL, &inner) &&
           strstr(fz_buffer_cstr(&outer), fz_buffer_cstr(&inner));
}

static const struct {
    const char *prefix, *suffix;
} swift_wrappers[] = {
    /* Of any version since 4. */
    {"", "TA"},
    {"", "Ta"},
    {"", "Tm"},
    {"", "To"},
    {"", "TO"},
    {"", "TD"},
    {"", "Td"},
    {"", "TE"},
    {"", "TF"},
    {"", "TI"},
    {"", "TQ0_"},
    {"", "TY12_"},
    {"", "Tu"},
    {"", "Twb"},
    {"", "TwB"},
    {"", "Twc"},
    {"", "Twd"},
    {"", "Tj"},
    {"", "Tq"},
    {"", "Tc"},
    {"", "TTI"},
    {"", "TTH"},
    {"", "TS"},
    {"", "Tv3_"},
    {"", "Tv3_r"},
    {"", "Si_Tg5"},
    {"", "Si_TG5"},
    {"", "Si_TB5"},
    {"", "Si_Ts5"},
    {"", "Si_Ti5"},
    {"", "SiTp5"},
    {"", "Tf4n_n"},
    {"", "Tf4dg_n"},
    {"", "yycfU_"},
    {"", "yycfU5_"},
    {"", "yycfu_"},
    {"", "fA_"},
    {"", "fi"},
    {"", "fP"},
    {"", "fW"},
    {"", "6$deferL_yyF"},
    {"", "TJfSpSr"},
    {"", ".llvm.123"},
    {"", ".resume.0"},
    {"", "yycfU_TA"},
    {"", "yycfU_TQ0_"},
    {"", "yycfU_Si_Tg5Tf4n_n"},
    /* Of Swift 1 to 3. */
    {"_TTo", ""},
    {"_TTO", ""},
    {"_TTD", ""},
    {"_TPA_", ""},
    {"_TPAo_", ""},
    {"_TTSg5Si__", ""},
    {"_TTSr5Si__", ""},
    {"_TTSf4d__", ""},
};

struct wrapped {
    size_t n[FZ_ARRAY_LEN(swift_wrappers)];
};

/* What wraps a name has the name's declaration. */
static void
check_wrappers(const char *name, void *user)
{
    struct wrapped *wrapped = user;
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(ARENA_MAX);
    struct sym_declaration plain = find(name, NULL, &arena);
    bool is_old = strncmp(name, "_T", 2) == 0 && strncmp(name, "_T0", 3) != 0;
    /* What follows a suffix belongs to it. */
    if (!plain.is_real || plain.language != SYM_SWIFT || !is_demangled(name) || strchr(name, '.'))
        return;
    for (size_t i = 0; i < FZ_ARRAY_LEN(swift_wrappers); i++) {
        const char *prefix = swift_wrappers[i].prefix;
        bool separated = fz_text_has_suffix(prefix, "_"); /* the whole name follows */
        if ((prefix[0] != '\0') != is_old)
            continue;
        char *text =
            fz_arena_printf(&arena, "%s%s%s", prefix, name + (prefix[0] && !separated ? 2 : 0),
                            swift_wrappers[i].suffix);
        assert_non_null(text);
        if (!contains(text, name)) /* not of what has that form */
            continue;
        struct sym_declaration found = find(text, NULL, &arena);
        if (!found.is_real || strcmp(found.name, plain.name) != 0 ||
            strcmp(found.module, plain.module) != 0)
            print_error("%s: %s, not %s\n", text, found.name, plain.name);
        assert_true(found.is_real);
        assert_string_equal(found.name, plain.name);
        assert_string_equal(found.module, plain.module);
        wrapped->n[i]++;
    }
}

static void
test_wrappers_of_listed_names(void **state)
{
    (void)state;
    struct wrapped wrapped = {{0}};
    read_list("demangle/swift-manglings.txt", check_wrappers, &wrapped);
    for (size_t i = 0; i < FZ_ARRAY_LEN(swift_wrappers); i++) {
        print_message("%s...%s: %zu names\n", swift_wrappers[i].prefix, swift_wrappers[i].suffix,
                      wrapped.n[i]);
        assert_true(wrapped.n[i] > 0);
    }
}

struct readable {
    size_t n, n_same;
    bool simplified;
};

/* A name's readable form has the declaration of the name. */
static void
check_readable(const char *name, void *user)
{
    struct readable *readable = user;
    struct sym_demangle_options options = {.simplified = readable->simplified};
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(ARENA_MAX);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    struct sym_declaration found = find(name, NULL, &arena);
    if (!sym_demangle(name, false, &options, &text))
        return;
    struct sym_declaration other = find(NULL, fz_buffer_cstr(&text), &arena);
    bool same = strcmp(found.name, other.name) == 0;
    if (!same && found.is_real)
        print_message("%s: %s, not %s\n", fz_buffer_cstr(&text), other.name, found.name);
    readable->n += found.is_real;
    readable->n_same += same && found.is_real;
}

static void
test_readable_forms_of_listed_names(void **state)
{
    (void)state;
    static const struct {
        const char *list;
        bool simplified;
        size_t n_least, n_other; /* other: what the text does not say */
    } lists[] = {
        {"demangle/swift-manglings.txt", true, 110, 5},
        {"demangle/swift-manglings.txt", false, 110, 14},
        {"demangle/itanium-libcxxabi.tsv", false, 9000, 4},
        {"demangle/rust-llvm-v0.tsv", false, 60, 12},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(lists); i++) {
        struct readable readable = {.simplified = lists[i].simplified};
        read_list(lists[i].list, check_readable, &readable);
        print_message("%s: %zu of %zu\n", lists[i].list, readable.n_same, readable.n);
        assert_true(readable.n >= lists[i].n_least);
        assert_true(readable.n - readable.n_same <= lists[i].n_other);
    }
}

/* The key of a key is the key: names that were found go through again unchanged. */
static void
check_again(const char *name, void *user)
{
    size_t *n = user;
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(ARENA_MAX);
    struct sym_declaration found = find(name, NULL, &arena);
    /* Conversions with a type of several words, and names of several words, look like results. */
    if (!found.is_real || (found.language != SYM_CXX && found.language != SYM_SWIFT))
        return;
    struct sym_declaration again = find(NULL, found.name, &arena);
    if (strcmp(again.name, found.name) != 0)
        print_error("%s: %s\n", found.name, again.name);
    assert_string_equal(again.name, found.name);
    ++*n;
}

static void
test_listed_names_again(void **state)
{
    (void)state;
    size_t n = 0;
    read_list("demangle/itanium-libcxxabi.tsv", check_again, &n);
    assert_true(n > 9000);
    read_list("demangle/swift-manglings.txt", check_again, &n);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_long_names),
        cmocka_unit_test(test_arena_is_exhausted),
        cmocka_unit_test(test_wrappers_of_listed_names),
        cmocka_unit_test(test_readable_forms_of_listed_names),
        cmocka_unit_test(test_listed_names_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
