/* Every path that sentry-cli asks for, and who answers it. */
#include "server/clients/sentry/cli.h"

#include <stdio.h>

/* What is the same for every client: the row's `user`. */
static void
answer_fixed(void *app FZ_UNUSED, struct http_request *request)
{
    http_respond_json(request, 200, fz_span_cstr(api_route_of(request)->user));
}

/* info, login: the client only checks that the token is valid. */
static const char info[] =
    "{\"version\":\"0\",\"auth\":{\"scopes\":[\"project:read\",\"project:write\","
    "\"project:releases\",\"org:read\"]},\"user\":null}";

/* One installation is one organisation, under any name that the client uses. */
static const char organizations[] =
    "[{\"id\":\"1\",\"slug\":\"framezero\",\"name\":\"framezero\",\"dateCreated\":"
    "\"1970-01-01T00:00:00.000Z\",\"isEarlyAdopter\":false,\"require2FA\":false,"
    "\"requireEmailVerification\":false,\"features\":[]}]";

/* No source repositories are connected: set-commits then uses the local one. */
static const char repositories[] = "[]";

/* A file's UUID says which version of the app it belongs to, so there is nothing to store. */
static const char associated[] = "{\"associatedDsymFiles\":[]}";

/* Reports that wait for a symbol file are processed again when it arrives: nothing to do. */
static const char reprocessing[] = "{}";

/* No earlier release with commits is known, so the client sends the local ones it finds. */
static const char previous[] = "{}";

static void
put_project(struct json_write *w, const struct store_project *project)
{
    char id[24];
    snprintf(id, sizeof(id), "%lld", (long long)project->id);
    json_write_open(w, NULL, '{');
    json_write_text(w, "id", id);
    /* Sentry has a short name for URLs and one for people; here it is the same. */
    json_write_text(w, "slug", project->name);
    json_write_text(w, "name", project->name);
    sentry_cli_put_time(w, "dateCreated", project->created_ms);
    json_write_null(w, "team");
    json_write_raw(w, "teams", "[]");
    json_write_close(w, '}');
}

static enum fz_code
projects(struct api_call *call, struct fz_error *err)
{
    struct store_project *projects = NULL;
    size_t n = 0;
    /* 0 stays for an admin token, which may see all of them. */
    int64_t own = 0;
    enum fz_code code = store_token_project(call->store, http_token_id(call->request), &own, err);
    if (code == FZ_OK)
        code = store_project_list(call->store, call->arena, &projects, &n, err);
    if (code != FZ_OK)
        return code;
    struct json_write w = api_begin(call, '[');
    for (size_t i = 0; i < n; i++)
        if (own == 0 || projects[i].id == own)
            put_project(&w, &projects[i]);
    return api_answer(call, 200, &w, ']', err);
}

/* clang-format off */
static const struct api_route rows[] = {
    {"GET", "/api/0", "sentry_info", .handle = answer_fixed, .user = info},
    {"GET", "/api/0/organizations", "sentry_organizations", .handle = answer_fixed, .user = organizations},
    {"GET", "/api/0/organizations/{org}/projects", "sentry_projects", .sees_all = "a token may be of all projects", .run = projects},
    {"GET", "/api/0/organizations/{org}/repos", "sentry_repositories", .handle = answer_fixed, .user = repositories},
    {"GET", "/api/0/organizations/{org}/chunk-upload", "sentry_chunk_options", .run = sentry_chunk_options},
    {"POST", "/api/0/organizations/{org}/chunk-upload", "sentry_chunks", .body = API_BODY_CHUNKS, .run = sentry_chunks},
    {"POST", "/api/0/projects/{org}/{project}/files/difs/assemble", "sentry_assemble", .body = API_BODY_JSON, .takes = API_TAKES_PASSING, .run = sentry_assemble}, /* its chunks were counted */
    {"GET", "/api/0/projects/{org}/{project}/files/dsyms/unknown", "sentry_dsyms_unknown", .run = sentry_dsyms_unknown},
    {"POST", "/api/0/projects/{org}/{project}/files/dsyms", "sentry_dsyms_post", .body = API_BODY_SYMBOLS, .run = sentry_dsyms_post},
    {"GET", "/api/0/projects/{org}/{project}/files/dsyms", "sentry_dsyms", .run = sentry_dsyms},
    {"POST", "/api/0/projects/{org}/{project}/files/dsyms/associate", "sentry_associate", .body = API_BODY_JSON, .handle = answer_fixed, .user = associated},
    {"POST", "/api/0/projects/{org}/{project}/reprocessing", "sentry_reprocessing", .body = API_BODY_JSON, .handle = answer_fixed, .user = reprocessing},
    {"POST", "/api/0/projects/{org}/{project}/releases", "sentry_release_create", .body = API_BODY_JSON, .run = sentry_release_create},
    {"GET", "/api/0/projects/{org}/{project}/releases", "sentry_releases", .run = sentry_releases},
    {"PUT", "/api/0/projects/{org}/{project}/releases/{version}", "sentry_release_change", .body = API_BODY_JSON, .run = sentry_release_change},
    {"GET", "/api/0/projects/{org}/{project}/releases/{version}", "sentry_release", .run = sentry_release},
    {"DELETE", "/api/0/projects/{org}/{project}/releases/{version}", "sentry_release_delete", .scope = STORE_SCOPE_ADMIN, .run = sentry_release_delete},
    {"POST", "/api/0/organizations/{org}/releases", "sentry_org_release_create", .body = API_BODY_JSON, .run = sentry_release_create},
    {"GET", "/api/0/organizations/{org}/releases", "sentry_org_releases", .run = sentry_releases},
    {"PUT", "/api/0/organizations/{org}/releases/{version}", "sentry_org_release_change", .body = API_BODY_JSON, .run = sentry_release_change},
    {"GET", "/api/0/organizations/{org}/releases/{version}", "sentry_org_release", .run = sentry_release},
    {"DELETE", "/api/0/organizations/{org}/releases/{version}", "sentry_org_release_delete", .scope = STORE_SCOPE_ADMIN, .run = sentry_release_delete},
    {"GET", "/api/0/organizations/{org}/releases/{version}/previous-with-commits", "sentry_release_previous", .handle = answer_fixed, .user = previous},
    {"POST", "/api/0/organizations/{org}/releases/{version}/deploys", "sentry_deploy", .body = API_BODY_JSON, .run = sentry_deploy},
    {"GET", "/api/0/organizations/{org}/releases/{version}/deploys", "sentry_deploys", .run = sentry_deploys},
};
/* clang-format on */
const struct api_routes clients_sentry_cli = {
    .rows = rows,
    .n = FZ_ARRAY_LEN(rows),
    .defaults =
        {
            .scope = STORE_SCOPE_UPLOAD,
            .flags = HTTP_ROUTE_LOOSE,
            .find_token = sentry_cli_token,
            .write_error = sentry_cli_error,
        },
};
