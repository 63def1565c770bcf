/*
 * Functions that the compiler makes: thunks, key paths, outlined code, derivatives, value
 * witnesses.
 */
#include "symbolicator/demangle/swift/parse.h"

#include "base/attr.h"

struct sym_swift_node *
sym_swift_op_resume(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    return sym_swift_make1(p, kind, sym_swift_number(p));
}

struct sym_swift_node *
sym_swift_op_completion_handler(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    /* How the Objective-C completion handler reports an error: see the texts in print_thunks.c. */
    int64_t flag = sym_swift_index(p);
    struct sym_swift_node *signature = sym_swift_pop(p, SWIFT_SIGNATURE);
    struct sym_swift_node *result = sym_swift_pop_type(p);
    struct sym_swift_node *handler = sym_swift_make2(p, kind, sym_swift_pop_type(p), result);
    if (!handler || flag < 0)
        return NULL;
    handler->index = flag;
    return sym_swift_add_if(p, handler, signature);
}

/* Move all types at the top of the stack, in their order, to `parent`. */
static struct sym_swift_node *
pop_types(struct sym_swift_parser *p, struct sym_swift_node *parent)
{
    size_t first = p->stack.n;
    while (first > 0 && p->stack.items[first - 1]->is_type)
        first--;
    for (size_t i = first; i < p->stack.n; i++)
        parent = sym_swift_add(p, parent, p->stack.items[i]);
    /* the signature and the declaration are below the types */
    p->stack.n = first;
    return parent;
}

/* Declaration, optional signature, types. */
struct sym_swift_node *
sym_swift_op_key_path(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    /* Key paths to methods came with Swift 6, and have further letters. */
    if (sym_swift_next_if_text(p, "mu"))
        kind = SWIFT_KEY_PATH_UNAPPLIED;
    else if (sym_swift_next_if_text(p, "MA"))
        kind = SWIFT_KEY_PATH_APPLIED;
    bool serialized = sym_swift_next_if(p, 'q');
    struct sym_swift_node *types = pop_types(p, sym_swift_make(p, SWIFT_LIST));
    if (!types || types->n_children == 0)
        return NULL;
    struct sym_swift_node *signature = sym_swift_pop(p, SWIFT_SIGNATURE);
    struct sym_swift_node *path = sym_swift_make1(p, kind, sym_swift_pop_any(p));
    path = sym_swift_add_if(p, path, signature);
    for (uint32_t i = 0; i < types->n_children; i++)
        path = sym_swift_add(p, path, types->children[i]);
    return serialized ? sym_swift_add(p, path, sym_swift_make(p, SWIFT_SERIALIZED)) : path;
}

struct sym_swift_node *
sym_swift_op_key_path_index(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    bool serialized = sym_swift_next_if(p, 'q');
    struct sym_swift_node *signature = sym_swift_pop(p, SWIFT_SIGNATURE);
    struct sym_swift_node *path = pop_types(p, sym_swift_make(p, kind));
    if (!path || p->stack.n > 0 || (!signature && path->n_children == 0))
        return NULL;
    path = sym_swift_add_if(p, path, signature);
    return serialized ? sym_swift_add(p, path, sym_swift_make(p, SWIFT_SERIALIZED)) : path;
}

struct sym_swift_node *
sym_swift_op_outlined_variable(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    int64_t index = sym_swift_index(p);
    if (index < 0)
        return NULL;
    /* Statically initialized objects: constants in read-only memory have the letter. */
    bool read_only = sym_swift_next_if(p, 'r');
    return sym_swift_make_index(p, read_only ? SWIFT_OUTLINED_READ_ONLY : kind, index);
}

/* "m" method, "a" and "p" properties, then a letter for each parameter and the result. */
struct sym_swift_node *
sym_swift_op_outlined_bridged(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    size_t start = p->pos;
    char c = sym_swift_next(p);
    /* strchr() also finds the NUL at the end of its text. */
    if (c == '\0' || !strchr("opam", c))
        return NULL;
    while ((c = sym_swift_next(p)) != '_') {
        if (c == '\0' || !strchr("nbg", c))
            return NULL;
    }
    struct fz_span letters = fz_span_make(p->text.data + start, p->pos - 1 - start);
    return sym_swift_make_span(p, kind, letters);
}

struct sym_swift_node *
sym_swift_op_outlined_enum(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    struct sym_swift_node *element = sym_swift_number(p); /* not printed */
    sym_swift_pop(p, SWIFT_SIGNATURE);
    return element ? sym_swift_make1(p, kind, sym_swift_pop_type(p)) : NULL;
}

static struct sym_swift_node *
index_subset(struct sym_swift_parser *p)
{
    size_t start = p->pos;
    /* One letter for each parameter: S is in the subset, U is not. */
    while (sym_swift_peek(p) == 'S' || sym_swift_peek(p) == 'U')
        p->pos++;
    if (p->pos == start)
        return NULL;
    return sym_swift_make_span(p, SWIFT_INDEX_SUBSET,
                               fz_span_make(p->text.data + start, p->pos - start));
}

static struct sym_swift_node *
autodiff_kind(struct sym_swift_parser *p)
{
    static const struct sym_swift_word words[] = {{'f', "forward-mode derivative"},
                                                  {'r', "reverse-mode derivative"},
                                                  {'d', "differential"},
                                                  {'p', "pullback"},
                                                  {'\0', NULL}};
    const char *text = sym_swift_next_word(p, words);
    return text ? sym_swift_make_text(p, SWIFT_AUTODIFF_KIND, text) : NULL;
}

/* Everything on the stack. */
static struct sym_swift_node *
pop_all(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    struct sym_swift_node *node = sym_swift_make(p, kind);
    for (size_t i = 0; i < p->stack.n; i++)
        node = sym_swift_add(p, node, p->stack.items[i]);
    p->stack.n = 0;
    return node;
}

/* Subsets of indices, each with a letter after it. */
static struct sym_swift_node *
add_subsets(struct sym_swift_parser *p, struct sym_swift_node *node, const char *letters)
{
    for (; *letters && node; letters++) {
        node = sym_swift_add(p, node, index_subset(p));
        if (!sym_swift_next_if(p, *letters))
            return NULL;
    }
    return node;
}

struct sym_swift_node *
sym_swift_op_autodiff(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    /* The operator takes the whole function before it, however many nodes that has. */
    if (p->stack.n == 0)
        return NULL;
    struct sym_swift_node *node = pop_all(p, kind);
    node = sym_swift_add(p, node, autodiff_kind(p));
    return add_subsets(p, node, kind == SWIFT_AUTODIFF_SUBSET_THUNK ? "prP" : "pr");
}

struct sym_swift_node *
sym_swift_op_self_reordering(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    struct sym_swift_node *signature = sym_swift_pop(p, SWIFT_SIGNATURE);
    struct sym_swift_node *to = sym_swift_pop_type(p);
    struct sym_swift_node *node = sym_swift_make2(p, kind, sym_swift_pop_type(p), to);
    node = sym_swift_add(p, node, autodiff_kind(p));
    return sym_swift_add_if(p, node, signature);
}

struct sym_swift_node *
sym_swift_op_differentiability(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    static const struct sym_swift_word words[] = {{'f', "forward-mode"},
                                                  {'r', "reverse-mode"},
                                                  {'d', "normal"},
                                                  {'l', "linear"},
                                                  {'\0', NULL}};
    struct sym_swift_node *signature = sym_swift_pop(p, SWIFT_SIGNATURE);
    struct sym_swift_node *node = pop_all(p, kind);
    const char *text = sym_swift_next_word(p, words);
    node = text ? sym_swift_add(p, node, sym_swift_make_text(p, SWIFT_AUTODIFF_KIND, text)) : NULL;
    return sym_swift_add_if(p, add_subsets(p, node, "pr"), signature);
}

const char *
sym_swift_value_witness_name(const char letters[2])
{
    static const struct {
        char letters[3];
        const char *name;
    } witnesses[] = {
        {"al", "allocateBuffer"},
        {"ca", "assignWithCopy"},
        {"ta", "assignWithTake"},
        {"de", "deallocateBuffer"},
        {"xx", "destroy"},
        {"XX", "destroyBuffer"},
        {"Xx", "destroyArray"},
        {"CP", "initializeBufferWithCopyOfBuffer"},
        {"Cp", "initializeBufferWithCopy"},
        {"cp", "initializeWithCopy"},
        {"TK", "initializeBufferWithTakeOfBuffer"},
        {"Tk", "initializeBufferWithTake"},
        {"tk", "initializeWithTake"},
        {"pr", "projectBuffer"},
        {"xs", "storeExtraInhabitant"},
        {"xg", "getExtraInhabitantIndex"},
        {"Cc", "initializeArrayWithCopy"},
        {"Tt", "initializeArrayWithTakeFrontToBack"},
        {"tT", "initializeArrayWithTakeBackToFront"},
        {"ug", "getEnumTag"},
        {"up", "destructiveProjectEnumData"},
        {"ui", "destructiveInjectEnumTag"},
        {"et", "getEnumTagSinglePayload"},
        {"st", "storeEnumTagSinglePayload"},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(witnesses); i++) {
        if (memcmp(witnesses[i].letters, letters, 2) == 0)
            return witnesses[i].name;
    }
    return NULL;
}

struct sym_swift_node *
sym_swift_op_value_witness(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    char letters[2];
    letters[0] = sym_swift_next(p);
    letters[1] = sym_swift_next(p);
    const char *name = sym_swift_value_witness_name(letters);
    struct sym_swift_node *witness = name ? sym_swift_make1(p, kind, sym_swift_pop_type(p)) : NULL;
    if (witness)
        witness->text = fz_span_cstr(name);
    return witness;
}

struct sym_swift_node *
sym_swift_op_field_offset(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    char c = sym_swift_next(p);
    if (c != 'd' && c != 'i')
        return NULL;
    struct sym_swift_node *direct =
        sym_swift_make_text(p, SWIFT_DIRECTNESS, c == 'd' ? "direct " : "indirect ");
    return sym_swift_make2(p, kind, direct, sym_swift_pop_entity(p));
}

/* The initializer of global variables: each name has a mark after it. */
struct sym_swift_node *
sym_swift_op_once(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    struct sym_swift_node *names = sym_swift_make(p, SWIFT_ONCE_LIST);
    while (names && sym_swift_pop(p, SWIFT_FIRST_ELEMENT))
        names = sym_swift_add(p, names, sym_swift_pop_flag(p, SWIFT_F_DECL_NAME));
    sym_swift_node_reverse(names, 0);
    /* The context is mangled, but Swift prints only the names. */
    return names ? sym_swift_make2(p, kind, names, sym_swift_pop_context(p)) : NULL;
}
