/*
 * The origins whose pages may use the API, as an operator lists them.
 */
#ifndef HTTP_ORIGINS_H
#define HTTP_ORIGINS_H

#include <stdbool.h>

/* Is `origin` among `origins` (separated by commas or spaces, "*" is any)? Byte by byte, since a
 * browser sends the one serialised form. NULL or "": none. */
bool http_origins_allows(const char *origins, const char *origin);

/* An origin list as an operator writes it: NULL if it is sound, else the first element that is not
 * an origin ("https://host[:port]", "http://…", or "*"), within `origins`. */
const char *http_origins_fault(const char *origins);

#endif
