/*
 * Specializations of functions: for generic arguments, or for facts about arguments.
 *
 *   ...SiTg5          generic specialization <Swift.Int> of ...
 *   ...Tf4nd_n        function signature specialization <Arg[1] = Dead> of ...
 *
 * In the latter, each argument has a letter for what was done with it; its identifiers and types
 * come before "Tf".
 */
#include "symbolicator/demangle/swift/parse.h"

/* "m" (Swift 5.8) without metatypes as arguments, "q" serialized, "a" no longer async, "r" with
 * another representation, then the number of the pass. Swift prints "r" only if it is the only
 * one: then the index of the node is 1. */
static struct sym_swift_node *
start(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    struct sym_swift_node *spec = sym_swift_make(p, kind);
    bool other = sym_swift_next_if(p, 'm');
    if (sym_swift_next_if(p, 'q')) {
        spec = sym_swift_add(p, spec, sym_swift_make(p, SWIFT_SERIALIZED));
        other = true;
    }
    other |= sym_swift_next_if(p, 'a');
    if (sym_swift_next_if(p, 'r') && spec)
        spec->index = !other;
    /* Which pass of the optimizer: of no use to a reader, so Swift does not print it. */
    char pass = sym_swift_next(p);
    return pass >= '0' && pass <= '9' ? spec : NULL;
}

struct sym_swift_node *
sym_swift_op_generic_spec(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    struct sym_swift_node *spec = start(p, kind);
    struct sym_swift_node *types = spec ? sym_swift_pop_type_list(p) : NULL;
    if (!types)
        return NULL;
    for (uint32_t i = 0; i < types->n_children; i++)
        spec = sym_swift_add(p, spec, sym_swift_make1(p, SWIFT_SPEC_PARAM, types->children[i]));
    return spec;
}

/* "t" and an optional number for each dropped argument, which is not printed. */
struct sym_swift_node *
sym_swift_op_dropped_spec(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    static const struct sym_swift_choice kinds[] = {
        {"g", SWIFT_GENERIC_SPECIALIZATION},
        {"G", SWIFT_GENERIC_NOT_REABSTRACTED},
        {"B", SWIFT_GENERIC_SPECIALIZATION_RESILIENT},
        {"", SWIFT_NONE},
    };
    do {
        sym_swift_natural(p);
    } while (sym_swift_next_if(p, 't'));
    kind = sym_swift_next_kind(p, kinds);
    return kind == SWIFT_NONE ? NULL : sym_swift_op_generic_spec(p, kind);
}

struct sym_swift_node *
sym_swift_op_partial_spec(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    struct sym_swift_node *spec = start(p, kind);
    return sym_swift_add(p, spec, sym_swift_make1(p, SWIFT_SPEC_PARAM, sym_swift_pop_type(p)));
}

static struct sym_swift_node *
add_kind(struct sym_swift_parser *p, struct sym_swift_node *argument, int64_t what)
{
    return sym_swift_add(p, argument, sym_swift_make_index(p, SWIFT_SPEC_KIND, what));
}

static struct sym_swift_node *
add_digits(struct sym_swift_parser *p, struct sym_swift_node *argument, int64_t what)
{
    size_t start_pos = p->pos;
    while (sym_swift_peek(p) >= '0' && sym_swift_peek(p) <= '9')
        p->pos++;
    /* Kept as text, as Swift does: literals may have more than 64 bits. */
    struct fz_span digits = fz_span_make(p->text.data + start_pos, p->pos - start_pos);
    argument = digits.len > 0 ? add_kind(p, argument, what) : NULL;
    struct sym_swift_node *payload = sym_swift_make_span(p, SWIFT_SPEC_PAYLOAD, digits);
    return argument && sym_swift_add(p, argument->children[argument->n_children - 1], payload)
               ? argument
               : NULL;
}

/* A constant argument, or a field of one; false if the next letters are not a constant. */
static bool
add_constant(struct sym_swift_parser *p, struct sym_swift_node **argument)
{
    static const struct {
        char letters[3];
        enum sym_swift_spec what;
        const char *encoding;
    } constants[] = {
        {"f", SWIFT_SPEC_FUNCTION, NULL},  {"g", SWIFT_SPEC_GLOBAL, NULL},
        {"i", SWIFT_SPEC_INTEGER, ""},     {"d", SWIFT_SPEC_FLOAT, ""},
        {"sb", SWIFT_SPEC_STRING, "u8"},   {"sw", SWIFT_SPEC_STRING, "u16"},
        {"sc", SWIFT_SPEC_STRING, "objc"}, {"k", SWIFT_SPEC_KEY_PATH, NULL},
        {"S", SWIFT_SPEC_STRUCT, NULL},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(constants); i++) {
        size_t start_pos = p->pos;
        if (!sym_swift_next_if_text(p, constants[i].letters))
            continue;
        if (constants[i].encoding && !constants[i].encoding[0]) {
            char digit = sym_swift_peek(p);
            if (digit < '0' || digit > '9') { /* the letter belongs to the next argument */
                p->pos = start_pos;
                return false;
            }
            *argument = add_digits(p, *argument, constants[i].what);
            return true;
        }
        *argument = add_kind(p, *argument, constants[i].what);
        if (*argument && constants[i].encoding)
            (*argument)->children[(*argument)->n_children - 1]->text =
                fz_span_cstr(constants[i].encoding);
        return true;
    }
    return false;
}

/* Flags after a first letter, in their order. */
static int64_t
more_flags(struct sym_swift_parser *p, bool dead, bool convention)
{
    int64_t flags = 0;
    if (dead && sym_swift_next_if(p, 'D'))
        flags |= SWIFT_SPEC_DEAD;
    if (convention && sym_swift_next_if(p, 'G'))
        flags |= SWIFT_SPEC_OWNED_TO_GUARANTEED;
    if (convention && sym_swift_next_if(p, 'O'))
        flags |= SWIFT_SPEC_GUARANTEED_TO_OWNED;
    if (sym_swift_next_if(p, 'X'))
        flags |= SWIFT_SPEC_EXPLODED;
    return flags;
}

static struct sym_swift_node *
argument(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    struct sym_swift_node *node = sym_swift_make(p, kind);
    switch (sym_swift_next(p)) {
    case 'n':
        return node;
    case 'c':
        return add_kind(p, node, SWIFT_SPEC_CLOSURE);
    case 'E':
        return add_kind(p, node, SWIFT_SPEC_ESCAPING_CLOSURE);
    case 'C':
        return add_digits(p, node, SWIFT_SPEC_SAME_AS);
    case 'p':
        if (!add_constant(p, &node))
            return NULL;
        while (node && node->children[0]->index == SWIFT_SPEC_STRUCT && add_constant(p, &node)) {
            /* the fields of a structure follow it */
        }
        return node;
    case 'e':
        return add_kind(p, node, SWIFT_SPEC_EXISTENTIAL_TO_GENERIC | more_flags(p, true, true));
    case 'd':
        return add_kind(p, node, SWIFT_SPEC_DEAD | more_flags(p, false, true));
    case 'g':
        return add_kind(p, node, SWIFT_SPEC_OWNED_TO_GUARANTEED | more_flags(p, false, false));
    case 'o':
        return add_kind(p, node, SWIFT_SPEC_GUARANTEED_TO_OWNED | more_flags(p, false, false));
    case 'x':
        return add_kind(p, node, SWIFT_SPEC_EXPLODED);
    case 'i':
        return add_kind(p, node, SWIFT_SPEC_BOX_TO_VALUE);
    case 's':
        return add_kind(p, node, SWIFT_SPEC_BOX_TO_STACK);
    case 'r':
        return add_kind(p, node, SWIFT_SPEC_INOUT_TO_OUT);
    default:
        return NULL;
    }
}

static bool
takes_types(int64_t what)
{
    return what == SWIFT_SPEC_CLOSURE || what == SWIFT_SPEC_ESCAPING_CLOSURE ||
           what == SWIFT_SPEC_KEY_PATH;
}

static bool
takes_name(int64_t what)
{
    return takes_types(what) || what == SWIFT_SPEC_FUNCTION || what == SWIFT_SPEC_GLOBAL ||
           what == SWIFT_SPEC_STRING;
}

/* Pop the operands of one kind node and make them its children: name, then types. */
static bool
pop_operands(struct sym_swift_parser *p, struct sym_swift_node *what)
{
    /* A structure is given by its type; its fields are constants of their own. */
    if (what->index == SWIFT_SPEC_STRUCT)
        return sym_swift_add(p, what, sym_swift_pop_type(p)) != NULL;
    if (!takes_name(what->index))
        return true;
    struct sym_swift_node *type;
    while ((type = sym_swift_pop_type(p))) {
        if (!takes_types(what->index) || !sym_swift_add(p, what, type))
            return false;
    }
    /* Functions, globals and strings are mangled as an identifier, pushed before the types. */
    struct sym_swift_node *name = sym_swift_pop(p, SWIFT_IDENTIFIER);
    if (!name)
        return false;
    struct fz_span text = name->text;
    if (what->index == SWIFT_SPEC_STRING &&
        text.data[0] == '_') /* escapes a string that begins with a digit or "_" */
        text = fz_span_make(text.data + 1, text.len - 1);
    if (!sym_swift_add(p, what, sym_swift_make_span(p, SWIFT_SPEC_PAYLOAD, text)))
        return false;
    sym_swift_node_reverse(what, 0);
    return true;
}

struct sym_swift_node *
sym_swift_op_function_spec(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    struct sym_swift_node *spec = start(p, kind);
    if (spec && spec->index) /* a changed representation has no list of arguments */
        return spec;
    while (spec && !sym_swift_next_if(p, '_'))
        spec = sym_swift_add(p, spec, argument(p, SWIFT_SPEC_ARGUMENT));
    if (spec && !sym_swift_next_if(p, 'n'))
        spec = sym_swift_add(p, spec, argument(p, SWIFT_SPEC_RETURN));
    /* operands were pushed in the order of the arguments: the last argument pops first */
    for (uint32_t i = spec ? spec->n_children : 0; i-- > 0;) {
        struct sym_swift_node *node = spec->children[i];
        for (uint32_t k = node->n_children; k-- > 0 && node->kind == SWIFT_SPEC_ARGUMENT;) {
            if (node->children[k]->kind == SWIFT_SPEC_KIND && !pop_operands(p, node->children[k]))
                return NULL;
        }
    }
    return spec;
}
