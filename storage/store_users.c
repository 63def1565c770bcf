#include "storage/store_users.h"

#include <string.h>

#include "base/text.h"
#include "storage/store_user_rows.h"

#define SELECT_USERS \
    "SELECT id, email, name, password, is_disabled, created_ms, login_ms FROM users"

/* Whoever may take the last admin away, or make the first user, waits for others who do. */
static const int64_t USERS_LOCK = INT64_C(0x7573657273);

/* ---- texts ---- */

static const char *const role_names[STORE_ROLES] = {"none", "viewer", "member", "admin"};

const char *
store_role_name(enum store_role role)
{
    return role_names[role < STORE_ROLES ? role : STORE_ROLE_NONE];
}

bool
store_role_parse(const char *text, enum store_role *ret)
{
    for (unsigned i = STORE_ROLE_VIEWER; text && i < STORE_ROLES; i++) {
        if (strcmp(text, role_names[i]) == 0) {
            *ret = (enum store_role)i;
            return true;
        }
    }
    return false;
}

unsigned
store_role_scopes(enum store_role role)
{
    static const unsigned scopes[STORE_ROLES] = {
        [STORE_ROLE_VIEWER] = STORE_SCOPE_READ,
        [STORE_ROLE_MEMBER] =
            STORE_SCOPE_READ | STORE_SCOPE_VARIABLES | STORE_SCOPE_WRITE | STORE_SCOPE_UPLOAD,
        [STORE_ROLE_ADMIN] = STORE_SCOPE_ADMIN,
    };
    return role < STORE_ROLES ? scopes[role] : 0;
}

static bool
has_controls(const char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            return true;
    }
    return false;
}

enum fz_code
store_email_fold(const char *email, bool needs_at, char ret[STORE_EMAIL_MAX + 1],
                 struct fz_error *err)
{
    size_t len = email ? strlen(email) : 0;
    const char *at = len ? strrchr(email, '@') : NULL;
    if (len == 0 || len > STORE_EMAIL_MAX)
        return fz_fail(err, FZ_E_MALFORMED, "an address has 1 to %d bytes", STORE_EMAIL_MAX);
    if (has_controls(email) || strpbrk(email, " ,<>\"") || !fz_text_is_utf8(fz_span_cstr(email)))
        return fz_fail(err, FZ_E_MALFORMED,
                       "an address has no spaces, commas, quotes, angle brackets or control "
                       "characters");
    if (needs_at && (!at || at == email || !at[1]))
        return fz_fail(err, FZ_E_MALFORMED, "'%.60s' is not an e-mail address", email);
    /* Two spellings of one address must not become two users. */
    for (size_t i = 0; i <= len; i++)
        ret[i] = (char)(email[i] >= 'A' && email[i] <= 'Z' ? email[i] + ('a' - 'A') : email[i]);
    return FZ_OK;
}

enum fz_code
store_user_name_check(const char *name, struct fz_error *err)
{
    size_t len = name ? strlen(name) : 0;
    if (len == 0 || len > STORE_USER_NAME_MAX)
        return fz_fail(err, FZ_E_MALFORMED, "a name has 1 to %d bytes", STORE_USER_NAME_MAX);
    if (has_controls(name) || !fz_text_is_utf8(fz_span_cstr(name)))
        return fz_fail(err, FZ_E_MALFORMED, "a name has no control characters");
    return FZ_OK;
}

/* ---- finding ---- */

static enum fz_code
read_users(struct store *store, const char *text, const struct sql_value *arg,
           struct fz_arena *arena, struct store_user **ret, size_t *ret_n, struct fz_error *err)
{
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    struct sql_list list = {.arena = arena, .item = sizeof(struct store_user)};
    enum fz_code code = sql_query(store->sql, text, arg, arg ? 1 : 0, &rows, err);
    for (struct store_user *one; (one = sql_list_next(&rows, &list, &code, err));)
        *one = (struct store_user){.id = sql_col_int(&rows, 0),
                                   .email = sql_col_text(&rows, 1, arena),
                                   .name = sql_col_text(&rows, 2, arena),
                                   .password = sql_col_some_text(&rows, 3, arena),
                                   .is_disabled = sql_col_int(&rows, 4) != 0,
                                   .created_ms = sql_col_int(&rows, 5),
                                   .login_ms = sql_col_int(&rows, 6)};
    return sql_list_done(&list, code, ret, ret_n);
}

static enum fz_code
read_user(struct store *store, const char *text, const struct sql_value *arg,
          struct fz_arena *arena, struct store_user *ret, struct fz_error *err)
{
    struct store_user *found = NULL;
    size_t n = 0;
    enum fz_code code = read_users(store, text, arg, arena, &found, &n, err);
    if (code == FZ_OK && n == 0)
        return fz_fail(err, FZ_E_NOT_FOUND, "there is no such user");
    if (code == FZ_OK)
        *ret = found[0];
    return code;
}

enum fz_code
store_user_find(struct store *store, const char *email, struct fz_arena *arena,
                struct store_user *ret, struct fz_error *err)
{
    const struct sql_value arg = sql_text(email);
    return read_user(store, SELECT_USERS " WHERE email = $1", &arg, arena, ret, err);
}

enum fz_code
store_user_by_id(struct store *store, int64_t id, struct fz_arena *arena, struct store_user *ret,
                 struct fz_error *err)
{
    const struct sql_value arg = sql_int(id);
    return read_user(store, SELECT_USERS " WHERE id = $1", &arg, arena, ret, err);
}

enum fz_code
store_user_list(struct store *store, struct fz_arena *arena, struct store_user **ret, size_t *ret_n,
                struct fz_error *err)
{
    return read_users(store, SELECT_USERS " ORDER BY id", NULL, arena, ret, ret_n, err);
}

enum fz_code
store_user_roles(struct store *store, int64_t user_id, struct fz_arena *arena,
                 struct store_user_role **ret, size_t *ret_n, struct fz_error *err)
{
    const struct sql_value arg = sql_int(user_id);
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    struct sql_list list = {.arena = arena, .item = sizeof(struct store_user_role)};
    enum fz_code code =
        user_id ? sql_query(store->sql,
                            "SELECT user_id, project_id, role FROM user_roles WHERE user_id = $1 "
                            "ORDER BY user_id, project_id",
                            &arg, 1, &rows, err)
                : sql_query(store->sql,
                            "SELECT user_id, project_id, role FROM user_roles "
                            "ORDER BY user_id, project_id",
                            NULL, 0, &rows, err);
    for (struct store_user_role *one; (one = sql_list_next(&rows, &list, &code, err));)
        *one = (struct store_user_role){sql_col_int(&rows, 0), sql_col_int(&rows, 1),
                                        (enum store_role)sql_col_int(&rows, 2)};
    return sql_list_done(&list, code, ret, ret_n);
}

static enum fz_code
users_exist(struct sql *sql, bool *ret, struct fz_error *err)
{
    return sql_number(sql, "SELECT id FROM users LIMIT 1", NULL, 0, NULL, ret, err);
}

enum fz_code
store_users_exist(struct store *store, bool *ret, struct fz_error *err)
{
    return users_exist(store->sql, ret, err);
}

/* ---- changing ---- */

static enum fz_code
set_role(struct sql *tx, int64_t user_id, const struct store_user_role *role, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(user_id), sql_int(role->project_id),
                                     sql_int(role->role)};
    if (role->role == STORE_ROLE_NONE)
        return sql_exec(tx, "DELETE FROM user_roles WHERE user_id = $1 AND project_id = $2", args,
                        2, NULL, err);
    return sql_exec(tx,
                    "INSERT INTO user_roles (user_id, project_id, role) VALUES ($1, $2, $3) "
                    "ON CONFLICT (user_id, project_id) DO UPDATE SET role = excluded.role",
                    args, FZ_ARRAY_LEN(args), NULL, err);
}

enum fz_code
store_user_insert(struct sql *tx, const struct store_user *user, const struct store_user_role *role,
                  int64_t *ret_id, struct fz_error *err)
{
    int64_t now = 0, n = 0, id = 0;
    bool is_new = false;
    enum fz_code code = sql_now(tx, &now, err);
    if (code == FZ_OK)
        code = sql_number(tx, "SELECT count(*) FROM users", NULL, 0, &n, NULL, err);
    if (code == FZ_OK && n >= STORE_USERS_MAX)
        return fz_fail(err, FZ_E_LIMIT, "there are %d users, which is the most", STORE_USERS_MAX);
    const struct sql_value args[] = {sql_text(user->email), sql_text(user->name),
                                     sql_text(user->password), sql_int(now)};
    if (code == FZ_OK)
        code = sql_number(tx,
                          "INSERT INTO users (email, name, password, created_ms) "
                          "VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING RETURNING id",
                          args, FZ_ARRAY_LEN(args), &id, &is_new, err);
    if (code == FZ_OK && !is_new)
        return fz_fail(err, FZ_E_CONFLICT, "there is a user with the address %s already",
                       user->email);
    if (code == FZ_OK && role && role->role != STORE_ROLE_NONE)
        code = set_role(tx, id, role, err);
    if (code == FZ_OK)
        *ret_id = id;
    return code;
}

enum fz_code
store_user_add(struct store *store, const struct store_user *user,
               const struct store_user_role *role, int64_t *ret_id, struct fz_error *err)
{
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    int64_t id = 0;
    enum fz_code code = sql_begin(store->sql, &tx, err);
    if (code == FZ_OK)
        code = store_user_insert(tx, user, role, &id, err);
    if (code == FZ_OK)
        code = sql_commit(&tx, err);
    if (code == FZ_OK)
        *ret_id = id;
    return code;
}

/* Is there a user who may log in and is admin of all projects? */
static enum fz_code
has_admin(struct sql *tx, bool *ret, struct fz_error *err)
{
    return sql_number(tx,
                      "SELECT u.id FROM users u JOIN user_roles r ON r.user_id = u.id "
                      "WHERE u.is_disabled = 0 AND r.project_id = 0 AND r.role = 3 LIMIT 1",
                      NULL, 0, NULL, ret, err);
}

/* Begin a transaction in which no other one changes users. */
static enum fz_code
begin_change(struct store *store, struct sql **ret_tx, bool *ret_had_admin, struct fz_error *err)
{
    enum fz_code code = sql_begin(store->sql, ret_tx, err);
    if (code == FZ_OK)
        code = sql_lock(*ret_tx, USERS_LOCK, true, err);
    return code == FZ_OK ? has_admin(*ret_tx, ret_had_admin, err) : code;
}

static enum fz_code
end_change(struct sql **tx, bool had_admin, uint64_t n, struct fz_error *err)
{
    bool has = false;
    if (n == 0)
        return fz_fail(err, FZ_E_NOT_FOUND, "there is no such user");
    enum fz_code code = has_admin(*tx, &has, err);
    if (code == FZ_OK && had_admin && !has)
        return fz_fail(err, FZ_E_CONFLICT,
                       "this is the last admin of all projects: make another one first");
    return code == FZ_OK ? sql_commit(tx, err) : code;
}

enum fz_code
store_user_change(struct store *store, int64_t id, const struct store_user_change *change,
                  struct fz_error *err)
{
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    const struct sql_value args[] = {sql_int(id), sql_text(change->name),
                                     sql_int(change->disabled ? *change->disabled : -1)};
    bool had_admin = false;
    uint64_t n = 0;
    enum fz_code code = begin_change(store, &tx, &had_admin, err);
    if (code == FZ_OK)
        code = sql_exec(tx,
                        "UPDATE users SET name = COALESCE($2, name), is_disabled = "
                        "CASE WHEN $3 < 0 THEN is_disabled ELSE $3 END WHERE id = $1",
                        args, FZ_ARRAY_LEN(args), &n, err);
    /* Only then: the role of no user would be a failure of the database. */
    for (size_t i = 0; code == FZ_OK && n && i < change->n_roles; i++)
        code = set_role(tx, id, &change->roles[i], err);
    if (code == FZ_OK && change->disabled && *change->disabled)
        code = sql_exec(tx, "DELETE FROM web_sessions WHERE user_id = $1", args, 1, NULL, err);
    return code == FZ_OK ? end_change(&tx, had_admin, n, err) : code;
}

enum fz_code
store_user_password(struct sql *tx, int64_t id, const char *password, int64_t except_session,
                    struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(id), sql_text(password)};
    const struct sql_value others[] = {sql_int(id), sql_int(except_session)};
    uint64_t n = 0;
    enum fz_code code =
        sql_exec(tx, "UPDATE users SET password = $2 WHERE id = $1", args, 2, &n, err);
    if (code == FZ_OK && n == 0)
        return fz_fail(err, FZ_E_NOT_FOUND, "there is no such user");
    /* Whoever knew the old one is to be out. */
    if (code == FZ_OK)
        code = sql_exec(tx, "DELETE FROM web_sessions WHERE user_id = $1 AND id <> $2", others, 2,
                        NULL, err);
    if (code == FZ_OK)
        code = sql_exec(tx, "DELETE FROM user_links WHERE user_id = $1", args, 1, NULL, err);
    return code;
}

enum fz_code
store_user_set_password(struct store *store, int64_t id, const char *password,
                        int64_t except_session, struct fz_error *err)
{
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(store->sql, &tx, err);
    if (code == FZ_OK)
        code = store_user_password(tx, id, password, except_session, err);
    return code == FZ_OK ? sql_commit(&tx, err) : code;
}

enum fz_code
store_user_delete(struct store *store, int64_t id, struct fz_error *err)
{
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    const struct sql_value args[] = {sql_int(id)};
    bool had_admin = false;
    uint64_t n = 0;
    enum fz_code code = begin_change(store, &tx, &had_admin, err);
    if (code == FZ_OK)
        code = sql_exec(tx, "DELETE FROM users WHERE id = $1", args, 1, &n, err);
    return code == FZ_OK ? end_change(&tx, had_admin, n, err) : code;
}

/* The first one, under a lock: a second setup at the same time finds it. */
enum fz_code
store_user_insert_first(struct sql *tx, const struct store_user *user, int64_t *ret_id,
                        struct fz_error *err)
{
    static const struct store_user_role admin = {.role = STORE_ROLE_ADMIN};
    bool exist = false;
    enum fz_code code = sql_lock(tx, USERS_LOCK, true, err);
    if (code == FZ_OK)
        code = users_exist(tx, &exist, err);
    if (code == FZ_OK && exist)
        return fz_fail(err, FZ_E_CONFLICT, "there is a user already");
    return code == FZ_OK ? store_user_insert(tx, user, &admin, ret_id, err) : code;
}
