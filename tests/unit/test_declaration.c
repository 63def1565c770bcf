/* The declaration that a name belongs to: every kind of wrapper in every language, pairs of names
 * that are one declaration and pairs that are not. */
#include "symbolicator/demangle/declaration.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/attr.h"
#include "symbolicator/symbolicator.h"

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

struct want {
    const char *linkage, *name, *module, *removed;
};

static void
check(const struct want *cases, size_t n, enum sym_language language, bool is_real)
{
    for (size_t i = 0; i < n; i++) {
        FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(ARENA_MAX);
        struct sym_declaration found = find(cases[i].linkage, NULL, &arena);
        print_message("%s\n", cases[i].linkage);
        assert_string_equal(found.name, cases[i].name);
        assert_string_equal(found.module, cases[i].module ? cases[i].module : "");
        assert_string_equal(found.removed, cases[i].removed ? cases[i].removed : "");
        assert_int_equal(found.language, language);
        assert_int_equal(found.is_real, is_real);
    }
}

static void
test_swift(void **state)
{
    (void)state;
    static const struct want cases[] = {
        {"$s4Shop4loadyyF", "load()", "Shop", NULL},
        {"_$s4Shop4loadyyF", "load()", "Shop", NULL},
        {"$S4Shop4loadyyF", "load()", "Shop", NULL},
        {"_TF4Shop4loadFT_T_", "load()", "Shop", NULL},
        /* Closures, implicit ones, and those of top-level code and of initial values. */
        {"$s4Shop4loadyyFyycfU_", "load()", "Shop", "closure #1 in"},
        {"$s4Shop4loadyyFyycfU_yycfU0_", "load()", "Shop", "closure #2 in closure #1 in"},
        {"$s4Shop4loadyyFyycfu_", "load()", "Shop", "implicit closure #1 in"},
        {"$s4ShopyycfU_", "main", "Shop", "closure #1 in"},
        {"_TFIZvV8mangling10HasVarInit5stateSbiu_KT_Sb", "HasVarInit.state", "mangling",
         "implicit closure #1 in variable initialization expression of"},
        {"$s4main3fooyySiFyyXEfU_TA.1", "foo(_:)", "main",
         "partial apply forwarder for closure #1 in"},
        /* Specializations and merged functions. */
        {"$s4main8MyStructV3fooyyFAA1XV_Tg5.foo", "MyStruct.foo()", "main",
         "generic specialization of"},
        {"_TTSg5Si___TTSf1cl35_TFF7specgen6callerFSiT_U_FTSiSi_T_Si___TF7specgen12take_"
         "closureFFTSiSi_T_T_",
         "take_closure(_:)", "specgen",
         "generic specialization of function signature specialization of"},
        {"$s4test7genFuncyyx_q_tr0_lFSi_SbTtt1g5", "genFunc(_:_:)", "test",
         "generic specialization of"},
        {"$s1A1gyyxlFx_qd__t_Ti5", "g(_:)", "A", "inlined generic function of"},
        {"_T03abc6testitySiFTm", "testit(_:)", "abc", "merged"},
        {"_T03nix6testitSaySiGyFTv_r", "testit()", "nix", NULL},
        /* Async functions: the number of a part changes with each edit. */
        {"$s5Actor02MyA0C17testAsyncFunctionyyYaKFTQ1_", "MyActor.testAsyncFunction()", "Actor",
         "await resume partial function for"},
        {"$s4main1fSiyYaFTY0_", "f()", "main", "suspend resume partial function for"},
        {"$s4main6testityyYaFTu", "testit()", "main", "async function pointer to"},
        {"async_MainTQ0_", "main", NULL, "await resume partial function for"},
        /* Thunks and witnesses. */
        {"$s3foo3barC3bas3zimyAaEC_tFTo", "bar.bas(zim:)", "foo", "@objc"},
        {"$sSo17OS_dispatch_queueC4sync7executeyyyXE_tFTOTA", "OS_dispatch_queue.sync(execute:)",
         NULL, "partial apply forwarder for @nonobjc"},
        {"$s4Shop6BasketC3addyyFTj", "Basket.add()", "Shop", "dispatch thunk of"},
        {"$s4Shop6BasketC3addyyFTq", "Basket.add()", "Shop", "method descriptor for"},
        {"$s4Shop6BasketC3addyyFTc", "Basket.add()", "Shop", "curry thunk of"},
        {"$s21back_deploy_attribute0A12DeployedFuncyyFTwb", "backDeployedFunc()",
         "back_deploy_attribute", "back deployment thunk for"},
        {"$s16distributed_test1XC7computeyS2iFTF", "X.compute(_:)", "distributed_test",
         "distributed accessor for"},
        {"$s7Library1BC1iSivxTwdTwc", "B.i.modify", "Library",
         "coro function pointer to default override of"},
        {"$s7DemoApp13ColorResourceVSHAASH4hash4intoys6HasherVz_tFTW", "ColorResource.hash(into:)",
         "DemoApp", "protocol witness for"},
        {"$s7DemoApp13ColorResourceVSQAASQ2eeoiySbx_xtFZTW", "static ColorResource.== infix(_:_:)",
         "DemoApp", "protocol witness for"},
        {"_TTWV10Foundation4Datas8SequenceS_FS1_g19underestimatedCountSi",
         "Data.underestimatedCount.getter", "Foundation", "protocol witness for"},
        {"$s4main7DerivedC3fooyyFAA4BaseCADyyFTV", "Derived.foo()", "main", "vtable thunk for"},
        {"$s18keypaths_inlinable13KeypathStructV8computedSSvpACTKq", "KeypathStruct.computed",
         "keypaths_inlinable", "key path getter for"},
        {"$s13test_mangling3fooyS2f_S2ftFTJfUSSpSr", "foo(_:_:_:)", "test_mangling",
         "derivative of"},
        /* Parts of declarations. */
        {"$s4Shop6BasketC3add_5countyAA4ItemV_SitFfA0_", "Basket.add(_:count:)", "Shop",
         "default argument 1 of"},
        {"$s4Shop6BasketC5itemsSayAA4ItemVGvpfi", "Basket.items", "Shop",
         "variable initialization expression of"},
        {"$s4Shop6BasketC5itemsSayAA4ItemVGvpfP", "Basket.items", "Shop",
         "property wrapper backing initializer of"},
        {"$s4Shop6counts_WZ", "counts", "Shop", "one-time initialization of"},
        {"$s7DemoApp12VerticalCellC15reuseIdentifier_WZ", "VerticalCell.reuseIdentifier", "DemoApp",
         "one-time initialization of"},
        {"$s7DemoApp12VerticalCellC15reuseIdentifierSSvau", "VerticalCell.reuseIdentifier",
         "DemoApp", "addressor of"},
        {"$s7DemoApp12VerticalCellC15reuseIdentifierSSvgZ",
         "static VerticalCell.reuseIdentifier.getter", "DemoApp", NULL},
        /* Accessors, operators, initializers. */
        {"$s4Shop6BasketC5totalSivg", "Basket.total.getter", "Shop", NULL},
        {"$s4Shop6BasketC5totalSivs", "Basket.total.setter", "Shop", NULL},
        {"$s4Shop6BasketC5totalSivM", "Basket.total.modify", "Shop", NULL},
        {"$s4Shop6BasketC5totalSivM.resume.0", "Basket.total.modify", "Shop", NULL},
        {"$s4Shop6BasketC5totalSivr", "Basket.total.read", "Shop", NULL},
        {"$s4Shop6BasketC5totalSivW", "Basket.total.didset", "Shop", NULL},
        {"$s4Shop6BasketV2eeoiySbAC_ACtFZ", "static Basket.== infix(_:_:)", "Shop", NULL},
        {"$s4Shop6BasketCyAA4ItemVSicig", "Basket.subscript(_:).getter", "Shop", NULL},
        {"_TFC3foo3barCfT_S0_", "bar.init()", "foo", NULL},
        {"_TFC3foo3barcfT_S0_", "bar.init()", "foo", NULL},
        {"_TFC3foo3barD", "bar.deinit", "foo", NULL},
        {"_TFC3foo3bard", "bar.deinit", "foo", NULL},
        {"$s7DemoApp0B8DelegateCfETo", "AppDelegate.deinit", "DemoApp", "@objc"},
        /* Contexts: extensions, private and local names, generic arguments, macros. */
        {"$sSS4ShopE7trimmedSSyF", "String.trimmed()", "Shop", NULL},
        {"_T0s10DictionaryV3t17E6Index2V1loiSbAEyxq__G_AGtFZ",
         "static Dictionary.Index2.< infix(_:_:)", "t17", NULL},
        {"$s7DemoApp12VerticalCellC10setupViews33_D60CCDC34792C125350DC3F108ED9AB7LLyyF",
         "VerticalCell.setupViews()", "DemoApp", NULL},
        {"_TFCF5types1gFT1bSb_T_L0_10Collection3zimfT_T_", "Collection.zim() in g(b:)", "types",
         NULL},
        {"$s7DemoApp27SwiftUIDetailViewControllerV12triggerCrash4typeySS_tF7recurseL_yyF",
         "recurse() in SwiftUIDetailViewController.triggerCrash(type:)", "DemoApp", NULL},
        {"$s4Shop4loadyyF6$deferL_yyF", "load()", "Shop", "defer in"},
        {"$s4Shop4loadyyFyycfU_6$deferL_yyF", "load()", "Shop", "defer in closure #1 in"},
        {"$s4Shop0012vergenza_JFayyF", "vergüenza()", "Shop", NULL},
        {"@__swiftmacro_1a13testStringifyAA1bySi_SitF9stringifyfMf_", "testStringify(a:b:)", "a",
         "freestanding macro expansion #1 in"},
        {"$s7DemoApp03$s7A124App0038SwiftUIDetailViewControllerswift_yoBAmfMX125_0_33_"
         "F86D07734081270FB0F121D0B5D24B48Ll7PreviewfMf_15PreviewRegistryfMu_"
         "V21DeveloperToolsSupport0W8RegistryAadEP4lineSivgZTW",
         "static PreviewRegistry.line.getter", "DemoApp", "protocol witness for"},
        {"$s7DemoApp0B8DelegateC5$mainyyFZ", "static AppDelegate.$main()", "DemoApp", NULL},
    };
    check(cases, FZ_ARRAY_LEN(cases), SYM_SWIFT, true);
}

static void
test_swift_without_declaration(void **state)
{
    (void)state;
    static const struct want cases[] = {
        {"_T0Ix_IyB_Tr", "thunk for @callee_owned () -> ()", NULL, NULL},
        {"$sSiIegy_SiIegn_TR", "thunk for @escaping @callee_guaranteed (@unowned Int) -> ()", NULL,
         NULL},
        {"_$sTA.123", "partial apply", NULL, NULL},
        {"$s4Shop4ItemVSgWOb", "outlined init with take of Item?", NULL, NULL},
        {"_T0SqWOy.17", "outlined copy of Optional", NULL, NULL},
        {"$sSo5GizmoC11doSomethingyypSgSaySSGSgFToTembgnn_",
         "outlined bridged method (mbgnn) of @objc Gizmo.doSomething(_:)", NULL, NULL},
        {"_TMaC4Shop6Basket", "type metadata accessor for Basket", NULL, NULL},
        {"_TwxxC3foo3bar", "destroy for bar", NULL, NULL},
        {"_TtC4Shop6Basket", "Basket", NULL, NULL},
        {"$s7Library3fooyyFTwS", "#_hasSymbol query for foo()", NULL, NULL},
    };
    check(cases, FZ_ARRAY_LEN(cases), SYM_SWIFT, false);
}

static void
test_cxx(void **state)
{
    (void)state;
    static const struct want cases[] = {
        {"_ZN4shop4Cart3addEi", "shop::Cart::add", NULL, NULL},
        {"__ZNK4shop4Cart3addEi", "shop::Cart::add", NULL, NULL},
        {"_ZN3Foo3barEv.cold", "Foo::bar", NULL, "part of"},
        {"_ZN3Foo3barEv.part.0", "Foo::bar", NULL, "part of"},
        {"_ZN3fooL3barEv.isra.0", "foo::bar", NULL, NULL},
        {"_ZN3Foo3barEv.llvm.1234567", "Foo::bar", NULL, NULL},
        {"_ZN3Foo3barEv.constprop.0.cold", "Foo::bar", NULL, "part of"},
        {"_ZN3Foo3barEv.lto_priv.0", "Foo::bar", NULL, NULL},
        /* Constructors and destructors are one each. */
        {"_ZN3FooC1Ei", "Foo::Foo", NULL, NULL},
        {"_ZN3FooC2Ei", "Foo::Foo", NULL, NULL},
        {"_ZN3FooD0Ev", "Foo::~Foo", NULL, NULL},
        {"_ZN3FooD1Ev", "Foo::~Foo", NULL, NULL},
        /* Templates, result types, inline namespaces, ABI tags. */
        {"_ZN4shop4CartIiE3addIcEEvT_", "shop::Cart::add", NULL, NULL},
        {"_ZNSt3__16vectorIiNS_9allocatorIiEEE9push_backEOi", "std::vector::push_back", NULL, NULL},
        {"_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6appendEPKc",
         "std::basic_string::append", NULL, NULL},
        {"_Z3fooB5cxx11v", "foo", NULL, NULL},
        {"_Z1fIiEPFvT_ES0_", "f", NULL, NULL},
        {"_ZN12_GLOBAL__N_13runEv", "(anonymous namespace)::run", NULL, NULL},
        /* Operators. */
        {"_ZlsRSoRK3Foo", "operator<<", NULL, NULL},
        {"_ZN3FooltIiEEbT_", "Foo::operator<", NULL, NULL},
        {"_ZN3FooclEi", "Foo::operator()", NULL, NULL},
        {"_ZN3FooixEi", "Foo::operator[]", NULL, NULL},
        {"_ZN3FooptEv", "Foo::operator->", NULL, NULL},
        {"_ZN3FoocvbEv", "Foo::operator bool", NULL, NULL},
        {"_ZN3FoocvPKcEv", "Foo::operator char const*", NULL, NULL},
        {"_ZN3FoocvN4shop4CartIiEEEv", "Foo::operator shop::Cart", NULL, NULL},
        {"_Znwm", "operator new", NULL, NULL},
        {"_ZdaPv", "operator delete[]", NULL, NULL},
        {"_Zli3_kmy", "operator\"\"_km", NULL, NULL},
        /* Lambdas, blocks and thunks. */
        {"_ZZ3foovENKUlvE_clEv", "foo", NULL, "lambda in"},
        {"_ZZZ3foovENKUlvE_clEvENKUliE0_clEi", "foo", NULL, "lambda in lambda in"},
        {"_ZZ3fooiENK3$_0clEv", "foo", NULL, "lambda in"},
        {"_ZNK3$_0clEv", "lambda", NULL, "lambda in"},
        {"_ZZN3Foo3barEvEN5Local3runEv", "Foo::bar::Local::run", NULL, NULL},
        {"___ZN3Foo3barEv_block_invoke_2", "Foo::bar", NULL, "invocation function for block in"},
        {"_ZThn16_N3Foo3barEv", "Foo::bar", NULL, "non-virtual thunk to"},
        {"_ZTv0_n24_N3Foo3barEv", "Foo::bar", NULL, "virtual thunk to"},
        {"_ZTW3foo", "foo", NULL, "thread-local wrapper routine for"},
    };
    check(cases, FZ_ARRAY_LEN(cases), SYM_CXX, true);
    static const struct want data[] = {
        {"_ZTV3Foo", "vtable for Foo", NULL, NULL},
        {"_ZTI3Foo", "typeinfo for Foo", NULL, NULL},
        {"_ZGVZ3foovE1x", "guard variable for foo()::x", NULL, NULL},
    };
    check(data, FZ_ARRAY_LEN(data), SYM_CXX, false);
}

static void
test_rust(void **state)
{
    (void)state;
    static const struct want cases[] = {
        {"_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write", NULL, NULL},
        {"_RNvCshGpAVYOtgW1_5hello4rust", "hello::rust", NULL, NULL},
        {"_RNvC3dot1a.llvm.12", "dot::a", NULL, NULL},
        {"_RNCNvC1a1b0", "a::b", NULL, "closure in"},
        {"_RNCNCNgCs6DXkGYLi8lr_2cc5spawn00B5_", "cc::spawn", NULL, "closure in closure in"},
        {"_RINvNtC4core3mem8align_ofhE", "core::mem::align_of", NULL, NULL},
        {"_RNvMC1aNtC1a3Foo3bar", "a::Foo::bar", NULL, NULL},
        {"_RNvXC1aNtC1a3FooNtC1a3Bar3run", "<a::Foo as a::Bar>::run", NULL, NULL},
        {"_ZN4shop4Cart3add28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE", "shop::Cart::add",
         NULL, "closure in"},
        {"_ZN4core5slice89_$LT$impl$u20$core..iter..traits..IntoIterator$u20$for$u20$$RF$$u27$a$"
         "u20$$u5b$T$u5d$$GT$9into_iter17h450e234d27262170E",
         "core::slice::<impl core::iter::traits::IntoIterator for &'a [T]>::into_iter", NULL, NULL},
    };
    check(cases, FZ_ARRAY_LEN(cases), SYM_RUST, true);
}

static void
test_objc(void **state)
{
    (void)state;
    static const struct want cases[] = {
        {"-[Cart add:to:]", "-[Cart add:to:]", NULL, NULL},
        {"+[BGSNetworkEventsSwizzling(Utilits) enumerateMethodsInClass:block:]",
         "+[BGSNetworkEventsSwizzling enumerateMethodsInClass:block:]", NULL, NULL},
        {"-[_TtC4Shop4Cart viewDidLoad]", "-[Cart viewDidLoad]", "Shop", NULL},
        {"-[Shop.Cart viewDidLoad]", "-[Cart viewDidLoad]", "Shop", NULL},
        {"-[BGSBluetooth .cxx_destruct]", "-[BGSBluetooth .cxx_destruct]", NULL, NULL},
        {"__29-[BGSSeverityCell updateBugs]_block_invoke", "-[BGSSeverityCell updateBugs]", NULL,
         "block in"},
        {"___29-[BGSSeverityCell updateBugs]_block_invoke_2", "-[BGSSeverityCell updateBugs]", NULL,
         "block 2 in"},
        {"__29-[BGSSeverityCell updateBugs]_block_invoke.457", "-[BGSSeverityCell updateBugs]",
         NULL, "block in"},
        {"-[Cart(Adding) add:] (block 2)", "-[Cart add:]", NULL, "block 2 in"},
    };
    check(cases, FZ_ARRAY_LEN(cases), SYM_OBJC, true);
}

static void
test_c(void **state)
{
    (void)state;
    static const struct want cases[] = {
        {"main", "main", NULL, NULL},
        {"_CFRelease", "_CFRelease", NULL, NULL},
        {"__main_block_invoke", "main", NULL, "block in"},
        {"__main_block_invoke_2.cold.1", "main", NULL, "part of block 2 in"},
        {"load.cold.1", "load", NULL, "part of"},
        {"load.llvm.1A2B3C", "load", NULL, NULL},
        {"bugsee_inflate_table.lext", "bugsee_inflate_table.lext", NULL, NULL},
        {"_T", "_T", NULL, NULL},
        {"$s", "$s", NULL, NULL},
        {"__block_invoke", "__block_invoke", NULL, NULL},
    };
    check(cases, FZ_ARRAY_LEN(cases), SYM_C, true);
    static const struct want nameless[] = {
        {"", "", NULL, NULL},
        {"__hidden#12_", "__hidden#12_", NULL, NULL},
        {"___hidden#12_", "___hidden#12_", NULL, NULL},
        {"<redacted>", "<redacted>", NULL, NULL},
        {"_mh_execute_header", "_mh_execute_header", NULL, NULL},
        {"unnamed", "unnamed", NULL, NULL},
        {"OUTLINED_FUNCTION_12", "OUTLINED_FUNCTION_12", NULL, NULL},
        {"__copy_helper_block_e8_32s", "__copy_helper_block_e8_32s", NULL, NULL},
        {"___destroy_helper_block_.14", "___destroy_helper_block_.14", NULL, NULL},
        {"__Block_byref_object_copy_", "__Block_byref_object_copy_", NULL, NULL},
        {"block_copy_helper.7", "block_copy_helper.7", NULL, NULL},
        {"objectdestroy.4Tm", "objectdestroy.4Tm", NULL, NULL},
        {"globalinit_33_06E7F1D906492AE070936A9B58CBAE1C_func8",
         "globalinit_33_06E7F1D906492AE070936A9B58CBAE1C_func8", NULL, NULL},
        {"GCC_except_table12", "GCC_except_table12", NULL, NULL},
        {"symbol stub for: objc_msgSend", "symbol stub for: objc_msgSend", NULL, NULL},
    };
    check(nameless, FZ_ARRAY_LEN(nameless), SYM_C, false);
    static const struct want swift[] = {
        {"Swift runtime failure: arithmetic overflow", "Swift runtime failure: arithmetic overflow",
         NULL, NULL},
        {"__swift_memcpy16_8", "__swift_memcpy16_8", NULL, NULL},
    };
    check(swift, FZ_ARRAY_LEN(swift), SYM_SWIFT, false);
}

/* Names without a mangled one, as reports from devices have them. */
static void
test_readable(void **state)
{
    (void)state;
    static const struct {
        const char *readable;
        struct want want;
        enum sym_language language;
    } cases[] = {
        {"closure #1 in static Cart.add(_:)",
         {NULL, "static Cart.add(_:)", "", "closure #1 in"},
         SYM_SWIFT},
        {"closure #1 (Swift.Int) -> () in static Shop.Cart.add(Swift.Int, to: [Swift.Int]) -> ()",
         {NULL, "static Cart.add(_:to:)", "Shop", "closure #1 in"},
         SYM_SWIFT},
        {"specialized Array.subscript.getter",
         {NULL, "Array.subscript.getter", "", "specialized"},
         SYM_SWIFT},
        {"(1) await resume partial function for closure #2 in Cart.load(from:)",
         {NULL, "Cart.load(from:)", "", "await resume partial function for closure #2 in"},
         SYM_SWIFT},
        {"protocol witness for Shape.draw(in:) in conformance Circle",
         {NULL, "Circle.draw(in:)", "", "protocol witness for"},
         SYM_SWIFT},
        {"protocol witness for static Shape.count.getter in conformance <A> Circle<A>",
         {NULL, "static Circle.count.getter", "", "protocol witness for"},
         SYM_SWIFT},
        {"generic specialization <Swift.Int> of (extension in Shop):Swift.String.cut<A>(A) -> ()",
         {NULL, "String.cut(_:)", "Shop", "generic specialization of"},
         SYM_SWIFT},
        {"zim() in Collection #2 in g(b:)", {NULL, "Collection.zim() in g(b:)", "", ""}, SYM_SWIFT},
        {"$defer() in Cart.load()", {NULL, "Cart.load()", "", "defer in"}, SYM_SWIFT},
        {"Shop.(load in _1234ABCD)() -> ()", {NULL, "load()", "Shop", ""}, SYM_SWIFT},
        {"default argument 0 of Cart.load(_:)",
         {NULL, "Cart.load(_:)", "", "default argument 0 of"},
         SYM_SWIFT},
        {"Cart.__deallocating_deinit", {NULL, "Cart.deinit", "", ""}, SYM_SWIFT},
        {"static Cart.== infix(_:_:)", {NULL, "static Cart.== infix(_:_:)", "", ""}, SYM_SWIFT},
        {"load()", {NULL, "load()", "", ""}, SYM_SWIFT},
        {"Foo::bar(int) const", {NULL, "Foo::bar", "", ""}, SYM_CXX},
        {"foo(int)", {NULL, "foo", "", ""}, SYM_CXX},
        {"void (*foo<int>(int))(char)", {NULL, "foo", "", ""}, SYM_CXX},
        {"Foo::bar(int)::{lambda(int)#1}::operator()(int) const [clone .cold]",
         {NULL, "Foo::bar", "", "lambda in"},
         SYM_CXX},
        {"decltype(a.b()) Foo::get<int>(int)::'lambda0'(auto)::operator()<char>(auto) const",
         {NULL, "Foo::get", "", "lambda in"},
         SYM_CXX},
        {"std::function<void (int)>::operator()(int) const",
         {NULL, "std::function::operator()", "", ""},
         SYM_CXX},
        {"push_back<(a > b), &operator<<int> >", {NULL, "push_back", "", ""}, SYM_CXX},
        {"operator<", {NULL, "operator<", "", ""}, SYM_CXX},
        {"<shop::Cart<T> as shop::Add<u8>>::add::{{closure}}::h0123456789abcdef",
         {NULL, "<shop::Cart as shop::Add>::add", "", "closure in"},
         SYM_RUST},
        /* Nothing is left of it as Rust. */
        {"::{closure}", {NULL, "(unnamed)", "", ""}, SYM_CXX},
        {"__29-[BGSSeverityCell updateBugs]_block_invoke",
         {NULL, "-[BGSSeverityCell updateBugs]", "", "block in"},
         SYM_OBJC},
        {"_Z3fooi", {NULL, "foo", "", ""}, SYM_CXX},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(ARENA_MAX);
        print_message("%s\n", cases[i].readable);
        /* A linkage name that is not understood leaves it to the readable one. */
        struct sym_declaration found =
            find(i % 2 == 0 ? NULL : "_$sNotSwift", cases[i].readable, &arena);
        assert_string_equal(found.name, cases[i].want.name);
        assert_string_equal(found.module, cases[i].want.module);
        assert_string_equal(found.removed, cases[i].want.removed);
        assert_int_equal(found.language, cases[i].language);
        assert_true(found.is_real);
    }
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(ARENA_MAX);
    assert_false(find(NULL, "outlined copy of Cart?", &arena).is_real);
    assert_false(find(NULL, "thunk for @escaping @callee_guaranteed () -> ()", &arena).is_real);
    assert_string_equal(find("_Z3fooi", "other", &arena).name, "foo");
    /* Of main() in a symbol table, of _main() in DWARF. */
    assert_string_equal(find("___main_block_invoke", "main (block)", &arena).name, "main");
    assert_string_equal(find("___main_block_invoke", NULL, &arena).name, "_main");
}

static bool
is_same(const char *a, const char *b)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(ARENA_MAX);
    struct sym_declaration one = find(a, NULL, &arena), other = find(b, NULL, &arena);
    return strcmp(one.name, other.name) == 0 && strcmp(one.module, other.module) == 0;
}

static void
test_pairs(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        bool same;
    } pairs[] = {
        /* Two compilers, two specializations, other discriminators and numbers. */
        {"_TFC4Shop6Basket3addfT_T_", "$s4Shop6BasketC3addyyF", true},
        {"_T0s10DictionaryV3t17E6Index2V1loiSbAEyxq__G_AGtFZ",
         "_$Ss10DictionaryV3t17E6Index2V1loiySbAEyxq__G_AGtFZ", true},
        {"$s4Shop6BasketC3add33_D60CCDC34792C125350DC3F108ED9AB7LLyyF",
         "$s4Shop6BasketC3add33_00000000000000000000000000000000LLyyF", true},
        {"$s4Shop4loadyyF3rowL_yyF", "$s4Shop4loadyyF3rowL0_yyF", true},
        {"$s4Shop4loadyyFyycfU_", "$s4Shop4loadyyFyycfU3_", true},
        {"$s4test7genFuncyyx_q_tr0_lFSi_SbTtt1g5", "$s4test7genFuncyyx_q_tr0_lFSi_SSTg5", true},
        {"$s4main1fSiyYaFTQ0_", "$s4main1fSiyF", true}, /* async or not */
        {"_ZN3FooC1Ei", "_ZN3FooC2Ei", true},
        {"_ZN4shop3addEi", "_ZN4shop3addEd", true}, /* overloads by type: one */
        {"_ZNSt3__16vectorIiNS_9allocatorIiEEE9push_backEOi", "_ZNSt6vectorIcSaIcEE9push_backEOc",
         true},
        {"-[Cart(Adding) add:]", "-[Cart add:]", true},
        {"_RNvMC4shopNtC4shop4Cart3add", "_ZN4shop4Cart3add17h0123456789abcdefE", true},
        /* Other functions. */
        {"$s4Shop6BasketC3addyyF", "$s4Shop6BasketC3add5countySi_tF", false}, /* labels */
        {"$s4Shop6BasketC3addyyF", "$s4Shop6BasketC3addyyFZ", false},
        {"$s4Shop6BasketC3addyyF", "$s4Bank6BasketC3addyyF", false},
        {"$s4Shop6BasketC5totalSivg", "$s4Shop6BasketC5totalSivs", false},
        {"$s4Shop6BasketC5totalSivg", "$s4Shop6BasketC5totalSivM", false},
        {"$sSS4ShopE7trimmedSSyF", "$sSS4BankE7trimmedSSyF", false}, /* extensions */
        {"$s4Shop4loadyyF3rowL_yyF", "$s4Shop4loadyyF", false},
        {"$s7DemoApp13ColorResourceVSHAASH4hash4intoys6HasherVz_tFTW",
         "$s7DemoApp13ImageResourceVSHAASH4hash4intoys6HasherVz_tFTW", false},
        {"_ZN3FooC1Ei", "_ZN3FooD1Ev", false},
        {"_ZN3FooltEi", "_ZN3FoolsEi", false},
        {"-[Cart add:]", "+[Cart add:]", false},
        {"_RNvXC1aNtC1a3FooNtC1a3Bar3run", "_RNvXC1aNtC1a3BazNtC1a3Bar3run", false},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(pairs); i++) {
        print_message("%s %s\n", pairs[i].a, pairs[i].b);
        assert_int_equal(is_same(pairs[i].a, pairs[i].b), pairs[i].same);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_swift),    cmocka_unit_test(test_swift_without_declaration),
        cmocka_unit_test(test_cxx),      cmocka_unit_test(test_rust),
        cmocka_unit_test(test_objc),     cmocka_unit_test(test_c),
        cmocka_unit_test(test_readable), cmocka_unit_test(test_pairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
