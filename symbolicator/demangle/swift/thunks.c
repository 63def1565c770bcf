/*
 * Thunks, key paths, outlined code, derivatives, value witnesses: functions that nobody wrote.
 */
#include "symbolicator/demangle/swift/parse.h"

#include "base/attr.h"

struct swift_node *
swift_op_resume(struct swift_parser *p, enum swift_kind kind)
{
    return swift_make1(p, kind, swift_number(p));
}

struct swift_node *
swift_op_completion_handler(struct swift_parser *p, enum swift_kind kind)
{
    int64_t flag = swift_index(p);
    struct swift_node *signature = swift_pop(p, SWIFT_SIGNATURE);
    struct swift_node *result = swift_pop_type(p);
    struct swift_node *handler = swift_make2(p, kind, swift_pop_type(p), result);
    if (!handler || flag < 0)
        return NULL;
    handler->index = flag;
    return swift_node_add_if(p->arena, handler, signature);
}

/* All types on the stack, in their order, into `parent`. */
static struct swift_node *
take_types(struct swift_parser *p, struct swift_node *parent)
{
    size_t first = p->stack.n;
    while (first > 0 && p->stack.items[first - 1]->is_type)
        first--;
    for (size_t i = first; i < p->stack.n; i++)
        parent = swift_node_add(p->arena, parent, p->stack.items[i]);
    p->stack.n = first;
    return parent;
}

/* Declaration, signature if there is one, types. */
struct swift_node *
swift_op_key_path(struct swift_parser *p, enum swift_kind kind)
{
    if (swift_next_if_text(p, "mu"))
        kind = SWIFT_KEY_PATH_UNAPPLIED;
    else if (swift_next_if_text(p, "MA"))
        kind = SWIFT_KEY_PATH_APPLIED;
    bool serialized = swift_next_if(p, 'q');
    struct swift_node *types = take_types(p, swift_make(p, SWIFT_LIST));
    if (!types || types->n_children == 0)
        return NULL;
    struct swift_node *signature = swift_pop(p, SWIFT_SIGNATURE);
    struct swift_node *path = swift_make1(p, kind, swift_pop_any(p));
    path = swift_node_add_if(p->arena, path, signature);
    for (uint32_t i = 0; i < types->n_children; i++)
        path = swift_node_add(p->arena, path, types->children[i]);
    return serialized ? swift_node_add(p->arena, path, swift_make(p, SWIFT_SERIALIZED)) : path;
}

struct swift_node *
swift_op_key_path_index(struct swift_parser *p, enum swift_kind kind)
{
    bool serialized = swift_next_if(p, 'q');
    struct swift_node *signature = swift_pop(p, SWIFT_SIGNATURE);
    struct swift_node *path = take_types(p, swift_make(p, kind));
    if (!path || p->stack.n > 0 || (!signature && path->n_children == 0))
        return NULL;
    path = swift_node_add_if(p->arena, path, signature);
    return serialized ? swift_node_add(p->arena, path, swift_make(p, SWIFT_SERIALIZED)) : path;
}

struct swift_node *
swift_op_outlined_variable(struct swift_parser *p, enum swift_kind kind)
{
    int64_t index = swift_index(p);
    if (index < 0)
        return NULL;
    bool read_only = swift_next_if(p, 'r');
    return swift_node_index(p->arena, read_only ? SWIFT_OUTLINED_READ_ONLY : kind, index);
}

/* "m" method, "a" and "p" properties, then a letter for each parameter and the result. */
struct swift_node *
swift_op_outlined_bridged(struct swift_parser *p, enum swift_kind kind)
{
    size_t start = p->pos;
    char c = swift_next(p);
    if (c == '\0' || !strchr("opam", c))
        return NULL;
    while ((c = swift_next(p)) != '_') {
        if (c == '\0' || !strchr("nbg", c))
            return NULL;
    }
    struct fz_span letters = fz_span_make(p->text.data + start, p->pos - 1 - start);
    return swift_node_text(p->arena, kind, letters);
}

struct swift_node *
swift_op_outlined_enum(struct swift_parser *p, enum swift_kind kind)
{
    struct swift_node *element = swift_number(p); /* not shown */
    swift_pop(p, SWIFT_SIGNATURE);
    return element ? swift_make1(p, kind, swift_pop_type(p)) : NULL;
}

static struct swift_node *
index_subset(struct swift_parser *p)
{
    size_t start = p->pos;
    while (swift_peek(p) == 'S' || swift_peek(p) == 'U')
        p->pos++;
    if (p->pos == start)
        return NULL;
    return swift_node_text(p->arena, SWIFT_INDEX_SUBSET,
                           fz_span_make(p->text.data + start, p->pos - start));
}

static struct swift_node *
autodiff_kind(struct swift_parser *p)
{
    char c = swift_next(p);
    const char *text = c == 'f'   ? "forward-mode derivative"
                       : c == 'r' ? "reverse-mode derivative"
                       : c == 'd' ? "differential"
                       : c == 'p' ? "pullback"
                                  : NULL;
    return text ? swift_make_text(p, SWIFT_AUTODIFF_KIND, text) : NULL;
}

/* Everything on the stack. */
static struct swift_node *
take_all(struct swift_parser *p, enum swift_kind kind)
{
    struct swift_node *node = swift_make(p, kind);
    for (size_t i = 0; i < p->stack.n; i++)
        node = swift_node_add(p->arena, node, p->stack.items[i]);
    p->stack.n = 0;
    return node;
}

/* Subsets of indices, each closed by its letter. */
static struct swift_node *
add_subsets(struct swift_parser *p, struct swift_node *node, const char *letters)
{
    for (; *letters && node; letters++) {
        node = swift_node_add(p->arena, node, index_subset(p));
        if (!swift_next_if(p, *letters))
            return NULL;
    }
    return node;
}

struct swift_node *
swift_op_autodiff(struct swift_parser *p, enum swift_kind kind)
{
    if (p->stack.n == 0)
        return NULL;
    struct swift_node *node = take_all(p, kind);
    node = swift_node_add(p->arena, node, autodiff_kind(p));
    return add_subsets(p, node, kind == SWIFT_AUTODIFF_SUBSET_THUNK ? "prP" : "pr");
}

struct swift_node *
swift_op_self_reordering(struct swift_parser *p, enum swift_kind kind)
{
    struct swift_node *signature = swift_pop(p, SWIFT_SIGNATURE);
    struct swift_node *to = swift_pop_type(p);
    struct swift_node *node = swift_make2(p, kind, swift_pop_type(p), to);
    node = swift_node_add(p->arena, node, autodiff_kind(p));
    return swift_node_add_if(p->arena, node, signature);
}

struct swift_node *
swift_op_differentiability(struct swift_parser *p, enum swift_kind kind)
{
    struct swift_node *signature = swift_pop(p, SWIFT_SIGNATURE);
    struct swift_node *node = take_all(p, kind);
    char c = swift_next(p);
    const char *text = c == 'f'   ? "forward-mode"
                       : c == 'r' ? "reverse-mode"
                       : c == 'd' ? "normal"
                       : c == 'l' ? "linear"
                                  : NULL;
    node =
        text ? swift_node_add(p->arena, node, swift_make_text(p, SWIFT_AUTODIFF_KIND, text)) : NULL;
    return swift_node_add_if(p->arena, add_subsets(p, node, "pr"), signature);
}

const char *
swift_value_witness_name(const char letters[2])
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

struct swift_node *
swift_op_value_witness(struct swift_parser *p, enum swift_kind kind)
{
    char letters[2];
    letters[0] = swift_next(p);
    letters[1] = swift_next(p);
    const char *name = swift_value_witness_name(letters);
    struct swift_node *witness = name ? swift_make1(p, kind, swift_pop_type(p)) : NULL;
    if (witness)
        witness->text = fz_span_cstr(name);
    return witness;
}

struct swift_node *
swift_op_field_offset(struct swift_parser *p, enum swift_kind kind)
{
    char c = swift_next(p);
    if (c != 'd' && c != 'i')
        return NULL;
    struct swift_node *direct =
        swift_make_text(p, SWIFT_DIRECTNESS, c == 'd' ? "direct " : "indirect ");
    return swift_make2(p, kind, direct, swift_pop_entity(p));
}

/* The initializer of global variables: each name has a mark behind it. */
struct swift_node *
swift_op_once(struct swift_parser *p, enum swift_kind kind)
{
    struct swift_node *names = swift_make(p, SWIFT_ONCE_LIST);
    while (names && swift_pop(p, SWIFT_FIRST_ELEMENT))
        names = swift_node_add(p->arena, names, swift_pop_flag(p, SWIFT_F_DECL_NAME));
    swift_node_reverse(names, 0);
    return names && swift_pop_context(p) ? swift_make1(p, kind, names) : NULL;
}
