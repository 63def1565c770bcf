/*
 * The only access to the database: projects, tokens, reports, symbol files. One interface for
 * SQLite and PostgreSQL; tests/contract holds both to the same contract.
 *
 * A struct store is one connection and belongs to one thread. Every query about reports, symbols or
 * jobs carries the project; ids of another project are NOT_FOUND. Results that need memory are in
 * the arena that is passed in. All times are Unix milliseconds; leases are judged by the database's
 * clock. Errors callers handle: NOT_FOUND, CONFLICT, UNAVAILABLE (busy, disk full, connection lost:
 * nothing was committed, unless the connection broke during the commit itself, when it may have
 * been; every function here may be called again then). A connection that was lost is opened again
 * by the next call. Texts that come out of reports and symbol files are cut and made UTF-8 here;
 * what a client asks with (filters) must be UTF-8, or is MALFORMED.
 */
#ifndef STORE_H
#define STORE_H

#include "base/arena.h"
#include "base/columns.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/uuid.h"
#include "storage/store_privacy.h"

struct store; /* opaque */

/* ---- opening ---- */

/* "sqlite:PATH" or "postgresql://..." (also "postgres://"). MALFORMED: the URL; UNAVAILABLE: cannot
 * connect; CONFLICT: the schema is older than this program (run store_migrate) or newer (refused,
 * unless it was only expanded: store_migrate.h).
 */
FZ_MUST_CHECK enum fz_code store_open(const char *database_url, struct store **ret,
                                      struct fz_error *err);
/* Whether the schema is still this program's; CONFLICT as above. */
FZ_MUST_CHECK enum fz_code store_check(struct store *store, struct fz_error *err);
void store_close(struct store *store);
void store_closep(struct store **store);

/* Why the database is not up yet, for a program that starts beside it: PostgreSQL recovers from a crash, or nothing answers
 * there. NULL: it is up, or waiting for it does not help (store_open() says why). Static string. */
const char *store_not_up(const char *database_url);

/* Bring the database to this program's schema under a lock; several processes may call it at once.
 * Checks the checksum of every migration that was applied before. Creates the SQLite file.
 * *ret_applied counts new ones. CONFLICT: a newer program has migrated the database, or an applied
 * migration differs from ours. */
FZ_MUST_CHECK enum fz_code store_migrate(const char *database_url, unsigned *ret_applied,
                                         struct fz_error *err);

/* An SQLite database as it is at one moment, into the new file `path`, readable by its owner only. Others go on writing
 * meanwhile. `on_copied` is called now and then, with bytes. UNSUPPORTED: PostgreSQL has tools for that. */
typedef void (*store_copied_fn)(void *user, uint64_t copied, uint64_t total);
FZ_MUST_CHECK enum fz_code store_copy(struct store *store, const char *path,
                                      store_copied_fn on_copied, void *user, struct fz_error *err);
/* Whether the pages and tables of an SQLite database are sound. MALFORMED, with what is not; UNSUPPORTED as above. */
FZ_MUST_CHECK enum fz_code store_check_pages(struct store *store, struct fz_error *err);

/* FZ_OK if the database answers and can write. For /readyz. */
FZ_MUST_CHECK enum fz_code store_ping(struct store *store, struct fz_error *err);

/* How far the write-ahead log of a PostgreSQL is that this is connected to: what was committed at a primary before this call is in
 * a standby (of the same `system`) whose position is at least the primary's. UNSUPPORTED: SQLite. */
struct store_position {
    int64_t system; /* the cluster and the database in it; a standby has its primary's */
    bool is_standby;
    int64_t bytes; /* written, or with a standby applied */
};
FZ_MUST_CHECK enum fz_code store_position(struct store *store, struct store_position *ret,
                                          struct fz_error *err);

/* Sleep until something was committed by anyone (a job queued, a job done) or the time is over; may
 * wake early. False: nothing was. SQLite: watches PRAGMA data_version every few ms; PostgreSQL: LISTEN/NOTIFY. */
bool store_wait_change(struct store *store, int64_t timeout_ms);

/* ---- projects and tokens ---- */

/* How the page links a place in the source; storage does not read it. NULL = none. */
struct store_source {
    const char *link;  /* a template: "https://git.example.com/shop/{path}#L{line}" */
    const char *paths; /* beginnings of paths and what takes their place: "FROM\tTO", one a line */
};

/* Which texts of reports are masked before anything is stored (server/scrub). */
struct store_scrub {
    bool is_on;
    const char *rules; /* of the project, one a line; NULL = none */
};

struct store_project {
    int64_t id;
    const char *name; /* [a-z0-9][a-z0-9_-]{0,63} */
    int64_t created_ms;
    const char *cut_prefixes; /* path prefixes to cut from file names, one a line; NULL = none */
    const char *rules;        /* of grouping, on top of the built-in ones; NULL = none */
    int64_t rules_version;    /* grows whenever they change */
    struct store_source source;
    struct store_privacy privacy;
    struct store_scrub scrub;
};
FZ_MUST_CHECK enum fz_code
store_project_create(struct store *store, const char *name, int64_t *ret_id,
                     struct fz_error *err); /* CONFLICT: the name exists; MALFORMED: a bad name */
FZ_MUST_CHECK enum fz_code store_project_find(struct store *store, const char *name,
                                              struct fz_arena *arena, struct store_project *ret,
                                              struct fz_error *err);
FZ_MUST_CHECK enum fz_code store_project_by_id(struct store *store, int64_t id,
                                               struct fz_arena *arena, struct store_project *ret,
                                               struct fz_error *err);
FZ_MUST_CHECK enum fz_code store_project_list(struct store *store, struct fz_arena *arena,
                                              struct store_project **ret, size_t *ret_n,
                                              struct fz_error *err);

/* NOT_FOUND: there is no such project. `prefixes` as in struct store_project; NULL or "" for none.
 */
FZ_MUST_CHECK enum fz_code store_project_set_prefixes(struct store *store, int64_t id,
                                                      const char *prefixes, struct fz_error *err);
/* NOT_FOUND as above; CONFLICT: another project has the name; MALFORMED: a bad name. */
FZ_MUST_CHECK enum fz_code store_project_rename(struct store *store, int64_t id, const char *name,
                                                struct fz_error *err);
FZ_MUST_CHECK enum fz_code store_project_set_source(struct store *store, int64_t id,
                                                    const struct store_source *source,
                                                    struct fz_error *err); /* NOT_FOUND */

FZ_MUST_CHECK enum fz_code store_project_set_scrub(struct store *store, int64_t id,
                                                   const struct store_scrub *scrub,
                                                   struct fz_error *err); /* NOT_FOUND */

enum store_scope {
    STORE_SCOPE_INGEST = 1,
    STORE_SCOPE_UPLOAD = 2,
    STORE_SCOPE_READ = 4,
    STORE_SCOPE_ADMIN = 8,
    STORE_SCOPE_VARIABLES = 16, /* with READ: values of variables, and captured memory */
    STORE_SCOPE_WRITE = 32      /* change issues: their state, titles, comments */
};
enum { STORE_TOKEN_TEXT = 80 };

struct store_token {
    int64_t id;
    int64_t project_id; /* 0 = all projects */
    unsigned scopes;    /* of enum store_scope; ADMIN includes all others */
    const char *label;
    const char *hint;               /* the first characters of the token, to recognise it */
    int64_t created_ms, revoked_ms; /* 0 = not revoked */
};
/* A new random token of 256 bits; its text is given once and only its SHA-256 is stored. Ingest
 * keys (scope INGEST only) are 32 lower-case hex digits, as clients embed them in a DSN; others are
 * "fz_" and 43 characters of base64url. */
FZ_MUST_CHECK enum fz_code store_token_create(struct store *store, int64_t project_id,
                                              unsigned scopes, const char *label,
                                              char ret_text[STORE_TOKEN_TEXT], int64_t *ret_id,
                                              struct fz_error *err);
/* The same in two steps: make a text, keep it where it is safe, and have it count. */
void store_token_make(unsigned scopes, char ret_text[STORE_TOKEN_TEXT]);
FZ_MUST_CHECK enum fz_code store_token_add(struct store *store, int64_t project_id, unsigned scopes,
                                           const char *label, const char *text, int64_t *ret_id,
                                           struct fz_error *err);
/* DENIED: unknown, revoked or malformed token (one message for all). Compared in constant time. */
FZ_MUST_CHECK enum fz_code
store_token_check(struct store *store, const char *text, struct store_token *ret,
                  struct fz_error *err); /* label and hint are NULL in ret */
/* The project that a token belongs to; 0 = all. NOT_FOUND. */
FZ_MUST_CHECK enum fz_code store_token_project(struct store *store, int64_t id, int64_t *ret,
                                               struct fz_error *err);
FZ_MUST_CHECK enum fz_code store_token_scopes(struct store *store, int64_t id, unsigned *ret,
                                              struct fz_error *err);
/* Its label, for the log of what was done with it. NOT_FOUND. */
FZ_MUST_CHECK enum fz_code store_token_label(struct store *store, int64_t id,
                                             struct fz_arena *arena, const char **ret,
                                             struct fz_error *err);
FZ_MUST_CHECK enum fz_code store_token_list(struct store *store, struct fz_arena *arena,
                                            struct store_token **ret, size_t *ret_n,
                                            struct fz_error *err);
FZ_MUST_CHECK enum fz_code store_token_revoke(struct store *store, int64_t id,
                                              struct fz_error *err);

/* ---- reports ---- */

enum { STORE_ID_TEXT = FZ_UUID_TEXT }; /* ids of reports and jobs: 32 lower-case hex */

/* A report to store; store_committer.h does so. The same (project, body_sha256) is stored once. The
 * same (project, id) with another body is another report: it gets an id of its own, and both know
 * of each other (store_report_clashes). */
struct store_report_new {
    int64_t project_id;
    char id[STORE_ID_TEXT];           /* the client's own id, or a new one made by the caller */
    char body_sha256[FZ_SHA256_TEXT]; /* of what makes it this report (ingest_identity) */
    const char *format;               /* "framezero", "kscrash"... */
    const char *reader;  /* what was detected in the body; for its job. NULL = nothing */
    struct fz_span body; /* raw bytes, inflated; stored compressed */
    int64_t received_ms;
    bool transient; /* for POST /symbolicate: hidden from lists, deleted by
                       store_report_take_transient */
    /* out */
    bool is_duplicate; /* the same body was there before; `id` then becomes the stored one's */
    bool is_clash;     /* another report has the client's id; this one is stored under a new `id` */
    enum fz_code code; /* of this item when the batch as a whole was committed */
};

/*
 * Say which columns reports have besides those of struct store_report; `columns` outlives the
 * connection.
 *
 * Before this the connection knows none: it reads no values and stores none. Each is a column of
 * the table reports (migrations/). *ret values are in the order of `columns`.
 */
FZ_MUST_CHECK enum fz_code store_set_columns(struct store *store, const struct fz_columns *columns,
                                             struct fz_error *err);

enum store_report_status {
    STORE_REPORT_QUEUED, /* never done, or a reprocess was asked for */
    STORE_REPORT_SYMBOLICATED,
    STORE_REPORT_PARTIAL,
    STORE_REPORT_UNSYMBOLICATED,
    STORE_REPORT_FAILED
};
/* The names of this and other enums are static: "queued", "symbolicated". */
const char *store_report_status_name(enum store_report_status status);

/* What lists show of a report. */
struct store_report {
    char id[STORE_ID_TEXT];
    int64_t project_id, received_ms, timestamp_ms; /* timestamp 0 = unknown */
    enum store_report_status status; /* a report that a new dSYM queued again keeps its own */
    const char *format;
    const char *error;            /* why it failed; NULL = it did not */
    unsigned n_missing;           /* images it waits for */
    unsigned n_processed;         /* how often a result was stored */
    enum store_memory memory;     /* in the body */
    const union fz_value *values; /* of the columns of store_set_columns(); NULL without them */
};
FZ_MUST_CHECK enum fz_code store_report_get(struct store *store, int64_t project_id, const char *id,
                                            struct fz_arena *arena, struct store_report *ret,
                                            struct fz_error *err);
/* The reports that came with the id of this one, and the one whose id this one came with. Empty for
 * nearly all; at most STORE_CLASHES. `id` must be that of a stored report. */
enum { STORE_CLASHES = 16 };
struct store_clash {
    char id[STORE_ID_TEXT];
    bool is_claimed; /* this report came with that id; else that report came with this one's */
};
FZ_MUST_CHECK enum fz_code store_report_clashes(struct store *store, int64_t project_id,
                                                const char *id, struct fz_arena *arena,
                                                struct store_clash **ret, size_t *ret_n,
                                                struct fz_error *err);
/* The symbolicated report (JSON); NOT_FOUND also while it is queued for the first time. */
FZ_MUST_CHECK enum fz_code store_report_result(struct store *store, int64_t project_id,
                                               const char *id, struct fz_arena *arena,
                                               struct fz_span *ret, struct fz_error *err);
/* The body (inflated): as it came, but without memory once the report was processed. */
FZ_MUST_CHECK enum fz_code store_report_body(struct store *store, int64_t project_id,
                                             const char *id, struct fz_arena *arena,
                                             struct fz_span *ret, struct fz_error *err);

/* A part of a list. */
struct store_page {
    const char *cursor; /* NULL for the first page, else `next` of the page before, same filter */
    size_t limit;
    /* out */
    size_t n;
    const char *next; /* NULL at the end; arena */
};

FZ_MUST_CHECK enum fz_code store_report_delete(struct store *store, int64_t project_id,
                                               const char *id, struct fz_error *err);
FZ_MUST_CHECK enum fz_code store_report_reprocess(struct store *store, int64_t project_id,
                                                  const char *id,
                                                  struct fz_error *err); /* queue it again */
/* The result of a transient report, which is deleted with it; empty if the report failed
 * (ret->error says why). UNAVAILABLE: not done yet. One that is not fetched is deleted after 15
 * minutes. */
FZ_MUST_CHECK enum fz_code store_report_take_transient(struct store *store, int64_t project_id,
                                                       const char *id, struct fz_arena *arena,
                                                       struct store_report *ret,
                                                       struct fz_span *ret_result,
                                                       struct fz_error *err);

/* ---- symbol files ---- */

enum store_symbol_kind {
    STORE_SYMBOL_DSYM,
    STORE_SYMBOL_BINARY,
    /* Kept with them; without an index, so not a symbol file for an image: the names of an image,
     * and which map has them. */
    STORE_SYMBOL_BCSYMBOLMAP,
    STORE_SYMBOL_UUIDMAP
};
enum store_symbol_state { STORE_SYMBOL_READY, STORE_SYMBOL_FAILED };
const char *store_symbol_kind_name(enum store_symbol_kind kind); /* "dsym" */
const char *store_symbol_state_name(enum store_symbol_state state);
/* False: not the name of a kind. */
bool store_symbol_kind_parse(const char *text, enum store_symbol_kind *ret);

struct store_symbol {
    struct fz_uuid uuid;
    int64_t project_id;
    const char *arch, *name;
    enum store_symbol_kind kind;
    uint64_t size; /* of the slice */
    enum store_symbol_state state;
    const char *file_sha256;  /* blob of the slice */
    const char *index_sha256; /* blob of its index; NULL unless ready, and for maps */
    uint32_t index_version;
    const char *features_json, *problems_json;
    int64_t uploaded_ms; /* 0 into store_job_register_symbols: now */
    bool has_dwarf;
    bool has_map;            /* names are hidden (or it is a UUIDMAP): map_uuid is set */
    struct fz_uuid map_uuid; /* the BCSymbolMap that has them */
    bool map_applied;        /* into store_job_register_symbols: the index has its names */
    bool is_new;             /* out of store_job_register_symbols: not known before */
};
struct store_symbol_key {
    int64_t project_id;
    struct fz_uuid uuid;
    unsigned rank;
};
/* The best index for an image (rank 0), or the next best ones: ready, DWARF before symtab only,
 * dSYM before binary, newest first. NOT_FOUND: not so many are ready. *ret_failed (may be NULL)
 * says whether there is one that failed. */
FZ_MUST_CHECK enum fz_code store_symbol_find(struct store *store,
                                             const struct store_symbol_key *key,
                                             struct fz_arena *arena, struct store_symbol *ret,
                                             bool *ret_failed, struct fz_error *err);
FZ_MUST_CHECK enum fz_code store_symbol_list(struct store *store, int64_t project_id,
                                             const struct fz_uuid *uuid_or_null,
                                             struct store_page *page, struct fz_arena *arena,
                                             struct store_symbol **ret, struct fz_error *err);
FZ_MUST_CHECK enum fz_code store_symbol_delete(struct store *store, int64_t project_id,
                                               const struct fz_uuid *uuid, size_t *ret_n,
                                               struct fz_error *err);
/* ret_unknown[i]: the project has no ready file for uuids[i]. */
FZ_MUST_CHECK enum fz_code store_symbol_unknown(struct store *store, int64_t project_id,
                                                const struct fz_uuid *uuids, size_t n,
                                                bool *ret_unknown, struct fz_error *err);

struct store_missing {
    struct fz_uuid uuid;
    const char *name, *arch;
    const char **app_versions;
    size_t n_app_versions;
    uint64_t n_reports;
    int64_t first_seen_ms, last_seen_ms;
};
/* Images that reports wait for, most wanted first. */
FZ_MUST_CHECK enum fz_code store_missing_list(struct store *store, int64_t project_id, size_t limit,
                                              struct fz_arena *arena, struct store_missing **ret,
                                              size_t *ret_n, struct fz_error *err);

/* ---- numbers ---- */

struct store_counts { /* for /metrics */
    uint64_t jobs_queued, jobs_leased, jobs_quarantined;
    int64_t oldest_queued_ms; /* age; 0 with an empty queue */
    uint64_t n_reports, n_symbols;
    uint64_t n_held; /* projects whose sweep of retention waits */
    uint64_t database_bytes;
};
FZ_MUST_CHECK enum fz_code store_counts(struct store *store, struct store_counts *ret,
                                        struct fz_error *err);

#endif
