/* The kernel's record of a crash, as the client's extension reads it. */
#include <stdlib.h>
#include <string.h>

#include "client/src/corpse.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct framezero_corpse corpse, again;
    int exception;
    /* A copy of the right size, so that a sanitizer sees the first byte after it. */
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy)
        return 0;
    if (size)
        memcpy(copy, data, size);
    bool is_record = framezero_corpse_parse(copy, size, &corpse);
    if (!memchr(corpse.exit_text, 0, sizeof(corpse.exit_text)))
        abort();
    if (is_record != framezero_corpse_parse(copy, size, &again) ||
        memcmp(&corpse, &again, sizeof(corpse)) != 0)
        abort();
    for (int type = 0; type < 14; type++) {
        int number = framezero_corpse_signal(&corpse, type, &exception);
        if (number < 0 || number > 255 || exception < 0 || exception > 15)
            abort();
    }
    free(copy);
    return 0;
}
