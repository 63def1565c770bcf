#include "storage/store_retention_use.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/hll.h"

enum { KEYS_AT_ONCE = 500 };

/* ---- the sample ---- */

static void
swap(struct store_use_pick *a, struct store_use_pick *b)
{
    struct store_use_pick kept = *a;
    *a = *b;
    *b = kept;
}

static void
sift_down(struct store_use_sample *sample)
{
    for (size_t i = 0, child; (child = 2 * i + 1) < sample->n; i = child) {
        struct store_use_pick *picks = sample->picks;
        if (child + 1 < sample->n && picks[child + 1].hash > picks[child].hash)
            child++;
        if (picks[i].hash >= picks[child].hash)
            break;
        swap(&picks[i], &picks[child]);
    }
}

enum fz_code
store_use_offer(struct store_use_sample *sample, int64_t key, struct fz_error *err)
{
    const struct store_use_pick pick = {fz_hll_hash_number(key), key};
    if (!sample->picks)
        sample->picks = calloc(STORE_USE_SAMPLE, sizeof(*sample->picks));
    if (!sample->picks)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    if (sample->n == STORE_USE_SAMPLE) {
        if (pick.hash < sample->picks[0].hash) {
            sample->picks[0] = pick;
            sift_down(sample);
        }
        return FZ_OK;
    }
    size_t i = sample->n++;
    sample->picks[i] = pick;
    for (; i > 0 && sample->picks[(i - 1) / 2].hash < sample->picks[i].hash; i = (i - 1) / 2)
        swap(&sample->picks[(i - 1) / 2], &sample->picks[i]);
    return FZ_OK;
}

void
store_use_sample_deinit(struct store_use_sample *sample)
{
    free(sample->picks);
    *sample = (struct store_use_sample){NULL, 0};
}

/* ---- what they need ---- */

static enum fz_code
add_stored(struct sql *sql, const char *text, const struct sql_value *args, size_t n_args,
           struct store_stored *stored, struct fz_error *err)
{
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = n_args ? sql_query(sql, text, args, n_args, &rows, err)
                               : sql_query_once(sql, text, NULL, 0, &rows, err);
    if (sql_row(&rows, &code, err)) {
        stored->n += (uint64_t)sql_col_int(&rows, 0);
        stored->bytes += (uint64_t)sql_col_int(&rows, 1);
    }
    return code;
}

/* Of some reports: what a table has of them. */
static enum fz_code
add_picks(struct sql *sql, const char *table, const char *column,
          const struct store_use_pick *picks, size_t n, struct store_stored *stored,
          struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    fz_buffer_printf(&text,
                     "SELECT count(*), CAST(coalesce(sum(length(%s)), 0) AS bigint) FROM %s WHERE "
                     "report_key IN (",
                     column, table);
    for (size_t i = 0; i < n; i++)
        fz_buffer_printf(&text, "%s%" PRId64, i ? "," : "", picks[i].key);
    fz_buffer_char(&text, ')');
    enum fz_code code = fz_buffer_done(&text, err);
    return code == FZ_OK ? add_stored(sql, fz_buffer_cstr(&text), NULL, 0, stored, err) : code;
}

static void
scale(struct store_stored *stored, double factor)
{
    stored->n = (uint64_t)((double)stored->n * factor);
    stored->bytes = (uint64_t)((double)stored->bytes * factor);
}

static enum fz_code
read_symbols(struct sql *sql, int64_t project_id, struct store_stored *ret, struct fz_error *err)
{
    const struct sql_value project = sql_int(project_id);
    *ret = (struct store_stored){0};
    return add_stored(sql,
                      "SELECT count(*), CAST(coalesce(sum(size), 0) AS bigint) FROM symbol_files "
                      "WHERE project_id = $1",
                      &project, 1, ret, err);
}

enum fz_code
store_use_read(struct store *store, int64_t project_id, const struct store_use_sample *sample,
               uint64_t n_reports, struct store_retention_use *ret, struct fz_error *err)
{
    struct store_retention_use use = {.n_reports = n_reports,
                                      .is_estimated = n_reports > sample->n};
    enum fz_code code = read_symbols(store->sql, project_id, &use.symbols, err);
    for (size_t i = 0; code == FZ_OK && i < sample->n; i += KEYS_AT_ONCE) {
        const struct store_use_pick *picks = sample->picks + i;
        size_t n = sample->n - i < KEYS_AT_ONCE ? sample->n - i : KEYS_AT_ONCE;
        code = add_picks(store->sql, "report_bodies", "body", picks, n, &use.bodies, err);
        if (code == FZ_OK)
            code = add_picks(store->sql, "report_results", "result", picks, n, &use.results, err);
        if (code == FZ_OK)
            code = add_picks(store->sql, "report_memory", "body", picks, n, &use.memory, err);
    }
    if (code != FZ_OK)
        return code;
    if (use.is_estimated && sample->n) {
        double factor = (double)n_reports / (double)sample->n;
        scale(&use.bodies, factor);
        scale(&use.results, factor);
        scale(&use.memory, factor);
    }
    *ret = use;
    return FZ_OK;
}

void
store_use_less(struct store_retention_use *use, uint64_t n_reports, uint64_t n_bodies)
{
    double all = (double)use->n_reports;
    uint64_t left = use->n_reports > n_reports ? use->n_reports - n_reports : 0;
    double share = all > 0 ? (double)left / all : 0;
    scale(&use->bodies, share);
    scale(&use->results, share);
    scale(&use->memory, share);
    use->n_reports = left;
    uint64_t bodies_left = use->bodies.n > n_bodies ? use->bodies.n - n_bodies : 0;
    if (use->bodies.n)
        scale(&use->bodies, (double)bodies_left / (double)use->bodies.n);
}

/* ---- what a sweep has noted ---- */

enum fz_code
store_use_note(struct sql *sql, int64_t project_id, const struct store_retention_use *use,
               int64_t now_ms, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(project_id),
                                     sql_int(now_ms),
                                     sql_int((int64_t)use->n_reports),
                                     sql_int((int64_t)use->bodies.n),
                                     sql_int((int64_t)use->bodies.bytes),
                                     sql_int((int64_t)use->results.n),
                                     sql_int((int64_t)use->results.bytes),
                                     sql_int((int64_t)use->memory.n),
                                     sql_int((int64_t)use->memory.bytes)};
    return sql_exec(sql,
                    "UPDATE retention SET counted_ms = $2, n_reports = $3, n_bodies = $4, "
                    "body_bytes = $5, n_results = $6, result_bytes = $7, n_memory = $8, "
                    "memory_bytes = $9 WHERE project_id = $1",
                    args, FZ_ARRAY_LEN(args), NULL, err);
}

enum fz_code
store_use_noted(struct store *store, int64_t project_id, struct store_retention_use *ret,
                bool *ret_found, struct fz_error *err)
{
    const struct sql_value project = sql_int(project_id);
    struct store_retention_use use = {.is_estimated = true};
    {
        FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
        enum fz_code code =
            sql_query(store->sql,
                      "SELECT n_reports, n_bodies, body_bytes, n_results, result_bytes, n_memory, "
                      "memory_bytes FROM retention WHERE project_id = $1 AND counted_ms > 0",
                      &project, 1, &rows, err);
        *ret_found = sql_row(&rows, &code, err);
        if (code != FZ_OK || !*ret_found)
            return code;
        struct store_stored *const stored[] = {&use.bodies, &use.results, &use.memory};
        use.n_reports = (uint64_t)sql_col_int(&rows, 0);
        for (int i = 0; i < 3; i++)
            *stored[i] = (struct store_stored){(uint64_t)sql_col_int(&rows, 1 + 2 * i),
                                               (uint64_t)sql_col_int(&rows, 2 + 2 * i)};
    }
    enum fz_code code = read_symbols(store->sql, project_id, &use.symbols, err);
    if (code == FZ_OK)
        *ret = use;
    return code;
}

uint64_t
store_retention_bytes(const struct store_retention_use *use)
{
    return use->bodies.bytes + use->results.bytes + use->memory.bytes + use->symbols.bytes;
}
