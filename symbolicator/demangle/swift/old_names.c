/*
 * What all parts of the mangling of Swift 1 to 3 use: recursion with its limit, names,
 * substitutions.
 */
#include "symbolicator/demangle/swift/old.h"

enum { OLD_DEPTH_MAX = 200 };

bool
sym_swift_old_enter(struct sym_swift_parser *p)
{
    /* Prefix notation nests as deep as the name is long: a hostile one would exhaust the stack. */
    if (p->depth >= OLD_DEPTH_MAX)
        return false;
    p->depth++;
    return true;
}

/* The text of an identifier: its length, then its bytes. */
static struct fz_span
identifier_text(struct sym_swift_parser *p, bool punycoded)
{
    struct fz_span text = {NULL, 0};
    int64_t len = sym_swift_natural(p);
    if (len <= 0 || !fz_span_sub(p->text, p->pos, (uint64_t)len, &text))
        return (struct fz_span){NULL, 0};
    p->pos += (size_t)len;
    return punycoded ? sym_swift_punycode(text, p->arena) : text;
}

struct sym_swift_node *
sym_swift_old_identifier(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    bool punycoded = sym_swift_next_if(p, 'X');
    char fixity = '\0';
    if (sym_swift_next_if(p, 'o')) {
        /* Only declarations can be operators, not modules and labels. */
        if (kind != SWIFT_NONE)
            return NULL;
        fixity = sym_swift_next(p);
    }
    struct fz_span text = identifier_text(p, punycoded);
    if (text.len == 0)
        return NULL;
    if (fixity)
        return sym_swift_operator_node(p, text, fixity);
    return sym_swift_make_span(p, kind == SWIFT_NONE ? SWIFT_IDENTIFIER : kind, text);
}

struct sym_swift_node *
sym_swift_old_name(struct sym_swift_parser *p)
{
    if (sym_swift_next_if(p, 'L')) {
        int64_t index = sym_swift_index(p);
        struct sym_swift_node *local =
            index < 0 ? NULL : sym_swift_make_index(p, SWIFT_LOCAL_NAME, index);
        return local ? sym_swift_add(p, local, sym_swift_old_identifier(p, SWIFT_NONE)) : NULL;
    }
    if (sym_swift_next_if(p, 'P')) {
        struct sym_swift_node *file = sym_swift_old_identifier(p, SWIFT_NONE);
        struct sym_swift_node *name =
            file ? sym_swift_make_span(p, SWIFT_PRIVATE_NAME, file->text) : NULL;
        return name ? sym_swift_add(p, name, sym_swift_old_identifier(p, SWIFT_NONE)) : NULL;
    }
    return sym_swift_old_identifier(p, SWIFT_NONE);
}

struct sym_swift_node *
sym_swift_old_substitution(struct sym_swift_parser *p)
{
    static const struct {
        char letter;
        enum sym_swift_kind kind;
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
    if (sym_swift_next_if(p, 'o'))
        return sym_swift_make_text(p, SWIFT_MODULE, "__C");
    if (sym_swift_next_if(p, 'C'))
        return sym_swift_make_text(p, SWIFT_MODULE, "__C_Synthesized");
    for (size_t i = 0; i < FZ_ARRAY_LEN(types); i++) {
        if (sym_swift_next_if(p, types[i].letter))
            return sym_swift_swift_type(p, types[i].kind, types[i].name);
    }
    int64_t index = sym_swift_index(p);
    return index >= 0 && (uint64_t)index < p->substitutions.n ? p->substitutions.items[index]
                                                              : NULL;
}

struct sym_swift_node *
sym_swift_old_type(struct sym_swift_parser *p)
{
    return p->old->type(p);
}

struct sym_swift_node *
sym_swift_old_signature(struct sym_swift_parser *p)
{
    return p->old->signature(p);
}
