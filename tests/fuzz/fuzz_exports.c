/* Any bytes as an exports trie of a library with code at 0x1000 after its header. */
#include "symbolicator/macho/macho.h"

enum { ARENA_CAP = 64 << 20 };

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sym_section code = {.segment = "__TEXT",
                               .name = "__text",
                               .addr = 0x101000,
                               .size = 0x10000,
                               .flags = 0x80000400};
    struct sym_macho macho = {.is_64 = true,
                              .cputype = size % 2 ? FZ_ARCH_ARM : FZ_ARCH_ARM64,
                              .text_vmaddr = 0x100000,
                              .sections = &code,
                              .n_sections = 1,
                              .exports_trie = fz_span_make(data, size)};
    struct sym_problems problems = {0};
    struct sym_symbol *symbols;
    struct fz_arena arena;
    size_t n = 0;
    fz_arena_init(&arena, ARENA_CAP);
    if (sym_macho_names(&macho, &arena, &symbols, &n, &problems, NULL) != FZ_OK)
        n = 0;
    for (size_t i = 0; i < n; i++) {
        if (symbols[i].addr < code.addr || symbols[i].addr >= code.addr + code.size)
            __builtin_trap();
        if (strlen(symbols[i].name) != symbols[i].name_len)
            __builtin_trap();
        if (i > 0 && symbols[i].addr < symbols[i - 1].addr)
            __builtin_trap();
    }
    fz_arena_deinit(&arena);
    return 0;
}
