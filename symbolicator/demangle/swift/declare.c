/*
 * The declaration of a Swift symbol, from its tree.
 *
 *   generic specialization <Int> of closure #1 (Int) -> () in static Shop.Cart.add(_: Int) -> ()
 *     static Cart.add(_:)        in module Shop
 *
 * First wrappers are removed from the outside: attributes of the symbol, closures, thunks, default
 * arguments, initial values. What is left is an entity in a chain of contexts. The chain is printed
 * from its outermost type, without module, generic arguments, extensions, types of parameters,
 * private discriminators and local numbers. Where it ends at a function, the entity is local:
 *
 *   Row.height() in Table.draw(at:)      a method of a type that a function declares
 */
#include "symbolicator/demangle/swift/declare.h"

#include "symbolicator/demangle/swift/print.h"

enum { CHAIN_MAX = 64 };

enum role {
    UNKNOWN, /* not part of a declaration */
    WRAPPER, /* counts as its child */
    SKIPPED, /* the same for a context, not worth a word */
    TYPE,
    FUNCTION,
    VARIABLE,
    PLAIN,    /* a function without parameters */
    ACCESSOR, /* of the variable or subscript that is its child */
};

struct rule {
    enum role role;
    uint32_t child;
    const char *name; /* instead of its own, or the accessor's; of a wrapper the words for it */
};

/* An initializer has two symbols in a class, and deinitializers up to three: each is one in the
 * source. Compilers choose among the two forms of coroutines, and call addressors and one-time
 * functions for globals, which are initialised where they are declared. */
static const struct rule rules[SWIFT_N_KINDS] = {
    [SWIFT_CLASS] = {TYPE, 0, NULL},
    [SWIFT_STRUCT] = {TYPE, 0, NULL},
    [SWIFT_ENUM] = {TYPE, 0, NULL},
    [SWIFT_PROTOCOL] = {TYPE, 0, NULL},
    [SWIFT_TYPE_ALIAS] = {TYPE, 0, NULL},
    [SWIFT_OTHER_NOMINAL] = {TYPE, 0, NULL},
    [SWIFT_EXTENSION] = {SKIPPED, 1, NULL},
    [SWIFT_ANONYMOUS_CONTEXT] = {SKIPPED, 1, NULL},
    [SWIFT_BOUND_GENERIC] = {SKIPPED, 0, NULL},
    [SWIFT_GENERIC_TYPE] = {SKIPPED, 1, NULL},
    [SWIFT_BOUND_FUNCTION] = {SKIPPED, 0, NULL},
    [SWIFT_FUNCTION] = {FUNCTION, 0, NULL},
    [SWIFT_MACRO] = {FUNCTION, 0, NULL},
    [SWIFT_SUBSCRIPT] = {FUNCTION, 0, "subscript"},
    [SWIFT_ALLOCATOR] = {FUNCTION, 0, "init"},
    [SWIFT_CONSTRUCTOR] = {FUNCTION, 0, "init"},
    [SWIFT_VARIABLE] = {VARIABLE, 0, NULL},
    [SWIFT_MACRO_UNIQUE_NAME] = {VARIABLE, 0, NULL},
    [SWIFT_ATTACHED_MACRO] = {VARIABLE, 0, NULL},
    [SWIFT_DEALLOCATOR] = {PLAIN, 0, "deinit"},
    [SWIFT_ISOLATED_DEALLOCATOR] = {PLAIN, 0, "deinit"},
    [SWIFT_DESTRUCTOR] = {PLAIN, 0, "deinit"},
    [SWIFT_IVAR_DESTROYER] = {PLAIN, 0, "deinit"},
    [SWIFT_IVAR_INITIALIZER] = {PLAIN, 0, "__ivar_initializer"},
    [SWIFT_GETTER] = {ACCESSOR, 0, "getter"},
    [SWIFT_GLOBAL_GETTER] = {ACCESSOR, 0, "getter"},
    [SWIFT_SETTER] = {ACCESSOR, 0, "setter"},
    [SWIFT_WILL_SET] = {ACCESSOR, 0, "willset"},
    [SWIFT_DID_SET] = {ACCESSOR, 0, "didset"},
    [SWIFT_READ] = {ACCESSOR, 0, "read"},
    [SWIFT_READ2] = {ACCESSOR, 0, "read"},
    [SWIFT_MODIFY] = {ACCESSOR, 0, "modify"},
    [SWIFT_MODIFY2] = {ACCESSOR, 0, "modify"},
    [SWIFT_MATERIALIZE_FOR_SET] = {ACCESSOR, 0, "modify"},
    [SWIFT_BORROW] = {ACCESSOR, 0, "borrow"},
    [SWIFT_MUTATE] = {ACCESSOR, 0, "mutate"},
    [SWIFT_INIT_ACCESSOR] = {ACCESSOR, 0, "init"},
    [SWIFT_OWNING_ADDRESSOR] = {ACCESSOR, 0, NULL},
    [SWIFT_OWNING_MUTABLE_ADDRESSOR] = {ACCESSOR, 0, NULL},
    [SWIFT_NATIVE_OWNING_ADDRESSOR] = {ACCESSOR, 0, NULL},
    [SWIFT_NATIVE_OWNING_MUTABLE_ADDRESSOR] = {ACCESSOR, 0, NULL},
    [SWIFT_NATIVE_PINNING_ADDRESSOR] = {ACCESSOR, 0, NULL},
    [SWIFT_NATIVE_PINNING_MUTABLE_ADDRESSOR] = {ACCESSOR, 0, NULL},
    [SWIFT_UNSAFE_ADDRESSOR] = {ACCESSOR, 0, NULL},
    [SWIFT_UNSAFE_MUTABLE_ADDRESSOR] = {ACCESSOR, 0, NULL},
    [SWIFT_EXPLICIT_CLOSURE] = {WRAPPER, 0, NULL},
    [SWIFT_IMPLICIT_CLOSURE] = {WRAPPER, 0, NULL},
    [SWIFT_DEFAULT_ARGUMENT] = {WRAPPER, 0, NULL},
    [SWIFT_INITIALIZER] = {WRAPPER, 0, NULL},
    [SWIFT_WRAPPER_BACKING_INITIALIZER] = {WRAPPER, 0, NULL},
    [SWIFT_WRAPPER_PROJECTED_INITIALIZER] = {WRAPPER, 0, NULL},
    [SWIFT_WRAPPED_FIELD_INIT_ACCESSOR] = {WRAPPER, 0, NULL},
    [SWIFT_FREESTANDING_MACRO] = {WRAPPER, 0, NULL},
    [SWIFT_MACRO_LOCATION] = {WRAPPER, 0, NULL},
    [SWIFT_CURRY_THUNK] = {WRAPPER, 0, NULL},
    [SWIFT_DISPATCH_THUNK] = {WRAPPER, 0, NULL},
    [SWIFT_IDENTITY_THUNK] = {WRAPPER, 0, NULL},
    [SWIFT_MAIN_ACTOR_THUNK] = {WRAPPER, 0, NULL},
    [SWIFT_METHOD_DESCRIPTOR] = {WRAPPER, 0, NULL},
    [SWIFT_SELF_CONFORMANCE_WITNESS] = {WRAPPER, 0, NULL},
    [SWIFT_PROTOCOL_WITNESS] = {WRAPPER, 0, NULL},
    [SWIFT_VTABLE_THUNK] = {WRAPPER, 1, NULL}, /* of the override, which it calls */
    [SWIFT_KEY_PATH_GETTER] = {WRAPPER, 0, NULL},
    [SWIFT_KEY_PATH_SETTER] = {WRAPPER, 0, NULL},
    [SWIFT_KEY_PATH_UNAPPLIED] = {WRAPPER, 0, NULL},
    [SWIFT_KEY_PATH_APPLIED] = {WRAPPER, 0, NULL},
    [SWIFT_AUTODIFF_FUNCTION] = {WRAPPER, 0, "derivative of"},
    [SWIFT_AUTODIFF_VTABLE_THUNK] = {WRAPPER, 0, "vtable thunk for derivative of"},
    [SWIFT_ENUM_CASE] = {WRAPPER, 0, NULL},
    [SWIFT_ONCE_FUNCTION] = {VARIABLE, 1, NULL},
};

struct walk {
    struct sym_declared *to;
    sym_swift_parse_name_fn *parse;
    struct fz_arena *arena;
    bool noting;    /* what is removed is worth words: only around the declaration itself */
    bool is_static; /* the entity that comes next */
    bool has_module;
    size_t n_wrappers;
    const struct sym_swift_node *conforming; /* takes the place of the protocol of a requirement */
};

static struct rule
rule_of(const struct sym_swift_node *node)
{
    return node ? rules[node->kind] : (struct rule){UNKNOWN, 0, NULL};
}

static void
note_wrapper(struct walk *w, const struct sym_swift_node *node)
{
    const struct sym_swift_kind_info *info = &sym_swift_kinds()[node->kind];
    const struct sym_swift_entity *entity = &info->entity;
    if (!w->noting)
        return;
    if (rules[node->kind].name) {
        sym_declared_note(w->to, rules[node->kind].name);
    } else if (entity->extra) {
        sym_declared_note(w->to, entity->extra);
        const struct sym_swift_node *number =
            entity->number_child ? sym_swift_node_child(node, (uint32_t)entity->number_child)
                                 : NULL;
        bool spaced = entity->extra[strlen(entity->extra) - 1] == ' '; /* "default argument 0" */
        if (number)
            fz_buffer_printf(&w->to->removed, spaced ? " %lld" : "%lld",
                             (long long)number->index + entity->number_from);
        sym_declared_note(w->to, entity->of ? "of" : "in");
    } else if (info->before) {
        sym_declared_note(w->to, info->before);
        if (info->flags & SWIFT_F_ATTRIBUTE && info->print == sym_swift_print_specialization)
            sym_declared_note(w->to, "of");
    } else if (info->format && info->format[0] == '(') {
        /* "({0}) await resume partial function for ": the number changes with each edit. */
        sym_declared_note(w->to, strchr(info->format, ' ') + 1);
    }
}

/* The part of the symbol that its attributes are about; NULL if they leave nothing of the source. */
static const struct sym_swift_node *
without_attributes(struct walk *w, const struct sym_swift_node *symbol)
{
    for (uint32_t i = 0; i < symbol->n_children; i++) {
        const struct sym_swift_node *child = symbol->children[i];
        bool is_partial_apply =
            child->kind == SWIFT_PARTIAL_APPLY || child->kind == SWIFT_PARTIAL_APPLY_OBJC;
        if (!sym_swift_is(child, SWIFT_F_ATTRIBUTE))
            return child;
        /* The first is a question about a symbol, the second shared by all who call the method. */
        if (child->kind == SWIFT_HAS_SYMBOL || child->kind == SWIFT_OUTLINED_BRIDGED)
            return NULL;
        note_wrapper(w, child);
        if (is_partial_apply && w->noting && child->n_children > 0)
            sym_declared_note(w->to, "for");
        w->n_wrappers++;
        /* What follows a partial application is its child. */
        if (is_partial_apply && child->n_children > 0) {
            symbol = child;
            i = UINT32_MAX;
        }
    }
    return NULL;
}

/* The name within local, private and related names; NULL if there is none. */
static const struct sym_swift_node *
plain_name(const struct sym_swift_node *name)
{
    while (name && (name->kind == SWIFT_LOCAL_NAME || name->kind == SWIFT_PRIVATE_NAME ||
                    name->kind == SWIFT_RELATED_NAME))
        name = sym_swift_node_child(name, 0);
    return name;
}

static bool
is_defer(const struct sym_swift_node *node)
{
    const struct sym_swift_node *name =
        node->kind == SWIFT_FUNCTION ? plain_name(sym_swift_node_child(node, 1)) : NULL;
    return name && name->kind == SWIFT_IDENTIFIER && fz_span_is(name->text, "$defer");
}

static void
set_module(struct walk *w, struct fz_span module)
{
    /* The first one counts: an extension's code is in its own module. What C declares is in none. */
    if (w->has_module)
        return;
    w->has_module = true;
    if (!fz_span_is(module, "__C") && !fz_span_is(module, "__C_Synthesized"))
        fz_buffer_append(&w->to->module, module.data, module.len);
}

static const struct sym_swift_node *
nominal_of(const struct sym_swift_node *type)
{
    while (type && rule_of(type).role == SKIPPED)
        type = sym_swift_node_child(type, rule_of(type).child);
    return rule_of(type).role == TYPE ? type : NULL;
}

/* The thunk through which a protocol's requirement calls the method of a type: the method. */
static void
enter_witness(struct walk *w, const struct sym_swift_node *witness)
{
    const struct sym_swift_node *conformance = sym_swift_node_child(witness, 1);
    const struct sym_swift_node *module = NULL;
    if (!conformance || conformance->kind != SWIFT_CONFORMANCE)
        return;
    const struct sym_swift_node *type = nominal_of(sym_swift_node_child(conformance, 0));
    if (type && type->kind != SWIFT_PROTOCOL) {
        w->conforming = type;
        module = sym_swift_node_child(conformance, 2);
    }
    if (module && module->kind == SWIFT_MODULE)
        set_module(w, module->text);
}

static void
enter_extension(struct walk *w, const struct sym_swift_node *extension)
{
    const struct sym_swift_node *module = sym_swift_node_child(extension, 0);
    if (module && module->kind == SWIFT_MODULE)
        set_module(w, module->text);
}

/* The entity that `node` wraps; NULL if it wraps none. */
static const struct sym_swift_node *
unwrap(struct walk *w, const struct sym_swift_node *node)
{
    w->is_static = false;
    while (node) {
        enum role role = rule_of(node).role;
        if (node->kind == SWIFT_GLOBAL) {
            node = without_attributes(w, node);
            continue;
        }
        if (node->kind == SWIFT_STATIC) {
            w->is_static = true;
            node = sym_swift_node_child(node, 0);
            continue;
        }
        bool defers = is_defer(node);
        if (role != WRAPPER && role != SKIPPED && !defers)
            return node;
        if (defers && w->noting)
            sym_declared_note(w->to, "defer in");
        else if (role == WRAPPER)
            note_wrapper(w, node);
        if (node->kind == SWIFT_PROTOCOL_WITNESS)
            enter_witness(w, node);
        if (node->kind == SWIFT_EXTENSION)
            enter_extension(w, node);
        w->n_wrappers += role != SKIPPED;
        node = sym_swift_node_child(node, rule_of(node).child);
    }
    return NULL;
}

/* What a macro makes has a mangled name as its identifier, in which there are lines of the source:
 * the name that the macro gave it. */
static const struct sym_swift_node *
macro_name(const struct walk *w, const struct sym_swift_node *name)
{
    if (!fz_span_begins(name->text, "$s"))
        return name;
    const struct sym_swift_node *unique = sym_swift_node_child(w->parse(name->text, w->arena), 0);
    const struct sym_swift_node *inner = unique && unique->kind == SWIFT_MACRO_UNIQUE_NAME
                                             ? plain_name(sym_swift_node_child(unique, 1))
                                             : NULL;
    return inner ? inner : name;
}

static void
put_name(struct walk *w, const struct sym_swift_node *name)
{
    struct fz_buffer *out = &w->to->name;
    name = plain_name(name);
    if (!name)
        return;
    name = macro_name(w, name);
    fz_buffer_append(out, name->text.data, name->text.len);
    if (name->kind != SWIFT_IDENTIFIER && sym_swift_is(name, SWIFT_F_DECL_NAME))
        fz_buffer_text(out, sym_swift_kinds()[name->kind].after); /* " infix" */
}

static const struct sym_swift_node *
parameters_of(const struct sym_swift_node *entity)
{
    const struct sym_swift_node *type = NULL;
    /* Child 0 is the context, which can be a type too. */
    for (uint32_t i = 1; i < entity->n_children && !type; i++)
        type = entity->children[i]->is_type ? entity->children[i] : NULL;
    while (type && type->kind == SWIFT_GENERIC_TYPE)
        type = sym_swift_node_child(type, 1);
    if (!type || !sym_swift_is(type, SWIFT_F_FUNCTION_TYPE) || type->n_children < 2)
        return NULL;
    return type->children[type->n_children - 2];
}

/* "(x:_:)": names, and so the number of parameters, not their types. */
static void
put_labels(struct walk *w, const struct sym_swift_node *entity)
{
    struct fz_buffer *out = &w->to->name;
    const struct sym_swift_node *labels = sym_swift_node_find(entity, SWIFT_LABELS);
    const struct sym_swift_node *parameters = parameters_of(entity);
    if (!parameters)
        return;
    /* A single parameter without a label is mangled without a tuple around it. */
    bool is_tuple = parameters->kind == SWIFT_TUPLE;
    uint32_t n = is_tuple ? parameters->n_children : 1;
    fz_buffer_char(out, '(');
    for (uint32_t i = 0; i < n && !out->failed; i++) {
        const struct sym_swift_node *label = sym_swift_node_child(labels, i);
        struct fz_span text = label ? label->text : (struct fz_span){NULL, 0};
        /* Names of Swift 3 and before have the labels in the tuple. */
        if (!label && is_tuple)
            text = parameters->children[i]->text;
        if (text.len > 0)
            fz_buffer_append(out, text.data, text.len);
        else
            fz_buffer_char(out, '_');
        fz_buffer_char(out, ':');
    }
    fz_buffer_char(out, ')');
}

/* The types around an entity, innermost first, and where the chain ends at a function: that
 * context. */
struct chain {
    const struct sym_swift_node *types[CHAIN_MAX];
    size_t n;
    const struct sym_swift_node *function;
};

static bool
follow_contexts(struct walk *w, const struct sym_swift_node *context, struct chain *ret)
{
    ret->n = 0;
    ret->function = NULL;
    while (context) {
        enum role role = rule_of(context).role;
        if (context->kind == SWIFT_MODULE) {
            set_module(w, context->text);
            return true;
        }
        if (context->kind == SWIFT_EXTENSION)
            enter_extension(w, context);
        if (sym_swift_is(context, SWIFT_F_EXPANSION))
            role = SKIPPED; /* what a macro makes belongs where the macro is used */
        if (context->kind == SWIFT_PROTOCOL && w->conforming) {
            context = w->conforming;
            w->conforming = NULL;
            continue;
        }
        if (role == UNKNOWN && context->kind != SWIFT_STATIC && context->kind != SWIFT_GLOBAL)
            return false;
        if (role == TYPE) {
            if (ret->n == CHAIN_MAX)
                return false;
            ret->types[ret->n++] = context;
        } else if (role != SKIPPED) {
            ret->function = context;
            return true;
        }
        context = sym_swift_node_child(context, rule_of(context).child);
    }
    return false;
}

/* One entity with the types around it; `ret_function` is the function that it is local to. */
static bool
put_entity(struct walk *w, const struct sym_swift_node *node,
           const struct sym_swift_node **ret_function)
{
    struct fz_buffer *out = &w->to->name;
    struct rule rule = rule_of(node);
    const char *accessor = NULL;
    struct chain chain;
    if (rule.role == ACCESSOR) {
        accessor = rule.name; /* an addressor has none: it is the variable itself */
        node = sym_swift_node_child(node, 0);
        rule = rule_of(node);
        if (!node || (node->kind != SWIFT_VARIABLE && node->kind != SWIFT_SUBSCRIPT))
            return false;
    }
    bool is_once = node->kind == SWIFT_ONCE_FUNCTION;
    if (rule.role == UNKNOWN || !follow_contexts(w, sym_swift_node_child(node, rule.child), &chain))
        return false;
    /* The names of addressors and one-time functions do not say whether a variable is static. */
    if (w->is_static && (rule.role != VARIABLE || accessor))
        fz_buffer_text(out, "static ");
    while (chain.n > 0) {
        put_name(w, sym_swift_node_child(chain.types[--chain.n], 1));
        fz_buffer_char(out, '.');
    }
    if (rule.name)
        fz_buffer_text(out, rule.name);
    else if (is_once) /* of several in one pattern the first: let (a, b) = f() */
        put_name(w, sym_swift_node_child(sym_swift_node_child(node, 0), 0));
    else
        put_name(w, sym_swift_node_child(node, 1));
    if (rule.role == FUNCTION)
        put_labels(w, node);
    if (accessor) {
        fz_buffer_char(out, '.');
        fz_buffer_text(out, accessor);
    }
    *ret_function = chain.function;
    return !out->failed;
}

bool
sym_swift_declare(const struct sym_swift_node *symbol, sym_swift_parse_name_fn *parse,
                  struct fz_arena *arena, struct sym_declared *to)
{
    struct walk w = {.to = to, .parse = parse, .arena = arena, .noting = true};
    const struct sym_swift_node *node = unwrap(&w, symbol);
    /* A type or a module alone is data, but a closure in one is an initial value, or top-level code;
     * the parts of an async main function have that name. */
    bool is_entity = rule_of(node).role > TYPE || (node && node->kind == SWIFT_ASYNC_MAIN);
    if (!node || (!is_entity && w.n_wrappers == 0))
        return false;
    if (node->kind == SWIFT_ONCE_FUNCTION)
        sym_declared_note(to, "one-time initialization of");
    else if (rule_of(node).role == ACCESSOR && !rule_of(node).name)
        sym_declared_note(to, "addressor of");
    w.noting = false;
    if (node->kind == SWIFT_MODULE || node->kind == SWIFT_ASYNC_MAIN) {
        set_module(&w, node->text);
        fz_buffer_text(&to->name, "main");
        return !to->name.failed;
    }
    for (;;) {
        const struct sym_swift_node *function = NULL;
        if (!put_entity(&w, node, &function))
            return false;
        if (!function)
            return true;
        node = unwrap(&w, function);
        if (!node)
            return false;
        if (node->kind == SWIFT_MODULE) { /* local to a closure of top-level code */
            set_module(&w, node->text);
            return true;
        }
        fz_buffer_text(&to->name, " in ");
    }
}
