/*
 * Reports into issues, within the transaction that ends them. Private to storage.
 *
 *   store_record_prepare()   before the transaction, for each report: numbers for its texts
 *   store_record_add()       inside it, under the project's lock: its stack, key, variant, facts
 *   store_record_end()       before the commit: the counts
 *
 * Most reports belong to keys that are known; then workers do not wait for each other. A report with
 * a new key, or one that moves to another issue, needs the project's lock exclusively:
 * store_record_add() sets needs_exclusive and fails, and the caller starts the transaction again.
 */
#ifndef STORE_RECORD_H
#define STORE_RECORD_H

#include "storage/store_condition.h"
#include "storage/store_deltas.h"

enum {
    STORE_FACT_TAGS = 32,   /* tags of one report that filters find */
    STORE_MOVES_LOGGED = 32 /* issues to which an issue's log says that reports went */
};

/* What is known of a report before the transaction. */
struct store_recorded {
    const struct store_report_done *done;
    struct store_fact fact; /* its terms; the rest is filled in inside */
    int64_t *tags;          /* ids of terms */
    size_t n_tags;
    int64_t *texts; /* functions and files, if its stack was not known; else at most one */
    size_t n_texts;
    const char *kind; /* of the issue */
    uint8_t stack_sha256[FZ_SHA256_LEN];
    void *stack; /* compressed, malloc'ed; NULL if it was known */
    size_t stack_len;
    int64_t stack_key; /* set inside, by store_key_find(); 0 = not found with its key */
    const char *id;    /* of the report; set inside */
    bool has_waited;   /* it was received long before it came to this issue; set inside */
    bool is_grouped;   /* false: the report says nothing of its issue and is not counted */
};
FZ_MUST_CHECK enum fz_code store_record_prepare(struct store *store, int64_t project_id,
                                                const struct store_report_done *done,
                                                struct fz_arena *arena, struct store_recorded *ret,
                                                struct fz_error *err);
void store_record_deinit(struct store_recorded *recorded);

struct store_record {
    struct store *store;
    int64_t project_id;
    struct fz_arena *arena;
    int64_t sealed_ms;    /* of the project, read under its lock (store_fact_days.h) */
    bool is_exclusive;    /* the project's lock is */
    bool needs_exclusive; /* out: why store_record_add() failed */
    struct store_deltas deltas;
    /* Counted reports that their issues have for the first time. */
    struct store_recorded **news;
    size_t n_news, news_room;
    /* From which issues reports went to which others, each pair once. */
    struct store_move *moves;
    size_t n_moves, moves_room;
    uint64_t n_new_issues; /* made, and the last one's id */
    int64_t new_issue_id;
    struct store_ids old_days; /* with facts before sealed_ms that changed */
};
struct store_move {
    int64_t from, into; /* issues.id */
};

/* What the transaction knows of the report's row. */
struct store_record_row {
    const char *id;
    int64_t report_key, received_ms;
    bool is_again;   /* it was processed before */
    bool is_old;     /* an older program has processed it, and it has no issue yet */
    bool is_kept;    /* not one that only answers a request */
    bool is_counted; /* no other report of its run is counted for its crash */
};
FZ_MUST_CHECK enum fz_code store_record_add(struct store_record *record,
                                            struct store_recorded *recorded,
                                            const struct store_record_row *row,
                                            struct fz_error *err);
FZ_MUST_CHECK enum fz_code store_record_end(struct store_record *record, struct fz_error *err);
/* The report was deleted: its facts stay, under a key that no report has. *ret_was_counted: it has
 * facts that are counted. The transaction holds the project's lock. */
FZ_MUST_CHECK enum fz_code store_record_forget(struct sql *tx, int64_t project_id,
                                               int64_t received_ms, int64_t report_key,
                                               bool *ret_was_counted, struct fz_error *err);

/* ---- store_keys.c: from a key to its variant and issue ---- */

/*
 * Fill in the variant and the issue of recorded->fact. `old` is where the report was before, NULL
 * for a new one: if that was a placeholder, its issue takes the key, or becomes part of the key's
 * issue, whichever is older.
 */
FZ_MUST_CHECK enum fz_code store_key_find(struct store_record *record,
                                          struct store_recorded *recorded,
                                          const struct store_fact *old, int64_t *ret_key_id,
                                          struct fz_error *err);

#endif
