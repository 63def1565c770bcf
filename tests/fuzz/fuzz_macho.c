/* Any bytes as a Mach-O file: slices, load commands, symbols, function starts, features. */
#include "symbolicator/macho/macho.h"

enum { ARENA_CAP = 64 << 20 };

static void
read_slice(struct fz_span bytes)
{
    struct fz_arena arena;
    struct sym_problems problems = {0};
    struct sym_features features;
    struct sym_macho macho;
    uint64_t *starts;
    size_t n;
    fz_arena_init(&arena, ARENA_CAP);
    if (sym_macho_open(bytes, &arena, &macho, &problems, NULL) == FZ_OK) {
        for (size_t i = 0; i < macho.n_sections; i++) {
            struct fz_span s = macho.sections[i].bytes;
            /* A span that leaves the slice is a fault even if nobody reads it. */
            if (s.len && (s.data < bytes.data || s.data + s.len > bytes.data + bytes.len))
                __builtin_trap();
        }
        fz_ignore(sym_inspect(&macho, NULL, &arena, &features, &problems, NULL)); /* any result */
        fz_ignore(sym_macho_function_starts(&macho, &arena, &starts, &n, &problems, NULL));
    }
    fz_arena_deinit(&arena);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sym_slice slices[SYM_SLICES_MAX];
    struct sym_problems problems = {0};
    struct fz_span file = fz_span_make(data, size), bytes;
    size_t n = 0;
    if (sym_macho_slices(file, slices, &n, &problems, NULL) != FZ_OK)
        return 0;
    for (size_t i = 0; i < n; i++) {
        if (!fz_span_sub(file, slices[i].offset, slices[i].size, &bytes))
            __builtin_trap();
        read_slice(bytes);
    }
    return 0;
}
