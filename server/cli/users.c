#include "server/cli/users.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/time.h"
#include "storage/store.h"

enum { ARENA_BYTES = 64 * 1024 * 1024 };

/* The link alone goes to standard output, so that a script can send it. */
static enum fz_code
print_link(struct store *store, const struct user_request *request, const struct store_link *link,
           const char *path, struct fz_error *err)
{
    char secret[STORE_SECRET_TEXT], until[FZ_TIME_TEXT];
    int64_t expires = 0;
    int len = (int)strlen(request->url);
    store_secret_make(secret);
    enum fz_code code = store_link_add(store, link, secret, &expires, err);
    if (code != FZ_OK)
        return code;
    while (len > 0 && request->url[len - 1] == '/')
        len--;
    fz_time_format(expires, until);
    printf("%.*s/%s#%s\n", len, request->url, path, secret);
    fprintf(stderr, "for %s, once, until %s\n", link->email, until);
    return FZ_OK;
}

static enum fz_code
find_project(struct store *store, const char *name, struct fz_arena *arena, int64_t *ret,
             struct fz_error *err)
{
    struct store_project project = {0};
    enum fz_code code = FZ_OK;
    /* 0 means all of them. */
    if (strcmp(name, "*") != 0)
        code = store_project_find(store, name, arena, &project, err);
    if (code == FZ_OK)
        *ret = project.id;
    return code;
}

enum fz_code
user_invite(struct store *store, const struct user_request *request, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(ARENA_BYTES);
    char email[STORE_EMAIL_MAX + 1];
    struct store_user user;
    struct store_link link = {.kind = STORE_LINK_INVITATION, .email = email};
    if (!store_role_parse(request->role, &link.role))
        return fz_fail(err, FZ_E_MALFORMED, "--role: '%.40s' is not viewer, member or admin",
                       request->role);
    enum fz_code code = store_email_fold(request->email, true, email, err);
    if (code == FZ_OK)
        code = find_project(store, request->project, &arena, &link.project_id, err);
    if (code != FZ_OK)
        return code;
    code = store_user_find(store, email, &arena, &user, err);
    if (code == FZ_E_NOT_FOUND)
        return print_link(store, request, &link, "invite", err);
    const struct store_user_role role = {.project_id = link.project_id, .role = link.role};
    const struct store_user_change change = {.roles = &role, .n_roles = 1};
    if (code == FZ_OK)
        code = store_user_change(store, user.id, &change, err);
    if (code == FZ_OK)
        fprintf(stderr, "%s is a user already, and now %s of %s\n", email, request->role,
                link.project_id ? request->project : "all projects");
    return code;
}

static enum fz_code
find_user(struct store *store, const char *address, struct fz_arena *arena, struct store_user *ret,
          struct fz_error *err)
{
    char email[STORE_EMAIL_MAX + 1];
    enum fz_code code = store_email_fold(address, false, email, err);
    if (code == FZ_OK)
        code = store_user_find(store, email, arena, ret, err);
    if (code == FZ_E_NOT_FOUND)
        return fz_fail(err, code, "there is no user %s; 'framezero user list' shows them", email);
    return code;
}

enum fz_code
user_reset(struct store *store, const struct user_request *request, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(ARENA_BYTES);
    struct store_user user = {0};
    enum fz_code code = find_user(store, request->email, &arena, &user, err);
    const struct store_link link = {
        .kind = STORE_LINK_RESET, .user_id = user.id, .email = user.email};
    return code == FZ_OK ? print_link(store, request, &link, "reset", err) : code;
}

enum fz_code
user_remove(struct store *store, const struct user_request *request, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(ARENA_BYTES);
    struct store_user user = {0};
    enum fz_code code = find_user(store, request->email, &arena, &user, err);
    return code == FZ_OK ? store_user_delete(store, user.id, err) : code;
}

/* "*:admin" or "shop:viewer,web:member", or "-". */
static enum fz_code
print_roles(struct store *store, int64_t user_id, struct fz_arena *arena, struct fz_error *err)
{
    struct store_user_role *roles = NULL;
    size_t n = 0;
    enum fz_code code = store_user_roles(store, user_id, arena, &roles, &n, err);
    for (size_t i = 0; code == FZ_OK && i < n; i++) {
        struct store_project project = {.name = "*"};
        if (roles[i].project_id)
            code = store_project_by_id(store, roles[i].project_id, arena, &project, err);
        if (code == FZ_OK)
            printf("%s%s:%s", i ? "," : "", project.name, store_role_name(roles[i].role));
    }
    if (code == FZ_OK)
        printf("%s\n", n ? "" : "-");
    return code;
}

enum fz_code
user_list(struct store *store, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(ARENA_BYTES);
    struct store_user *users = NULL;
    size_t n = 0;
    enum fz_code code = store_user_list(store, &arena, &users, &n, err);
    for (size_t i = 0; code == FZ_OK && i < n; i++) {
        char login[FZ_TIME_TEXT] = "never";
        if (users[i].login_ms)
            fz_time_format(users[i].login_ms, login);
        /* Columns are separated by tabs, as cut and awk expect them. */
        printf("%" PRId64 "\t%s\t%s\t%s\t%s\t", users[i].id, users[i].email, users[i].name,
               users[i].is_disabled ? "disabled" : "active", login);
        code = print_roles(store, users[i].id, &arena, err);
    }
    return code;
}
