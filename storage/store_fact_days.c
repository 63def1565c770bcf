#include "storage/store_fact_days.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/list.h"
#include "base/time.h"

const char *const store_fact_column_names[STORE_FACT_COLUMNS] = {
    [STORE_FACT_VARIANT] = "variant_id",
    [STORE_FACT_USER] = "user_id",
    [STORE_FACT_VERSION] = "version_id",
    [STORE_FACT_OS] = "os_id",
    [STORE_FACT_DEVICE] = "device_id",
    [STORE_FACT_ARCH] = "arch_id",
    [STORE_FACT_ENVIRONMENT] = "environment_id",
    [STORE_FACT_KIND] = "kind_id",
    [STORE_FACT_APP] = "app_id",
    [STORE_FACT_EXCEPTION] = "exception_id",
    [STORE_FACT_SIGNAL] = "signal_id",
    [STORE_FACT_REASON] = "reason_id",
    [STORE_FACT_STACK] = "stack_key",
    [STORE_FACT_STATUS] = "status",
    [STORE_FACT_COUNTED] = "is_counted",
    [STORE_FACT_RECEIVED] = "received_ms",
    [STORE_FACT_REPORT] = "report_key",
    [STORE_FACT_RELEASE] = "release",
    [STORE_FACT_OS_BUILD] = "os_build",
    [STORE_FACT_MACH] = "mach",
    [STORE_FACT_CODE] = "code",
    [STORE_FACT_FORMAT] = "format",
    [STORE_FACT_CRASHED] = "timestamp_ms",
    [STORE_FACT_IMAGES] = "image_set",
    [STORE_FACT_RUN] = "run_id",
};

enum fz_code
store_facts_changed(struct sql *tx, int64_t project_id, int64_t day, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(project_id), sql_int(day), sql_int(fz_time_now_ms())};
    uint64_t n = 0;
    enum fz_code code = sql_exec(tx,
                                 "UPDATE fact_days SET state = 0, changed_ms = $3 WHERE project_id "
                                 "= $1 AND day = $2 AND state <> 0",
                                 args, FZ_ARRAY_LEN(args), &n, err);
    /* A day that had no facts when later ones were sealed has no row. */
    return code == FZ_OK && n == 0
               ? sql_exec(tx,
                          "INSERT INTO fact_days (project_id, day, state, changed_ms) VALUES ($1, "
                          "$2, 0, $3) ON CONFLICT (project_id, day) DO NOTHING",
                          args, FZ_ARRAY_LEN(args), NULL, err)
               : code;
}

enum fz_code
store_fact_changed(struct sql *tx, int64_t project_id, int64_t received_ms, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(project_id)};
    int64_t sealed_ms = 0;
    enum fz_code code = sql_number(tx, "SELECT sealed_ms FROM projects WHERE id = $1", args, 1,
                                   &sealed_ms, NULL, err);
    return code == FZ_OK && received_ms < sealed_ms
               ? store_facts_changed(tx, project_id, received_ms / STORE_DAY_MS, err)
               : code;
}

enum fz_code
store_sealed_days_read(struct sql *sql, const struct store_day_range *range,
                       struct store_sealed_day **ret, size_t *ret_n, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(range->project_id), sql_int(range->from),
                                     sql_int(range->to)};
    struct store_sealed_day *days = NULL;
    size_t n = 0, room = 0;
    char text[320];
    snprintf(text, sizeof(text),
             "SELECT d.day, d.n, d.sealing, " STORE_SEALED_UNTIL
             " FROM fact_days d WHERE d.project_id = $1 AND d.day >= $2 AND d.day < $3 AND "
             "d.state = 1 ORDER BY d.day%s",
             range->is_falling ? " DESC" : "");
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query(sql, text, args, FZ_ARRAY_LEN(args), &rows, err);
    while (sql_row(&rows, &code, err)) {
        struct store_sealed_day *larger = fz_list_grow(NULL, days, &room, n + 1, sizeof(*days));
        if (!larger) {
            code = fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
            break;
        }
        days = larger;
        days[n++] = (struct store_sealed_day){.day = sql_col_int(&rows, 0),
                                              .until_ms = sql_col_int(&rows, 3),
                                              .sealing = sql_col_int(&rows, 2),
                                              .n = (uint64_t)sql_col_int(&rows, 1)};
    }
    if (code != FZ_OK) {
        free(days);
        days = NULL;
        n = 0;
    }
    *ret = days;
    *ret_n = n;
    return code;
}

enum fz_code
store_variant_facts_changed(struct sql *tx, int64_t project_id, int64_t variant_id,
                            struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(project_id), sql_int(variant_id),
                                     sql_int(fz_time_now_ms())};
    return sql_exec(tx,
                    "UPDATE fact_days SET state = 0, changed_ms = $3 WHERE project_id = $1 AND "
                    "state <> 0 AND day IN (SELECT DISTINCT f.received_ms / 86400000 FROM facts f "
                    "WHERE f.variant_id = $2)",
                    args, FZ_ARRAY_LEN(args), NULL, err);
}

void
store_facts_damaged(struct sql *sql, int64_t project_id, int64_t day)
{
    const struct sql_value args[] = {sql_int(project_id), sql_int(day)};
    /* If this fails, the next reader tries. */
    fz_ignore(sql_exec(
        sql, "UPDATE fact_days SET state = 4 WHERE project_id = $1 AND day = $2 AND state = 1",
        args, FZ_ARRAY_LEN(args), NULL, NULL));
}
