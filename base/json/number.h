/*
 * Which numbers of JSON jansson can hold: integers of 64 bits with sign, and doubles. Private to
 * this folder.
 */
#ifndef BASE_JSON_NUMBER_H
#define BASE_JSON_NUMBER_H

#include "base/span.h"

/* `number` is a well-formed JSON number; `is_int`: without fraction and exponent. */
bool json_number_fits(struct fz_span number, bool is_int);

#endif
