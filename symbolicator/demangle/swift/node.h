/*
 * The tree of a mangled Swift name: the kinds of nodes, and what their children are.
 *
 * Both manglings, the current one (operators.c) and that of Swift 1 to 3 (old.c), build the same
 * tree; print.c turns it into text. Nodes are in an arena. A substitution makes a node the child of
 * several others, so a tree is an acyclic graph that can be exponentially larger as text: every
 * walk has a limit.
 */
#ifndef SYM_DEMANGLE_SWIFT_NODE_H
#define SYM_DEMANGLE_SWIFT_NODE_H

#include "base/arena.h"
#include "symbolicator/demangle/swift/kinds.h"

enum sym_swift_kind {
#define KIND(name, ...) SWIFT_##name,
    SWIFT_KINDS(KIND)
#undef KIND
        SWIFT_N_KINDS
};

/* How an argument was specialized; from 1 << 6, flags that can be combined. */
enum sym_swift_spec {
    SWIFT_SPEC_FUNCTION,
    SWIFT_SPEC_GLOBAL,
    SWIFT_SPEC_INTEGER,
    SWIFT_SPEC_FLOAT,
    SWIFT_SPEC_STRING,
    SWIFT_SPEC_CLOSURE,
    SWIFT_SPEC_BOX_TO_VALUE,
    SWIFT_SPEC_BOX_TO_STACK,
    SWIFT_SPEC_INOUT_TO_OUT,
    SWIFT_SPEC_KEY_PATH,
    SWIFT_SPEC_STRUCT,
    SWIFT_SPEC_SAME_AS,
    SWIFT_SPEC_ESCAPING_CLOSURE,
    SWIFT_N_SPECS,
    SWIFT_SPEC_DEAD = 1 << 6,
    SWIFT_SPEC_OWNED_TO_GUARANTEED = 1 << 7,
    SWIFT_SPEC_EXPLODED = 1 << 8,
    SWIFT_SPEC_GUARANTEED_TO_OWNED = 1 << 9,
    SWIFT_SPEC_EXISTENTIAL_TO_GENERIC = 1 << 10,
};

struct sym_swift_node {
    enum sym_swift_kind kind;
    bool is_type; /* the grammar has a type here */
    uint32_t n_children;
    uint32_t depth; /* of a generic parameter */
    size_t room;    /* of children */
    int64_t index;
    struct fz_span text;
    struct sym_swift_node **children;
};

/* The roles of a kind. */
enum sym_swift_flag {
    SWIFT_F_CONTEXT = 1,       /* can contain declarations */
    SWIFT_F_DECL_NAME = 2,     /* names a declaration */
    SWIFT_F_NOMINAL = 4,       /* can take generic arguments */
    SWIFT_F_REQUIREMENT = 8,   /* part of a generic signature */
    SWIFT_F_ATTRIBUTE = 16,    /* comes before a whole symbol */
    SWIFT_F_SIMPLE = 32,       /* a type that needs no brackets */
    SWIFT_F_OF_STORAGE = 64,   /* printed as its variable, then its name */
    SWIFT_F_LONG_ONLY = 128,   /* left out of the simplified form */
    SWIFT_F_EXPANSION = 256,   /* of a macro */
    SWIFT_F_CONFORMANCE = 512, /* an element of a conformance list */
    SWIFT_F_DEPENDENT = 1024,  /* a conformance that depends on another */
    SWIFT_F_FUNCTION_TYPE = 2048,
    SWIFT_F_EXISTENTIAL = 4096,
    SWIFT_F_ENTITY = 8192, /* printed with its context */
    SWIFT_F_ACCESSOR = SWIFT_F_CONTEXT | SWIFT_F_OF_STORAGE,
    SWIFT_F_LONG_ATTRIBUTE = SWIFT_F_ATTRIBUTE | SWIFT_F_LONG_ONLY,
    SWIFT_F_DECLARATION = SWIFT_F_CONTEXT | SWIFT_F_ENTITY,
    SWIFT_F_NOMINAL_TYPE = SWIFT_F_DECLARATION | SWIFT_F_NOMINAL | SWIFT_F_SIMPLE,
};

bool sym_swift_is(const struct sym_swift_node *node, enum sym_swift_flag flag);

struct sym_swift_parser; /* has the arena of the nodes */

/* All return NULL when memory is exhausted, and for NULL as a node: a failure passes through a
 * whole expression, so that only its result is checked. */
struct sym_swift_node *sym_swift_make(struct sym_swift_parser *p, enum sym_swift_kind kind);
struct sym_swift_node *sym_swift_make_span(struct sym_swift_parser *p, enum sym_swift_kind kind,
                                           struct fz_span text);
struct sym_swift_node *sym_swift_make_text(struct sym_swift_parser *p, enum sym_swift_kind kind,
                                           const char *text);
struct sym_swift_node *sym_swift_make_index(struct sym_swift_parser *p, enum sym_swift_kind kind,
                                            int64_t index);
struct sym_swift_node *sym_swift_make1(struct sym_swift_parser *p, enum sym_swift_kind kind,
                                       struct sym_swift_node *a);
struct sym_swift_node *sym_swift_make2(struct sym_swift_parser *p, enum sym_swift_kind kind,
                                       struct sym_swift_node *a, struct sym_swift_node *b);
struct sym_swift_node *sym_swift_make3(struct sym_swift_parser *p, enum sym_swift_kind kind,
                                       struct sym_swift_node *a, struct sym_swift_node *b,
                                       struct sym_swift_node *c);

/* Append `child`; returns NULL if it is NULL. */
struct sym_swift_node *sym_swift_add(struct sym_swift_parser *p, struct sym_swift_node *parent,
                                     struct sym_swift_node *child);
/* Append `child` unless it is NULL. */
struct sym_swift_node *sym_swift_add_if(struct sym_swift_parser *p, struct sym_swift_node *parent,
                                        struct sym_swift_node *child);
/* A copy with the same children and another kind. */
struct sym_swift_node *sym_swift_copy_as(struct sym_swift_parser *p,
                                         const struct sym_swift_node *node,
                                         enum sym_swift_kind kind);
void sym_swift_node_reverse(struct sym_swift_node *node, uint32_t from);
struct sym_swift_node *sym_swift_node_type(struct sym_swift_node *node); /* marks it as a type */

/* The child at `i`, or NULL. */
struct sym_swift_node *sym_swift_node_child(const struct sym_swift_node *node, uint32_t i);
/* The first child of that kind, or NULL. */
struct sym_swift_node *sym_swift_node_find(const struct sym_swift_node *node,
                                           enum sym_swift_kind kind);

#endif
