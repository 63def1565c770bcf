#include "server/serve/first.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "storage/store_users.h"

enum { PATH_BYTES = PATH_MAX + 32 };

static const char finished_name[] = "credentials.json";
static const char unfinished_name[] = "credentials.json.unfinished";
static const char setup_key[] = "setup_url";

static void
make_path(const struct config *config, const char *name, char ret[PATH_BYTES])
{
    snprintf(ret, PATH_BYTES, "%s/%s", config->data_dir, name);
}

static bool
is_there(const struct config *config, const char *name)
{
    char path[PATH_BYTES];
    make_path(config, name, path);
    return access(path, F_OK) == 0;
}

/* ---- the first tokens --------------------------------------------------------------------- */

static enum fz_code
fail_other_database(const struct config *config, const char *what, struct fz_error *err)
{
    char database[256];
    config_hide_password(config->database, database, sizeof(database));
    return fz_fail(err, FZ_E_CONFLICT,
                   "%s/%s is of an earlier start, but the database %s %s: restore the database or "
                   "name the right one; to start with a new one, move that file away",
                   config->data_dir, finished_name, database, what);
}

enum fz_code
serve_first_check(const struct config *config, struct fz_error *err)
{
    struct stat st;
    if (!is_there(config, finished_name) || !fz_text_has_prefix(config->database, "sqlite:"))
        return FZ_OK;
    if (stat(config->database + strlen("sqlite:"), &st) != 0)
        return errno == ENOENT ? fail_other_database(config, "is missing", err) : FZ_OK;
    return st.st_size == 0 ? fail_other_database(config, "is empty", err) : FZ_OK;
}

static enum fz_code
write_json(const char *path, const json_t *root, struct fz_error *err)
{
    char *text = json_dumps(root, JSON_INDENT(2));
    if (!text)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    fz_buffer_printf(&out, "%s\n", text);
    free(text);
    enum fz_code code = fz_buffer_done(&out, err);
    if (code == FZ_OK)
        code = fz_file_write_atomic(path, fz_buffer_span(&out), 0600, err);
    return code;
}

static bool
copy_text(const json_t *root, const char *name, char ret[STORE_TOKEN_TEXT])
{
    const char *text = json_string_value(json_object_get(root, name));
    size_t len = text ? strlen(text) : 0;
    if (len == 0 || len >= STORE_TOKEN_TEXT)
        return false;
    memcpy(ret, text, len + 1);
    return true;
}

/* The tokens of a first start that was interrupted; false without such a start. */
static bool
read_unfinished(const struct config *config, struct serve_first *first)
{
    char path[PATH_BYTES];
    make_path(config, unfinished_name, path);
    json_auto_t *root = json_load_file(path, 0, NULL);
    return root && copy_text(root, "ingest_key", first->ingest_key) &&
           copy_text(root, "admin_token", first->admin_token);
}

static enum fz_code
write_unfinished(const struct config *config, const struct serve_first *first, struct fz_error *err)
{
    char path[PATH_BYTES];
    make_path(config, unfinished_name, path);
    json_auto_t *root =
        json_pack("{s:s, s:s}", "ingest_key", first->ingest_key, "admin_token", first->admin_token);
    return root ? write_json(path, root, err) : fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
}

static enum fz_code
is_known(struct store *store, const char *text, bool *ret, struct fz_error *err)
{
    struct store_token token;
    enum fz_code code = store_token_check(store, text, &token, err);
    *ret = code == FZ_OK;
    /* Unknown is an answer, not a failure. */
    return code == FZ_E_DENIED ? FZ_OK : code;
}

static enum fz_code
add_tokens(struct store *store, struct serve_first *first, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(64 * 1024);
    bool has_key = false, has_admin = false;
    int64_t id;
    /* Each step may have been done by an earlier start that was cut short. */
    enum fz_code code = store_project_create(store, "default", &first->project_id, err);
    if (code == FZ_E_CONFLICT) { /* another server, or a first start that was interrupted */
        struct store_project project = {0};
        code = store_project_find(store, "default", &arena, &project, err);
        first->project_id = project.id;
    }
    if (code == FZ_OK)
        code = is_known(store, first->ingest_key, &has_key, err);
    if (code == FZ_OK)
        code = is_known(store, first->admin_token, &has_admin, err);
    if (code == FZ_OK && !has_key)
        code = store_token_add(store, first->project_id, STORE_SCOPE_INGEST, "first ingest key",
                               first->ingest_key, &id, err);
    if (code == FZ_OK && !has_admin)
        code = store_token_add(store, 0, STORE_SCOPE_ADMIN, "first admin token", first->admin_token,
                               &id, err);
    return code;
}

/* Whether this database is to get first tokens: those in `first`, if was_cut_short. */
static enum fz_code
needs_tokens(struct store *store, const struct serve_first *first, bool was_cut_short, bool *ret,
             struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(1024 * 1024);
    struct store_token *tokens;
    size_t n_tokens = 0;
    bool is_ours = false;
    enum fz_code code = store_token_list(store, &arena, &tokens, &n_tokens, err);
    if (code == FZ_OK && n_tokens && was_cut_short)
        code = is_known(store, first->ingest_key, &is_ours, err);
    *ret = n_tokens == 0 || is_ours;
    return code;
}

enum fz_code
serve_first_tokens(const struct config *config, struct store *store, struct serve_first *ret,
                   struct fz_error *err)
{
    struct serve_first first = {0};
    bool is_needed = false, was_cut_short = read_unfinished(config, &first);
    enum fz_code code = needs_tokens(store, &first, was_cut_short, &is_needed, err);
    if (code == FZ_OK && !is_needed &&
        was_cut_short) { /* another server has made the first start */
        char path[PATH_BYTES];
        make_path(config, unfinished_name, path);
        fz_ignore(unlink(path) != 0); /* its tokens are not in the database */
    }
    if (code != FZ_OK || !is_needed)
        return code;
    /* New tokens would overwrite those of the other database. */
    if (is_there(config, finished_name))
        return fail_other_database(config, "has no tokens", err);
    /* Those of the interrupted start are used again: one of them may be in the database already. */
    if (!was_cut_short) {
        store_token_make(STORE_SCOPE_INGEST, first.ingest_key);
        store_token_make(STORE_SCOPE_ADMIN, first.admin_token);
        code = write_unfinished(config, &first, err);
    }
    if (code == FZ_OK)
        code = add_tokens(store, &first, err);
    first.is_first = true;
    if (code == FZ_OK)
        *ret = first;
    return code;
}

/* ---- the first user ----------------------------------------------------------------------- */

static enum fz_code
make_link(struct store *store, const char *url, char ret[SERVE_SETUP_URL], struct fz_error *err)
{
    static const struct store_link link = {.kind = STORE_LINK_SETUP};
    char secret[STORE_SECRET_TEXT];
    store_secret_make(secret);
    enum fz_code code = store_link_add(store, &link, secret, NULL, err);
    /* In the fragment, which browsers do not send, so no log has it. */
    if (code == FZ_OK)
        snprintf(ret, SERVE_SETUP_URL, "%s/setup#%s", url, secret);
    return code;
}

enum fz_code
serve_first_user(struct store *store, const char *url, struct serve_first *first,
                 struct fz_error *err)
{
    bool exist = false;
    enum fz_code code = store_users_exist(store, &exist, err);
    if (code == FZ_OK)
        first->has_users = exist;
    if (code != FZ_OK || exist)
        return code;
    if (first->is_first)
        return make_link(store, url, first->setup_url, err);
    /* An earlier version made this database, or the link of the first start has expired. Users are
     * a choice: tokens work without any. */
    fz_log(FZ_LOG_INFO, "no one can log in to the page yet",
           "do=\"framezero user invite --email YOU@EXAMPLE.COM --role admin --project '*'\"");
    return FZ_OK;
}

/* ---- credentials.json --------------------------------------------------------------------- */

/* "https://host" with key and project: "https://KEY@host/1", as clients take it. */
static void
make_dsn(const char *url, const char *key, int64_t project_id, char *ret, size_t size)
{
    const char *host = strstr(url, "://");
    host = host ? host + 3 : url;
    snprintf(ret, size, "%.*s%s@%s/%lld", (int)(host - url), url, key, host, (long long)project_id);
}

static enum fz_code
update_credentials(const char *path, const char *url, bool has_users, struct fz_error *err)
{
    json_auto_t *root = json_load_file(path, 0, NULL);
    const char *old = json_string_value(json_object_get(root, "url"));
    const char *key = json_string_value(json_object_get(root, "ingest_key"));
    bool is_used = has_users && json_object_del(root, setup_key) == 0;
    if (!root || !key || (old && strcmp(old, url) == 0 && !is_used))
        return FZ_OK; /* none, or not written by us */
    char dsn[512];
    make_dsn(url, key, json_integer_value(json_object_get(root, "project_id")), dsn, sizeof(dsn));
    /* Whatever else a user has added to the file stays. */
    json_object_set_new(root, "url", json_string(url));
    json_object_set_new(root, "dsn", json_string(dsn));
    return write_json(path, root, err);
}

enum fz_code
serve_first_set_up(const struct config *config, struct fz_error *err)
{
    char path[PATH_BYTES];
    make_path(config, finished_name, path);
    json_auto_t *root = json_load_file(path, 0, NULL);
    /* An operator may have moved it away. */
    if (!root || json_object_del(root, setup_key) != 0)
        return FZ_OK;
    return write_json(path, root, err);
}

enum fz_code
serve_first_credentials(const struct config *config, const char *url,
                        const struct serve_first *first, struct fz_error *err)
{
    char path[PATH_BYTES], unfinished[PATH_BYTES], dsn[512];
    make_path(config, finished_name, path);
    make_path(config, unfinished_name, unfinished);
    if (!first->is_first)
        return update_credentials(path, url, first->has_users, err);
    make_dsn(url, first->ingest_key, first->project_id, dsn, sizeof(dsn));
    json_auto_t *root =
        json_pack("{s:s, s:s, s:I, s:s, s:s, s:s}", "url", url, "project", "default", "project_id",
                  (json_int_t)first->project_id, "ingest_key", first->ingest_key, "admin_token",
                  first->admin_token, "dsn", dsn);
    if (!root)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    if (*first->setup_url)
        json_object_set_new(root, setup_key, json_string(first->setup_url));
    enum fz_code code = write_json(unfinished, root, err);
    /* In one step: a reader sees all of it or nothing. */
    if (code == FZ_OK && rename(unfinished, path) != 0)
        code = fz_fail_errno(err, "%s", path);
    return code != FZ_OK ? code : fz_file_sync_parent(path, err);
}

/* ---- what to type next ------------------------------------------------------------------- */

/* docs/sample in a folder above the binary (a build tree), or installed with it. */
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
    /* A build tree is deeper than an installation: build/dev/server/framezero. */
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

static void
print_setup(const struct serve_first *first)
{
    if (!*first->setup_url)
        return;
    printf("Open this within 30 minutes to become the first user of the page:\n\n"
           "  %s\n\n",
           first->setup_url);
}

void
serve_first_print(const struct config *config, const char *url, const struct serve_first *first)
{
    printf("\nThis is the first start. Keep these; they are shown only now and in "
           "%s/credentials.json:\n\n"
           "  ingest key   %s\n"
           "  admin token  %s\n\n",
           config->data_dir, first->ingest_key, first->admin_token);
    print_setup(first);
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
    /* Under a service manager, standard output is a pipe, and this text would stay in the buffer.
     */
    fflush(stdout);
}
