/*
 * Generic parameters, associated types, opaque types, signatures and their requirements.
 *
 *   x   A      q_   B      qd__   A1 (first parameter of the second level)
 *   7ElementQz   A.Element      SlRzl   <A where A: Swift.Collection>
 */
#include "symbolicator/demangle/swift/parse.h"

struct sym_swift_node *
sym_swift_generic_param(struct sym_swift_parser *p, int64_t depth, int64_t index)
{
    /* Negative values are indexes that could not be read. */
    if (depth < 0 || index < 0 || depth > INT32_MAX)
        return NULL;
    struct sym_swift_node *param = sym_swift_make_index(p, SWIFT_GENERIC_PARAM, index);
    if (param)
        param->depth = (uint32_t)depth;
    return sym_swift_node_type(param);
}

/* An index + 1, or -1. */
static int64_t
index_from_one(struct sym_swift_parser *p)
{
    int64_t index = sym_swift_index(p);
    /* The value 0 has a shorter spelling of its own: "x" or "z". */
    return index < 0 ? -1 : index + 1;
}

static struct sym_swift_node *
param_index(struct sym_swift_parser *p)
{
    if (sym_swift_next_if(p, 'd')) {
        int64_t depth = index_from_one(p);
        return sym_swift_generic_param(p, depth, sym_swift_index(p));
    }
    if (sym_swift_next_if(p, 'z'))
        return sym_swift_generic_param(p, 0, 0);
    /* The Self of a constrained existential type. */
    if (sym_swift_next_if(p, 's'))
        return sym_swift_node_type(sym_swift_make(p, SWIFT_CONSTRAINED_SELF));
    /* The first parameter has a letter of its own, so indexes begin with the second. */
    return sym_swift_generic_param(p, 0, index_from_one(p));
}

/* "x" has SWIFT_NUMBER as `kind`, "q" any other. */
struct sym_swift_node *
sym_swift_op_param(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    return kind == SWIFT_NUMBER ? sym_swift_generic_param(p, 0, 0) : param_index(p);
}

struct sym_swift_node *
sym_swift_pop_assoc_name(struct sym_swift_parser *p)
{
    struct sym_swift_node *protocol = sym_swift_pop_type(p);
    /* The protocol is left out where only one can be meant. */
    if (protocol && protocol->kind != SWIFT_PROTOCOL)
        return NULL;
    struct sym_swift_node *name =
        sym_swift_add_if(p, sym_swift_make(p, SWIFT_ASSOC_NAME), protocol);
    return sym_swift_add(p, name, sym_swift_pop(p, SWIFT_IDENTIFIER));
}

/* The path of an associated conformance can be a generic parameter, too. */
struct sym_swift_node *
sym_swift_pop_assoc_path(struct sym_swift_parser *p)
{
    struct sym_swift_node *top = p->stack.n > 0 ? p->stack.items[p->stack.n - 1] : NULL;
    if (top && top->is_type && top->kind == SWIFT_GENERIC_PARAM)
        return sym_swift_pop_any(p);
    struct sym_swift_node *path = sym_swift_make(p, SWIFT_ASSOC_PATH);
    bool first;
    do {
        first = sym_swift_pop(p, SWIFT_FIRST_ELEMENT) != NULL;
        path = sym_swift_add(p, path, sym_swift_pop_assoc_name(p));
    } while (path && !first);
    sym_swift_node_reverse(path, 0);
    return path;
}

/* The type that an associated type belongs to: given by the operator, or on the stack. */
static struct sym_swift_node *
base_of(struct sym_swift_parser *p, enum sym_swift_kind kind, struct sym_swift_node *param)
{
    /* The letters say it: "x" any base from the stack, "y" a parameter that follows, "z" the
     * first one. */
    if (kind == SWIFT_NONE)
        return sym_swift_pop_type(p);
    return kind == SWIFT_NUMBER ? sym_swift_generic_param(p, 0, 0) : param;
}

struct sym_swift_node *
sym_swift_op_assoc_simple(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    struct sym_swift_node *param = kind == SWIFT_GENERIC_PARAM ? param_index(p) : NULL;
    struct sym_swift_node *name = sym_swift_pop_assoc_name(p);
    struct sym_swift_node *base = base_of(p, kind, param);
    return sym_swift_remember(
        p, sym_swift_node_type(sym_swift_make2(p, SWIFT_DEPENDENT_MEMBER, base, name)));
}

struct sym_swift_node *
sym_swift_op_assoc_compound(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    struct sym_swift_node *param = kind == SWIFT_GENERIC_PARAM ? param_index(p) : NULL;
    struct sym_swift_node *path = sym_swift_pop_assoc_path(p);
    struct sym_swift_node *base = base_of(p, kind, param);
    /* A path is a chain: each name is a member of what is before it. */
    for (uint32_t i = 0; path && i < path->n_children; i++)
        base = sym_swift_node_type(
            sym_swift_make2(p, SWIFT_DEPENDENT_MEMBER, base, path->children[i]));
    return path ? sym_swift_remember(p, base) : NULL;
}

struct sym_swift_node *
sym_swift_op_assoc_ref(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    struct sym_swift_node *name = sym_swift_pop(p, SWIFT_IDENTIFIER);
    return sym_swift_remember(
        p, sym_swift_node_type(sym_swift_make2(p, kind, sym_swift_pop_type(p), name)));
}

struct sym_swift_node *
sym_swift_op_opaque_type(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    struct sym_swift_node *index = sym_swift_number(p);
    struct sym_swift_arguments arguments;
    /* Popped, because they are on the stack, but Swift prints the declaration and the index
     * only. */
    if (!sym_swift_pop_arguments(p, &arguments))
        return NULL;
    return sym_swift_remember(
        p, sym_swift_node_type(sym_swift_make2(p, kind, sym_swift_pop_any(p), index)));
}

struct sym_swift_node *
sym_swift_op_opaque_result(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    /* The index counts the "some" types of a declaration; Swift does not print it. */
    return sym_swift_index(p) < 0 ? NULL : sym_swift_node_type(sym_swift_make(p, kind));
}

/* "l": one parameter; "r<counts>l": a count for each level. */
struct sym_swift_node *
sym_swift_op_signature(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    struct sym_swift_node *signature = sym_swift_make(p, SWIFT_SIGNATURE), *requirement;
    if (kind == SWIFT_PARAM_COUNT) {
        while (signature && !sym_swift_next_if(p, 'l')) {
            int64_t n = sym_swift_next_if(p, 'z') ? 0 : index_from_one(p);
            if (n < 0)
                return NULL;
            signature = sym_swift_add(p, signature, sym_swift_make_index(p, SWIFT_PARAM_COUNT, n));
        }
    } else {
        signature = sym_swift_add(p, signature, sym_swift_make_index(p, SWIFT_PARAM_COUNT, 1));
    }
    /* Requirements come before "l" and are popped last first; the counts are in their order
     * already. */
    uint32_t n_counts = signature ? signature->n_children : 0;
    while (signature && (requirement = sym_swift_pop_flag(p, SWIFT_F_REQUIREMENT)))
        signature = sym_swift_add(p, signature, requirement);
    sym_swift_node_reverse(signature, n_counts);
    return signature;
}

/* Where the subject of a requirement comes from. */
enum subject { OF_PARAM, OF_ASSOC, OF_PATH, OF_STACK };

struct requirement {
    char letter;
    char constraint; /* p protocol, t type, l layout, i inverse, - nothing */
    enum subject subject;
    enum sym_swift_kind kind;
};

static const struct requirement requirements[] = {
    {'V', 't', OF_PARAM, SWIFT_VALUE_MARKER},
    {'v', '-', OF_PARAM, SWIFT_PACK_MARKER},
    {'c', 't', OF_ASSOC, SWIFT_CONFORMANCE_REQUIREMENT},
    {'C', 't', OF_PATH, SWIFT_CONFORMANCE_REQUIREMENT},
    {'b', 't', OF_PARAM, SWIFT_CONFORMANCE_REQUIREMENT},
    {'B', 't', OF_STACK, SWIFT_CONFORMANCE_REQUIREMENT},
    {'t', 't', OF_ASSOC, SWIFT_SAME_TYPE_REQUIREMENT},
    {'T', 't', OF_PATH, SWIFT_SAME_TYPE_REQUIREMENT},
    {'s', 't', OF_PARAM, SWIFT_SAME_TYPE_REQUIREMENT},
    {'S', 't', OF_STACK, SWIFT_SAME_TYPE_REQUIREMENT},
    {'m', 'l', OF_ASSOC, SWIFT_LAYOUT_REQUIREMENT},
    {'M', 'l', OF_PATH, SWIFT_LAYOUT_REQUIREMENT},
    {'l', 'l', OF_PARAM, SWIFT_LAYOUT_REQUIREMENT},
    {'L', 'l', OF_STACK, SWIFT_LAYOUT_REQUIREMENT},
    {'p', 'p', OF_ASSOC, SWIFT_CONFORMANCE_REQUIREMENT},
    {'P', 'p', OF_PATH, SWIFT_CONFORMANCE_REQUIREMENT},
    {'Q', 'p', OF_STACK, SWIFT_CONFORMANCE_REQUIREMENT},
    {'h', 't', OF_PARAM, SWIFT_SAME_SHAPE_REQUIREMENT},
    {'i', 'i', OF_PARAM, SWIFT_INVERSE_REQUIREMENT},
    {'I', 'i', OF_STACK, SWIFT_INVERSE_REQUIREMENT},
    {'j', 'i', OF_ASSOC, SWIFT_INVERSE_REQUIREMENT},
    {'J', 'i', OF_PATH, SWIFT_INVERSE_REQUIREMENT},
};

static struct sym_swift_node *
subject_of(struct sym_swift_parser *p, enum subject subject)
{
    if (subject == OF_ASSOC)
        return sym_swift_op_assoc_simple(p, SWIFT_GENERIC_PARAM);
    if (subject == OF_PATH)
        return sym_swift_op_assoc_compound(p, SWIFT_GENERIC_PARAM);
    return subject == OF_STACK ? sym_swift_pop_type(p) : param_index(p);
}

/* U unknown, R reference-counted, N native reference-counted, C class, D native class, T trivial,
 * B bridge object, A any reference; E, M with size and alignment, e, m, S with size. */
static struct sym_swift_node *
layout(struct sym_swift_parser *p, struct sym_swift_node *subject)
{
    char c = sym_swift_next(p);
    if (c == '\0' || !strchr("URNCDTBAEeMmS", c))
        return NULL;
    struct sym_swift_node *node = sym_swift_make1(p, SWIFT_LAYOUT_REQUIREMENT, subject);
    if (node)
        node->text = fz_span_make(p->text.data + p->pos - 1, 1);
    /* Layouts of a fixed size; "E" and "M" add the alignment. */
    if (strchr("EeMmS", c))
        node = sym_swift_add(p, node, sym_swift_number(p));
    if (strchr("EM", c))
        node = sym_swift_add(p, node, sym_swift_number(p));
    return node;
}

struct sym_swift_node *
sym_swift_op_requirement(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    (void)kind;
    static const struct requirement conformance = {'\0', 'p', OF_PARAM,
                                                   SWIFT_CONFORMANCE_REQUIREMENT};
    const struct requirement *r = &conformance;
    for (size_t i = 0; i < FZ_ARRAY_LEN(requirements); i++) {
        if (requirements[i].letter == sym_swift_peek(p))
            r = &requirements[i];
    }
    /* a conformance of a parameter to a protocol has no letter */
    if (r != &conformance)
        p->pos++;
    /* Read before the subject, because it follows the letter directly. */
    struct sym_swift_node *bit = r->constraint == 'i' ? sym_swift_number(p) : NULL;
    struct sym_swift_node *subject = subject_of(p, r->subject);
    switch (r->constraint) {
    case 'p':
        return sym_swift_make2(p, r->kind, subject, sym_swift_pop_protocol(p));
    case 't':
        return sym_swift_make2(p, r->kind, subject, sym_swift_pop_type(p));
    case 'l':
        return layout(p, subject);
    case 'i':
        return sym_swift_make2(p, r->kind, subject, bit);
    default:
        return sym_swift_make1(p, r->kind, subject);
    }
}
