/*
 * Passwords: their rules, and argon2id on a few threads of their own.
 *
 * One hash takes 19 MiB and tens of milliseconds, and anybody may ask for one by trying to log in.
 * So a fixed number runs at once, a fixed number waits, and no thread that answers other requests
 * is kept. The plain text is overwritten when a job is over.
 */
#ifndef WEB_PASSWORDS_H
#define WEB_PASSWORDS_H

#include "base/error.h"
#include "server/process/metrics.h"
#include "server/web/queue.h"

/* Length in characters at least, in bytes at most. */
enum { WEB_PASSWORD_MIN = 10, WEB_PASSWORD_MAX = 1024, WEB_HASH_TEXT = 128 };

/* MALFORMED says what is wrong with a new password; email and name may be NULL. */
FZ_MUST_CHECK enum fz_code web_password_check(const char *password, const char *email,
                                              const char *name, struct fz_error *err);

struct web_passwords; /* opaque */

struct web_passwords_config {
    unsigned n_threads, n_waiting;
    struct metrics *metrics; /* may be NULL */
};

/* Compare one password with a hash, or make a hash of one, or first the one and then the other. */
struct web_job {
    struct web_task task; /* the first member; the pool's, as is the next one */
    struct web_passwords *passwords;
    char *password;     /* to compare; owned, malloc'ed; NULL = nothing to compare */
    bool is_known;      /* `hash` is that of a user; else another hash is compared, so that it takes
                           the same time, and the result is always false */
    char *new_password; /* of which `hash` is to be made, if the first one matches; owned */
    char hash[WEB_HASH_TEXT];
    bool matches;      /* the result; true without a password to compare */
    enum fz_code code; /* of making a hash */
    /* Called once on a thread of the pool; `job` is its own again. */
    void (*done)(struct web_job *job);
};

FZ_MUST_CHECK enum fz_code web_passwords_start(const struct web_passwords_config *config,
                                               struct web_passwords **ret, struct fz_error *err);
/* After the jobs that wait. */
void web_passwords_stop(struct web_passwords *passwords);

/* UNAVAILABLE: too many wait already; the job is still the caller's. */
FZ_MUST_CHECK enum fz_code web_passwords_push(struct web_passwords *passwords, struct web_job *job,
                                              struct fz_error *err);
/* A copy of a password for a job; NULL: no memory. And the end of what a job owns. */
char *web_password_copy(const char *password);
void web_job_deinit(struct web_job *job);

#endif
