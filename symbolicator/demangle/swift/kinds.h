/*
 * The kinds of nodes of a Swift name, as SWIFT_KINDS(X): X(name, initializers of its struct
 * sym_swift_kind_info, 0 for none). A comment says what the children are.
 *
 * A kind is printed as the text before it, between its own text and children, and after it; or as an
 * entity; or by a function. One without text prints its own text and children.
 */
#ifndef SYM_DEMANGLE_SWIFT_KINDS_H
#define SYM_DEMANGLE_SWIFT_KINDS_H

#define SWIFT_KINDS(X)                                                                             \
    X(NONE, 0)                                                                                     \
    /* Names. */                                                                                   \
    X(IDENTIFIER, .flags = SWIFT_F_DECL_NAME)                                                      \
    X(INFIX_OPERATOR, .after = " infix", .flags = SWIFT_F_DECL_NAME)                               \
    X(PREFIX_OPERATOR, .after = " prefix", .flags = SWIFT_F_DECL_NAME)                             \
    X(POSTFIX_OPERATOR, .after = " postfix", .flags = SWIFT_F_DECL_NAME)                           \
    /* index: of several with that name in a function; child: the name */                          \
    X(LOCAL_NAME, .flags = SWIFT_F_DECL_NAME, .print = sym_swift_print_local_name)                 \
    /* text: the file; optional child: the name */                                                 \
    X(PRIVATE_NAME, .flags = SWIFT_F_DECL_NAME, .print = sym_swift_print_private_name)             \
    /* text: the relation; child: the name */                                                      \
    X(RELATED_NAME, .before = "related decl '", .between = "' for ", .flags = SWIFT_F_DECL_NAME)   \
    X(MODULE, .flags = SWIFT_F_CONTEXT | SWIFT_F_SIMPLE, .print = sym_swift_print_module)          \
    X(NUMBER, .format = "{i}")                                                                     \
    X(UNKNOWN_INDEX, .before = "unknown index")                                                    \
    /* Marks on the parser's stack. */                                                             \
    X(EMPTY_LIST, .before = " empty-list ")                                                        \
    X(FIRST_ELEMENT, .before = " first-element-marker ")                                           \
    X(VARIADIC, .before = " variadic-marker ")                                                     \
    X(LABELS, 0)                                                                                   \
    X(LIST, .flags = SWIFT_F_SIMPLE)                                                               \
    X(SUFFIX, .print = sym_swift_print_suffix)                                                     \
    X(GLOBAL, 0)                                                                                   \
    X(TYPE_MANGLING, .print = sym_swift_print_type_mangling)                                       \
    /* Nominal types and other contexts: child 0 is the context, child 1 the name. */              \
    X(CLASS, .flags = SWIFT_F_NOMINAL_TYPE, .entity = {.has_name = true})                          \
    X(STRUCT, .flags = SWIFT_F_NOMINAL_TYPE, .entity = {.has_name = true})                         \
    X(ENUM, .flags = SWIFT_F_NOMINAL_TYPE, .entity = {.has_name = true})                           \
    X(PROTOCOL, .flags = SWIFT_F_NOMINAL_TYPE, .entity = {.has_name = true})                       \
    X(TYPE_ALIAS, .flags = SWIFT_F_NOMINAL_TYPE, .entity = {.has_name = true})                     \
    X(OTHER_NOMINAL, .flags = SWIFT_F_NOMINAL_TYPE, .entity = {.has_name = true})                  \
    /* module, type, signature? */                                                                 \
    X(EXTENSION, .flags = SWIFT_F_CONTEXT, .print = sym_swift_print_extension)                     \
    X(ANONYMOUS_CONTEXT, .flags = SWIFT_F_CONTEXT, .print = sym_swift_print_anonymous)             \
    X(FUNCTION, .flags = SWIFT_F_DECLARATION,                                                      \
      .entity = {.style = SWIFT_SIGNATURE_STYLE, .has_name = true})                                \
    X(VARIABLE, .flags = SWIFT_F_DECLARATION, .entity = {.style = SWIFT_COLON, .has_name = true})  \
    X(SUBSCRIPT, .flags = SWIFT_F_DECLARATION,                                                     \
      .entity = {.style = SWIFT_SIGNATURE_STYLE, .overwrite = "subscript"})                        \
    X(MACRO, .flags = SWIFT_F_ENTITY,                                                              \
      .entity = {.style = SWIFT_SIGNATURE_STYLE, .has_name = true})                                \
    X(GENERIC_PARAM_DECL, .flags = SWIFT_F_ENTITY, .entity = {.has_name = true})                   \
    X(ALLOCATOR, .flags = SWIFT_F_DECLARATION,                                                     \
      .entity = {.style = SWIFT_SIGNATURE_STYLE, .extra = "__allocating_init"})                    \
    X(CONSTRUCTOR, .flags = SWIFT_F_DECLARATION,                                                   \
      .entity = {.style = SWIFT_SIGNATURE_STYLE, .extra = "init"})                                 \
    X(DEALLOCATOR, .flags = SWIFT_F_DECLARATION, .entity = {.extra = "__deallocating_deinit"})     \
    X(ISOLATED_DEALLOCATOR, .flags = SWIFT_F_DECLARATION,                                          \
      .entity = {.extra = "__isolated_deallocating_deinit"})                                       \
    X(DESTRUCTOR, .flags = SWIFT_F_DECLARATION, .entity = {.extra = "deinit"})                     \
    X(IVAR_INITIALIZER, .flags = SWIFT_F_DECLARATION, .entity = {.extra = "__ivar_initializer"})   \
    X(IVAR_DESTROYER, .flags = SWIFT_F_DECLARATION, .entity = {.extra = "__ivar_destroyer"})       \
    X(INITIALIZER, .flags = SWIFT_F_DECLARATION,                                                   \
      .entity = {.extra = "variable initialization expression", .of = true})                       \
    X(DEFAULT_ARGUMENT, .flags = SWIFT_F_DECLARATION,                                              \
      .entity = {.extra = "default argument ", .number_child = 1, .of = true})                     \
    X(WRAPPER_BACKING_INITIALIZER, .flags = SWIFT_F_DECLARATION,                                   \
      .entity = {.extra = "property wrapper backing initializer", .of = true})                     \
    X(WRAPPER_PROJECTED_INITIALIZER, .flags = SWIFT_F_DECLARATION,                                 \
      .entity = {.extra = "property wrapper init from projected value", .of = true})               \
    X(WRAPPED_FIELD_INIT_ACCESSOR, .flags = SWIFT_F_DECLARATION,                                   \
      .entity = {.extra = "property wrapped field init accessor", .of = true})                     \
    X(EXPLICIT_CLOSURE, .flags = SWIFT_F_DECLARATION,                                              \
      .entity = {.style = SWIFT_CLOSURE_STYLE,                                                     \
                 .extra = "closure #",                                                             \
                 .number_child = 1,                                                                \
                 .number_from = 1})                                                                \
    X(IMPLICIT_CLOSURE, .flags = SWIFT_F_DECLARATION,                                              \
      .entity = {.style = SWIFT_CLOSURE_STYLE,                                                     \
                 .extra = "implicit closure #",                                                    \
                 .number_child = 1,                                                                \
                 .number_from = 1})                                                                \
    /* text: its role; context, name, macro, index */                                              \
    X(ATTACHED_MACRO, .flags = SWIFT_F_CONTEXT | SWIFT_F_EXPANSION | SWIFT_F_ENTITY,               \
      .entity = {.has_name = true, .extra = " expansion #", .number_child = 3, .number_from = 1})  \
    /* context, name, index, private name? */                                                      \
    X(FREESTANDING_MACRO, .flags = SWIFT_F_CONTEXT | SWIFT_F_EXPANSION | SWIFT_F_ENTITY,           \
      .entity = {.has_name = true,                                                                 \
                 .extra = "freestanding macro expansion #",                                        \
                 .number_child = 2,                                                                \
                 .number_from = 1})                                                                \
    X(MACRO_UNIQUE_NAME, .flags = SWIFT_F_DECLARATION,                                             \
      .entity = {.has_name = true, .extra = "unique name #", .number_child = 2, .number_from = 1}) \
    X(MACRO_LOCATION, .flags = SWIFT_F_CONTEXT | SWIFT_F_EXPANSION,                                \
      .format = "module {0} file {1} line {2} column {3}")                                         \
    X(STATIC, .before = "static ", .flags = SWIFT_F_CONTEXT)                                       \
    X(ASYNC_MAIN, .before = "async main entry point")                                              \
    X(CURRY_THUNK, .before = "curry thunk of ", .flags = SWIFT_F_CONTEXT)                          \
    X(DISPATCH_THUNK, .before = "dispatch thunk of ", .flags = SWIFT_F_CONTEXT)                    \
    X(IDENTITY_THUNK, .before = "identity thunk of ", .flags = SWIFT_F_CONTEXT)                    \
    X(MAIN_ACTOR_THUNK, .before = "hop to main actor thunk of ", .flags = SWIFT_F_CONTEXT)         \
    X(OPAQUE_RESULT_OF, .before = "<<opaque return type of ", .after = ">>",                       \
      .flags = SWIFT_F_CONTEXT)                                                                    \
    /* Accessors; the child is a variable or subscript. */                                         \
    X(GETTER, .before = "getter", .flags = SWIFT_F_ACCESSOR)                                       \
    X(SETTER, .before = "setter", .flags = SWIFT_F_ACCESSOR)                                       \
    X(GLOBAL_GETTER, .before = "getter", .flags = SWIFT_F_ACCESSOR)                                \
    X(MATERIALIZE_FOR_SET, .before = "materializeForSet", .flags = SWIFT_F_ACCESSOR)               \
    X(WILL_SET, .before = "willset", .flags = SWIFT_F_ACCESSOR)                                    \
    X(DID_SET, .before = "didset", .flags = SWIFT_F_ACCESSOR)                                      \
    X(READ, .before = "read", .flags = SWIFT_F_ACCESSOR)                                           \
    X(READ2, .before = "read2", .flags = SWIFT_F_ACCESSOR)                                         \
    X(MODIFY, .before = "modify", .flags = SWIFT_F_ACCESSOR)                                       \
    X(MODIFY2, .before = "modify2", .flags = SWIFT_F_ACCESSOR)                                     \
    X(BORROW, .before = "borrow", .flags = SWIFT_F_ACCESSOR)                                       \
    X(MUTATE, .before = "mutate", .flags = SWIFT_F_ACCESSOR)                                       \
    X(INIT_ACCESSOR, .before = "init", .flags = SWIFT_F_ACCESSOR)                                  \
    X(OWNING_ADDRESSOR, .before = "owningAddressor", .flags = SWIFT_F_ACCESSOR)                    \
    X(OWNING_MUTABLE_ADDRESSOR, .before = "owningMutableAddressor", .flags = SWIFT_F_ACCESSOR)     \
    X(NATIVE_OWNING_ADDRESSOR, .before = "nativeOwningAddressor", .flags = SWIFT_F_ACCESSOR)       \
    X(NATIVE_OWNING_MUTABLE_ADDRESSOR, .before = "nativeOwningMutableAddressor",                   \
      .flags = SWIFT_F_ACCESSOR)                                                                   \
    X(NATIVE_PINNING_ADDRESSOR, .before = "nativePinningAddressor", .flags = SWIFT_F_ACCESSOR)     \
    X(NATIVE_PINNING_MUTABLE_ADDRESSOR, .before = "nativePinningMutableAddressor",                 \
      .flags = SWIFT_F_ACCESSOR)                                                                   \
    X(UNSAFE_ADDRESSOR, .before = "unsafeAddressor", .flags = SWIFT_F_ACCESSOR)                    \
    X(UNSAFE_MUTABLE_ADDRESSOR, .before = "unsafeMutableAddressor", .flags = SWIFT_F_ACCESSOR)     \
    /* Types. */                                                                                   \
    X(BUILTIN_TYPE, .flags = SWIFT_F_SIMPLE)                                                       \
    X(BUILTIN_TUPLE, .before = "Builtin.TheTupleType",                                             \
      .flags = SWIFT_F_CONTEXT | SWIFT_F_NOMINAL | SWIFT_F_SIMPLE)                                 \
    X(BUILTIN_FIXED_ARRAY, .before = "Builtin.FixedArray<", .between = ", ", .after = ">",         \
      .flags = SWIFT_F_SIMPLE)                                                                     \
    X(BUILTIN_BORROW, .before = "Builtin.Borrow<", .after = ">", .flags = SWIFT_F_SIMPLE)          \
    /* nominal, list of arguments, conformances? */                                                \
    X(BOUND_GENERIC, .flags = SWIFT_F_SIMPLE, .print = sym_swift_print_bound_generic)              \
    /* function, list of arguments */                                                              \
    X(BOUND_FUNCTION, .flags = SWIFT_F_SIMPLE | SWIFT_F_ENTITY,                                    \
      .entity = {.style = SWIFT_SIGNATURE_STYLE, .has_name = true})                                \
    X(TUPLE, .before = "(", .between = ", ", .after = ")", .flags = SWIFT_F_SIMPLE)                \
    /* text: label; index 1: variadic */                                                           \
    X(TUPLE_ELEMENT, .print = sym_swift_print_tuple_element)                                       \
    X(PACK, .before = "Pack{", .between = ", ", .after = "}", .flags = SWIFT_F_SIMPLE)             \
    X(SIL_PACK_DIRECT, .before = "@direct Pack{", .between = ", ", .after = "}",                   \
      .flags = SWIFT_F_SIMPLE)                                                                     \
    X(SIL_PACK_INDIRECT, .before = "@indirect Pack{", .between = ", ", .after = "}",               \
      .flags = SWIFT_F_SIMPLE)                                                                     \
    X(PACK_EXPANSION, .format = "repeat {0}")                                                      \
    /* index: level */                                                                             \
    X(PACK_ELEMENT, .format = "/* level: {i} */ each {0}")                                         \
    /* all of these: attributes, then parameters and result */                                     \
    X(FUNCTION_TYPE, .flags = SWIFT_F_FUNCTION_TYPE, .print = sym_swift_print_function_type)       \
    X(NOESCAPE_FUNCTION_TYPE, .flags = SWIFT_F_FUNCTION_TYPE,                                      \
      .print = sym_swift_print_function_type)                                                      \
    X(UNCURRIED_FUNCTION_TYPE, .flags = SWIFT_F_FUNCTION_TYPE,                                     \
      .print = sym_swift_print_function_type)                                                      \
    X(CALLED_ONCE_FUNCTION_TYPE, .flags = SWIFT_F_FUNCTION_TYPE,                                   \
      .print = sym_swift_print_function_type)                                                      \
    X(THIN_FUNCTION_TYPE, .flags = SWIFT_F_FUNCTION_TYPE, .print = sym_swift_print_function_type)  \
    X(C_FUNCTION_TYPE, .flags = SWIFT_F_FUNCTION_TYPE, .print = sym_swift_print_function_type)     \
    X(AUTOCLOSURE_TYPE, .flags = SWIFT_F_FUNCTION_TYPE, .print = sym_swift_print_function_type)    \
    X(ESCAPING_AUTOCLOSURE_TYPE, .flags = SWIFT_F_FUNCTION_TYPE,                                   \
      .print = sym_swift_print_function_type)                                                      \
    X(OBJC_BLOCK, .flags = SWIFT_F_FUNCTION_TYPE, .print = sym_swift_print_function_type)          \
    X(ESCAPING_OBJC_BLOCK, .flags = SWIFT_F_FUNCTION_TYPE, .print = sym_swift_print_function_type) \
    X(CLANG_TYPE, 0)                                                                               \
    X(ASYNC, .before = " async")                                                                   \
    X(SENDABLE, .before = "@Sendable ")                                                            \
    X(THROWS, .before = " throws")                                                                 \
    X(TYPED_THROWS, .before = " throws(", .after = ")")                                            \
    X(GLOBAL_ACTOR, .before = "@", .after = " ")                                                   \
    X(ISOLATED_ANY, .before = "@isolated(any) ")                                                   \
    X(NONISOLATED_CALLER, .before = "nonisolated(nonsending) ")                                    \
    /* text: its kind in brackets */                                                               \
    X(DIFFERENTIABLE, .before = "@differentiable", .after = " ")                                   \
    X(SENDING_RESULT, .before = "sending ")                                                        \
    X(INOUT, .before = "inout ")                                                                   \
    X(SHARED, .before = "__shared ")                                                               \
    X(OWNED, .before = "__owned ")                                                                 \
    X(ISOLATED, .before = "isolated ")                                                             \
    X(SENDING, .before = "sending ")                                                               \
    X(NO_DERIVATIVE, .before = "@noDerivative ")                                                   \
    X(CONST_LITERAL, .before = "_const ")                                                          \
    X(CONST_VALUE, .before = "@const ")                                                            \
    X(WEAK, .before = "weak ")                                                                     \
    X(UNOWNED, .before = "unowned ")                                                               \
    X(UNMANAGED, .before = "unowned(unsafe) ")                                                     \
    /* text: representation */                                                                     \
    X(METATYPE, .flags = SWIFT_F_SIMPLE, .print = sym_swift_print_metatype)                        \
    X(EXISTENTIAL_METATYPE, .flags = SWIFT_F_SIMPLE | SWIFT_F_EXISTENTIAL,                         \
      .print = sym_swift_print_metatype)                                                           \
    X(DYNAMIC_SELF, .format = "Self", .flags = SWIFT_F_SIMPLE)                                     \
    X(ERROR_TYPE, .before = "<ERROR TYPE>", .flags = SWIFT_F_SIMPLE)                               \
    X(PROTOCOL_LIST, .flags = SWIFT_F_EXISTENTIAL, .print = sym_swift_print_protocols)             \
    /* superclass first */                                                                         \
    X(PROTOCOL_LIST_CLASS, .flags = SWIFT_F_EXISTENTIAL, .print = sym_swift_print_protocols_class) \
    X(PROTOCOL_LIST_ANY_OBJECT, .flags = SWIFT_F_EXISTENTIAL,                                      \
      .print = sym_swift_print_protocols_object)                                                   \
    X(CONSTRAINED_EXISTENTIAL, .before = "any ", .between = "<", .after = ">")                     \
    X(CONSTRAINED_SELF, .before = "Self", .flags = SWIFT_F_SIMPLE)                                 \
    X(REQUIREMENTS, .between = ", ", .flags = SWIFT_F_SIMPLE)                                      \
    X(EXISTENTIAL_SHAPE, .print = sym_swift_print_shape)                                           \
    X(OPAQUE_RESULT, .before = "some")                                                             \
    X(OPAQUE_TYPE, .between = ".")                                                                 \
    X(SUGARED_OPTIONAL, .flags = SWIFT_F_SIMPLE, .print = sym_swift_print_optional)                \
    X(SUGARED_ARRAY, .before = "[", .after = "]", .flags = SWIFT_F_SIMPLE)                         \
    X(SUGARED_INLINE_ARRAY, .before = "[", .between = " of ", .after = "]",                        \
      .flags = SWIFT_F_SIMPLE)                                                                     \
    X(SUGARED_DICTIONARY, .before = "[", .between = " : ", .after = "]", .flags = SWIFT_F_SIMPLE)  \
    X(SUGARED_PAREN, .before = "(", .after = ")", .flags = SWIFT_F_SIMPLE)                         \
    X(INTEGER, .flags = SWIFT_F_SIMPLE, .format = "{i}")                                           \
    X(SIL_BOX, .before = "@box ", .flags = SWIFT_F_SIMPLE)                                         \
    X(SIL_BOX_WITH_LAYOUT, .flags = SWIFT_F_SIMPLE, .print = sym_swift_print_box)                  \
    X(SIL_BOX_LAYOUT, .before = "{", .between = ",", .after = " }")                                \
    X(SIL_BOX_MUTABLE, .before = " var ")                                                          \
    X(SIL_BOX_IMMUTABLE, .before = " let ")                                                        \
    /* Generics. */                                                                                \
    /* depth, index */                                                                             \
    X(GENERIC_PARAM, .flags = SWIFT_F_SIMPLE, .print = sym_swift_print_param)                      \
    X(DEPENDENT_MEMBER, .between = ".", .flags = SWIFT_F_SIMPLE)                                   \
    /* protocol?, name */                                                                          \
    X(ASSOC_NAME, .between = ".")                                                                  \
    X(ASSOC_PATH, .between = ".")                                                                  \
    X(ASSOC_TYPE_REF, .between = ".", .flags = SWIFT_F_SIMPLE)                                     \
    /* signature, type */                                                                          \
    X(GENERIC_TYPE, .flags = SWIFT_F_SIMPLE, .print = sym_swift_print_generic_type)                \
    X(SIGNATURE, .print = sym_swift_print_signature)                                               \
    X(PARAM_COUNT, 0)                                                                              \
    X(PACK_MARKER, .flags = SWIFT_F_REQUIREMENT)                                                   \
    X(VALUE_MARKER, .flags = SWIFT_F_REQUIREMENT)                                                  \
    X(CONFORMANCE_REQUIREMENT, .between = ": ", .flags = SWIFT_F_REQUIREMENT)                      \
    X(INVERSE_REQUIREMENT, .flags = SWIFT_F_REQUIREMENT, .print = sym_swift_print_inverse)         \
    /* text: the letter; type, size?, alignment? */                                                \
    X(LAYOUT_REQUIREMENT, .flags = SWIFT_F_REQUIREMENT, .print = sym_swift_print_layout)           \
    X(SAME_TYPE_REQUIREMENT, .between = " == ", .flags = SWIFT_F_REQUIREMENT)                      \
    X(SAME_SHAPE_REQUIREMENT, .between = ".shape == ", .after = ".shape",                          \
      .flags = SWIFT_F_REQUIREMENT)                                                                \
    /* Implementation function types. */                                                           \
    X(IMPL_FUNCTION, .print = sym_swift_print_impl_function)                                       \
    X(IMPL_ATTRIBUTE, 0)                                                                           \
    /* text: name; optional child: the C type */                                                   \
    X(IMPL_CONVENTION, .print = sym_swift_print_impl_convention)                                   \
    X(IMPL_SENDING_RESULT, .before = "sending")                                                    \
    X(IMPL_PATTERN_SUBSTITUTIONS, 0)                                                               \
    X(IMPL_INVOCATION_SUBSTITUTIONS, 0)                                                            \
    /* text: everything before the type */                                                         \
    X(IMPL_PARAMETER, .between = " ")                                                              \
    X(IMPL_RESULT, .between = " ")                                                                 \
    X(IMPL_YIELD, .before = "@yields ", .between = " ")                                            \
    X(IMPL_ERROR, .before = "@error ", .between = " ")                                             \
    /* Conformances. */                                                                            \
    /* type, protocol, module, property? */                                                        \
    X(CONFORMANCE, .print = sym_swift_print_conformance)                                           \
    X(CONCRETE_CONFORMANCE, .before = "concrete protocol conformance ",                            \
      .flags = SWIFT_F_CONFORMANCE, .print = sym_swift_print_concrete)                             \
    X(PACK_CONFORMANCE, .before = "pack protocol conformance ", .flags = SWIFT_F_CONFORMANCE)      \
    X(CONFORMANCE_LIST, .print = sym_swift_print_conformance_list)                                 \
    /* these three: index, type or conformance, protocol */                                        \
    X(DEPENDENT_ROOT, .before = "dependent root protocol conformance ",                            \
      .flags = SWIFT_F_CONFORMANCE | SWIFT_F_DEPENDENT, .print = sym_swift_print_dependent)        \
    X(DEPENDENT_INHERITED, .before = "dependent inherited protocol conformance ",                  \
      .flags = SWIFT_F_CONFORMANCE | SWIFT_F_DEPENDENT, .print = sym_swift_print_dependent)        \
    X(DEPENDENT_ASSOCIATED, .before = "dependent associated protocol conformance ",                \
      .flags = SWIFT_F_CONFORMANCE | SWIFT_F_DEPENDENT, .print = sym_swift_print_dependent)        \
    X(DEPENDENT_OPAQUE, .before = "opaque result conformance ", .between = " of ",                 \
      .flags = SWIFT_F_CONFORMANCE)                                                                \
    X(ASSOCIATED_CONFORMANCE, .before = "dependent associated conformance ")                       \
    X(CONFORMANCE_IN_TYPE_MODULE, .before = "protocol conformance ref (type's module) ")           \
    X(CONFORMANCE_IN_PROTOCOL_MODULE, .before = "protocol conformance ref (protocol's module) ")   \
    X(CONFORMANCE_ELSEWHERE, .before = "protocol conformance ref (retroactive) ")                  \
    X(RETROACTIVE, .before = "retroactive @ ")                                                     \
    /* Attributes of a whole symbol, printed before it. */                                         \
    X(OBJC, .before = "@objc ", .flags = SWIFT_F_ATTRIBUTE)                                        \
    X(NON_OBJC, .before = "@nonobjc ", .flags = SWIFT_F_ATTRIBUTE)                                 \
    X(DYNAMIC, .before = "dynamic ", .flags = SWIFT_F_ATTRIBUTE)                                   \
    X(DIRECT_METHOD, .before = "super ", .flags = SWIFT_F_ATTRIBUTE)                               \
    X(VTABLE_ATTRIBUTE, .before = "override ", .flags = SWIFT_F_ATTRIBUTE)                         \
    X(PARTIAL_APPLY, .before = "partial apply forwarder", .flags = SWIFT_F_ATTRIBUTE,              \
      .print = sym_swift_print_partial_apply)                                                      \
    X(PARTIAL_APPLY_OBJC, .before = "partial apply ObjC forwarder", .flags = SWIFT_F_ATTRIBUTE,    \
      .print = sym_swift_print_partial_apply)                                                      \
    X(MERGED, .before = "merged ", .flags = SWIFT_F_LONG_ATTRIBUTE)                                \
    X(DISTRIBUTED_THUNK, .before = "distributed thunk ", .flags = SWIFT_F_LONG_ATTRIBUTE)          \
    X(DISTRIBUTED_ACCESSOR, .before = "distributed accessor for ",                                 \
      .flags = SWIFT_F_LONG_ATTRIBUTE)                                                             \
    X(REPLACEABLE_IMPL, .before = "dynamically replaceable thunk for ",                            \
      .flags = SWIFT_F_LONG_ATTRIBUTE)                                                             \
    X(REPLACEABLE_KEY, .before = "dynamically replaceable key for ",                               \
      .flags = SWIFT_F_LONG_ATTRIBUTE)                                                             \
    X(REPLACEABLE_VAR, .before = "dynamically replaceable variable for ",                          \
      .flags = SWIFT_F_LONG_ATTRIBUTE)                                                             \
    X(ASYNC_POINTER, .before = "async function pointer to ", .flags = SWIFT_F_ATTRIBUTE)           \
    X(CORO_POINTER, .before = "coro function pointer to ", .flags = SWIFT_F_ATTRIBUTE)             \
    X(DEFAULT_OVERRIDE, .before = "default override of ", .flags = SWIFT_F_ATTRIBUTE)              \
    X(AWAIT_RESUME, .format = "({0}) await resume partial function for ",                          \
      .flags = SWIFT_F_LONG_ATTRIBUTE)                                                             \
    X(SUSPEND_RESUME, .format = "({0}) suspend resume partial function for ",                      \
      .flags = SWIFT_F_LONG_ATTRIBUTE)                                                             \
    X(ACCESSIBLE_RECORD, .before = "accessible function runtime record for ",                      \
      .flags = SWIFT_F_LONG_ATTRIBUTE)                                                             \
    X(BACK_DEPLOYMENT_THUNK, .before = "back deployment thunk for ",                               \
      .flags = SWIFT_F_LONG_ATTRIBUTE)                                                             \
    X(BACK_DEPLOYMENT_FALLBACK, .before = "back deployment fallback for ",                         \
      .flags = SWIFT_F_ATTRIBUTE)                                                                  \
    X(HAS_SYMBOL, .before = "#_hasSymbol query for ", .flags = SWIFT_F_ATTRIBUTE)                  \
    X(OUTLINED_VARIABLE, .format = "outlined variable #{i} of ", .flags = SWIFT_F_ATTRIBUTE)       \
    X(OUTLINED_READ_ONLY, .format = "outlined read-only object #{i} of ",                          \
      .flags = SWIFT_F_ATTRIBUTE)                                                                  \
    X(OUTLINED_BRIDGED, .before = "outlined bridged method (", .after = ") of ",                   \
      .flags = SWIFT_F_ATTRIBUTE)                                                                  \
    /* Specializations. */                                                                         \
    X(FUNCTION_SPECIALIZATION, .before = "function signature specialization",                      \
      .flags = SWIFT_F_ATTRIBUTE, .print = sym_swift_print_specialization)                         \
    X(GENERIC_SPECIALIZATION, .before = "generic specialization", .flags = SWIFT_F_ATTRIBUTE,      \
      .print = sym_swift_print_specialization)                                                     \
    X(GENERIC_SPECIALIZATION_RESILIENT, .before = "generic specialization",                        \
      .flags = SWIFT_F_ATTRIBUTE, .print = sym_swift_print_specialization)                         \
    X(GENERIC_PRESPECIALIZATION, .before = "generic pre-specialization",                           \
      .flags = SWIFT_F_ATTRIBUTE, .print = sym_swift_print_specialization)                         \
    X(GENERIC_NOT_REABSTRACTED, .before = "generic not re-abstracted specialization",              \
      .flags = SWIFT_F_ATTRIBUTE, .print = sym_swift_print_specialization)                         \
    X(GENERIC_PARTIAL, .before = "generic partial specialization", .flags = SWIFT_F_ATTRIBUTE,     \
      .print = sym_swift_print_specialization)                                                     \
    X(GENERIC_PARTIAL_NOT_REABSTRACTED,                                                            \
      .before = "generic not-reabstracted partial specialization", .flags = SWIFT_F_ATTRIBUTE,     \
      .print = sym_swift_print_specialization)                                                     \
    X(INLINED_GENERIC, .before = "inlined generic function", .flags = SWIFT_F_ATTRIBUTE,           \
      .print = sym_swift_print_specialization)                                                     \
    X(SERIALIZED, .before = "serialized")                                                          \
    X(SPEC_PARAM, .print = sym_swift_print_spec_param)                                             \
    /* of a function specialization */                                                             \
    X(SPEC_ARGUMENT, .print = sym_swift_print_spec_argument)                                       \
    X(SPEC_RETURN, .print = sym_swift_print_spec_argument)                                         \
    /* index: enum sym_swift_spec or flags; text: encoding or digits */                            \
    X(SPEC_KIND, 0)                                                                                \
    X(SPEC_PAYLOAD, .print = sym_swift_print_spec_payload)                                         \
    /* Thunks, witnesses, metadata: most are a text before their child. */                         \
    /* from, to, signature? */                                                                     \
    X(REABSTRACTION, .before = "reabstraction thunk ", .print = sym_swift_print_reabstraction)     \
    X(REABSTRACTION_HELPER, .before = "reabstraction thunk helper ",                               \
      .print = sym_swift_print_reabstraction)                                                      \
    /* from, to, self, signature? */                                                               \
    X(REABSTRACTION_WITH_SELF, .before = "reabstraction thunk ",                                   \
      .print = sym_swift_print_reabstraction_self)                                                 \
    X(REABSTRACTION_WITH_ACTOR, .between = " with global actor constraint ")                       \
    /* index: error flag; block, result, signature? */                                             \
    X(COMPLETION_HANDLER, .before = "@objc completion handler block implementation for ",          \
      .print = sym_swift_print_completion)                                                         \
    X(PREDEFINED_COMPLETION_HANDLER,                                                               \
      .before = "predefined @objc completion handler block implementation for ",                   \
      .print = sym_swift_print_completion)                                                         \
    X(VTABLE_THUNK, .before = "vtable thunk for ", .between = " dispatching to ")                  \
    X(PROTOCOL_WITNESS, .before = "protocol witness for ", .between = " in conformance ")          \
    X(SELF_CONFORMANCE_WITNESS, .before = "protocol self-conformance witness for ")                \
    X(METHOD_DESCRIPTOR, .before = "method descriptor for ", .flags = SWIFT_F_CONTEXT)             \
    X(COROUTINE_PROTOTYPE, .before = "coroutine continuation prototype for ")                      \
    X(KEY_PATH_GETTER, .before = "key path getter for ", .print = sym_swift_print_key_path)        \
    X(KEY_PATH_SETTER, .before = "key path setter for ", .print = sym_swift_print_key_path)        \
    X(KEY_PATH_UNAPPLIED, .before = "key path unapplied method ",                                  \
      .print = sym_swift_print_key_path)                                                           \
    X(KEY_PATH_APPLIED, .before = "key path applied method ", .print = sym_swift_print_key_path)   \
    X(KEY_PATH_EQUALS, .before = "key path index equality operator for ",                          \
      .print = sym_swift_print_key_path_index)                                                     \
    X(KEY_PATH_HASH, .before = "key path index hash operator for ",                                \
      .print = sym_swift_print_key_path_index)                                                     \
    X(AUTODIFF_FUNCTION, .flags = SWIFT_F_CONTEXT, .print = sym_swift_print_autodiff)              \
    X(AUTODIFF_VTABLE_THUNK, .before = "vtable thunk for ", .flags = SWIFT_F_CONTEXT,              \
      .print = sym_swift_print_autodiff)                                                           \
    X(AUTODIFF_SELF_REORDERING, .print = sym_swift_print_self_reordering)                          \
    X(AUTODIFF_SUBSET_THUNK, .print = sym_swift_print_subset_thunk)                                \
    X(AUTODIFF_KIND, 0)                                                                            \
    X(DIFFERENTIABILITY_WITNESS, .print = sym_swift_print_differentiability)                       \
    X(INDEX_SUBSET, .print = sym_swift_print_index_subset)                                         \
    /* text: which */                                                                              \
    X(VALUE_WITNESS, .print = sym_swift_print_value_witness)                                       \
    X(VALUE_WITNESS_TABLE, .before = "value witness table for ")                                   \
    X(FIELD_OFFSET, .between = "field offset for ")                                                \
    X(DIRECTNESS, 0)                                                                               \
    X(ENUM_CASE, .before = "enum case for ")                                                       \
    X(SELF_CONFORMANCE_TABLE, .before = "protocol self-conformance witness table for ")            \
    X(WITNESS_TABLE, .before = "protocol witness table for ")                                      \
    X(WITNESS_TABLE_PATTERN, .before = "protocol witness table pattern for ")                      \
    X(GENERIC_WITNESS_TABLE, .before = "generic protocol witness table for ")                      \
    X(GENERIC_WITNESS_TABLE_INSTANTIATION,                                                         \
      .before = "instantiation function for generic protocol witness table for ")                  \
    X(RESILIENT_WITNESS_TABLE, .before = "resilient protocol witness table for ")                  \
    X(WITNESS_TABLE_ACCESSOR, .before = "protocol witness table accessor for ")                    \
    X(LAZY_WITNESS_TABLE_ACCESSOR, .before = "lazy protocol witness table accessor for type ",     \
      .between = " and conformance ")                                                              \
    X(LAZY_WITNESS_TABLE_CACHE, .before = "lazy protocol witness table cache variable for type ",  \
      .between = " and conformance ")                                                              \
    X(ASSOC_METADATA_ACCESSOR, .before = "associated type metadata accessor for ",                 \
      .between = " in ")                                                                           \
    X(DEFAULT_ASSOC_METADATA_ACCESSOR, .before = "default associated type metadata accessor for ") \
    X(ASSOC_WITNESS_TABLE_ACCESSOR,                                                                \
      .format = "associated type witness table accessor for {1} : {2} in {0}")                     \
    X(BASE_WITNESS_TABLE_ACCESSOR, .before = "base witness table accessor for ",                   \
      .between = " in ")                                                                           \
    X(ASSOC_CONFORMANCE_DESCRIPTOR,                                                                \
      .format = "associated conformance descriptor for {0}.{1}: {2}")                              \
    X(DEFAULT_ASSOC_CONFORMANCE,                                                                   \
      .format = "default associated conformance accessor for {0}.{1}: {2}")                        \
    X(BASE_CONFORMANCE_DESCRIPTOR, .before = "base conformance descriptor for ", .between = ": ")  \
    X(ASSOC_TYPE_DESCRIPTOR, .before = "associated type descriptor for ")                          \
    X(REQUIREMENTS_BASE, .before = "protocol requirements base descriptor for ")                   \
    X(OUTLINED_COPY, .before = "outlined copy of ")                                                \
    X(OUTLINED_CONSUME, .before = "outlined consume of ")                                          \
    X(OUTLINED_RETAIN, .format = "outlined retain of {0}")                                         \
    X(OUTLINED_RELEASE, .format = "outlined release of {0}")                                       \
    X(OUTLINED_INIT_TAKE, .format = "outlined init with take of {0}")                              \
    X(OUTLINED_INIT_COPY, .format = "outlined init with copy of {0}")                              \
    X(OUTLINED_ASSIGN_TAKE, .format = "outlined assign with take of {0}")                          \
    X(OUTLINED_ASSIGN_COPY, .format = "outlined assign with copy of {0}")                          \
    X(OUTLINED_DESTROY, .format = "outlined destroy of {0}")                                       \
    X(OUTLINED_TAG_STORE, .format = "outlined enum tag store of {0}")                              \
    X(OUTLINED_PROJECT, .format = "outlined enum project data for load of {0}")                    \
    X(OUTLINED_GET_TAG, .format = "outlined enum get tag of {0}")                                  \
    /* list, context */                                                                            \
    X(ONCE_FUNCTION, .format = "one-time initialization function for {0}")                         \
    X(ONCE_TOKEN, .format = "one-time initialization token for {0}")                               \
    X(ONCE_LIST, .print = sym_swift_print_once_list)                                               \
    X(METADATA, .before = "type metadata for ")                                                    \
    X(FULL_METADATA, .before = "full type metadata for ")                                          \
    X(METADATA_ACCESSOR, .before = "type metadata accessor for ")                                  \
    X(METADATA_PATTERN, .before = "generic type metadata pattern for ")                            \
    X(METADATA_LAZY_CACHE, .before = "lazy cache variable for type metadata for ")                 \
    X(METADATA_DEMANGLING_CACHE, .before = "demangling cache variable for type metadata for ")     \
    X(METADATA_INSTANTIATION_FUNCTION, .before = "type metadata instantiation function for ")      \
    X(METADATA_INSTANTIATION_CACHE, .before = "type metadata instantiation cache for ")            \
    X(METADATA_SINGLETON_CACHE, .before = "type metadata singleton initialization cache for ")     \
    X(METADATA_COMPLETION, .before = "type metadata completion function for ")                     \
    X(METADATA_CACHE, .before = "metadata instantiation cache for ")                               \
    X(SPECIALIZED_METADATA_ACCESSOR,                                                               \
      .before = "canonical specialized generic type metadata accessor for ")                       \
    X(SPECIALIZED_METACLASS, .before = "specialized generic metaclass for ")                       \
    X(NONCANONICAL_METADATA, .before = "noncanonical specialized generic type metadata for ")      \
    X(NONCANONICAL_METADATA_CACHE,                                                                 \
      .before = "cache variable for noncanonical specialized generic type metadata for ")          \
    X(CANONICAL_ONCE_TOKEN,                                                                        \
      .before = "flag for loading of canonical specialized generic type metadata for ")            \
    X(METACLASS, .before = "metaclass for ")                                                       \
    X(NOMINAL_DESCRIPTOR, .before = "nominal type descriptor for ")                                \
    X(NOMINAL_RECORD, .before = "nominal type descriptor runtime record for ")                     \
    X(PROTOCOL_DESCRIPTOR, .before = "protocol descriptor for ")                                   \
    X(PROTOCOL_RECORD, .before = "protocol descriptor runtime record for ")                        \
    X(CONFORMANCE_DESCRIPTOR, .before = "protocol conformance descriptor for ")                    \
    X(CONFORMANCE_RECORD, .before = "protocol conformance descriptor runtime record for ")         \
    X(SELF_CONFORMANCE_DESCRIPTOR, .before = "protocol self-conformance descriptor for ")          \
    X(OPAQUE_DESCRIPTOR, .before = "opaque type descriptor for ")                                  \
    X(OPAQUE_RECORD, .before = "opaque type descriptor runtime record for ")                       \
    X(OPAQUE_ACCESSOR, .before = "opaque type descriptor accessor for ")                           \
    X(OPAQUE_ACCESSOR_IMPL, .before = "opaque type descriptor accessor impl for ")                 \
    X(OPAQUE_ACCESSOR_KEY, .before = "opaque type descriptor accessor key for ")                   \
    X(OPAQUE_ACCESSOR_VAR, .before = "opaque type descriptor accessor var for ")                   \
    X(PROPERTY_DESCRIPTOR, .before = "property descriptor for ")                                   \
    X(MODULE_DESCRIPTOR, .before = "module descriptor ")                                           \
    X(EXTENSION_DESCRIPTOR, .before = "extension descriptor ")                                     \
    X(ANONYMOUS_DESCRIPTOR, .format = "anonymous descriptor {0}")                                  \
    X(ASSOC_PARAM_REF, .before = "generic parameter reference for associated type ")               \
    X(CLASS_BASE_OFFSET, .before = "class metadata base offset for ")                              \
    X(METHOD_LOOKUP, .before = "method lookup function for ")                                      \
    X(OBJC_UPDATE, .before = "ObjC metadata update function for ")                                 \
    X(OBJC_STUB, .before = "ObjC resilient class stub for ")                                       \
    X(FULL_OBJC_STUB, .before = "full ObjC resilient class stub for ")                             \
    X(UNIQUABLE, .before = "uniquable ")                                                           \
    X(REFLECTION_BUILTIN, .before = "reflection metadata builtin descriptor ")                     \
    X(REFLECTION_FIELD, .before = "reflection metadata field descriptor ")                         \
    X(REFLECTION_ASSOC, .before = "reflection metadata associated type descriptor ")               \
    X(REFLECTION_SUPERCLASS, .before = "reflection metadata superclass descriptor ")

#endif
