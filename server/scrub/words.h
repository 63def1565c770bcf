/*
 * Words of identifiers that name secrets and personal data.
 */
#ifndef SCRUB_WORDS_H
#define SCRUB_WORDS_H

#include <stdbool.h>

#include "base/span.h"

/* The names of variables, and of types: some words are too common among types. */
enum scrub_words_of { SCRUB_WORDS_OF_NAME, SCRUB_WORDS_OF_TYPE };

/* Is a word of the identifiers in `text`, or two or three in a row, on the list? Words end at
 * capitals, digits and everything that is not a letter: "userPIN", "APIKey2", "m_auth_token". */
bool scrub_words_have_secret(struct fz_span text, enum scrub_words_of of);

#endif
