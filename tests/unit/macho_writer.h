/*
 * Small Mach-O files for tests, made in memory: either width, either byte order, any wrong value.
 *
 * Fill the struct (the helpers append to its lists), call macho_write(), and break the bytes as the
 * test wants. Bounds are asserts, since only tests call it.
 */
#ifndef MACHO_WRITER_H
#define MACHO_WRITER_H

#include "base/buffer.h"

enum { WRITER_MAX = 64 };

struct writer_section {
    const char *segment, *name;
    uint64_t addr, size; /* size 0: that of the bytes */
    uint32_t flags;
    struct fz_span bytes; /* empty: offset 0, as in a dSYM */
};

struct writer_symbol {
    const char *name;
    uint8_t type, section;
    uint16_t desc;
    uint64_t value;
};

struct macho_writer {
    bool is_64, big_endian;
    uint32_t cputype, cpusubtype, filetype, flags;
    const uint8_t *uuid; /* NULL: no LC_UUID */
    uint32_t crypt_offset, crypt_size, crypt_id;
    bool one_segment; /* of an object file: without a name, all sections in it */
    uint32_t
        symbols_moved; /* added to the offsets of symbol and string table, to make them wrong */
    struct writer_section sections[WRITER_MAX]; /* grouped by segment */
    size_t n_sections;
    struct writer_symbol symbols[WRITER_MAX];
    size_t n_symbols;
    struct fz_span function_starts;
};

/* A 64-bit little-endian arm64 dSYM without content. */
struct macho_writer macho_writer_make(void);
void macho_writer_section(struct macho_writer *w, const char *segment, const char *name,
                          uint64_t addr, uint32_t flags, struct fz_span bytes);
void macho_writer_symbol(struct macho_writer *w, const char *name, uint8_t type, uint8_t section,
                         uint16_t desc, uint64_t value);

/* Append the file to `out`. */
void macho_write(const struct macho_writer *w, struct fz_buffer *out);

/* Append `len` bytes of `value` in the byte order asked for. */
void macho_write_int(struct fz_buffer *out, bool big_endian, unsigned len, uint64_t value);

/* Append a fat file of the slices, each aligned to 16 bytes. */
struct fat_part {
    uint32_t cputype, cpusubtype;
    struct fz_span bytes;
};
void macho_write_fat(const struct fat_part *parts, size_t n, bool is_64, struct fz_buffer *out);

#endif
