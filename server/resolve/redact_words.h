/*
 * Words of identifiers that name secrets and personal data.
 */
#ifndef RESOLVE_REDACT_WORDS_H
#define RESOLVE_REDACT_WORDS_H

#include <stdbool.h>

#include "base/span.h"

/* The names of variables, and of types: some words are too common among types. */
enum resolve_words_of { RESOLVE_WORDS_OF_NAME, RESOLVE_WORDS_OF_TYPE };

/* Is a word of the identifiers in `text`, or two or three in a row, on the list? Words end at
 * capitals, digits and everything that is not a letter: "userPIN", "APIKey2", "m_auth_token". */
bool resolve_words_have_secret(struct fz_span text, enum resolve_words_of of);

#endif
