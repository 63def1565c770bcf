/*
 * Resolve: the frames of a report to names, by the indexes of its images.
 *
 * Pure: a report in, the same report with image numbers, lookup addresses, symbols and states
 * filled in. Where the indexes come from is the caller's business (the child asks its worker, the
 * command line builds them).
 */
#ifndef RESOLVE_H
#define RESOLVE_H

#include "base/arena.h"
#include "base/error.h"
#include "server/report/report.h"
#include "server/resolve/redact.h"
#include "symbolicator/process/process.h"

/* Symbol files of one image that are looked into: where the best has no name the next one may. */
enum { RESOLVE_FILES_MAX = 3 };

struct resolve_found { /* borrowed until resolve returns; the texts may be NULL */
    struct sym_index *index;
    bool is_damaged; /* with MALFORMED: the index is not what was stored */
    struct report_symbol_file file;
};

/* The index of an image's symbol file number `rank`, the best being 0. NOT_FOUND: there are no
 * more; MALFORMED: there is one but it cannot be used. Asked at most once per image that has a
 * frame, and per further rank if the files before had no name for a frame. */
typedef enum fz_code (*resolve_find_fn)(void *user, const struct report_image *image, unsigned rank,
                                        struct resolve_found *ret, struct fz_error *err);

/* Names that other reports gave for these offsets of an image (rising, each once); ret[i].name
 * stays NULL where none is known, else lives as long as the report. Asked after all symbol files,
 * once per image that is not the app's and has frames without a name. */
struct resolve_learned {
    const char *name; /* as the report gave it: mangled or not */
    uint32_t start;   /* offset of the function's start */
};
typedef enum fz_code (*resolve_learned_fn)(void *user, const struct report_image *image,
                                           const uint32_t *offsets, size_t n,
                                           struct resolve_learned *ret, struct fz_error *err);
/* The dSYM and the binary of an image, for its stack frames and values; borrowed until resolve
 * returns, NULL = not there. Asked at most once for each image that a captured stack leads into. The
 * index is resolve's own affair. */
typedef enum fz_code (*resolve_files_fn)(void *user, const struct report_image *image,
                                         struct sym_process_files *ret, struct fz_error *err);
enum { RESOLVE_LEARNED_MAX = 4096 }; /* offsets of one report that are asked for */

struct resolve_options {
    const char *const *cut_prefixes; /* path prefixes to cut from files; NULL = none */
    size_t n_cut_prefixes;
    /* Both get the user of resolve_find_fn; NULL = none are known. */
    resolve_learned_fn learned;
    resolve_files_fn files;
    bool values;                               /* also the values of variables */
    const struct resolve_redact_rules *redact; /* of them; NULL = nothing is redacted */
};

FZ_MUST_CHECK enum fz_code resolve_report(struct report *report, resolve_find_fn find, void *user,
                                          const struct resolve_options *options,
                                          struct fz_arena *arena, struct fz_error *err);

#endif
