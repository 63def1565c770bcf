/*
 * A query that grows: conditions of texts, checked by the table of fields and by the limits.
 *
 * Private to server/query.
 */
#ifndef QUERY_BUILD_H
#define QUERY_BUILD_H

#include "server/query/query.h"

/* A value as it was written. */
struct query_piece {
    const char *text;
    size_t offset;              /* in the query's text */
    bool any_before, any_after; /* a star at its beginning, at its end */
};

/* A condition as it was written. */
struct query_input {
    enum store_field field;
    enum store_op op;
    bool is_negated;
    const char *name; /* of a tag */
    const struct query_piece *pieces;
    size_t n_pieces;
    size_t offset;
};

struct query_build {
    struct fz_arena *arena;
    struct store_query query;
    struct store_condition *list; /* has room for STORE_QUERY_CONDITIONS */
    size_t n_values;
};

/* Begin with the conditions of `query`. */
FZ_MUST_CHECK enum fz_code query_build_start(struct query_build *build,
                                             const struct store_query *query,
                                             struct fz_arena *arena, struct fz_error *err);
FZ_MUST_CHECK enum fz_code query_build_add(struct query_build *build,
                                           const struct query_input *input, struct fz_error *err);
/* A time for since_ms or until_ms, which `key` names. */
FZ_MUST_CHECK enum fz_code query_build_time(const struct query_build *build, const char *key,
                                            const struct query_piece *piece, int64_t *ret,
                                            struct fz_error *err);
/* The place of the choice ("open" in "open, resolved") in either case, SIZE_MAX if it is not one. */
size_t query_choice_find(const char *choices, const char *text);
/* The choice at a place of the list; an empty span after the last. */
struct fz_span query_choice_at(const char *choices, size_t at);

#endif
