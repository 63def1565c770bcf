/*
 * Where symbolicated reports go: one after the other to standard output, or to files in a folder.
 *
 * A file has the name of its report with the extension of its new form. Two reports with one name
 * get "a.crash" and "a-2.crash"; a file that is an input of this run is not written over:
 * "a.symbolicated.crash" instead. Files of an earlier run are replaced.
 */
#ifndef CLI_SYMBOLICATE_OUTPUT_H
#define CLI_SYMBOLICATE_OUTPUT_H

#include "base/buffer.h"
#include "base/error.h"
#include "server/cli/report_files.h"
#include "server/cli/symbolicate.h"

struct symbolicate_output {
    const struct symbolicate_options *options;
    const struct report_files *inputs;
    char **written; /* names in the folder, of this run */
    size_t n, room;
    bool is_begun; /* standard output has a report */
    bool was_kept; /* and the last one was kept as it came */
    bool is_open;  /* and its last line has no end */
    bool is_gone;  /* the reader of standard output has closed it */
};

/* Make the folder, if one is given. MALFORMED: it is a file. */
FZ_MUST_CHECK enum fz_code symbolicate_output_open(struct symbolicate_output *output,
                                                   const struct symbolicate_options *options,
                                                   const struct report_files *inputs,
                                                   struct fz_error *err);
void symbolicate_output_close(struct symbolicate_output *output);

/* `name` is the report's as report_files_read() gives it; a report that is kept as it came is not
 * parted from another such by an empty line. */
FZ_MUST_CHECK enum fz_code symbolicate_output_write(struct symbolicate_output *output,
                                                    const char *name, struct fz_span text,
                                                    bool is_kept, struct fz_error *err);

#endif
