/*
 * Symbol files, their indexes, and readable names: from an address to function, file and line.
 *
 * This is the only header of symbolicator/ that other modules include. A symbol file is opened as
 * Mach-O slices; a slice is built into an index once; an index answers lookups without allocation;
 * the names are then demangled. All input is untrusted. No function logs, and none has state
 * outside its arguments.
 */
#ifndef SYM_SYMBOLICATOR_H
#define SYM_SYMBOLICATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arch/arch.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/span.h"
#include "base/uuid.h"

/* ---- problems ----------------------------------------------------------------------------- */

enum { SYM_PROBLEMS_MAX = 32, SYM_PROBLEM_TEXT = 192 };

/* The first ones decide about a file alone, the worst first (server/worker/upload_file.c). */
/* clang-format off */
enum sym_problem_kind {
    SYM_PROBLEM_TRUNCATED, SYM_PROBLEM_NO_INDEX, SYM_PROBLEM_NOT_LINKED, SYM_PROBLEM_ENCRYPTED,
    SYM_PROBLEM_HIDDEN_NAMES, SYM_PROBLEM_BAD_EXPORTS, SYM_PROBLEM_BAD_FUNCTION_STARTS,
    SYM_PROBLEM_BAD_LINE_PROGRAM, SYM_PROBLEM_BAD_LOAD_COMMAND, SYM_PROBLEM_BAD_MACHO,
    SYM_PROBLEM_BAD_MEMBER, SYM_PROBLEM_BAD_SECTION, SYM_PROBLEM_BAD_SEGMENT,
    SYM_PROBLEM_BAD_SLICE, SYM_PROBLEM_BAD_SYMBOL, SYM_PROBLEM_BAD_SYMBOL_MAP,
    SYM_PROBLEM_BAD_UNIT, SYM_PROBLEM_NO_DWARF, SYM_PROBLEM_NO_LINES, SYM_PROBLEM_NO_NAMES,
    SYM_PROBLEM_NO_UUID, SYM_PROBLEM_NOT_INSPECTED, SYM_PROBLEM_SHARED_CACHE, SYM_PROBLEM_STRIPPED,
    SYM_PROBLEM_TOO_MUCH_WORK, SYM_PROBLEM_UNREADABLE, SYM_PROBLEM_UNUSED_SYMBOL_MAP,
};
/* clang-format on */
enum { SYM_PROBLEM_KINDS = SYM_PROBLEM_UNUSED_SYMBOL_MAP + 1 };

/* The kind's name in JSON: "bad_unit", "no_dwarf"... Static string. */
const char *sym_problem_kind_name(enum sym_problem_kind kind);

struct sym_problem {
    enum sym_problem_kind kind;
    char text[SYM_PROBLEM_TEXT]; /* the first one of its kind, with its location; visible */
    uint64_t count;
};

/* What is wrong with a symbol file, in words for its owner: each kind once, with a count. Reading
 * continues after a problem. Caller's storage, nothing to free. */
struct sym_problems {
    size_t n;
    struct sym_problem list[SYM_PROBLEMS_MAX];
};

/* Count one more problem of `kind`; the text of the first is kept. Does nothing if `problems` is NULL or full. */
void sym_problem_add(struct sym_problems *problems, enum sym_problem_kind kind, const char *fmt,
                     ...) FZ_PRINTF(3, 4);
/* NULL if there is no problem of this kind. */
struct sym_problem *sym_problem_find(struct sym_problems *problems, enum sym_problem_kind kind);

/* ---- Mach-O (loader.h, fat.h, nlist.h) ---------------------------------------------------- */

enum { SYM_SLICES_MAX = 32 };

struct sym_slice {
    uint32_t cputype, cpusubtype;
    uint64_t offset, size; /* within the file */
};

/* True if the bytes begin as a thin or fat Mach-O does (a Java class does not count). */
bool sym_macho_has_magic(struct fz_span file);

/* What the bytes look like, for messages about files that are not Mach-O: "text", "an ELF file",
 * "a zip archive"... Static string. */
const char *sym_macho_looks_like(struct fz_span file);

/*
 * The slices of a file: one for a thin Mach-O, each architecture of a fat one (32- and 64-bit fat
 * headers). A slice that extends past the end of the file is cut to it, with a problem.
 *
 * UNSUPPORTED: not a Mach-O; the message says what it looks like instead. MALFORMED: a truncated
 * Mach-O header, or a fat header without a usable slice.
 */
FZ_MUST_CHECK enum fz_code sym_macho_slices(struct fz_span file,
                                            struct sym_slice ret[SYM_SLICES_MAX], size_t *ret_n,
                                            struct sym_problems *problems, struct fz_error *err);

struct sym_segment; /* opaque */
struct sym_section; /* opaque */

/* One slice. Nothing is copied: spans point into the caller's bytes, which must outlive it. */
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
    struct fz_span symbol_table, string_table; /* LC_SYMTAB; within the slice */
    uint32_t n_symbols;
    struct fz_span function_starts; /* LC_FUNCTION_STARTS, ULEB deltas from __TEXT */
    struct fz_span exports_trie;    /* LC_DYLD_EXPORTS_TRIE or LC_DYLD_INFO */
};

/*
 * Read the load commands of one slice (the bytes of a thin Mach-O). A bad load command is a problem
 * and is skipped.
 *
 * MALFORMED: the header is truncated, or no load command can be read. UNSUPPORTED: not a Mach-O.
 * LIMIT: the arena's cap.
 */
FZ_MUST_CHECK enum fz_code sym_macho_open(struct fz_span slice, struct fz_arena *arena,
                                          struct sym_macho *ret, struct sym_problems *problems,
                                          struct fz_error *err);

/* True for a dSYM, false for a binary. */
bool sym_macho_is_dsym(const struct sym_macho *macho);

/* ---- BCSymbolMaps: the names that a bitcode build replaced by "__hidden#12_" --------------- */

struct sym_symbol_map {
    const char *text;      /* the names, NUL-terminated */
    const uint32_t *names; /* offsets in text */
    size_t n;
    bool adds_underscore; /* version 1.0 leaves out Mach-O's underscore */
};

/* Read a map into the arena. UNSUPPORTED: not a map, or of an unknown version. LIMIT: 2 GiB or
 * more, or the arena. */
FZ_MUST_CHECK enum fz_code sym_symbol_map_read(struct fz_span file, struct fz_arena *arena,
                                               struct sym_symbol_map *ret, struct fz_error *err);

/* True if the slice has hidden names, which only its map can restore. */
bool sym_macho_has_hidden_names(const struct sym_macho *macho);

/* The maps of one upload. In an .xcarchive a map may come after the dSYM that needs it, so slices
 * with hidden names wait until the archive has been read. */
struct sym_maps; /* opaque */

/* A map, or the property list that names the map of an image. */
struct sym_map_file {
    bool is_map;
    struct fz_uuid uuid; /* of its file name: the map's, or that of the image */
    struct fz_uuid map;  /* of a property list: the map that the image needs */
};

/* `cap`: bytes that all maps may need. The caller owns *ret (sym_maps_destroy()). */
FZ_MUST_CHECK enum fz_code sym_maps_create(size_t cap, struct sym_maps **ret, struct fz_error *err);
void sym_maps_destroy(struct sym_maps *maps);
void sym_maps_destroyp(struct sym_maps **maps);

/* True if sym_maps_add() needs a file of this name that begins with these bytes. */
bool sym_maps_wants(const char *name, struct fz_span head);

/* Add a map or property list; `bytes` need not outlive the call. A broken map, and one too many, is
 * a problem. True if it was added. */
bool sym_maps_add(struct sym_maps *maps, const char *name, struct fz_span bytes,
                  struct sym_map_file *ret, struct sym_problems *problems);

/* Use this map for every image. Errors as of sym_symbol_map_read(). */
FZ_MUST_CHECK enum fz_code sym_maps_give(struct sym_maps *maps, struct fz_span bytes,
                                         struct fz_error *err);
bool sym_maps_is_given(const struct sym_maps *maps);

/* The UUID of the map that an image needs, whether that was added or not. */
struct fz_uuid sym_maps_wanted(const struct sym_maps *maps, const struct fz_uuid *image);

/* The map of an image, borrowed; NULL if it was not added. */
const struct sym_symbol_map *sym_maps_find(struct sym_maps *maps, const struct fz_uuid *image);

/* Add a problem for each map that sym_maps_find() never returned. */
void sym_maps_report_unused(const struct sym_maps *maps, struct sym_problems *problems);

/* ---- archives ----------------------------------------------------------------------------- */

enum sym_archive_kind {
    SYM_ARCHIVE_NONE,
    SYM_ARCHIVE_ZIP,
    SYM_ARCHIVE_EMPTY_ZIP,
    SYM_ARCHIVE_TAR,
    SYM_ARCHIVE_GZIP, /* this and the next: of a tar or of any other file */
    SYM_ARCHIVE_BZIP2,
    SYM_ARCHIVE_XZ,
    SYM_ARCHIVE_ZSTD,
};

/* What the first bytes of a file say. */
enum sym_archive_kind sym_archive_kind(struct fz_span file);

struct sym_archive_limits {
    uint64_t bytes;        /* unpacked, of all members */
    uint64_t member_bytes; /* unpacked, of one member */
    size_t entries;
    unsigned ratio; /* unpacked : packed once above 1 MiB; 0 = none */
};

/* DAMAGED: whole, but the archive has the checksum of other bytes. What is CUT should not be used. */
enum sym_member_state { SYM_MEMBER_WHOLE, SYM_MEMBER_DAMAGED, SYM_MEMBER_CUT };

/* Receives the wanted members, one after the other. Any failure ends the walk with its code. */
struct sym_archive_sink {
    /* Decides by a member's name and first bytes; NULL: every regular file is wanted. */
    bool (*wants)(const char *name, struct fz_span head);
    /* `name` is "" for a file that is only compressed. By fz_text_visible(); of a long one the end is left. */
    enum fz_code (*begin)(void *user, const char *name, struct fz_error *err);
    /* Pieces come in order; a gap between two reads as zeros. */
    enum fz_code (*write)(void *user, uint64_t offset, struct fz_span bytes, struct fz_error *err);
    enum fz_code (*end)(void *user, enum sym_member_state state, struct fz_error *err);
    void *user;
};

struct sym_archive_summary {
    const char *format; /* "zip", "tar", "compressed", static; NULL: not an archive */
    uint64_t n_entries; /* regular files and others, as far as they were read */
    uint64_t n_encrypted;
    uint64_t n_bytes; /* unpacked, of all members that were looked at */
};

/*
 * Walk a zip, a tar or a compressed file (gzip, bzip2, zstd, xz; the whole file is in memory).
 * Nothing is written to a path: names are labels.
 *
 * Skipped without a problem: AppleDouble files (._*), __MACOSX, links, members that the sink does not want. A member that
 * cannot be read or is damaged, and an archive that ends early, are problems; what was read before remains.
 * UNSUPPORTED: not such an archive. MALFORMED: nothing of it can be read. LIMIT: a limit, named. Else what the sink returned.
 */
FZ_MUST_CHECK enum fz_code sym_archive_walk(struct fz_span file,
                                            const struct sym_archive_limits *limits,
                                            const struct sym_archive_sink *sink,
                                            struct sym_archive_summary *ret,
                                            struct sym_problems *problems, struct fz_error *err);

/* For `wants`: a Mach-O, a BCSymbolMap, or the property list that names the map of a dSYM. */
bool sym_archive_wants_symbols(const char *name, struct fz_span head);

/* ---- symbol files: what a user names on the command line ----------------------------------- */

struct sym_file_slice {
    struct sym_macho macho; /* spans point into the opened file */
    const char *arch;       /* static name */
    const char *path;       /* of the Mach-O; "Demo.zip:Demo.dSYM/..." inside an archive */
    const struct sym_symbol_map *symbol_map; /* its BCSymbolMap if that was found too, else NULL */
    struct fz_span symbol_map_bytes;         /* the file it was read from; empty without one */
    struct sym_problems problems;
};

/* Made by sym_file_open() and sym_file_create() only. */
struct sym_file {
    struct sym_file_slice **slices; /* in the order of the path names, then of the fat header */
    size_t n_slices;                /* at least 1 after sym_file_open() */
    struct sym_problems problems;   /* files and slices that could not be read */
};

/*
 * Open every Mach-O slice under `path`: a thin or fat Mach-O, a .dSYM bundle, an .xcarchive or any
 * folder, or a zip or tar of one. In a folder, archives whose names contain "dsym" or "xcarchive"
 * are opened too. For the user's own files: the server parses archives in a child process.
 *
 * On success the caller owns *ret_file (sym_file_close()); the slices are borrowed from it. Slices
 * get the BCSymbolMaps found under the same path. In a folder or archive, files that are not
 * Mach-O, AppleDouble files (._*) and symbolic links are skipped without a problem, and broken
 * Mach-O files become problems. NOT_FOUND: no such path. UNSUPPORTED: a file that is not a Mach-O,
 * or a folder without any. MALFORMED: nothing in it can be read. LIMIT: more than 16,384 slices, 16
 * folder levels, or an archive of more than 16 GiB.
 */
FZ_MUST_CHECK enum fz_code sym_file_open(const char *path, struct sym_file **ret_file,
                                         struct fz_error *err);
/* The same for several paths: create an empty one, then add the content of each path to it.
 * Slices also get the BCSymbolMaps found under other paths. After an error, `file` still has what
 * was read before. */
FZ_MUST_CHECK enum fz_code sym_file_create(struct sym_file **ret_file, struct fz_error *err);
FZ_MUST_CHECK enum fz_code sym_file_add(struct sym_file *file, const char *path,
                                        struct fz_error *err);
void sym_file_close(struct sym_file *file);
void sym_file_closep(struct sym_file **file);

/* True if the slice carries DWARF (bytes of __debug_info). */
bool sym_file_slice_has_dwarf(const struct sym_file_slice *slice);

/* The best slice with this UUID (one with DWARF before one without), or NULL. */
const struct sym_file_slice *sym_file_find(const struct sym_file *file, const struct fz_uuid *uuid);

/*
 * The one slice a command works on: of architecture `arch` (NULL: any) and with `uuid` (NULL:
 * any). Several slices with one UUID count as one, and the one with DWARF is chosen.
 *
 * NOT_FOUND: none; CONFLICT: several. Either message lists the slices there are.
 */
FZ_MUST_CHECK enum fz_code sym_file_choose(const struct sym_file *file, const char *arch,
                                           const struct fz_uuid *uuid,
                                           const struct sym_file_slice **ret, struct fz_error *err);

/* ---- the symbol index (format: symbolicator/index/format.h) -------------------------------- */

struct sym_build_options {
    unsigned n_threads; /* at most this many, 0 = 1; the index is the same for any number */
    size_t memory_cap;  /* bytes it may allocate; 0 = only the cap of 160 MB and 4 per input byte */
    const struct sym_symbol_map *symbol_map; /* restores hidden names and paths; NULL = none */
};

struct sym_build_stats {
    uint64_t n_functions, n_inlines, n_ranges; /* of the DWARF */
    uint64_t n_symbols;                        /* names of symbols and exports */
    uint64_t n_lines;                          /* rows of the line tables */
    uint64_t n_units, n_bad_units, n_bad_line_programs;
    unsigned min_dwarf_version, max_dwarf_version; /* 0 without DWARF */
    uint64_t bytes;                                /* of the index */
};

/*
 * Build the index of one slice and write it to `out_fd` (an empty regular file or memfd at
 * position 0).
 *
 * A bad unit, abbreviation table or line program loses only itself and is counted in problems and
 * stats, as are hidden names that no symbol map restores. A slice without DWARF gives an index of
 * its symbol table and function starts. A unit that needs more than a file of this size gets ends
 * the file (SYM_PROBLEM_TOO_MUCH_WORK). MALFORMED: nothing can be used; LIMIT; UNAVAILABLE: disk full.
 */
FZ_MUST_CHECK enum fz_code sym_index_build(const struct sym_macho *macho,
                                           const struct sym_build_options *options, int out_fd,
                                           struct sym_build_stats *ret_stats,
                                           struct sym_problems *problems, struct fz_error *err);

/* An open index, mapped read-only; any number of threads may use it. Opening validates the header,
 * the first lookup in a block validates the block, every offset is checked when it is followed: a
 * lookup cannot leave the index. A damaged block has no names, and once it was met _is_damaged(). */
struct sym_index; /* opaque */

/* Open an index; the caller owns *ret (sym_index_close()). NOT_FOUND: no such file; MALFORMED:
 * wrong magic or checksum, or a section outside the file; UNSUPPORTED: another format version. */
FZ_MUST_CHECK enum fz_code sym_index_open(const char *path, struct sym_index **ret,
                                          struct fz_error *err);
/* The same from a descriptor, which remains the caller's. */
FZ_MUST_CHECK enum fz_code sym_index_open_fd(int fd, struct sym_index **ret, struct fz_error *err);
bool sym_index_is_damaged(const struct sym_index *index);
void sym_index_close(struct sym_index *index);
void sym_index_closep(struct sym_index **index);

struct sym_index_info {
    struct fz_uuid uuid;
    bool has_uuid;
    uint32_t cputype, cpusubtype;
    uint64_t text_vmaddr, text_vmsize; /* image offset + text_vmaddr = address in the symbol file */
    uint32_t version;                  /* of the format */
    struct sym_build_stats stats;
};

void sym_index_info(const struct sym_index *index, struct sym_index_info *ret);

/* The version that sym_index_build() writes; sym_index_open() refuses others as UNSUPPORTED. */
uint32_t sym_index_version(void);

/* Which layer a name came from, best first. */
enum sym_source {
    SYM_SOURCE_DWARF,
    SYM_SOURCE_SYMTAB,
    SYM_SOURCE_EXPORTS,
    SYM_SOURCE_FUNCTION_STARTS
};
/* "dwarf", "symtab", "exports", "function_starts" */
const char *sym_source_name(enum sym_source source);

/* Strings are NUL-terminated and borrowed from the index; "" if unknown. */
struct sym_frame {
    /* The linkage name: DW_AT_linkage_name, else the symbol at the function's start (without the
     * leading underscore), else DW_AT_name. For code that only a symbol covers, the name in the
     * table, with its underscore. */
    const char *name;
    const char *directory;   /* compilation directory and include directory joined */
    const char *file;        /* relative to directory unless it is absolute */
    uint32_t line, column;   /* 0 = unknown */
    uint64_t function_start; /* lowest address of the function; 0 for an inlined call */
    uint64_t function_size;  /* bytes of its lowest range; 0 for an inlined call */
    bool inlined;            /* true for all but the last frame */
    enum sym_source source;
};

enum { SYM_FRAMES_MAX = 256 }; /* inline depth kept per address */

/*
 * The frames at an address of the symbol file: innermost inlined call first, the function last.
 *
 * Returns the number of frames (0: no name covers this address), at most `max`; of a longer chain the
 * innermost max - 1 and the outermost are kept. A function names no addresses past its end.
 */
size_t sym_index_lookup(const struct sym_index *index, uint64_t addr, struct sym_frame *ret,
                        size_t max);

/* Several lookups whose waits for memory overlap: the frames of all addresses one after the other,
 * and how many each has. Returns how many addresses were looked up: at least one, at most
 * SYM_LOOKUPS_MAX, and only as long as there is room for SYM_FRAMES_MAX more frames. */
enum { SYM_LOOKUPS_MAX = 16 };
size_t sym_index_lookup_many(const struct sym_index *index, const uint64_t *addrs, size_t n,
                             struct sym_frame *ret, size_t max, size_t *ret_n_frames);

/* The DIE of the function at an address: of its lowest range, as in struct sym_frame. */
struct sym_function_die {
    uint64_t die;       /* its offset in .debug_info */
    uint64_t info_size; /* of that .debug_info in bytes; one of another size is of another file */
    uint64_t start, size;
};

/* False if the index does not know it: no DWARF, or 4 GiB of it. The caller checks that there is
 * such a DIE at the offset. */
bool sym_index_function_die(const struct sym_index *index, uint64_t addr,
                            struct sym_function_die *ret);

/* directory and file joined into `ret` (NUL-terminated, cut to size): the path as the compiler saw
 * it. */
void sym_frame_path(const struct sym_frame *frame, char *ret, size_t size);

/* Identical code folding: the other names at the start of the function that contains `addr`. Fills
 * up to `max` names that differ from the one of sym_index_lookup(); returns how many there are. */
size_t sym_index_aliases(const struct sym_index *index, uint64_t addr, const char **ret,
                         size_t max);

/* The alias that equals `name`, a name as DWARF has it, in the spelling of the index (which may
 * have Mach-O's underscore). NULL: there is none. */
const char *sym_index_find_alias(const struct sym_index *index, uint64_t addr, const char *name);

/* The linkage name of the function that the call before this return address calls, according to
 * the caller's DWARF; borrowed from the index. NULL if it is unknown: the index only keeps calls of
 * functions that share their code with others, since sym_index_lookup() cannot name those. */
const char *sym_index_call_target(const struct sym_index *index, uint64_t return_addr);

/* ---- inspection: what a symbol file has and what is wrong with it --------------------------- */

struct sym_features {
    bool symtab, function_starts, dwarf, lines, inlines, variables, unwind;
    unsigned dwarf_min, dwarf_max; /* versions of its units; 0 without DWARF */
    uint64_t n_symbols, n_functions, n_inlines, n_lines, n_units;
};

/*
 * Read what the slice carries without building an index. Problems say what its owner should know
 * (no DWARF, no line tables, hidden names, encrypted, truncated) and what to do.
 *
 * The counts of functions, inlined calls and lines come from `stats` of a finished
 * sym_index_build(); they are 0 if it is NULL.
 */
FZ_MUST_CHECK enum fz_code sym_inspect(const struct sym_macho *macho,
                                       const struct sym_build_stats *stats, struct fz_arena *arena,
                                       struct sym_features *ret, struct sym_problems *problems,
                                       struct fz_error *err);

/* ---- verification: the index against libdwarf ---------------------------------------------- */

/* One difference, in words. */
typedef void (*sym_verify_fn)(void *user, const char *text);

struct sym_verify_stats {
    uint64_t n_units, n_functions, n_inlines, n_rows; /* compared */
    uint64_t n_differences;
};

/* Read the slice a second time with libdwarf and compare functions, ranges, inline trees and line
 * rows with the answers of `index`. Slow; for tests and `inspect --verify`. */
FZ_MUST_CHECK enum fz_code sym_verify(const struct sym_macho *macho, const struct sym_index *index,
                                      sym_verify_fn report, void *user,
                                      struct sym_verify_stats *ret, struct fz_error *err);

/* ---- demangling: C++ (Itanium), Rust, Swift, Objective-C blocks ------------------------------ */

struct sym_demangle_options {
    bool simplified;   /* shorter text for lists: Swift without modules and types, C++ without
                          template arguments' defaults */
    bool keep_hash;    /* Rust's legacy names end in the hash that distinguishes their instances */
    bool keep_blocks;  /* names of blocks in Objective-C and C stay as the compiler made them */
    size_t stack_room; /* bytes of stack that the caller has for it, 0 = not known: a C++ name too
                          long for them is demangled on a thread of its own, which costs 20 us */
};

/* stack_room for a process's first thread. */
size_t sym_demangle_stack_room(void);

/*
 * Append the readable form of `name` (a NUL-terminated symbol or linkage name, with or without
 * Mach-O's leading underscore) to `out`. Returns true if it was mangled and understood; otherwise
 * appends the name as it was (one leading underscore of a plain Mach-O C symbol removed only if
 * `is_macho_symbol`).
 *
 * `options` may be NULL. Never fails, never recurses without limit; names above 64 KiB, and those
 * whose readable form is, are returned as they were. So is a C++ type alone ("PKFvRiE", as
 * std::type_info has it): it is not the name of a symbol, and C functions ("i") would be taken for
 * types.
 */
bool sym_demangle(const char *name, bool is_macho_symbol,
                  const struct sym_demangle_options *options, struct fz_buffer *out);

/* True for "__hidden#123_": what bitcode builds have instead of a name. Nothing can be read from
 * it; the dSYM needs its BCSymbolMap first (dsymutil --symbol-map). */
bool sym_demangle_is_hidden(const char *name);

#endif
