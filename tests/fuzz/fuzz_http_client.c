/*
 * Who a request comes from: any bytes as the operator's list of proxies (first line), the address of the peer (second), and
 * header fields (each further line: one byte for the name, then the value).
 */
#include <stdlib.h>
#include <string.h>

#include "server/http/client.h"

enum { FIELDS_MAX = 16 };

/* The text up to the next line end, as a string that is the caller's, and what follows it. */
static char *
take_line(struct fz_span *rest)
{
    const uint8_t *end = rest->len ? memchr(rest->data, '\n', rest->len) : NULL;
    size_t len = end ? (size_t)(end - rest->data) : rest->len;
    char *line = malloc(len + 1);
    if (len)
        memcpy(line, rest->data, len);
    line[len] = '\0';
    size_t used = end ? len + 1 : len;
    *rest = fz_span_make(rest->len > used ? rest->data + used : NULL, rest->len - used);
    return line;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"X-Forwarded-For", "Forwarded", "X-Real-IP", "Host"};
    struct fz_span rest = fz_span_make(size ? data : NULL, size);
    struct http_field fields[FIELDS_MAX];
    char *values[FIELDS_MAX];
    struct http_proxies proxies = {.n = 0};
    struct http_client client;
    struct fz_ip peer;
    size_t n = 0;
    char *list = take_line(&rest), *address = take_line(&rest);
    bool is_peer = http_address_parse(fz_span_cstr(address), &peer);
    if (http_proxies_parse(list, &proxies, NULL) != FZ_OK)
        proxies.n = 0;
    if (!http_origins_fault(list) && http_origins_allows(list, "https://a.example") &&
        !strstr(list, "*") && !strstr(list, "https://a.example"))
        abort();
    while (rest.len && n < FIELDS_MAX) {
        values[n] = take_line(&rest);
        fields[n].name = fz_span_cstr(names[(unsigned char)values[n][0] % 4]);
        fields[n].value = fz_span_cstr(values[n][0] ? values[n] + 1 : "");
        n++;
    }
    if (is_peer) {
        http_client_find(&proxies, &peer, fields, n, &client);
        /* Nobody but a trusted proxy is believed. */
        struct http_client alone;
        http_client_of(&peer, &alone);
        if (!http_proxies_trust(&proxies, &peer) && strcmp(client.text, alone.text) != 0)
            abort();
        if (strnlen(client.text, sizeof(client.text)) == sizeof(client.text))
            abort();
    }
    for (size_t i = 0; i < n; i++)
        free(values[i]);
    free(list);
    free(address);
    return 0;
}
