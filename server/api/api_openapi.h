/*
 * The OpenAPI description, docs/api/openapi.json, compiled in so that one binary is all there is.
 */
#ifndef API_OPENAPI_H
#define API_OPENAPI_H

#include <stddef.h>

extern const unsigned char api_openapi_json[];
extern const size_t api_openapi_json_len;

#endif
