/*
 * The frames of an address as `framezero lookup` writes them: lines of text, or a line of JSON.
 *
 * A printer keeps what it has made of names and paths once, since the same few functions are asked
 * for again and again and demangling costs more than looking up. It belongs to one thread; any
 * number of printers may share an index, which has to outlive them.
 */
#ifndef SERVER_LOOKUP_PRINT_H
#define SERVER_LOOKUP_PRINT_H

#include "base/buffer.h"
#include "symbolicator/index.h"

struct lookup_printer;

/* The caller owns it and ends it with lookup_printer_destroy(); NULL: out of memory. `stack_room`
 * is that of struct sym_demangle_options. */
struct lookup_printer *lookup_printer_create(const struct sym_index *index, bool is_json,
                                             size_t stack_room);
void lookup_printer_destroy(struct lookup_printer *printer);

/* Look `addr` up and append what is found, newline included. */
void lookup_print(struct lookup_printer *printer, uint64_t addr, struct fz_buffer *out);

#endif
