/*
 * The work of `framezero symbolicate`: reports and symbol files in, the reports with names out.
 *
 * One report that is broken costs only itself.
 */
#ifndef CLI_SYMBOLICATE_H
#define CLI_SYMBOLICATE_H

#include "server/cli/user_symbols.h"
#include "server/config/options.h"

struct symbolicate_options {
    int form;           /* enum report_form */
    bool rebuild;       /* also where the text could be kept */
    bool variables;     /* with their values: JSON, or text of its own form */
    const char *output; /* a folder: one file per report; NULL: standard output */
};

/* Returns the exit code: 0 if all reports were read and written, else 1. */
int symbolicate_run(struct user_symbols *symbols, const struct symbolicate_options *options,
                    const char **paths, size_t n_paths);

#endif
