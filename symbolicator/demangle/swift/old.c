/*
 * Symbols of Swift 1 to 3: attributes, metadata, witnesses, thunks, or an entity.
 *
 *   _TFC4Test3Foo3barfT_T_   function bar in class Foo in Test, of type () -> ()
 */
#include "symbolicator/demangle/swift/old.h"

static struct sym_swift_node *
metadata(struct sym_swift_parser *p)
{
    static const struct sym_swift_choice kinds[] = {
        {"P", SWIFT_METADATA_PATTERN},
        {"a", SWIFT_METADATA_ACCESSOR},
        {"L", SWIFT_METADATA_LAZY_CACHE},
        {"m", SWIFT_METACLASS},
        {"n", SWIFT_NOMINAL_DESCRIPTOR},
        {"f", SWIFT_FULL_METADATA},
        {"", SWIFT_NONE},
    };
    if (sym_swift_next_if(p, 'p'))
        return sym_swift_make1(p, SWIFT_PROTOCOL_DESCRIPTOR, sym_swift_old_protocol(p));
    enum sym_swift_kind kind = sym_swift_next_kind(p, kinds);
    return sym_swift_make1(p, kind == SWIFT_NONE ? SWIFT_METADATA : kind, sym_swift_old_type(p));
}

static struct sym_swift_node *
field_offset(struct sym_swift_parser *p)
{
    bool direct = sym_swift_next_if(p, 'd');
    if (!direct && !sym_swift_next_if(p, 'i'))
        return NULL;
    struct sym_swift_node *text =
        sym_swift_make_text(p, SWIFT_DIRECTNESS, direct ? "direct " : "indirect ");
    return sym_swift_make2(p, SWIFT_FIELD_OFFSET, text, sym_swift_old_entity(p));
}

/* Two children, read in their order. */
static struct sym_swift_node *
pair(struct sym_swift_parser *p, enum sym_swift_kind kind,
     struct sym_swift_node *(*read)(struct sym_swift_parser *),
     struct sym_swift_node *(*read_second)(struct sym_swift_parser *))
{
    struct sym_swift_node *first = read(p);
    /* After a failure nothing more is read: the rest of the name has no meaning. */
    return first ? sym_swift_make2(p, kind, first, read_second(p)) : NULL;
}

static struct sym_swift_node *
witness(struct sym_swift_parser *p)
{
    static const struct sym_swift_choice tables[] = {
        {"P", SWIFT_WITNESS_TABLE},
        {"G", SWIFT_GENERIC_WITNESS_TABLE},
        {"I", SWIFT_GENERIC_WITNESS_TABLE_INSTANTIATION},
        {"a", SWIFT_WITNESS_TABLE_ACCESSOR},
        {"", SWIFT_NONE},
    };
    struct sym_swift_node *node;
    enum sym_swift_kind table = sym_swift_next_kind(p, tables);
    if (table != SWIFT_NONE)
        return sym_swift_make1(p, table, sym_swift_old_conformance(p));
    switch (sym_swift_next(p)) {
    case 'V':
        return sym_swift_make1(p, SWIFT_VALUE_WITNESS_TABLE, sym_swift_old_type(p));
    case 'v':
        return field_offset(p);
    case 'l':
        return pair(p, SWIFT_LAZY_WITNESS_TABLE_ACCESSOR, sym_swift_old_type,
                    sym_swift_old_conformance);
    case 'L':
        return pair(p, SWIFT_LAZY_WITNESS_TABLE_CACHE, sym_swift_old_type,
                    sym_swift_old_conformance);
    case 't':
        node =
            pair(p, SWIFT_ASSOC_METADATA_ACCESSOR, sym_swift_old_conformance, sym_swift_old_name);
        sym_swift_node_reverse(node, 0);
        return node;
    case 'T':
        node = pair(p, SWIFT_ASSOC_WITNESS_TABLE_ACCESSOR, sym_swift_old_conformance,
                    sym_swift_old_name);
        return node ? sym_swift_add(p, node, sym_swift_old_protocol(p)) : NULL;
    default:
        return NULL;
    }
}

/* The mangling has the target type first. */
static struct sym_swift_node *
reabstraction(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    struct sym_swift_node *signature = NULL;
    if (sym_swift_next_if(p, 'G') && !(signature = sym_swift_old_signature(p)))
        return NULL;
    struct sym_swift_node *thunk = pair(p, kind, sym_swift_old_type, sym_swift_old_type);
    /* In the tree of the current mangling the source type is first. */
    sym_swift_node_reverse(thunk, 0);
    return sym_swift_add_if(p, thunk, signature);
}

static struct sym_swift_node *
thunk(struct sym_swift_parser *p)
{
    if (sym_swift_next_if(p, 'R'))
        return reabstraction(p, SWIFT_REABSTRACTION_HELPER);
    if (sym_swift_next_if(p, 'r'))
        return reabstraction(p, SWIFT_REABSTRACTION);
    if (!sym_swift_next_if(p, 'W'))
        return NULL;
    struct sym_swift_node *node =
        pair(p, SWIFT_PROTOCOL_WITNESS, sym_swift_old_conformance, sym_swift_old_entity);
    sym_swift_node_reverse(node, 0);
    return node;
}

static struct sym_swift_node *symbol(struct sym_swift_parser *p);

static struct sym_swift_node *
partial_apply(struct sym_swift_parser *p)
{
    struct sym_swift_node *node = sym_swift_make(
        p, sym_swift_next_if(p, 'o') ? SWIFT_PARTIAL_APPLY_OBJC : SWIFT_PARTIAL_APPLY);
    return sym_swift_next_if_text(p, "__T") ? sym_swift_add(p, node, symbol(p)) : node;
}

static struct sym_swift_node *
value_witness(struct sym_swift_parser *p)
{
    char letters[2];
    letters[0] = sym_swift_next(p);
    letters[1] = sym_swift_next(p);
    const char *name = sym_swift_value_witness_name(letters);
    struct sym_swift_node *node =
        name ? sym_swift_make1(p, SWIFT_VALUE_WITNESS, sym_swift_old_type(p)) : NULL;
    if (node)
        node->text = fz_span_cstr(name);
    return node;
}

static struct sym_swift_node *
symbol(struct sym_swift_parser *p)
{
    struct sym_swift_node *node;
    /* A partial application contains a symbol, which can be one again. */
    if (p->pos >= p->text.len || !sym_swift_old_enter(p))
        return NULL;
    if (sym_swift_next_if(p, 'M'))
        node = metadata(p);
    else if (sym_swift_next_if_text(p, "PA"))
        node = partial_apply(p);
    else if (sym_swift_next_if(p, 't'))
        node = sym_swift_make1(p, SWIFT_TYPE_MANGLING, sym_swift_old_type(p));
    else if (sym_swift_next_if(p, 'w'))
        node = value_witness(p);
    else if (sym_swift_next_if(p, 'W'))
        node = witness(p);
    else if (sym_swift_next_if(p, 'T'))
        node = thunk(p);
    else
        node = sym_swift_old_entity(p);
    p->depth--;
    return node;
}

/* What comes before a symbol. */
static struct sym_swift_node *
attributes(struct sym_swift_parser *p, struct sym_swift_node *global)
{
    static const struct sym_swift_choice kinds[] = {
        {"To", SWIFT_OBJC},          {"TO", SWIFT_NON_OBJC},         {"TD", SWIFT_DYNAMIC},
        {"Td", SWIFT_DIRECT_METHOD}, {"TV", SWIFT_VTABLE_ATTRIBUTE}, {"", SWIFT_NONE},
    };
    /* Specializations come first, each with the prefix of a whole symbol. */
    if (sym_swift_next_if_text(p, "TS")) {
        do {
            global = sym_swift_add(p, global, sym_swift_old_specialization(p));
            /* a specialization shares no substitutions with its function */
            p->substitutions.n = 0;
        } while (global && sym_swift_next_if_text(p, "_TTS"));
        return sym_swift_next_if_text(p, "_T") ? global : NULL;
    }
    enum sym_swift_kind kind = sym_swift_next_kind(p, kinds);
    return kind == SWIFT_NONE ? global : sym_swift_add(p, global, sym_swift_make(p, kind));
}

struct sym_swift_node *
sym_swift_parse_old(struct fz_span text, struct fz_arena *arena)
{
    static const struct sym_swift_old_readers readers = {sym_swift_old_read_type,
                                                         sym_swift_old_read_signature};
    struct sym_swift_parser parser = {
        .text = text, .arena = arena, .cuts_numbers = true, .old = &readers};
    if (!sym_swift_next_if_text(&parser, "_T"))
        return NULL;
    struct sym_swift_node *global = attributes(&parser, sym_swift_make(&parser, SWIFT_GLOBAL));
    global = global ? sym_swift_add(&parser, global, symbol(&parser)) : NULL;
    if (!global || parser.pos == text.len)
        return global;
    /* The old mangling has no operator for suffixes: what cannot be read is one. */
    struct fz_span rest = fz_span_make(text.data + parser.pos, text.len - parser.pos);
    return sym_swift_add(&parser, global, sym_swift_make_span(&parser, SWIFT_SUFFIX, rest));
}
