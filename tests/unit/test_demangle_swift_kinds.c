/* One Swift name for each kind of symbol and type, in both manglings. */
#include "symbolicator/symbolicator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/attr.h"

static const struct {
    const char *name, *want;
} kinds[] = {
    {"$s1a1bCAA1pAAMA", "reflection metadata associated type descriptor a.b : a.p in a"},
    {"$s1a1bVySiGMb", "canonical specialized generic type metadata accessor for a.b<Swift.Int>"},
    {"$s1a1bVMB", "reflection metadata builtin descriptor a.b"},
    {"$s1a1bCMC", "reflection metadata superclass descriptor a.b"},
    {"$s1a1bVMF", "reflection metadata field descriptor a.b"},
    {"$s1a1bVySiGMJ",
     "cache variable for noncanonical specialized generic type metadata for a.b<Swift.Int>"},
    {"$s1a1bVySiGMN", "noncanonical specialized generic type metadata for a.b<Swift.Int>"},
    {"$s1a1bVySiGMK", "metadata instantiation cache for a.b<Swift.Int>"},
    {"$s1a1bCySiGMM", "specialized generic metaclass for a.b<Swift.Int>"},
    {"$s1a1bCySiGMz",
     "flag for loading of canonical specialized generic type metadata for a.b<Swift.Int>"},
    {"$s1a1bVAAEMXE", "extension descriptor (extension in a):a.b"},
    {"$s1aMXM", "module descriptor a"},
    {"$s1a1byyFMXX", "anonymous descriptor a.b() -> ()"},
    {"$s1a1bCMu", "method lookup function for a.b"},
    {"$s1a1bCMU", "ObjC metadata update function for a.b"},
    {"$s1a1bCMs", "ObjC resilient class stub for a.b"},
    {"$s1a1bCMt", "full ObjC resilient class stub for a.b"},
    {"$s1a1bCMo", "class metadata base offset for a.b"},
    {"$s1a1bVMi", "type metadata instantiation function for a.b"},
    {"$s1a1bVMI", "type metadata instantiation cache for a.b"},
    {"$s1a1bVMl", "type metadata singleton initialization cache for a.b"},
    {"$s1a1bVMr", "type metadata completion function for a.b"},
    {"$s1a1bVMP", "generic type metadata pattern for a.b"},
    {"$s1a1bVMf", "full type metadata for a.b"},
    {"$s1a1pMp", "protocol descriptor for a.p"},
    {"$s1a1pMS", "protocol self-conformance descriptor for a.p"},
    {"$s1a1pWS", "protocol self-conformance witness table for a.p"},
    {"$s1a1pTL", "protocol requirements base descriptor for a.p"},
    {"$s1a1pP1b_AA1qTN", "default associated conformance accessor for a.p.b: a.q"},
    {"$s1a1pPAA1qTb", "base conformance descriptor for a.p: a.q"},
    {"$s1a1bVAA1pAAWI",
     "instantiation function for generic protocol witness table for a.b : a.p in a"},
    {"$s1a1bVAA1pAAWG", "generic protocol witness table for a.b : a.p in a"},
    {"$s1a1bVAA1pAAWr", "resilient protocol witness table for a.b : a.p in a"},
    {"$s1a1bVAA1pAAWp", "protocol witness table pattern for a.b : a.p in a"},
    {"$s1a1bVAA1pAAWa", "protocol witness table accessor for a.b : a.p in a"},
    {"$s1a1bVAA1pAA1cWt", "associated type metadata accessor for c in a.b : a.p in a"},
    {"$s1a1bVAA1pAA1c_AA1qPWT",
     "associated type witness table accessor for c : a.q in a.b : a.p in a"},
    {"$s1a1bVAA1pAAAA1qPWb", "base witness table accessor for a.q in a.b : a.p in a"},
    {"$s1a1bC1cyyFAA1dCADyyFTV", "vtable thunk for a.d.c() -> () dispatching to a.b.c() -> ()"},
    {"$s1a1byyFTTI", "identity thunk of a.b() -> ()"},
    {"$s1a1byyFTTH", "hop to main actor thunk of a.b() -> ()"},
    {"$sSiIegy_SiIegn_SiTy",
     "reabstraction thunk from @escaping @callee_guaranteed (@unowned Swift.Int) -> () to "
     "@escaping @callee_guaranteed (@in_guaranteed Swift.Int) -> () self Swift.Int"},
    {"$sSiIegy_SiIegn_TR1a1bCTU",
     "reabstraction thunk helper from @escaping @callee_guaranteed (@unowned Swift.Int) -> () to "
     "@escaping @callee_guaranteed (@in_guaranteed Swift.Int) -> () with global actor constraint "
     "a.b"},
    {"$s1a1bV1cSivpACTK", "key path getter for a.b.c : Swift.Int : a.b"},
    {"$sSiSSTH", "key path index equality operator for (Swift.Int, Swift.String)"},
    {"$sSiSSTh", "key path index hash operator for (Swift.Int, Swift.String)"},
    {"$sSiSSlTHq", "key path index equality operator for <A>(Swift.Int, Swift.String)"},
    {"$sSo7NSErrorCIeyBy_SSTz_",
     "@objc completion handler block implementation for @escaping @callee_unowned "
     "@convention(block) (@unowned __C.NSError) -> () with result type Swift.String"},
    {"$sSo7NSErrorCIeyBy_SSTZ1_",
     "predefined @objc completion handler block implementation for @escaping @callee_unowned "
     "@convention(block) (@unowned __C.NSError) -> () with result type Swift.String zero on error"},
    {"$s1a1byyFTem_", "outlined bridged method (m) of a.b() -> ()"},
    {"$s1a1byyFTv_", "outlined variable #0 of a.b() -> ()"},
    {"$s1a1bO1cyACSicACmFWC", "enum case for a.b.c(a.b.Type) -> (Swift.Int) -> a.b"},
    {"$s1a1bVWV", "value witness table for a.b"},
    {"$s1a1bC1cSivpWvi", "indirect field offset for a.b.c : Swift.Int"},
    {"$s1a1b_1c_WZ", "one-time initialization function for (b, c)"},
    {"$s1a1b_Wz", "one-time initialization token for b"},
    {"$s1a1bVSgWOe", "outlined consume of a.b?"},
    {"$s1a1bVSgWOi_", "outlined enum tag store of a.b?"},
    {"$sSi1bQx", "Swift.Int.b"},
    {"$sx1b_1cQXD", "A.b.c"},
    {"$s1b_1cQZD", "A.b.c"},
    {"$s1b_1cQY_D", "B.b.c"},
    {"$sSi_SSQSdD", "@direct Pack{Swift.Int, Swift.String}"},
    {"$sSi_SSQSiD", "@indirect Pack{Swift.Int, Swift.String}"},
    {"$syQPD", "Pack{}"},
    {"$sSiXMtD", "@thin Swift.Int.Type"},
    {"$s1a1p_pXmTD", "@thick a.p.Type"},
    {"$s1a1p_pXmoD", "@objc_metatype a.p.Type"},
    {"$sSiXoD", "unowned Swift.Int"},
    {"$sSiXuD", "unowned(unsafe) Swift.Int"},
    {"$sSiXwD", "weak Swift.Int"},
    {"$sSiXbD", "@box Swift.Int"},
    {"$sSiz_SSXxD", "{ var Swift.Int, let Swift.String }"},
    {"$sSiXDD", "Self"},
    {"$sXeD", "<ERROR TYPE>"},
    {"$sSiXSqD", "Swift.Int?"},
    {"$sSiXSaD", "[Swift.Int]"},
    {"$sSiSSXSDD", "[Swift.Int : Swift.String]"},
    {"$s$2_SiXSAD", "[3 of Swift.Int]"},
    {"$sSiXSpD", "(Swift.Int)"},
    {"$s1a1p_1a1cCXcD", "a.c & a.p"},
    {"$s1a1p_XlD", "a.p & Swift.AnyObject"},
    {"$syyYbcD", "@Sendable () -> ()"},
    {"$syyYAcD", "@isolated(any) () -> ()"},
    {"$syyYCcD", "nonisolated(nonsending) () -> ()"},
    {"$syyYTcD", "() -> sending ()"},
    {"$syySiYKcD", "() throws(Swift.Int) -> ()"},
    {"$syyXfD", "@convention(thin) () -> ()"},
    {"$syyXUD", "() -> ()"},
    {"$syyXLD", "@escaping @convention(block) () -> ()"},
    {"$syyXBD", "@convention(block) () -> ()"},
    {"$syyXAD", "@autoclosure () -> ()"},
    {"$sSiYk_SStD", "(@noDerivative Swift.Int, Swift.String)"},
    {"$sSiYi_SStD", "(isolated Swift.Int, Swift.String)"},
    {"$sSiYt_SSYgtD", "(_const Swift.Int, @const Swift.String)"},
    {"$sSiYu_SStD", "(sending Swift.Int, Swift.String)"},
    {"$s1a1byxxlF", "a.b<A>(A) -> A"},
    {"$s1a1byxxSiRszlF", "a.b<A where A == Swift.Int>(A) -> A"},
    {"$s1a1byxxRlzClF", "a.b<A where A: AnyObject>(A) -> A"},
    {"$s1a1byxxRlzE3_4_lF", "a.b<A where A: _Trivial(4, 5)>(A) -> A"},
    {"$s1a1byxxRlze3_lF", "a.b<A where A: _Trivial(4)>(A) -> A"},
    {"$s1a1byxx_q_tq_Rhzr0_lF", "a.b<A, B where A.shape == B.shape>(A, B) -> A"},
    {"$s1a1byxxAA1cCRbzlF", "a.b<A where A: a.c>(A) -> A"},
    {"$s1a1byxxAA1p1cRpzlF", "a.b<A where A.c: a.p>(A) -> A"},
    {"$s1a1byxxAA1p1c_1dRPzlF", "a.b<A where A.c.d: a.p>(A) -> A"},
    {"$s1a1byxxSi1cRtzlF", "a.b<A where A.c == Swift.Int>(A) -> A"},
    {"$s1a1byxxSi1c_1dRTzlF", "a.b<A where A.c.d == Swift.Int>(A) -> A"},
    {"$s1a1byxx1cRmzClF", "a.b<A where A.c: AnyObject>(A) -> A"},
    {"$s1a1bSivy", "a.b.read2 : Swift.Int"},
    {"$s1a1bSivx", "a.b.modify2 : Swift.Int"},
    {"$s1a1bSivb", "a.b.borrow : Swift.Int"},
    {"$s1a1bSivz", "a.b.mutate : Swift.Int"},
    {"$s1a1bSivlu", "a.b.unsafeAddressor : Swift.Int"},
    {"$s1a1bSivi", "a.b.init : Swift.Int"},
    {"$s1a1bCfZ", "a.b.__isolated_deallocating_deinit"},
    {"$s1a1bCfE", "a.b.__ivar_destroyer"},
    {"$s1a1bCfe", "a.b.__ivar_initializer"},
    {"$s1a1bSivpfP", "property wrapper backing initializer of a.b : Swift.Int"},
    {"$s1a1bSivpfW", "property wrapper init from projected value of a.b : Swift.Int"},
    {"$s1a1bSivpfF", "property wrapped field init accessor of a.b : Swift.Int"},
    {"$s1a1bSiycfm", "a.b : () -> Swift.Int"},
    {"$s1a1b1cLLVD", "a.(b in c)"},
    {"$s1a1byyFTX", "dynamically replaceable variable for a.b() -> ()"},
    {"$s1a1byyFTx", "dynamically replaceable key for a.b() -> ()"},
    {"$s1a1byyFTI", "dynamically replaceable thunk for a.b() -> ()"},
    {"$s1a1byyFTD", "dynamic a.b() -> ()"},
    {"$s1a1byyFTd", "super a.b() -> ()"},
    {"$s1a1byyFTwB", "back deployment fallback for a.b() -> ()"},
    {"$s1a1byyFHF", "accessible function runtime record for a.b() -> ()"},
    {"$s1a1bVSgSgmD", "a.b??.Type"},
    {"$syycSgmD", "(() -> ())?.Type"},
    {"$sypmD", "Any.Protocol"},
    {"$s1a1p_pmD", "a.p.Protocol"},
    {"$s1a1p_pXpmD", "a.p.Type.Protocol"},
    {"$s1a1bVMq", "uniquable a.b"},
    {"$s1a1p_pXg", "existential shape for any a.p"},
    {"$slxXG", "existential shape for <A> any A"},
    {"$s1a1pRzlxXG", "existential shape for <A where A: a.p> any A"},
    {"$slxmXGMq", "uniquable existential shape for <A> any A.Type"},
    {"$s1a1byyF1cL0_yyF", "c #2 () -> () in a.b() -> ()"},
    {"$s1a1byyFSiTp5", "generic partial specialization <Signature = Swift.Int> of a.b() -> ()"},
    {"$s1a1byyFSiTPq5", "generic not-reabstracted partial specialization <serialized, Signature = "
                        "Swift.Int> of a.b() -> ()"},
    {"$s1a1byyFSi_SSTs5", "generic pre-specialization <Swift.Int, Swift.String> of a.b() -> ()"},
    {"$s1a1byyFSi_TB5", "generic specialization <Swift.Int> of a.b() -> ()"},
    {"$s1a1byyFSi_TG5", "generic not re-abstracted specialization <Swift.Int> of a.b() -> ()"},
    {"$s1a1byyFTf4dGXeDgXoxisr_n",
     "function signature specialization <Arg[0] = Dead and Owned To Guaranteed and Exploded, "
     "Arg[1] = Existential To Protocol Constrained Generic and Dead, Arg[2] = Owned To Guaranteed "
     "and Exploded, Arg[3] = Guaranteed To Owned, Arg[4] = Exploded, Arg[5] = Value Promoted from "
     "Box, Arg[6] = Stack Promoted from Box, Arg[7] = InOut Converted to Out> of a.b() -> ()"},
    {"$s1a1byyF40aaaaaaaaaabbbbbbbbbbccccccccccddddddddddSiSSTf3pk_n",
     "function signature specialization <Arg[0] = [Constant Propagated KeyPath : "
     "aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd<Swift.Int,Swift.String>]> of a.b() -> ()"},
    {"$s1a1bVyS2i1c_tcig", "a.b.subscript.getter : (c: Swift.Int) -> Swift.Int"},
    {"$s1a1bVyS2i_SitciM", "a.b.subscript.modify : (Swift.Int, Swift.Int) -> Swift.Int"},
    {"$s1a1bVyS2iciau", "a.b.subscript.unsafeMutableAddressor : (Swift.Int) -> Swift.Int"},
    {"$s1a1bV5label_S2i_SitcipZ",
     "static a.b.subscript(label: Swift.Int, _: Swift.Int) -> Swift.Int"},
    {"$sSC7MyErrorLeVD", "__C_Synthesized.related decl 'e' for MyError"},
    {"$s1a1bC1Txmfp", "a.b.T"},
    {"$s1a1byx_q_tx_qd__tRvd__r0__lF", "a.b<A, B><each A1>(A, A1) -> (A, B)"},
    {"$s1a1byyF.resume.0", "a.b() -> () with unmangled suffix \".resume.0\""},
    {"$s1a1byyFTY0_.n\"t\\r", "(1) suspend resume partial function for a.b() -> () with unmangled "
                              "suffix \".n\\\"t\\\\r\""},
    {"$s1a1byyF.\t\n\r\x01\x1f\x7f'\xc3\xa9", "a.b() -> () with unmangled suffix "
                                              "\".\\t\\n\\r\\x01\\x1F\\x7F'\xc3\xa9\""},
    {"_TF1a1bFT_T_U_FT_Si_promote0", "a.b() -> () with unmangled suffix \"U_FT_Si_promote0\""},
    {"_TFC1a1bZ", "a.b.__isolated_deallocating_deinit"},
    {"_TFV1a1bZ", "a.b.deinit"},
    {"$s1a1bC1xACyxGx_tcfc1cL_ayx__GD", "c #1 in a.b<A>.init(x: A) -> a.b<A>"},
    {"$s1a1bC1x1yACyxGx_qd__tclufc1cL_ayx_qd___GD", "c #1 in a.b<A>.<A1>(x: A, y: A1) -> a.b<A>"},
    {"$s1a1bC1c1x1yyx_qd__tlF1dL_ayx_qd___GD", "d #1 in a.b<A>.c<A1>(x: A, y: A1) -> ()"},
    {"$s1a1byyFTfr9", "representation changed of a.b() -> ()"},
    {"$s1a1byyFSi_Tgr5", "representation changed of a.b() -> ()"},
    {"$s1a1byyFSi_Tga5", "generic specialization <Swift.Int> of a.b() -> ()"},
    {"$s1a1byyFSi_Tgqr5", "generic specialization <serialized, Swift.Int> of a.b() -> ()"},
    {"$s1a1byyFSi_Tgar5", "generic specialization <Swift.Int> of a.b() -> ()"},
    {"$s1a1byyFTf3pd4607182418800017408dn_n",
     "function signature specialization <Arg[0] = [Constant Propagated Float : "
     "4607182418800017408], Arg[1] = Dead> of a.b() -> ()"},
    {"_TTSf1cpfl1.5_cpi-1___TF1a1bFT_T_",
     "function signature specialization <Arg[0] = [Constant Propagated Float : 1.5], Arg[1] = "
     "[Constant Propagated Integer : -1]> of a.b() -> ()"},
    {"$sSiBW", "Builtin.Borrow<Swift.Int>"},
    {"$sSiBWSgD", "Builtin.Borrow<Swift.Int>?"},
    {"$s1a1byyyyXOnF", "a.b(__owned @called(once) () -> ()) -> ()"},
    {"$s1a1b1cyyyXO_tF", "a.b(c: @called(once) () -> ()) -> ()"},
    {"$sIeNgH_D", "@escaping @caller_isolated @callee_guaranteed @async () -> ()"},
    {"$sIOg_D", "@called(once) @callee_guaranteed () -> ()"},
    {"$s1a1byyxRlzBlF", "a.b<A where A: _BridgeObject>(A) -> ()"},
    {"$s1a1byyxRlzS63_lF", "a.b<A where A: _TrivialStride(64)>(A) -> ()"},
    {"$s1a1byyypRlsA_XPF", "a.b(any Any<Self: AnyReference>) -> ()"},
    {"$s1a1byyxRVzlF", "a.b<let A>() -> ()"},
    {"async_Main", "async main entry point"},
    {"async_MainTQ0_", "(1) await resume partial function for async main entry point"},
    {"_async_MainTu", "async function pointer to async main entry point"},
    {"async_MainTY0_.resume.0", "(1) suspend resume partial function for async main entry point "
                                "with unmangled suffix \".resume.0\""},
    {"@__swiftmacro_1a1bV1c1dfMr_", "memberAttribute macro @d expansion #1 of c in a.b"},
    {"@__swiftmacro_1a1bV1c1dfMq_", "preamble macro @d expansion #1 of c in a.b"},
    {"$s3foo4main1SVSfADSfTf3pSSd5dpSSd7i_n",
     "function signature specialization <Arg[0] = [Constant Propagated Struct : main.S][Constant "
     "Propagated Struct : Swift.Float][Constant Propagated Float : 5], Arg[1] = Dead, Arg[2] = "
     "[Constant Propagated Struct : main.S][Constant Propagated Struct : Swift.Float][Constant "
     "Propagated Float : 7], Arg[3] = Value Promoted from Box> of foo"},
    {"_TtTGSqFT_T__Si_", "((() -> ())?, Swift.Int)"},
    {"_TtTSiFzT_Si_", "(Swift.Int, () throws -> Swift.Int)"},
    {"_TtFzT_T_", "() throws -> ()"},
    {"_TtKT_Si", "@autoclosure () -> Swift.Int"},
    {"_TtXbSi", "@box Swift.Int"},
    {"_TFC1a1bg9subscriptFSiSi", "a.b.subscript.getter : (Swift.Int) -> Swift.Int"},
    {"_TFC1a1bg9subscriptFT1xSi_Si", "a.b.subscript.getter : (x: Swift.Int) -> Swift.Int"},
    {"_TFC1a1bgP6_abcde9subscriptFSiSi", "a.b.subscript.getter : (Swift.Int) -> Swift.Int"},
    {"_TIvV1a1b1cSii", "variable initialization expression of a.b.c : Swift.Int"},
    {"_TIF1a1bFT1cSi_T_A_", "default argument 0 of a.b(c: Swift.Int) -> ()"},
    {"_TTDFC1a1b1cfT_T_", "dynamic a.b.c() -> ()"},
    {"_TTdFC1a1b1cfT_T_", "super a.b.c() -> ()"},
    {"_TTVFC1a1b1cfT_T_", "override a.b.c() -> ()"},
    {"_TTWC1a1bS_1pS_FS1_1cfT_T_",
     "protocol witness for a.p.c() -> () in conformance a.b : a.p in a"},
    {"_TTRXFdCb_dSi__XFo_dSi__",
     "reabstraction thunk helper from @callee_owned (@unowned Swift.Int) -> () to @callee_unowned "
     "@convention(block) (@unowned Swift.Int) -> ()"},
    {"_TTRXFdCc__dSi_XFo__dSi_",
     "reabstraction thunk helper from @callee_owned () -> (@unowned Swift.Int) to @callee_unowned "
     "@convention(c) () -> (@unowned Swift.Int)"},
    {"_TPAo__TF1a1bFT_T_", "partial apply ObjC forwarder for a.b() -> ()"},
    {"_TPA", "partial apply forwarder"},
    {"_TMPC1a1b", "generic type metadata pattern for a.b"},
    {"_TMLC1a1b", "lazy cache variable for type metadata for a.b"},
    {"_TWGC1a1bS_1pS_", "generic protocol witness table for a.b : a.p in a"},
    {"_TWTC1a1bS_1pS_3fooS_1q",
     "associated type witness table accessor for foo : a.q in a.b : a.p in a"},
    {"_TwxxC1a1b", "destroy value witness for a.b"},
    {"_TF1a1bFT_T_.foo", "a.b() -> () with unmangled suffix \".foo\""},
    {"_TFe1aRxs8RunciblerSa1bfT_T_",
     "(extension in a):Swift.Array<A where A: Swift.Runcible>.b() -> ()"},
    {"_TF1aoP1pFSiSi", "a.+ postfix(Swift.Int) -> Swift.Int"},
    {"_TF1aop1nFSiSi", "a.! prefix(Swift.Int) -> Swift.Int"},
    {"_TtGC1a1bSi_", "a.b<Swift.Int>"},
    {"_TtGCV1a1b1cSi_SS_", "a.b<Swift.Int>.c<Swift.String>"},
    {"_TtXoSi", "unowned Swift.Int"},
    {"_TtXuSi", "unowned(unsafe) Swift.Int"},
    {"_TtMP_", "Any.Protocol"},
    {"_TtERR", "<ERROR TYPE>"},
    {"_TtDSi", "Self"},
    {"_TtaV1a1b1c", "a.b.c"},
    {"_TtkSi", "@noDerivative Swift.Int"},
};

static void
test_kinds(void **state)
{
    (void)state;
    for (size_t i = 0; i < FZ_ARRAY_LEN(kinds); i++) {
        struct fz_buffer out;
        fz_buffer_init(&out, 0);
        print_message("%s\n", kinds[i].name);
        assert_true(sym_demangle(kinds[i].name, false, NULL, &out));
        assert_string_equal(fz_buffer_cstr(&out), kinds[i].want);
        fz_buffer_deinit(&out);
    }
}

/* A name cut anywhere either demangles as a shorter name or is returned unchanged. */
static void
test_cut_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < FZ_ARRAY_LEN(kinds); i++) {
        char name[256];
        for (size_t len = strlen(kinds[i].name); len-- > 0 && len < sizeof(name);) {
            struct fz_buffer out;
            memcpy(name, kinds[i].name, len);
            name[len] = '\0';
            fz_buffer_init(&out, 0);
            if (!sym_demangle(name, false, NULL, &out))
                assert_string_equal(fz_buffer_cstr(&out), name);
            fz_buffer_deinit(&out);
        }
    }
}

/* A reference into the binary, at any place, makes a name unreadable: its target is not known. */
static void
test_symbolic_references(void **state)
{
    (void)state;
    for (size_t i = 0; i < FZ_ARRAY_LEN(kinds); i++) {
        size_t len = strlen(kinds[i].name);
        for (size_t at = 0; at <= len && len < 200; at++) {
            char name[256];
            struct fz_buffer out;
            snprintf(name, sizeof(name), "%.*s%c\x80\x02%c\xff%s", (int)at, kinds[i].name,
                     (char)(1 + (at + i) % 0x1f), (char)(at + 1), kinds[i].name + at);
            fz_buffer_init(&out, 0);
            assert_false(sym_demangle(name, false, NULL, &out));
            assert_string_equal(fz_buffer_cstr(&out), name);
            fz_buffer_deinit(&out);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_cut_names),
        cmocka_unit_test(test_symbolic_references),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
