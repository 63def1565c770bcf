#include "storage/store_newest.h"

#include <string.h>

#include "base/hll.h"
#include "base/version.h"
#include "storage/store_terms.h"

/* Invented versions that are looked up at once; of hostile reports there may be thousands. */
enum { LOOK_AT = 64 };

static bool
is_far(uint64_t number, uint64_t known)
{
    return known < UINT64_MAX / 4 && number > 2 * known + STORE_FAR_NUMBERS;
}

static uint64_t
first_number(const struct fz_version *version)
{
    return version->n_numbers ? version->numbers[0] : 0;
}

static enum fz_code
has_senders(struct sql *sql, int64_t project_id, const char *version, bool *ret,
            struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(project_id), sql_int(STORE_TERM_VERSION),
                                     sql_text(version), sql_int(STORE_FEW_SENDERS)};
    int64_t n = 0;
    enum fz_code code = sql_number(
        sql,
        "SELECT count(*) FROM (SELECT DISTINCT f.user_id, CASE WHEN f.user_id = 0 THEN f.device_id "
        "ELSE 0 END, CASE WHEN f.user_id = 0 THEN f.os_id ELSE 0 END FROM terms t JOIN facts f ON "
        "f.version_id = t.id AND f.version_id > 0 WHERE t.project_id = $1 AND t.field = $2 AND "
        "t.text = $3 LIMIT $4) AS senders",
        args, FZ_ARRAY_LEN(args), &n, NULL, err);
    if (code == FZ_OK)
        *ret = n >= STORE_FEW_SENDERS;
    return code;
}

/* All versions from the lowest on. */
struct walk {
    struct sql *sql;
    int64_t project_id;
    struct fz_arena *arena;
    /* The highest real one so far, and its number. */
    bool has_real;
    uint64_t first;
    const char *version, *build;
    unsigned n_looked;
    /* All releases with session users, read when they are needed first. */
    bool has_releases;
    const char **releases;
    size_t n_releases;
};

static enum fz_code
read_releases(struct walk *walk, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(walk->project_id)};
    struct sql_list list = {.arena = walk->arena, .item = sizeof(const char *)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code =
        sql_query(walk->sql, "SELECT DISTINCT release FROM session_users WHERE project_id = $1",
                  args, 1, &rows, err);
    for (const char **release; (release = sql_list_next(&rows, &list, &code, err));)
        *release = sql_col_text(&rows, 0, walk->arena);
    walk->has_releases = true;
    return sql_list_done(&list, code, &walk->releases, &walk->n_releases);
}

static enum fz_code
add_session_users(const struct walk *walk, const char *release, struct fz_hll *users,
                  struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(walk->project_id), sql_text(release)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query(
        walk->sql, "SELECT users FROM session_users WHERE project_id = $1 AND release = $2", args,
        FZ_ARRAY_LEN(args), &rows, err);
    while (sql_row(&rows, &code, err))
        /* A damaged counter counts no one. */
        fz_ignore(fz_hll_merge_encoded(users, sql_col_bytes(&rows, 0), NULL));
    return code;
}

/* A version that does not crash is real, too. */
static enum fz_code
has_session_users(struct walk *walk, const char *version, bool *ret, struct fz_error *err)
{
    struct fz_hll users = {{0}};
    enum fz_code code = walk->has_releases ? FZ_OK : read_releases(walk, err);
    for (size_t i = 0; code == FZ_OK && i < walk->n_releases; i++) {
        struct fz_release parts;
        fz_release_split(walk->releases[i], &parts);
        if (parts.version.len == strlen(version) &&
            memcmp(parts.version.data, version, parts.version.len) == 0)
            code = add_session_users(walk, walk->releases[i], &users, err);
    }
    if (code == FZ_OK)
        *ret = fz_hll_count(&users) >= STORE_FEW_SENDERS;
    return code;
}

static enum fz_code
step(struct walk *walk, const char *version, const char *build, struct fz_error *err)
{
    struct fz_version read;
    if (!version || !fz_version_read(version, &read))
        return FZ_OK;
    uint64_t first = first_number(&read);
    bool is_real = !walk->has_real || !is_far(first, walk->first);
    enum fz_code code = FZ_OK;
    if (!is_real && walk->n_looked++ < LOOK_AT) {
        code = has_senders(walk->sql, walk->project_id, version, &is_real, err);
        if (code == FZ_OK && !is_real)
            code = has_session_users(walk, version, &is_real, err);
    }
    if (code == FZ_OK && is_real) {
        walk->has_real = true;
        walk->first = first;
        walk->version = version;
        walk->build = build;
    }
    return code;
}

struct known {
    const char *version, *build;
};

static enum fz_code
walk_versions(struct walk *walk, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(walk->project_id), sql_int(STORE_TERM_VERSION)};
    struct sql_list list = {.arena = walk->arena, .item = sizeof(struct known)};
    struct known *versions = NULL;
    size_t n = 0;
    {
        FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
        enum fz_code code =
            sql_query(walk->sql,
                      "SELECT text, detail FROM terms WHERE project_id = $1 AND field = $2 "
                      "AND sort IS NOT NULL ORDER BY sort",
                      args, FZ_ARRAY_LEN(args), &rows, err);
        for (struct known *v; (v = sql_list_next(&rows, &list, &code, err));)
            *v = (struct known){sql_col_text(&rows, 0, walk->arena),
                                sql_col_text(&rows, 1, walk->arena)};
        code = sql_list_done(&list, code, &versions, &n);
        if (code != FZ_OK)
            return code;
    }
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < n; i++)
        code = step(walk, versions[i].version, versions[i].build, err);
    return code;
}

enum fz_code
store_newest_version(struct sql *sql, int64_t project_id, struct fz_arena *arena,
                     struct store_known_version *ret, struct fz_error *err)
{
    struct walk walk = {.sql = sql, .project_id = project_id, .arena = arena};
    enum fz_code code = walk_versions(&walk, err);
    if (code == FZ_OK)
        *ret = (struct store_known_version){walk.version, walk.build};
    return code;
}

enum fz_code
store_version_is_invented(struct sql *sql, int64_t project_id, const char *version,
                          const char *known, bool *ret, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(16 * 1024 * 1024);
    struct fz_version at, real;
    struct walk walk = {.sql = sql, .project_id = project_id, .arena = &arena};
    *ret = false;
    if (!fz_version_read(version, &at) || !known || !fz_version_read(known, &real) ||
        !is_far(first_number(&at), first_number(&real)))
        return FZ_OK;
    enum fz_code code = walk_versions(&walk, err);
    if (code == FZ_OK)
        /* The walk ends at the highest real one, which no real version is far above. */
        *ret = fz_version_compare(version, NULL, walk.version, walk.build) > 0 &&
               is_far(first_number(&at), walk.first);
    return code;
}
