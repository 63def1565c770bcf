/*
 * A query about reports that grows: its text is put together from constants, everything foreign is
 * an argument.
 *
 * Private to storage. The caller fills in `arena` and `like`, adds the project as the first
 * argument, and checks the text with fz_buffer_done().
 */
#ifndef STORE_REPORT_FILTER_H
#define STORE_REPORT_FILTER_H

#include "storage/store_private.h"

struct store_report_query {
    struct fz_buffer text;
    struct sql_value args[SQL_MAX_PARAMS];
    size_t n_args;
    struct fz_arena *arena;
    const char *like; /* the operator of the engine that compares in either case */
};

/* A condition in which each '?' is the one new argument. */
void store_report_query_add(struct store_report_query *query, const char *condition,
                            struct sql_value value);
/* All conditions of the filter (NULL = none), each after " AND". MALFORMED: a name, a UUID;
 * LIMIT: too many. */
FZ_MUST_CHECK enum fz_code store_report_query_filter(struct store_report_query *query,
                                                     const struct store *store,
                                                     const struct store_report_filter *filter,
                                                     struct fz_error *err);

#endif
