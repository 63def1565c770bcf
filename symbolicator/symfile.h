/*
 * What a person names on the command line as a symbol file, opened: every Mach-O slice in it.
 *
 * The path may be a thin or fat Mach-O, a .dSYM bundle, an .xcarchive or any folder (walked), or a
 * zip or tar of one. In a folder, archives whose names say that they have dSYMs in them are opened
 * too (Shop.app.dSYM.zip, as build tools leave them). For the user's own files on the user's own machine: the server, which trusts
 * nobody, has its own archive reader and parses in a child process.
 */
#ifndef SYM_SYMFILE_H
#define SYM_SYMFILE_H

#include "base/error.h"
#include "base/uuid.h"
#include "symbolicator/macho.h"
#include "symbolicator/symbol_map.h"

struct sym_file_slice {
    struct sym_macho macho; /* spans point into the opened file */
    const char *arch;       /* static name */
    const char *path;       /* of the Mach-O; "Demo.zip:Demo.dSYM/..." inside an archive */
    const struct sym_symbol_map *symbol_map; /* its BCSymbolMap, if that was found too; else NULL */
    struct fz_span symbol_map_bytes;         /* the file it was read from; empty without one */
    struct sym_problems problems;
};

struct sym_file {
    struct sym_file_slice **slices; /* in the order of the path names, then of the fat header */
    size_t n_slices;                /* at least 1 after sym_file_open() */
    struct sym_problems problems;   /* files and slices that could not be read */
    /* private */
    size_t room;
    struct fz_arena arena;
    struct sym_file_map *maps;
    struct sym_file_names *names;
};

/*
 * Open everything under `path`. On success the caller owns *ret_file and ends it with
 * sym_file_close(); all slices are borrowed until then.
 *
 * BCSymbolMaps in a folder or archive are given to the slices that they belong to.
 *
 * In a folder or archive, files that are no Mach-O, AppleDouble files (._*) and symbolic links are
 * passed over in silence, and broken ones become problems. NOT_FOUND: no such path. UNSUPPORTED: an
 * explicit file that is no Mach-O (the message says what it looks like), or nothing found in the
 * folder. MALFORMED: the only Mach-O there is broken. LIMIT: more than 16,384 slices, 16 folder
 * levels, or an archive of more than 16 GiB.
 */
FZ_MUST_CHECK enum fz_code sym_file_open(const char *path, struct sym_file **ret_file,
                                         struct fz_error *err);
/* The same for several paths: one that is empty at first, and what is under a path added to it.
 * BCSymbolMaps under one path are given to the slices under another. After an error `file` still has
 * what was read before. */
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
 * The one slice a command is to work on: of architecture `arch` (NULL: any) and with `uuid` (NULL:
 * any). Several slices with one UUID count as one; the one with DWARF wins.
 *
 * NOT_FOUND: none; CONFLICT: several. Either message lists what there is.
 */
FZ_MUST_CHECK enum fz_code sym_file_choose(const struct sym_file *file, const char *arch,
                                           const struct fz_uuid *uuid,
                                           const struct sym_file_slice **ret, struct fz_error *err);

#endif
