/*
 * Generic signatures, implementation function types and specializations of Swift 1 to 3.
 */
#include "symbolicator/demangle/swift/old.h"

/* An index + 1, or -1. */
static int64_t
index_from_one(struct sym_swift_parser *p)
{
    int64_t index = sym_swift_index(p);
    return index < 0 ? -1 : index + 1;
}

struct sym_swift_node *
sym_swift_old_generic_param(struct sym_swift_parser *p)
{
    /* The first parameter has a letter of its own, as in the current mangling. */
    if (sym_swift_next_if(p, 'x'))
        return sym_swift_generic_param(p, 0, 0);
    if (sym_swift_next_if(p, 'd')) {
        int64_t depth = index_from_one(p);
        return sym_swift_generic_param(p, depth, sym_swift_index(p));
    }
    return sym_swift_generic_param(p, 0, index_from_one(p));
}

/* base.Protocol.name; name and protocol together can be a substitution. */
struct sym_swift_node *
sym_swift_old_member(struct sym_swift_parser *p, struct sym_swift_node *base)
{
    struct sym_swift_node *name;
    if (sym_swift_next_if(p, 'S')) {
        name = sym_swift_old_substitution(p);
        /* A substitution can be anything that came before. */
        if (!name || name->kind != SWIFT_ASSOC_NAME)
            return NULL;
    } else {
        struct sym_swift_node *protocol = NULL;
        if (sym_swift_next_if(p, 'P') && !(protocol = sym_swift_old_protocol(p)))
            return NULL;
        name = sym_swift_add_if(p, sym_swift_make(p, SWIFT_ASSOC_NAME), protocol);
        name = name ? sym_swift_add(p, name, sym_swift_old_identifier(p, SWIFT_NONE)) : NULL;
        /* Name and protocol are one candidate, so that the pair is repeated by one reference. */
        name = sym_swift_remember(p, name);
    }
    return sym_swift_node_type(sym_swift_make2(p, SWIFT_DEPENDENT_MEMBER, base, name));
}

struct sym_swift_node *
sym_swift_old_member_path(struct sym_swift_parser *p)
{
    struct sym_swift_node *base = sym_swift_old_generic_param(p);
    while (base && !sym_swift_next_if(p, '_'))
        base = sym_swift_old_member(p, base);
    return base;
}

static struct sym_swift_node *
subject(struct sym_swift_parser *p)
{
    if (sym_swift_next_if(p, 'W'))
        return sym_swift_old_member_path(p);
    bool member = sym_swift_next_if(p, 'w');
    struct sym_swift_node *param = sym_swift_old_generic_param(p);
    return param && member ? sym_swift_old_member(p, param) : param;
}

static struct sym_swift_node *
size_number(struct sym_swift_parser *p)
{
    int64_t number = sym_swift_natural(p);
    return number < 0 ? NULL : sym_swift_make_index(p, SWIFT_NUMBER, number);
}

static struct sym_swift_node *
layout(struct sym_swift_parser *p, struct sym_swift_node *type)
{
    char c = sym_swift_next(p);
    if (c == '\0' || !strchr("URNTEeMm", c))
        return NULL;
    struct sym_swift_node *node = sym_swift_make1(p, SWIFT_LAYOUT_REQUIREMENT, type);
    if (node)
        node->text = fz_span_make(p->text.data + p->pos - 1, 1);
    if (strchr("EeMm", c))
        node = sym_swift_add(p, node, size_number(p));
    if (strchr("EM", c))
        node = sym_swift_next_if(p, '_') ? sym_swift_add(p, node, size_number(p)) : NULL;
    return node;
}

/* A class, a protocol, or a substitution for either or for the protocol's module. */
static struct sym_swift_node *
constraint(struct sym_swift_parser *p)
{
    /* A class: the parameter is bound to it or a subclass. */
    if (sym_swift_peek(p) == 'C')
        return sym_swift_old_type(p);
    if (!sym_swift_next_if(p, 'S'))
        return p->pos < p->text.len ? sym_swift_old_protocol(p) : NULL;
    struct sym_swift_node *node = sym_swift_old_substitution(p);
    if (node && node->kind == SWIFT_MODULE)
        return sym_swift_old_protocol_in(p, node);
    return node && (node->kind == SWIFT_PROTOCOL || node->kind == SWIFT_CLASS) ? node : NULL;
}

static struct sym_swift_node *
requirement(struct sym_swift_parser *p)
{
    struct sym_swift_node *type = subject(p);
    if (!type)
        return NULL;
    if (sym_swift_next_if(p, 'z'))
        return sym_swift_make2(p, SWIFT_SAME_TYPE_REQUIREMENT, type, sym_swift_old_type(p));
    if (sym_swift_next_if(p, 'l'))
        return layout(p, type);
    return sym_swift_make2(p, SWIFT_CONFORMANCE_REQUIREMENT, type, constraint(p));
}

/* Counts of parameters for each level, none for a single one; then "r", or "R" requirements "r". */
struct sym_swift_node *
sym_swift_old_read_signature(struct sym_swift_parser *p)
{
    struct sym_swift_node *signature = sym_swift_make(p, SWIFT_SIGNATURE);
    while (signature && sym_swift_peek(p) != 'R' && sym_swift_peek(p) != 'r') {
        int64_t n = sym_swift_next_if(p, 'z') ? 0 : index_from_one(p);
        if (n < 0)
            return NULL;
        signature = sym_swift_add(p, signature, sym_swift_make_index(p, SWIFT_PARAM_COUNT, n));
    }
    /* Counts are left out in the most frequent case, a single parameter. */
    if (signature && signature->n_children == 0)
        signature = sym_swift_add(p, signature, sym_swift_make_index(p, SWIFT_PARAM_COUNT, 1));
    if (sym_swift_next_if(p, 'r'))
        return signature;
    sym_swift_next(p);
    while (signature && !sym_swift_next_if(p, 'r'))
        signature = sym_swift_add(p, signature, requirement(p));
    return signature;
}

enum role { CALLEE, PARAMETER, RESULT };

static const char *
convention(struct sym_swift_parser *p, enum role role)
{
    static const struct {
        char letter;
        const char *texts[3]; /* by role */
    } conventions[] = {
        {'a', {NULL, NULL, "@autoreleased"}},
        {'d', {"@callee_unowned", "@unowned", "@unowned"}},
        {'D', {NULL, NULL, "@unowned_inner_pointer"}},
        {'g', {"@callee_guaranteed", "@guaranteed", NULL}},
        {'e', {NULL, "@deallocating", NULL}},
        {'i', {NULL, "@in", "@out"}},
        {'l', {NULL, "@inout", NULL}},
        {'o', {"@callee_owned", "@owned", "@owned"}},
        {'t', {"@convention(thin)", NULL, NULL}},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(conventions); i++) {
        if (conventions[i].letter == sym_swift_peek(p)) {
            p->pos++;
            return conventions[i].texts[role];
        }
    }
    return NULL;
}

static struct sym_swift_node *
add_operands(struct sym_swift_parser *p, struct sym_swift_node *type, enum role role)
{
    while (type && !sym_swift_next_if(p, '_')) {
        enum sym_swift_kind kind = role == PARAMETER ? SWIFT_IMPL_PARAMETER : SWIFT_IMPL_RESULT;
        /* An error is one of the results. */
        if (role == RESULT && sym_swift_next_if(p, 'z'))
            kind = SWIFT_IMPL_ERROR;
        const char *text = convention(p, role);
        struct sym_swift_node *operand = text ? sym_swift_make_text(p, kind, text) : NULL;
        operand = operand ? sym_swift_add(p, operand, sym_swift_old_type(p)) : NULL;
        type = sym_swift_add(p, type, operand);
    }
    return type;
}

static struct sym_swift_node *
add_representation(struct sym_swift_parser *p, struct sym_swift_node *type)
{
    static const struct sym_swift_word names[] = {
        {'b', "block"},          {'c', "c"},   {'m', "method"}, {'O', "objc_method"},
        {'w', "witness_method"}, {'\0', NULL},
    };
    if (!sym_swift_next_if(p, 'C'))
        return type;
    const char *name = sym_swift_next_word(p, names);
    return name ? sym_swift_add(p, type, sym_swift_make_text(p, SWIFT_IMPL_CONVENTION, name))
                : NULL;
}

struct sym_swift_node *
sym_swift_old_impl_function(struct sym_swift_parser *p)
{
    struct sym_swift_node *type = sym_swift_make(p, SWIFT_IMPL_FUNCTION);
    const char *callee = convention(p, CALLEE);
    type = callee ? sym_swift_add(p, type, sym_swift_make_text(p, SWIFT_IMPL_ATTRIBUTE, callee))
                  : NULL;
    type = add_representation(p, type);
    if (sym_swift_next_if(p, 'h'))
        type = sym_swift_add(p, type, sym_swift_make_text(p, SWIFT_IMPL_ATTRIBUTE, "@Sendable"));
    if (sym_swift_next_if(p, 'H'))
        type = sym_swift_add(p, type, sym_swift_make_text(p, SWIFT_IMPL_ATTRIBUTE, "@async"));
    /* "g" is pseudogeneric, which is printed the same. */
    if (type && (sym_swift_next_if(p, 'G') || sym_swift_next_if(p, 'g')))
        type = sym_swift_add(p, type, sym_swift_old_signature(p));
    if (!type || !sym_swift_next_if(p, '_'))
        return NULL;
    return add_operands(p, add_operands(p, type, PARAMETER), RESULT);
}

static struct sym_swift_node *
generic_specialization(struct sym_swift_parser *p, struct sym_swift_node *spec)
{
    while (spec && !sym_swift_next_if(p, '_')) {
        struct sym_swift_node *param = sym_swift_make1(p, SWIFT_SPEC_PARAM, sym_swift_old_type(p));
        /* Conformances of the argument; Swift prints them after "with". */
        while (param && !sym_swift_next_if(p, '_'))
            param = sym_swift_add(p, param, sym_swift_old_conformance(p));
        spec = sym_swift_add(p, spec, param);
    }
    return spec;
}

static struct sym_swift_node *
spec_kind(struct sym_swift_parser *p, int64_t what, struct fz_span payload)
{
    struct sym_swift_node *node = sym_swift_make_index(p, SWIFT_SPEC_KIND, what);
    return payload.len > 0
               ? sym_swift_add(p, node, sym_swift_make_span(p, SWIFT_SPEC_PAYLOAD, payload))
               : NULL;
}

/* The bytes up to the next "_", which is not consumed. */
static struct fz_span
until_underscore(struct sym_swift_parser *p)
{
    size_t start = p->pos;
    /* The number has no length: the underscore ends it. */
    while (p->pos < p->text.len && p->text.data[p->pos] != '_')
        p->pos++;
    return fz_span_make(p->text.data + start, p->pos - start);
}

static struct sym_swift_node *
constant(struct sym_swift_parser *p)
{
    struct sym_swift_node *name = NULL, *node = NULL;
    if (sym_swift_next_if_text(p, "fr")) {
        name = sym_swift_old_identifier(p, SWIFT_NONE);
        node = name ? spec_kind(p, SWIFT_SPEC_FUNCTION, name->text) : NULL;
    } else if (sym_swift_next_if(p, 'g')) {
        name = sym_swift_old_identifier(p, SWIFT_NONE);
        node = name ? spec_kind(p, SWIFT_SPEC_GLOBAL, name->text) : NULL;
    } else if (sym_swift_next_if(p, 'i')) {
        node = spec_kind(p, SWIFT_SPEC_INTEGER, until_underscore(p));
    } else if (sym_swift_next_if_text(p, "fl")) {
        node = spec_kind(p, SWIFT_SPEC_FLOAT, until_underscore(p));
    } else if (sym_swift_next_if_text(p, "se")) {
        /* The encoding is a digit here; "v" then begins the value. */
        bool utf8 = sym_swift_next_if(p, '0');
        if ((!utf8 && !sym_swift_next_if(p, '1')) || !sym_swift_next_if(p, 'v'))
            return NULL;
        name = sym_swift_old_identifier(p, SWIFT_NONE);
        node = name ? spec_kind(p, SWIFT_SPEC_STRING, name->text) : NULL;
        if (node)
            node->text = fz_span_cstr(utf8 ? "u8" : "u16");
    }
    return sym_swift_next_if(p, '_') ? node : NULL;
}

static struct sym_swift_node *
closure(struct sym_swift_parser *p)
{
    struct sym_swift_node *name = sym_swift_old_identifier(p, SWIFT_NONE);
    struct sym_swift_node *node = name ? spec_kind(p, SWIFT_SPEC_CLOSURE, name->text) : NULL;
    return sym_swift_old_types(p, node);
}

static struct sym_swift_node *
flags(struct sym_swift_parser *p)
{
    static const struct {
        char letter;
        int64_t flag;
    } letters[] = {
        {'d', SWIFT_SPEC_DEAD},
        {'g', SWIFT_SPEC_OWNED_TO_GUARANTEED},
        {'o', SWIFT_SPEC_GUARANTEED_TO_OWNED},
        {'s', SWIFT_SPEC_EXPLODED},
    };
    int64_t value = 0;
    for (size_t i = 0; i < FZ_ARRAY_LEN(letters); i++) {
        if (sym_swift_next_if(p, letters[i].letter))
            value |= letters[i].flag;
    }
    /* Each argument ends with an underscore, so that flags need no count. */
    if (!value || !sym_swift_next_if(p, '_'))
        return NULL;
    return sym_swift_make_index(p, SWIFT_SPEC_KIND, value);
}

static struct sym_swift_node *
argument(struct sym_swift_parser *p)
{
    static const struct {
        char letters[3];
        enum sym_swift_spec what;
    } plain[] = {{"i_", SWIFT_SPEC_BOX_TO_VALUE},
                 {"k_", SWIFT_SPEC_BOX_TO_STACK},
                 {"r_", SWIFT_SPEC_INOUT_TO_OUT}};
    struct sym_swift_node *node = sym_swift_make(p, SWIFT_SPEC_ARGUMENT);
    if (sym_swift_next_if_text(p, "n_"))
        return node;
    if (sym_swift_next_if_text(p, "cp"))
        return sym_swift_add(p, node, constant(p));
    if (sym_swift_next_if_text(p, "cl"))
        return sym_swift_add(p, node, closure(p));
    for (size_t i = 0; i < FZ_ARRAY_LEN(plain); i++) {
        if (sym_swift_next_if_text(p, plain[i].letters))
            return sym_swift_add(p, node, sym_swift_make_index(p, SWIFT_SPEC_KIND, plain[i].what));
    }
    return sym_swift_add(p, node, flags(p));
}

struct sym_swift_node *
sym_swift_old_specialization(struct sym_swift_parser *p)
{
    char c = sym_swift_next(p);
    enum sym_swift_kind kind = c == 'g'   ? SWIFT_GENERIC_SPECIALIZATION
                               : c == 'r' ? SWIFT_GENERIC_NOT_REABSTRACTED
                               : c == 'f' ? SWIFT_FUNCTION_SPECIALIZATION
                                          : SWIFT_NONE;
    if (kind == SWIFT_NONE)
        return NULL;
    struct sym_swift_node *spec = sym_swift_make(p, kind);
    if (sym_swift_next_if(p, 'q'))
        spec = sym_swift_add(p, spec, sym_swift_make(p, SWIFT_SERIALIZED));
    sym_swift_next(p); /* the number of the pass: not printed */
    if (kind != SWIFT_FUNCTION_SPECIALIZATION)
        return generic_specialization(p, spec);
    while (spec && !sym_swift_next_if(p, '_'))
        spec = sym_swift_add(p, spec, argument(p));
    return spec;
}
