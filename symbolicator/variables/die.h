/*
 * Random access to the DIEs of an image: attributes by name, children, siblings, references.
 *
 * A DIE is a small value that points into the DWARF of its image and stays valid as long as that is
 * open. Everything is checked when it is read: a broken DIE has no attributes and no children. Each
 * DIE that is looked at is counted against the limit of its frame. Source: DWARF 5, chapters 2 and
 * 7.5.
 */
#ifndef VARIABLES_DIE_H
#define VARIABLES_DIE_H

#include "symbolicator/dwarf/scanner.h"

struct variables_image; /* image.h */

struct variables_die {
    struct variables_image *image; /* NULL: no DIE */
    const struct sym_dwarf_unit *unit;
    const struct dwarf_abbrev *abbrev;
    uint64_t offset; /* in .debug_info */
    uint64_t attrs;  /* of its first attribute */
};

/* `block` holds the bytes of blocks, expressions and DW_FORM_data16. form 0: it is not there. */
struct variables_attr {
    uint16_t name;
    struct dwarf_value value;
    struct fz_span block;
};

/* False: there is no DIE, or too many were looked at. */
bool variables_die_at(struct variables_image *image, uint64_t offset, struct variables_die *ret);
unsigned variables_die_tag(const struct variables_die *die); /* 0 for no DIE */

/* The attribute of this DIE; false if it has none. */
bool variables_die_attr(const struct variables_die *die, unsigned name, struct variables_attr *ret);
/* The same, also of the DIEs that it names as abstract origin or specification, at most 16.
 * *ret_owner (may be NULL): the one that has it. */
bool variables_die_attr_deep(const struct variables_die *die, unsigned name,
                             struct variables_attr *ret, struct variables_die *ret_owner);
/* The DIE that a reference names. */
bool variables_die_follow(const struct variables_die *die, const struct variables_attr *attr,
                          struct variables_die *ret);
/* The DIE that the attribute `name` of this DIE or of its origins refers to. */
bool variables_die_ref(const struct variables_die *die, unsigned name, struct variables_die *ret);
/* The last one of a chain of abstract origins and specifications; the DIE itself without one. */
struct variables_die variables_die_origin(const struct variables_die *die);

/* The first child; false if it has none. */
bool variables_die_child(const struct variables_die *die, struct variables_die *ret);
/* The DIE after this one and its children, with the same parent. `ret` may be `die`. */
bool variables_die_next(const struct variables_die *die, struct variables_die *ret);

/* An unsigned constant; negative ones are sign-extended where the form says so. False for another
 * class. */
bool variables_attr_uint(const struct variables_attr *attr, uint64_t *ret);
/* The same where a number of 1 to 8 bytes counts as signed. */
bool variables_attr_int(const struct variables_attr *attr, int64_t *ret);
bool variables_die_uint(const struct variables_die *die, unsigned name, uint64_t *ret);
bool variables_die_flag(const struct variables_die *die, unsigned name);
/* An address in the file. */
bool variables_die_address(const struct variables_die *die, unsigned name, uint64_t *ret);
/* A name; empty if there is none. The _deep one looks at the origins too. */
struct fz_span variables_die_string(const struct variables_die *die, unsigned name);
struct fz_span variables_die_string_deep(const struct variables_die *die, unsigned name);
bool variables_attr_is_block(const struct variables_attr *attr);

/* Call `add` for each range of addresses of a DIE: low_pc with high_pc, or DW_AT_ranges. */
void variables_die_ranges(const struct variables_die *die, range_fn add, void *user);
bool variables_die_covers(const struct variables_die *die, uint64_t pc);

#endif
