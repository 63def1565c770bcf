/* Who users are at an OpenID provider: issuer and subject, which never change, unlike addresses. */
#include "storage/store_user_rows.h"
#include "storage/store_web_sessions.h"

enum fz_code
store_identity_find(struct store *store, const struct store_identity *identity,
                    struct fz_arena *arena, struct store_user *ret, struct fz_error *err)
{
    const struct sql_value args[] = {sql_text(identity->issuer), sql_text(identity->subject)};
    int64_t id = 0;
    bool is_known = false;
    enum fz_code code = sql_number(
        store->sql, "SELECT user_id FROM user_identities WHERE issuer = $1 AND subject = $2", args,
        FZ_ARRAY_LEN(args), &id, &is_known, err);
    if (code == FZ_OK && !is_known)
        return fz_fail(err, FZ_E_NOT_FOUND, "no user has this identity");
    return code == FZ_OK ? store_user_by_id(store, id, arena, ret, err) : code;
}

/* Of two at once, the second one waits for the row of the user, and finds what the first one did. */
static enum fz_code
lock_user(struct sql *tx, int64_t user_id, struct fz_error *err)
{
    const struct sql_value arg = sql_int(user_id);
    uint64_t n = 0;
    enum fz_code code =
        sql_exec(tx, "UPDATE users SET is_disabled = is_disabled WHERE id = $1", &arg, 1, &n, err);
    if (code == FZ_OK && n == 0)
        return fz_fail(err, FZ_E_NOT_FOUND, "there is no such user");
    return code;
}

static enum fz_code
insert(struct sql *tx, const struct store_identity *identity, int64_t user_id, struct fz_error *err)
{
    int64_t now = 0, owner = 0;
    bool has_other = false;
    enum fz_code code = sql_now(tx, &now, err);
    const struct sql_value args[] = {sql_text(identity->issuer), sql_text(identity->subject),
                                     sql_int(user_id), sql_int(now)};
    const struct sql_value own[] = {sql_text(identity->issuer), sql_text(identity->subject),
                                    sql_int(user_id)};
    if (code == FZ_OK)
        code = sql_number(tx,
                          "SELECT user_id FROM user_identities WHERE issuer = $1 AND user_id = $3 "
                          "AND subject <> $2",
                          own, FZ_ARRAY_LEN(own), &owner, &has_other, err);
    if (code == FZ_OK && has_other)
        return fz_fail(err, FZ_E_CONFLICT, "the user has another identity of this issuer");
    if (code == FZ_OK)
        code = sql_exec(tx,
                        "INSERT INTO user_identities (issuer, subject, user_id, created_ms) "
                        "VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
                        args, FZ_ARRAY_LEN(args), NULL, err);
    if (code == FZ_OK)
        code =
            sql_number(tx, "SELECT user_id FROM user_identities WHERE issuer = $1 AND subject = $2",
                       own, 2, &owner, NULL, err);
    if (code == FZ_OK && owner != user_id)
        return fz_fail(err, FZ_E_CONFLICT, "the identity is another user's");
    return code;
}

enum fz_code
store_identity_link(struct store *store, const struct store_identity *identity, int64_t user_id,
                    struct fz_error *err)
{
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(store->sql, &tx, err);
    if (code == FZ_OK)
        code = lock_user(tx, user_id, err);
    if (code == FZ_OK)
        code = insert(tx, identity, user_id, err);
    return code == FZ_OK ? sql_commit(&tx, err) : code;
}

enum fz_code
store_identity_add_user(struct store *store, const struct store_identity *identity,
                        const struct store_user *user, const struct store_user_role *role,
                        int64_t *ret_id, struct fz_error *err)
{
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    int64_t id = 0;
    enum fz_code code = sql_begin(store->sql, &tx, err);
    if (code == FZ_OK)
        code = store_user_insert(tx, user, role, &id, err);
    if (code == FZ_OK)
        code = insert(tx, identity, id, err);
    if (code == FZ_OK)
        code = sql_commit(&tx, err);
    if (code == FZ_OK)
        *ret_id = id;
    return code;
}

enum fz_code
store_identity_list(struct store *store, int64_t user_id, struct fz_arena *arena,
                    struct store_user_identity **ret, size_t *ret_n, struct fz_error *err)
{
    const struct sql_value arg = sql_int(user_id);
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    struct sql_list list = {.arena = arena, .item = sizeof(struct store_user_identity)};
    enum fz_code code = sql_query(store->sql,
                                  "SELECT user_id, issuer, subject, created_ms FROM "
                                  "user_identities WHERE $1 = 0 OR user_id = $1 "
                                  "ORDER BY user_id, issuer",
                                  &arg, 1, &rows, err);
    for (struct store_user_identity *one; (one = sql_list_next(&rows, &list, &code, err));)
        *one = (struct store_user_identity){.user_id = sql_col_int(&rows, 0),
                                            .issuer = sql_col_text(&rows, 1, arena),
                                            .subject = sql_col_text(&rows, 2, arena),
                                            .created_ms = sql_col_int(&rows, 3)};
    return sql_list_done(&list, code, ret, ret_n);
}

enum fz_code
store_identity_unlink(struct store *store, int64_t user_id, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(user_id), sql_int(STORE_VIA_OIDC)};
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    uint64_t n = 0;
    enum fz_code code = sql_begin(store->sql, &tx, err);
    if (code == FZ_OK)
        code = lock_user(tx, user_id, err);
    if (code == FZ_OK)
        code = sql_exec(tx, "DELETE FROM user_identities WHERE user_id = $1", args, 1, &n, err);
    if (code == FZ_OK && n == 0)
        return fz_fail(err, FZ_E_NOT_FOUND, "the user has no account at a provider");
    if (code == FZ_OK)
        code = sql_exec(tx, "DELETE FROM web_sessions WHERE user_id = $1 AND via = $2", args,
                        FZ_ARRAY_LEN(args), NULL, err);
    return code == FZ_OK ? sql_commit(&tx, err) : code;
}
