#include "storage/store_web_sessions.h"

#include <string.h>

#include "storage/store_private.h"

/* Sessions that count, of users and tokens that do; $1 and $2: the earliest used_ms and created_ms. */
#define FROM_COUNTING                                                                   \
    " FROM web_sessions s LEFT JOIN users u ON u.id = s.user_id LEFT JOIN tokens t ON " \
    "t.id = s.token_id WHERE s.used_ms > $1 AND s.created_ms > $2 AND "                 \
    "((u.id IS NOT NULL AND u.is_disabled = 0) OR (t.id IS NOT NULL AND t.revoked_ms = 0))"

const char *
store_via_name(enum store_via via)
{
    static const char *const names[] = {"password", "token", "proxy", "oidc"};
    return names[via <= STORE_VIA_OIDC ? via : STORE_VIA_PASSWORD];
}

static struct sql_value
int_or_null(int64_t id)
{
    struct sql_value value = sql_int(id);
    value.is_null = id == 0;
    return value;
}

/* What has ended, and the oldest of one who logs in again and again. */
static enum fz_code
clear_old(struct sql *tx, const struct store_web_session *session,
          const struct store_web_limits *limits, int64_t now, struct fz_error *err)
{
    const struct sql_value ended[] = {sql_int(now - limits->idle_ms),
                                      sql_int(now - limits->max_ms)};
    const struct sql_value own[] = {sql_int(session->user_id), sql_int(session->token_id),
                                    sql_int(STORE_WEB_SESSIONS_MAX - 1)};
    enum fz_code code =
        sql_exec(tx, "DELETE FROM web_sessions WHERE used_ms <= $1 OR created_ms <= $2", ended,
                 FZ_ARRAY_LEN(ended), NULL, err);
    if (code == FZ_OK)
        code = sql_exec(tx,
                        "DELETE FROM web_sessions WHERE COALESCE(user_id, 0) = $1 AND "
                        "COALESCE(token_id, 0) = $2 AND id NOT IN (SELECT id FROM web_sessions "
                        "WHERE COALESCE(user_id, 0) = $1 AND COALESCE(token_id, 0) = $2 "
                        "ORDER BY id DESC LIMIT $3)",
                        own, FZ_ARRAY_LEN(own), NULL, err);
    return code;
}

enum fz_code
store_web_session_add(struct store *store, const struct store_web_session *session,
                      const struct store_web_limits *limits, const char *secret, int64_t *ret_id,
                      struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(64 * 1024);
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    char hash[FZ_SHA256_TEXT];
    int64_t now = 0, id = 0;
    fz_sha256_hex(fz_span_cstr(secret), hash);
    enum fz_code code = sql_begin(store->sql, &tx, err);
    if (code == FZ_OK)
        code = sql_now(tx, &now, err);
    if (code == FZ_OK)
        code = clear_old(tx, session, limits, now, err);
    const struct sql_value args[] = {
        sql_text(hash),
        int_or_null(session->user_id),
        int_or_null(session->token_id),
        sql_int(session->via),
        sql_int(now),
        sql_text_clean(&arena, session->address ? session->address : "", STORE_TEXT_SHORT),
        sql_text_clean(&arena, session->agent ? session->agent : "", STORE_AGENT_MAX)};
    if (code == FZ_OK)
        code = sql_number(tx,
                          "INSERT INTO web_sessions (sha256, user_id, token_id, via, created_ms, "
                          "used_ms, address, agent) VALUES ($1, $2, $3, $4, $5, $5, $6, $7) "
                          "RETURNING id",
                          args, FZ_ARRAY_LEN(args), &id, NULL, err);
    const struct sql_value login[] = {sql_int(session->user_id), sql_int(now)};
    if (code == FZ_OK)
        code = sql_exec(tx, "UPDATE users SET login_ms = $2 WHERE id = $1", login, 2, NULL, err);
    if (code == FZ_OK)
        code = sql_commit(&tx, err);
    if (code == FZ_OK)
        *ret_id = id;
    return code;
}

static enum fz_code
earliest(struct store *store, const struct store_web_limits *limits, struct sql_value ret[2],
         struct fz_error *err)
{
    int64_t now = 0;
    enum fz_code code = sql_now(store->sql, &now, err);
    ret[0] = sql_int(now - limits->idle_ms);
    ret[1] = sql_int(now - limits->max_ms);
    return code;
}

#define SELECT_SESSIONS \
    "SELECT s.id, s.user_id, s.token_id, s.via, s.created_ms, s.used_ms, s.address, s.agent"

static void
read_session(struct sql_rows *rows, struct fz_arena *arena, struct store_web_session *ret)
{
    *ret = (struct store_web_session){.id = sql_col_int(rows, 0),
                                      .user_id = sql_col_int(rows, 1),
                                      .token_id = sql_col_int(rows, 2),
                                      .via = (enum store_via)sql_col_int(rows, 3),
                                      .created_ms = sql_col_int(rows, 4),
                                      .used_ms = sql_col_int(rows, 5),
                                      .address = sql_col_text(rows, 6, arena),
                                      .agent = sql_col_text(rows, 7, arena)};
}

enum fz_code
store_web_session_find(struct store *store, const struct store_web_limits *limits,
                       const char *secret, struct fz_arena *arena, struct store_web_session *ret,
                       struct fz_error *err)
{
    char hash[FZ_SHA256_TEXT];
    struct sql_value args[3];
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    fz_sha256_hex(fz_span_cstr(secret), hash);
    enum fz_code code = earliest(store, limits, args, err);
    args[2] = sql_text(hash);
    if (code == FZ_OK)
        code = sql_query(store->sql, SELECT_SESSIONS FROM_COUNTING " AND s.sha256 = $3", args,
                         FZ_ARRAY_LEN(args), &rows, err);
    bool row = code == FZ_OK && sql_row(&rows, &code, err);
    if (code == FZ_OK && !row)
        return fz_fail(err, FZ_E_DENIED, "the session has ended: log in again");
    if (code == FZ_OK)
        read_session(&rows, arena, ret);
    return code;
}

enum fz_code
store_web_session_list(struct store *store, const struct store_web_limits *limits, int64_t user_id,
                       struct fz_arena *arena, struct store_web_session **ret, size_t *ret_n,
                       struct fz_error *err)
{
    struct sql_value args[3];
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    struct sql_list list = {.arena = arena, .item = sizeof(struct store_web_session)};
    enum fz_code code = earliest(store, limits, args, err);
    args[2] = sql_int(user_id);
    if (code == FZ_OK)
        code = sql_query(store->sql,
                         SELECT_SESSIONS FROM_COUNTING " AND s.user_id = $3 ORDER BY s.id DESC",
                         args, FZ_ARRAY_LEN(args), &rows, err);
    for (struct store_web_session *one;
         code == FZ_OK && (one = sql_list_next(&rows, &list, &code, err));)
        read_session(&rows, arena, one);
    return sql_list_done(&list, code, ret, ret_n);
}

enum fz_code
store_web_session_end(struct store *store, int64_t user_id, int64_t id, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(id), sql_int(user_id)};
    uint64_t n = 0;
    enum fz_code code = sql_exec(store->sql,
                                 "DELETE FROM web_sessions WHERE id = $1 AND ($2 = 0 OR "
                                 "user_id = $2)",
                                 args, FZ_ARRAY_LEN(args), &n, err);
    if (code == FZ_OK && n == 0)
        return fz_fail(err, FZ_E_NOT_FOUND, "there is no session %lld", (long long)id);
    return code;
}

enum fz_code
store_web_session_touch(struct store *store, int64_t id, struct fz_error *err)
{
    int64_t now = 0;
    enum fz_code code = sql_now(store->sql, &now, err);
    const struct sql_value args[] = {sql_int(id), sql_int(now), sql_int(now - STORE_WEB_TOUCH_MS)};
    if (code == FZ_OK)
        code = sql_exec(store->sql,
                        "UPDATE web_sessions SET used_ms = $2 WHERE id = $1 AND used_ms < $3", args,
                        FZ_ARRAY_LEN(args), NULL, err);
    return code;
}

enum fz_code
store_web_known(struct store *store, const struct store_web_limits *limits, struct fz_arena *arena,
                struct store_web_known **ret, size_t *ret_n, struct fz_error *err)
{
    struct sql_value args[2];
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    struct sql_list list = {.arena = arena, .item = sizeof(struct store_web_known)};
    enum fz_code code = earliest(store, limits, args, err);
    if (code == FZ_OK)
        code = sql_query(store->sql,
                         "SELECT s.id, s.user_id, s.token_id, s.used_ms, s.sha256" FROM_COUNTING,
                         args, FZ_ARRAY_LEN(args), &rows, err);
    for (struct store_web_known *one;
         code == FZ_OK && (one = sql_list_next(&rows, &list, &code, err));) {
        *one = (struct store_web_known){.id = sql_col_int(&rows, 0),
                                        .user_id = sql_col_int(&rows, 1),
                                        .token_id = sql_col_int(&rows, 2),
                                        .used_ms = sql_col_int(&rows, 3)};
        sql_col_copy(&rows, 4, one->sha256, sizeof(one->sha256));
    }
    return sql_list_done(&list, code, ret, ret_n);
}
