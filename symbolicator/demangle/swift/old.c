/*
 * Symbols of Swift 1 to 3: what kind of symbol, and names.
 *
 *   _TFC4Test3Foo3barfT_T_   function bar in class Foo in Test, of type () -> ()
 */
#include "symbolicator/demangle/swift/old.h"

static struct swift_node *
metadata(struct swift_parser *p)
{
    static const struct {
        char letter;
        enum swift_kind kind;
    } kinds[] = {
        {'P', SWIFT_METADATA_PATTERN},    {'a', SWIFT_METADATA_ACCESSOR},
        {'L', SWIFT_METADATA_LAZY_CACHE}, {'m', SWIFT_METACLASS},
        {'n', SWIFT_NOMINAL_DESCRIPTOR},  {'f', SWIFT_FULL_METADATA},
    };
    if (swift_next_if(p, 'p'))
        return swift_make1(p, SWIFT_PROTOCOL_DESCRIPTOR, swift_old_protocol(p));
    for (size_t i = 0; i < FZ_ARRAY_LEN(kinds); i++) {
        if (swift_next_if(p, kinds[i].letter))
            return swift_make1(p, kinds[i].kind, swift_old_type(p));
    }
    return swift_make1(p, SWIFT_METADATA, swift_old_type(p));
}

static struct swift_node *
field_offset(struct swift_parser *p)
{
    bool direct = swift_next_if(p, 'd');
    if (!direct && !swift_next_if(p, 'i'))
        return NULL;
    struct swift_node *text =
        swift_make_text(p, SWIFT_DIRECTNESS, direct ? "direct " : "indirect ");
    return swift_make2(p, SWIFT_FIELD_OFFSET, text, swift_old_entity(p));
}

/* Two parts, read in their order. */
static struct swift_node *
pair(struct swift_parser *p, enum swift_kind kind,
     struct swift_node *(*read)(struct swift_parser *),
     struct swift_node *(*read_second)(struct swift_parser *))
{
    struct swift_node *first = read(p);
    return first ? swift_make2(p, kind, first, read_second(p)) : NULL;
}

static struct swift_node *
witness(struct swift_parser *p)
{
    static const struct {
        char letter;
        enum swift_kind kind;
    } tables[] = {
        {'P', SWIFT_WITNESS_TABLE},
        {'G', SWIFT_GENERIC_WITNESS_TABLE},
        {'I', SWIFT_GENERIC_WITNESS_TABLE_INSTANTIATION},
        {'a', SWIFT_WITNESS_TABLE_ACCESSOR},
    };
    struct swift_node *node;
    for (size_t i = 0; i < FZ_ARRAY_LEN(tables); i++) {
        if (swift_next_if(p, tables[i].letter))
            return swift_make1(p, tables[i].kind, swift_old_conformance(p));
    }
    switch (swift_next(p)) {
    case 'V':
        return swift_make1(p, SWIFT_VALUE_WITNESS_TABLE, swift_old_type(p));
    case 'v':
        return field_offset(p);
    case 'l':
        return pair(p, SWIFT_LAZY_WITNESS_TABLE_ACCESSOR, swift_old_type, swift_old_conformance);
    case 'L':
        return pair(p, SWIFT_LAZY_WITNESS_TABLE_CACHE, swift_old_type, swift_old_conformance);
    case 't':
        node = pair(p, SWIFT_ASSOC_METADATA_ACCESSOR, swift_old_conformance, swift_old_name);
        swift_node_reverse(node, 0);
        return node;
    case 'T':
        node = pair(p, SWIFT_ASSOC_WITNESS_TABLE_ACCESSOR, swift_old_conformance, swift_old_name);
        return node ? swift_node_add(p->arena, node, swift_old_protocol(p)) : NULL;
    default:
        return NULL;
    }
}

/* The mangling has the type that is converted to first. */
static struct swift_node *
reabstraction(struct swift_parser *p, enum swift_kind kind)
{
    struct swift_node *signature = NULL;
    if (swift_next_if(p, 'G') && !(signature = swift_old_signature(p)))
        return NULL;
    struct swift_node *thunk = pair(p, kind, swift_old_type, swift_old_type);
    swift_node_reverse(thunk, 0);
    return swift_node_add_if(p->arena, thunk, signature);
}

static struct swift_node *
thunk(struct swift_parser *p)
{
    if (swift_next_if(p, 'R'))
        return reabstraction(p, SWIFT_REABSTRACTION_HELPER);
    if (swift_next_if(p, 'r'))
        return reabstraction(p, SWIFT_REABSTRACTION);
    if (!swift_next_if(p, 'W'))
        return NULL;
    struct swift_node *node =
        pair(p, SWIFT_PROTOCOL_WITNESS, swift_old_conformance, swift_old_entity);
    swift_node_reverse(node, 0);
    return node;
}

static struct swift_node *symbol(struct swift_parser *p);

static struct swift_node *
partial_apply(struct swift_parser *p)
{
    struct swift_node *node =
        swift_make(p, swift_next_if(p, 'o') ? SWIFT_PARTIAL_APPLY_OBJC : SWIFT_PARTIAL_APPLY);
    return swift_next_if_text(p, "__T") ? swift_node_add(p->arena, node, symbol(p)) : node;
}

static struct swift_node *
value_witness(struct swift_parser *p)
{
    char letters[2];
    letters[0] = swift_next(p);
    letters[1] = swift_next(p);
    const char *name = swift_value_witness_name(letters);
    struct swift_node *node = name ? swift_make1(p, SWIFT_VALUE_WITNESS, swift_old_type(p)) : NULL;
    if (node)
        node->text = fz_span_cstr(name);
    return node;
}

static struct swift_node *
symbol(struct swift_parser *p)
{
    struct swift_node *node;
    if (p->pos >= p->text.len || !swift_old_enter(p))
        return NULL;
    if (swift_next_if(p, 'M'))
        node = metadata(p);
    else if (swift_next_if_text(p, "PA"))
        node = partial_apply(p);
    else if (swift_next_if(p, 't'))
        node = swift_make1(p, SWIFT_TYPE_MANGLING, swift_old_type(p));
    else if (swift_next_if(p, 'w'))
        node = value_witness(p);
    else if (swift_next_if(p, 'W'))
        node = witness(p);
    else if (swift_next_if(p, 'T'))
        node = thunk(p);
    else
        node = swift_old_entity(p);
    p->depth--;
    return node;
}

/* What stands in front of a symbol. */
static struct swift_node *
attributes(struct swift_parser *p, struct swift_node *global)
{
    static const struct {
        char letters[3];
        enum swift_kind kind;
    } kinds[] = {
        {"To", SWIFT_OBJC},          {"TO", SWIFT_NON_OBJC},         {"TD", SWIFT_DYNAMIC},
        {"Td", SWIFT_DIRECT_METHOD}, {"TV", SWIFT_VTABLE_ATTRIBUTE},
    };
    if (swift_next_if_text(p, "TS")) {
        do {
            global = swift_node_add(p->arena, global, swift_old_specialization(p));
            p->substitutions.n = 0;
        } while (global && swift_next_if_text(p, "_TTS"));
        return swift_next_if_text(p, "_T") ? global : NULL;
    }
    for (size_t i = 0; i < FZ_ARRAY_LEN(kinds); i++) {
        if (swift_next_if_text(p, kinds[i].letters))
            return swift_node_add(p->arena, global, swift_make(p, kinds[i].kind));
    }
    return global;
}

struct swift_node *
swift_parse_old(struct fz_span text, struct fz_arena *arena)
{
    static const struct swift_old_readers readers = {swift_old_read_type, swift_old_read_signature};
    struct swift_parser parser = {
        .text = text, .arena = arena, .cuts_numbers = true, .old = &readers};
    if (!swift_next_if_text(&parser, "_T"))
        return NULL;
    struct swift_node *global = attributes(&parser, swift_node_create(arena, SWIFT_GLOBAL));
    global = global ? swift_node_add(arena, global, symbol(&parser)) : NULL;
    if (!global || parser.pos == text.len)
        return global;
    struct fz_span rest = fz_span_make(text.data + parser.pos, text.len - parser.pos);
    return swift_node_add(arena, global, swift_node_text(arena, SWIFT_SUFFIX, rest));
}
