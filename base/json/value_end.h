/*
 * Where a value of a JSON text ends, without reading what is inside.
 *
 * The text need not be valid: brackets of both kinds are counted alike, and what is between them and the strings is passed over.
 */
#ifndef BASE_JSON_VALUE_END_H
#define BASE_JSON_VALUE_END_H

#include "base/span.h"

/* The position after the closing quote of the string that opens at `pos`; text.len + 1 if it does not close. */
size_t json_string_end(struct fz_span text, size_t pos);

/* The position after the value at `pos`; text.len + 1 if the text ends inside it. A number or a word ends at a comma, white space or
 * a bracket that closes what is around it. */
size_t json_value_end(struct fz_span text, size_t pos);

#endif
