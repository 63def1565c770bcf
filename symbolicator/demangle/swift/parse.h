/*
 * The parser of Swift's mangling since version 4, private to the demangler.
 *
 * A name is a list of operators in postfix order: identifiers and types are pushed on a stack, an
 * operator pops what it is about and pushes what that makes. swift_operators.c holds the table of
 * operators; those that are more than "pop these, make a node of that kind" have a function here.
 * The grammar is Swift's docs/ABI/Mangling.rst.
 *
 * Every function returns NULL when the name is malformed, or too large for its arena.
 */
#ifndef SYM_DEMANGLE_SWIFT_PARSE_H
#define SYM_DEMANGLE_SWIFT_PARSE_H

#include "symbolicator/demangle/swift/node.h"

enum { SWIFT_WORDS_MAX = 26, SWIFT_REPEAT_MAX = 2048 };

struct swift_nodes {
    struct swift_node **items;
    size_t n, room;
};

struct swift_parser {
    struct fz_span text;
    size_t pos;
    struct fz_arena *arena;
    struct swift_nodes stack;
    struct swift_nodes substitutions;
    struct fz_span words[SWIFT_WORDS_MAX];
    size_t n_words;
    bool labels_in_types;
    /* For the old mangling only. */
    unsigned depth;    /* of recursion */
    bool cuts_numbers; /* numbers too large stand for many, where others fail */
    const struct swift_old_readers *old;
};

/* What the prefix of a name says about the rest. */
enum swift_flavor {
    SWIFT_CURRENT,
    SWIFT_LABELS_IN_TYPES, /* "_T0", Swift 4.0: argument labels are in the tuple */
    SWIFT_MAIN,            /* "async_Main" stands for what is declared */
};

/* The whole symbol after its prefix as a SWIFT_GLOBAL node. */
struct swift_node *swift_parse(struct fz_span text, enum swift_flavor flavor,
                               struct fz_arena *arena);
/* A name of Swift 1 to 3 ("_T..."), or "_Tt..." of any version. */
struct swift_node *swift_parse_old(struct fz_span text, struct fz_arena *arena);

/* Characters. Past the end there are NULs. */
char swift_peek(const struct swift_parser *p);
char swift_next(struct swift_parser *p);
bool swift_next_if(struct swift_parser *p, char c);
bool swift_next_if_text(struct swift_parser *p, const char *text);
int64_t swift_natural(struct swift_parser *p); /* digits, or -1 */
int64_t swift_index(struct swift_parser *p);   /* "_" = 0, "0_" = 1..., or -1 */

/* The stack. A pop takes the top only if it is what is asked for. */
bool swift_push(struct swift_parser *p, struct swift_node *node);
struct swift_node *swift_pop_any(struct swift_parser *p);
struct swift_node *swift_pop(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_pop_flag(struct swift_parser *p, enum swift_flag flag);
struct swift_node *swift_pop_type(struct swift_parser *p);
struct swift_node *swift_pop_nominal(struct swift_parser *p);
struct swift_node *swift_pop_entity(struct swift_parser *p);
struct swift_node *swift_pop_module(struct swift_parser *p);
struct swift_node *swift_pop_context(struct swift_parser *p);
struct swift_node *swift_pop_protocol(struct swift_parser *p);
struct swift_node *swift_pop_conformance(struct swift_parser *p);
struct swift_node *swift_pop_assoc_name(struct swift_parser *p);
struct swift_node *swift_pop_assoc_path(struct swift_parser *p);
/* Types, or conformances, up to the first-element mark or none at all, as a list of `kind`. */
struct swift_node *swift_pop_list(struct swift_parser *p, enum swift_kind kind,
                                  struct swift_node *(*pop)(struct swift_parser *));
struct swift_node *swift_pop_type_list(struct swift_parser *p);
/* Labels of a function's parameters, or NULL if it has no place for any. */
struct swift_node *swift_pop_labels(struct swift_parser *p, struct swift_node *type);
struct swift_node *swift_pop_function_type(struct swift_parser *p, enum swift_kind kind);

/* Remember `node` as a substitution and return it. */
struct swift_node *swift_remember(struct swift_parser *p, struct swift_node *node);
/* swift_node_with() and so on in the parser's arena. */
struct swift_node *swift_make(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_make1(struct swift_parser *p, enum swift_kind kind, struct swift_node *a);
struct swift_node *swift_make2(struct swift_parser *p, enum swift_kind kind, struct swift_node *a,
                               struct swift_node *b);
struct swift_node *swift_make3(struct swift_parser *p, enum swift_kind kind, struct swift_node *a,
                               struct swift_node *b, struct swift_node *c);
struct swift_node *swift_make_text(struct swift_parser *p, enum swift_kind kind, const char *text);
struct swift_node *swift_swift_type(struct fz_arena *arena, enum swift_kind kind, const char *name);
struct swift_node *swift_generic_param(struct fz_arena *arena, int64_t depth, int64_t index);
struct swift_node *swift_number(struct swift_parser *p); /* an index as a node */
struct swift_node *swift_clang_type(struct swift_parser *p);

/* The generic arguments on the stack, one list for each level of nesting, innermost first, and
 * conformances, if any. */
struct swift_arguments {
    struct swift_nodes lists;
    struct swift_node *conformances;
};
bool swift_pop_arguments(struct swift_parser *p, struct swift_arguments *ret);
bool swift_nodes_add(struct fz_arena *arena, struct swift_nodes *nodes, struct swift_node *node);

/* Operators, called behind their letters with the kind that the table names for them. */
typedef struct swift_node *(*swift_operator_fn)(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_identifier(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_operator_name(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_local_name(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_substitutions(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_standard(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_suffix(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_builtin(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_nominal(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_extension(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_bound_generic(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_tuple(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_pack(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_type_mangling(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_pack_element(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_function_type(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_c_function_type(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_differentiable(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_metatype(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_protocols(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_protocols_class(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_existential(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_box(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_anonymous(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_integer(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_impl_function(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_opaque_type(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_opaque_result(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_assoc_simple(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_assoc_compound(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_assoc_ref(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_param(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_signature(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_requirement(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_function(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_entity(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_storage(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_constructor(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_closure(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_default_argument(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_macro(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_concrete_conformance(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_dependent_conformance(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_conformance_list(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_retroactive(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_resume(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_completion_handler(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_key_path(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_key_path_index(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_outlined_variable(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_outlined_bridged(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_outlined_enum(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_autodiff(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_self_reordering(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_differentiability(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_value_witness(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_field_offset(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_once(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_generic_spec(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_dropped_spec(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_partial_spec(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_op_function_spec(struct swift_parser *p, enum swift_kind kind);

/* What a value witness does, by its two letters; NULL if there is none. */
const char *swift_value_witness_name(const char letters[2]);
/* "a" to "z" to the operator characters that they stand for; NULL if they are none. */
struct swift_node *swift_operator_node(struct fz_arena *arena, struct fz_span letters, char fixity);
/* Swift's variant of Punycode to UTF-8 in the arena; an empty span if it is malformed. */
struct fz_span swift_punycode(struct fz_span text, struct fz_arena *arena);

#endif
