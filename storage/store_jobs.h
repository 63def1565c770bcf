/*
 * The queue: jobs are claimed under a lease, worked on, and ended; what a report or an upload became
 * is stored in the transaction that ends its job.
 *
 * Leases are judged by the database's clock; a job's fence grows with each claim, so a worker that
 * was thought dead cannot end a job that another one has. Conventions as in store.h.
 */
#ifndef STORE_JOBS_H
#define STORE_JOBS_H

#include "storage/store.h"
#include "storage/store_grouping.h"

enum store_job_kind { STORE_JOB_REPORT = 1, STORE_JOB_UPLOAD = 2 };

struct store_job {
    int64_t id;
    enum store_job_kind kind;
    int64_t project_id;
    char subject[STORE_ID_TEXT]; /* the report's id, or the upload's */
    unsigned attempt;            /* counted at the claim: 1 for the first */
    int64_t fence; /* grows with every claim; a finish with an old one is refused with CONFLICT */
    int64_t queued_ms;
    int64_t charged_us; /* for store_job_spent() */
    char reader[64];    /* of the report as it came in; "" = not known any more */
};

/* Claim up to `max` due jobs for lease_ms. Jobs whose lease ran out are due again; one whose
 * attempts are used up (STORE_JOB_ATTEMPTS) is put into quarantine instead (its report becomes
 * "failed" with a reason). Up to half of them (half of an odd one by turns) are of the other kind,
 * if it has any, so that neither reports nor uploads wait for a flood of the other. At most 64.
 *
 * Of one kind, what was sent just now goes before what somebody asked to have done again, and that
 * before what is done again by itself; one claim in eight begins with one of the later ones. Among
 * equals the project is next that has had least of this connection's time, as store_job_spent()
 * reports it; then the job that is oldest. Where jobs are known to take long, a claim takes fewer.
 */
enum { STORE_JOB_ATTEMPTS = 3 };
FZ_MUST_CHECK enum fz_code store_job_claim(struct store *store, const char *worker, size_t max,
                                           int64_t lease_ms, struct store_job *ret, size_t *ret_n,
                                           struct fz_error *err);
/* How long the jobs of the last claim were expected to take at most, all together: 20 ms, or more while fresh reports are more than
 * one claim takes. */
int64_t store_job_hold_ms(const struct store *store);
/* How long a claimed job has run, for the shares of projects. In memory only. */
void store_job_spent(struct store *store, const struct store_job *job, int64_t spent_us);
/* Whether this connection leaves uploads to others, and reports that are done again where they are
 * known to take long: what was sent just now should not find every worker busy with one. */
void store_job_no_uploads(struct store *store, bool no_uploads);
/* Extend the lease. CONFLICT: it is no longer ours. */
FZ_MUST_CHECK enum fz_code store_job_heartbeat(struct store *store, const struct store_job *job,
                                               int64_t lease_ms, struct fz_error *err);

/* Give a job back because something around us is away that will be back: due after `delay_ms` and up to
 * a quarter more, however often; it does not count as an attempt. CONFLICT: it is no longer ours. */
FZ_MUST_CHECK enum fz_code store_job_postpone(struct store *store, const struct store_job *job,
                                              int64_t delay_ms, struct fz_error *err);

/* Give a job back as if it had not been claimed: due at once, its attempt not counted. For a worker
 * that stops. CONFLICT: it is no longer ours. */
FZ_MUST_CHECK enum fz_code store_job_release(struct store *store, const struct store_job *job,
                                             struct fz_error *err);

/* At the start of a server: what the clock of an earlier boot says does not count any more. Then
 * give back what is leased to workers that are known to be gone (killed together with the server
 * that started them): due at once, and not held against the job unless it happens twenty times.
 * `is_gone` judges by the name that was given to store_job_claim. *ret_n counts the jobs. */
typedef bool (*store_worker_gone_fn)(void *user, const char *worker);
FZ_MUST_CHECK enum fz_code store_job_reclaim(struct store *store, store_worker_gone_fn is_gone,
                                             void *user, uint64_t *ret_n, struct fz_error *err);

struct store_image_wait {
    struct fz_uuid uuid;
    const char *name, *arch;
};
/* A name that a report brought for a function of the system; see store_learned.h. */
struct store_learned {
    struct fz_uuid uuid;   /* of the image */
    uint32_t start, reach; /* offset from its load address; largest distance that was seen */
    const char *name;
};
struct store_image {
    struct fz_uuid uuid;
    const char *name; /* NULL = unknown */
};

struct store_report_done {
    enum store_report_status status; /* neither QUEUED nor FAILED */
    const char *format;              /* NULL = as it was inserted */
    int64_t timestamp_ms;
    /* Of the columns of store_set_columns(); NULL = all unknown. Those with ends_run 1 and the same
     * run_id are one crash: store_runs.h. */
    const union fz_value *values;
    struct fz_span result; /* symbolicated report, JSON */
    const struct store_image_wait
        *waits; /* images whose symbol file was missing, broken or without DWARF at the lookup */
    size_t n_waits;
    const struct store_image *images; /* all images, for the filters by uuid and image */
    size_t n_images;
    const struct store_learned *learned; /* sorted by UUID and start, each once */
    size_t n_learned;
    bool learned_shared;                   /* for all projects, rather than the job's own */
    const struct store_grouping *grouping; /* to which issue it belongs; NULL = to none */
    struct fz_span stripped; /* the body without captured memory; empty: it has none */
};
/* Store the result and end the job, if the fence still holds (else CONFLICT and nothing is
 * changed). If a symbol file for one of the waits became ready in the meantime the report is queued
 * again in the same transaction. */
FZ_MUST_CHECK enum fz_code store_job_finish_report(struct store *store, const struct store_job *job,
                                                   const struct store_report_done *done,
                                                   struct fz_error *err);
/* The same for several reports of one project in one transaction. Each end's `code` is CONFLICT if
 * its fence does not hold or the report was deleted, else FZ_OK. Any other failure is returned and
 * concerns all: nothing was stored. At most STORE_ENDS_MAX. */
enum { STORE_ENDS_MAX = 64 };
struct store_report_end {
    const struct store_job *job;
    const struct store_report_done *done;
    /* out */
    enum fz_code code;
    struct fz_error err;
};
FZ_MUST_CHECK enum fz_code store_job_finish_reports(struct store *store,
                                                    struct store_report_end *ends, size_t n,
                                                    struct fz_error *err);

/* The job of an upload whose body is the blob `blob_sha256`. */
enum store_upload_state { STORE_UPLOAD_QUEUED, STORE_UPLOAD_DONE, STORE_UPLOAD_FAILED };
const char *store_upload_state_name(enum store_upload_state state);
struct store_upload {
    char id[STORE_ID_TEXT];
    int64_t project_id;
    char blob_sha256[FZ_SHA256_TEXT];
    const char *name; /* the client's file name, "" if none */
    uint64_t size;
    enum store_upload_state state;
    const char *result; /* when done: what store_job_finish_upload() was given */
    const char *error;
    int error_code; /* enum fz_code when failed */
    bool is_kept;   /* failed, and in quarantine: its bytes are there and can be tried again */
    int64_t created_ms;
    bool is_rebuild;        /* only builds the index of a stored slice anew */
    const char *map_sha256; /* blob of the BCSymbolMap to build it with; NULL = none */
};
FZ_MUST_CHECK enum fz_code
store_upload_insert(struct store *store, const struct store_upload *upload, struct fz_error *err);
FZ_MUST_CHECK enum fz_code store_upload_get(struct store *store, int64_t project_id, const char *id,
                                            struct fz_arena *arena, struct store_upload *ret,
                                            struct fz_error *err);

/* The uploads that failed, newest first; see struct store_page. */
FZ_MUST_CHECK enum fz_code store_upload_list_failed(struct store *store, int64_t project_id,
                                                    struct store_page *page, struct fz_arena *arena,
                                                    struct store_upload **ret,
                                                    struct fz_error *err);
/* Queue an upload that is in quarantine once more; nothing happens if it is queued already.
 * NOT_FOUND; CONFLICT: it has ended in another way, so its bytes are not kept. */
FZ_MUST_CHECK enum fz_code store_upload_reprocess(struct store *store, int64_t project_id,
                                                  const char *id, struct fz_error *err);

/* Register the symbol files of an upload and queue every report that waits for one of their
 * UUIDs, in portions, so that others can write in between. Sets is_new of each symbol.
 * *ret_unblocked counts the reports that were queued by it. The job goes on until
 * store_job_finish_upload(); if the worker is lost before that, the next one does all of this
 * again. */
FZ_MUST_CHECK enum fz_code
store_job_register_symbols(struct store *store, const struct store_job *job,
                           struct store_symbol *symbols, size_t n, struct fz_arena *arena,
                           uint64_t *ret_unblocked, struct fz_error *err);
/* Keep the result of an upload (see struct store_upload) and end its job. */
FZ_MUST_CHECK enum fz_code store_job_finish_upload(struct store *store, const struct store_job *job,
                                                   const char *result, struct fz_error *err);

/* Queue the building anew of every index whose version is not `version`; *ret_n counts them. What
 * is queued already is not queued twice. For the start of a newer program. */
FZ_MUST_CHECK enum fz_code store_symbol_rebuild_outdated(struct store *store, uint32_t version,
                                                         uint64_t *ret_n, struct fz_error *err);
/* The same for each file whose index is the blob `index_sha256`, in every project: it is damaged. */
FZ_MUST_CHECK enum fz_code store_symbol_rebuild_index(struct store *store, const char *index_sha256,
                                                      uint64_t *ret_n, struct fz_error *err);
/* The blob `file_sha256` is damaged: its symbol files get the state failed and these problems, in
 * every project, until the same file is uploaded again. Their indexes go on answering. */
FZ_MUST_CHECK enum fz_code store_symbol_damaged(struct store *store, const char *file_sha256,
                                                const char *problems_json, uint64_t *ret_n,
                                                struct fz_error *err);

/* End a job without success. UNAVAILABLE and NO_MEMORY: again after a back-off (n^4 s at the n-th, with
 * jitter), ten times for UNAVAILABLE, which is not the job's fault; a crashed child (child_died):
 * again at once, and quarantine after the second time; anything else: failed for good, with the
 * text. */
FZ_MUST_CHECK enum fz_code store_job_fail(struct store *store, const struct store_job *job,
                                          enum fz_code code, const char *text, bool child_died,
                                          struct fz_error *err);

struct store_queue {
    uint64_t n_waiting;                /* all that are not running, with the next two lines */
    uint64_t n_fresh, n_asked, n_late; /* by priority: may be claimed now */
    uint64_t n_delayed;                /* wait for another attempt */
    uint64_t n_running;
    int64_t oldest_ms; /* how long the oldest waiting one has waited; 0 with an empty queue */
};
/* The length of the queue; cheap: reads indexes only. */
FZ_MUST_CHECK enum fz_code store_queue_counts(struct store *store, struct store_queue *ret,
                                              struct fz_error *err);

/* Delete rows that nothing needs any more, a few at a time: sets of images that no report has,
 * uploads that ended 30 days ago, jobs that have been in quarantine for so long. */
FZ_MUST_CHECK enum fz_code store_sweep_rows(struct store *store, uint64_t *ret_n,
                                            struct fz_error *err);

#endif
