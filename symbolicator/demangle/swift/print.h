/*
 * Swift's tree of nodes to text, private to the demangler.
 *
 * Most kinds are a text before their children, which is in the list of kinds.h; the others have a
 * function. The texts are those of Swift's own demangler.
 */
#ifndef SYM_DEMANGLE_SWIFT_PRINT_H
#define SYM_DEMANGLE_SWIFT_PRINT_H

#include "base/buffer.h"
#include "symbolicator/demangle/swift/node.h"

struct sym_swift_printer;

/* How the type of an entity is printed. */
enum sym_swift_type_style {
    SWIFT_NO_TYPE,
    SWIFT_COLON,
    SWIFT_SIGNATURE_STYLE,
    SWIFT_CLOSURE_STYLE
};

/* Entities: "<context>.<name>.<extra> <type>", or "<extra> of <name> <type> in <context>" if
 * `extra` has several words. */
struct sym_swift_entity {
    const char *extra;     /* role: "getter", "closure #" */
    const char *overwrite; /* instead of the name */
    enum sym_swift_type_style style;
    int number_child; /* this child's index + `number_from` follows the role; 0 = none */
    int number_from;
    bool has_name; /* child 1 */
    bool of;       /* "of" before the context, not "in" */
};

typedef void sym_swift_print_kind_fn(struct sym_swift_printer *p,
                                     const struct sym_swift_node *node);

struct sym_swift_kind_info {
    const char *before, *between, *after; /* around and between text and children */
    const char *format; /* instead: "{0}" is child 0, "{i}" the index, "{t}" the text */
    unsigned flags;
    sym_swift_print_kind_fn *print;
    struct sym_swift_entity entity; /* for SWIFT_F_ENTITY */
};

/* Print a node, or with `as_prefix` as much of it as can be the prefix of another; the
 * rest is returned, to be printed after that. */
typedef const struct sym_swift_node *(*sym_swift_print_fn)(struct sym_swift_printer *p,
                                                           const struct sym_swift_node *node,
                                                           bool as_prefix);

struct sym_swift_printer {
    /* Set by swift.c: printers of kinds print children of other kinds, and names within names. */
    const struct sym_swift_kind_info *kinds;
    sym_swift_print_fn print_entity; /* kinds with SWIFT_F_ENTITY or SWIFT_F_OF_STORAGE */
    bool (*print_symbol)(struct fz_span name,
                         struct sym_swift_printer *p); /* false if it is not a name */
    struct fz_buffer *out;
    struct fz_arena *arena; /* for names inside names */
    bool simplified;
    bool sugar;       /* [T] for Array<T> and so on */
    bool show_where;  /* requirements of generic signatures */
    bool specialized; /* "specialized" was printed */
    bool failed;      /* not printable, or too large */
    unsigned depth;
    unsigned nested; /* names inside names */
    size_t *steps;   /* nodes that may still be printed */
};

/* By enum sym_swift_kind. */
const struct sym_swift_kind_info *sym_swift_kinds(void);

/* Print a node. NULL makes the whole text fail. */
void sym_swift_print(struct sym_swift_printer *p, const struct sym_swift_node *node);
/* Print a node as the prefix of another; the rest is returned, to be printed after it. */
const struct sym_swift_node *sym_swift_print_prefix(struct sym_swift_printer *p,
                                                    const struct sym_swift_node *node);
void sym_swift_print_children(struct sym_swift_printer *p, const struct sym_swift_node *node,
                              uint32_t from, uint32_t to, const char *separator);
void sym_swift_print_text(struct sym_swift_printer *p, const char *text);
void sym_swift_print_span(struct sym_swift_printer *p, struct fz_span text);
void sym_swift_print_number(struct sym_swift_printer *p, int64_t number);
void sym_swift_print_function(struct sym_swift_printer *p, const struct sym_swift_node *labels,
                              const struct sym_swift_node *type);
bool sym_swift_needs_space(const struct sym_swift_node *type);
/* sym_swift_is() from inside a printer. */
bool sym_swift_print_is(const struct sym_swift_printer *p, const struct sym_swift_node *node,
                        enum sym_swift_flag flag);
/* Print `format`, as in sym_swift_kind_info. A missing child makes the whole text fail. */
void sym_swift_print_format(struct sym_swift_printer *p, const struct sym_swift_node *node,
                            const char *format);
/* The text that comes before nodes of its kind. */
void sym_swift_print_before(struct sym_swift_printer *p, const struct sym_swift_node *node);
const struct sym_swift_node *sym_swift_print_entity(struct sym_swift_printer *p,
                                                    const struct sym_swift_node *node,
                                                    bool as_prefix);

/* Printers of kinds. */
sym_swift_print_kind_fn sym_swift_print_local_name, sym_swift_print_private_name,
    sym_swift_print_module, sym_swift_print_suffix, sym_swift_print_type_mangling,
    sym_swift_print_extension, sym_swift_print_anonymous, sym_swift_print_bound_generic,
    sym_swift_print_tuple_element, sym_swift_print_function_type, sym_swift_print_metatype,
    sym_swift_print_protocols, sym_swift_print_protocols_class, sym_swift_print_protocols_object,
    sym_swift_print_shape, sym_swift_print_optional, sym_swift_print_box, sym_swift_print_param,
    sym_swift_print_generic_type, sym_swift_print_signature, sym_swift_print_inverse,
    sym_swift_print_layout, sym_swift_print_impl_function, sym_swift_print_impl_convention,
    sym_swift_print_conformance, sym_swift_print_concrete, sym_swift_print_conformance_list,
    sym_swift_print_dependent, sym_swift_print_partial_apply, sym_swift_print_specialization,
    sym_swift_print_spec_param, sym_swift_print_spec_argument, sym_swift_print_spec_payload,
    sym_swift_print_reabstraction, sym_swift_print_reabstraction_self, sym_swift_print_completion,
    sym_swift_print_key_path, sym_swift_print_key_path_index, sym_swift_print_autodiff,
    sym_swift_print_self_reordering, sym_swift_print_subset_thunk,
    sym_swift_print_differentiability, sym_swift_print_index_subset, sym_swift_print_value_witness,
    sym_swift_print_once_list;

#endif
