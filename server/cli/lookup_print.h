/*
 * The frames of an address as `framezero lookup` writes them: lines of text, or a line of JSON.
 *
 * What a printer makes of names and paths it keeps, since the same few functions are asked for
 * again and again and demangling costs more than looking up. A printer belongs to one thread; any
 * number of them may share an index and pieces (for text and for JSON they are different), which
 * have to outlive them.
 */
#ifndef CLI_LOOKUP_PRINT_H
#define CLI_LOOKUP_PRINT_H

#include "base/buffer.h"
#include "server/cli/lookup_pieces.h"
#include "symbolicator/symbolicator.h"

struct lookup_printer;

/* The caller owns it and ends it with lookup_printer_destroy(); NULL: out of memory. `stack_room`
 * is that of struct sym_demangle_options. */
struct lookup_printer *lookup_printer_create(const struct sym_index *index,
                                             struct lookup_pieces *pieces, bool is_json,
                                             size_t stack_room);
void lookup_printer_destroy(struct lookup_printer *printer);

/* Look the addresses up and append what is found, newlines included. */
void lookup_print(struct lookup_printer *printer, const uint64_t *addrs, size_t n,
                  struct fz_buffer *out);

#endif
