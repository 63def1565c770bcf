#include "server/web/passwords.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/text.h"

/* OWASP's first choice for argon2id: 19 MiB, 2 passes, 1 lane. */
enum { MEMORY_BYTES = 19 * 1024 * 1024, PASSES = 2 };

/* Shorter words are in many passwords by chance. */
enum { WORD_MIN = 3 };

/* As crypto_pwhash_str() has them. */
enum { SALT_BYTES = 16, HASH_BYTES = 32, BASE64 = sodium_base64_VARIANT_ORIGINAL_NO_PADDING };

struct web_passwords {
    struct web_passwords_config config;
    struct web_queue *queue;
    char other[WEB_HASH_TEXT]; /* what unknown users' passwords are compared with */
};

/* ---- rules ---------------------------------------------------------------------------------- */

static char
lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

/* Does the text contain the first `len` bytes of this word, in any case? */
static bool
has_word(const char *text, const char *word, size_t len)
{
    size_t text_len = strlen(text);
    for (size_t i = 0; len <= text_len && i <= text_len - len; i++) {
        size_t k = 0;
        while (k < len && lower(text[i + k]) == lower(word[k]))
            k++;
        if (k == len)
            return true;
    }
    return false;
}

/* Is there too little besides a word that everybody can know? */
static bool
is_mostly(const char *password, const char *word, size_t len)
{
    return len >= WORD_MIN && strlen(password) < len + WEB_PASSWORD_MIN / 2 + 1 &&
           has_word(password, word, len);
}

enum fz_code
web_password_check(const char *password, const char *email, const char *name, struct fz_error *err)
{
    size_t n = 0;
    for (const char *c = password; *c; c++)
        n += (*c & 0xc0) != 0x80; /* characters, not bytes, of UTF-8 */
    if (n < WEB_PASSWORD_MIN)
        return fz_fail(err, FZ_E_MALFORMED, "a password has at least %d characters",
                       WEB_PASSWORD_MIN);
    if (strlen(password) > WEB_PASSWORD_MAX)
        return fz_fail(err, FZ_E_MALFORMED, "a password has at most %d bytes", WEB_PASSWORD_MAX);
    bool has_email = email && (is_mostly(password, email, strlen(email)) ||
                               is_mostly(password, email, strcspn(email, "@")));
    if (has_email || (name && is_mostly(password, name, strlen(name))))
        return fz_fail(err, FZ_E_MALFORMED,
                       "this password is little more than the name or the address: choose another");
    return FZ_OK;
}

/* ---- jobs ----------------------------------------------------------------------------------- */

char *
web_password_copy(const char *password)
{
    return strdup(password);
}

static void
forget(char **password)
{
    if (*password)
        sodium_memzero(*password, strlen(*password));
    free(*password);
    *password = NULL;
}

void
web_job_deinit(struct web_job *job)
{
    forget(&job->password);
    forget(&job->new_password);
    sodium_memzero(job->hash, sizeof(job->hash));
}

static bool
make_hash(const char *password, char ret[WEB_HASH_TEXT])
{
    static_assert(WEB_HASH_TEXT == crypto_pwhash_STRBYTES, "the text of a hash");
    return crypto_pwhash_str(ret, password, strlen(password), PASSES, MEMORY_BYTES) == 0;
}

static void
run_job(struct web_task *task)
{
    struct web_job *job = (struct web_job *)task;
    struct web_passwords *passwords = job->passwords;
    job->matches = true;
    job->code = FZ_OK;
    if (job->password) {
        const char *hash = job->is_known ? job->hash : passwords->other;
        bool equal = crypto_pwhash_str_verify(hash, job->password, strlen(job->password)) == 0;
        /* Not the other way round: the comparison is what takes the time. */
        job->matches = equal && job->is_known;
        if (passwords->config.metrics)
            passwords->config.metrics->password_checks++;
    }
    if (job->new_password && job->matches && !make_hash(job->new_password, job->hash))
        job->code = FZ_E_NO_MEMORY;
    forget(&job->password);
    forget(&job->new_password);
    job->done(job);
}

enum fz_code
web_passwords_push(struct web_passwords *passwords, struct web_job *job, struct fz_error *err)
{
    job->task.run = run_job;
    job->passwords = passwords;
    if (web_queue_push(passwords->queue, &job->task))
        return FZ_OK;
    return fz_fail(err, FZ_E_UNAVAILABLE,
                   "too many people are logging in at once (limit passwords_waiting)");
}

/* ---- life ----------------------------------------------------------------------------------- */

static void
stopp(struct web_passwords **passwords)
{
    web_passwords_stop(*passwords);
}

/*
 * The text of a hash that no password has: its bytes are random. A comparison with it takes the time of any other, since
 * the parameters are those of all. It is not a hash of something, which would take that time at each start of a server.
 */
static bool
make_other(char ret[WEB_HASH_TEXT])
{
    unsigned char bytes[SALT_BYTES + HASH_BYTES];
    char salt[sodium_base64_ENCODED_LEN(SALT_BYTES, BASE64)];
    char hash[sodium_base64_ENCODED_LEN(HASH_BYTES, BASE64)];
    randombytes_buf(bytes, sizeof(bytes));
    sodium_bin2base64(salt, sizeof(salt), bytes, SALT_BYTES, BASE64);
    sodium_bin2base64(hash, sizeof(hash), bytes + SALT_BYTES, HASH_BYTES, BASE64);
    snprintf(ret, WEB_HASH_TEXT, "$argon2id$v=19$m=%d,t=%d,p=1$%s$%s", MEMORY_BYTES / 1024, PASSES,
             salt, hash);
    /* Is it what libsodium reads as these parameters? */
    return crypto_pwhash_str_needs_rehash(ret, PASSES, MEMORY_BYTES) == 0;
}

enum fz_code
web_passwords_start(const struct web_passwords_config *config, struct web_passwords **ret,
                    struct fz_error *err)
{
    if (sodium_init() < 0)
        return fz_fail(err, FZ_E_INTERNAL, "libsodium does not start");
    FZ_CLEANUP(stopp) struct web_passwords *passwords = calloc(1, sizeof(*passwords));
    if (!passwords)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    passwords->config = *config;
    if (!make_other(passwords->other))
        return fz_fail(err, FZ_E_INTERNAL, "libsodium does not read the text of a hash");
    enum fz_code code =
        web_queue_start(config->n_threads, config->n_waiting, &passwords->queue, err);
    if (code == FZ_OK)
        *ret = fz_take(&passwords);
    return code;
}

void
web_passwords_stop(struct web_passwords *passwords)
{
    if (!passwords)
        return;
    web_queue_stop(passwords->queue);
    free(passwords);
}
