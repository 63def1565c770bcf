/* Projects, and the tokens that may use them. */
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "base/json/scan.h"
#include "base/json/write.h"
#include "base/text.h"
#include "server/api/api_answer.h"
#include "server/api/api_handlers.h"
#include "server/api/api_object.h"
#include "server/api/api_session.h"

enum { LABEL_MAX = 200, SCOPES_MAX = 16 };

/* In place of a project's name: all of them. */
static const char all_projects[] = "*";

static const struct {
    const char *name;
    unsigned scope;
} scopes[] = {
    {"ingest", STORE_SCOPE_INGEST}, {"upload", STORE_SCOPE_UPLOAD},
    {"read", STORE_SCOPE_READ},     {"variables", STORE_SCOPE_VARIABLES},
    {"write", STORE_SCOPE_WRITE},   {"admin", STORE_SCOPE_ADMIN},
};

static enum fz_code
read_body(struct api_call *call, json_t **ret, struct fz_error *err)
{
    const struct limits *limits = call->api->config.limits;
    struct json_scan_limits scan = {.depth = limits->json_depth,
                                    .output_bytes = 2 * limits->json_bytes};
    json_auto_t *root = NULL;
    enum fz_code code = json_scan_load(http_body(call->request), &scan, NULL, &root, err);
    if (code == FZ_OK && !json_is_object(root))
        return fz_fail(err, FZ_E_MALFORMED, "the body must be an object");
    if (code == FZ_OK)
        *ret = fz_take(&root);
    return code;
}

static enum fz_code
wrong(struct api_call *call, const char *path, const char *want, struct fz_error *err)
{
    call->detail = api_path_detail(call, path, -1);
    return fz_fail(err, FZ_E_MALFORMED, "%s: must be %s", path, want);
}

/* ---- projects ------------------------------------------------------------------------------- */

static void
write_project(const struct store_project *project, struct json_write *w)
{
    json_write_i64(w, "id", project->id);
    json_write_text(w, "name", project->name);
    json_write_time(w, "created", project->created_ms);
}

enum fz_code
api_access_projects(struct api_call *call, struct fz_error *err)
{
    struct store_project *projects = NULL;
    size_t n = 0;
    enum fz_code code = store_project_list(call->store, call->arena, &projects, &n, err);
    if (code != FZ_OK)
        return code;
    struct json_write w = api_begin(call, '{');
    json_write_open(&w, "projects", '[');
    for (size_t i = 0; i < n; i++) {
        /* Those of others are not there. */
        if (!api_tokens_scopes(call->api->tokens, http_token_id(call->request), projects[i].id))
            continue;
        json_write_open(&w, NULL, '{');
        write_project(&projects[i], &w);
        json_write_close(&w, '}');
    }
    json_write_close(&w, ']');
    return api_answer(call, 200, &w, '}', err);
}

enum fz_code
api_access_project_add(struct api_call *call, struct fz_error *err)
{
    struct store_project project;
    json_auto_t *root = NULL;
    int64_t id = 0;
    enum fz_code code = api_need_admin_of_all(call, err);
    if (code == FZ_OK)
        code = read_body(call, &root, err);
    if (code != FZ_OK)
        return code;
    const char *name = json_string_value(json_object_get(root, "name"));
    if (!name)
        return wrong(call, "name", "a text", err);
    code = store_project_create(call->store, name, &id, err);
    if (code == FZ_E_MALFORMED)
        call->detail = api_path_detail(call, "name", -1);
    if (code == FZ_OK)
        code = store_project_by_id(call->store, id, call->arena, &project, err);
    if (code != FZ_OK)
        return code;
    api_senders_changed(call->api);
    struct json_write w = api_begin(call, '{');
    write_project(&project, &w);
    return api_answer(call, 201, &w, '}', err);
}

/* ---- tokens --------------------------------------------------------------------------------- */

/* Tokens of the call's project, and for admins of all projects those of all. */
static bool
is_shown(struct api_call *call, const struct store_token *token)
{
    return token->project_id == call->project_id ||
           (token->project_id == 0 && api_is_admin_of_all(call->api, call->request));
}

static enum fz_code
write_token(struct api_call *call, const struct store_token *token, struct json_write *w,
            struct fz_error *err)
{
    struct store_project project = {.name = all_projects};
    enum fz_code code = FZ_OK;
    if (token->project_id)
        code = store_project_by_id(call->store, token->project_id, call->arena, &project, err);
    json_write_i64(w, "id", token->id);
    json_write_text(w, "hint", token->hint);
    json_write_text(w, "label", token->label ? token->label : "");
    json_write_text(w, "project", project.name);
    json_write_open(w, "scopes", '[');
    for (size_t i = 0; i < FZ_ARRAY_LEN(scopes); i++) {
        if (token->scopes & scopes[i].scope)
            json_write_text(w, NULL, scopes[i].name);
    }
    json_write_close(w, ']');
    json_write_time(w, "created", token->created_ms);
    json_write_time(w, "revoked", token->revoked_ms);
    return code;
}

enum fz_code
api_access_tokens(struct api_call *call, struct fz_error *err)
{
    struct store_token *tokens = NULL;
    size_t n = 0;
    enum fz_code code = store_token_list(call->store, call->arena, &tokens, &n, err);
    if (code != FZ_OK)
        return code;
    struct json_write w = api_begin(call, '{');
    json_write_open(&w, "tokens", '[');
    for (size_t i = 0; code == FZ_OK && i < n; i++) {
        if (!is_shown(call, &tokens[i]))
            continue;
        json_write_open(&w, NULL, '{');
        code = write_token(call, &tokens[i], &w, err);
        json_write_close(&w, '}');
    }
    json_write_close(&w, ']');
    return code == FZ_OK ? api_answer(call, 200, &w, '}', err) : code;
}

static enum fz_code
read_scopes(struct api_call *call, const json_t *list, unsigned *ret, struct fz_error *err)
{
    static const char want[] = "a list of ingest, upload, read, variables, write, admin";
    size_t n = json_array_size(list);
    *ret = 0;
    if (n == 0 || n > SCOPES_MAX)
        return wrong(call, "scopes", want, err);
    for (size_t i = 0; i < n; i++) {
        const char *name = json_string_value(json_array_get(list, i));
        size_t k = 0;
        while (name && k < FZ_ARRAY_LEN(scopes) && strcmp(scopes[k].name, name) != 0)
            k++;
        if (!name || k == FZ_ARRAY_LEN(scopes))
            return wrong(call, "scopes", want, err);
        *ret |= scopes[k].scope;
    }
    return FZ_OK;
}

static enum fz_code
read_token(struct api_call *call, const json_t *root, struct store_token *ret, struct fz_error *err)
{
    const json_t *label = json_object_get(root, "label"), *all = json_object_get(root, "project");
    const char *text = json_string_value(label), *project = json_string_value(all);
    ret->project_id = call->project_id;
    ret->label = text ? text : "";
    if ((label && !text) || strlen(ret->label) > LABEL_MAX)
        return wrong(call, "label", "a text of at most 200 bytes", err);
    if (all && !project)
        return wrong(call, "project", "the name of a project, or \"*\"", err);
    enum fz_code code = read_scopes(call, json_object_get(root, "scopes"), &ret->scopes, err);
    if (code != FZ_OK || !project)
        return code;
    if (strcmp(project, all_projects) != 0)
        code = api_find_project(call, project, &ret->project_id, err);
    else
        ret->project_id = 0;
    /* No one gives more than they have: in another project, or in all. */
    if (code == FZ_OK && !api_is_admin_of(call->api, call->request, ret->project_id))
        return fz_fail(err, FZ_E_DENIED, "only an admin of %s may do this",
                       ret->project_id ? "the project" : "all projects");
    return code;
}

enum fz_code
api_access_token_add(struct api_call *call, struct fz_error *err)
{
    char text[STORE_TOKEN_TEXT];
    struct store_token token = {0}, *list = NULL;
    json_auto_t *root = NULL;
    size_t n = 0;
    enum fz_code code = read_body(call, &root, err);
    if (code == FZ_OK)
        code = read_token(call, root, &token, err);
    if (code == FZ_OK)
        code = store_token_create(call->store, token.project_id, token.scopes, token.label, text,
                                  &token.id, err);
    if (code == FZ_OK)
        code = store_token_list(call->store, call->arena, &list, &n, err);
    if (code != FZ_OK)
        return code;
    api_senders_changed(call->api);
    for (size_t i = 0; i < n; i++) {
        if (list[i].id == token.id)
            token = list[i];
    }
    http_add_header(call->request, "Cache-Control", "no-store");
    struct json_write w = api_begin(call, '{');
    json_write_text(&w, "token", text);
    code = write_token(call, &token, &w, err);
    return code == FZ_OK ? api_answer(call, 201, &w, '}', err) : code;
}

enum fz_code
api_access_token_revoke(struct api_call *call, struct fz_error *err)
{
    const char *param = http_param(call->request, "id");
    struct store_token *list = NULL;
    int64_t id = 0;
    size_t n = 0;
    bool is_found = false;
    enum fz_code code = store_token_list(call->store, call->arena, &list, &n, err);
    char same[24] = "";
    /* As the list has it, and in no other form: whoever sends "007" means something else. */
    if (code == FZ_OK && fz_text_i64(fz_span_cstr(param), &id))
        snprintf(same, sizeof(same), "%lld", (long long)id);
    if (code == FZ_OK && strcmp(same, param) != 0)
        id = 0;
    for (size_t i = 0; code == FZ_OK && i < n; i++)
        is_found = is_found || (list[i].id == id && is_shown(call, &list[i]));
    if (code == FZ_OK && !is_found)
        return fz_fail(err, FZ_E_NOT_FOUND, "there is no token %.40s", param);
    if (code == FZ_OK)
        code = store_token_revoke(call->store, id, err);
    if (code != FZ_OK)
        return code;
    api_senders_changed(call->api);
    http_respond(call->request, 204, NULL, fz_span_make(NULL, 0));
    return FZ_OK;
}
