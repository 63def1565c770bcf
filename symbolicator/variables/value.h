/*
 * Values: from a place and a type to text and fields.
 *
 * Each kind of type has a file. They fill the parts of a value through variables->fill, which
 * chooses by the type.
 */
#ifndef VARIABLES_VALUE_H
#define VARIABLES_VALUE_H

#include "symbolicator/variables/type.h"

/* One variable that is being read, with what limits it. */
struct variables_value {
    struct sym_variables *variables;
    struct variables_frame *frame;
    enum sym_variable_kind kind; /* of the variable; its parts have the same */
    unsigned depth;              /* of fields in fields */
    unsigned n_followed;         /* pointers from the variable to here */
    unsigned n_fields;           /* of all depths */
    unsigned n_visited;
    struct {
        uint64_t address;
        const struct variables_type *type;
    } visited[VARIABLES_VISITED_MAX];
};

/* A list of fields that grows up to a limit. */
struct variables_fields {
    struct variables_value *value;
    struct sym_variable *list;
    size_t n, room, n_cut, limit;
};

/* The next field, with name and type set, or NULL: too many, or no memory. `name` is kept. */
struct sym_variable *variables_fields_add(struct variables_fields *fields, const char *name,
                                          const struct variables_type *type);
/* Give the fields to `out`, whose availability follows from theirs. */
void variables_fields_done(const struct variables_fields *fields, struct sym_variable *out);

/* value.c: a variables_fill_fn. Sets everything of `out` but name, type and kind. */
void variables_value_fill(struct variables_value *value, const struct variables_type *type,
                          const struct variables_place *place, struct sym_variable *out);
/* The same for a part: one level deeper. */
void variables_value_part(struct variables_value *value, const struct variables_type *type,
                          const struct variables_place *place, struct sym_variable *out);
/* No value, for this reason. */
void variables_value_absent(struct sym_variable *out, enum sym_availability why);
void variables_value_text(struct variables_value *value, struct sym_variable *out,
                          const char *text);

/* scalar.c */
void variables_scalar_fill(struct variables_value *value, const struct variables_type *type,
                           const struct variables_place *place, struct sym_variable *out);
/* A number of `bits` bits with the meaning of a base type or enum, as for bit-fields. */
void variables_scalar_number(struct variables_value *value, const struct variables_type *type,
                             uint64_t number, struct sym_variable *out);
/* Is it C's char, which prints as a character? */
bool variables_scalar_is_char(const struct variables_type *type);
/* enumeration.c */
void variables_enum_number(struct variables_value *value, const struct variables_type *type,
                           uint64_t number, unsigned bits, struct sym_variable *out);

/* string.c: text in quotes with escapes; `is_cut`: more of it was not read. */
void variables_string_append(struct fz_buffer *out, struct fz_span text, bool is_cut);
/* A C string in memory: up to its NUL, the limit, or the end of what was captured. False: not even
 * its first byte was. */
bool variables_string_at(struct variables_value *value, uint64_t address, struct fz_buffer *out);
void variables_string_char(struct fz_buffer *out, const char *prefix, uint32_t c);

/* pointer.c */
void variables_pointer_fill(struct variables_value *value, const struct variables_type *type,
                            const struct variables_place *place, struct sym_variable *out);
void variables_reference_fill(struct variables_value *value, const struct variables_type *type,
                              const struct variables_place *place, struct sym_variable *out);
void variables_member_pointer_fill(struct variables_value *value, const struct variables_type *type,
                                   const struct variables_place *place, struct sym_variable *out);
/* The name of the function at an address of the process, "" if there is none. */
const char *variables_pointer_function(struct sym_variables *variables, uint64_t address);
/* May what is at the address be shown? Counts it as followed. False: a cycle or a limit. */
bool variables_pointer_follow(struct variables_value *value, uint64_t address,
                              const struct variables_type *type);

/* record.c, array.c */
void variables_record_fill(struct variables_value *value, const struct variables_type *type,
                           const struct variables_place *place, struct sym_variable *out);
/* Append the members, and those of bases as fields of one field. */
void variables_record_members(const struct variables_type *type,
                              const struct variables_place *place, struct variables_fields *fields);
/* A member that is a bit-field, by its offsets from the start of `record`; false for others. */
bool variables_record_bits(struct variables_value *value, const struct variables_die *member,
                           const struct variables_place *record, struct sym_variable *out);
/* The member `name` of a record, also in its bases and unnamed members, and where it is. */
bool variables_record_find(struct variables_value *value, const struct variables_type *type,
                           const struct variables_place *place, const char *name,
                           const struct variables_type **ret_type, struct variables_place *ret);
void variables_array_fill(struct variables_value *value, const struct variables_type *type,
                          const struct variables_place *place, struct sym_variable *out);
/* `n` elements of one type, one after the other. */
void variables_array_elements(struct variables_value *value, const struct variables_type *element,
                              const struct variables_place *place, uint64_t n,
                              struct sym_variable *out);

/* objc.c, cxx.c, swift.c: true if the type was one of theirs. */
bool variables_objc_pointer(struct variables_value *value, const struct variables_type *type,
                            const struct variables_place *place, struct sym_variable *out);
bool variables_objc_fill(struct variables_value *value, const struct variables_type *type,
                         const struct variables_place *place, struct sym_variable *out);
bool variables_cxx_fill(struct variables_value *value, const struct variables_type *type,
                        const struct variables_place *place, struct sym_variable *out);
bool variables_swift_fill(struct variables_value *value, const struct variables_type *type,
                          const struct variables_place *place, struct sym_variable *out);

#endif
