/*
 * Any bytes as DWARF sections: one byte of flags (1 big-endian, 2 compressed), the lengths of nine
 * sections (two bytes each, little-endian), then the sections. Built to an index, opened, looked
 * up.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>

#include "base/file.h"
#include "symbolicator/macho/macho.h"

enum { N_NAMES = 9, S_CODE = 0x400, CAP = 256 << 20 };

static void
look_up(int fd)
{
    struct sym_index *index = NULL;
    struct sym_frame frames[SYM_FRAMES_MAX];
    if (sym_index_open_fd(fd, &index, NULL) != FZ_OK)
        __builtin_trap(); /* what was just built must open */
    for (uint64_t addr = 0; addr < 0x8000; addr += 4) {
        sym_index_lookup(index, addr, frames, SYM_FRAMES_MAX);
        sym_index_aliases(index, addr, NULL, 0);
        sym_index_call_target(index, addr);
    }
    sym_index_close(index);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[N_NAMES] = {
        "__debug_info",     "__debug_abbrev",   "__debug_line",
        "__debug_ranges",   "__debug_rnglists", "__debug_str",
        "__debug_line_str", "__debug_str_offs", "__debug_addr"};
    struct sym_section sections[N_NAMES + 1] = {
        {.segment = "__TEXT", .name = "__text", .addr = 0, .size = 1ull << 33, .flags = S_CODE}};
    size_t at = 1 + 2 * N_NAMES;
    if (size < at)
        return 0;
    for (size_t i = 0; i < N_NAMES; i++) {
        size_t len = data[1 + 2 * i] | (size_t)data[2 + 2 * i] << 8;
        len = len < size - at ? len : size - at;
        snprintf(sections[i + 1].segment, 17, "__DWARF");
        snprintf(sections[i + 1].name, 17, data[0] & 2 ? "__z%s" : "__%s", names[i] + 2);
        sections[i + 1].bytes = len ? fz_span_make(data + at, len) : (struct fz_span){NULL, 0};
        at += len;
    }
    struct sym_macho macho = {.cputype = FZ_ARCH_ARM64,
                              .is_64 = true,
                              .big_endian = data[0] & 1,
                              .sections = sections,
                              .n_sections = N_NAMES + 1,
                              .bytes = fz_span_make(data, size)};
    struct sym_build_options options = {.memory_cap = CAP};
    struct sym_build_stats stats;
    struct sym_problems problems = {0};
    FZ_CLEANUP(fz_closep) int fd = memfd_create("index", MFD_CLOEXEC);
    if (sym_index_build(&macho, &options, fd, &stats, &problems, NULL) == FZ_OK)
        look_up(fd);
    return 0;
}
