/*
 * Any bytes as a symbol index. The checksums of header and blocks are corrected first, as an attacker
 * would do, so that the code after the checks is reached.
 */
#include <stdlib.h>

#include "symbolicator/index/reader.h"
#include "symbolicator/symbolicator.h"

enum { BLOCK = 1 << INDEX_BLOCK_SHIFT };

static void
fix_checksums(uint8_t *bytes, size_t size)
{
    uint64_t checks = load64(bytes + INDEX_SECTIONS + 16 * INDEX_CHECKS);
    uint64_t n = load64(bytes + INDEX_SECTIONS + 16 * INDEX_CHECKS + 8) / 4;
    for (uint64_t i = 0; checks <= size && i < n && checks + 4 * i + 4 <= size; i++) {
        size_t from = INDEX_HEADER + (size_t)i * BLOCK;
        if (from >= checks)
            break;
        size_t len = checks - from < BLOCK ? (size_t)checks - from : BLOCK;
        store32(bytes + checks + 4 * i, index_check(bytes + from, len));
    }
    store64(bytes + 16, size);
    store32(bytes + 12, 0);
    store32(bytes + 12, index_check(bytes, INDEX_HEADER));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *bytes = malloc(size ? size : 1);
    struct sym_index *index = NULL;
    static struct sym_frame many[2 * SYM_FRAMES_MAX];
    struct sym_frame frames[8];
    const char *aliases[2];
    char path[64];
    if (size)
        memcpy(bytes, data, size);
    if (size >= INDEX_HEADER)
        fix_checksums(bytes, size);
    if (index_open_bytes(fz_span_make(bytes, size), &index, NULL) == FZ_OK) {
        uint64_t base = load64(bytes + 72), addrs[SYM_LOOKUPS_MAX];
        size_t n_frames[SYM_LOOKUPS_MAX];
        for (uint64_t i = 0; i < 4096; i++) {
            size_t n = sym_index_lookup(index, base + i * 4, frames, 8);
            for (size_t k = 0; k < n; k++)
                sym_frame_path(&frames[k], path, sizeof(path));
            sym_index_aliases(index, base + i * 4, aliases, 2);
            struct sym_function_die die;
            if (sym_index_function_die(index, base + i * 4, &die) && die.die >= die.info_size)
                __builtin_trap();
            const char *target = sym_index_call_target(index, base + i * 4);
            if (target)
                sym_index_find_alias(index, base, target);
        }
        for (size_t i = 0; i < SYM_LOOKUPS_MAX; i++)
            addrs[i] = base + i * 64;
        size_t done = sym_index_lookup_many(index, addrs, SYM_LOOKUPS_MAX, many, 2 * SYM_FRAMES_MAX,
                                            n_frames);
        if (done == 0)
            __builtin_trap();
        sym_index_close(index);
    }
    free(bytes);
    return 0;
}
