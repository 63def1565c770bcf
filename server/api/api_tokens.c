#include "server/api/api_tokens.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/log.h"
#include "base/time.h"
#include "storage/store_request.h"

/* How often it is read: regularly, and at most, so that neither many tokens nor many wrong ones
 * keep the database busy: a reading is followed by a pause of at least ten times its length. */
enum { READ_EVERY_MS = 500, READ_MAX_EVERY_MS = 1000, PAUSE_MIN_MS = 10, PAUSE_FACTOR = 10 };
struct api_tokens {
    struct store *store; /* the thread's */
    struct store_web_limits limits;
    pthread_t thread;
    pthread_mutex_t lock; /* all below */
    pthread_cond_t wake;  /* the thread: a request is in a hurry, or the end */
    pthread_cond_t read;  /* a reading ended */
    struct api_set *set;
    int64_t set_ms;            /* monotonic: when the reading of the set began; */
    int64_t reading_ms;        /* the reading in progress, 0 = none */
    uint64_t n_begun, n_ended; /* readings */
    enum fz_code last_code;    /* of the last reading that ended */
    struct fz_error last_err;
    struct api_tokens_waiter *waiters;
    bool is_hurried, is_stopped;
};

/* ---- asking the set ---------------------------------------------------------------------- */

enum fz_code
api_tokens_find(struct api_tokens *tokens, const struct api_proof *proof, const char *project,
                struct api_grant *ret, struct fz_error *err)
{
    int64_t now = fz_time_monotonic_ms();
    pthread_mutex_lock(&tokens->lock);
    /* An old set may have a token that was revoked since. */
    bool is_old = now - tokens->set_ms > API_TOKENS_TRUST_MS;
    enum fz_code code =
        is_old ? FZ_E_UNAVAILABLE : api_set_find(tokens->set, proof, project, ret, err);
    pthread_mutex_unlock(&tokens->lock);
    return is_old ? fz_fail(err, code, "the database does not answer; try again") : code;
}

unsigned
api_tokens_scopes(struct api_tokens *tokens, int64_t sender, int64_t project_id)
{
    pthread_mutex_lock(&tokens->lock);
    unsigned scopes = api_set_scopes(tokens->set, sender, project_id);
    pthread_mutex_unlock(&tokens->lock);
    return scopes;
}

struct api_set_session
api_tokens_session(struct api_tokens *tokens, const char *cookie)
{
    pthread_mutex_lock(&tokens->lock);
    struct api_set_session session = api_set_session(tokens->set, cookie);
    pthread_mutex_unlock(&tokens->lock);
    return session;
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
    struct api_set *set = NULL;
    pthread_mutex_lock(&tokens->lock);
    tokens->reading_ms = now;
    tokens->is_hurried = false;
    tokens->n_begun++;
    /* Only those: the token of a later one may be in a row that the reading has passed. */
    for (struct api_tokens_waiter *waiter = tokens->waiters; waiter; waiter = waiter->next)
        waiter->is_seen = true;
    pthread_mutex_unlock(&tokens->lock);
    enum fz_code code = api_set_read(tokens->store, &tokens->limits, &set, &err);
    if (code == FZ_E_UNAVAILABLE)
        code = api_set_read(tokens->store, &tokens->limits, &set,
                            &err); /* perhaps only an idle connection was cut */
    pthread_mutex_lock(&tokens->lock);
    /* A failed reading leaves the old set, which is trusted for a while. */
    struct api_set *old = set ? tokens->set : NULL;
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
    api_set_destroy(old);
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
    api_set_destroy(tokens->set);
    pthread_mutex_destroy(&tokens->lock);
    pthread_cond_destroy(&tokens->wake);
    pthread_cond_destroy(&tokens->read);
    free(tokens);
}

enum fz_code
api_tokens_start(const char *database_url, const struct store_web_limits *limits,
                 struct api_tokens **ret, struct fz_error *err)
{
    struct api_tokens *tokens = calloc(1, sizeof(*tokens));
    if (!tokens)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    tokens->limits = *limits;
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
        code = api_set_read(tokens->store, &tokens->limits, &tokens->set, err);
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
