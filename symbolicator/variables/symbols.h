/*
 * Data symbols by name and by address, and constant data of binaries: classes of Objective-C and
 * Swift, offsets of ivars, vtables.
 */
#ifndef VARIABLES_SYMBOLS_H
#define VARIABLES_SYMBOLS_H

#include "symbolicator/variables/context.h"

/* The image with an address of its code or data, and the address in the file; NULL: none that was
 * opened has it. Reports give the size of an image's code alone, so data is found by segments. */
struct variables_image *variables_symbols_image(struct sym_variables *variables, uint64_t address,
                                                uint64_t *ret_addr);

/* The address in the file of a symbol with this name; false if there is none. */
bool variables_symbols_find(struct variables_image *image, const char *name, uint64_t *ret);
/* The address of a function by its linkage name, without the first underscore of the symbol; false
 * if there is none, or several. */
bool variables_symbols_function(struct variables_image *image, struct fz_span name, uint64_t *ret);
/* The name of the symbol at exactly this address of the file that begins with `prefix`; NULL if
 * there is none. Borrowed from the file. */
const char *variables_symbols_at(struct variables_image *image, uint64_t addr, const char *prefix);

/* Bytes at an address of the process that no one changes and that are no pointers: as captured,
 * else as they are in the binary, data sections included. */
bool variables_symbols_constant(struct sym_variables *variables, uint64_t address, unsigned size,
                                uint64_t *ret);
/* The bytes of a binary's section `name` that hold an address of its file; empty if it has none. */
struct fz_span variables_symbols_bytes(const struct variables_image *image, uint64_t addr);
/* Is the address in a section of this name? */
bool variables_symbols_in(const struct variables_image *image, uint64_t addr, const char *section);
int64_t variables_symbols_signed(uint64_t number, unsigned size);

#endif
