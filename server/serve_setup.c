#include "server/serve_setup.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "server/worker/worker.h"
#include "symbolicator/index.h"

/* ---- directory and lock ------------------------------------------------------------------ */

static enum fz_code
take_lock(const char *database_path, int *ret_fd, struct fz_error *err)
{
    char path[PATH_MAX + 16];
    snprintf(path, sizeof(path), "%s.lock", database_path);
    FZ_CLEANUP(fz_closep) int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return fz_fail_errno(err, "%s", path);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(fd, F_SETLK, &lock) != 0) {
        if (errno != EACCES && errno != EAGAIN)
            return fz_fail_errno(err, "%s", path);
        lock.l_type = F_WRLCK;
        fz_ignore(fcntl(fd, F_GETLK, &lock) != 0); /* only for the message */
        return fz_fail(err, FZ_E_CONFLICT,
                       "another framezero serve (process %d) uses the database %s; one serve at a "
                       "time: stop it or give another --data",
                       (int)lock.l_pid, database_path);
    }
    *ret_fd = fd;
    fd = -1;
    return FZ_OK;
}

enum fz_code
serve_setup_directory(const struct config *config, int *ret_lock_fd, struct fz_error *err)
{
    char temp[PATH_MAX + 16];
    snprintf(temp, sizeof(temp), "%s/tmp", config->data_dir);
    enum fz_code code = fz_file_make_dirs(temp, err);
    *ret_lock_fd = -1;
    if (!code && fz_text_has_prefix(config->database, "sqlite:"))
        code = take_lock(config->database + strlen("sqlite:"), ret_lock_fd, err);
    return code;
}

/* ---- first tokens ------------------------------------------------------------------------ */

static enum fz_code
create_first(struct store *store, struct serve_first *first, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(1024 * 1024);
    struct store_token *tokens;
    size_t n_tokens;
    enum fz_code code = store_token_list(store, &arena, &tokens, &n_tokens, err);
    if (code || n_tokens > 0)
        return code;
    code = store_project_create(store, "default", &first->project_id, err);
    if (code == FZ_E_CONFLICT) { /* another node, or a first start that was cut short */
        struct store_project project;
        code = store_project_find(store, "default", &arena, &project, err);
        first->project_id = code ? 0 : project.id;
    }
    int64_t id;
    if (!code)
        code = store_token_create(store, first->project_id, STORE_SCOPE_INGEST, "first ingest key",
                                  first->ingest_key, &id, err);
    if (!code)
        code = store_token_create(store, 0, STORE_SCOPE_ADMIN, "first admin token",
                                  first->admin_token, &id, err);
    first->is_first = !code;
    return code;
}

enum fz_code
serve_setup_first(const char *database_url, struct serve_first *ret, struct fz_error *err)
{
    FZ_CLEANUP(store_closep) struct store *store = NULL;
    struct serve_first first = {0};
    enum fz_code code = store_open(database_url, &store, err);
    if (!code)
        code = create_first(store, &first, err);
    if (!code)
        *ret = first;
    return code;
}

/* ---- jobs of an earlier run ---------------------------------------------------------------- */

enum fz_code
serve_setup_reclaim(const char *database_url, struct fz_error *err)
{
    FZ_CLEANUP(store_closep) struct store *store = NULL;
    uint64_t n = 0;
    enum fz_code code = store_open(database_url, &store, err);
    if (!code)
        code = store_job_reclaim(store, worker_is_gone, NULL, &n, err);
    if (!code && n)
        fz_log(FZ_LOG_INFO, "jobs of ended workers are due again", "jobs=%llu",
               (unsigned long long)n);
    return code;
}

enum fz_code
serve_setup_rebuild(const char *database_url, struct fz_error *err)
{
    FZ_CLEANUP(store_closep) struct store *store = NULL;
    uint64_t n = 0;
    enum fz_code code = store_open(database_url, &store, err);
    if (!code)
        code = store_symbol_rebuild_outdated(store, sym_index_version(), &n, err);
    if (!code && n)
        fz_log(FZ_LOG_INFO, "indexes of another version are built anew", "indexes=%llu",
               (unsigned long long)n);
    return code;
}

/* ---- credentials.json -------------------------------------------------------------------- */

void
serve_setup_url(const struct config *config, const char *bound, char ret[256])
{
    static const char *const wildcards[] = {"http://0.0.0.0:", "http://[::]:"};
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

/* "https://host" with key and project: "https://KEY@host/1", as clients take it. */
static void
make_dsn(const char *url, const char *key, int64_t project_id, char *ret, size_t size)
{
    const char *host = strstr(url, "://");
    host = host ? host + 3 : url;
    snprintf(ret, size, "%.*s%s@%s/%lld", (int)(host - url), url, key, host, (long long)project_id);
}

static enum fz_code
write_credentials(const char *path, const json_t *root, struct fz_error *err)
{
    char *text = json_dumps(root, JSON_INDENT(2));
    if (!text)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    fz_buffer_printf(&out, "%s\n", text);
    free(text);
    enum fz_code code = fz_buffer_done(&out, err);
    if (!code)
        code = fz_file_write_atomic(path, fz_buffer_span(&out), 0600, err);
    return code;
}

static enum fz_code
update_credentials(const char *path, const char *url, struct fz_error *err)
{
    json_auto_t *root = json_load_file(path, 0, NULL);
    const char *old = json_string_value(json_object_get(root, "url"));
    const char *key = json_string_value(json_object_get(root, "ingest_key"));
    if (!root || !key || (old && strcmp(old, url) == 0))
        return FZ_OK; /* none, or not ours to mend */
    char dsn[512];
    make_dsn(url, key, json_integer_value(json_object_get(root, "project_id")), dsn, sizeof(dsn));
    json_object_set_new(root, "url", json_string(url));
    json_object_set_new(root, "dsn", json_string(dsn));
    return write_credentials(path, root, err);
}

enum fz_code
serve_setup_credentials(const struct config *config, const char *url,
                        const struct serve_first *first, struct fz_error *err)
{
    char path[PATH_MAX + 32], dsn[512];
    snprintf(path, sizeof(path), "%s/credentials.json", config->data_dir);
    if (!first->is_first)
        return update_credentials(path, url, err);
    make_dsn(url, first->ingest_key, first->project_id, dsn, sizeof(dsn));
    json_auto_t *root =
        json_pack("{s:s, s:s, s:I, s:s, s:s, s:s}", "url", url, "project", "default", "project_id",
                  (json_int_t)first->project_id, "ingest_key", first->ingest_key, "admin_token",
                  first->admin_token, "dsn", dsn);
    return root ? write_credentials(path, root, err)
                : fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
}

/* ---- what to type next ------------------------------------------------------------------- */

/* docs/sample above the binary (a build tree), or installed beside it. */
static bool
find_sample(char ret[PATH_MAX])
{
    static const char *const places[] = {"docs/sample", "share/framezero/sample",
                                         "share/doc/framezero/sample"};
    char dir[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", dir, sizeof(dir) - 1);
    if (len <= 0)
        return false;
    dir[len] = '\0';
    for (int up = 0; up < 5; up++) {
        char *slash = strrchr(dir, '/');
        if (!slash)
            return false;
        *slash = '\0';
        for (size_t i = 0; i < FZ_ARRAY_LEN(places); i++) {
            char probe[PATH_MAX + 64];
            snprintf(ret, PATH_MAX, "%s/%s", dir, places[i]);
            snprintf(probe, sizeof(probe), "%s/Demo.dSYM.zip", ret);
            if (access(probe, R_OK) == 0)
                return true;
        }
    }
    return false;
}

/* A path below the current directory is shown from there. */
static const char *
shorten(const char *path)
{
    char cwd[PATH_MAX];
    size_t len;
    if (!getcwd(cwd, sizeof(cwd)) || (len = strlen(cwd)) < 2 || strncmp(path, cwd, len) != 0 ||
        path[len] != '/')
        return path;
    return path + len + 1;
}

void
serve_setup_print_first(const struct config *config, const char *url,
                        const struct serve_first *first)
{
    printf("\nThis is the first start. Keep these; they are shown only now and in "
           "%s/credentials.json:\n\n"
           "  ingest key   %s\n"
           "  admin token  %s\n\n",
           config->data_dir, first->ingest_key, first->admin_token);
    char sample[PATH_MAX];
    if (find_sample(sample)) {
        const char *at = shorten(sample);
        printf("Try it, in another terminal:\n\n"
               "  TOKEN=%s\n\n"
               "  # 1. the debug symbols of the sample\n"
               "  curl -sS -w '\\n' -H \"Authorization: Bearer $TOKEN\" \\\n"
               "       --data-binary @%s/Demo.dSYM.zip \"%s/api/v1/symbols?name=Demo.dSYM.zip\"\n\n"
               "  # 2. a crash of it, addresses only\n"
               "  ID=$(curl -sS -H \"Authorization: Bearer %s\" --data-binary @%s/report.json \\\n"
               "       \"%s/api/v1/reports?wait=10\" | sed 's/^{\"id\":\"\\([^\"]*\\)\".*/\\1/'); "
               "echo $ID\n\n"
               "  # 3. the same with names\n"
               "  curl -sS -H \"Authorization: Bearer $TOKEN\" \\\n"
               "       \"%s/api/v1/reports/$ID?format=crash\"\n\n",
               first->admin_token, at, url, first->ingest_key, at, url, url);
    }
    fflush(stdout);
}
