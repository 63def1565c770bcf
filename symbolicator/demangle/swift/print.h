/*
 * Swift's tree of nodes to text, private to the demangler.
 *
 * Most kinds are a text in front of their children, which swift_kinds.c tells in one table; the
 * others have a function. The texts are those of Swift's own demangler.
 */
#ifndef SYM_DEMANGLE_SWIFT_PRINT_H
#define SYM_DEMANGLE_SWIFT_PRINT_H

#include "base/buffer.h"
#include "symbolicator/demangle/swift/node.h"

struct swift_printer;

struct swift_kind_info {
    const char *before, *between, *after; /* around and between text and children */
    unsigned flags;
    void (*print)(struct swift_printer *p, const struct swift_node *node);
};

/* Print a node, or with `as_prefix` as much of it as can be the prefix of another; what cannot be
 * is returned, to be printed after that. */
typedef const struct swift_node *(*swift_print_fn)(struct swift_printer *p,
                                                   const struct swift_node *node, bool as_prefix);

struct swift_printer {
    /* Printers of kinds print other kinds, and names in a name: through these, which swift.c
     * sets. */
    const struct swift_kind_info *kinds;
    swift_print_fn print_entity; /* kinds with SWIFT_F_ENTITY or SWIFT_F_ACCESSOR */
    bool (*print_symbol)(struct fz_span name, struct swift_printer *p); /* false: it is no name */
    struct fz_buffer *out;
    struct fz_arena *arena; /* for names inside names */
    bool simplified;
    bool sugar;       /* [T] for Array<T> and so on */
    bool show_where;  /* requirements of generic signatures */
    bool specialized; /* "specialized" was printed */
    bool failed;      /* not printable, or too much */
    unsigned depth;
    unsigned nested; /* names inside names */
    size_t *steps;   /* nodes that may still be printed */
};

/* By enum swift_kind. */
const struct swift_kind_info *swift_kinds(void);

/* Print a node. NULL makes the whole text fail. */
void swift_print(struct swift_printer *p, const struct swift_node *node);
/* Print a node as the prefix of another; what cannot be is returned, to be printed behind. */
const struct swift_node *swift_print_prefix(struct swift_printer *p, const struct swift_node *node);
void swift_print_children(struct swift_printer *p, const struct swift_node *node, uint32_t from,
                          uint32_t to, const char *separator);
void swift_print_text(struct swift_printer *p, const char *text);
void swift_print_span(struct swift_printer *p, struct fz_span text);
void swift_print_number(struct swift_printer *p, int64_t number);
void swift_print_function(struct swift_printer *p, const struct swift_node *labels,
                          const struct swift_node *type);
bool swift_needs_space(const struct swift_node *type);
/* swift_is() from inside a printer. */
bool swift_print_is(const struct swift_printer *p, const struct swift_node *node,
                    enum swift_flag flag);
/* The text that comes before nodes of its kind. */
void swift_print_before(struct swift_printer *p, const struct swift_node *node);
const struct swift_node *swift_print_entity(struct swift_printer *p, const struct swift_node *node,
                                            bool as_prefix);

/* Printers of kinds. */
void swift_print_local_name(struct swift_printer *p, const struct swift_node *node);
void swift_print_private_name(struct swift_printer *p, const struct swift_node *node);
void swift_print_module(struct swift_printer *p, const struct swift_node *node);
void swift_print_index(struct swift_printer *p, const struct swift_node *node);
void swift_print_suffix(struct swift_printer *p, const struct swift_node *node);
void swift_print_type_mangling(struct swift_printer *p, const struct swift_node *node);
void swift_print_extension(struct swift_printer *p, const struct swift_node *node);
void swift_print_anonymous(struct swift_printer *p, const struct swift_node *node);
void swift_print_bound_generic(struct swift_printer *p, const struct swift_node *node);
void swift_print_tuple_element(struct swift_printer *p, const struct swift_node *node);
void swift_print_pack_element(struct swift_printer *p, const struct swift_node *node);
void swift_print_function_type(struct swift_printer *p, const struct swift_node *node);
void swift_print_metatype(struct swift_printer *p, const struct swift_node *node);
void swift_print_protocols(struct swift_printer *p, const struct swift_node *node);
void swift_print_protocols_class(struct swift_printer *p, const struct swift_node *node);
void swift_print_protocols_object(struct swift_printer *p, const struct swift_node *node);
void swift_print_shape(struct swift_printer *p, const struct swift_node *node);
void swift_print_optional(struct swift_printer *p, const struct swift_node *node);
void swift_print_box(struct swift_printer *p, const struct swift_node *node);
void swift_print_param(struct swift_printer *p, const struct swift_node *node);
void swift_print_generic_type(struct swift_printer *p, const struct swift_node *node);
void swift_print_signature(struct swift_printer *p, const struct swift_node *node);
void swift_print_inverse(struct swift_printer *p, const struct swift_node *node);
void swift_print_layout(struct swift_printer *p, const struct swift_node *node);
void swift_print_impl_function(struct swift_printer *p, const struct swift_node *node);
void swift_print_impl_convention(struct swift_printer *p, const struct swift_node *node);
void swift_print_conformance(struct swift_printer *p, const struct swift_node *node);
void swift_print_concrete(struct swift_printer *p, const struct swift_node *node);
void swift_print_conformance_list(struct swift_printer *p, const struct swift_node *node);
void swift_print_dependent(struct swift_printer *p, const struct swift_node *node);
void swift_print_partial_apply(struct swift_printer *p, const struct swift_node *node);
void swift_print_resume(struct swift_printer *p, const struct swift_node *node);
void swift_print_outlined_index(struct swift_printer *p, const struct swift_node *node);
void swift_print_specialization(struct swift_printer *p, const struct swift_node *node);
void swift_print_spec_param(struct swift_printer *p, const struct swift_node *node);
void swift_print_spec_argument(struct swift_printer *p, const struct swift_node *node);
void swift_print_spec_payload(struct swift_printer *p, const struct swift_node *node);
void swift_print_reabstraction(struct swift_printer *p, const struct swift_node *node);
void swift_print_reabstraction_self(struct swift_printer *p, const struct swift_node *node);
void swift_print_completion(struct swift_printer *p, const struct swift_node *node);
void swift_print_key_path(struct swift_printer *p, const struct swift_node *node);
void swift_print_key_path_index(struct swift_printer *p, const struct swift_node *node);
void swift_print_autodiff(struct swift_printer *p, const struct swift_node *node);
void swift_print_self_reordering(struct swift_printer *p, const struct swift_node *node);
void swift_print_subset_thunk(struct swift_printer *p, const struct swift_node *node);
void swift_print_differentiability(struct swift_printer *p, const struct swift_node *node);
void swift_print_index_subset(struct swift_printer *p, const struct swift_node *node);
void swift_print_value_witness(struct swift_printer *p, const struct swift_node *node);
void swift_print_assoc_conformance(struct swift_printer *p, const struct swift_node *node);
void swift_print_assoc_witness(struct swift_printer *p, const struct swift_node *node);
void swift_print_once_list(struct swift_printer *p, const struct swift_node *node);
void swift_print_first(struct swift_printer *p, const struct swift_node *node);
void swift_print_macro_location(struct swift_printer *p, const struct swift_node *node);

#endif
