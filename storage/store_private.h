/*
 * What the files of the store share: the connection's state, packing of bodies, checks of ids.
 */
#ifndef STORE_PRIVATE_H
#define STORE_PRIVATE_H

#include "base/buffer.h"
#include "storage/blob/blob.h"
#include "storage/sql/sql.h"
#include "storage/store_fair.h"
#include "storage/store_jobs.h"

enum { STORE_SET_KINDS = 2 };

struct store_packer;       /* of store_pack() */
struct store_dictionaries; /* of store_dictionary.h */

struct store {
    struct sql *sql;
    struct blob_store *blobs;            /* borrowed; NULL = not checked */
    bool blob_is_gone;                   /* why store_blob_hold() failed */
    unsigned n_claims;                   /* which kind of job the next claim prefers */
    int64_t hold_us, claim_us;           /* the time of the last claim's jobs, of the next one's */
    struct store_fair fair;              /* what this worker has done for each project */
    bool no_uploads;                     /* leave them to others */
    int64_t lanes_after;                 /* the next claim looks at projects beyond this one */
    struct store_term_cache *terms;      /* of store_terms.h; owned */
    int64_t erased_ms;                   /* of the last erasure that the cache of terms knows of */
    struct store_fact_cache *fact_cache; /* of store_fact_cache.h; borrowed; NULL = none */
    uint64_t share_from;                 /* of store_set_share_from(); 0 = the default */
    uint64_t all_from;                   /* of store_set_all_from(); 0 = the default */
    int64_t unknown_from;                /* of store_set_unknown_from(); the same */
    unsigned usage_slot;                 /* where this connection counts usage and changes */
    int64_t swept_sets[STORE_SET_KINDS]; /* the last set that store_sweep_rows() looked at */
    int64_t swept_ms;            /* monotonic: when transient reports were last cleared away */
    struct fz_columns columns;   /* of store_set_columns() */
    struct store_packer *packer; /* of results; owned */
    struct store_dictionaries *dictionaries; /* of store_dictionary.h; owned */
    char *select_report, *update_report;     /* what they make of two statements; owned */
};

/* Bytes at most that a column for lists keeps of a text; PostgreSQL cannot index much more. */
enum { STORE_TEXT_SHORT = 256, STORE_TEXT_LONG = 4096 };

/* Values of jobs.state. */
enum { STORE_QUEUED = 0, STORE_LEASED = 1, STORE_QUARANTINED = 2 };

/* Values of jobs.priority: somebody sent it just now; somebody asked for it to be done again; it is
 * done again because symbols came or the program changed. */
enum store_priority { STORE_FRESH = 0, STORE_ASKED = 1, STORE_LATE = 2 };

/* 32 lower-case hex digits. */
bool store_is_id(const char *text);
/* 64 lower-case hex digits. */
bool store_is_sha256(const char *text);

/* A zstd frame that carries its length; *ret is malloc'ed, owned by the caller. `packer` may be NULL; what it points to is made
 * by the first call, serves the next ones, and ends with store_packer_free(): its tables are a megabyte of new memory. */
FZ_MUST_CHECK enum fz_code store_pack(struct fz_span bytes, struct store_packer **packer,
                                      void **ret, size_t *ret_len, struct fz_error *err);
void store_packer_free(struct store_packer *packer);
FZ_MUST_CHECK enum fz_code store_unpack(struct fz_span packed, struct fz_arena *arena,
                                        struct fz_span *ret, struct fz_error *err);
/* From the first STORE_PACK_HEADER bytes: how long it is unpacked; 0 if they do not say. */
enum { STORE_PACK_HEADER = 18 };
uint64_t store_packed_size(struct fz_span start);
void store_freep(void **memory);

/* A report with its body packed already, so that the thread that commits does not compress. */
struct store_packed {
    struct store_report_new *item;
    void *body; /* owned by whoever made it */
    size_t body_len;
};
/* Insert reports and their jobs in one durable commit; after FZ_OK each item with code FZ_OK is on
 * disk. On failure nothing of the batch was stored. */
FZ_MUST_CHECK enum fz_code store_report_insert_packed(struct store *store,
                                                      const struct store_packed *items, size_t n,
                                                      struct fz_error *err);

/* In a query, the key of the report with the id $2 in the project $1: PostgreSQL finds the month's table by it (0035_expand_months.sql). */
#define STORE_REPORT_KEY "(SELECT k.key FROM report_ids k WHERE k.project_id = $1 AND k.id = $2)"

/* Note in the transaction that there are `n` more reports (or fewer). */
FZ_MUST_CHECK enum fz_code store_count_reports(struct sql *tx, int64_t n, struct fz_error *err);

/* Add to today's usage, in a transaction or by itself. A connection draws its slot once. */
struct store_usage;
unsigned store_usage_slot(void);
FZ_MUST_CHECK enum fz_code store_usage_count(struct sql *sql, unsigned slot, int64_t now_ms,
                                             const struct store_usage *usage, struct fz_error *err);

/* The name in a column of the current row. INTERNAL: it is not one. */
FZ_MUST_CHECK enum fz_code store_read_report_status(struct sql_rows *rows, int column,
                                                    enum store_report_status *ret,
                                                    struct fz_error *err);
FZ_MUST_CHECK enum fz_code store_read_symbol_kind(struct sql_rows *rows, int column,
                                                  enum store_symbol_kind *ret,
                                                  struct fz_error *err);
FZ_MUST_CHECK enum fz_code store_read_symbol_state(struct sql_rows *rows, int column,
                                                   enum store_symbol_state *ret,
                                                   struct fz_error *err);
FZ_MUST_CHECK enum fz_code store_read_upload_state(struct sql_rows *rows, int column,
                                                   enum store_upload_state *ret,
                                                   struct fz_error *err);

/* A row of "SELECT <store->select_report> FROM reports": STORE_REPORT_OWN columns, then one for each
 * of store_set_columns(). */
enum { STORE_REPORT_OWN = 10 };
FZ_MUST_CHECK enum fz_code store_report_read(const struct store *store, struct sql_rows *rows,
                                             struct fz_arena *arena, struct store_report *ret,
                                             struct fz_error *err);
/* store->update_report takes so many arguments, then one per column that is not fixed. */
enum { STORE_UPDATE_ARGS = 10 };
/* Append those to the n arguments in `args`; returns how many there are then. `values` may be
 * NULL. */
size_t store_report_bind(const struct store *store, const union fz_value *values,
                         struct fz_arena *arena, struct sql_value *args, size_t n);
void store_drop_columns(struct store *store);

/* UUIDs as one value: 16 bytes each, sorted, each once. Queries take it apart with substr(). */
struct store_uuids {
    uint8_t *bytes; /* arena */
    size_t n;
};
FZ_MUST_CHECK enum fz_code store_uuids_sort(const struct fz_uuid *uuids, size_t n,
                                            struct fz_arena *arena, struct store_uuids *ret,
                                            struct fz_error *err);
struct sql_value store_uuids_value(const struct store_uuids *uuids);

/* Before the transaction of the report's end: leave in done->learned what is not known yet, in the
 * arena. Nothing for a transient report. */
FZ_MUST_CHECK enum fz_code store_learned_news(struct store *store, const struct store_job *job,
                                              struct store_report_done *done,
                                              struct fz_arena *arena, struct fz_error *err);
/* Inside it: keep them. Of two names for one function the first stays. */
FZ_MUST_CHECK enum fz_code store_learned_add(struct store *store, const struct store_job *job,
                                             const struct store_report_done *done,
                                             struct fz_arena *arena, struct fz_error *err);

/* The key of the set of all images, and of the set of awaited ones; made if it is new. 0 for an
 * empty set. Inside a transaction. */
FZ_MUST_CHECK enum fz_code store_image_set(struct store *store, int64_t project_id,
                                           const struct store_report_done *done,
                                           struct fz_arena *arena, int64_t *ret_key,
                                           struct fz_error *err);
FZ_MUST_CHECK enum fz_code store_wait_set(struct store *store, int64_t project_id,
                                          const struct store_report_done *done,
                                          struct fz_arena *arena, int64_t *ret_key,
                                          struct fz_error *err);

/* Put a symbol file into the list, or bring its row up to date; sets is_new. `seq` is the project's
 * symbol_seq. A rebuild keeps the time of the upload, and adds no row: one that is not there was
 * deleted while the index was built. Inside a transaction that holds the project's lock. */
FZ_MUST_CHECK enum fz_code store_symbol_register(struct store *store, struct store_symbol *symbol,
                                                 bool is_rebuild, int64_t seq,
                                                 struct fz_arena *arena, struct fz_error *err);

/* A dSYM or binary, rather than a map. */
bool store_symbol_is_image(const struct store_symbol *symbol);

/* In the transaction that registers them: queue the building anew of what a BCSymbolMap has come
 * for, or whose map is there already. */
FZ_MUST_CHECK enum fz_code store_rebuild_with_maps(struct store *store, const struct store_job *job,
                                                   bool is_rebuild,
                                                   const struct store_symbol *symbols, size_t n,
                                                   struct fz_arena *arena, struct fz_error *err);

/* Does the job of an upload only build the index of a stored slice anew? */
FZ_MUST_CHECK enum fz_code store_job_is_rebuild(struct store *store, const struct store_job *job,
                                                bool *ret, struct fz_error *err);

/* The job of an upload has ended, one way or the other: what was sent is not needed any more. */
FZ_MUST_CHECK enum fz_code store_upload_drop_blob(struct sql *tx, const struct store_job *job,
                                                  struct fz_error *err);

/* An upload and its job; as store_upload_insert(), inside a transaction. */
FZ_MUST_CHECK enum fz_code store_upload_add(struct store *store, const struct store_upload *upload,
                                            struct fz_arena *arena, struct fz_error *err);

/* Queue the reports that wait for one of the files that are ready, of those whose key is not beyond
 * `last_report`; several transactions. CONFLICT: the job was lost in between. */
FZ_MUST_CHECK enum fz_code store_unblock(struct store *store, const struct store_job *job,
                                         const struct store_symbol *symbols, size_t n,
                                         int64_t last_report, struct fz_arena *arena,
                                         struct fz_error *err);
/* How many reports the job's upload has queued. */
FZ_MUST_CHECK enum fz_code store_unblocked(struct sql *tx, const struct store_job *job,
                                           uint64_t *ret, struct fz_error *err);

/* Within the transaction that makes a row name this blob (NULL: none): it is not taken away before
 * that ends. UNAVAILABLE: it is not there any more and has to be put again. */
FZ_MUST_CHECK enum fz_code store_blob_hold(struct store *store, const char *sha256,
                                           struct fz_error *err);
/* Within the transaction after which a row does not name it any more. Others may. */
FZ_MUST_CHECK enum fz_code store_blob_drop(struct sql *tx, const char *sha256,
                                           struct fz_error *err);

/* In the transaction that ends a report: the body without memory takes the place of the one that
 * was sent, which is kept if the project wants that. `packed` is empty for a report without memory.
 * Sets *ret to what the body is from then on. */
FZ_MUST_CHECK enum fz_code store_body_strip(struct store *store, const struct store_job *job,
                                            struct fz_span packed, enum store_memory *ret,
                                            struct fz_error *err);
/* For the sweep: memory that was kept for long enough, and bodies of reports that failed. */
FZ_MUST_CHECK enum fz_code store_sweep_memory(struct store *store, uint64_t *n,
                                              struct fz_error *err);

/* A report whose row was just changed or deleted in this transaction (store_runs.h). */
struct store_run_report {
    int64_t project_id;
    const char *id;
    char run[STORE_TEXT_SHORT + 1]; /* that ended with it; "" = none is known */
    bool is_first;                  /* it had no result before, so no other refers to it */
    bool was_counted;               /* it was deleted, and a fact that is counted stays of it */
};

/* Count it, or mark it as the same crash as the one of its run that is counted. With
 * store_run_forget() the only place where a report begins or ceases to be counted. */
FZ_MUST_CHECK enum fz_code store_run_settle(struct sql *tx, const struct store_run_report *report,
                                            bool *ret_is_counted, struct fz_error *err);
/* It was deleted: if others refer to it, one of them takes its place. What was counted stays counted. */
FZ_MUST_CHECK enum fz_code store_run_forget(struct sql *tx, const struct store_run_report *report,
                                            struct fz_error *err);

/* Lock the job's row if the fence still holds (else CONFLICT). */
struct store_job_row {
    int64_t seen_seq, strikes, deaths, outages;
    int64_t rules_version; /* of the project, by now */
    int64_t sealed_ms;     /* of the project (store_fact_days.h) */
    bool again;
};
FZ_MUST_CHECK enum fz_code store_job_lock(struct store *store, const struct store_job *job,
                                          struct store_job_row *ret, struct fz_error *err);
FZ_MUST_CHECK enum fz_code store_job_delete(struct store *store, int64_t id, struct fz_error *err);
/* Put the job into quarantine, where people can see it, and mark its subject as failed. */
FZ_MUST_CHECK enum fz_code store_job_quarantine(struct store *store, const struct store_job *job,
                                                enum fz_code why, const char *text,
                                                struct fz_error *err);
/* Always CONFLICT, with the one text for it. */
FZ_MUST_CHECK enum fz_code store_job_not_ours(const struct store_job *job, struct fz_error *err);
/* A new job, due now. `reader` (of a report) may be NULL. Inside a transaction. */
FZ_MUST_CHECK enum fz_code store_job_add(struct sql *tx, int64_t project_id,
                                         enum store_job_kind kind, const char *subject,
                                         const char *reader, enum store_priority priority,
                                         struct fz_error *err);
/* The same for many jobs of one transaction, with the time of its start. */
struct store_job_new {
    int64_t project_id;
    enum store_job_kind kind;
    const char *subject, *reader; /* as above */
    enum store_priority priority;
};
struct store_job_time {
    int64_t now_ms, clock_ms;
};
FZ_MUST_CHECK enum fz_code store_job_time(struct sql *tx, struct store_job_time *ret,
                                          struct fz_error *err);
FZ_MUST_CHECK enum fz_code store_job_add_at(struct sql *tx, const struct store_job_new *job,
                                            const struct store_job_time *time,
                                            struct fz_error *err);
/* The same job again: fresh counters, due now; `asked`: somebody waits for it. */
FZ_MUST_CHECK enum fz_code store_job_requeue(struct store *store, int64_t id, bool asked,
                                             struct fz_error *err);
/* What a claim looks at: one row for each kind, priority and project that has something to do. */
extern const char store_lanes_query[];
/* Delete transient reports that were not fetched; does something once a minute. */
void store_sweep_transient(struct store *store);

/* An opaque place in a list, "sort key, then id": base64url of both. */
const char *store_cursor_make(struct fz_arena *arena, int64_t time_ms, const char *id);
/* ret_id has room for STORE_ID_TEXT. MALFORMED: not one of ours. */
FZ_MUST_CHECK enum fz_code store_cursor_parse(const char *cursor, struct fz_arena *arena,
                                              int64_t *ret_time_ms, char *ret_id,
                                              struct fz_error *err);
/* The same of rows that have a time and a key. `mark` is a lower-case letter that only cursors of this order begin with; 0 = none. */
const char *store_cursor_of_key(struct fz_arena *arena, char mark, int64_t time_ms, int64_t key);
FZ_MUST_CHECK enum fz_code store_cursor_read_key(const char *cursor, char mark,
                                                 struct fz_arena *arena, int64_t *ret_time_ms,
                                                 int64_t *ret_key, struct fz_error *err);

#endif
