/*
 * Which stacks an issue is worth comparing with: those of other issues that have functions of it.
 *
 * Bounded work, whatever the number of stacks: rare functions come first, those that are nearly everywhere lead to nothing, and of
 * each only the newest stacks are looked at. So a related issue can be missed. Comparing is the caller's (server/group).
 * Conventions as in store.h.
 */
#ifndef STORE_SIMILAR_H
#define STORE_SIMILAR_H

#include "storage/store_issues.h"

enum {
    STORE_SIMILAR_OWN = 6,      /* stacks that stand for the issue */
    STORE_SIMILAR_OTHERS = 200, /* stacks of other issues */
    STORE_SIMILAR_SAMPLE = 100  /* stacks of the project by which frequencies are estimated */
};

struct store_similar_stack {
    int64_t number;      /* of its issue */
    struct fz_span body; /* as struct store_grouping had it; arena */
};
/* A function and in how many stacks of the sample it is. */
struct store_frequency {
    const char *function;
    uint64_t n;
};
struct store_similar {
    struct store_similar_stack *own, *others;
    size_t n_own, n_others;
    struct store_frequency *functions; /* those in two or more, sorted by strcmp() */
    size_t n_functions;
    uint64_t n_sample; /* stacks of the sample; all of a small project */
};

/* Issues that were merged, and those without reports, are not among the others. NOT_FOUND: no such issue. */
FZ_MUST_CHECK enum fz_code store_similar_find(struct store *store, int64_t project_id,
                                              int64_t number, struct fz_arena *arena,
                                              struct store_similar *ret, struct fz_error *err);

#endif
