/*
 * The symbol index: built once per slice, mapped read-only, looked up without allocation.
 *
 * The file format stands at the top of symbolicator/index/format.h. The header is validated when an
 * index is opened, each block of the rest when a lookup first touches it, and every offset when it
 * is followed: a lookup cannot leave the index, and a damaged block has no names. An open index may
 * be used by any number of threads.
 */
#ifndef SYM_INDEX_H
#define SYM_INDEX_H

#include "base/error.h"
#include "base/span.h"
#include "base/uuid.h"
#include "symbolicator/macho.h"
#include "symbolicator/problem.h"
#include "symbolicator/symbol_map.h"

enum { SYM_FRAMES_MAX = 256 }; /* inline depth kept per address */

struct sym_build_options {
    unsigned n_threads; /* at most this many, 0 = 1; the index is the same for any number */
    size_t memory_cap;  /* bytes the build may take beside the mapped input; 0 = no cap */
    const struct sym_symbol_map *symbol_map; /* of a bitcode build: names and paths that it hid are
                                                looked up there; NULL = none */
};

struct sym_build_stats {
    uint64_t n_functions, n_inlines, n_ranges, n_symbols,
        n_lines; /* DWARF functions, inlined calls, ranges, names of symbols and exports, rows */
    uint64_t n_units, n_bad_units, n_bad_line_programs;
    unsigned min_dwarf_version, max_dwarf_version; /* 0 without DWARF */
    uint64_t bytes;                                /* of the index */
};

/*
 * Build the index of one slice and write it to `out_fd` (a regular file or memfd, empty, positioned
 * at 0).
 *
 * Bad units, abbreviations and line programs cost only themselves and are counted in problems and
 * stats, as are names that a bitcode build hid and no symbol map knows ("hidden_names"). A slice
 * without DWARF gives an index of its symbol table and function starts. Errors:
 * MALFORMED nothing in the slice can be used; LIMIT memory_cap; NO_MEMORY; UNAVAILABLE disk full.
 */
FZ_MUST_CHECK enum fz_code sym_index_build(const struct sym_macho *macho,
                                           const struct sym_build_options *options, int out_fd,
                                           struct sym_build_stats *ret_stats,
                                           struct sym_problems *problems, struct fz_error *err);

struct sym_index; /* opaque */

/* Open an index. The caller owns *ret and ends it with sym_index_close().
 * NOT_FOUND no such file; MALFORMED wrong magic, checksum or any offset outside; UNSUPPORTED
 * another format version. */
FZ_MUST_CHECK enum fz_code sym_index_open(const char *path, struct sym_index **ret,
                                          struct fz_error *err);
/* The same from a descriptor (stays the caller's) or from bytes that outlive the index. */
FZ_MUST_CHECK enum fz_code sym_index_open_fd(int fd, struct sym_index **ret, struct fz_error *err);
FZ_MUST_CHECK enum fz_code sym_index_open_bytes(struct fz_span bytes, struct sym_index **ret,
                                                struct fz_error *err);
void sym_index_close(struct sym_index *index);
void sym_index_closep(struct sym_index **index);

struct sym_index_info {
    struct fz_uuid uuid;
    bool has_uuid;
    uint32_t cputype, cpusubtype;
    uint64_t text_vmaddr,
        text_vmsize;  /* add text_vmaddr to an image offset to get an address of the symbol file */
    uint32_t version; /* of the format */
    struct sym_build_stats stats;
};
/* The version that sym_index_build() writes; sym_index_open() refuses others as UNSUPPORTED. */
uint32_t sym_index_version(void);

void sym_index_info(const struct sym_index *index, struct sym_index_info *ret);

/* Which layer a name came from, best first. */
enum sym_source {
    SYM_SOURCE_DWARF,
    SYM_SOURCE_SYMTAB,
    SYM_SOURCE_EXPORTS,
    SYM_SOURCE_FUNCTION_STARTS
};
const char *
sym_source_name(enum sym_source source); /* "dwarf", "symtab", "exports", "function_starts" */

struct sym_frame {
    const char *name;      /* linkage name as in the file: DW_AT_linkage_name, else what the symbol
                              table calls the function's start (without the leading underscore), else
                              DW_AT_name; for code that only a symbol covers its table name with the
                              leading underscore; NUL-terminated, borrowed from the index; "" if unknown
                              (inlined calls of old Swift compilers) */
    const char *directory; /* "" if unknown; compilation directory and include directory joined */
    const char *file;      /* relative to directory unless it is absolute; "" if unknown */
    uint32_t line, column; /* 0 = unknown */
    uint64_t function_start; /* lowest address of the function that has its own frame; 0 for an
                                inlined call */
    uint64_t function_size;  /* bytes of its lowest range; 0 for an inlined call */
    bool inlined;            /* true for all but the last frame */
    enum sym_source source;
};

/*
 * The frames at one address as it stands in the symbol file: innermost inlined call first, last the
 * function itself.
 *
 * Returns the number of frames (0: no name covers this address), at most `max`; a longer chain
 * keeps its innermost max - 1 and the outermost. An address past the end of its function gets no
 * name from it.
 */
size_t sym_index_lookup(const struct sym_index *index, uint64_t addr, struct sym_frame *ret,
                        size_t max);

/*
 * Several lookups together, whose waits for memory overlap: the frames of the first address, then
 * those of the second and so on, and how many each has.
 *
 * Returns how many addresses were looked up, at least one of them: no more than SYM_LOOKUPS_MAX,
 * and as long as there is room for SYM_FRAMES_MAX more frames. `max` is at least that.
 */
enum { SYM_LOOKUPS_MAX = 16 };
size_t sym_index_lookup_many(const struct sym_index *index, const uint64_t *addrs, size_t n,
                             struct sym_frame *ret, size_t max, size_t *ret_n_frames);

/* directory and file joined into `ret` (NUL-terminated, cut to size): the path as the compiler saw
 * it. */
void sym_frame_path(const struct sym_frame *frame, char *ret, size_t size);

/* All other names at the very start of the function that `addr` lies in (identical code folding):
 * fills up to max names that differ from the one sym_index_lookup() gives and returns how many
 * there are in all. */
size_t sym_index_aliases(const struct sym_index *index, uint64_t addr, const char **ret,
                         size_t max);

/* The one of them that is `name`, given as DWARF has it, in the spelling of the index: that may
 * have Mach-O's underscore. NULL: none. */
const char *sym_index_find_alias(const struct sym_index *index, uint64_t addr, const char *name);

/*
 * The linkage name that the call before this return address names in the caller's DWARF, borrowed
 * from the index. NULL if it is not known; known are only calls of functions that share their code
 * with others, whose sym_index_lookup() cannot tell which one was meant.
 */
const char *sym_index_call_target(const struct sym_index *index, uint64_t return_addr);

#endif
