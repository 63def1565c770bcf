/*
 * Releases and deploys as sentry-cli reports them.
 *
 * Old versions name the project in the path, newer ones only the organisation and the projects in
 * the body; a project that is not named is the token's. A version is any text, percent-encoded in
 * the path ("app@1.0%2B1").
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "server/clients/sentry/cli.h"
#include "storage/store_releases.h"

enum { PROJECTS_MAX = 20, SHORT_TEXT = 96 };

/* ---- one release in JSON -------------------------------------------------------------------- */

/* "app@1.0+1" is shown as 1.0. */
static void
short_version(const char *version, char ret[SHORT_TEXT])
{
    const char *at = strchr(version, '@'), *from = at ? at + 1 : version;
    size_t len = at ? strcspn(from, "+") : strlen(from);
    snprintf(ret, SHORT_TEXT, "%.*s", len < SHORT_TEXT ? (int)len : SHORT_TEXT - 1, from);
}

static enum fz_code
put_release(struct api_call *call, struct json_write *w, int64_t project_id,
            const struct store_release *release, struct fz_error *err)
{
    struct store_project project;
    char text[SHORT_TEXT];
    enum fz_code code = store_project_by_id(call->store, project_id, call->arena, &project, err);
    if (code != FZ_OK)
        return code;
    /* Cut to its room it may end within a character; then it is left empty. */
    short_version(release->version, text);
    json_write_open(w, NULL, '{');
    json_write_text(w, "version", release->version);
    json_write_text(w, "shortVersion", fz_text_is_utf8(fz_span_cstr(text)) ? text : "");
    json_write_text(w, "status", release->status);
    /* These keys must be there, with null for what is not known. */
    sentry_cli_put_text(w, "url", release->url);
    sentry_cli_put_text(w, "ref", release->ref);
    sentry_cli_put_time(w, "dateCreated", release->created_ms);
    sentry_cli_put_time(w, "dateStarted", release->started_ms);
    sentry_cli_put_time(w, "dateReleased", release->released_ms);
    /* Not counted here; the client's model wants the keys. */
    json_write_null(w, "lastEvent");
    json_write_null(w, "lastCommit");
    json_write_u64(w, "newGroups", 0);
    json_write_open(w, "projects", '[');
    json_write_open(w, NULL, '{');
    json_write_text(w, "slug", project.name);
    json_write_text(w, "name", project.name);
    json_write_close(w, '}');
    json_write_close(w, ']');
    json_write_close(w, '}');
    return FZ_OK;
}

static enum fz_code
answer_release(struct api_call *call, int status, int64_t project_id,
               const struct store_release *release, struct fz_error *err)
{
    struct json_write w = json_write_start(&call->out);
    enum fz_code code = put_release(call, &w, project_id, release, err);
    return code != FZ_OK ? code : api_answer_written(call, status, err);
}

/* ---- create and change ---------------------------------------------------------------------- */

/* The projects that the body names, or else the call's. */
static enum fz_code
find_projects(struct api_call *call, const json_t *body, int64_t ret[PROJECTS_MAX], size_t *ret_n,
              struct fz_error *err)
{
    const json_t *names = json_object_get(body, "projects");
    /* The project of the path wins over those of the body. */
    size_t n = http_param(call->request, "project") ? 0 : json_array_size(names);
    if (n > PROJECTS_MAX)
        return fz_fail(err, FZ_E_LIMIT, "%zu projects, at most %d", n, PROJECTS_MAX);
    for (size_t i = 0; i < n; i++) {
        const json_t *item = json_array_get(names, i);
        const char *name = json_string_value(item);
        char number[24];
        if (json_is_integer(item)) {
            /* A project may be named by its number. */
            snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT, json_integer_value(item));
            name = number;
        }
        enum fz_code code = api_find_project(call, name ? name : "", &ret[i], err);
        if (code != FZ_OK)
            return code;
    }
    /* Old clients name none: the token says which one. */
    if (n == 0)
        ret[n++] = call->project_id;
    *ret_n = n;
    return FZ_OK;
}

static void
free_textp(char **text)
{
    free(*text);
}

static enum fz_code
read_status(const json_t *body, const char **ret, struct fz_error *err)
{
    const char *status = sentry_cli_text(body, "status");
    if (status && strcmp(status, "open") != 0 && strcmp(status, "archived") != 0)
        return fz_fail(err, FZ_E_MALFORMED, "status: '%.40s' is neither open nor archived", status);
    *ret = status;
    return FZ_OK;
}

/* Create the release of the body, or change the one of the path. */
static enum fz_code
put(struct api_call *call, const char *version, struct fz_error *err)
{
    json_auto_t *body = NULL;
    int64_t projects[PROJECTS_MAX];
    size_t n = 0;
    /* Members that the body does not name stay NULL, and storage keeps what it has. */
    struct store_release release = {.version = version}, stored = {0};
    bool created = false, any_created = false;
    enum fz_code code = sentry_cli_body(call, &body, err);
    if (code == FZ_OK)
        code = find_projects(call, body, projects, &n, err);
    if (code == FZ_OK)
        code = read_status(body, &release.status, err);
    if (code != FZ_OK)
        return code;
    const json_t *commits = json_object_get(body, "commits");
    FZ_CLEANUP(free_textp)
    /* Commits are only kept, so they are stored as they came. */
    char *text = json_is_array(commits) ? json_dumps(commits, JSON_COMPACT) : NULL;
    if (!version)
        release.version = sentry_cli_text(body, "version");
    release.ref = sentry_cli_text(body, "ref");
    release.url = sentry_cli_text(body, "url");
    release.commits = text;
    release.started_ms = sentry_cli_time(body, "dateStarted");
    release.released_ms = sentry_cli_time(body, "dateReleased");
    for (size_t i = n;
         code == FZ_OK && i-- > 0;) { /* backwards, so that the first one's is the answer */
        api_call_enter(call, projects[i]);
        code = store_release_put(call->store, projects[i], &release, call->arena, &stored, &created,
                                 err);
        /* 201 if at least one project did not have it. */
        any_created = any_created || created;
    }
    return code != FZ_OK ? code
                         : answer_release(call, any_created && !version ? 201 : 200, projects[0],
                                          &stored, err);
}

enum fz_code
sentry_release_create(struct api_call *call, struct fz_error *err)
{
    return put(call, NULL, err);
}

enum fz_code
sentry_release_change(struct api_call *call, struct fz_error *err)
{
    return put(call, http_param(call->request, "version"), err);
}

/* ---- read and delete ------------------------------------------------------------------------ */

/* "0:100:0": the place of a page, as Sentry writes it; 0 for anything else. */
static size_t
read_cursor(const struct http_request *request)
{
    const char *text = http_query(request, "cursor");
    uint64_t offset = 0;
    const char *from = text ? strchr(text, ':') : NULL;
    if (!from || !fz_text_u64(fz_span_make(from + 1, strcspn(from + 1, ":")), &offset) ||
        offset > INT32_MAX)
        return 0;
    return (size_t)offset;
}

enum fz_code
sentry_releases(struct api_call *call, struct fz_error *err)
{
    struct store_release *releases = NULL;
    size_t n = 0, offset = read_cursor(call->request);
    enum fz_code code =
        store_release_list(call->store, call->project_id, offset, call->arena, &releases, &n, err);
    if (code != FZ_OK)
        return code;
    struct json_write w = api_begin(call, '[');
    for (size_t i = 0; code == FZ_OK && i < n; i++)
        code = put_release(call, &w, call->project_id, &releases[i], err);
    /* The client goes on as long as results="true". */
    char link[128];
    snprintf(link, sizeof(link),
             "<?cursor=0:%zu:0>; rel=\"next\"; results=\"%s\"; cursor=\"0:%zu:0\"",
             offset + STORE_RELEASES_PAGE, n == STORE_RELEASES_PAGE ? "true" : "false",
             offset + STORE_RELEASES_PAGE);
    http_add_header(call->request, "Link", link);
    return code != FZ_OK ? code : api_answer(call, 200, &w, ']', err);
}

enum fz_code
sentry_release(struct api_call *call, struct fz_error *err)
{
    struct store_release release;
    enum fz_code code =
        store_release_get(call->store, call->project_id, http_param(call->request, "version"),
                          call->arena, &release, err);
    return code != FZ_OK ? code : answer_release(call, 200, call->project_id, &release, err);
}

enum fz_code
sentry_release_delete(struct api_call *call, struct fz_error *err)
{
    enum fz_code code = store_release_delete(call->store, call->project_id,
                                             http_param(call->request, "version"), err);
    if (code == FZ_OK)
        http_respond(call->request, 204, NULL, (struct fz_span){NULL, 0});
    return code;
}

/* ---- deploys -------------------------------------------------------------------------------- */

static void
put_deploy(struct json_write *w, const struct store_deploy *deploy)
{
    char id[24];
    /* Sentry's ids are texts. */
    snprintf(id, sizeof(id), "%lld", (long long)deploy->id);
    json_write_open(w, NULL, '{');
    json_write_text(w, "id", id);
    json_write_text(w, "environment", deploy->environment);
    sentry_cli_put_text(w, "name", deploy->name);
    sentry_cli_put_text(w, "url", deploy->url);
    sentry_cli_put_time(w, "dateStarted", deploy->started_ms);
    sentry_cli_put_time(w, "dateFinished", deploy->finished_ms);
    json_write_close(w, '}');
}

enum fz_code
sentry_deploy(struct api_call *call, struct fz_error *err)
{
    json_auto_t *body = NULL;
    int64_t projects[PROJECTS_MAX];
    size_t n = 0;
    enum fz_code code = sentry_cli_body(call, &body, err);
    if (code == FZ_OK)
        code = find_projects(call, body, projects, &n, err);
    /* After a failure `body` is NULL, and so are all of its members. */
    struct store_deploy made = {.environment = sentry_cli_text(body, "environment"),
                                .name = sentry_cli_text(body, "name"),
                                .url = sentry_cli_text(body, "url"),
                                .started_ms = sentry_cli_time(body, "dateStarted"),
                                .finished_ms = sentry_cli_time(body, "dateFinished")};
    if (code == FZ_OK && !made.environment)
        code = fz_fail(err, FZ_E_MALFORMED, "environment: a text is wanted");
    for (size_t i = n; code == FZ_OK && i-- > 0;) {
        api_call_enter(call, projects[i]);
        code = store_deploy_insert(call->store, projects[i], http_param(call->request, "version"),
                                   &made, err);
    }
    if (code != FZ_OK)
        return code;
    struct json_write w = json_write_start(&call->out);
    put_deploy(&w, &made);
    return api_answer_written(call, 201, err);
}

enum fz_code
sentry_deploys(struct api_call *call, struct fz_error *err)
{
    struct store_deploy *made = NULL;
    size_t n = 0;
    enum fz_code code =
        store_deploy_list(call->store, call->project_id, http_param(call->request, "version"),
                          call->arena, &made, &n, err);
    if (code != FZ_OK)
        return code;
    struct json_write w = api_begin(call, '[');
    for (size_t i = 0; i < n; i++)
        put_deploy(&w, &made[i]);
    return api_answer(call, 200, &w, ']', err);
}
