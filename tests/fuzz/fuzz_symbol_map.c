/* Any bytes as a BCSymbolMap and as the property list that names one: every name ends where the
 * map's text does. */
#include <stdio.h>
#include <string.h>

#include "symbolicator/macho/symbol_map.h"

enum { ARENA_CAP = 16 << 20, NAMES = 64 };

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fz_span file = fz_span_make(data, size);
    struct sym_symbol_map map;
    struct fz_uuid uuid;
    struct fz_arena arena;
    char hidden[40];
    size_t sum = 0;
    fz_arena_init(&arena, ARENA_CAP);
    sym_symbol_map_original(file, &uuid);
    sym_symbol_map_is_hidden(file);
    if (sym_symbol_map_read(file, &arena, &map, NULL) == FZ_OK) {
        for (size_t i = 0; i < map.n; i++)
            sum += strlen(map.text + map.names[i]) + 1;
        if (sum > size + 1)
            __builtin_trap();
        for (size_t i = 0; i < NAMES; i++) {
            snprintf(hidden, sizeof(hidden), "%.*shidden#%zu_", (int)(i % 4 + 1), "____", i);
            sum += sym_symbol_map_name(&map, fz_span_cstr(hidden)).len;
        }
        sum += sym_symbol_map_name(&map, file).len;
    }
    fz_arena_deinit(&arena);
    return sum == SIZE_MAX;
}
