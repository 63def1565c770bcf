/*
 * The columns of a report: what lists show and filter by, kept apart from the result.
 *
 * A new column is one row in the table of columns.c and one migration; a value that is more than one member of the
 * model is computed in summary.c. Protocol, storage, API and docs/api follow the table or are compared with it by tests.
 */
#ifndef REPORT_COLUMNS_H
#define REPORT_COLUMNS_H

#include "base/arena.h"
#include "base/columns.h"
#include "server/report/report.h"

extern const struct fz_columns report_columns;

/* The report's value of each column, in the arena or the report. NO_MEMORY, LIMIT: the arena's. */
FZ_MUST_CHECK enum fz_code report_columns_make(const struct report *report, struct fz_arena *arena,
                                               union fz_value **ret, struct fz_error *err);

#endif
