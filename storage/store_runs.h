/*
 * Which reports are the same crash: those of one run of the app with which that run ended.
 *
 * A crash may be captured in the process and by an extension, so it may arrive several times. Exactly
 * one report of such a run is counted: its same_as is NULL. That of the others is the counted one's
 * id. Whatever counts crashes counts reports with same_as NULL only.
 *
 * The one that is finished first is counted, for as long as it exists and its run ended with it. Then
 * the oldest of the others takes its place in lists. Counts do not change: the facts of the deleted
 * one stay, and counted_runs says so, so that neither the others nor a later report of the run are
 * counted once more. Two locks ensure that, in transactions of reports of one run:
 *
 * 1. The run's own, from before the look for the counted one until the commit: of two new reports
 *    the second one sees the first one.
 * 2. That of the counted one's row: who refers to it waits for whoever deletes or changes it, and
 *    the other way round. So no report refers to one that is not counted any more.
 */
#ifndef STORE_RUNS_H
#define STORE_RUNS_H

#include "storage/store.h"

/* The other reports of the same crash, the oldest first. Empty for nearly all; at most
 * STORE_SAME_CRASH. `report` is of store_report_get(), with values. The ids are in the arena. */
enum { STORE_SAME_CRASH = 16 };
FZ_MUST_CHECK enum fz_code store_report_same_crash(struct store *store,
                                                   const struct store_report *report,
                                                   struct fz_arena *arena, const char *const **ret,
                                                   size_t *ret_n, struct fz_error *err);

#endif
