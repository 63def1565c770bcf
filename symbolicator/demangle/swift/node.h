/*
 * The tree of a mangled Swift name: the kinds of nodes, and what their children are.
 *
 * Both manglings, the current one (operators.c) and that of Swift 1 to 3 (old.c), build the same
 * tree; print.c turns it into text. Nodes are in an arena. A substitution makes a node the child of
 * several others, so a tree is an acyclic graph that can be exponentially larger as text: every walk
 * has a limit.
 */
#ifndef SYM_DEMANGLE_SWIFT_NODE_H
#define SYM_DEMANGLE_SWIFT_NODE_H

#include "base/arena.h"

enum sym_swift_kind {
    SWIFT_NONE,
    /* Names. */
    SWIFT_IDENTIFIER,
    SWIFT_INFIX_OPERATOR,
    SWIFT_PREFIX_OPERATOR,
    SWIFT_POSTFIX_OPERATOR,
    SWIFT_LOCAL_NAME,   /* index: of several with that name in a function; child: the name */
    SWIFT_PRIVATE_NAME, /* text: the file; optional child: the name */
    SWIFT_RELATED_NAME, /* text: the relation; child: the name */
    SWIFT_MODULE,
    SWIFT_NUMBER,
    SWIFT_UNKNOWN_INDEX,
    /* Marks on the parser's stack. */
    SWIFT_EMPTY_LIST,
    SWIFT_FIRST_ELEMENT,
    SWIFT_VARIADIC,
    SWIFT_LABELS,
    SWIFT_LIST,
    SWIFT_SUFFIX,
    SWIFT_GLOBAL,
    SWIFT_TYPE_MANGLING,
    /* Nominal types and other contexts: child 0 is the context, child 1 the name. */
    SWIFT_CLASS,
    SWIFT_STRUCT,
    SWIFT_ENUM,
    SWIFT_PROTOCOL,
    SWIFT_TYPE_ALIAS,
    SWIFT_OTHER_NOMINAL,
    SWIFT_EXTENSION, /* module, type, signature? */
    SWIFT_ANONYMOUS_CONTEXT,
    SWIFT_FUNCTION,
    SWIFT_VARIABLE,
    SWIFT_SUBSCRIPT,
    SWIFT_MACRO,
    SWIFT_GENERIC_PARAM_DECL,
    SWIFT_ALLOCATOR,
    SWIFT_CONSTRUCTOR,
    SWIFT_DEALLOCATOR,
    SWIFT_ISOLATED_DEALLOCATOR,
    SWIFT_DESTRUCTOR,
    SWIFT_IVAR_INITIALIZER,
    SWIFT_IVAR_DESTROYER,
    SWIFT_INITIALIZER,
    SWIFT_DEFAULT_ARGUMENT,
    SWIFT_WRAPPER_BACKING_INITIALIZER,
    SWIFT_WRAPPER_PROJECTED_INITIALIZER,
    SWIFT_WRAPPED_FIELD_INIT_ACCESSOR,
    SWIFT_EXPLICIT_CLOSURE,
    SWIFT_IMPLICIT_CLOSURE,
    SWIFT_ATTACHED_MACRO,     /* text: its role; context, name, macro, index */
    SWIFT_FREESTANDING_MACRO, /* context, name, index, private name? */
    SWIFT_MACRO_UNIQUE_NAME,
    SWIFT_MACRO_LOCATION,
    SWIFT_STATIC,
    SWIFT_ASYNC_MAIN,
    SWIFT_CURRY_THUNK,
    SWIFT_DISPATCH_THUNK,
    SWIFT_IDENTITY_THUNK,
    SWIFT_MAIN_ACTOR_THUNK,
    SWIFT_OPAQUE_RESULT_OF,
    /* Accessors; the child is a variable or subscript. */
    SWIFT_GETTER,
    SWIFT_SETTER,
    SWIFT_GLOBAL_GETTER,
    SWIFT_MATERIALIZE_FOR_SET,
    SWIFT_WILL_SET,
    SWIFT_DID_SET,
    SWIFT_READ,
    SWIFT_READ2,
    SWIFT_MODIFY,
    SWIFT_MODIFY2,
    SWIFT_BORROW,
    SWIFT_MUTATE,
    SWIFT_INIT_ACCESSOR,
    SWIFT_OWNING_ADDRESSOR,
    SWIFT_OWNING_MUTABLE_ADDRESSOR,
    SWIFT_NATIVE_OWNING_ADDRESSOR,
    SWIFT_NATIVE_OWNING_MUTABLE_ADDRESSOR,
    SWIFT_NATIVE_PINNING_ADDRESSOR,
    SWIFT_NATIVE_PINNING_MUTABLE_ADDRESSOR,
    SWIFT_UNSAFE_ADDRESSOR,
    SWIFT_UNSAFE_MUTABLE_ADDRESSOR,
    /* Types. */
    SWIFT_BUILTIN_TYPE,
    SWIFT_BUILTIN_TUPLE,
    SWIFT_BUILTIN_FIXED_ARRAY,
    SWIFT_BUILTIN_BORROW,
    SWIFT_BOUND_GENERIC,  /* nominal, list of arguments, conformances? */
    SWIFT_BOUND_FUNCTION, /* function, list of arguments */
    SWIFT_TUPLE,
    SWIFT_TUPLE_ELEMENT, /* text: label; index 1: variadic */
    SWIFT_PACK,
    SWIFT_SIL_PACK_DIRECT,
    SWIFT_SIL_PACK_INDIRECT,
    SWIFT_PACK_EXPANSION,
    SWIFT_PACK_ELEMENT,  /* index: level */
    SWIFT_FUNCTION_TYPE, /* all of these: attributes, then parameters and result */
    SWIFT_NOESCAPE_FUNCTION_TYPE,
    SWIFT_UNCURRIED_FUNCTION_TYPE,
    SWIFT_CALLED_ONCE_FUNCTION_TYPE,
    SWIFT_THIN_FUNCTION_TYPE,
    SWIFT_C_FUNCTION_TYPE,
    SWIFT_AUTOCLOSURE_TYPE,
    SWIFT_ESCAPING_AUTOCLOSURE_TYPE,
    SWIFT_OBJC_BLOCK,
    SWIFT_ESCAPING_OBJC_BLOCK,
    SWIFT_CLANG_TYPE,
    SWIFT_ASYNC,
    SWIFT_SENDABLE,
    SWIFT_THROWS,
    SWIFT_TYPED_THROWS,
    SWIFT_GLOBAL_ACTOR,
    SWIFT_ISOLATED_ANY,
    SWIFT_NONISOLATED_CALLER,
    SWIFT_DIFFERENTIABLE, /* text: its kind in brackets */
    SWIFT_SENDING_RESULT,
    SWIFT_INOUT,
    SWIFT_SHARED,
    SWIFT_OWNED,
    SWIFT_ISOLATED,
    SWIFT_SENDING,
    SWIFT_NO_DERIVATIVE,
    SWIFT_CONST_LITERAL,
    SWIFT_CONST_VALUE,
    SWIFT_WEAK,
    SWIFT_UNOWNED,
    SWIFT_UNMANAGED,
    SWIFT_METATYPE, /* text: representation */
    SWIFT_EXISTENTIAL_METATYPE,
    SWIFT_DYNAMIC_SELF,
    SWIFT_ERROR_TYPE,
    SWIFT_PROTOCOL_LIST,
    SWIFT_PROTOCOL_LIST_CLASS, /* superclass first */
    SWIFT_PROTOCOL_LIST_ANY_OBJECT,
    SWIFT_CONSTRAINED_EXISTENTIAL,
    SWIFT_CONSTRAINED_SELF,
    SWIFT_REQUIREMENTS,
    SWIFT_EXISTENTIAL_SHAPE,
    SWIFT_OPAQUE_RESULT,
    SWIFT_OPAQUE_TYPE,
    SWIFT_SUGARED_OPTIONAL,
    SWIFT_SUGARED_ARRAY,
    SWIFT_SUGARED_INLINE_ARRAY,
    SWIFT_SUGARED_DICTIONARY,
    SWIFT_SUGARED_PAREN,
    SWIFT_INTEGER,
    SWIFT_SIL_BOX,
    SWIFT_SIL_BOX_WITH_LAYOUT,
    SWIFT_SIL_BOX_LAYOUT,
    SWIFT_SIL_BOX_MUTABLE,
    SWIFT_SIL_BOX_IMMUTABLE,
    /* Generics. */
    SWIFT_GENERIC_PARAM, /* depth, index */
    SWIFT_DEPENDENT_MEMBER,
    SWIFT_ASSOC_NAME, /* protocol?, name */
    SWIFT_ASSOC_PATH,
    SWIFT_ASSOC_TYPE_REF,
    SWIFT_GENERIC_TYPE, /* signature, type */
    SWIFT_SIGNATURE,
    SWIFT_PARAM_COUNT,
    SWIFT_PACK_MARKER,
    SWIFT_VALUE_MARKER,
    SWIFT_CONFORMANCE_REQUIREMENT,
    SWIFT_INVERSE_REQUIREMENT,
    SWIFT_LAYOUT_REQUIREMENT, /* text: the letter; type, size?, alignment? */
    SWIFT_SAME_TYPE_REQUIREMENT,
    SWIFT_SAME_SHAPE_REQUIREMENT,
    /* Implementation function types. */
    SWIFT_IMPL_FUNCTION,
    SWIFT_IMPL_ATTRIBUTE,
    SWIFT_IMPL_CONVENTION, /* text: name; optional child: the C type */
    SWIFT_IMPL_SENDING_RESULT,
    SWIFT_IMPL_PATTERN_SUBSTITUTIONS,
    SWIFT_IMPL_INVOCATION_SUBSTITUTIONS,
    SWIFT_IMPL_PARAMETER, /* text: everything before the type */
    SWIFT_IMPL_RESULT,
    SWIFT_IMPL_YIELD,
    SWIFT_IMPL_ERROR,
    /* Conformances. */
    SWIFT_CONFORMANCE, /* type, protocol, module, property? */
    SWIFT_CONCRETE_CONFORMANCE,
    SWIFT_PACK_CONFORMANCE,
    SWIFT_CONFORMANCE_LIST,
    SWIFT_DEPENDENT_ROOT, /* these three: index, type or conformance, protocol */
    SWIFT_DEPENDENT_INHERITED,
    SWIFT_DEPENDENT_ASSOCIATED,
    SWIFT_DEPENDENT_OPAQUE,
    SWIFT_ASSOCIATED_CONFORMANCE,
    SWIFT_CONFORMANCE_IN_TYPE_MODULE,
    SWIFT_CONFORMANCE_IN_PROTOCOL_MODULE,
    SWIFT_CONFORMANCE_ELSEWHERE,
    SWIFT_RETROACTIVE,
    /* Attributes of a whole symbol, printed before it. */
    SWIFT_OBJC,
    SWIFT_NON_OBJC,
    SWIFT_DYNAMIC,
    SWIFT_DIRECT_METHOD,
    SWIFT_VTABLE_ATTRIBUTE,
    SWIFT_PARTIAL_APPLY,
    SWIFT_PARTIAL_APPLY_OBJC,
    SWIFT_MERGED,
    SWIFT_DISTRIBUTED_THUNK,
    SWIFT_DISTRIBUTED_ACCESSOR,
    SWIFT_REPLACEABLE_IMPL,
    SWIFT_REPLACEABLE_KEY,
    SWIFT_REPLACEABLE_VAR,
    SWIFT_ASYNC_POINTER,
    SWIFT_CORO_POINTER,
    SWIFT_DEFAULT_OVERRIDE,
    SWIFT_AWAIT_RESUME,
    SWIFT_SUSPEND_RESUME,
    SWIFT_ACCESSIBLE_RECORD,
    SWIFT_BACK_DEPLOYMENT_THUNK,
    SWIFT_BACK_DEPLOYMENT_FALLBACK,
    SWIFT_HAS_SYMBOL,
    SWIFT_OUTLINED_VARIABLE,
    SWIFT_OUTLINED_READ_ONLY,
    SWIFT_OUTLINED_BRIDGED,
    /* Specializations. */
    SWIFT_FUNCTION_SPECIALIZATION,
    SWIFT_GENERIC_SPECIALIZATION,
    SWIFT_GENERIC_SPECIALIZATION_RESILIENT,
    SWIFT_GENERIC_PRESPECIALIZATION,
    SWIFT_GENERIC_NOT_REABSTRACTED,
    SWIFT_GENERIC_PARTIAL,
    SWIFT_GENERIC_PARTIAL_NOT_REABSTRACTED,
    SWIFT_INLINED_GENERIC,
    SWIFT_SERIALIZED,
    SWIFT_SPEC_PARAM,
    SWIFT_SPEC_ARGUMENT, /* of a function specialization */
    SWIFT_SPEC_RETURN,
    SWIFT_SPEC_KIND, /* index: enum sym_swift_spec or flags; text: encoding or digits */
    SWIFT_SPEC_PAYLOAD,
    /* Thunks, witnesses, metadata: most are a text before their child. */
    SWIFT_REABSTRACTION, /* from, to, signature? */
    SWIFT_REABSTRACTION_HELPER,
    SWIFT_REABSTRACTION_WITH_SELF, /* from, to, self, signature? */
    SWIFT_REABSTRACTION_WITH_ACTOR,
    SWIFT_COMPLETION_HANDLER, /* index: error flag; block, result, signature? */
    SWIFT_PREDEFINED_COMPLETION_HANDLER,
    SWIFT_VTABLE_THUNK,
    SWIFT_PROTOCOL_WITNESS,
    SWIFT_SELF_CONFORMANCE_WITNESS,
    SWIFT_METHOD_DESCRIPTOR,
    SWIFT_COROUTINE_PROTOTYPE,
    SWIFT_KEY_PATH_GETTER,
    SWIFT_KEY_PATH_SETTER,
    SWIFT_KEY_PATH_UNAPPLIED,
    SWIFT_KEY_PATH_APPLIED,
    SWIFT_KEY_PATH_EQUALS,
    SWIFT_KEY_PATH_HASH,
    SWIFT_AUTODIFF_FUNCTION,
    SWIFT_AUTODIFF_VTABLE_THUNK,
    SWIFT_AUTODIFF_SELF_REORDERING,
    SWIFT_AUTODIFF_SUBSET_THUNK,
    SWIFT_AUTODIFF_KIND,
    SWIFT_DIFFERENTIABILITY_WITNESS,
    SWIFT_INDEX_SUBSET,
    SWIFT_VALUE_WITNESS, /* text: which */
    SWIFT_VALUE_WITNESS_TABLE,
    SWIFT_FIELD_OFFSET,
    SWIFT_DIRECTNESS,
    SWIFT_ENUM_CASE,
    SWIFT_SELF_CONFORMANCE_TABLE,
    SWIFT_WITNESS_TABLE,
    SWIFT_WITNESS_TABLE_PATTERN,
    SWIFT_GENERIC_WITNESS_TABLE,
    SWIFT_GENERIC_WITNESS_TABLE_INSTANTIATION,
    SWIFT_RESILIENT_WITNESS_TABLE,
    SWIFT_WITNESS_TABLE_ACCESSOR,
    SWIFT_LAZY_WITNESS_TABLE_ACCESSOR,
    SWIFT_LAZY_WITNESS_TABLE_CACHE,
    SWIFT_ASSOC_METADATA_ACCESSOR,
    SWIFT_DEFAULT_ASSOC_METADATA_ACCESSOR,
    SWIFT_ASSOC_WITNESS_TABLE_ACCESSOR,
    SWIFT_BASE_WITNESS_TABLE_ACCESSOR,
    SWIFT_ASSOC_CONFORMANCE_DESCRIPTOR,
    SWIFT_DEFAULT_ASSOC_CONFORMANCE,
    SWIFT_BASE_CONFORMANCE_DESCRIPTOR,
    SWIFT_ASSOC_TYPE_DESCRIPTOR,
    SWIFT_REQUIREMENTS_BASE,
    SWIFT_OUTLINED_COPY,
    SWIFT_OUTLINED_CONSUME,
    SWIFT_OUTLINED_RETAIN,
    SWIFT_OUTLINED_RELEASE,
    SWIFT_OUTLINED_INIT_TAKE,
    SWIFT_OUTLINED_INIT_COPY,
    SWIFT_OUTLINED_ASSIGN_TAKE,
    SWIFT_OUTLINED_ASSIGN_COPY,
    SWIFT_OUTLINED_DESTROY,
    SWIFT_OUTLINED_TAG_STORE,
    SWIFT_OUTLINED_PROJECT,
    SWIFT_OUTLINED_GET_TAG,
    SWIFT_ONCE_FUNCTION,
    SWIFT_ONCE_TOKEN,
    SWIFT_ONCE_LIST,
    SWIFT_METADATA,
    SWIFT_FULL_METADATA,
    SWIFT_METADATA_ACCESSOR,
    SWIFT_METADATA_PATTERN,
    SWIFT_METADATA_LAZY_CACHE,
    SWIFT_METADATA_DEMANGLING_CACHE,
    SWIFT_METADATA_INSTANTIATION_FUNCTION,
    SWIFT_METADATA_INSTANTIATION_CACHE,
    SWIFT_METADATA_SINGLETON_CACHE,
    SWIFT_METADATA_COMPLETION,
    SWIFT_METADATA_CACHE,
    SWIFT_SPECIALIZED_METADATA_ACCESSOR,
    SWIFT_SPECIALIZED_METACLASS,
    SWIFT_NONCANONICAL_METADATA,
    SWIFT_NONCANONICAL_METADATA_CACHE,
    SWIFT_CANONICAL_ONCE_TOKEN,
    SWIFT_METACLASS,
    SWIFT_NOMINAL_DESCRIPTOR,
    SWIFT_NOMINAL_RECORD,
    SWIFT_PROTOCOL_DESCRIPTOR,
    SWIFT_PROTOCOL_RECORD,
    SWIFT_CONFORMANCE_DESCRIPTOR,
    SWIFT_CONFORMANCE_RECORD,
    SWIFT_SELF_CONFORMANCE_DESCRIPTOR,
    SWIFT_OPAQUE_DESCRIPTOR,
    SWIFT_OPAQUE_RECORD,
    SWIFT_OPAQUE_ACCESSOR,
    SWIFT_OPAQUE_ACCESSOR_IMPL,
    SWIFT_OPAQUE_ACCESSOR_KEY,
    SWIFT_OPAQUE_ACCESSOR_VAR,
    SWIFT_PROPERTY_DESCRIPTOR,
    SWIFT_MODULE_DESCRIPTOR,
    SWIFT_EXTENSION_DESCRIPTOR,
    SWIFT_ANONYMOUS_DESCRIPTOR,
    SWIFT_ASSOC_PARAM_REF,
    SWIFT_CLASS_BASE_OFFSET,
    SWIFT_METHOD_LOOKUP,
    SWIFT_OBJC_UPDATE,
    SWIFT_OBJC_STUB,
    SWIFT_FULL_OBJC_STUB,
    SWIFT_UNIQUABLE,
    SWIFT_REFLECTION_BUILTIN,
    SWIFT_REFLECTION_FIELD,
    SWIFT_REFLECTION_ASSOC,
    SWIFT_REFLECTION_SUPERCLASS,
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
    uint32_t room;
    uint32_t depth; /* of a generic parameter */
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
    SWIFT_F_ACCESSOR = 64,     /* printed as its variable, then its name */
    SWIFT_F_LONG_ONLY = 128,   /* left out of the simplified form */
    SWIFT_F_EXPANSION = 256,   /* of a macro */
    SWIFT_F_CONFORMANCE = 512, /* an element of a conformance list */
    SWIFT_F_DEPENDENT = 1024,  /* a conformance that depends on another */
    SWIFT_F_FUNCTION_TYPE = 2048,
    SWIFT_F_EXISTENTIAL = 4096,
    SWIFT_F_ENTITY = 8192, /* printed with its context */
};

bool sym_swift_is(const struct sym_swift_node *node, enum sym_swift_flag flag);

/* All return NULL when memory is exhausted, and for NULL as a node: a failure passes through a whole
 * expression, so that only its result is checked. */
struct sym_swift_node *sym_swift_node_create(struct fz_arena *arena, enum sym_swift_kind kind);
struct sym_swift_node *sym_swift_node_text(struct fz_arena *arena, enum sym_swift_kind kind,
                                           struct fz_span text);
struct sym_swift_node *sym_swift_node_cstr(struct fz_arena *arena, enum sym_swift_kind kind,
                                           const char *text);
struct sym_swift_node *sym_swift_node_index(struct fz_arena *arena, enum sym_swift_kind kind,
                                            int64_t index);
struct sym_swift_node *sym_swift_node_with(struct fz_arena *arena, enum sym_swift_kind kind,
                                           struct sym_swift_node *child);
struct sym_swift_node *sym_swift_node_pair(struct fz_arena *arena, enum sym_swift_kind kind,
                                           struct sym_swift_node *first,
                                           struct sym_swift_node *second);

/* Append `child`; returns NULL if it is NULL. */
struct sym_swift_node *sym_swift_node_add(struct fz_arena *arena, struct sym_swift_node *parent,
                                          struct sym_swift_node *child);
/* Append `child` unless it is NULL. */
struct sym_swift_node *sym_swift_node_add_if(struct fz_arena *arena, struct sym_swift_node *parent,
                                             struct sym_swift_node *child);
/* A copy with the same children and another kind. */
struct sym_swift_node *sym_swift_node_as(struct fz_arena *arena, const struct sym_swift_node *node,
                                         enum sym_swift_kind kind);
void sym_swift_node_reverse(struct sym_swift_node *node, uint32_t from);
struct sym_swift_node *sym_swift_node_type(struct sym_swift_node *node); /* marks it as a type */

/* The child at `i`, or NULL. */
struct sym_swift_node *sym_swift_node_child(const struct sym_swift_node *node, uint32_t i);
/* The first child of that kind, or NULL. */
struct sym_swift_node *sym_swift_node_find(const struct sym_swift_node *node,
                                           enum sym_swift_kind kind);

#endif
