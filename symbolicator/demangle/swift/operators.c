/*
 * A symbol as a list of operators: their letters, the kind of node that they make, their operands.
 *
 * The operands that an operator pops are one letter each, in the order of the mangling, so they are
 * popped from the right:
 *
 *   t type    e entity    p protocol    c conformance    G generic signature    g that, or nothing
 *   N nominal type    x context    m module    n name    a associated type    A path of those
 *   d dependent conformance    * anything
 *
 * The first row that matches wins, so "TJ" comes after "TJS".
 */
#include "symbolicator/demangle/swift/parse.h"

#include "base/attr.h"

enum mode {
    NODE = 0,     /* a node of its own */
    TYPE = 1,     /* ... that is a type */
    REVERSED = 2, /* its children in reverse order */
    TYPE_REVERSED = TYPE | REVERSED,
};

struct operator_row {
    char letters[4];
    enum sym_swift_kind kind;
    const char *pops;
    enum mode mode;
    sym_swift_operator_fn *read; /* instead of pops */
};

static const struct operator_row rows[] = {
    {"A", SWIFT_NONE, "", NODE, sym_swift_op_substitutions},
    {"B", SWIFT_BUILTIN_TYPE, "", NODE, sym_swift_op_builtin},
    {"C", SWIFT_CLASS, "", NODE, sym_swift_op_nominal},
    {"D", SWIFT_TYPE_MANGLING, "", NODE, sym_swift_op_type_mangling},
    {"E", SWIFT_EXTENSION, "", NODE, sym_swift_op_extension},
    {"F", SWIFT_FUNCTION, "", NODE, sym_swift_op_function},
    {"G", SWIFT_BOUND_GENERIC, "", NODE, sym_swift_op_bound_generic},
    {"HA", SWIFT_DEPENDENT_ASSOCIATED, "", NODE, sym_swift_op_dependent_conformance},
    {"HC", SWIFT_CONCRETE_CONFORMANCE, "", NODE, sym_swift_op_concrete_conformance},
    {"HD", SWIFT_DEPENDENT_ROOT, "", NODE, sym_swift_op_dependent_conformance},
    {"HI", SWIFT_DEPENDENT_INHERITED, "", NODE, sym_swift_op_dependent_conformance},
    {"HO", SWIFT_DEPENDENT_OPAQUE, "dt", NODE, NULL},
    {"HP", SWIFT_CONFORMANCE_IN_TYPE_MODULE, "p", NODE, NULL},
    {"Hp", SWIFT_CONFORMANCE_IN_PROTOCOL_MODULE, "p", NODE, NULL},
    {"HX", SWIFT_PACK_CONFORMANCE, "", NODE, sym_swift_op_conformance_list},
    {"Hc", SWIFT_CONFORMANCE_RECORD, "c", NODE, NULL},
    {"Hn", SWIFT_NOMINAL_RECORD, "t", NODE, NULL},
    {"Ho", SWIFT_OPAQUE_RECORD, "*", NODE, NULL},
    {"Hr", SWIFT_PROTOCOL_RECORD, "p", NODE, NULL},
    {"HF", SWIFT_ACCESSIBLE_RECORD, "", NODE, NULL},
    {"I", SWIFT_IMPL_FUNCTION, "", NODE, sym_swift_op_impl_function},
    {"K", SWIFT_THROWS, "", NODE, NULL},
    {"L", SWIFT_LOCAL_NAME, "", NODE, sym_swift_op_local_name},
    {"Ma", SWIFT_METADATA_ACCESSOR, "t", NODE, NULL},
    {"MA", SWIFT_REFLECTION_ASSOC, "c", NODE, NULL},
    {"Mb", SWIFT_SPECIALIZED_METADATA_ACCESSOR, "t", NODE, NULL},
    {"MB", SWIFT_REFLECTION_BUILTIN, "t", NODE, NULL},
    {"Mc", SWIFT_CONFORMANCE_DESCRIPTOR, "c", NODE, NULL},
    {"MC", SWIFT_REFLECTION_SUPERCLASS, "N", NODE, NULL},
    {"MD", SWIFT_METADATA_DEMANGLING_CACHE, "t", NODE, NULL},
    {"Mf", SWIFT_FULL_METADATA, "t", NODE, NULL},
    {"MF", SWIFT_REFLECTION_FIELD, "t", NODE, NULL},
    {"Mg", SWIFT_OPAQUE_ACCESSOR, "*", NODE, NULL},
    {"Mh", SWIFT_OPAQUE_ACCESSOR_IMPL, "*", NODE, NULL},
    {"Mi", SWIFT_METADATA_INSTANTIATION_FUNCTION, "t", NODE, NULL},
    {"MI", SWIFT_METADATA_INSTANTIATION_CACHE, "t", NODE, NULL},
    {"Mj", SWIFT_OPAQUE_ACCESSOR_KEY, "*", NODE, NULL},
    {"MJ", SWIFT_NONCANONICAL_METADATA_CACHE, "*", NODE, NULL},
    {"Mk", SWIFT_OPAQUE_ACCESSOR_VAR, "*", NODE, NULL},
    {"MK", SWIFT_METADATA_CACHE, "*", NODE, NULL},
    {"Ml", SWIFT_METADATA_SINGLETON_CACHE, "t", NODE, NULL},
    {"ML", SWIFT_METADATA_LAZY_CACHE, "t", NODE, NULL},
    {"Mm", SWIFT_METACLASS, "t", NODE, NULL},
    {"MM", SWIFT_SPECIALIZED_METACLASS, "t", NODE, NULL},
    {"Mn", SWIFT_NOMINAL_DESCRIPTOR, "t", NODE, NULL},
    {"MN", SWIFT_NONCANONICAL_METADATA, "t", NODE, NULL},
    {"Mo", SWIFT_CLASS_BASE_OFFSET, "t", NODE, NULL},
    {"Mp", SWIFT_PROTOCOL_DESCRIPTOR, "p", NODE, NULL},
    {"MP", SWIFT_METADATA_PATTERN, "t", NODE, NULL},
    {"Mq", SWIFT_UNIQUABLE, "*", NODE, NULL},
    {"MQ", SWIFT_OPAQUE_DESCRIPTOR, "*", NODE, NULL},
    {"Mr", SWIFT_METADATA_COMPLETION, "t", NODE, NULL},
    {"Ms", SWIFT_OBJC_STUB, "t", NODE, NULL},
    {"MS", SWIFT_SELF_CONFORMANCE_DESCRIPTOR, "p", NODE, NULL},
    {"Mt", SWIFT_FULL_OBJC_STUB, "t", NODE, NULL},
    {"Mu", SWIFT_METHOD_LOOKUP, "t", NODE, NULL},
    {"MU", SWIFT_OBJC_UPDATE, "t", NODE, NULL},
    {"MV", SWIFT_PROPERTY_DESCRIPTOR, "e", NODE, NULL},
    {"MXE", SWIFT_EXTENSION_DESCRIPTOR, "x", NODE, NULL},
    {"MXM", SWIFT_MODULE_DESCRIPTOR, "m", NODE, NULL},
    {"MXY", SWIFT_ANONYMOUS_DESCRIPTOR, "x*", NODE, NULL},
    {"MXX", SWIFT_ANONYMOUS_DESCRIPTOR, "x", NODE, NULL},
    {"MXA", SWIFT_ASSOC_PARAM_REF, "tA", NODE, NULL},
    {"Mz", SWIFT_CANONICAL_ONCE_TOKEN, "t", NODE, NULL},
    {"N", SWIFT_METADATA, "t", NODE, NULL},
    {"O", SWIFT_ENUM, "", NODE, sym_swift_op_nominal},
    {"P", SWIFT_PROTOCOL, "", NODE, sym_swift_op_nominal},
    {"Qa", SWIFT_ASSOC_TYPE_REF, "", NODE, sym_swift_op_assoc_ref},
    {"QO", SWIFT_OPAQUE_RESULT_OF, "x", NODE, NULL},
    {"Qo", SWIFT_OPAQUE_TYPE, "", NODE, sym_swift_op_opaque_type},
    {"Qr", SWIFT_OPAQUE_RESULT, "", TYPE, NULL},
    {"QR", SWIFT_OPAQUE_RESULT, "", NODE, sym_swift_op_opaque_result},
    {"Qu", SWIFT_OPAQUE_RESULT, "", TYPE, NULL},
    {"QU", SWIFT_OPAQUE_RESULT, "", NODE, sym_swift_op_opaque_result},
    {"Qx", SWIFT_NONE, "", NODE, sym_swift_op_assoc_simple},
    {"Qy", SWIFT_GENERIC_PARAM, "", NODE, sym_swift_op_assoc_simple},
    {"Qz", SWIFT_NUMBER, "", NODE, sym_swift_op_assoc_simple},
    {"QX", SWIFT_NONE, "", NODE, sym_swift_op_assoc_compound},
    {"QY", SWIFT_GENERIC_PARAM, "", NODE, sym_swift_op_assoc_compound},
    {"QZ", SWIFT_NUMBER, "", NODE, sym_swift_op_assoc_compound},
    {"Qp", SWIFT_PACK_EXPANSION, "tt", TYPE, NULL},
    {"Qe", SWIFT_PACK_ELEMENT, "", NODE, sym_swift_op_pack_element},
    {"QP", SWIFT_PACK, "", NODE, sym_swift_op_pack},
    {"QS", SWIFT_SIL_PACK_DIRECT, "", NODE, sym_swift_op_pack},
    {"R", SWIFT_NONE, "", NODE, sym_swift_op_requirement},
    {"S", SWIFT_NONE, "", NODE, sym_swift_op_standard},
    {"TTI", SWIFT_IDENTITY_THUNK, "e", NODE, NULL},
    {"TTH", SWIFT_MAIN_ACTOR_THUNK, "e", NODE, NULL},
    {"Tc", SWIFT_CURRY_THUNK, "e", NODE, NULL},
    {"Tj", SWIFT_DISPATCH_THUNK, "e", NODE, NULL},
    {"Tq", SWIFT_METHOD_DESCRIPTOR, "e", NODE, NULL},
    {"To", SWIFT_OBJC, "", NODE, NULL},
    {"TO", SWIFT_NON_OBJC, "", NODE, NULL},
    {"TD", SWIFT_DYNAMIC, "", NODE, NULL},
    {"Td", SWIFT_DIRECT_METHOD, "", NODE, NULL},
    {"TE", SWIFT_DISTRIBUTED_THUNK, "", NODE, NULL},
    {"TF", SWIFT_DISTRIBUTED_ACCESSOR, "", NODE, NULL},
    {"Ta", SWIFT_PARTIAL_APPLY_OBJC, "", NODE, NULL},
    {"TA", SWIFT_PARTIAL_APPLY, "", NODE, NULL},
    {"Tm", SWIFT_MERGED, "", NODE, NULL},
    {"TX", SWIFT_REPLACEABLE_VAR, "", NODE, NULL},
    {"Tx", SWIFT_REPLACEABLE_KEY, "", NODE, NULL},
    {"TI", SWIFT_REPLACEABLE_IMPL, "", NODE, NULL},
    {"TQ", SWIFT_AWAIT_RESUME, "", NODE, sym_swift_op_resume},
    {"TY", SWIFT_SUSPEND_RESUME, "", NODE, sym_swift_op_resume},
    {"TC", SWIFT_COROUTINE_PROTOTYPE, "t", NODE, NULL},
    {"Tz", SWIFT_COMPLETION_HANDLER, "", NODE, sym_swift_op_completion_handler},
    {"TZ", SWIFT_PREDEFINED_COMPLETION_HANDLER, "", NODE, sym_swift_op_completion_handler},
    {"TV", SWIFT_VTABLE_THUNK, "ee", REVERSED, NULL},
    {"TW", SWIFT_PROTOCOL_WITNESS, "ce", REVERSED, NULL},
    {"TS", SWIFT_SELF_CONFORMANCE_WITNESS, "e", NODE, NULL},
    {"TR", SWIFT_REABSTRACTION_HELPER, "ttg", NODE, NULL},
    {"Tr", SWIFT_REABSTRACTION, "ttg", NODE, NULL},
    {"Ty", SWIFT_REABSTRACTION_WITH_SELF, "tttg", NODE, NULL},
    {"TU", SWIFT_REABSTRACTION_WITH_ACTOR, "*t", NODE, NULL},
    {"Tg", SWIFT_GENERIC_SPECIALIZATION, "", NODE, sym_swift_op_generic_spec},
    {"TG", SWIFT_GENERIC_NOT_REABSTRACTED, "", NODE, sym_swift_op_generic_spec},
    {"TB", SWIFT_GENERIC_SPECIALIZATION_RESILIENT, "", NODE, sym_swift_op_generic_spec},
    {"Ts", SWIFT_GENERIC_PRESPECIALIZATION, "", NODE, sym_swift_op_generic_spec},
    {"Ti", SWIFT_INLINED_GENERIC, "", NODE, sym_swift_op_generic_spec},
    {"Tt", SWIFT_NONE, "", NODE, sym_swift_op_dropped_spec},
    {"Tp", SWIFT_GENERIC_PARTIAL, "", NODE, sym_swift_op_partial_spec},
    {"TP", SWIFT_GENERIC_PARTIAL_NOT_REABSTRACTED, "", NODE, sym_swift_op_partial_spec},
    {"Tf", SWIFT_FUNCTION_SPECIALIZATION, "", NODE, sym_swift_op_function_spec},
    {"TK", SWIFT_KEY_PATH_GETTER, "", NODE, sym_swift_op_key_path},
    {"Tk", SWIFT_KEY_PATH_SETTER, "", NODE, sym_swift_op_key_path},
    {"TH", SWIFT_KEY_PATH_EQUALS, "", NODE, sym_swift_op_key_path_index},
    {"Th", SWIFT_KEY_PATH_HASH, "", NODE, sym_swift_op_key_path_index},
    {"Tl", SWIFT_ASSOC_TYPE_DESCRIPTOR, "a", NODE, NULL},
    {"TL", SWIFT_REQUIREMENTS_BASE, "p", NODE, NULL},
    {"TM", SWIFT_DEFAULT_ASSOC_METADATA_ACCESSOR, "a", NODE, NULL},
    {"Tn", SWIFT_ASSOC_CONFORMANCE_DESCRIPTOR, "tAp", NODE, NULL},
    {"TN", SWIFT_DEFAULT_ASSOC_CONFORMANCE, "tAp", NODE, NULL},
    {"Tb", SWIFT_BASE_CONFORMANCE_DESCRIPTOR, "tp", NODE, NULL},
    {"Tv", SWIFT_OUTLINED_VARIABLE, "", NODE, sym_swift_op_outlined_variable},
    {"Te", SWIFT_OUTLINED_BRIDGED, "", NODE, sym_swift_op_outlined_bridged},
    {"Tu", SWIFT_ASYNC_POINTER, "", NODE, NULL},
    {"TJS", SWIFT_AUTODIFF_SUBSET_THUNK, "", NODE, sym_swift_op_autodiff},
    {"TJO", SWIFT_AUTODIFF_SELF_REORDERING, "", NODE, sym_swift_op_self_reordering},
    {"TJV", SWIFT_AUTODIFF_VTABLE_THUNK, "", NODE, sym_swift_op_autodiff},
    {"TJ", SWIFT_AUTODIFF_FUNCTION, "", NODE, sym_swift_op_autodiff},
    {"Twb", SWIFT_BACK_DEPLOYMENT_THUNK, "", NODE, NULL},
    {"TwB", SWIFT_BACK_DEPLOYMENT_FALLBACK, "", NODE, NULL},
    {"Twc", SWIFT_CORO_POINTER, "", NODE, NULL},
    {"Twd", SWIFT_DEFAULT_OVERRIDE, "", NODE, NULL},
    {"TwS", SWIFT_HAS_SYMBOL, "", NODE, NULL},
    {"V", SWIFT_STRUCT, "", NODE, sym_swift_op_nominal},
    {"WC", SWIFT_ENUM_CASE, "e", NODE, NULL},
    {"WV", SWIFT_VALUE_WITNESS_TABLE, "t", NODE, NULL},
    {"Wv", SWIFT_FIELD_OFFSET, "", NODE, sym_swift_op_field_offset},
    {"WS", SWIFT_SELF_CONFORMANCE_TABLE, "p", NODE, NULL},
    {"WP", SWIFT_WITNESS_TABLE, "c", NODE, NULL},
    {"Wp", SWIFT_WITNESS_TABLE_PATTERN, "c", NODE, NULL},
    {"WG", SWIFT_GENERIC_WITNESS_TABLE, "c", NODE, NULL},
    {"WI", SWIFT_GENERIC_WITNESS_TABLE_INSTANTIATION, "c", NODE, NULL},
    {"Wr", SWIFT_RESILIENT_WITNESS_TABLE, "c", NODE, NULL},
    {"Wl", SWIFT_LAZY_WITNESS_TABLE_ACCESSOR, "tc", NODE, NULL},
    {"WL", SWIFT_LAZY_WITNESS_TABLE_CACHE, "tc", NODE, NULL},
    {"Wa", SWIFT_WITNESS_TABLE_ACCESSOR, "c", NODE, NULL},
    {"Wt", SWIFT_ASSOC_METADATA_ACCESSOR, "cn", REVERSED, NULL},
    {"WT", SWIFT_ASSOC_WITNESS_TABLE_ACCESSOR, "cAt", NODE, NULL},
    {"Wb", SWIFT_BASE_WITNESS_TABLE_ACCESSOR, "ct", REVERSED, NULL},
    {"WOy", SWIFT_OUTLINED_COPY, "tg", NODE, NULL},
    {"WOe", SWIFT_OUTLINED_CONSUME, "tg", NODE, NULL},
    {"WOr", SWIFT_OUTLINED_RETAIN, "tg", NODE, NULL},
    {"WOs", SWIFT_OUTLINED_RELEASE, "tg", NODE, NULL},
    {"WOb", SWIFT_OUTLINED_INIT_TAKE, "tg", NODE, NULL},
    {"WOB", SWIFT_OUTLINED_INIT_TAKE, "tg", NODE, NULL},
    {"WOc", SWIFT_OUTLINED_INIT_COPY, "tg", NODE, NULL},
    {"WOC", SWIFT_OUTLINED_INIT_COPY, "tg", NODE, NULL},
    {"WOd", SWIFT_OUTLINED_ASSIGN_TAKE, "tg", NODE, NULL},
    {"WOD", SWIFT_OUTLINED_ASSIGN_TAKE, "tg", NODE, NULL},
    {"WOf", SWIFT_OUTLINED_ASSIGN_COPY, "tg", NODE, NULL},
    {"WOF", SWIFT_OUTLINED_ASSIGN_COPY, "tg", NODE, NULL},
    {"WOh", SWIFT_OUTLINED_DESTROY, "tg", NODE, NULL},
    {"WOH", SWIFT_OUTLINED_DESTROY, "tg", NODE, NULL},
    {"WOg", SWIFT_OUTLINED_GET_TAG, "tg", NODE, NULL},
    {"WOi", SWIFT_OUTLINED_TAG_STORE, "", NODE, sym_swift_op_outlined_enum},
    {"WOj", SWIFT_OUTLINED_PROJECT, "", NODE, sym_swift_op_outlined_enum},
    {"WZ", SWIFT_ONCE_FUNCTION, "", NODE, sym_swift_op_once},
    {"Wz", SWIFT_ONCE_TOKEN, "", NODE, sym_swift_op_once},
    {"WJ", SWIFT_DIFFERENTIABILITY_WITNESS, "", NODE, sym_swift_op_differentiability},
    {"XE", SWIFT_NOESCAPE_FUNCTION_TYPE, "", NODE, sym_swift_op_function_type},
    {"XA", SWIFT_ESCAPING_AUTOCLOSURE_TYPE, "", NODE, sym_swift_op_function_type},
    {"Xf", SWIFT_THIN_FUNCTION_TYPE, "", NODE, sym_swift_op_function_type},
    {"XK", SWIFT_AUTOCLOSURE_TYPE, "", NODE, sym_swift_op_function_type},
    {"XU", SWIFT_UNCURRIED_FUNCTION_TYPE, "", NODE, sym_swift_op_function_type},
    {"XL", SWIFT_ESCAPING_OBJC_BLOCK, "", NODE, sym_swift_op_function_type},
    {"XB", SWIFT_OBJC_BLOCK, "", NODE, sym_swift_op_function_type},
    {"XC", SWIFT_C_FUNCTION_TYPE, "", NODE, sym_swift_op_function_type},
    {"XO", SWIFT_CALLED_ONCE_FUNCTION_TYPE, "", NODE, sym_swift_op_function_type},
    {"XzB", SWIFT_OBJC_BLOCK, "", NODE, sym_swift_op_c_function_type},
    {"XzC", SWIFT_C_FUNCTION_TYPE, "", NODE, sym_swift_op_c_function_type},
    {"Xg", SWIFT_EXISTENTIAL_SHAPE, "t", NODE, NULL},
    {"XG", SWIFT_EXISTENTIAL_SHAPE, "gt", NODE, NULL},
    {"Xo", SWIFT_UNOWNED, "t", TYPE, NULL},
    {"Xu", SWIFT_UNMANAGED, "t", TYPE, NULL},
    {"Xw", SWIFT_WEAK, "t", TYPE, NULL},
    {"Xb", SWIFT_SIL_BOX, "t", TYPE, NULL},
    {"XD", SWIFT_DYNAMIC_SELF, "t", TYPE, NULL},
    {"XM", SWIFT_METATYPE, "", NODE, sym_swift_op_metatype},
    {"Xm", SWIFT_EXISTENTIAL_METATYPE, "", NODE, sym_swift_op_metatype},
    {"Xp", SWIFT_EXISTENTIAL_METATYPE, "t", TYPE, NULL},
    {"XP", SWIFT_CONSTRAINED_EXISTENTIAL, "", NODE, sym_swift_op_existential},
    {"Xc", SWIFT_PROTOCOL_LIST_CLASS, "", NODE, sym_swift_op_protocols_class},
    {"Xl", SWIFT_PROTOCOL_LIST_ANY_OBJECT, "", NODE, sym_swift_op_protocols},
    {"Xx", SWIFT_SIL_BOX_WITH_LAYOUT, "", NODE, sym_swift_op_box},
    {"XX", SWIFT_SIGNATURE, "", NODE, sym_swift_op_box},
    {"XY", SWIFT_OTHER_NOMINAL, "", NODE, sym_swift_op_nominal},
    {"XZ", SWIFT_ANONYMOUS_CONTEXT, "", NODE, sym_swift_op_anonymous},
    {"Xe", SWIFT_ERROR_TYPE, "", TYPE, NULL},
    {"XSq", SWIFT_SUGARED_OPTIONAL, "t", TYPE, NULL},
    {"XSa", SWIFT_SUGARED_ARRAY, "t", TYPE, NULL},
    {"XSA", SWIFT_SUGARED_INLINE_ARRAY, "tt", TYPE, NULL},
    {"XSD", SWIFT_SUGARED_DICTIONARY, "tt", TYPE, NULL},
    {"XSp", SWIFT_SUGARED_PAREN, "t", TYPE, NULL},
    {"Ya", SWIFT_ASYNC, "", NODE, NULL},
    {"YA", SWIFT_ISOLATED_ANY, "", NODE, NULL},
    {"Yb", SWIFT_SENDABLE, "", NODE, NULL},
    {"Yc", SWIFT_GLOBAL_ACTOR, "t", NODE, NULL},
    {"YC", SWIFT_NONISOLATED_CALLER, "", NODE, NULL},
    {"Yi", SWIFT_ISOLATED, "t", TYPE, NULL},
    {"Yj", SWIFT_DIFFERENTIABLE, "", NODE, sym_swift_op_differentiable},
    {"Yk", SWIFT_NO_DERIVATIVE, "t", TYPE, NULL},
    {"YK", SWIFT_TYPED_THROWS, "t", NODE, NULL},
    {"Yt", SWIFT_CONST_LITERAL, "t", TYPE, NULL},
    {"Yg", SWIFT_CONST_VALUE, "t", TYPE, NULL},
    {"YT", SWIFT_SENDING_RESULT, "", NODE, NULL},
    {"Yu", SWIFT_SENDING, "t", TYPE, NULL},
    {"Z", SWIFT_STATIC, "e", NODE, NULL},
    {"a", SWIFT_TYPE_ALIAS, "", NODE, sym_swift_op_nominal},
    {"c", SWIFT_FUNCTION_TYPE, "", NODE, sym_swift_op_function_type},
    {"d", SWIFT_VARIADIC, "", NODE, NULL},
    {"fD", SWIFT_DEALLOCATOR, "x", NODE, NULL},
    {"fd", SWIFT_DESTRUCTOR, "x", NODE, NULL},
    {"fZ", SWIFT_ISOLATED_DEALLOCATOR, "x", NODE, NULL},
    {"fE", SWIFT_IVAR_DESTROYER, "x", NODE, NULL},
    {"fe", SWIFT_IVAR_INITIALIZER, "x", NODE, NULL},
    {"fi", SWIFT_INITIALIZER, "x", NODE, NULL},
    {"fP", SWIFT_WRAPPER_BACKING_INITIALIZER, "x", NODE, NULL},
    {"fW", SWIFT_WRAPPER_PROJECTED_INITIALIZER, "x", NODE, NULL},
    {"fF", SWIFT_WRAPPED_FIELD_INIT_ACCESSOR, "x", NODE, NULL},
    {"fC", SWIFT_ALLOCATOR, "", NODE, sym_swift_op_constructor},
    {"fc", SWIFT_CONSTRUCTOR, "", NODE, sym_swift_op_constructor},
    {"fU", SWIFT_EXPLICIT_CLOSURE, "", NODE, sym_swift_op_closure},
    {"fu", SWIFT_IMPLICIT_CLOSURE, "", NODE, sym_swift_op_closure},
    {"fA", SWIFT_DEFAULT_ARGUMENT, "", NODE, sym_swift_op_default_argument},
    {"fm", SWIFT_MACRO, "", NODE, sym_swift_op_entity},
    {"fM", SWIFT_NONE, "", NODE, sym_swift_op_macro},
    {"fp", SWIFT_GENERIC_PARAM_DECL, "", NODE, sym_swift_op_entity},
    {"g", SWIFT_RETROACTIVE, "", NODE, sym_swift_op_retroactive},
    {"h", SWIFT_SHARED, "t", TYPE, NULL},
    {"i", SWIFT_SUBSCRIPT, "", NODE, sym_swift_op_storage},
    {"l", SWIFT_NONE, "", NODE, sym_swift_op_signature},
    {"m", SWIFT_METATYPE, "t", TYPE, NULL},
    {"n", SWIFT_OWNED, "t", TYPE, NULL},
    {"o", SWIFT_NONE, "", NODE, sym_swift_op_operator_name},
    {"p", SWIFT_PROTOCOL_LIST, "", NODE, sym_swift_op_protocols},
    {"q", SWIFT_NONE, "", NODE, sym_swift_op_param},
    {"r", SWIFT_PARAM_COUNT, "", NODE, sym_swift_op_signature},
    {"s", SWIFT_MODULE, "", NODE, sym_swift_op_standard},
    {"t", SWIFT_TUPLE, "", NODE, sym_swift_op_tuple},
    {"u", SWIFT_GENERIC_TYPE, "tG", TYPE_REVERSED, NULL},
    {"v", SWIFT_VARIABLE, "", NODE, sym_swift_op_storage},
    {"w", SWIFT_VALUE_WITNESS, "", NODE, sym_swift_op_value_witness},
    {"x", SWIFT_NUMBER, "", NODE, sym_swift_op_param},
    {"y", SWIFT_EMPTY_LIST, "", NODE, NULL},
    {"z", SWIFT_INOUT, "t", TYPE, NULL},
    {"_", SWIFT_FIRST_ELEMENT, "", NODE, NULL},
    {".", SWIFT_SUFFIX, "", NODE, sym_swift_op_suffix},
    {"$", SWIFT_INTEGER, "", NODE, sym_swift_op_integer},
};

static struct sym_swift_node *
pop_operand(struct sym_swift_parser *p, char what)
{
    static const struct {
        char what;
        struct sym_swift_node *(*pop)(struct sym_swift_parser *);
    } pops[] = {
        {'t', sym_swift_pop_type},        {'e', sym_swift_pop_entity},
        {'p', sym_swift_pop_protocol},    {'N', sym_swift_pop_nominal},
        {'c', sym_swift_pop_conformance}, {'x', sym_swift_pop_context},
        {'m', sym_swift_pop_module},      {'a', sym_swift_pop_assoc_name},
        {'A', sym_swift_pop_assoc_path},  {'*', sym_swift_pop_any},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(pops); i++) {
        if (pops[i].what == what)
            return pops[i].pop(p);
    }
    /* A pop that finds another kind leaves the stack as it is: an optional signature costs
     * nothing. */
    if (what == 'G' || what == 'g')
        return sym_swift_pop(p, SWIFT_SIGNATURE);
    return sym_swift_pop_flag(p, what == 'n' ? SWIFT_F_DECL_NAME : SWIFT_F_DEPENDENT);
}

static struct sym_swift_node *
make_from_operands(struct sym_swift_parser *p, const struct operator_row *row)
{
    struct sym_swift_node *node = sym_swift_make(p, row->kind);
    for (size_t i = strlen(row->pops); i-- > 0 && node;) {
        struct sym_swift_node *operand = pop_operand(p, row->pops[i]);
        if (operand || row->pops[i] != 'g')
            node = sym_swift_add(p, node, operand);
    }
    if (!(row->mode & REVERSED)) /* popped from the right */
        sym_swift_node_reverse(node, 0);
    return row->mode & TYPE ? sym_swift_node_type(node) : node;
}

static struct sym_swift_node *
read_operator(struct sym_swift_parser *p)
{
    while (sym_swift_next_if(p, '\xff')) {
        /* padding before symbolic references */
    }
    /* one comparison per row rejects nearly all of them */
    char first = sym_swift_peek(p);
    for (size_t i = 0; i < FZ_ARRAY_LEN(rows); i++) {
        if (rows[i].letters[0] == first && sym_swift_next_if_text(p, rows[i].letters))
            return rows[i].read ? rows[i].read(p, rows[i].kind) : make_from_operands(p, &rows[i]);
    }
    /* Digits have no row: they begin an identifier. */
    return sym_swift_op_identifier(p, SWIFT_IDENTIFIER);
}

static bool
is_partial_apply(const struct sym_swift_node *node)
{
    return node->kind == SWIFT_PARTIAL_APPLY || node->kind == SWIFT_PARTIAL_APPLY_OBJC;
}

/* Attributes are last in the mangling and printed first. What comes after a partial application is
 * its child. */
static struct sym_swift_node *
whole_symbol(struct sym_swift_parser *p)
{
    struct sym_swift_node *global = sym_swift_make(p, SWIFT_GLOBAL);
    /* A suffix takes the rest of the name, so nothing can be above it on the stack. */
    struct sym_swift_node *suffix = sym_swift_pop(p, SWIFT_SUFFIX);
    struct sym_swift_node *parent = global, *attribute;
    while (parent && (attribute = sym_swift_pop_flag(p, SWIFT_F_ATTRIBUTE))) {
        parent = sym_swift_add(p, parent, attribute);
        if (is_partial_apply(attribute))
            parent = attribute;
    }
    /* Names of C functions can begin with "async_Main": only attributes can follow it. */
    if (p->stack.n > 1 && p->stack.items[0]->kind == SWIFT_ASYNC_MAIN)
        return NULL;
    for (size_t i = 0; i < p->stack.n && parent; i++)
        parent = sym_swift_add(p, parent, p->stack.items[i]);
    if (!parent || (suffix && !sym_swift_add(p, global, suffix)))
        return NULL;
    return global->n_children > 0 ? global : NULL;
}

struct sym_swift_node *
sym_swift_parse(struct fz_span text, enum sym_swift_flavor flavor, struct fz_arena *arena)
{
    /* Swift 4.0 has the labels of parameters in the tuple, later versions after the name. */
    struct sym_swift_parser parser = {
        .text = text, .arena = arena, .labels_in_types = flavor == SWIFT_LABELS_IN_TYPES};
    if (flavor == SWIFT_MAIN && !sym_swift_push(&parser, sym_swift_make(&parser, SWIFT_ASYNC_MAIN)))
        return NULL;
    /* There is no operator for the whole: what is left on the stack is the symbol. */
    while (parser.pos < text.len) {
        if (!sym_swift_push(&parser, read_operator(&parser)))
            return NULL;
    }
    return whole_symbol(&parser);
}
