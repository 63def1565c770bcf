/* Users as admins see them: list, invite, change, delete, and links for a new password. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/json/write.h"
#include "base/text.h"
#include "server/web/login.h"
#include "storage/store.h"

enum { ROLES_MAX = 1000 };

/* In place of a project's name: all of them. */
static const char all_projects[] = "*";

/* ---- writing -------------------------------------------------------------------------------- */

/* Who asks decides what is shown: an admin of one project sees what concerns that one. */
struct view {
    int64_t project_id; /* 0 = everything */
    const struct store_project *projects;
    size_t n_projects;
    const struct store_user_role *roles;
    size_t n_roles;
    const struct store_user_identity *identities; /* only for who sees everything */
    size_t n_identities;
};

static enum fz_code
view_read(struct api_call *call, int64_t user_id, struct view *ret, struct fz_error *err)
{
    struct store_project *projects = NULL;
    struct store_user_role *roles = NULL;
    struct store_user_identity *identities = NULL;
    *ret = (struct view){.project_id =
                             api_is_admin_of_all(call->api, call->request) ? 0 : call->project_id};
    enum fz_code code =
        store_project_list(call->store, call->arena, &projects, &ret->n_projects, err);
    if (code == FZ_OK)
        code = store_user_roles(call->store, user_id, call->arena, &roles, &ret->n_roles, err);
    if (code == FZ_OK && ret->project_id == 0)
        code = store_identity_list(call->store, user_id, call->arena, &identities,
                                   &ret->n_identities, err);
    ret->projects = projects;
    ret->roles = roles;
    ret->identities = identities;
    return code;
}

static const char *
project_name(const struct view *view, int64_t id)
{
    for (size_t i = 0; i < view->n_projects; i++) {
        if (view->projects[i].id == id)
            return view->projects[i].name;
    }
    return id == 0 ? all_projects : NULL;
}

static bool
is_shown(const struct view *view, const struct store_user_role *role, int64_t user_id)
{
    return role->user_id == user_id &&
           (view->project_id == 0 || role->project_id == 0 || role->project_id == view->project_id);
}

static bool
has_shown_role(const struct view *view, int64_t user_id)
{
    for (size_t i = 0; i < view->n_roles; i++) {
        if (is_shown(view, &view->roles[i], user_id))
            return true;
    }
    return view->project_id == 0;
}

static void
write_user(const struct view *view, const struct store_user *user, struct json_write *w)
{
    json_write_i64(w, "id", user->id);
    json_write_text(w, "email", user->email);
    json_write_text(w, "name", user->name);
    json_write_bool(w, "disabled", user->is_disabled);
    json_write_time(w, "created", user->created_ms);
    json_write_time(w, "last_login", user->login_ms);
    json_write_open(w, "roles", '[');
    for (size_t i = 0; i < view->n_roles; i++) {
        const struct store_user_role *role = &view->roles[i];
        if (!is_shown(view, role, user->id))
            continue;
        json_write_open(w, NULL, '{');
        json_write_text(w, "project", project_name(view, role->project_id));
        json_write_text(w, "role", store_role_name(role->role));
        json_write_close(w, '}');
    }
    json_write_close(w, ']');
    if (view->project_id)
        return;
    json_write_open(w, "identities", '[');
    for (size_t i = 0; i < view->n_identities; i++) {
        const struct store_user_identity *identity = &view->identities[i];
        if (identity->user_id != user->id)
            continue;
        json_write_open(w, NULL, '{');
        json_write_text(w, "issuer", identity->issuer);
        json_write_text(w, "subject", identity->subject);
        json_write_time(w, "since", identity->created_ms);
        json_write_close(w, '}');
    }
    json_write_close(w, ']');
}

static enum fz_code
answer_user(struct api_call *call, int64_t id, struct fz_error *err)
{
    struct store_user user;
    struct view view;
    enum fz_code code = store_user_by_id(call->store, id, call->arena, &user, err);
    if (code == FZ_OK)
        code = view_read(call, id, &view, err);
    if (code != FZ_OK)
        return code;
    struct json_write w = api_begin(call, '{');
    write_user(&view, &user, &w);
    return api_answer(call, 200, &w, '}', err);
}

static enum fz_code
user_list(struct api_call *call, struct fz_error *err)
{
    struct store_user *users = NULL;
    struct view view;
    size_t n = 0;
    enum fz_code code = store_user_list(call->store, call->arena, &users, &n, err);
    if (code == FZ_OK)
        code = view_read(call, 0, &view, err);
    if (code != FZ_OK)
        return code;
    struct json_write w = api_begin(call, '{');
    json_write_open(&w, "users", '[');
    for (size_t i = 0; i < n; i++) {
        if (!has_shown_role(&view, users[i].id))
            continue;
        json_write_open(&w, NULL, '{');
        write_user(&view, &users[i], &w);
        json_write_close(&w, '}');
    }
    json_write_close(&w, ']');
    return api_answer(call, 200, &w, '}', err);
}

/* ---- links ---------------------------------------------------------------------------------- */

/* {"url","expires"}: the secret is in the fragment, which browsers do not send. */
static enum fz_code
answer_link(struct api_call *call, const struct store_link *link, const char *path,
            struct fz_error *err)
{
    const char *public_url = api_login_of(call->api)->public_url;
    const char *host = http_header(call->request, "Host");
    char secret[STORE_SECRET_TEXT], url[640];
    int64_t expires = 0;
    int len = (int)strlen(public_url);
    store_secret_make(secret);
    enum fz_code code = store_link_add(call->store, link, secret, &expires, err);
    if (code != FZ_OK)
        return code;
    while (len > 0 && public_url[len - 1] == '/')
        len--;
    /* Without a configured address, the one under which the admin has reached it. */
    if (len)
        snprintf(url, sizeof(url), "%.*s/%s#%s", len, public_url, path, secret);
    else
        snprintf(url, sizeof(url), "%s://%.255s/%s#%s",
                 api_is_https(call->api, call->request) ? "https" : "http", host ? host : "", path,
                 secret);
    struct json_write w = api_begin(call, '{');
    json_write_text(&w, "url", url);
    json_write_time(&w, "expires", expires);
    return api_answer(call, 201, &w, '}', err);
}

/* The project of this name, "*" for all, or that of the call; and may the request give roles
 * there? */
static enum fz_code
find_project(struct api_call *call, const json_t *value, int64_t *ret, struct fz_error *err)
{
    const char *name = json_string_value(value);
    int64_t id = call->project_id;
    enum fz_code code = FZ_OK;
    if (value && !name) {
        web_blame(call, "project");
        return fz_fail(err, FZ_E_MALFORMED, "project: must be the name of a project, or \"*\"");
    }
    if (name && strcmp(name, all_projects) == 0) {
        id = 0;
        code = api_need_admin_of_all(call, err);
    } else if (name) {
        code = api_find_project(call, name, &id, err);
    }
    if (code == FZ_OK && id && !api_is_admin_of(call->api, call->request, id))
        code = fz_fail(err, FZ_E_DENIED, "only an admin of the project may do this");
    if (code == FZ_OK)
        *ret = id;
    return code;
}

static enum fz_code
read_role(struct api_call *call, const json_t *value, bool may_be_none, enum store_role *ret,
          struct fz_error *err)
{
    const char *text = json_string_value(value);
    *ret = STORE_ROLE_NONE;
    if (store_role_parse(text, ret) || (may_be_none && text && strcmp(text, "none") == 0))
        return FZ_OK;
    web_blame(call, "role");
    return fz_fail(err, FZ_E_MALFORMED, "role: must be \"viewer\", \"member\"%s",
                   may_be_none ? ", \"admin\" or \"none\"" : " or \"admin\"");
}

static enum fz_code
invitation_post(struct api_call *call, struct fz_error *err)
{
    char email[STORE_EMAIL_MAX + 1];
    const char *text = NULL;
    struct store_link link = {.kind = STORE_LINK_INVITATION, .email = email};
    struct store_user user;
    json_auto_t *root = NULL;
    enum fz_code code = web_read(call, &root, err);
    if (code == FZ_OK)
        code = web_read_text(call, root, "email", STORE_EMAIL_MAX, &text, err);
    if (code == FZ_OK && (code = store_email_fold(text, true, email, err)) != FZ_OK)
        web_blame(call, "email");
    if (code == FZ_OK)
        code = read_role(call, json_object_get(root, "role"), false, &link.role, err);
    if (code == FZ_OK)
        code = find_project(call, json_object_get(root, "project"), &link.project_id, err);
    if (code != FZ_OK)
        return code;
    code = store_user_find(call->store, email, call->arena, &user, err);
    if (code == FZ_E_NOT_FOUND)
        return answer_link(call, &link, "invite", err);
    /* Somebody who has an account needs no link. */
    const struct store_user_role role = {.project_id = link.project_id, .role = link.role};
    const struct store_user_change change = {.roles = &role, .n_roles = 1};
    if (code == FZ_OK)
        code = store_user_change(call->store, user.id, &change, err);
    if (code != FZ_OK)
        return code;
    api_senders_changed(call->api);
    return answer_user(call, user.id, err);
}

/* ---- one user ------------------------------------------------------------------------------- */

static enum fz_code
find_id(struct api_call *call, int64_t *ret, struct fz_error *err)
{
    const char *text = http_param(call->request, "id");
    /* As the list has it: whoever sends "007" means something else. */
    if (text && *text != '0' && fz_text_i64(fz_span_cstr(text), ret) && *ret > 0)
        return FZ_OK;
    return fz_fail(err, FZ_E_NOT_FOUND, "there is no such user");
}

static enum fz_code
user_reset(struct api_call *call, struct fz_error *err)
{
    struct store_link link = {.kind = STORE_LINK_RESET};
    struct store_user user;
    enum fz_code code = api_need_admin_of_all(call, err);
    if (code == FZ_OK)
        code = find_id(call, &link.user_id, err);
    if (code == FZ_OK)
        code = store_user_by_id(call->store, link.user_id, call->arena, &user, err);
    return code == FZ_OK ? answer_link(call, &link, "reset", err) : code;
}

static enum fz_code
user_delete(struct api_call *call, struct fz_error *err)
{
    int64_t id = 0;
    enum fz_code code = api_need_admin_of_all(call, err);
    if (code == FZ_OK)
        code = find_id(call, &id, err);
    if (code == FZ_OK)
        code = store_user_delete(call->store, id, err);
    if (code != FZ_OK)
        return code;
    api_senders_changed(call->api);
    http_respond(call->request, 204, NULL, fz_span_make(NULL, 0));
    return FZ_OK;
}

/* The account at the provider is not the user's any more: it was given to somebody else, or lost. */
static enum fz_code
user_unlink(struct api_call *call, struct fz_error *err)
{
    int64_t id = 0;
    enum fz_code code = api_need_admin_of_all(call, err);
    if (code == FZ_OK)
        code = find_id(call, &id, err);
    if (code == FZ_OK)
        code = store_identity_unlink(call->store, id, err);
    if (code != FZ_OK)
        return code;
    api_senders_changed(call->api);
    http_respond(call->request, 204, NULL, fz_span_make(NULL, 0));
    return FZ_OK;
}

static enum fz_code
read_roles(struct api_call *call, const json_t *list, struct store_user_change *change,
           struct fz_error *err)
{
    size_t n = json_array_size(list);
    if (!list)
        return FZ_OK;
    if (!json_is_array(list) || n > ROLES_MAX) {
        web_blame(call, "roles");
        return fz_fail(err, FZ_E_MALFORMED,
                       "roles: must be a list of at most %d {\"project\", \"role\"}", ROLES_MAX);
    }
    struct store_user_role *roles = fz_arena_array(call->arena, n, sizeof(*roles));
    if (!roles)
        return fz_arena_fail(call->arena, err);
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < n; i++) {
        const json_t *one = json_array_get(list, i);
        code = read_role(call, json_object_get(one, "role"), true, &roles[i].role, err);
        if (code == FZ_OK)
            code = find_project(call, json_object_get(one, "project"), &roles[i].project_id, err);
    }
    change->roles = roles;
    change->n_roles = n;
    return code;
}

static enum fz_code
read_change(struct api_call *call, const json_t *root, struct store_user_change *ret,
            bool *disabled, struct fz_error *err)
{
    const json_t *name = json_object_get(root, "name"), *off = json_object_get(root, "disabled");
    enum fz_code code = FZ_OK;
    /* Whoever is admin of one project gives roles in it, and nothing else. */
    if (name || off)
        code = api_need_admin_of_all(call, err);
    if (code == FZ_OK && name)
        code = web_read_text(call, root, "name", STORE_USER_NAME_MAX, &ret->name, err);
    if (code == FZ_OK && name && (code = store_user_name_check(ret->name, err)) != FZ_OK)
        web_blame(call, "name");
    if (code == FZ_OK && off && !json_is_boolean(off)) {
        web_blame(call, "disabled");
        code = fz_fail(err, FZ_E_MALFORMED, "disabled: must be true or false");
    }
    *disabled = json_is_true(off);
    ret->disabled = off ? disabled : NULL;
    return code == FZ_OK ? read_roles(call, json_object_get(root, "roles"), ret, err) : code;
}

/* Users of others' projects look like ones that do not exist. */
static enum fz_code
check_shown(struct api_call *call, int64_t id, struct fz_error *err)
{
    struct view view;
    enum fz_code code = view_read(call, id, &view, err);
    if (code == FZ_OK && !has_shown_role(&view, id))
        return fz_fail(err, FZ_E_NOT_FOUND, "there is no such user");
    return code;
}

static enum fz_code
user_patch(struct api_call *call, struct fz_error *err)
{
    struct store_user_change change = {0};
    json_auto_t *root = NULL;
    bool disabled = false;
    int64_t id = 0;
    enum fz_code code = find_id(call, &id, err);
    if (code == FZ_OK)
        code = check_shown(call, id, err);
    if (code == FZ_OK)
        code = web_read(call, &root, err);
    if (code == FZ_OK)
        code = read_change(call, root, &change, &disabled, err);
    if (code == FZ_OK && !change.name && !change.disabled && !change.n_roles)
        code = fz_fail(err, FZ_E_MALFORMED, "nothing to change: name, disabled or roles");
    if (code == FZ_OK)
        code = store_user_change(call->store, id, &change, err);
    if (code != FZ_OK)
        return code;
    api_senders_changed(call->api);
    return answer_user(call, id, err);
}

/* clang-format off */
static const struct api_route rows[] = {
    {"GET", "/api/v1/users", "user_list", .scope = STORE_SCOPE_ADMIN, .run = user_list, .query = ""},
    {"PATCH", "/api/v1/users/{id}", "user_patch", .scope = STORE_SCOPE_ADMIN, .body = API_BODY_JSON, .run = user_patch, .query = ""},
    {"DELETE", "/api/v1/users/{id}", "user_delete", .scope = STORE_SCOPE_ADMIN, .run = user_delete, .query = ""},
    {"POST", "/api/v1/users/{id}/reset", "user_reset", .scope = STORE_SCOPE_ADMIN, .run = user_reset, .query = ""},
    {"DELETE", "/api/v1/users/{id}/identities", "user_unlink", .scope = STORE_SCOPE_ADMIN, .run = user_unlink, .query = ""},
    {"POST", "/api/v1/invitations", "invitation_post", .scope = STORE_SCOPE_ADMIN, .body = API_BODY_JSON, .run = invitation_post, .query = ""},
};
/* clang-format on */

const struct api_routes web_users = {rows, FZ_ARRAY_LEN(rows), {.sees_all = web_sees_all}};
