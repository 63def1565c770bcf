/*
 * Entities: what is declared in a context, with its type.
 *
 *   Test.Foo.bar(x: Swift.Int) -> ()         the context comes first
 *   closure #1 () -> () in Test.main() -> () last: a prefix cannot have a type or spaces
 */
#include "symbolicator/demangle/swift/print.h"

bool
sym_swift_needs_space(const struct sym_swift_node *type)
{
    /* These begin with a bracket, which follows the name directly: "f(x: Int)". */
    return type->kind != SWIFT_FUNCTION_TYPE && type->kind != SWIFT_NOESCAPE_FUNCTION_TYPE &&
           type->kind != SWIFT_CALLED_ONCE_FUNCTION_TYPE &&
           type->kind != SWIFT_UNCURRIED_FUNCTION_TYPE && type->kind != SWIFT_GENERIC_TYPE;
}

static const struct sym_swift_node *
type_of(const struct sym_swift_node *entity)
{
    /* Child 0 is the context, which can be a type too. */
    for (uint32_t i = 1; i < entity->n_children; i++) {
        if (entity->children[i]->is_type)
            return entity->children[i];
    }
    return NULL;
}

/* A type that is printed as parameters and result after the name. */
static bool
is_signature(const struct sym_swift_node *type)
{
    /* The signature is printed before the parameters: what counts is the type within. */
    while (type && type->kind == SWIFT_GENERIC_TYPE)
        type = sym_swift_node_child(type, 1);
    return type &&
           (type->kind == SWIFT_FUNCTION_TYPE || type->kind == SWIFT_NOESCAPE_FUNCTION_TYPE ||
            type->kind == SWIFT_UNCURRIED_FUNCTION_TYPE || type->kind == SWIFT_C_FUNCTION_TYPE ||
            type->kind == SWIFT_THIN_FUNCTION_TYPE);
}

static void
print_labelled_type(struct sym_swift_printer *p, const struct sym_swift_node *entity,
                    const struct sym_swift_node *type, const struct sym_swift_node *arguments)
{
    const struct sym_swift_node *labels = sym_swift_node_find(entity, SWIFT_LABELS);
    if (!labels && !arguments) {
        sym_swift_print(p, type);
        return;
    }
    if (arguments) {
        sym_swift_print_text(p, "<");
        sym_swift_print_children(p, arguments, 0, arguments->n_children, ", ");
        sym_swift_print_text(p, ">");
    }
    if (type->kind == SWIFT_GENERIC_TYPE) {
        /* Of a bound function the arguments are printed instead of the parameters' names. */
        if (!arguments)
            sym_swift_print(p, type->children[0]);
        type = type->children[1];
        if (sym_swift_needs_space(type))
            sym_swift_print_text(p, " ");
    }
    sym_swift_print_function(p, labels, type);
}

static void
print_type(struct sym_swift_printer *p, const struct sym_swift_node *entity,
           const struct sym_swift_node *arguments, enum sym_swift_type_style style, bool spaced)
{
    const struct sym_swift_node *type = type_of(entity);
    if (!type) {
        p->failed = true;
        return;
    }
    if (style == SWIFT_SIGNATURE_STYLE && is_signature(type)) {
        if (spaced || sym_swift_needs_space(type))
            sym_swift_print_text(p, " ");
        print_labelled_type(p, entity, type, arguments);
        /* DisplayEntityTypes is off in Swift's simplified form. */
    } else if (!p->simplified) {
        sym_swift_print_text(p, " : ");
        print_labelled_type(p, entity, type, arguments);
    }
}

/* "closure #", "getter"; only in classes do initializers allocate. */
static const char *
role_of(const struct sym_swift_node *node, const struct sym_swift_entity *entity)
{
    /* Of structures and enums the mangling has every initializer as an allocating one. */
    bool of_class = node->children[0]->kind == SWIFT_CLASS;
    if (node->kind == SWIFT_ALLOCATOR && !of_class)
        return "init";
    if ((node->kind == SWIFT_DEALLOCATOR || node->kind == SWIFT_ISOLATED_DEALLOCATOR) && !of_class)
        return "deinit";
    return entity->extra;
}

static void
print_role(struct sym_swift_printer *p, const struct sym_swift_node *node,
           const struct sym_swift_entity *entity)
{
    /* Only here does the role depend on the node: it is a word of the mangling. */
    if (node->kind == SWIFT_ATTACHED_MACRO) {
        sym_swift_print_span(p, node->text);
        sym_swift_print_text(p, " macro @");
        sym_swift_print(p, sym_swift_node_child(node, 2));
    }
    sym_swift_print_text(p, role_of(node, entity));
    if (entity->number_child > 0) {
        const struct sym_swift_node *number =
            sym_swift_node_child(node, (uint32_t)entity->number_child);
        if (number)
            sym_swift_print_number(p, number->index + entity->number_from);
        else
            p->failed = true;
    }
}

static void
print_name(struct sym_swift_printer *p, const struct sym_swift_node *node,
           const struct sym_swift_entity *entity)
{
    if (entity->overwrite) {
        sym_swift_print_text(p, entity->overwrite);
        return;
    }
    const struct sym_swift_node *name = sym_swift_node_child(node, 1);
    /* A subscript has no name, but may have the file that it is private to. */
    const struct sym_swift_node *private_name = sym_swift_node_find(node, SWIFT_PRIVATE_NAME);
    if (!name)
        p->failed = true;
    else if (name->kind != SWIFT_PRIVATE_NAME && name->kind != SWIFT_LABELS)
        sym_swift_print(p, name);
    if (private_name)
        sym_swift_print(p, private_name);
}

/* Print the context as a prefix; the rest is returned, to be printed after the entity. */
static const struct sym_swift_node *
print_context(struct sym_swift_printer *p, const struct sym_swift_node *context)
{
    size_t before = p->out->len;
    const struct sym_swift_node *rest = sym_swift_print_prefix(p, context);
    /* modules are empty in the simplified form */
    if (p->out->len != before)
        sym_swift_print_text(p, ".");
    return rest;
}

static const struct sym_swift_node *
print_declared(struct sym_swift_printer *p, const struct sym_swift_node *node,
               const struct sym_swift_entity *entity, bool as_prefix)
{
    const struct sym_swift_node *arguments = NULL, *rest = NULL;
    if (node->kind == SWIFT_BOUND_FUNCTION) {
        /* Swift prints a bound initializer as a function, whose name it does not have. */
        arguments = sym_swift_node_child(node, 1);
        node = node->children[0];
    }
    if (node->n_children == 0) {
        p->failed = true;
        return NULL;
    }
    /* ShowClosureSignature is off in the simplified form. */
    enum sym_swift_type_style style = entity->style;
    if (style == SWIFT_CLOSURE_STYLE)
        style = p->simplified ? SWIFT_NO_TYPE : SWIFT_SIGNATURE_STYLE;
    /* A macro without labels has a plain type instead of parameters. */
    if (node->kind == SWIFT_MACRO && node->n_children == 3)
        style = SWIFT_COLON;
    /* Of an initializer only the file that it is private to is printed (in Swift's printer,
     * hasName if it has more than two children). */
    bool has_name = node->kind == SWIFT_CONSTRUCTOR ? node->n_children > 2
                                                    : entity->has_name || entity->overwrite;
    /* Roles of several words are printed in front: "closure #1 in f", but "f.getter". */
    bool spaced = entity->extra && strchr(entity->extra, ' ');
    const struct sym_swift_node *name = sym_swift_node_child(node, 1);
    if (entity->has_name && name && name->kind == SWIFT_LOCAL_NAME)
        spaced = true;
    /* "a.b(x:) -> ().c" and "closure #1.c" would be misread */
    if (as_prefix && (style != SWIFT_NO_TYPE || spaced))
        return node;
    rest = spaced ? node->children[0] : print_context(p, node->children[0]);
    bool role_printed = false;
    if (has_name) {
        if (entity->extra && spaced) {
            print_role(p, node, entity);
            sym_swift_print_text(p, " of ");
            role_printed = true;
        }
        size_t before = p->out->len;
        print_name(p, node, entity);
        if (p->out->len != before && entity->extra && !role_printed)
            sym_swift_print_text(p, ".");
    }
    if (entity->extra && !role_printed)
        print_role(p, node, entity);
    if (style != SWIFT_NO_TYPE)
        print_type(p, node, arguments, style, spaced);
    if (as_prefix || !rest)
        return rest;
    sym_swift_print_text(p, entity->of ? " of " : " in ");
    sym_swift_print(p, rest);
    return NULL;
}

/* An accessor is printed as its variable or subscript with a role. */
static const struct sym_swift_node *
print_accessor(struct sym_swift_printer *p, const struct sym_swift_node *node, bool as_prefix)
{
    const struct sym_swift_node *storage = sym_swift_node_child(node, 0);
    if (!storage || (storage->kind != SWIFT_VARIABLE && storage->kind != SWIFT_SUBSCRIPT)) {
        p->failed = true;
        return NULL;
    }
    struct sym_swift_entity entity = p->kinds[storage->kind].entity;
    /* An accessor is followed by the type of its storage, also of a subscript. */
    entity.style = SWIFT_COLON;
    entity.extra = p->kinds[node->kind].before;
    return print_declared(p, storage, &entity, as_prefix);
}

const struct sym_swift_node *
sym_swift_print_entity(struct sym_swift_printer *p, const struct sym_swift_node *node,
                       bool as_prefix)
{
    return sym_swift_print_is(p, node, SWIFT_F_OF_STORAGE)
               ? print_accessor(p, node, as_prefix)
               : print_declared(p, node, &p->kinds[node->kind].entity, as_prefix);
}
