/*
 * What new reports do to issues that are not open: a regression reopens a resolved one, and an
 * ignored one is open again when its condition is met. Private to storage.
 *
 * Runs inside the transaction that ends reports. Open issues cost nothing: the statement that adds
 * to an issue's counts says what state it is in (struct store_deltas.closed). base/version.h defines
 * what a regression is, store_newest.h which versions do not count.
 */
#ifndef STORE_REGRESS_H
#define STORE_REGRESS_H

#include "storage/store_record.h"

/* After the counts were written. */
FZ_MUST_CHECK enum fz_code store_regress_check(struct store_record *record, struct fz_error *err);

#endif
