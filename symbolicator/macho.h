/*
 * Mach-O files: the slices of a file, and of one slice its UUID, segments, sections and symbols.
 *
 * Nothing is copied: spans point into the caller's bytes, which must outlive the struct. Source:
 * Mach-O loader.h, fat.h, nlist.h. Read leniently: a bad load command is a problem, told and
 * skipped, unless nothing can be read.
 */
#ifndef SYM_MACHO_H
#define SYM_MACHO_H

#include "base/arch/arch.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"
#include "base/uuid.h"
#include "symbolicator/problem.h"

enum { SYM_SLICES_MAX = 32 };

struct sym_slice {
    uint32_t cputype, cpusubtype;
    uint64_t offset, size; /* within the file */
};

/* True if the bytes begin as a thin or fat Mach-O does (a Java class does not count). */
bool sym_macho_has_magic(struct fz_span file);

/* What the bytes look like, for messages about files that are no Mach-O: "text", "an ELF file", "a
 * zip archive", "a static archive (.a); ..." . Static string. */
const char *sym_macho_looks_like(struct fz_span file);

/*
 * The slices of a file: one for a thin Mach-O, each architecture of a fat one (32- and 64-bit fat
 * headers; a fat header with one slice too). Slices whose bytes are not all there are cut to the
 * file and told as a problem.
 *
 * UNSUPPORTED: not a Mach-O; the message says what it looks like instead (text, ELF, zip, a static
 * archive, a Java class...). MALFORMED: a Mach-O header that is truncated, or a fat header without
 * any usable slice.
 */
FZ_MUST_CHECK enum fz_code sym_macho_slices(struct fz_span file,
                                            struct sym_slice ret[SYM_SLICES_MAX], size_t *ret_n,
                                            struct sym_problems *problems, struct fz_error *err);

struct sym_section {
    char segment[17], name[17];
    uint64_t addr, size;
    uint32_t flags;
    struct fz_span
        bytes; /* empty if the file does not carry them: zero-fill, left out of a dSYM, encrypted */
};

struct sym_segment {
    char name[17];
    uint64_t vmaddr, vmsize, fileoff, filesize;
    uint32_t initprot;
};

struct sym_macho {
    struct fz_span bytes; /* of the slice */
    uint32_t cputype, cpusubtype, filetype, flags;
    bool is_64, big_endian, has_uuid, is_encrypted;
    struct fz_uuid uuid;
    uint64_t text_vmaddr, text_vmsize; /* of __TEXT; 0 without one */
    struct sym_segment *segments;
    size_t n_segments;
    struct sym_section *sections;
    size_t n_sections;
    /* LC_SYMTAB: where the tables are; checked against the slice */
    struct fz_span symbol_table, string_table;
    uint32_t n_symbols;
    struct fz_span function_starts; /* LC_FUNCTION_STARTS, ULEB deltas from __TEXT */
    struct fz_span exports_trie;    /* LC_DYLD_EXPORTS_TRIE or LC_DYLD_INFO */
};

/*
 * Read the load commands of one slice (the bytes of a thin Mach-O).
 *
 * MALFORMED: the header or the load commands are truncated or lie. UNSUPPORTED: no Mach-O. LIMIT:
 * the arena's cap.
 */
FZ_MUST_CHECK enum fz_code sym_macho_open(struct fz_span slice, struct fz_arena *arena,
                                          struct sym_macho *ret, struct sym_problems *problems,
                                          struct fz_error *err);

/* The section, or NULL. The name may be given without regard to the 16 byte limit
 * ("__debug_str_offsets" finds
 * "__debug_str_offs"). */
const struct sym_section *sym_macho_section(const struct sym_macho *macho, const char *segment,
                                            const char *name);

/* "dsym" for MH_DSYM, else "binary". */
const char *sym_macho_kind(const struct sym_macho *macho);

/* A function symbol: a name on an address in a section that holds code. */
struct sym_symbol {
    uint64_t addr;
    const char *name; /* NUL-terminated within the string table, or in the arena if it is an
                         export's; the leading underscore is kept */
    uint32_t name_len;
    bool is_external, is_thumb;
    bool is_export; /* of the exports trie, not of the symbol table */
};

/* Function symbols of the symbol table, sorted by address and then in table order: sections with
 * code only, no stabs, no undefined, no __mh_execute_header. The array lies in the arena (malloc'd
 * blocks; cap it for large files). */
FZ_MUST_CHECK enum fz_code sym_macho_symbols(const struct sym_macho *macho, struct fz_arena *arena,
                                             struct sym_symbol **ret, size_t *ret_n,
                                             struct sym_problems *problems, struct fz_error *err);

/*
 * Function symbols of the exports trie, in the same form and order; those of one address in the
 * order of the trie. Re-exports, data, absolute and thread-local symbols are left out. An export
 * with a resolver is a name of both its stub and its resolver.
 *
 * A bad node costs itself and what hangs on it alone, and is told. LIMIT, NO_MEMORY: the arena.
 */
FZ_MUST_CHECK enum fz_code sym_macho_exports(const struct sym_macho *macho, struct fz_arena *arena,
                                             struct sym_symbol **ret, size_t *ret_n,
                                             struct sym_problems *problems, struct fz_error *err);

/* Function symbols of the symbol table, and the exports at addresses that it has no symbol for:
 * what has a name in a slice, sorted by address. */
FZ_MUST_CHECK enum fz_code sym_macho_names(const struct sym_macho *macho, struct fz_arena *arena,
                                           struct sym_symbol **ret, size_t *ret_n,
                                           struct sym_problems *problems, struct fz_error *err);

/* LC_FUNCTION_STARTS as sorted addresses (bit 0 cleared on 32-bit ARM). */
FZ_MUST_CHECK enum fz_code sym_macho_function_starts(const struct sym_macho *macho,
                                                     struct fz_arena *arena, uint64_t **ret,
                                                     size_t *ret_n, struct sym_problems *problems,
                                                     struct fz_error *err);

#endif
