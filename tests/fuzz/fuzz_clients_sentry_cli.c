/* The token in any Authorization header: bounded, and never with a NUL or more than its room. */
#include <stdlib.h>
#include <string.h>

#include "server/clients/sentry/cli.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char room[API_TOKEN_ROOM];
    char *header = malloc(size + 1);
    if (!header)
        return 0;
    if (size)
        memcpy(header, data, size);
    header[size] = '\0';
    const char *token = sentry_cli_credential(header, room);
    bool in_room = token == room;
    bool in_header = token >= header && token <= header + size;
    if (token && *token && !in_room && !in_header)
        abort();
    if (in_room && strlen(token) >= sizeof(room))
        abort();
    free(header);
    return 0;
}
