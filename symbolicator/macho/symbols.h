/*
 * What the readers of names share: which sections hold code, which names are skipped, the order.
 * Private to symbolicator/macho.
 */
#ifndef SYM_MACHO_SYMBOLS_H
#define SYM_MACHO_SYMBOLS_H

#include "symbolicator/macho/macho.h"

bool macho_is_code(const struct sym_section *section);

/* Names that no function has: the linker's mark of the header, assembler labels, and what strip
 * leaves. */
bool macho_is_placeholder(const char *name, size_t len);

/* Sort by address, symbols of one address keep their order. Scratch memory is taken within what is
 * left of the arena's cap, and given back. */
FZ_MUST_CHECK enum fz_code macho_sort_symbols(struct sym_symbol *symbols, size_t n,
                                              const struct fz_arena *arena, struct fz_error *err);

#endif
