/*
 * The least that acknowledges a report only when it is on disk: libmicrohttpd, one SQLite table, one thread that commits.
 *
 *   bench_acks_peer PORT DATABASE each|all
 *
 * No token, no limits, no check of the body. Each body is a transaction with full sync (write-ahead log), or all that
 * wait are one, as in framezero; then they are answered with 202.
 */
#define _GNU_SOURCE
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

static void *
commit(void *database)
{
    sqlite3 *db;
    sqlite3_stmt *insert;
    must(sqlite3_open(database, &db) == SQLITE_OK, "cannot open the database");
    must(sqlite3_exec(
             db,
             "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
             "CREATE TABLE IF NOT EXISTS reports (key INTEGER PRIMARY KEY, body BLOB NOT NULL)",
             NULL, NULL, NULL) == SQLITE_OK,
         sqlite3_errmsg(db));
    must(sqlite3_prepare_v2(db, "INSERT INTO reports (body) VALUES (?)", -1, &insert, NULL) ==
             SQLITE_OK,
         sqlite3_errmsg(db));
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
        must(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK,
             sqlite3_errmsg(db));
        for (struct request *r = batch; r; r = r->next) {
            sqlite3_bind_blob64(insert, 1, r->body, r->len, SQLITE_STATIC);
            must(sqlite3_step(insert) == SQLITE_DONE, sqlite3_errmsg(db));
            sqlite3_reset(insert);
        }
        must(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK, sqlite3_errmsg(db));
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
