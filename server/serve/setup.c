#include "server/serve/setup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "base/time.h"
#include "server/worker/worker.h"
#include "storage/store_jobs.h"
#include "symbolicator/symbolicator.h"

enum { CORES_MAX = 64 };

/* The process of a server that was just killed may not have ended yet. */
enum { LOCK_WAIT_MS = 1000, LOCK_STEP_MS = 10 };

/* Between two looks at a database that is not up. */
enum { WAIT_FIRST_MS = 250, WAIT_MOST_MS = 4000 };

/* ---- directory and lock ------------------------------------------------------------------ */

static enum fz_code
acquire_lock(const char *database_path, int *ret_fd, struct fz_error *err)
{
    char path[PATH_MAX + 16];
    snprintf(path, sizeof(path), "%s.lock", database_path);
    FZ_CLEANUP(fz_closep) int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return fz_fail_errno(err, "%s", path);
    /* The kernel releases it with the process, however that ends. */
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int64_t end_ms = fz_time_monotonic_ms() + LOCK_WAIT_MS;
    int failed = fcntl(fd, F_SETLK, &lock);
    while (failed && fz_time_monotonic_ms() < end_ms) {
        fz_time_sleep_ms(LOCK_STEP_MS);
        failed = fcntl(fd, F_SETLK, &lock);
    }
    if (failed) {
        /* POSIX allows both for a lock that another process has. */
        if (errno != EACCES && errno != EAGAIN)
            return fz_fail_errno(err, "%s", path);
        lock.l_type = F_WRLCK;
        fz_ignore(fcntl(fd, F_GETLK, &lock) != 0); /* only for the message */
        return fz_fail(err, FZ_E_CONFLICT,
                       "another framezero (process %d) uses the database %s; one serve or copy at "
                       "a time: stop it or give another --data",
                       (int)lock.l_pid, database_path);
    }
    *ret_fd = fd;
    fd = -1;
    return FZ_OK;
}

enum fz_code
serve_setup_lock(const char *database_url, int *ret_lock_fd, struct fz_error *err)
{
    *ret_lock_fd = -1;
    return fz_text_has_prefix(database_url, "sqlite:")
               ? acquire_lock(database_url + strlen("sqlite:"), ret_lock_fd, err)
               : FZ_OK;
}

enum fz_code
serve_setup_directory(const struct config *config, int *ret_lock_fd, struct fz_error *err)
{
    char temp[PATH_MAX + 16];
    snprintf(temp, sizeof(temp), "%s/tmp", config->data_dir);
    enum fz_code code = fz_file_make_dirs(temp, err);
    *ret_lock_fd = -1;
    return code == FZ_OK ? serve_setup_lock(config->database, ret_lock_fd, err) : code;
}

/* ---- the database and the blobs -------------------------------------------------------------------------- */

/* Doubles *nap_ms for the next one. UNAVAILABLE: a signal ended it. */
static enum fz_code
nap(const sigset_t *signals, int64_t *nap_ms, int64_t left_ms, const char *what,
    struct fz_error *err)
{
    int64_t ms = *nap_ms < left_ms ? *nap_ms : left_ms;
    const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    int number = sigtimedwait(signals, NULL, &time);
    *nap_ms = *nap_ms * 2 < WAIT_MOST_MS ? *nap_ms * 2 : WAIT_MOST_MS;
    return number > 0 ? fz_fail(err, FZ_E_UNAVAILABLE, "ended by signal %d while waiting for %s",
                                number, what)
                      : FZ_OK;
}

/* A PostgreSQL that was started together with this program, or that recovers from a crash. */
enum fz_code
serve_setup_database(const struct config *config, const sigset_t *signals, struct fz_error *err)
{
    char url[256];
    int64_t nap_ms = WAIT_FIRST_MS, start_ms = fz_time_monotonic_ms();
    int64_t limit_ms = (int64_t)config->limits.database_wait_s * 1000;
    bool has_waited = false;
    config_hide_password(config->database, url, sizeof(url));
    for (;;) {
        const char *why = store_not_up(config->database);
        int64_t waited_ms = fz_time_monotonic_ms() - start_ms;
        if (!why && has_waited)
            fz_log(FZ_LOG_INFO, "the database is up", "waited_ms=%lld", (long long)waited_ms);
        if (!why || waited_ms >= limit_ms)
            return FZ_OK;
        has_waited = true;
        fz_log(FZ_LOG_WARN, "waits for the database",
               "database=%s why=\"%s\" waited_ms=%lld of=%lld", url, why, (long long)waited_ms,
               (long long)limit_ms);
        enum fz_code code = nap(signals, &nap_ms, limit_ms - waited_ms, "the database", err);
        if (code != FZ_OK)
            return code;
    }
}

struct blob_config
serve_setup_blob_config(const struct config *config, char cache[PATH_MAX])
{
    static const char folder[] = "/blob-cache";
    snprintf(cache, PATH_MAX, "%.*s%s", (int)(PATH_MAX - sizeof(folder)), config->data_dir, folder);
    return (struct blob_config){
        .url = config->blobs, .cache_dir = cache, .cache_bytes = config->limits.blob_cache_bytes};
}

static enum fz_code
wait_for_blobs(struct blob_store *blobs, int64_t limit_ms, const sigset_t *signals,
               struct fz_error *err)
{
    int64_t nap_ms = WAIT_FIRST_MS, start_ms = fz_time_monotonic_ms();
    for (bool has_waited = false;; has_waited = true) {
        struct fz_error why;
        char quoted[sizeof(why.text) * 2];
        bool may_pass = false;
        enum fz_code code = blob_ready(blobs, &may_pass, &why);
        int64_t waited_ms = fz_time_monotonic_ms() - start_ms;
        if (code == FZ_OK && has_waited)
            fz_log(FZ_LOG_INFO, "the object store is up", "waited_ms=%lld", (long long)waited_ms);
        if (code == FZ_OK)
            return FZ_OK;
        if (!may_pass || waited_ms >= limit_ms)
            return fz_fail(err, code, "%s", why.text);
        fz_log(FZ_LOG_WARN, "waits for the object store", "why=%s waited_ms=%lld of=%lld",
               fz_log_quote(why.text, quoted, sizeof(quoted)), (long long)waited_ms,
               (long long)limit_ms);
        code = nap(signals, &nap_ms, limit_ms - waited_ms, "the object store", err);
        if (code != FZ_OK)
            return code;
    }
}

enum fz_code
serve_setup_blobs(const struct config *config, const sigset_t *signals, struct fz_error *err)
{
    char cache[PATH_MAX];
    const struct blob_config setup = serve_setup_blob_config(config, cache);
    struct blob_store *blobs = NULL;
    enum fz_code code = blob_open(&setup, &blobs, err);
    if (code == FZ_OK)
        code = wait_for_blobs(blobs, (int64_t)config->limits.database_wait_s * 1000, signals, err);
    blob_close(blobs);
    return code;
}

/* ---- jobs of an earlier run ---------------------------------------------------------------- */

static enum fz_code
reclaim(struct store *store, struct fz_error *err)
{
    uint64_t n = 0;
    /* By name, which contains process, boot and namespace: live workers keep their jobs. */
    enum fz_code code = store_job_reclaim(store, worker_is_gone, NULL, &n, err);
    if (code == FZ_OK && n)
        fz_log(FZ_LOG_INFO, "jobs of ended workers are due again", "jobs=%llu",
               (unsigned long long)n);
    return code;
}

static enum fz_code
rebuild(struct store *store, struct fz_error *err)
{
    uint64_t n = 0;
    enum fz_code code = store_symbol_rebuild_outdated(store, sym_index_version(), &n, err);
    if (code == FZ_OK && n)
        fz_log(FZ_LOG_INFO, "indexes of another version are built anew", "indexes=%llu",
               (unsigned long long)n);
    return code;
}

enum fz_code
serve_setup_jobs(struct store *store, struct fz_error *err)
{
    enum fz_code code = reclaim(store, err);
    if (code == FZ_OK)
        code = rebuild(store, err);
    if (code != FZ_E_UNAVAILABLE)
        return code;
    /* On a full disk reads must work. These jobs are due when their leases run out, and indexes are
     * built anew after the next start. */
    char quoted[400];
    fz_log(FZ_LOG_WARN, "jobs of earlier runs are not due again yet", "error=%s",
           fz_log_quote(err ? err->text : "", quoted, sizeof(quoted)));
    return FZ_OK;
}

/* ---- its address ------------------------------------------------------------------------------ */

void
serve_setup_url(const struct config *config, const char *bound, char ret[256])
{
    static const char *const wildcards[] = {"http://0.0.0.0:", "http://[::]:"};
    /* With or without a slash at the end, as operators write it. */
    if (config->public_url[0]) {
        snprintf(ret, 256, "%s", config->public_url);
        for (size_t len = strlen(ret); len > 0 && ret[len - 1] == '/'; len--)
            ret[len - 1] = '\0';
        return;
    }
    for (size_t i = 0; i < FZ_ARRAY_LEN(wildcards); i++) {
        if (fz_text_has_prefix(bound, wildcards[i])) {
            snprintf(ret, 256, "http://127.0.0.1:%s", bound + strlen(wildcards[i]));
            return;
        }
    }
    snprintf(ret, 256, "%s", bound);
}

/* ---- its alerts ------------------------------------------------------------------------------ */

enum fz_code
serve_setup_alerts(const struct config *config, const char *url, struct outbox_setup *ret,
                   struct fz_error *err)
{
    bool is_off = strcmp(config->smtp_tls, "off") == 0;
    *ret = (struct outbox_setup){.rules = {.ca_file = config->alert_ca},
                                 .mail = {.url = config->smtp_url,
                                          .user = config->smtp_user,
                                          .password = config->smtp_password,
                                          .tls = is_off ? NET_MAIL_TLS_OFF
                                                 : strcmp(config->smtp_tls, "offered") == 0
                                                     ? NET_MAIL_TLS_OFFERED
                                                     : NET_MAIL_TLS_REQUIRED},
                                 .server = url && *url ? url : NULL,
                                 .from = config->mail_from};
    enum fz_code code = net_guard_parse(config->alert_internal, &ret->rules.guard, err);
    if (code == FZ_OK && config->smtp_url[0])
        code = net_mail_check_server(&ret->mail, err);
    return code;
}

/* ---- its logins ------------------------------------------------------------------------------ */

static enum fz_code
read_secret(struct config *config, struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    const char *path = config->oidc_client_secret_file;
    if (!*path)
        return FZ_OK;
    enum fz_code code = fz_file_read(path, sizeof(config->oidc_client_secret) - 1, &text, err);
    if (code != FZ_OK)
        return fz_wrap(err, "oidc-client-secret-file");
    /* Editors end the last line. */
    const struct fz_span secret = fz_text_trim(fz_buffer_span(&text));
    if (!secret.len || memchr(secret.data, '\0', secret.len))
        return fz_fail(err, FZ_E_MALFORMED, "oidc-client-secret-file: no secret is in %s", path);
    memcpy(config->oidc_client_secret, secret.data, secret.len);
    config->oidc_client_secret[secret.len] = '\0';
    return FZ_OK;
}

static enum fz_code
check_oidc(const struct config *config, struct fz_error *err)
{
    if (!*config->oidc_issuer)
        return FZ_OK;
    if (!*config->oidc_client_id)
        return fz_fail(err, FZ_E_MALFORMED,
                       "oidc-issuer needs oidc-client-id: what the provider calls this server");
    /* Not what a request says of its host: who sends it chooses that. */
    if (!*config->public_url)
        return fz_fail(err, FZ_E_MALFORMED,
                       "oidc-issuer needs public-url: where the provider sends browsers back to");
    return FZ_OK;
}

enum fz_code
serve_setup_login(struct config *config, struct api_login *ret, struct fz_error *err)
{
    static const int64_t day_ms = INT64_C(24) * 3600 * 1000;
    enum fz_code code = check_oidc(config, err);
    if (code == FZ_OK)
        code = read_secret(config, err);
    *ret = (struct api_login){.public_url = config->public_url,
                              .proxy_user_header = config->proxy_user_header,
                              .proxy_role = config->proxy_role,
                              .proxy_groups_header = config->proxy_groups_header,
                              .proxy_groups = config->proxy_groups,
                              .idle_ms = config->session_idle_days * day_ms,
                              .max_ms = config->session_days * day_ms,
                              .oidc_issuer = config->oidc_issuer,
                              .oidc_client_id = config->oidc_client_id,
                              .oidc_client_secret = config->oidc_client_secret,
                              .oidc_name = config->oidc_name,
                              .oidc_domains = config->oidc_domains,
                              .oidc_role = config->oidc_role,
                              .oidc_internal = config->oidc_internal,
                              .oidc_ca = config->oidc_ca};
    return code;
}

/* ---- its workers -------------------------------------------------------------------------- */

void
serve_setup_workers(struct config *config)
{
    /* 0 is a choice: the workers are on other machines. */
    if (config->workers >= 0)
        return;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    config->workers = cores < 1 ? 1 : cores > CORES_MAX ? CORES_MAX : (int)cores;
}
