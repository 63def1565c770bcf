/* Names of files in the folder of reports, which other programs may write to. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/include/framezero.h"
#include "client/src/pending.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[FRAMEZERO_PATH_MAX];
    char *name = malloc(size + 1);
    if (!name)
        return 0;
    if (size)
        memcpy(name, data, size);
    name[size] = '\0';
    enum framezero_name kind = framezero_name_kind(name);
    /* A name of ours is in the folder itself, and no longer than run id and endings. */
    if (kind != FRAMEZERO_NAME_FOREIGN && (strchr(name, '/') || strlen(name) > 36 + 7 + 8))
        abort();
    /* Not files of ours: refused before anything is touched. */
    if (!strchr(name, '/') && size < 200) {
        snprintf(path, sizeof(path), "/nonexistent/%s", name);
        if (framezero_pending_done(path) == 0 || framezero_pending_return(path) == 0)
            abort();
    }
    free(name);
    return 0;
}
