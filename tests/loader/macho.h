/*
 * Maps a Mach-O program or library into this process, as dyld does, without any of Apple's libraries.
 *
 * Segments, classic rebase and bind opcodes, chained fixups. Every import is bound at once: to a symbol of the image
 * itself (coalesced C++), then to what the caller resolves. Formats: mach-o/loader.h, mach-o/fixup-chains.h.
 */
#ifndef LOADER_MACHO_H
#define LOADER_MACHO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MACHO_SEGMENTS = 16 };

struct macho {
    const char *path;
    const uint8_t *file; /* the whole file, mapped */
    size_t file_size;
    uint64_t vmaddr; /* of __TEXT */
    uint64_t slide;
    uint64_t addr;      /* of the header in memory */
    uint64_t text_size; /* of __TEXT */
    uint64_t end;       /* of the last segment in memory */
    uint64_t entry;     /* of main, 0 if there is none */
    uint8_t uuid[16];
    struct macho_segment {
        char name[17];
        uint64_t addr, size; /* in memory */
        uint64_t file_off, file_size;
        uint32_t protection;
    } segments[MACHO_SEGMENTS];
    unsigned n_segments;
    uint32_t symtab_off, n_symbols, strtab_off, strtab_size;
    uint32_t dyld_info[10]; /* rebase, bind, weak bind, lazy bind, export: offset and size */
    uint32_t chains_off, chains_size;
};

/* The address of an import, 0 if there is none. */
typedef uint64_t (*macho_resolve_fn)(const char *name);

/* Any mistake in the file ends the program with a message: these files come from this project's own build.
 * `writable_text`: instructions will be replaced. */
struct macho *macho_load(const char *path, uint64_t slide, macho_resolve_fn resolve,
                         bool writable_text);

/* A defined symbol, 0 if there is none. */
uint64_t macho_symbol(const struct macho *image, const char *name);

/* The sections of segment type `name`, called with each section's address and size: static initialisers. */
uint64_t macho_section(const struct macho *image, const char *segment, const char *section,
                       uint64_t *ret_size);

#endif
