/*
 * Implementation function types: the calling convention of a function, with a letter for the
 * callee, each parameter and each result. Their types are on the stack in that order.
 *
 *   SiSbIegyd_    @escaping @callee_guaranteed (@unowned Swift.Int) -> (@unowned Swift.Bool)
 */
#include "symbolicator/demangle/swift/parse.h"

static const struct sym_swift_word parameters[] = {
    {'i', "@in"},
    {'c', "@in_constant"},
    {'l', "@inout"},
    {'b', "@inout_aliasable"},
    {'n', "@in_guaranteed"},
    {'X', "@in_cxx"},
    {'x', "@owned"},
    {'g', "@guaranteed"},
    {'e', "@deallocating"},
    {'y', "@unowned"},
    {'v', "@pack_owned"},
    {'p', "@pack_guaranteed"},
    {'m', "@pack_inout"},
    {'\0', NULL},
};

static const struct sym_swift_word results[] = {
    {'r', "@out"},
    {'o', "@owned"},
    {'d', "@unowned"},
    {'u', "@unowned_inner_pointer"},
    {'a', "@autoreleased"},
    {'k', "@pack_out"},
    {'l', "@guaranteed_address"},
    {'g', "@guaranteed"},
    {'m', "@inout"},
    {'\0', NULL},
};

static const struct sym_swift_word callees[] = {
    {'y', "@callee_unowned"},
    {'g', "@callee_guaranteed"},
    {'x', "@callee_owned"},
    {'t', "@convention(thin)"},
    {'\0', NULL},
};

static const struct sym_swift_word representations[] = {
    {'B', "block"},       {'C', "c"},       {'M', "method"},     {'O', "objc_method"},
    {'J', "objc_method"}, {'K', "closure"}, {'V', "com_method"}, {'W', "witness_method"},
    {'\0', NULL},
};

static const struct sym_swift_word coroutines[] = {
    {'A', "@yield_once"},
    {'I', "@yield_once_2"},
    {'G', "@yield_many"},
    {'\0', NULL},
};

static struct sym_swift_node *
add_attribute(struct sym_swift_parser *p, struct sym_swift_node *type, const char *text)
{
    if (!text)
        return type;
    return sym_swift_add(p, type, sym_swift_make_text(p, SWIFT_IMPL_ATTRIBUTE, text));
}

/* "s": substitutions for a pattern with its signature; "I": for the function itself. */
static struct sym_swift_node *
add_substitutions(struct sym_swift_parser *p, struct sym_swift_node *type)
{
    static const struct {
        char letter;
        enum sym_swift_kind kind;
    } kinds[] = {{'s', SWIFT_IMPL_PATTERN_SUBSTITUTIONS},
                 {'I', SWIFT_IMPL_INVOCATION_SUBSTITUTIONS}};
    for (size_t i = 0; i < FZ_ARRAY_LEN(kinds); i++) {
        if (!sym_swift_next_if(p, kinds[i].letter))
            continue;
        struct sym_swift_arguments arguments;
        /* Swift's demangler asserts that there is one list. */
        if (!sym_swift_pop_arguments(p, &arguments) || arguments.lists.n != 1)
            return NULL;
        struct sym_swift_node *node = sym_swift_make(p, kinds[i].kind);
        if (kinds[i].letter == 's')
            node = sym_swift_add(p, node, sym_swift_pop(p, SWIFT_SIGNATURE));
        node = sym_swift_add(p, node, arguments.lists.items[0]);
        type = sym_swift_add(p, type, node);
    }
    return type;
}

static struct sym_swift_node *
add_representation(struct sym_swift_parser *p, struct sym_swift_node *type)
{
    /* A "z" before other letters begins the error result. */
    bool with_c_type = sym_swift_peek(p) == 'z' && p->pos + 1 < p->text.len &&
                       (p->text.data[p->pos + 1] == 'B' || p->text.data[p->pos + 1] == 'C');
    if (with_c_type)
        p->pos++;
    const char *text = sym_swift_next_word(p, representations);
    if (!text)
        return type;
    struct sym_swift_node *convention = sym_swift_make_text(p, SWIFT_IMPL_CONVENTION, text);
    if (with_c_type)
        convention = sym_swift_add(p, convention, sym_swift_clang_type(p));
    return sym_swift_add(p, type, convention);
}

static struct sym_swift_node *
add_attributes(struct sym_swift_parser *p, struct sym_swift_node *type)
{
    static const struct sym_swift_word differentiable[] = {
        {'d', "@differentiable"},
        {'l', "@differentiable(_linear)"},
        {'f', "@differentiable(_forward)"},
        {'r', "@differentiable(reverse)"},
        {'\0', NULL},
    };
    /* The order is fixed (impl-function-type in Mangling.rst), each letter comes once at most. */
    if (sym_swift_next_if(p, 'e'))
        type = add_attribute(p, type, "@escaping");
    if (sym_swift_next_if(p, 'A'))
        type = add_attribute(p, type, "@isolated(any)");
    if (sym_swift_next_if(p, 'N'))
        type = add_attribute(p, type, "@caller_isolated");
    if (sym_swift_next_if(p, 'O'))
        type = add_attribute(p, type, "@called(once)");
    type = add_attribute(p, type, sym_swift_next_word(p, differentiable));
    const char *callee = sym_swift_next_word(p, callees);
    if (!callee)
        return NULL;
    type = add_representation(p, add_attribute(p, type, callee));
    type = add_attribute(p, type, sym_swift_next_word(p, coroutines));
    if (sym_swift_next_if(p, 'h'))
        type = add_attribute(p, type, "@Sendable");
    if (sym_swift_next_if(p, 'H'))
        type = add_attribute(p, type, "@async");
    if (sym_swift_next_if(p, 'T'))
        type = sym_swift_add(p, type, sym_swift_make(p, SWIFT_IMPL_SENDING_RESULT));
    return type;
}

/* A parameter or result without its type. Swift prints "@noDerivative" and one more mark of a
 * parameter; with a third it prints none. */
static struct sym_swift_node *
operand(struct sym_swift_parser *p, enum sym_swift_kind kind,
        const struct sym_swift_word *conventions)
{
    const char *convention = sym_swift_next_word(p, conventions), *mark = NULL;
    if (!convention)
        return NULL;
    bool derivative = false;
    int n_marks = 0;
    if (kind == SWIFT_IMPL_PARAMETER || kind == SWIFT_IMPL_RESULT)
        /* Marks follow the convention; errors and yields have none. */
        derivative = sym_swift_next_if(p, 'w');
    if (kind == SWIFT_IMPL_PARAMETER) {
        static const struct sym_swift_word marks[] = {
            {'T', " sending"}, {'I', " isolated"}, {'L', " sil_implicit_leading_param"}};
        for (size_t i = 0; i < FZ_ARRAY_LEN(marks); i++) {
            if (sym_swift_next_if(p, marks[i].letter)) {
                mark = marks[i].text;
                n_marks++;
            }
        }
    }
    bool shown = n_marks <= 1;
    const char *text =
        fz_arena_printf(p->arena, "%s%s%s", convention, derivative && shown ? " @noDerivative" : "",
                        mark && shown ? mark : "");
    return text ? sym_swift_make_text(p, kind, text) : NULL;
}

/* Add operands while their letters follow, and their number to *n. */
static struct sym_swift_node *
add_operands(struct sym_swift_parser *p, struct sym_swift_node *type, enum sym_swift_kind kind,
             uint32_t *n)
{
    const struct sym_swift_word *conventions =
        kind == SWIFT_IMPL_PARAMETER || kind == SWIFT_IMPL_YIELD ? parameters : results;
    struct sym_swift_node *next;
    if (kind == SWIFT_IMPL_YIELD || kind == SWIFT_IMPL_ERROR) {
        bool is_yield = kind == SWIFT_IMPL_YIELD;
        while (type && sym_swift_next_if(p, is_yield ? 'Y' : 'z')) {
            type = sym_swift_add(p, type, operand(p, kind, conventions));
            ++*n;
            if (!is_yield) /* a function throws one error */
                break;
        }
        return type;
    }
    while (type && (next = operand(p, kind, conventions))) {
        type = sym_swift_add(p, type, next);
        ++*n;
    }
    return type;
}

struct sym_swift_node *
sym_swift_op_impl_function(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    static const enum sym_swift_kind order[] = {SWIFT_IMPL_PARAMETER, SWIFT_IMPL_RESULT,
                                                SWIFT_IMPL_YIELD, SWIFT_IMPL_ERROR};
    struct sym_swift_node *type = add_substitutions(p, sym_swift_make(p, kind));
    struct sym_swift_node *signature = sym_swift_pop(p, SWIFT_SIGNATURE);
    if (signature)
        sym_swift_next_if(p, 'P'); /* pseudogeneric, which is printed the same */
    type = sym_swift_add_if(p, add_attributes(p, type), signature);
    uint32_t n_types = 0;
    for (size_t i = 0; i < FZ_ARRAY_LEN(order) && type; i++)
        type = add_operands(p, type, order[i], &n_types);
    /* The letters do not say how many operands there are: the underscore ends them. */
    if (!type || !sym_swift_next_if(p, '_'))
        return NULL;
    /* types were pushed in the order of the operands: the last operand pops first */
    for (uint32_t i = 0; i < n_types; i++) {
        struct sym_swift_node *operand_node = type->children[type->n_children - 1 - i];
        if (!sym_swift_add(p, operand_node, sym_swift_pop_type(p)))
            return NULL;
    }
    return sym_swift_node_type(type);
}
