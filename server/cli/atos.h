/*
 * Addresses to the lines that Apple's atos prints.
 *
 *   main (in Demo) (main.c:5)     with debug information
 *   main (in Demo) + 16           with the symbol table only
 *   0x100000000                   nothing found: the address as it was given
 *
 * Within an inlined call, the first form names the function that has a frame of its own, and the
 * file and line of the innermost call: main (in Demo) (inline.h:12). With `inlines` each call has
 * its own line.
 */
#ifndef CLI_ATOS_H
#define CLI_ATOS_H

#include "base/buffer.h"
#include "symbolicator/symbolicator.h"

struct atos_options {
    bool has_load, has_slide, is_offset; /* at most one */
    uint64_t load, slide;
    bool inlines;          /* the inlined calls too, innermost first */
    bool full_path;        /* of source files; else only their names */
    const char *delimiter; /* between inlined calls; NULL: a newline */
};

/* A number as atos reads it: hex with 0x, with a leading zero or with hex letters; else decimal. */
bool atos_parse(const char *text, uint64_t *ret);

/* Append the line for `word`, newline included. A word that is not an address is appended as it is. */
void atos_line(const struct sym_index *index, const char *image, const char *word,
               const struct atos_options *options, struct fz_buffer *out);

#endif
