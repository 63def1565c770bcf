/* Links that let somebody in once: the first user, an invited one, one without a password. */
#include <string.h>

#include "base/random.h"
#include "base/text.h"
#include "storage/store_user_rows.h"

static const char unknown[] =
    "this link does not count: it is unknown, was used already, or has expired";

void
store_secret_make(char ret[STORE_SECRET_TEXT])
{
    uint8_t random[32];
    fz_random(random, sizeof(random));
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    fz_text_base64url_append(&text, fz_span_make(random, sizeof(random)));
    /* 32 bytes are 43 digits. */
    memcpy(ret, fz_buffer_cstr(&text), STORE_SECRET_TEXT - 1);
    ret[STORE_SECRET_TEXT - 1] = '\0';
}

static int64_t
lifetime_of(enum store_link_kind kind)
{
    return kind == STORE_LINK_SETUP        ? STORE_LINK_SETUP_MS
           : kind == STORE_LINK_INVITATION ? STORE_LINK_INVITATION_MS
                                           : STORE_LINK_RESET_MS;
}

/* A person who asks for another link has lost the first, or somebody else has found it. Those that
 * have expired go, too. */
static enum fz_code
clear_earlier(struct sql *tx, const struct store_link *link, int64_t now, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(now), sql_int(link->kind), sql_int(link->user_id),
                                     sql_text(link->email ? link->email : "")};
    return sql_exec(tx,
                    "DELETE FROM user_links WHERE expires_ms < $1 OR (kind = $2 AND "
                    "COALESCE(user_id, 0) = $3 AND COALESCE(email, '') = $4)",
                    args, FZ_ARRAY_LEN(args), NULL, err);
}

enum fz_code
store_link_add(struct store *store, const struct store_link *link, const char *secret,
               int64_t *ret_expires_ms, struct fz_error *err)
{
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    char hash[FZ_SHA256_TEXT];
    int64_t now = 0;
    fz_sha256_hex(fz_span_cstr(secret), hash);
    enum fz_code code = sql_begin(store->sql, &tx, err);
    if (code == FZ_OK)
        code = sql_now(tx, &now, err);
    if (code == FZ_OK)
        code = clear_earlier(tx, link, now, err);
    struct sql_value user = sql_int(link->user_id);
    user.is_null = link->user_id == 0;
    int64_t expires = now + lifetime_of(link->kind);
    const struct sql_value args[] = {
        sql_text(hash),        sql_int(link->kind),       user,
        sql_text(link->email), sql_int(link->project_id), sql_int(link->role),
        sql_int(now),          sql_int(expires)};
    if (code == FZ_OK)
        code = sql_exec(tx,
                        "INSERT INTO user_links (sha256, kind, user_id, email, project_id, role, "
                        "created_ms, expires_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
                        args, FZ_ARRAY_LEN(args), NULL, err);
    if (code == FZ_OK)
        code = sql_commit(&tx, err);
    if (code == FZ_OK && ret_expires_ms)
        *ret_expires_ms = expires;
    return code;
}

/* The secret has 256 random bits: the time that the database takes to compare its hash says nothing
 * that would help to find another. */
static enum fz_code
find_link(struct sql *sql, enum store_link_kind kind, const char *secret, struct fz_arena *arena,
          struct store_link *ret, struct fz_error *err)
{
    char hash[FZ_SHA256_TEXT];
    int64_t now = 0;
    fz_sha256_hex(fz_span_cstr(secret), hash);
    enum fz_code code = sql_now(sql, &now, err);
    if (code != FZ_OK)
        return code;
    const struct sql_value args[] = {sql_text(hash), sql_int(kind), sql_int(now)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    code = sql_query(sql,
                     "SELECT l.kind, l.user_id, COALESCE(u.email, l.email), l.project_id, l.role, "
                     "l.expires_ms FROM user_links l LEFT JOIN users u ON u.id = l.user_id WHERE "
                     "l.sha256 = $1 AND l.kind = $2 AND l.used_ms = 0 AND l.expires_ms > $3 AND "
                     "(l.kind <> 1 OR NOT EXISTS (SELECT 1 FROM users))",
                     args, FZ_ARRAY_LEN(args), &rows, err);
    bool row = sql_row(&rows, &code, err);
    if (code == FZ_OK && !row)
        return fz_fail(err, FZ_E_DENIED, "%s", unknown);
    if (code == FZ_OK)
        *ret = (struct store_link){.kind = (enum store_link_kind)sql_col_int(&rows, 0),
                                   .user_id = sql_col_int(&rows, 1),
                                   .email = sql_col_text(&rows, 2, arena),
                                   .project_id = sql_col_int(&rows, 3),
                                   .role = (enum store_role)sql_col_int(&rows, 4),
                                   .expires_ms = sql_col_int(&rows, 5)};
    return code;
}

enum fz_code
store_link_check(struct store *store, enum store_link_kind kind, const char *secret,
                 struct fz_arena *arena, struct store_link *ret, struct fz_error *err)
{
    return find_link(store->sql, kind, secret, arena, ret, err);
}

/* Of two who use it at once, one gets it. */
static enum fz_code
take_link(struct sql *tx, const char *secret, struct fz_error *err)
{
    char hash[FZ_SHA256_TEXT];
    int64_t now = 0;
    uint64_t n = 0;
    fz_sha256_hex(fz_span_cstr(secret), hash);
    enum fz_code code = sql_now(tx, &now, err);
    const struct sql_value args[] = {sql_text(hash), sql_int(now)};
    if (code == FZ_OK)
        code = sql_exec(tx, "UPDATE user_links SET used_ms = $2 WHERE sha256 = $1 AND used_ms = 0",
                        args, 2, &n, err);
    if (code == FZ_OK && n == 0)
        return fz_fail(err, FZ_E_DENIED, "%s", unknown);
    return code;
}

static enum fz_code
apply(struct sql *tx, const struct store_link *link, const struct store_user *user,
      int64_t *ret_user_id, struct fz_error *err)
{
    struct store_user added = *user;
    const struct store_user_role role = {.project_id = link->project_id, .role = link->role};
    switch (link->kind) {
    case STORE_LINK_SETUP:
        return store_user_insert_first(tx, user, ret_user_id, err);
    case STORE_LINK_INVITATION:
        added.email = link->email;
        return store_user_insert(tx, &added, &role, ret_user_id, err);
    case STORE_LINK_RESET:
        break;
    }
    *ret_user_id = link->user_id;
    return store_user_password(tx, link->user_id, user->password, 0, err);
}

enum fz_code
store_link_use(struct store *store, enum store_link_kind kind, const char *secret,
               const struct store_user *user, int64_t *ret_user_id, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(64 * 1024);
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    struct store_link link = {0};
    int64_t id = 0;
    enum fz_code code = sql_begin(store->sql, &tx, err);
    if (code == FZ_OK)
        code = find_link(tx, kind, secret, &arena, &link, err);
    if (code == FZ_OK)
        code = take_link(tx, secret, err);
    if (code == FZ_OK)
        code = apply(tx, &link, user, &id, err);
    if (code == FZ_OK)
        code = sql_commit(&tx, err);
    if (code == FZ_OK)
        *ret_user_id = id;
    return code;
}
