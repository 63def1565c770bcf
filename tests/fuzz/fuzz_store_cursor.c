/* A cursor as a client sends it back: an accepted cursor can be written again. */
#include <stdint.h>
#include <stdlib.h>

#include "storage/store_private.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fz_arena arena;
    fz_arena_init(&arena, 1024 * 1024);
    const char *cursor = fz_arena_text(&arena, fz_span_make(data, size));
    int64_t time_ms, again_ms;
    char id[STORE_ID_TEXT], again_id[STORE_ID_TEXT];
    if (cursor && store_cursor_parse(cursor, &arena, &time_ms, id, NULL) == FZ_OK) {
        const char *same = store_cursor_make(&arena, time_ms, id);
        if (!same || store_cursor_parse(same, &arena, &again_ms, again_id, NULL) != FZ_OK ||
            again_ms != time_ms || strcmp(again_id, id) != 0)
            abort();
    }
    fz_arena_deinit(&arena);
    return 0;
}
