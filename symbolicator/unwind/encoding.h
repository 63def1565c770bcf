/*
 * Encodings of compact unwind information, by processor.
 *
 * False: the encoding sends to __eh_frame, or is not one. Source: mach-o/compact_unwind_encoding.h.
 */
#ifndef UNWIND_ENCODING_H
#define UNWIND_ENCODING_H

#include "symbolicator/unwind/step.h"

/* compact.c: the encoding of an offset from the start of the image; false if there is none. */
bool unwind_encoding_find(struct fz_span unwind_info, uint32_t offset, uint32_t *ret);

/* encoding.c */
bool unwind_encoding_arm64(uint32_t encoding, struct unwind_row *ret);
bool unwind_encoding_arm(uint32_t encoding, struct unwind_row *ret); /* of armv7k */
/* Reads the code if the encoding says that the frame's size is in an instruction. */
bool unwind_encoding_x86(struct unwind_step *step, uint32_t encoding, struct unwind_row *ret);
/* The registers of frameless functions in the order of their addresses, as numbers 1 to 6 of the
 * encoding; false if `n` registers have no such order. */
bool unwind_encoding_permutation(uint32_t permutation, unsigned n, uint8_t ret[6]);

#endif
