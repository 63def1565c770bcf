/*
 * Types: what a DW_AT_type leads to, its size, and its name as a C, C++ or Objective-C programmer
 * writes it.
 *
 * Each type is read once for a process and kept. A type that cannot be read is TYPE_UNKNOWN.
 */
#ifndef VARIABLES_TYPE_H
#define VARIABLES_TYPE_H

#include "symbolicator/variables/context.h"

enum variables_type_kind {
    TYPE_UNKNOWN,
    TYPE_VOID,
    TYPE_BASE,
    TYPE_POINTER,
    TYPE_REFERENCE, /* & and && */
    TYPE_MEMBER_POINTER,
    TYPE_RECORD, /* struct, class, union */
    TYPE_ENUM,
    TYPE_ARRAY,
    TYPE_FUNCTION,
};

enum { VARIABLES_DIMENSIONS_MAX = 8 };

struct variables_completion; /* type.c */

struct variables_type {
    enum variables_type_kind kind;
    const char *name;         /* as declared: "const char *", "struct item", "BOOL"; NULL = none */
    struct variables_die die; /* without typedefs and qualifiers; none for void */
    uint64_t size;            /* bytes; 0 = not known */
    unsigned encoding;        /* DW_ATE_* of a base type */
    bool is_union, is_objc_class, is_swift, is_vector, is_incomplete;
    bool is_const;                             /* no one may change a variable of it */
    bool is_objc_bool;                         /* BOOL, whatever that is here */
    bool is_boolean;                           /* typedef Boolean of CoreFoundation */
    uint64_t counts[VARIABLES_DIMENSIONS_MAX]; /* of an array: elements of each dimension */
    unsigned n_counts;
    bool is_sized_late; /* a dimension has a variable as its bound: counts has 0 for it */
    bool is_flexible;   /* the first dimension has no bound */
    const struct variables_type *element;    /* of an array, all dimensions taken off */
    struct variables_completion *completion; /* NULL: there is nothing to look for */
};

/* The type that DW_AT_type of a DIE, or of its origins, names; void without one. Never NULL. */
const struct variables_type *variables_type_of(const struct variables_die *die);
/* The type with this DIE. Never NULL. */
const struct variables_type *variables_type_at(const struct variables_die *die);
/* The definition of a type that its unit only declares, looked for once; of an Objective-C class the
 * one with all ivars. The type itself if it is complete or nothing better is known. */
const struct variables_type *variables_type_complete(const struct variables_type *type);
/* Why a type that stays incomplete has no definition. */
enum sym_availability variables_type_missing(const struct variables_type *type);
/* The name of a type DIE without typedef: "Item", "basic_string<char>"; empty if it has none. */
struct fz_span variables_type_tag_name(const struct variables_type *type);
/* Is it a base type of this name ("char", "wchar_t")? */
bool variables_type_is_named(const struct variables_type *type, const char *name);

#endif
