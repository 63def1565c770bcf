#include "server/api/api_tokens.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/log.h"
#include "base/text.h"
#include "base/time.h"
#include "storage/store.h"
#include "storage/store_request.h"

/* How often it is read: regularly, and at most, so that neither many tokens nor many wrong ones
 * keep the database busy: a reading is followed by a pause of at least ten times its length. */
enum { READ_EVERY_MS = 500, READ_MAX_EVERY_MS = 1000, PAUSE_MIN_MS = 10, PAUSE_FACTOR = 10 };
static const size_t SET_BYTES = 64 * 1024 * 1024;

struct set {
    struct fz_arena arena;
    struct store_token_known *tokens; /* by hash */
    size_t n_tokens;
    struct store_project *projects;
    size_t n_projects;
};

struct api_tokens {
    struct store *store; /* the thread's */
    pthread_t thread;
    pthread_mutex_t lock; /* all below */
    pthread_cond_t wake;  /* the thread: a request is in a hurry, or the end */
    pthread_cond_t read;  /* a reading ended */
    struct set *set;
    int64_t set_ms;            /* monotonic: when the reading of the set began; */
    int64_t reading_ms;        /* the reading in progress, 0 = none */
    uint64_t n_begun, n_ended; /* readings */
    enum fz_code last_code;    /* of the last reading that ended */
    struct fz_error last_err;
    struct api_tokens_waiter *waiters;
    bool is_hurried, is_stopped;
};

static void
destroy_set(struct set *set)
{
    if (!set)
        return;
    fz_arena_deinit(&set->arena);
    free(set);
}

static void
destroy_setp(struct set **set)
{
    destroy_set(*set);
}

static int
compare_hashes(const void *a, const void *b)
{
    const struct store_token_known *x = a, *y = b;
    return memcmp(x->sha256, y->sha256, sizeof(x->sha256));
}

static enum fz_code
read_set(struct store *store, struct set **ret, struct fz_error *err)
{
    FZ_CLEANUP(destroy_setp) struct set *set = calloc(1, sizeof(*set));
    if (!set)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    fz_arena_init(&set->arena, SET_BYTES);
    enum fz_code code = store_token_known(store, &set->arena, &set->tokens, &set->n_tokens, err);
    if (code == FZ_OK)
        code = store_project_list(store, &set->arena, &set->projects, &set->n_projects, err);
    if (code != FZ_OK)
        return code;
    /* qsort() must not get NULL, even for no elements. */
    if (set->n_tokens)
        qsort(set->tokens, set->n_tokens, sizeof(set->tokens[0]), compare_hashes);
    *ret = fz_take(&set);
    return FZ_OK;
}

/* ---- asking the set ---------------------------------------------------------------------- */

/* Found by the start of its hash, which says nothing about the token; all of it is compared in
 * constant time. Under the lock. */
static const struct store_token_known *
find_token(const struct set *set, const char *sha256)
{
    enum { START = 16 };
    size_t low = 0, high = set->n_tokens;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (memcmp(set->tokens[middle].sha256, sha256, START) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    const struct store_token_known *found = NULL;
    for (size_t i = low; i < set->n_tokens; i++) {
        const struct store_token_known *token = &set->tokens[i];
        /* Sorted, so the rest cannot have this start. */
        if (memcmp(token->sha256, sha256, START) != 0)
            break;
        if (fz_equal_constant_time(fz_span_cstr(token->sha256), fz_span_cstr(sha256)))
            found = token;
    }
    return found;
}

/* 0: no such project. Under the lock. */
static int64_t
find_project(const struct set *set, const char *name)
{
    /* Clients of Sentry know a project by its number, people by its name. */
    uint64_t number = 0;
    bool is_number = fz_text_u64(fz_span_cstr(name), &number) && number <= INT64_MAX;
    int64_t by_number = 0;
    for (size_t i = 0; i < set->n_projects; i++) {
        /* A name wins over a number: a project may be named "42". */
        if (strcmp(set->projects[i].name, name) == 0)
            return set->projects[i].id;
        if (is_number && set->projects[i].id == (int64_t)number)
            by_number = set->projects[i].id;
    }
    return by_number;
}

enum fz_code
api_tokens_find(struct api_tokens *tokens, const char *token, const char *project,
                struct api_grant *ret, struct fz_error *err)
{
    char hash[FZ_SHA256_TEXT];
    fz_sha256_hex(fz_span_cstr(token), hash);
    int64_t now = fz_time_monotonic_ms();
    pthread_mutex_lock(&tokens->lock);
    /* An old set may have a token that was revoked since. */
    bool is_old = now - tokens->set_ms > API_TOKENS_TRUST_MS;
    const struct store_token_known *known = find_token(tokens->set, hash);
    struct api_grant grant = {0};
    if (known)
        grant = (struct api_grant){known->id, known->project_id, known->scopes};
    int64_t asked = grant.project_id;
    /* A token without a project (an admin's) is for any of them; "default" exists from the
     * start. */
    if (known && (project || grant.project_id == 0))
        asked = find_project(tokens->set, project ? project : "default");
    pthread_mutex_unlock(&tokens->lock);
    if (is_old)
        return fz_fail(err, FZ_E_UNAVAILABLE, "the database does not answer; try again");
    if (!known)
        return fz_fail(err, FZ_E_DENIED, "the token is unknown or was revoked");
    /* A project that is not this token's looks like one that does not exist. */
    if (asked == 0 || (grant.project_id != 0 && grant.project_id != asked))
        return fz_fail(err, FZ_E_NOT_FOUND, "no project '%.64s'", project ? project : "default");
    grant.project_id = asked;
    *ret = grant;
    return FZ_OK;
}

unsigned
api_tokens_scopes(struct api_tokens *tokens, int64_t token_id)
{
    unsigned scopes = 0;
    pthread_mutex_lock(&tokens->lock);
    for (size_t i = 0; i < tokens->set->n_tokens; i++) {
        /* The set is sorted by hash, and this is asked only by those who wait for a report. */
        if (tokens->set->tokens[i].id == token_id)
            scopes = tokens->set->tokens[i].scopes;
    }
    pthread_mutex_unlock(&tokens->lock);
    return scopes;
}

bool
api_tokens_is_stuck(struct api_tokens *tokens)
{
    int64_t now = fz_time_monotonic_ms();
    pthread_mutex_lock(&tokens->lock);
    bool stuck = tokens->reading_ms && now - tokens->reading_ms > API_TOKENS_STUCK_MS;
    pthread_mutex_unlock(&tokens->lock);
    return stuck;
}

/* ---- waiting ----------------------------------------------------------------------------- */

/* Under the lock. */
static void
hurry(struct api_tokens *tokens)
{
    /* The thread is awake already, or will be. */
    if (tokens->is_hurried)
        return;
    tokens->is_hurried = true;
    pthread_cond_signal(&tokens->wake);
}

void
api_tokens_wait(struct api_tokens *tokens, bool in_a_hurry, struct api_tokens_waiter *waiter)
{
    struct fz_error err;
    pthread_mutex_lock(&tokens->lock);
    bool stopped = tokens->is_stopped;
    if (!stopped) {
        waiter->is_seen = false;
        waiter->next = tokens->waiters;
        tokens->waiters = waiter;
        if (in_a_hurry)
            hurry(tokens);
    }
    pthread_mutex_unlock(&tokens->lock);
    if (stopped)
        waiter->done(waiter, fz_fail(&err, FZ_E_UNAVAILABLE, "the server is stopping"), &err);
}

/* On the monotonic clock. */
static struct timespec
time_at(int64_t ms)
{
    return (struct timespec){.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
}

enum fz_code
api_tokens_read_now(struct api_tokens *tokens, int64_t timeout_ms, struct fz_error *err)
{
    struct timespec end = time_at(fz_time_monotonic_ms() + timeout_ms);
    pthread_mutex_lock(&tokens->lock);
    /* One that begins from now on: a reading in progress may have passed the new token's row. */
    uint64_t wanted = tokens->n_begun + 1;
    bool in_time = true;
    while (tokens->n_ended < wanted && !tokens->is_stopped && in_time) {
        hurry(tokens);
        in_time = pthread_cond_timedwait(&tokens->read, &tokens->lock, &end) == 0;
    }
    enum fz_code code = tokens->n_ended < wanted ? FZ_E_UNAVAILABLE : tokens->last_code;
    if (code != FZ_OK && tokens->n_ended >= wanted && err)
        *err = tokens->last_err;
    /* Not the code alone: the last reading may have failed before this one was wanted. */
    bool ended = tokens->n_ended >= wanted;
    pthread_mutex_unlock(&tokens->lock);
    return ended ? code : fz_fail(err, code, "the database does not answer; try again");
}

/* ---- the thread -------------------------------------------------------------------------- */

/* Until the next reading is due. False: the end. */
static bool
pause_between(struct api_tokens *tokens, int64_t begun_ms, int64_t took_ms)
{
    int64_t soonest = begun_ms + took_ms + (took_ms < 1 ? PAUSE_MIN_MS : took_ms * PAUSE_FACTOR);
    if (soonest > begun_ms + took_ms + READ_MAX_EVERY_MS)
        soonest = begun_ms + took_ms + READ_MAX_EVERY_MS;
    /* The pause wins: a slow reading must not follow another at once. */
    int64_t regular = begun_ms + READ_EVERY_MS > soonest ? begun_ms + READ_EVERY_MS : soonest;
    pthread_mutex_lock(&tokens->lock);
    for (;;) {
        int64_t until = tokens->is_hurried ? soonest : regular;
        if (tokens->is_stopped || fz_time_monotonic_ms() >= until)
            break;
        struct timespec at = time_at(until);
        pthread_cond_timedwait(&tokens->wake, &tokens->lock, &at);
    }
    bool go_on = !tokens->is_stopped;
    pthread_mutex_unlock(&tokens->lock);
    return go_on;
}

/* Take those out of the list who are not to wait any longer: all, or who was there before the
 * reading. Under the lock. */
static struct api_tokens_waiter *
remove_waiters(struct api_tokens *tokens, bool all)
{
    struct api_tokens_waiter *taken = NULL;
    for (struct api_tokens_waiter **at = &tokens->waiters; *at;) {
        struct api_tokens_waiter *waiter = *at;
        if (!all && !waiter->is_seen) {
            at = &waiter->next;
            continue;
        }
        *at = waiter->next;
        waiter->next = taken;
        taken = waiter;
    }
    return taken;
}

static void
call_waiters(struct api_tokens_waiter *waiter, enum fz_code code, const struct fz_error *err)
{
    while (waiter) {
        struct api_tokens_waiter *next = waiter->next;
        waiter->done(waiter, code, err);
        waiter = next;
    }
}

static void
read_once(struct api_tokens *tokens, int64_t now)
{
    struct fz_error err = {.offset = -1};
    struct set *set = NULL;
    pthread_mutex_lock(&tokens->lock);
    tokens->reading_ms = now;
    tokens->is_hurried = false;
    tokens->n_begun++;
    /* Only those: the token of a later one may be in a row that the reading has passed. */
    for (struct api_tokens_waiter *waiter = tokens->waiters; waiter; waiter = waiter->next)
        waiter->is_seen = true;
    pthread_mutex_unlock(&tokens->lock);
    enum fz_code code = read_set(tokens->store, &set, &err);
    if (code == FZ_E_UNAVAILABLE)
        code = read_set(tokens->store, &set, &err); /* perhaps only an idle connection was cut */
    pthread_mutex_lock(&tokens->lock);
    /* A failed reading leaves the old set, which is trusted for a while. */
    struct set *old = set ? tokens->set : NULL;
    if (set) {
        tokens->set = set;
        /* The start of the reading, not its end: what was committed in between may be missing. */
        tokens->set_ms = now;
    }
    tokens->reading_ms = 0;
    tokens->n_ended = tokens->n_begun;
    tokens->last_code = code;
    tokens->last_err = err;
    struct api_tokens_waiter *waiters = remove_waiters(tokens, false);
    pthread_cond_broadcast(&tokens->read);
    pthread_mutex_unlock(&tokens->lock);
    if (code != FZ_OK)
        fz_log(FZ_LOG_WARN, "tokens cannot be read", "error=\"%.200s\"", err.text);
    /* Not under the lock: freeing many thousands of tokens takes time. */
    destroy_set(old);
    /* Without the lock, since they ask the set again. */
    call_waiters(waiters, code, &err);
}

static void *
run(void *user)
{
    struct api_tokens *tokens = user;
    int64_t begun, took = 0;
    do {
        begun = fz_time_monotonic_ms();
        read_once(tokens, begun);
        took = fz_time_monotonic_ms() - begun;
    } while (pause_between(tokens, begun, took));
    return NULL;
}

static void
destroy(struct api_tokens *tokens)
{
    store_close(tokens->store);
    destroy_set(tokens->set);
    pthread_mutex_destroy(&tokens->lock);
    pthread_cond_destroy(&tokens->wake);
    pthread_cond_destroy(&tokens->read);
    free(tokens);
}

enum fz_code
api_tokens_start(const char *database_url, struct api_tokens **ret, struct fz_error *err)
{
    struct api_tokens *tokens = calloc(1, sizeof(*tokens));
    if (!tokens)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    pthread_mutex_init(&tokens->lock, NULL);
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&tokens->wake, &clock);
    pthread_cond_init(&tokens->read, &clock);
    pthread_condattr_destroy(&clock);
    enum fz_code code = store_open(database_url, &tokens->store, err);
    if (code == FZ_OK)
        code = store_serve_requests(tokens->store, err);
    /* Before the reading, as in read_once(). */
    tokens->set_ms = fz_time_monotonic_ms();
    if (code == FZ_OK)
        code = read_set(tokens->store, &tokens->set, err);
    if (code == FZ_OK && pthread_create(&tokens->thread, NULL, run, tokens) != 0)
        code = fz_fail(err, FZ_E_UNAVAILABLE, "cannot start a thread");
    if (code != FZ_OK) {
        destroy(tokens);
        return code;
    }
    *ret = tokens;
    return FZ_OK;
}

void
api_tokens_stop(struct api_tokens *tokens)
{
    if (!tokens)
        return;
    struct fz_error err;
    pthread_mutex_lock(&tokens->lock);
    tokens->is_stopped = true;
    pthread_cond_signal(&tokens->wake);
    pthread_cond_broadcast(&tokens->read);
    pthread_mutex_unlock(&tokens->lock);
    pthread_join(tokens->thread, NULL);
    /* Their connections are still open: each gets its 503. */
    enum fz_code code = fz_fail(&err, FZ_E_UNAVAILABLE, "the server is stopping");
    call_waiters(remove_waiters(tokens, true), code, &err);
    destroy(tokens);
}
