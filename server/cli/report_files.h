/*
 * The reports in what a person names on the command line: files, folders, zip and tar archives,
 * compressed files, "-" for standard input. For the user's own files on the user's own machine.
 *
 * All files are listed before the first is read: what this run writes is not its input.
 */
#ifndef CLI_REPORT_FILES_H
#define CLI_REPORT_FILES_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/span.h"
#include "server/process/limits.h"

struct report_file {
    char *path;
    bool
        is_named; /* by the user, so it must be a report; other files of a folder may be anything */
    dev_t device; /* which file it is, under whatever name */
    ino_t inode;
};

struct report_files {
    struct report_file *list;
    size_t n, room;
};

static inline struct report_files
report_files_make(void)
{
    return (struct report_files){.list = NULL};
}
void report_files_deinit(struct report_files *files);

/* Add a file, or the files of a folder in the order of their names (not hidden ones, not what is in
 * a .dSYM, .app, .framework or .xcarchive). NOT_FOUND: no such path. UNSUPPORTED: an empty folder. */
FZ_MUST_CHECK enum fz_code report_files_add(struct report_files *files, const char *path,
                                            struct fz_error *err);

struct report_files_sink {
    /* What may be a report, uncompressed; `name` is "dir/a.zip:inner/b.ips" within an archive. */
    void (*found)(void *user, const char *name, struct fz_span body);
    void (*failed)(void *user, const char *name, const char *why);
    void *user;
};

/* Read one file and call the sink for all that is in it. Nothing is called for a file that was not
 * named and does not look like a report. */
void report_files_read(const struct report_file *file, const struct limits *limits,
                       const struct report_files_sink *sink);

#endif
