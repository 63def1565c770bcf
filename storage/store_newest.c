#include "storage/store_newest.h"

#include <string.h>

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

/* All versions from the lowest on; ret: the highest real one. */
struct walk {
    bool has_real;
    uint64_t first; /* number of the highest real one */
    const char *version, *build;
    unsigned n_looked;
};

static enum fz_code
step(struct sql *sql, int64_t project_id, const char *version, const char *build, struct walk *walk,
     struct fz_error *err)
{
    struct fz_version read;
    if (!version || !fz_version_read(version, &read))
        return FZ_OK;
    uint64_t first = first_number(&read);
    bool is_real = !walk->has_real || !is_far(first, walk->first);
    enum fz_code code = FZ_OK;
    if (!is_real && walk->n_looked++ < LOOK_AT)
        code = has_senders(sql, project_id, version, &is_real, err);
    if (code == FZ_OK && is_real) {
        *walk = (struct walk){.has_real = true,
                              .first = first,
                              .version = version,
                              .build = build,
                              .n_looked = walk->n_looked};
    }
    return code;
}

struct known {
    const char *version, *build;
};

static enum fz_code
walk_versions(struct sql *sql, int64_t project_id, struct fz_arena *arena, struct walk *ret,
              struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(project_id), sql_int(STORE_TERM_VERSION)};
    struct sql_list list = {.arena = arena, .item = sizeof(struct known)};
    struct known *versions = NULL;
    size_t n = 0;
    {
        FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
        enum fz_code code =
            sql_query(sql,
                      "SELECT text, detail FROM terms WHERE project_id = $1 AND field = $2 "
                      "AND sort IS NOT NULL ORDER BY sort",
                      args, FZ_ARRAY_LEN(args), &rows, err);
        for (struct known *v; (v = sql_list_next(&rows, &list, &code, err));)
            *v = (struct known){sql_col_text(&rows, 0, arena), sql_col_text(&rows, 1, arena)};
        code = sql_list_done(&list, code, &versions, &n);
        if (code != FZ_OK)
            return code;
    }
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < n; i++)
        code = step(sql, project_id, versions[i].version, versions[i].build, ret, err);
    return code;
}

enum fz_code
store_newest_version(struct sql *sql, int64_t project_id, struct fz_arena *arena,
                     struct store_known_version *ret, struct fz_error *err)
{
    struct walk walk = {0};
    enum fz_code code = walk_versions(sql, project_id, arena, &walk, err);
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
    struct walk walk = {0};
    *ret = false;
    if (!fz_version_read(version, &at) || !known || !fz_version_read(known, &real) ||
        !is_far(first_number(&at), first_number(&real)))
        return FZ_OK;
    enum fz_code code = walk_versions(sql, project_id, &arena, &walk, err);
    if (code == FZ_OK)
        /* The walk ends at the highest real one, which no real version is far above. */
        *ret = fz_version_compare(version, NULL, walk.version, walk.build) > 0 &&
               is_far(first_number(&at), walk.first);
    return code;
}
