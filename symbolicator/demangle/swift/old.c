/*
 * Symbols of Swift 1 to 3: what kind of symbol, and names.
 *
 *   _TFC4Test3Foo3barfT_T_   function bar in class Foo in Test, of type () -> ()
 */
#include "symbolicator/demangle/swift/old.h"

enum { OLD_DEPTH_MAX = 200 };

bool
swift_old_enter(struct swift_parser *p)
{
    if (p->depth >= OLD_DEPTH_MAX)
        return false;
    p->depth++;
    return true;
}

/* The text of an identifier: its length, then so many bytes. */
static struct fz_span
identifier_text(struct swift_parser *p, bool punycoded)
{
    struct fz_span text = {NULL, 0};
    int64_t len = swift_natural(p);
    if (len <= 0 || !fz_span_sub(p->text, p->pos, (uint64_t)len, &text))
        return (struct fz_span){NULL, 0};
    p->pos += (size_t)len;
    return punycoded ? swift_punycode(text, p->arena) : text;
}

struct swift_node *
swift_old_identifier(struct swift_parser *p, enum swift_kind kind)
{
    bool punycoded = swift_next_if(p, 'X');
    char fixity = '\0';
    if (swift_next_if(p, 'o')) {
        if (kind != SWIFT_NONE)
            return NULL;
        fixity = swift_next(p);
    }
    struct fz_span text = identifier_text(p, punycoded);
    if (text.len == 0)
        return NULL;
    if (fixity)
        return swift_operator_node(p->arena, text, fixity);
    return swift_node_text(p->arena, kind == SWIFT_NONE ? SWIFT_IDENTIFIER : kind, text);
}

struct swift_node *
swift_old_name(struct swift_parser *p)
{
    if (swift_next_if(p, 'L')) {
        int64_t index = swift_index(p);
        struct swift_node *local =
            index < 0 ? NULL : swift_node_index(p->arena, SWIFT_LOCAL_NAME, index);
        return local ? swift_node_add(p->arena, local, swift_old_identifier(p, SWIFT_NONE)) : NULL;
    }
    if (swift_next_if(p, 'P')) {
        struct swift_node *file = swift_old_identifier(p, SWIFT_NONE);
        struct swift_node *name =
            file ? swift_node_text(p->arena, SWIFT_PRIVATE_NAME, file->text) : NULL;
        return name ? swift_node_add(p->arena, name, swift_old_identifier(p, SWIFT_NONE)) : NULL;
    }
    return swift_old_identifier(p, SWIFT_NONE);
}

struct swift_node *
swift_old_substitution(struct swift_parser *p)
{
    static const struct {
        char letter;
        enum swift_kind kind;
        const char *name;
    } types[] = {
        {'a', SWIFT_STRUCT, "Array"},
        {'b', SWIFT_STRUCT, "Bool"},
        {'c', SWIFT_STRUCT, "UnicodeScalar"},
        {'d', SWIFT_STRUCT, "Double"},
        {'f', SWIFT_STRUCT, "Float"},
        {'i', SWIFT_STRUCT, "Int"},
        {'V', SWIFT_STRUCT, "UnsafeRawPointer"},
        {'v', SWIFT_STRUCT, "UnsafeMutableRawPointer"},
        {'P', SWIFT_STRUCT, "UnsafePointer"},
        {'p', SWIFT_STRUCT, "UnsafeMutablePointer"},
        {'q', SWIFT_ENUM, "Optional"},
        {'Q', SWIFT_ENUM, "ImplicitlyUnwrappedOptional"},
        {'R', SWIFT_STRUCT, "UnsafeBufferPointer"},
        {'r', SWIFT_STRUCT, "UnsafeMutableBufferPointer"},
        {'S', SWIFT_STRUCT, "String"},
        {'u', SWIFT_STRUCT, "UInt"},
    };
    if (swift_next_if(p, 'o'))
        return swift_make_text(p, SWIFT_MODULE, "__C");
    if (swift_next_if(p, 'C'))
        return swift_make_text(p, SWIFT_MODULE, "__C_Synthesized");
    for (size_t i = 0; i < FZ_ARRAY_LEN(types); i++) {
        if (swift_next_if(p, types[i].letter))
            return swift_swift_type(p->arena, types[i].kind, types[i].name);
    }
    int64_t index = swift_index(p);
    return index >= 0 && (uint64_t)index < p->substitutions.n ? p->substitutions.items[index]
                                                              : NULL;
}

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
    struct swift_parser parser = {.text = text, .arena = arena, .cuts_numbers = true};
    if (!swift_next_if_text(&parser, "_T"))
        return NULL;
    struct swift_node *global = attributes(&parser, swift_node_create(arena, SWIFT_GLOBAL));
    global = global ? swift_node_add(arena, global, symbol(&parser)) : NULL;
    if (!global || parser.pos == text.len)
        return global;
    struct fz_span rest = fz_span_make(text.data + parser.pos, text.len - parser.pos);
    return swift_node_add(arena, global, swift_node_text(arena, SWIFT_SUFFIX, rest));
}
