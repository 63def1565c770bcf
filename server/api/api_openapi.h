/*
 * The OpenAPI description, docs/api/openapi.json, compiled in, so that no further file has to be
 * installed.
 */
#ifndef API_OPENAPI_H
#define API_OPENAPI_H

#include <stddef.h>

extern const unsigned char api_openapi_json[];
extern const size_t api_openapi_json_len;

#endif
