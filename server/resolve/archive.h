/*
 * Uploads of symbols: a Mach-O as it is, or the Mach-O files in a zip or tar (gzip, zstd, xz), and
 * the BCSymbolMaps and property lists that have their names (symbol_names_wants()).
 *
 * Nothing is ever written to a path: members go to the caller piece by piece, names are labels
 * only. Foreign bytes; runs in a child process. No state outside the call.
 */
#ifndef RESOLVE_ARCHIVE_H
#define RESOLVE_ARCHIVE_H

#include "base/error.h"
#include "base/span.h"
#include "server/process/limits.h"
#include "symbolicator/symbolicator.h"

/* What receives these members, one after the other. Any failure ends the walk with its code.
 */
struct archive_sink {
    bool wants_all; /* every regular file, not only what has symbols */
    /* `name` is "" for one file that is only compressed (gzip, xz, zstd). */
    enum fz_code (*begin)(void *user, const char *name, struct fz_error *err);
    /* Pieces come in order; a gap between two reads as zeros. */
    enum fz_code (*write)(void *user, uint64_t offset, struct fz_span bytes, struct fz_error *err);
    /* is_whole false: it broke off in the middle and should not be used. */
    enum fz_code (*end)(void *user, bool is_whole, struct fz_error *err);
    void *user;
};

struct archive_summary {
    const char *format; /* "zip", "tar", "compressed", static; NULL: the upload is no archive */
    uint64_t n_entries; /* regular files and others, as far as it was read */
    uint64_t n_machos;  /* Mach-O files given to the sink as whole members */
    uint64_t n_encrypted;
    uint64_t n_bytes; /* unpacked, of all members that were looked at */
};

/* True if the bytes begin as a thin or fat Mach-O does (a Java class begins like a fat one). */
bool archive_is_macho(struct fz_span bytes);

/*
 * Walk the archive in `upload` (the whole file).
 *
 * What breaks an archive off in the middle is a problem ("truncated", "bad_member"), told in
 * `problems`; what was read before stays. Limits: archive_entries, archive_bytes, archive_ratio and
 * symbol_bytes for one member. Passed over without a word: AppleDouble files (._*), __MACOSX,
 * symbolic links, archives within, everything else.
 *
 * UNSUPPORTED: no archive of these kinds. MALFORMED: one whose very beginning is broken. LIMIT: a
 * limit, named. What the sink returned.
 */
FZ_MUST_CHECK enum fz_code archive_walk(struct fz_span upload, const struct limits *limits,
                                        const struct archive_sink *sink,
                                        struct archive_summary *ret, struct sym_problems *problems,
                                        struct fz_error *err);

#endif
