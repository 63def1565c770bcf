/*
 * A dSYM of a few hundred bytes: UUID, __TEXT with a __text section, function symbols. No DWARF.
 */
#ifndef TINY_MACHO_H
#define TINY_MACHO_H

#include "base/buffer.h"
#include "base/uuid.h"

struct tiny_symbol {
    uint64_t addr;
    const char *name; /* as in the symbol table, with its underscore */
};

struct tiny_macho {
    uint32_t cputype, cpusubtype;
    struct fz_uuid uuid; /* nil: no LC_UUID */
    uint64_t text_vmaddr, text_size;
    const struct tiny_symbol *symbols;
    size_t n_symbols;
};

static inline void
tiny_put(struct fz_buffer *out, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        fz_buffer_char(out, (char)(value >> (8 * i)));
}

static inline void
tiny_name(struct fz_buffer *out, const char *name)
{
    char field[17] = "";
    strncpy(field, name, 16);
    fz_buffer_append(out, field, 16);
}

/* Little-endian, 64 bit; appended to `out`. */
static inline void
tiny_macho_write(const struct tiny_macho *macho, struct fz_buffer *out)
{
    enum { HEADER = 32, UUID = 24, SEGMENT = 72 + 80, SYMTAB = 24, NLIST = 16 };
    bool has_uuid = !fz_uuid_is_nil(&macho->uuid);
    uint64_t commands = (has_uuid ? UUID : 0) + SEGMENT + SYMTAB;
    uint64_t symoff = HEADER + commands, stroff = symoff + macho->n_symbols * NLIST, strsize = 1;
    for (size_t i = 0; i < macho->n_symbols; i++)
        strsize += strlen(macho->symbols[i].name) + 1;
    const uint64_t header[] = {0xfeedfacf,
                               macho->cputype,
                               macho->cpusubtype,
                               10 /* MH_DSYM */,
                               has_uuid ? 3 : 2,
                               commands,
                               0,
                               0};
    for (size_t i = 0; i < sizeof(header) / sizeof(header[0]); i++)
        tiny_put(out, header[i], 4);
    if (has_uuid) {
        tiny_put(out, 0x1b, 4);
        tiny_put(out, UUID, 4);
        fz_buffer_append(out, macho->uuid.bytes, sizeof(macho->uuid.bytes));
    }
    tiny_put(out, 0x19, 4); /* LC_SEGMENT_64 */
    tiny_put(out, SEGMENT, 4);
    tiny_name(out, "__TEXT");
    tiny_put(out, macho->text_vmaddr, 8);
    tiny_put(out, macho->text_size, 8);
    tiny_put(out, 0, 8); /* file offset and size: a dSYM has no code */
    tiny_put(out, 0, 8);
    tiny_put(out, 5 | (uint64_t)5 << 32, 8);
    tiny_put(out, 1, 8); /* one section, no flags */
    tiny_name(out, "__text");
    tiny_name(out, "__TEXT");
    tiny_put(out, macho->text_vmaddr, 8);
    tiny_put(out, macho->text_size, 8);
    tiny_put(out, 0, 8);          /* offset, align */
    tiny_put(out, 0, 8);          /* relocations */
    tiny_put(out, 0x80000400, 4); /* instructions */
    tiny_put(out, 0, 8);
    tiny_put(out, 0, 4);
    const uint64_t symtab[] = {2, SYMTAB, symoff, macho->n_symbols, stroff, strsize};
    for (size_t i = 0; i < sizeof(symtab) / sizeof(symtab[0]); i++)
        tiny_put(out, symtab[i], 4);
    uint64_t strx = 1;
    for (size_t i = 0; i < macho->n_symbols; i++) {
        tiny_put(out, strx, 4);
        tiny_put(out, 0x0f | 1 << 8, 4); /* N_SECT | N_EXT, section 1 */
        tiny_put(out, macho->symbols[i].addr, 8);
        strx += strlen(macho->symbols[i].name) + 1;
    }
    fz_buffer_char(out, '\0');
    for (size_t i = 0; i < macho->n_symbols; i++)
        fz_buffer_append(out, macho->symbols[i].name, strlen(macho->symbols[i].name) + 1);
}

#endif
