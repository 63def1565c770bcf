/*
 * What the tests of retention have in common: a project with reports of a hundred days, and sweeps.
 *
 * As many reports come each day: of twenty rare issues (one report in fifty), of a frequent one (one in seven), and of a very
 * frequent one. Those of the first five days have the image 'o', all others 'n'; a symbol file 'x' is of neither and was
 * uploaded long ago.
 */
#ifndef RETENTION_CASE_H
#define RETENTION_CASE_H

#include "issue_case.h"
#include "storage/store_retention.h"

enum { REPORTS = 3000, FEWER = 600 };

struct retention_case_world {
    int64_t now;
    int n; /* reports of a hundred days */
    char ids[REPORTS][STORE_ID_TEXT];
};

/* Store and process the first `n`; their ids are in w->ids. */
void retention_case_add_reports(struct contract *c, struct retention_case_world *w, int n_all);
/* With `n` reports, at most REPORTS, and symbol files; the caller frees it. */
struct retention_case_world *retention_case_make_world(struct contract *c, int n);

void retention_case_set(struct contract *c, const struct store_retention *retention);
/* With the project's settings, until it is done. */
struct store_retention_plan *retention_case_look(struct contract *c);
/* One sweep; `ret` may be NULL. False: it has to wait. */
bool retention_case_sweep(struct contract *c, struct store_retention_done *ret);

int64_t retention_case_reports(struct contract *c);
bool retention_case_is_there(struct contract *c, const char *id);
bool retention_case_has_symbol(struct contract *c, char name);
/* All counts of issues and versions as one text. */
const char *retention_case_counts(struct contract *c);

#endif
