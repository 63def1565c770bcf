/*
 * Printing types.
 */
#include "symbolicator/demangle/swift/print.h"

/* Whether "?" or ".Type" can follow a type without brackets. */
static bool
is_simple(const struct sym_swift_printer *p, const struct sym_swift_node *type)
{
    /* "A & B" needs brackets, a single protocol and "Any" do not. */
    if (type->kind == SWIFT_PROTOCOL_LIST)
        return type->n_children <= 1;
    if (type->kind == SWIFT_PROTOCOL_LIST_ANY_OBJECT)
        return type->n_children == 0;
    return sym_swift_print_is(p, type, SWIFT_F_SIMPLE);
}

static void
print_in_brackets(struct sym_swift_printer *p, const struct sym_swift_node *type)
{
    bool simple = type && is_simple(p, type);
    if (!simple)
        sym_swift_print_text(p, "(");
    sym_swift_print(p, type);
    if (!simple)
        sym_swift_print_text(p, ")");
}

/* Whether `type` is the standard library's type of that kind and name. */
static bool
is_standard(const struct sym_swift_node *type, enum sym_swift_kind kind, const char *name)
{
    /* The module is compared too: a program may have an Array of its own. */
    return type->kind == kind && type->n_children == 2 && type->children[0]->kind == SWIFT_MODULE &&
           fz_span_is(type->children[0]->text, "Swift") &&
           type->children[1]->kind == SWIFT_IDENTIFIER && fz_span_is(type->children[1]->text, name);
}

static bool
print_sugared(struct sym_swift_printer *p, const struct sym_swift_node *type,
              const struct sym_swift_node *arguments)
{
    /* ImplicitlyUnwrappedOptional was a type until Swift 4.1. */
    bool optional = is_standard(type, SWIFT_ENUM, "Optional");
    if (arguments->n_children == 1 &&
        (optional || is_standard(type, SWIFT_ENUM, "ImplicitlyUnwrappedOptional"))) {
        print_in_brackets(p, arguments->children[0]);
        sym_swift_print_text(p, optional ? "?" : "!");
        return true;
    }
    bool dictionary = is_standard(type, SWIFT_STRUCT, "Dictionary");
    if ((dictionary && arguments->n_children == 2) ||
        (arguments->n_children == 1 && is_standard(type, SWIFT_STRUCT, "Array"))) {
        sym_swift_print_text(p, "[");
        sym_swift_print_children(p, arguments, 0, 2, " : ");
        sym_swift_print_text(p, "]");
        return true;
    }
    return false;
}

void
sym_swift_print_bound_generic(struct sym_swift_printer *p, const struct sym_swift_node *node)
{
    const struct sym_swift_node *type = node->children[0], *arguments = node->children[1];
    /* Swift writes sugar for structures and enums without retroactive conformances */
    bool plain = !p->sugar || node->n_children != 2 || type->kind == SWIFT_CLASS;
    /* As NodePrinter::printBoundGeneric(): a protocol with its Self. */
    if (!plain && type->kind == SWIFT_PROTOCOL) {
        sym_swift_print_children(p, arguments, 0, arguments->n_children, NULL);
        sym_swift_print_text(p, " as ");
        sym_swift_print(p, type);
        return;
    }
    if (!plain && print_sugared(p, type, arguments))
        return;
    sym_swift_print(p, type);
    sym_swift_print_text(p, "<");
    sym_swift_print_children(p, arguments, 0, arguments->n_children, ", ");
    sym_swift_print_text(p, ">");
}

void
sym_swift_print_optional(struct sym_swift_printer *p, const struct sym_swift_node *node)
{
    print_in_brackets(p, sym_swift_node_child(node, 0));
    sym_swift_print_text(p, "?");
}

void
sym_swift_print_tuple_element(struct sym_swift_printer *p, const struct sym_swift_node *node)
{
    sym_swift_print_format(p, node, node->text.len > 0 ? "{t}: {0}" : "{0}");
    if (node->index)
        sym_swift_print_text(p, "...");
}

static void
print_label(struct sym_swift_printer *p, const struct sym_swift_node *label)
{
    if (label && label->kind == SWIFT_IDENTIFIER)
        sym_swift_print_span(p, label->text);
    else
        sym_swift_print_text(p, "_");
}

static void
print_parameters(struct sym_swift_printer *p, const struct sym_swift_node *labels,
                 const struct sym_swift_node *parameters)
{
    bool has_labels = labels && labels->n_children > 0;
    /* A single parameter without a label is mangled without a tuple. */
    if (parameters->kind != SWIFT_TUPLE) {
        sym_swift_print_text(p, "(");
        if (p->simplified)
            /* ShowFunctionArgumentTypes is off in the simplified form: only labels stay. */
            sym_swift_print_text(p, "_:");
        else
            sym_swift_print(p, parameters);
        sym_swift_print_text(p, ")");
        return;
    }
    sym_swift_print_text(p, "(");
    for (uint32_t i = 0; i < parameters->n_children && !p->failed; i++) {
        const struct sym_swift_node *element = parameters->children[i];
        if (i > 0 && !p->simplified)
            sym_swift_print_text(p, ", ");
        if (has_labels) {
            print_label(p, sym_swift_node_child(labels, i));
            sym_swift_print_text(p, p->simplified ? ":" : ": ");
            /* Names of Swift 4.0 and before have the labels in the tuple. */
        } else if (p->simplified) {
            sym_swift_print_span(p, element->text);
            sym_swift_print_text(p, element->text.len > 0 ? ":" : "_:");
        }
        if (!p->simplified)
            sym_swift_print(p, element);
    }
    sym_swift_print_text(p, ")");
}

static void
print_convention(struct sym_swift_printer *p, const struct sym_swift_node *type, const char *name)
{
    const struct sym_swift_node *c_type = sym_swift_node_find(type, SWIFT_CLANG_TYPE);
    sym_swift_print_text(p, "@convention(");
    sym_swift_print_text(p, name);
    if (c_type) {
        sym_swift_print_text(p, ", mangledCType: \"");
        sym_swift_print(p, c_type);
        sym_swift_print_text(p, "\"");
    }
    sym_swift_print_text(p, ") ");
}

static void
print_attribute(struct sym_swift_printer *p, const struct sym_swift_node *type,
                enum sym_swift_kind kind)
{
    const struct sym_swift_node *attribute = sym_swift_node_find(type, kind);
    if (attribute)
        sym_swift_print(p, attribute);
}

void
sym_swift_print_function(struct sym_swift_printer *p, const struct sym_swift_node *labels,
                         const struct sym_swift_node *type)
{
    /* The name decides what is here: "F" may follow any type. */
    if (!type || !sym_swift_print_is(p, type, SWIFT_F_FUNCTION_TYPE) || type->n_children < 2) {
        p->failed = true;
        return;
    }
    if (type->kind == SWIFT_AUTOCLOSURE_TYPE || type->kind == SWIFT_ESCAPING_AUTOCLOSURE_TYPE)
        sym_swift_print_text(p, "@autoclosure ");
    else if (type->kind == SWIFT_THIN_FUNCTION_TYPE)
        sym_swift_print_text(p, "@convention(thin) ");
    else if (type->kind == SWIFT_CALLED_ONCE_FUNCTION_TYPE)
        sym_swift_print_text(p, "@called(once) ");
    else if (type->kind == SWIFT_C_FUNCTION_TYPE)
        print_convention(p, type, "c");
    else if (type->kind == SWIFT_ESCAPING_OBJC_BLOCK)
        sym_swift_print_text(p, "@escaping ");
    if (type->kind == SWIFT_OBJC_BLOCK || type->kind == SWIFT_ESCAPING_OBJC_BLOCK)
        print_convention(p, type, "block");
    /* Attributes in the order of Swift's printFunctionType(), not in that of the name. */
    print_attribute(p, type, SWIFT_ISOLATED_ANY);
    print_attribute(p, type, SWIFT_GLOBAL_ACTOR);
    print_attribute(p, type, SWIFT_DIFFERENTIABLE);
    print_attribute(p, type, SWIFT_NONISOLATED_CALLER);
    print_attribute(p, type, SWIFT_SENDABLE);
    print_parameters(p, labels, type->children[type->n_children - 2]);
    if (p->simplified)
        return;
    print_attribute(p, type, SWIFT_ASYNC);
    print_attribute(p, type, SWIFT_THROWS);
    print_attribute(p, type, SWIFT_TYPED_THROWS);
    sym_swift_print_text(p, " -> ");
    print_attribute(p, type, SWIFT_SENDING_RESULT);
    sym_swift_print(p, type->children[type->n_children - 1]);
}

void
sym_swift_print_function_type(struct sym_swift_printer *p, const struct sym_swift_node *node)
{
    sym_swift_print_function(p, NULL, node);
}

void
sym_swift_print_metatype(struct sym_swift_printer *p, const struct sym_swift_node *node)
{
    const struct sym_swift_node *type = sym_swift_node_child(node, 0);
    sym_swift_print_span(p, node->text);
    if (node->text.len > 0)
        sym_swift_print_text(p, " ");
    /* "any P" has the metatype P.Type; the metatype of the type P itself is P.Protocol. */
    if (node->kind == SWIFT_EXISTENTIAL_METATYPE)
        sym_swift_print(p, type);
    else
        print_in_brackets(p, type);
    sym_swift_print_text(p, node->kind == SWIFT_METATYPE &&
                                    sym_swift_print_is(p, type, SWIFT_F_EXISTENTIAL)
                                ? ".Protocol"
                                : ".Type");
}

void
sym_swift_print_protocols(struct sym_swift_printer *p, const struct sym_swift_node *node)
{
    if (node->n_children == 0)
        sym_swift_print_text(p, "Any");
    sym_swift_print_children(p, node, 0, node->n_children, " & ");
}

void
sym_swift_print_protocols_class(struct sym_swift_printer *p, const struct sym_swift_node *node)
{
    sym_swift_print_format(p, node, "{0} & ");
    sym_swift_print_children(p, node, 1, node->n_children, " & ");
}

void
sym_swift_print_protocols_object(struct sym_swift_printer *p, const struct sym_swift_node *node)
{
    sym_swift_print_children(p, node, 0, node->n_children, " & ");
    sym_swift_print_text(p, node->n_children > 0 ? " & Swift.AnyObject" : "Swift.AnyObject");
}

void
sym_swift_print_shape(struct sym_swift_printer *p, const struct sym_swift_node *node)
{
    bool show_where = p->show_where;
    p->show_where = true; /* a shape consists of its requirements */
    sym_swift_print_format(p, node,
                           node->n_children == 2 ? "existential shape for {0} any {1}"
                                                 : "existential shape for any {0}");
    p->show_where = show_where;
}

void
sym_swift_print_box(struct sym_swift_printer *p, const struct sym_swift_node *node)
{
    const struct sym_swift_node *arguments = sym_swift_node_child(node, 2);
    sym_swift_print_format(p, node, arguments ? "{1} {0}" : "{0}");
    if (arguments) {
        sym_swift_print_text(p, " <");
        sym_swift_print_children(p, arguments, 0, arguments->n_children, ", ");
        sym_swift_print_text(p, ">");
    }
}

void
sym_swift_print_impl_convention(struct sym_swift_printer *p, const struct sym_swift_node *node)
{
    sym_swift_print_format(p, node,
                           node->n_children > 0 ? "@convention({t}, mangledCType: \"{0}\")"
                                                : "@convention({t})");
}

static bool
is_result(const struct sym_swift_node *node)
{
    return node->kind == SWIFT_IMPL_RESULT || node->kind == SWIFT_IMPL_YIELD ||
           node->kind == SWIFT_IMPL_ERROR;
}

/* Operands that are (or are not) results, joined by commas. */
static void
print_operands(struct sym_swift_printer *p, const struct sym_swift_node *type, bool results)
{
    bool first = true;
    for (uint32_t i = 0; i < type->n_children; i++) {
        const struct sym_swift_node *child = type->children[i];
        if (results ? !is_result(child) : child->kind != SWIFT_IMPL_PARAMETER)
            continue;
        if (!first)
            sym_swift_print_text(p, ", ");
        sym_swift_print(p, child);
        first = false;
    }
}

static void
print_substitutions(struct sym_swift_printer *p, const struct sym_swift_node *list)
{
    if (!list)
        return;
    sym_swift_print_text(p, " for <");
    sym_swift_print_children(p, list, 0, list->n_children, NULL);
    sym_swift_print_text(p, ">");
}

/* Attributes, "(" parameters ") -> (" results ")". */
void
sym_swift_print_impl_function(struct sym_swift_printer *p, const struct sym_swift_node *node)
{
    const struct sym_swift_node *pattern =
        sym_swift_node_find(node, SWIFT_IMPL_PATTERN_SUBSTITUTIONS);
    const struct sym_swift_node *invocation =
        sym_swift_node_find(node, SWIFT_IMPL_INVOCATION_SUBSTITUTIONS);
    for (uint32_t i = 0; i < node->n_children; i++) {
        const struct sym_swift_node *child = node->children[i];
        if (child->kind != SWIFT_IMPL_ATTRIBUTE && child->kind != SWIFT_IMPL_CONVENTION &&
            child->kind != SWIFT_SIGNATURE)
            continue;
        sym_swift_print(p, child);
        sym_swift_print_text(p, " ");
    }
    if (pattern)
        sym_swift_print_format(p, pattern, "@substituted {0} ");
    sym_swift_print_text(p, "(");
    print_operands(p, node, false);
    sym_swift_print_text(p, ") -> ");
    if (sym_swift_node_find(node, SWIFT_IMPL_SENDING_RESULT))
        sym_swift_print_text(p, "sending ");
    sym_swift_print_text(p, "(");
    print_operands(p, node, true);
    sym_swift_print_text(p, ")");
    print_substitutions(p, sym_swift_node_child(pattern, 1));
    print_substitutions(p, sym_swift_node_child(invocation, 0));
}

void
sym_swift_print_type_mangling(struct sym_swift_printer *p, const struct sym_swift_node *node)
{
    const struct sym_swift_node *labels = sym_swift_node_find(node, SWIFT_LABELS);
    /* A type with labels is one of a declaration (for the debugger): printed as a function. */
    if (labels)
        sym_swift_print_function(p, labels, sym_swift_node_child(node, 1));
    else
        sym_swift_print(p, sym_swift_node_child(node, 0));
}
