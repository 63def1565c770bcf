/* Swift names: own examples of each construct, hostile names, and Swift's own lists. */
#include "symbolicator/symbolicator.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/attr.h"
#include "tests/unit/corpus.h"

static const struct {
    const char *name, *want, *simplified;
} examples[] = {
    {"$s4Shop6BasketC3add_5countyAA4ItemV_SitF",
     "Shop.Basket.add(_: Shop.Item, count: Swift.Int) -> ()", "Basket.add(_:count:)"},
    {"_$s4Shop6BasketC3add_5countyAA4ItemV_SitF",
     "Shop.Basket.add(_: Shop.Item, count: Swift.Int) -> ()", "Basket.add(_:count:)"},
    {"$S4Shop6BasketC3add_5countyAA4ItemV_SitF",
     "Shop.Basket.add(_: Shop.Item, count: Swift.Int) -> ()", "Basket.add(_:count:)"},
    {"$e4Shop6BasketC3add_5countyAA4ItemV_SitF",
     "Shop.Basket.add(_: Shop.Item, count: Swift.Int) -> ()", "Basket.add(_:count:)"},
    {"_T04Shop6BasketC3addyAA4ItemV_Si5counttF",
     "Shop.Basket.add(_: Shop.Item, count: Swift.Int) -> ()", "Basket.add(_:count:)"},
    {"_TFC4Shop6Basket3addfTVS_4Item5countSi_T_",
     "Shop.Basket.add(Shop.Item, count: Swift.Int) -> ()", "Basket.add(_:count:)"},
    {"$s4Shop6BasketC5totalSivg", "Shop.Basket.total.getter : Swift.Int", "Basket.total.getter"},
    {"$s4Shop6BasketC5totalSivM", "Shop.Basket.total.modify : Swift.Int", "Basket.total.modify"},
    {"$s4Shop6BasketC5totalSivpZ", "static Shop.Basket.total : Swift.Int", "static Basket.total"},
    {"$s4Shop6BasketCyAA4ItemVSicig", "Shop.Basket.subscript.getter : (Swift.Int) -> Shop.Item",
     "Basket.subscript.getter"},
    {"$s4Shop6BasketC4nameACSS_tcfC",
     "Shop.Basket.__allocating_init(name: Swift.String) -> Shop.Basket",
     "Basket.__allocating_init(name:)"},
    {"$s4Shop6BasketC4nameACSS_tcfc", "Shop.Basket.init(name: Swift.String) -> Shop.Basket",
     "Basket.init(name:)"},
    {"$s4Shop4ItemV4nameACSS_tcfC", "Shop.Item.init(name: Swift.String) -> Shop.Item",
     "Item.init(name:)"},
    {"$s4Shop6BasketCfD", "Shop.Basket.__deallocating_deinit", "Basket.__deallocating_deinit"},
    {"$s4Shop6BasketCfd", "Shop.Basket.deinit", "Basket.deinit"},
    {"$s4Shop6BasketC3addyyFyyXEfU_", "closure #1 () -> () in Shop.Basket.add() -> ()",
     "closure #1 in Basket.add()"},
    {"$s4Shop6BasketC3addyyFyyXEfU_yyYaYbKcfU0_",
     "closure #2 @Sendable () async throws -> () in closure #1 () -> () in Shop.Basket.add() -> ()",
     "closure #2 in closure #1 in Basket.add()"},
    {"$s4Shop6BasketC4sort2byySbx_xtXE_tSLRzlF",
     "Shop.Basket.sort<A where A: Swift.Comparable>(by: (A, A) -> Swift.Bool) -> ()",
     "Basket.sort<A>(by:)"},
    {"$s4Shop6BasketC4save33_0123456789ABCDEF0123456789ABCDEFLLyyF",
     "Shop.Basket.(save in _0123456789ABCDEF0123456789ABCDEF)() -> ()", "Basket.save()"},
    {"$s4Shop6BasketC4item2byACyxGx_qd__tclufc4KindL_ayx_qd___GD",
     "Kind #1 in Shop.Basket<A>.<A1>(item: A, by: A1) -> Shop.Basket<A>",
     "Kind #1 in Basket<A>.<A1>(item:by:)"},
    {"$s4Shop4mainyyYaFTY0_.resume.0",
     "(1) suspend resume partial function for Shop.main() async -> () with unmangled suffix "
     "\".resume.0\"",
     "main()"},
    {"async_MainTY0_", "(1) suspend resume partial function for async main entry point",
     "async main entry point"},
    {"$s4Shop6BasketC5countSivgTfr9",
     "representation changed of Shop.Basket.count.getter : Swift.Int",
     "specialized Basket.count.getter"},
    {"$sScA_pSgIeghg_IeNghH_TR",
     "reabstraction thunk helper from @escaping @callee_guaranteed @Sendable (@guaranteed "
     "Swift.Actor?) -> () to @escaping @caller_isolated @callee_guaranteed @Sendable @async () -> "
     "()",
     "thunk for @escaping @callee_guaranteed @Sendable (@guaranteed Actor?) -> ()"},
    {"$s4Shop4mainyyF5LocalL_V3runyyF", "run() -> () in Local #1 in Shop.main() -> ()",
     "run() in Local #1 in main()"},
    {"$sSa4ShopE5totalSivg", "(extension in Shop):Swift.Array.total.getter : Swift.Int",
     "Array.total.getter"},
    {"$sSa4ShopAA6PricedRzlE5totalSivg",
     "(extension in Shop):Swift.Array<A where A: Shop.Priced>.total.getter : Swift.Int",
     "Array<A>.total.getter"},
    {"$s4Shop6BasketCAA6PricedA2aDP5totalSivgTW",
     "protocol witness for Shop.Priced.total.getter : Swift.Int in conformance Shop.Basket : "
     "Shop.Priced in Shop",
     "protocol witness for Priced.total.getter in conformance Basket"},
    {"$s4Shop6BasketCAA6PricedAAMc",
     "protocol conformance descriptor for Shop.Basket : Shop.Priced in Shop",
     "protocol conformance descriptor for Basket"},
    {"$s4Shop6BasketCMa", "type metadata accessor for Shop.Basket",
     "type metadata accessor for Basket"},
    {"$s4Shop6BasketCMn", "nominal type descriptor for Shop.Basket",
     "nominal type descriptor for Basket"},
    {"$s4Shop6BasketCN", "type metadata for Shop.Basket", "type metadata for Basket"},
    {"$s4Shop6BasketCMm", "metaclass for Shop.Basket", "metaclass for Basket"},
    {"$s4Shop6BasketC5totalSivpWvd", "direct field offset for Shop.Basket.total : Swift.Int",
     "direct field offset for Basket.total"},
    {"$s4Shop6BasketC3addyyFTo", "@objc Shop.Basket.add() -> ()", "@objc Basket.add()"},
    {"$s4Shop6BasketC3addyyFTj", "dispatch thunk of Shop.Basket.add() -> ()",
     "dispatch thunk of Basket.add()"},
    {"$s4Shop6BasketC3addyyFTq", "method descriptor for Shop.Basket.add() -> ()",
     "method descriptor for Basket.add()"},
    {"$s4Shop6BasketC3addyyFTc", "curry thunk of Shop.Basket.add() -> ()",
     "curry thunk of Basket.add()"},
    {"$s4Shop4listyySayxGlFSi_Tg5", "generic specialization <Swift.Int> of Shop.list<A>([A]) -> ()",
     "specialized list<A>(_:)"},
    {"$s4Shop4listyySayxGlFSi_Ttg5",
     "generic specialization <Swift.Int> of Shop.list<A>([A]) -> ()", "specialized list<A>(_:)"},
    {"$s4Shop4listyySi_SStFTf4nd_n",
     "function signature specialization <Arg[1] = Dead> of Shop.list(Swift.Int, Swift.String) -> "
     "()",
     "specialized list(_:_:)"},
    {"$s4Shop4listyySi_SStF4helpTf1nc_n",
     "function signature specialization <Arg[1] = [Closure Propagated : help, Argument Types : []> "
     "of Shop.list(Swift.Int, Swift.String) -> ()",
     "specialized list(_:_:)"},
    {"$s4Shop4loadSSyYaKF", "Shop.load() async throws -> Swift.String", "load()"},
    {"$s4Shop4loadSSyYaKFTu", "async function pointer to Shop.load() async throws -> Swift.String",
     "async function pointer to load()"},
    {"$s4Shop4loadSSyYaKFTQ1_",
     "(2) await resume partial function for Shop.load() async throws -> Swift.String", "load()"},
    {"$s4Shop4loadSSyYaKFTY0_",
     "(1) suspend resume partial function for Shop.load() async throws -> Swift.String", "load()"},
    {"$s4Shop4loadSSyYaAA7FailureOYKF", "Shop.load() async throws(Shop.Failure) -> Swift.String",
     "load()"},
    {"$s4Shop4viewQryF", "Shop.view() -> some", "view()"},
    {"$s4Shop4viewQryFQOMQ",
     "opaque type descriptor for <<opaque return type of Shop.view() -> some>>",
     "opaque type descriptor for <<opaque return type of view()>>"},
    {"$s4Shop4showyyAA5Shape_pF", "Shop.show(Shop.Shape) -> ()", "show(_:)"},
    {"$s4Shop4showyyAA5Shape_AA5PaintpF", "Shop.show(Shop.Shape & Shop.Paint) -> ()", "show(_:)"},
    {"$s4Shop4showyyyXlF", "Shop.show(Swift.AnyObject) -> ()", "show(_:)"},
    {"$s4Shop4showyyypF", "Shop.show(Any) -> ()", "show(_:)"},
    {"$s4Shop4showyyypXpF", "Shop.show(Any.Type) -> ()", "show(_:)"},
    {"$s4Shop4takeyySiz_SShSSntF",
     "Shop.take(inout Swift.Int, __shared Swift.String, __owned Swift.String) -> ()",
     "take(_:_:_:)"},
    {"$s4Shop4takeyyyyc_yyXKtF", "Shop.take(() -> (), @autoclosure () -> ()) -> ()", "take(_:_:)"},
    {"$s4Shop4takeyySi_SStd_tF", "Shop.take((Swift.Int, Swift.String)...) -> ()", "take(_:)"},
    {"$s4Shop1poiyS2i_SitF", "Shop.+ infix(Swift.Int, Swift.Int) -> Swift.Int", "+ infix(_:_:)"},
    {"$s4Shop6BasketV2eeoiySbAC_ACtFZ",
     "static Shop.Basket.== infix(Shop.Basket, Shop.Basket) -> Swift.Bool",
     "static Basket.== infix(_:_:)"},
    {"$s4Shop0012vergenza_JFayyF", "Shop.vergüenza() -> ()", "vergüenza()"},
    {"$sSS4ShopE7trimmedSSyF", "(extension in Shop):Swift.String.trimmed() -> Swift.String",
     "String.trimmed()"},
    {"$sSiIegy_SiIegn_TR",
     "reabstraction thunk helper from @escaping @callee_guaranteed (@unowned Swift.Int) -> () to "
     "@escaping @callee_guaranteed (@in_guaranteed Swift.Int) -> ()",
     "thunk for @escaping @callee_guaranteed (@unowned Int) -> ()"},
    {"$s4Shop6BasketC3addyyFTA", "partial apply forwarder for Shop.Basket.add() -> ()",
     "partial apply for Basket.add()"},
    {"$s4Shop6BasketC3addyyFTA.12",
     "partial apply forwarder for Shop.Basket.add() -> () with unmangled suffix \".12\"",
     "partial apply for Basket.add()"},
    {"$s4Shop6BasketC5itemsSayAA4ItemVGvpfi",
     "variable initialization expression of Shop.Basket.items : [Shop.Item]",
     "variable initialization expression of Basket.items"},
    {"$s4Shop6BasketC3add_5countyAA4ItemV_SitFfA0_",
     "default argument 1 of Shop.Basket.add(_: Shop.Item, count: Swift.Int) -> ()",
     "default argument 1 of Basket.add(_:count:)"},
    {"$s4Shop6BasketC5totalSivpMV", "property descriptor for Shop.Basket.total : Swift.Int",
     "property descriptor for Basket.total"},
    {"$s4Shop6counts_WZ", "one-time initialization function for counts",
     "one-time initialization function for counts"},
    {"$s4Shop4ItemVSgWOb", "outlined init with take of Shop.Item?",
     "outlined init with take of Item?"},
    {"$sSay4Shop4ItemVGMD", "demangling cache variable for type metadata for [Shop.Item]",
     "demangling cache variable for type metadata for [Item]"},
    {"$s4Shop4loadyyF9stringifyfMf_",
     "freestanding macro expansion #1 of stringify in Shop.load() -> ()",
     "freestanding macro expansion #1 of stringify in load()"},
    {"_TtC4Shop6Basket", "Shop.Basket", "Basket"},
    {"_TtGSqGSaV4Shop4Item__", "[Shop.Item]?", "[Item]?"},
    {"_TMaC4Shop6Basket", "type metadata accessor for Shop.Basket",
     "type metadata accessor for Basket"},
    {"_TFC4Shop6BasketcfT4nameSS_S0_", "Shop.Basket.init(name: Swift.String) -> Shop.Basket",
     "Basket.init(name:)"},
    {"_TFC4Shop6Basketg5totalSi", "Shop.Basket.total.getter : Swift.Int", "Basket.total.getter"},
    {"_TFFC4Shop6Basket3addFT_T_U_FT_T_", "closure #1 () -> () in Shop.Basket.add() -> ()",
     "closure #1 in Basket.add()"},
    {"_TTSg5Si___TF4Shop4listurFGSax_T_",
     "generic specialization <Swift.Int> of Shop.list<A>([A]) -> ()", "specialized list<A>(_:)"},
    {"_TTSf4d_n___TF4Shop4listFTSiSS_T_",
     "function signature specialization <Arg[0] = Dead> of Shop.list(Swift.Int, Swift.String) -> "
     "()",
     "specialized list(_:_:)"},
    {"_TTRXFo_dSi_dSS_XFo_iSi_iSS_",
     "reabstraction thunk helper from @callee_owned (@in Swift.Int) -> (@out Swift.String) to "
     "@callee_owned (@unowned Swift.Int) -> (@unowned Swift.String)",
     "thunk for @callee_owned (@in Int) -> (@out String)"},
    {"$sSiD", "Swift.Int", "Int"},
};

static void
check(const char *name, bool simplified, const char *want)
{
    struct sym_demangle_options options = {.simplified = simplified};
    struct fz_buffer out;
    fz_buffer_init(&out, 0);
    bool done = sym_demangle(name, false, &options, &out);
    assert_string_equal(fz_buffer_cstr(&out), want);
    assert_int_equal(done, strcmp(name, want) != 0);
    fz_buffer_deinit(&out);
}

static void
test_examples(void **state)
{
    (void)state;
    for (size_t i = 0; i < FZ_ARRAY_LEN(examples); i++) {
        print_message("%s\n", examples[i].name);
        check(examples[i].name, false, examples[i].want);
        check(examples[i].name, true, examples[i].simplified);
    }
}

static void
test_macho_underscore(void **state)
{
    (void)state;
    static const char *const names[] = {"_$s4Shop4listyyF", "__TF4Shop4listFT_T_",
                                        "__T04Shop4listyyF"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(names); i++) {
        struct fz_buffer out;
        fz_buffer_init(&out, 0);
        assert_true(sym_demangle(names[i], true, NULL, &out));
        assert_string_equal(fz_buffer_cstr(&out), "Shop.list() -> ()");
        fz_buffer_deinit(&out);
    }
}

static void
test_not_understood(void **state)
{
    (void)state;
    static const char *const names[] = {
        "$s",
        "$s4Sho",
        "$s4Shop4listyF",
        "$s4Shop4listyyFTf4n",
        "$sAA",
        "$s0",
        "$s00",
        "$s01aB",
        "$s4ShopSiBv4_",
        "$sBi0_",
        "$sSiSiG",
        "$s4ShopTK",
        "$s\x01\x02\x03\x04\x05",
        "_TtTSiSu_\x02X3{H",
        "async_Mainly", /* C names that begin like the parts of an async main() */
        "_async_Main_helper",
        "$sTJSdSSSpSrSUSP",
        "$s99999999999x",
        "$S4Shop4listyyFTwZ",
        "$sS9999a",
        "$sxIegz",
        "_T",
        "_TF",
        "_TtT",
        "_TTSg5Si",
        "_TtGSa",
        "_TtX",
        "_TTSf4cpi3",
        "_TIFFOpen",
        "$",
        "_Ttu__z",
        "@__swiftmacro_",
        "$s4Shop00123abc_ZyyF",
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(names); i++) {
        print_message("%s\n", names[i]);
        check(names[i], false, names[i]);
        check(names[i], true, names[i]);
    }
}

struct hostile {
    const char *name, *head, *unit, *tail;
    size_t times;
};

static const struct hostile hostile[] = {
    {"generic in generic", "$s", "Say", "SiD", 20000},
    {"optional of optional", "$sSi", "Sg", "D", 30000},
    {"class in class", "$s4Shop", "1aC", "N", 20000},
    {"closure in closure", "$s4Shop1ayyF", "yycfU_", "", 10000},
    {"argument lists", "$s1a1bCy", "_", "G", 60000},
    {"words", "$s9AbcdefghiAbc", "0aaaaaA0", "", 8000},
    {"one long word", "$s020000", "aaaaaaaaaa", "", 2000},
    {"repetitions", "$sSi1aC", "S2000i", "t", 9000},
    {"signatures", "$sx", "lu", "D", 30000},
    {"requirements", "$sx", "s1aRz", "luD", 12000},
    {"levels of parameters", "$sxr", "9999999_", "luD", 8000},
    {"parameters that are packs", "$sxRvz", "Rvz", "r9999999_9999999_luD", 20000},
    {"old levels of parameters", "_Ttu", "9999999_", "r_", 8000},
    {"deltas", "$s0060000", "a", "", 60000},
    {"old arrays", "_Tt", "GSa", "Si_", 20000},
    {"old functions", "_Tt", "F", "Si", 60000},
    {"old contexts", "_TF", "F", "", 60000},
    {"old contexts of types", "_T", "CC", "1a1b", 30000},
    {"old archetypes", "_Tt", "Q", "s1a", 60000},
    {"old extensions", "_TF", "E1a", "", 20000},
    {"old partial application", "_T", "PA__T", "F1a1bFT_T_", 12000},
    {"old members", "_TtW_", "1a", "_", 30000},
};

static void *
demangle_hostile(void *user)
{
    (void)user;
    for (size_t i = 0; i < FZ_ARRAY_LEN(hostile) * 2; i++) {
        const struct hostile *h = &hostile[i / 2];
        struct sym_demangle_options options = {.simplified = i % 2};
        struct fz_buffer name, out;
        fz_buffer_init(&name, 0);
        fz_buffer_init(&out, 0);
        fz_buffer_text(&name, h->head);
        for (size_t k = 0; k < h->times; k++)
            fz_buffer_text(&name, h->unit);
        fz_buffer_text(&name, h->tail);
        bool done = sym_demangle(fz_buffer_cstr(&name), false, &options, &out);
        assert_true(done || strcmp(fz_buffer_cstr(&out), fz_buffer_cstr(&name)) == 0);
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
    static const size_t stacks[] = {512 * 1024, 8 * 1024 * 1024};
    for (size_t i = 0; i < FZ_ARRAY_LEN(stacks); i++) {
        pthread_attr_t attributes;
        pthread_t thread;
        assert_int_equal(pthread_attr_init(&attributes), 0);
        assert_int_equal(pthread_attr_setstacksize(&attributes, stacks[i]), 0);
        assert_int_equal(pthread_create(&thread, &attributes, demangle_hostile, NULL), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        pthread_attr_destroy(&attributes);
    }
}

/* A hundred levels, more than real names have, must work. */
static void
test_reasonable_nesting(void **state)
{
    (void)state;
    struct fz_buffer name, out;
    fz_buffer_init(&name, 0);
    fz_buffer_init(&out, 0);
    fz_buffer_text(&name, "$s");
    for (int i = 0; i < 100; i++)
        fz_buffer_text(&name, "Say");
    fz_buffer_text(&name, "Si");
    for (int i = 0; i < 100; i++)
        fz_buffer_text(&name, "G");
    fz_buffer_text(&name, "D");
    assert_true(sym_demangle(fz_buffer_cstr(&name), false, NULL, &out));
    assert_int_equal(out.len, 200 + strlen("Swift.Int"));
    fz_buffer_deinit(&name);
    fz_buffer_deinit(&out);
}

/* Each type has the previous one twice as an argument, so 20 of them are megabytes of text. */
static void
test_doubling_substitutions(void **state)
{
    (void)state;
    for (int n = 4; n <= 20; n += 16) {
        struct fz_buffer name, out;
        fz_buffer_init(&name, 0);
        fz_buffer_text(&name, "$s1a1bV");
        for (int i = 0; i < n; i++)
            fz_buffer_printf(&name, "%syA%cA%cG", i == 0 ? "" : "AC", 'C' + i, 'C' + i);
        for (int simplified = 0; simplified < 2; simplified++) {
            struct sym_demangle_options options = {.simplified = simplified};
            fz_buffer_init(&out, 0);
            assert_int_equal(sym_demangle(fz_buffer_cstr(&name), false, &options, &out), n == 4);
            assert_int_equal(strcmp(fz_buffer_cstr(&out), fz_buffer_cstr(&name)) == 0, n != 4);
            fz_buffer_deinit(&out);
        }
        fz_buffer_deinit(&name);
    }
}

/* Split "name ---> text", and drop a "{...} " before the text: Swift's tests put options there. */
static bool
split_line(char *line, const char **ret_want)
{
    static const char arrow[] = " ---> ";
    line[strcspn(line, "\n")] = '\0';
    char *want = strstr(line, arrow);
    if (!want)
        return false;
    char *end = want;
    while (end > line && end[-1] == ' ')
        end--;
    *end = '\0';
    want += sizeof(arrow) - 1;
    if (want[0] == '{') {
        char *close = strchr(want, '}');
        want = close && close[1] == ' ' ? close + 2 : want;
    }
    *ret_want = want;
    return true;
}

static void
check_list(const char *file, bool simplified)
{
    char name[128], path[512];
    snprintf(name, sizeof(name), "demangle/%s", file);
    if (!corpus_path(name, path, sizeof(path)))
        skip();
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    struct sym_demangle_options options = {.simplified = simplified};
    char *line = NULL;
    size_t room = 0, n = 0, n_right = 0;
    while (getline(&line, &room, in) > 0) {
        const char *want;
        struct fz_buffer out;
        if (!split_line(line, &want))
            continue;
        fz_buffer_init(&out, 0);
        fz_ignore(sym_demangle(line, false, &options, &out)); /* the text is compared instead */
        bool right = strcmp(fz_buffer_cstr(&out), want) == 0;
        if (!right)
            print_message("%s\n  want %s\n  have %s\n", line, want, fz_buffer_cstr(&out));
        n_right += right;
        n++;
        fz_buffer_deinit(&out);
    }
    free(line);
    fclose(in);
    print_message("%s: %zu of %zu as expected\n", file, n_right, n);
    assert_int_equal(n_right, n);
}

static void
test_list(void **state)
{
    (void)state;
    check_list("swift-manglings.txt", false);
}

static void
test_list_simplified(void **state)
{
    (void)state;
    check_list("swift-simplified-manglings.txt", true);
}

static void
test_list_with_clang_types(void **state)
{
    (void)state;
    check_list("swift-manglings-with-clang-types.txt", false);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples),
        cmocka_unit_test(test_macho_underscore),
        cmocka_unit_test(test_not_understood),
        cmocka_unit_test(test_deep_nesting_on_small_and_usual_stacks),
        cmocka_unit_test(test_reasonable_nesting),
        cmocka_unit_test(test_doubling_substitutions),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_list_simplified),
        cmocka_unit_test(test_list_with_clang_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
