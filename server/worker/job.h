/*
 * One job from its claim to its end, on the trusted side.
 *
 * worker.c claims jobs, job_report.c and job_upload.c do the work, job_end.c ends them, job.c keeps
 * the leases and deletes what is no longer needed.
 */
#ifndef WORKER_JOB_H
#define WORKER_JOB_H

#include <pthread.h>
#include <stdatomic.h>

#include "server/children/process.h"
#include "server/process/trim.h"
#include "server/worker/worker.h"
#include "storage/blob/blob.h"
#include "storage/store_jobs.h"
#include "storage/store_retention.h"

enum {
    JOB_BATCH = 32,
    JOB_LEASE_MS = 60 * 1000,
    JOB_BEAT_MS = 20 * 1000,
    JOB_CHILD_REPORTS = 1000, /* a report child is replaced after so many */
    JOB_SYMBOLS_WALL_FACTOR = 10
};

struct job_result { /* for the log line and metrics */
    uint64_t n_unblocked;
    const char *status;             /* of a report; static or NULL */
    size_t n_files;                 /* of an upload */
    struct child_process_used used; /* likewise: by its child */
};

/* A job that is not running any more. */
struct job_end {
    struct store_job job;
    struct job_result made;
    bool died; /* a child died of it */
    int64_t began_ms;
    int64_t waited_ms; /* of the time since then: for the others of its batch */
};

/* A report that was read and waits to be stored together with others. */
struct job_made {
    struct job_end end;
    struct fz_arena arena; /* of `done` */
    struct store_report_done done;
    int64_t made_ms;
};

/* The stored files of a folder that are still to be read, see damage.h. */
struct worker_verify {
    struct blob_place place;
    char (*names)[FZ_SHA256_TEXT];
    size_t n, room;
    int64_t listed_ms; /* monotonic; 0 = never */
};

/* The stored files that the child has been given and may have mapped, the latest ones. */
enum { WORKER_HANDED = 64 };
struct worker_handed {
    pid_t pid; /* of the child */
    size_t n;  /* so many have been; names[i % WORKER_HANDED] */
    char names[WORKER_HANDED][FZ_SHA256_TEXT];
};

/* A file in memory that a child gets with each report: the report, or what it fills with its results. */
struct worker_file {
    int fd;    /* -1 = none */
    pid_t pid; /* of the child that it was made for, and its project */
    int64_t project_id;
};

/* The project of the reports at hand, as it was after they were claimed. */
struct worker_project {
    int64_t id;            /* 0 = none */
    struct fz_arena arena; /* of its texts */
    struct store_project row;
};

/* Of worker_dictionary(): its thread, and when the next one begins. */
struct worker_dictionary {
    int64_t due_ms; /* monotonic */
    const char *database_url;
    bool is_started; /* and was not waited for yet */
    pthread_t thread;
    enum fz_code code; /* of the thread, once it has ended */
    atomic_bool is_ended, is_stopping;
};

/* What worker_seal() has done since it was logged last. */
struct worker_sealed {
    int64_t due_ms, logged_ms; /* monotonic */
    uint64_t n_days, n_facts, took_ms;
};

/* What worker_retention() is doing. */
struct worker_retention {
    int64_t due_ms, renewed_ms; /* monotonic */
    struct fz_arena arena;      /* of the list of projects, while a sweep is under way */
    struct store_project *projects;
    size_t n, at;
    struct store_retention_plan *plan; /* of projects[at]; NULL = none yet */
    struct store_retention_done done;
    bool is_looked, is_allowed;
};

struct worker {
    const struct worker_config *config;
    struct store *store;
    struct blob_store *blobs;
    struct store_job held[JOB_BATCH]; /* claimed; [0] runs */
    size_t n_held;
    uint64_t n_claims;
    struct job_made made[JOB_BATCH]; /* of one project */
    size_t n_made;
    bool may_forget;    /* the database went away: it may know of leases of ours that we do not */
    int64_t beat_ms;    /* monotonic: when the leases were renewed last */
    int64_t erased_ms;  /* monotonic: when people were looked for that are to be erased */
    int64_t swept_ms;   /* monotonic: when old chunks were deleted last */
    int64_t checked_ms; /* monotonic: when the schema was looked at last */
    int64_t collected_ms, scanned_ms; /* monotonic: when unnamed blobs were deleted, looked for */
    int64_t regroup_due_ms, regroup_logged_ms; /* monotonic: of worker_regroup() */
    uint64_t n_regrouped; /* since the last time that there was nothing to do */
    struct worker_sealed sealed;
    struct worker_retention retention;
    struct worker_dictionary dictionary;
    int64_t trimmed_ms;         /* monotonic: when learned names were counted last */
    struct child_process child; /* that reads reports */
    struct worker_file report, result;
    struct worker_project project;
    struct child_process_backoff backoff;
    struct worker_verify verify;
    struct worker_handed handed;
    struct trim trim;
};

/* Renew the leases of all jobs held, if it is time. CONFLICT: the one that
 * runs is not ours any more. */
FZ_MUST_CHECK enum fz_code job_beat(struct worker *worker, struct fz_error *err);

/*
 * Have the report of end->job read. The result waits in worker->made until job_store_made().
 *
 * CONFLICT: the lease was lost. Any other failure: the caller ends the job with it; end->died: a
 * child died of it.
 */
FZ_MUST_CHECK enum fz_code job_report(struct worker *worker, struct job_end *end,
                                      struct fz_error *err);
/* Let go of what is kept for the next report: files, and from each claim to the next one the project. */
void job_files_drop(struct worker *worker);
void job_project_drop(struct worker *worker);
/* Do the job and store its result; failures as above. */
FZ_MUST_CHECK enum fz_code job_upload(struct worker *worker, const struct store_job *job,
                                      struct job_result *ret, bool *ret_died, struct fz_error *err);

/* The end of a job: `code` is FZ_OK if its result was stored. */
void job_end(struct worker *worker, const struct job_end *end, enum fz_code code,
             struct fz_error *err);
/* Whether the results that wait must be stored before the job `next` begins. */
bool job_made_is_due(const struct worker *worker, const struct store_job *next);
/* Store all results that wait, and end their jobs. */
void job_store_made(struct worker *worker);
/* For child_process.tick: job_store_made() and job_beat(). */
FZ_MUST_CHECK enum fz_code job_tick(void *worker, struct fz_error *err);

/* What a child says of a report's issue, in storage's types; in the arena. MALFORMED: it is not what a
 * child in order sends. */
FZ_MUST_CHECK enum fz_code job_grouping(const struct proto_issue *issue, int64_t rules_version,
                                        struct fz_arena *arena, const struct store_grouping **ret,
                                        struct fz_error *err);
/* Give a few reports of an older program their issues. True: there may be more. */
bool worker_regroup(struct worker *worker);
/* Store a day of facts as columns, if it is time; less often while jobs wait. True: there may be more. */
bool worker_seal(struct worker *worker, bool is_busy);
/* Train the dictionaries of projects beside the jobs, if it is time; up to an hour later while jobs wait. */
void worker_dictionary(struct worker *worker, bool is_busy);
/* Wait for the one that is being trained; a second or so of CPU time. */
void worker_dictionary_stop(struct worker *worker);

/* Delete a portion of what projects keep no longer, if it is time; less often while jobs wait. True: there may be more. */
bool worker_retention(struct worker *worker, bool is_busy);
/* End a sweep that is under way. */
void worker_retention_stop(struct worker *worker);

void job_warn(const char *what, const struct fz_error *err);

/* Delete what is not needed any more: chunks of uploads that were never completed (once a minute),
 * blobs that nothing names (once a second), learned names over the limit (every ten minutes). Called
 * between jobs; does a bounded part and logs what fails. */
void worker_clean_up(struct worker *worker);

/* Forget the lease of held[i], without a word to the database; the order of the others stays. */
void job_drop_held(struct worker *worker, size_t i);
/* Give all jobs from held[first] on back, for other workers. */
void job_release_held(struct worker *worker, size_t first);

#endif
