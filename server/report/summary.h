/*
 * What a list shows of a report and filters it by, where that is more than one member of the model.
 */
#ifndef REPORT_SUMMARY_H
#define REPORT_SUMMARY_H

#include "base/arena.h"
#include "server/report/report.h"

struct report_summary {
    const char *kind; /* never NULL */
    const char
        *release;       /* "com.acme.shop@4.2+4201", as much of it as is known; NULL = nothing is */
    const char *run_id; /* NULL = unknown */
    int64_t ends_run;   /* 1: the run is known, and report_ends_run(); else 0 */
    int64_t scrubbed;   /* 1: something of it was masked */
    const char *user;   /* the user's id, else e-mail address, else name; NULL = unknown */
    const char *tags;   /* "\nname=value\nname=value\n"; NULL = none */
    /* What the key of the report's issue names; else the first frame with a name, preferably the app's own, of the exception's backtrace, else of the crashed thread;
     * in it the innermost call that has a name. NULL and 0 = no frame has one. */
    const char *top_function, *top_file;
    int64_t top_line;
};

/* Texts are in the arena or the report. NO_MEMORY, LIMIT: the arena's. */
FZ_MUST_CHECK enum fz_code report_summary_make(const struct report *report, struct fz_arena *arena,
                                               struct report_summary *ret, struct fz_error *err);

#endif
