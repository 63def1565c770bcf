/*
 * The least that acknowledges a report only when it is on disk: libmicrohttpd, one table, one thread that commits.
 *
 *   bench_acks_peer PORT DATABASE each|all
 *
 * No token, no limits, no check of the body. DATABASE is a file of SQLite (write-ahead log, full sync) or a postgresql:// URL, whose
 * table is made anew. Each body is a transaction, or all that wait are one, as in framezero; then they are answered with
 * 202. On PostgreSQL the statements of a transaction are sent without waiting for the answer of each (libpq's pipeline).
 */
#define _GNU_SOURCE
#include <libpq-fe.h>
#include <microhttpd.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BODY_MAX = 1 << 20 };

struct request {
    struct MHD_Connection *connection;
    char *body;
    size_t len;
    int stored;
    struct request *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static struct request *waiting, **tail = &waiting;
static int takes_all;

static void
must(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "bench_acks_peer: %s\n", what);
        exit(1);
    }
}

/* ---- the two databases ---- */

static sqlite3 *lite;
static sqlite3_stmt *lite_insert;

static void
lite_open(const char *path)
{
    must(sqlite3_open(path, &lite) == SQLITE_OK, "cannot open the database");
    must(sqlite3_exec(
             lite,
             "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
             "CREATE TABLE IF NOT EXISTS reports (key INTEGER PRIMARY KEY, body BLOB NOT NULL)",
             NULL, NULL, NULL) == SQLITE_OK,
         sqlite3_errmsg(lite));
    must(sqlite3_prepare_v2(lite, "INSERT INTO reports (body) VALUES (?)", -1, &lite_insert,
                            NULL) == SQLITE_OK,
         sqlite3_errmsg(lite));
}

static void
lite_commit(const struct request *batch)
{
    must(sqlite3_exec(lite, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK,
         sqlite3_errmsg(lite));
    for (const struct request *r = batch; r; r = r->next) {
        sqlite3_bind_blob64(lite_insert, 1, r->body, r->len, SQLITE_STATIC);
        must(sqlite3_step(lite_insert) == SQLITE_DONE, sqlite3_errmsg(lite));
        sqlite3_reset(lite_insert);
    }
    must(sqlite3_exec(lite, "COMMIT", NULL, NULL, NULL) == SQLITE_OK, sqlite3_errmsg(lite));
}

static PGconn *pg;

static void
pg_must(PGresult *result, ExecStatusType want)
{
    must(PQresultStatus(result) == want, PQerrorMessage(pg));
    PQclear(result);
}

static void
pg_open(const char *url)
{
    pg = PQconnectdb(url);
    must(PQstatus(pg) == CONNECTION_OK, PQerrorMessage(pg));
    /* What is packed already is stored as it is, as framezero does. */
    pg_must(PQexec(pg, takes_all ? "DROP TABLE IF EXISTS acks_all; CREATE TABLE acks_all (key "
                                   "bigserial PRIMARY KEY, body bytea NOT NULL); ALTER TABLE "
                                   "acks_all ALTER COLUMN body SET STORAGE EXTERNAL"
                                 : "DROP TABLE IF EXISTS acks_each; CREATE TABLE acks_each (key "
                                   "bigserial PRIMARY KEY, body bytea NOT NULL); ALTER TABLE "
                                   "acks_each ALTER COLUMN body SET STORAGE EXTERNAL"),
            PGRES_COMMAND_OK);
    pg_must(PQprepare(pg, "add",
                      takes_all ? "INSERT INTO acks_all (body) VALUES ($1)"
                                : "INSERT INTO acks_each (body) VALUES ($1)",
                      1, NULL),
            PGRES_COMMAND_OK);
    must(PQenterPipelineMode(pg), "no pipeline");
}

/* Up to the end of the pipeline all statements are one transaction. */
static void
pg_commit(const struct request *batch)
{
    for (const struct request *r = batch; r; r = r->next) {
        const char *values[] = {r->body};
        const int lens[] = {(int)r->len}, formats[] = {1};
        must(PQsendQueryPrepared(pg, "add", 1, values, lens, formats, 0), PQerrorMessage(pg));
    }
    must(PQpipelineSync(pg), PQerrorMessage(pg));
    for (const struct request *r = batch; r; r = r->next) {
        pg_must(PQgetResult(pg), PGRES_COMMAND_OK);
        must(PQgetResult(pg) == NULL, "more than one result");
    }
    pg_must(PQgetResult(pg), PGRES_PIPELINE_SYNC);
}

/* ---- the loop ---- */

static void *
commit(void *database)
{
    int is_pg = strncmp(database, "postgresql:", 11) == 0;
    if (is_pg)
        pg_open(database);
    else
        lite_open(database);
    for (;;) {
        pthread_mutex_lock(&lock);
        while (!waiting)
            pthread_cond_wait(&filled, &lock);
        struct request *batch = waiting;
        waiting = takes_all ? NULL : batch->next;
        if (!takes_all)
            batch->next = NULL;
        if (!waiting)
            tail = &waiting;
        pthread_mutex_unlock(&lock);
        if (is_pg)
            pg_commit(batch);
        else
            lite_commit(batch);
        for (struct request *r = batch, *next; r; r = next) {
            next = r->next;
            r->stored = 1;
            MHD_resume_connection(r->connection);
        }
    }
    return NULL;
}

static enum MHD_Result
answer(void *user, struct MHD_Connection *connection, const char *url, const char *method,
       const char *version, const char *data, size_t *len, void **state)
{
    static const char accepted[] = "{\"status\": \"queued\"}";
    struct request *r = *state;
    (void)user, (void)url, (void)method, (void)version;
    if (!r) {
        r = *state = calloc(1, sizeof(*r));
        r->body = malloc(BODY_MAX);
        r->connection = connection;
        return MHD_YES;
    }
    if (*len) {
        must(r->len + *len <= BODY_MAX, "a body over 1 MB");
        memcpy(r->body + r->len, data, *len);
        r->len += *len;
        *len = 0;
        return MHD_YES;
    }
    if (r->stored) {
        struct MHD_Response *response = MHD_create_response_from_buffer(
            sizeof(accepted) - 1, (void *)(size_t)accepted, MHD_RESPMEM_PERSISTENT);
        enum MHD_Result queued = MHD_queue_response(connection, 202, response);
        MHD_destroy_response(response);
        return queued;
    }
    MHD_suspend_connection(connection);
    pthread_mutex_lock(&lock);
    *tail = r;
    tail = &r->next;
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&lock);
    return MHD_YES;
}

static void
done(void *user, struct MHD_Connection *connection, void **state,
     enum MHD_RequestTerminationCode code)
{
    struct request *r = *state;
    (void)user, (void)connection, (void)code;
    if (r)
        free(r->body);
    free(r);
}

int
main(int argc, char **argv)
{
    pthread_t committer;
    if (argc != 4) {
        fprintf(stderr, "usage: bench_acks_peer PORT DATABASE each|all\n");
        return 2;
    }
    takes_all = strcmp(argv[3], "all") == 0;
    must(pthread_create(&committer, NULL, commit, argv[2]) == 0, "cannot start a thread");
    struct MHD_Daemon *daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG,
        (uint16_t)atoi(argv[1]), NULL, NULL, answer, NULL, MHD_OPTION_NOTIFY_COMPLETED, done, NULL,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)(128 * 1024), MHD_OPTION_END);
    must(daemon != NULL, "cannot listen");
    printf("ready\n");
    fflush(stdout);
    pause();
    return 0;
}
