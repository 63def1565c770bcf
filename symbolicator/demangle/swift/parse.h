/*
 * The parser of Swift's mangling since version 4, private to the demangler.
 *
 * A name is a list of operators in postfix order: identifiers and types are pushed on a stack, an
 * operator pops its operands and pushes its result. operators.c has the table of operators; those
 * that do more than "pop these, make a node of that kind" have a function here.
 * The grammar is Swift's docs/ABI/Mangling.rst.
 *
 * Every function returns NULL when the name is malformed, or too large for its arena.
 */
#ifndef SYM_DEMANGLE_SWIFT_PARSE_H
#define SYM_DEMANGLE_SWIFT_PARSE_H

#include "symbolicator/demangle/swift/node.h"

enum { SWIFT_WORDS_MAX = 26, SWIFT_REPEAT_MAX = 2048 };

struct sym_swift_nodes {
    struct sym_swift_node **items;
    size_t n, room;
};

struct sym_swift_parser {
    struct fz_span text;
    size_t pos;
    struct fz_arena *arena;
    struct sym_swift_nodes stack;
    struct sym_swift_nodes substitutions;
    struct fz_span words[SWIFT_WORDS_MAX];
    size_t n_words;
    bool labels_in_types;
    /* For the old mangling only. */
    unsigned depth;    /* of recursion */
    bool cuts_numbers; /* numbers that are too large become INT32_MAX, not a failure */
    const struct sym_swift_old_readers *old;
};

/* What the prefix of a name says about the rest. */
enum sym_swift_flavor {
    SWIFT_CURRENT,
    SWIFT_LABELS_IN_TYPES, /* "_T0", Swift 4.0: argument labels are in the tuple */
    SWIFT_MAIN,            /* "async_Main" is the declaration itself */
};

/* The whole symbol after its prefix as a SWIFT_GLOBAL node. */
struct sym_swift_node *sym_swift_parse(struct fz_span text, enum sym_swift_flavor flavor,
                                       struct fz_arena *arena);
/* A name of Swift 1 to 3 ("_T..."), or "_Tt..." of any version. */
struct sym_swift_node *sym_swift_parse_old(struct fz_span text, struct fz_arena *arena);

/* Characters; NULs after the end. */
char sym_swift_peek(const struct sym_swift_parser *p);
char sym_swift_next(struct sym_swift_parser *p);
bool sym_swift_next_if(struct sym_swift_parser *p, char c);
bool sym_swift_next_if_text(struct sym_swift_parser *p, const char *text);
int64_t sym_swift_natural(struct sym_swift_parser *p); /* digits, or -1 */
int64_t sym_swift_index(struct sym_swift_parser *p);   /* "_" = 0, "0_" = 1..., or -1 */

/* What a letter stands for: rows up to one without text, or of kind SWIFT_NONE. */
struct sym_swift_word {
    char letter;
    const char *text;
};
struct sym_swift_choice {
    char letters[3];
    enum sym_swift_kind kind;
};
/* The row whose letters come next, which are consumed; NULL or SWIFT_NONE, and nothing consumed, if
 * there is none. */
const char *sym_swift_next_word(struct sym_swift_parser *p, const struct sym_swift_word *words);
enum sym_swift_kind sym_swift_next_kind(struct sym_swift_parser *p,
                                        const struct sym_swift_choice *choices);

/* The stack. A pop returns NULL, and leaves the top, if it is not of that kind. */
bool sym_swift_push(struct sym_swift_parser *p, struct sym_swift_node *node);
struct sym_swift_node *sym_swift_pop_any(struct sym_swift_parser *p);
struct sym_swift_node *sym_swift_pop(struct sym_swift_parser *p, enum sym_swift_kind kind);
struct sym_swift_node *sym_swift_pop_flag(struct sym_swift_parser *p, enum sym_swift_flag flag);
struct sym_swift_node *sym_swift_pop_type(struct sym_swift_parser *p);
struct sym_swift_node *sym_swift_pop_nominal(struct sym_swift_parser *p);
struct sym_swift_node *sym_swift_pop_entity(struct sym_swift_parser *p);
struct sym_swift_node *sym_swift_pop_module(struct sym_swift_parser *p);
struct sym_swift_node *sym_swift_pop_context(struct sym_swift_parser *p);
struct sym_swift_node *sym_swift_pop_protocol(struct sym_swift_parser *p);
struct sym_swift_node *sym_swift_pop_conformance(struct sym_swift_parser *p);
struct sym_swift_node *sym_swift_pop_assoc_name(struct sym_swift_parser *p);
struct sym_swift_node *sym_swift_pop_assoc_path(struct sym_swift_parser *p);
/* Types or conformances up to the first-element mark, or an empty list, as a node of `kind`. */
struct sym_swift_node *sym_swift_pop_list(struct sym_swift_parser *p, enum sym_swift_kind kind,
                                          struct sym_swift_node *(*pop)(struct sym_swift_parser *));
struct sym_swift_node *sym_swift_pop_type_list(struct sym_swift_parser *p);
/* The labels of a function's parameters, or NULL if it has no parameters. */
struct sym_swift_node *sym_swift_pop_labels(struct sym_swift_parser *p,
                                            struct sym_swift_node *type);
struct sym_swift_node *sym_swift_pop_function_type(struct sym_swift_parser *p,
                                                   enum sym_swift_kind kind);

/* Remember `node` as a substitution and return it. */
struct sym_swift_node *sym_swift_remember(struct sym_swift_parser *p, struct sym_swift_node *node);
struct sym_swift_node *sym_swift_swift_type(struct sym_swift_parser *p, enum sym_swift_kind kind,
                                            const char *name);
struct sym_swift_node *sym_swift_generic_param(struct sym_swift_parser *p, int64_t depth,
                                               int64_t index);
struct sym_swift_node *sym_swift_number(struct sym_swift_parser *p); /* an index as a node */
struct sym_swift_node *sym_swift_clang_type(struct sym_swift_parser *p);

/* The generic arguments on the stack, one list for each level of nesting, innermost first, and
 * conformances if there are any. */
struct sym_swift_arguments {
    struct sym_swift_nodes lists;
    struct sym_swift_node *conformances;
};
bool sym_swift_pop_arguments(struct sym_swift_parser *p, struct sym_swift_arguments *ret);
bool sym_swift_nodes_add(struct sym_swift_parser *p, struct sym_swift_nodes *nodes,
                         struct sym_swift_node *node);

/* Operators, called after their letters with the kind of their row in the table. */
typedef struct sym_swift_node *sym_swift_operator_fn(struct sym_swift_parser *p,
                                                     enum sym_swift_kind kind);
sym_swift_operator_fn sym_swift_op_identifier, sym_swift_op_operator_name, sym_swift_op_local_name,
    sym_swift_op_substitutions, sym_swift_op_standard, sym_swift_op_suffix, sym_swift_op_builtin,
    sym_swift_op_nominal, sym_swift_op_extension, sym_swift_op_bound_generic, sym_swift_op_tuple,
    sym_swift_op_pack, sym_swift_op_type_mangling, sym_swift_op_pack_element,
    sym_swift_op_function_type, sym_swift_op_c_function_type, sym_swift_op_differentiable,
    sym_swift_op_metatype, sym_swift_op_protocols, sym_swift_op_protocols_class,
    sym_swift_op_existential, sym_swift_op_box, sym_swift_op_anonymous, sym_swift_op_integer,
    sym_swift_op_impl_function, sym_swift_op_opaque_type, sym_swift_op_opaque_result,
    sym_swift_op_assoc_simple, sym_swift_op_assoc_compound, sym_swift_op_assoc_ref,
    sym_swift_op_param, sym_swift_op_signature, sym_swift_op_requirement, sym_swift_op_function,
    sym_swift_op_entity, sym_swift_op_storage, sym_swift_op_constructor, sym_swift_op_closure,
    sym_swift_op_default_argument, sym_swift_op_macro, sym_swift_op_concrete_conformance,
    sym_swift_op_dependent_conformance, sym_swift_op_conformance_list, sym_swift_op_retroactive,
    sym_swift_op_resume, sym_swift_op_completion_handler, sym_swift_op_key_path,
    sym_swift_op_key_path_index, sym_swift_op_outlined_variable, sym_swift_op_outlined_bridged,
    sym_swift_op_outlined_enum, sym_swift_op_autodiff, sym_swift_op_self_reordering,
    sym_swift_op_differentiability, sym_swift_op_value_witness, sym_swift_op_field_offset,
    sym_swift_op_once, sym_swift_op_generic_spec, sym_swift_op_dropped_spec,
    sym_swift_op_partial_spec, sym_swift_op_function_spec;

/* The representation of a metatype by its letter, or NULL. */
const char *sym_swift_metatype_word(struct sym_swift_parser *p);
/* The name of a value witness by its two letters, or NULL. */
const char *sym_swift_value_witness_name(const char letters[2]);
/* Decodes "a" to "z" to operator characters; NULL if a letter is not one. */
struct sym_swift_node *sym_swift_operator_node(struct sym_swift_parser *p, struct fz_span letters,
                                               char fixity);
/* Swift's variant of Punycode to UTF-8 in the arena; an empty span if it is malformed. */
struct fz_span sym_swift_punycode(struct fz_span text, struct fz_arena *arena);

#endif
