/*
 * Conditions as SQL: queries that grow from constants and arguments, and texts compared as storage/store_query.h says. Private to
 * storage.
 *
 * Whatever a client sends is an argument; texts of queries are constants, names of columns and numbers of our own.
 */
#ifndef STORE_CONDITION_H
#define STORE_CONDITION_H

#include "storage/store_private.h"
#include "storage/store_query.h"

struct store_sql {
    struct fz_buffer text;
    struct sql_value args[SQL_MAX_PARAMS];
    size_t n_args;
    bool is_too_long; /* more arguments than there is room for */
    struct fz_arena *arena;
    const struct sql_driver *driver;
};

/* An empty query for this connection; store_sql_deinit() ends it. */
void store_sql_init(struct store_sql *q, const struct store *store, struct fz_arena *arena);
void store_sql_deinit(struct store_sql *q);
/* Append a text, in which each '?' is the one new argument. */
void store_sql_add(struct store_sql *q, const char *text, struct sql_value value);
/* Append "$n" of a new argument. */
void store_sql_arg(struct store_sql *q, struct sql_value value);
/* LIMIT: too many arguments; NO_MEMORY. */
FZ_MUST_CHECK enum fz_code store_sql_done(const struct store_sql *q, struct fz_error *err);

/* Numbers of rows, in the arena; sorted, each once, after store_ids_sort(). */
struct store_ids {
    int64_t *list;
    size_t n, room;
};
FZ_MUST_CHECK enum fz_code store_ids_put(struct store_ids *ids, int64_t id, struct fz_arena *arena,
                                         struct fz_error *err);
void store_ids_sort(struct store_ids *ids);
bool store_ids_have(const struct store_ids *ids, int64_t id);
/* Its place in the sorted list; ids->n: it is not there. */
size_t store_ids_find(const struct store_ids *ids, int64_t id);
/* Append a condition: what is before it is one of them, which are an argument. The text is the same for any, so it is prepared once. */
void store_sql_in_any(struct store_sql *q, const struct store_ids *ids);
/* The same as " IN (...)", of which the database sees how many there are; of many as above. */
void store_sql_in(struct store_sql *q, const struct store_ids *ids);
/* Append the ids that the query `text` gives. */
FZ_MUST_CHECK enum fz_code store_ids_read(struct store *store, const struct store_sql *q,
                                          struct store_ids *ret, struct fz_arena *arena,
                                          struct fz_error *err);

/* Append "(a text of `exprs` is as the condition says)" without its negation; false, never NULL, if none is known. Not for
 * comparisons. */
void store_sql_match(struct store_sql *q, const struct store_condition *condition,
                     const char *const *exprs, size_t n_exprs);
/* The same for texts that are never NULL: a bare condition, which PostgreSQL can look up in an index of parts. */
void store_sql_match_known(struct store_sql *q, const struct store_condition *condition,
                           const char *const *exprs, size_t n_exprs);
/* The value as a pattern for LIKE with the wildcards of the operator; what precedes it is literal. */
struct sql_value store_sql_pattern(struct store_sql *q, const char *before, enum store_op op,
                                   const struct store_query_value *value);

/* Append a comparison of a number: " >= 5". */
void store_sql_compare(struct store_sql *q, enum store_op op, int64_t number);
bool store_op_is_comparison(enum store_op op);
/* Does a text that is ordered compare so with the condition's value? As query_matches() does. */
bool store_version_holds(const struct store_condition *condition, const char *text);

#endif
