/* A request target: parsed, matched, its query read. */
#include <stdint.h>
#include <stdlib.h>

#include "server/http/uri.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct http_uri uri;
    struct http_params params;
    if (http_uri_parse(fz_span_make(data, size), &uri, NULL))
        return 0;
    static const char *const patterns[] = {"/", "/api/v1/reports/{id}", "/{a}/{b}/{c}/{d}"};
    size_t total = 0;
    for (size_t i = 0; i < FZ_ARRAY_LEN(patterns); i++) {
        if (!http_uri_match(&uri, patterns[i], (enum http_match)(size % 3), &params))
            continue;
        for (size_t k = 0; k < params.n; k++)
            total += strlen(params.pairs[k].value);
    }
    for (size_t i = 0; i < uri.n_query; i++)
        total += strlen(uri.query[i].name) + strlen(uri.query[i].value);
    /* Decoding never grows a text. */
    if (total > 2 * size)
        abort();
    http_uri_deinit(&uri);
    return 0;
}
