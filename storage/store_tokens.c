#include "storage/store_private.h"
#include "storage/store_request.h"
#include "storage/store_users.h"

#include <stdio.h>

#include "base/random.h"
#include "base/text.h"

enum { KEY_BYTES = 16, LOOKUP_TEXT = 17, HINT_TEXT = 9 };

/* "fz_" and 43 characters of base64url, or 32 hex digits for what clients embed. */
void
store_token_make(unsigned scopes, char ret[STORE_TOKEN_TEXT])
{
    uint8_t random[KEY_BYTES];
    char secret[STORE_SECRET_TEXT];
    /* It becomes a part of URLs, and clients check its form. */
    if (scopes == STORE_SCOPE_INGEST) {
        fz_random(random, sizeof(random));
        fz_text_hex(fz_span_make(random, sizeof(random)), ret);
        return;
    }
    store_secret_make(secret);
    snprintf(ret, STORE_TOKEN_TEXT, "fz_%s", secret);
}

/* The hash is found by its start, which reveals nothing about the token; the whole of it is
 * compared in constant time. */
static void
hash_token(const char *text, char ret_hash[FZ_SHA256_TEXT], char ret_lookup[LOOKUP_TEXT])
{
    fz_sha256_hex(fz_span_cstr(text), ret_hash);
    snprintf(ret_lookup, LOOKUP_TEXT, "%s", ret_hash);
}

enum fz_code
store_token_add(struct store *store, int64_t project_id, unsigned scopes, const char *label,
                const char *text, int64_t *ret_id, struct fz_error *err)
{
    static const unsigned all = STORE_SCOPE_INGEST | STORE_SCOPE_UPLOAD | STORE_SCOPE_READ |
                                STORE_SCOPE_ADMIN | STORE_SCOPE_VARIABLES | STORE_SCOPE_WRITE;
    /* Unknown bits would become scopes of a later version. */
    if (scopes == 0 || (scopes & ~all) != 0)
        return fz_fail(err, FZ_E_MALFORMED, "a token needs at least one of the known scopes");
    char hash[FZ_SHA256_TEXT], lookup[LOOKUP_TEXT], hint[HINT_TEXT];
    hash_token(text, hash, lookup);
    /* Eight characters of at least 32 leave more than 96 random bits. */
    snprintf(hint, sizeof(hint), "%.8s", text);
    int64_t now, id;
    enum fz_code code = sql_now(store->sql, &now, err);
    if (code != FZ_OK)
        return code;
    struct sql_value project = sql_int(project_id);
    /* The foreign key accepts NULL, but no project 0. */
    project.is_null = project_id == 0;
    const struct sql_value args[] = {project,        sql_int(scopes),  sql_text(label ? label : ""),
                                     sql_text(hint), sql_text(lookup), sql_text(hash),
                                     sql_int(now)};
    code = sql_number(store->sql,
                      "INSERT INTO tokens (project_id, scopes, label, hint, lookup, sha256, "
                      "created_ms) VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id",
                      args, FZ_ARRAY_LEN(args), &id, NULL, err);
    if (code == FZ_E_NOT_FOUND)
        return fz_fail(err, code, "there is no project %lld", (long long)project_id);
    if (code == FZ_OK)
        *ret_id = id;
    return code;
}

enum fz_code
store_token_create(struct store *store, int64_t project_id, unsigned scopes, const char *label,
                   char ret_text[STORE_TOKEN_TEXT], int64_t *ret_id, struct fz_error *err)
{
    char text[STORE_TOKEN_TEXT];
    store_token_make(scopes, text);
    enum fz_code code = store_token_add(store, project_id, scopes, label, text, ret_id, err);
    if (code == FZ_OK)
        memcpy(ret_text, text, sizeof(text));
    return code;
}

enum fz_code
store_token_check(struct store *store, const char *text, struct store_token *ret,
                  struct fz_error *err)
{
    char hash[FZ_SHA256_TEXT], lookup[LOOKUP_TEXT], stored[FZ_SHA256_TEXT];
    hash_token(text ? text : "", hash, lookup);
    const struct sql_value args[] = {sql_text(lookup)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    struct store_token found = {0};
    bool matches = false;
    enum fz_code code = sql_query(store->sql,
                                  "SELECT id, project_id, scopes, created_ms, revoked_ms, sha256 "
                                  "FROM tokens WHERE lookup = $1",
                                  args, 1, &rows, err);
    while (sql_row(&rows, &code, err)) {
        sql_col_copy(&rows, 5, stored, sizeof(stored));
        /* The lookup is only the start of the hash: two tokens may share it. */
        if (!fz_equal_constant_time(fz_span_cstr(stored), fz_span_cstr(hash)))
            continue;
        matches = true;
        found = (struct store_token){.id = sql_col_int(&rows, 0),
                                     .project_id = sql_col_int(&rows, 1),
                                     .scopes = (unsigned)sql_col_int(&rows, 2),
                                     .created_ms = sql_col_int(&rows, 3),
                                     .revoked_ms = sql_col_int(&rows, 4)};
    }
    if (code != FZ_OK)
        return code;
    /* One message for both: a client must not learn that a token once existed. */
    if (!matches || found.revoked_ms != 0)
        return fz_fail(err, FZ_E_DENIED, "the token is not known");
    *ret = found;
    return FZ_OK;
}

enum fz_code
store_token_project(struct store *store, int64_t id, int64_t *ret, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(id)};
    int64_t project = 0;
    bool found = false;
    enum fz_code code =
        sql_number(store->sql, "SELECT COALESCE(project_id, 0) FROM tokens WHERE id = $1", args, 1,
                   &project, &found, err);
    if (code == FZ_OK && !found)
        return fz_fail(err, FZ_E_NOT_FOUND, "there is no token %lld", (long long)id);
    if (code == FZ_OK)
        *ret = project;
    return code;
}

enum fz_code
store_token_scopes(struct store *store, int64_t id, unsigned *ret, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(id)};
    int64_t scopes = 0;
    bool found = false;
    enum fz_code code = sql_number(store->sql, "SELECT scopes FROM tokens WHERE id = $1", args, 1,
                                   &scopes, &found, err);
    if (code == FZ_OK && !found)
        return fz_fail(err, FZ_E_NOT_FOUND, "there is no token %lld", (long long)id);
    if (code == FZ_OK)
        *ret = (unsigned)scopes;
    return code;
}

enum fz_code
store_token_label(struct store *store, int64_t id, struct fz_arena *arena, const char **ret,
                  struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(id)};
    const char *label = NULL;
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query(store->sql, "SELECT label, hint FROM tokens WHERE id = $1", args,
                                  FZ_ARRAY_LEN(args), &rows, err);
    bool row = sql_row(&rows, &code, err);
    if (code == FZ_OK && !row)
        return fz_fail(err, FZ_E_NOT_FOUND, "there is no token %lld", (long long)id);
    if (code != FZ_OK)
        return code;
    /* One that was made without a label is known by its first characters. */
    label = sql_col_text(&rows, sql_col_bytes(&rows, 0).len ? 0 : 1, arena);
    if (!label)
        return fz_arena_fail(arena, err);
    *ret = label;
    return FZ_OK;
}

enum fz_code
store_token_list(struct store *store, struct fz_arena *arena, struct store_token **ret,
                 size_t *ret_n, struct fz_error *err)
{
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    struct sql_list list = {.arena = arena, .item = sizeof(struct store_token)};
    enum fz_code code = sql_query(store->sql,
                                  "SELECT id, project_id, scopes, label, hint, created_ms, "
                                  "revoked_ms FROM tokens ORDER BY id",
                                  NULL, 0, &rows, err);
    for (struct store_token *one; (one = sql_list_next(&rows, &list, &code, err));)
        *one = (struct store_token){.id = sql_col_int(&rows, 0),
                                    .project_id = sql_col_int(&rows, 1),
                                    .scopes = (unsigned)sql_col_int(&rows, 2),
                                    .label = sql_col_text(&rows, 3, arena),
                                    .hint = sql_col_text(&rows, 4, arena),
                                    .created_ms = sql_col_int(&rows, 5),
                                    .revoked_ms = sql_col_int(&rows, 6)};
    return sql_list_done(&list, code, ret, ret_n);
}

enum fz_code
store_token_revoke(struct store *store, int64_t id, struct fz_error *err)
{
    int64_t now;
    uint64_t n = 0;
    enum fz_code code = sql_now(store->sql, &now, err);
    if (code != FZ_OK)
        return code;
    /* Once revoked, the first time stays. */
    const struct sql_value args[] = {sql_int(id), sql_int(now)};
    code = sql_exec(store->sql,
                    "UPDATE tokens SET revoked_ms = CASE WHEN revoked_ms = 0 THEN $2 ELSE "
                    "revoked_ms END WHERE id = $1",
                    args, FZ_ARRAY_LEN(args), &n, err);
    if (code == FZ_OK && n == 0)
        return fz_fail(err, FZ_E_NOT_FOUND, "there is no token %lld", (long long)id);
    return code;
}

enum fz_code
store_token_known(struct store *store, struct fz_arena *arena, struct store_token_known **ret,
                  size_t *ret_n, struct fz_error *err)
{
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    struct sql_list list = {.arena = arena, .item = sizeof(struct store_token_known)};
    enum fz_code code = sql_query(
        store->sql, "SELECT id, project_id, scopes, sha256 FROM tokens WHERE revoked_ms = 0", NULL,
        0, &rows, err);
    for (struct store_token_known *one; (one = sql_list_next(&rows, &list, &code, err));) {
        *one = (struct store_token_known){.id = sql_col_int(&rows, 0),
                                          .project_id = sql_col_int(&rows, 1),
                                          .scopes = (unsigned)sql_col_int(&rows, 2)};
        sql_col_copy(&rows, 3, one->sha256, sizeof(one->sha256));
    }
    return sql_list_done(&list, code, ret, ret_n);
}
