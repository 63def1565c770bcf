/*
 * The successful ends of jobs, and why no report misses its dSYM.
 *
 * A worker looks symbols up, and some time later stores the report's result with the images it
 * found nothing for. A dSYM that becomes ready in between must not be missed. Four facts ensure
 * that:
 *
 * 1. projects.symbol_seq grows by one in each transaction that makes symbol files ready, and each
 *    such file keeps the number (ready_seq). A claim notes the number it saw (jobs.seen_seq).
 * 2. finish_report holds the project's lock shared and register_symbols holds it exclusive, from
 *    before they read until they commit. (SQLite: one writer at a time. PostgreSQL: an advisory
 *    lock; each statement after it sees all that was committed before the lock was had.) So of a
 *    report's end and a registration one is wholly before the other.
 * 3. Registration first: finish_report finds the new file (ready_seq > seen_seq) for one of its
 *    waits and queues the report again instead of waiting.
 * 4. Report first: its waits are committed when store_unblock() looks, after the registration; it
 *    queues the report, unless it has a job. If that job is not claimed yet, its claim will see the
 *    new file; if it is leased, its end is case 3.
 *
 * A file is only "new" to a report until the report's next claim, so each file queues a report at
 * most once, even if the file turns out to be of no use to it.
 */
#include <stdlib.h>

#include "storage/store_changed.h"
#include "storage/store_dictionary.h"
#include "storage/store_record.h"
#include "storage/store_runs.h"

enum { FINISH_MEMORY = 16 * 1024 * 1024 };

/* ---- reports ---- */

/* True if a symbol file for one of the awaited images became ready after the job's claim. */
static enum fz_code
has_news(struct store *store, const struct store_job *job, const struct store_job_row *row,
         const struct store_report_done *done, struct fz_arena *arena, bool *ret,
         struct fz_error *err)
{
    *ret = false;
    if (done->n_waits == 0)
        return FZ_OK;
    struct fz_uuid *list = fz_arena_array(arena, done->n_waits, sizeof(*list));
    if (!list)
        return fz_arena_fail(arena, err);
    for (size_t i = 0; i < done->n_waits; i++)
        list[i] = done->waits[i].uuid;
    struct store_uuids uuids;
    enum fz_code code = store_uuids_sort(list, done->n_waits, arena, &uuids, err);
    if (code != FZ_OK)
        return code;
    const struct sql_value args[] = {sql_int(job->project_id), store_uuids_value(&uuids),
                                     sql_int((int64_t)uuids.n), sql_int(row->seen_seq)};
    return sql_number(store->sql,
                      "WITH RECURSIVE at (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM at WHERE i + "
                      "1 < $3) SELECT 1 FROM symbol_files WHERE project_id = $1 AND ready_seq > $4 "
                      "AND state = 'ready' AND kind IN ('dsym', 'binary') AND uuid IN (SELECT "
                      "substr($2, 16 * i + 1, 16) FROM at) "
                      "LIMIT 1",
                      args, FZ_ARRAY_LEN(args), NULL, ret, err);
}

static struct sql_value
or_null(int64_t number)
{
    struct sql_value value = sql_int(number);
    value.is_null = number == 0;
    return value;
}

/* One report of a batch, from its compression to its row. */
struct ending {
    struct store_report_end *end;
    struct store_report_done done; /* end->done with only those learned names that are new */
    void *result, *stripped;       /* compressed; owned */
    size_t result_len, stripped_len;
    struct store_recorded recorded;
    int64_t image_set, wait_set; /* 0 = empty */
    bool again;                  /* it was asked for once more while it was done */
    int64_t key;                 /* of its row */
    enum store_memory memory;    /* what its body is from then on; UNKNOWN: as before */
    struct store_run_report run; /* for counting a crash once */
    struct store_record_row row;
};

static enum fz_code
update_report(struct store *store, const struct store_job *job, struct ending *ending,
              struct fz_arena *arena, struct fz_error *err)
{
    const struct store_report_done *done = &ending->done;
    struct sql_value args[SQL_MAX_PARAMS] = {
        sql_int(job->project_id),
        sql_text(job->subject),
        sql_text(store_report_status_name(ending->again ? STORE_REPORT_QUEUED : done->status)),
        sql_int(done->timestamp_ms),
        sql_text_clean(arena, done->format, STORE_TEXT_SHORT),
        /* Lists show the number without a look into the set. */
        sql_int((int64_t)done->n_waits),
        or_null(ending->image_set),
        or_null(ending->wait_set),
        or_null(ending->memory),
        /* As store_record_add() will do: a second update would cost as much as this one. */
        sql_int(ending->recorded.is_grouped),
    };
    size_t n = store_report_bind(store, done->values, arena, args, STORE_UPDATE_ARGS);
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query(store->sql, store->update_report, args, n, &rows, err);
    bool row = sql_row(&rows, &code, err);
    if (code == FZ_OK && !row)
        return fz_fail(err, FZ_E_CONFLICT, "report %s was deleted", job->subject);
    if (code != FZ_OK)
        return code;
    bool is_first = sql_col_int(&rows, 2) == 1;
    ending->key = sql_col_int(&rows, 0);
    ending->run = (struct store_run_report){
        .project_id = job->project_id, .id = job->subject, .is_first = is_first};
    sql_col_copy(&rows, 1, ending->run.run, sizeof(ending->run.run));
    ending->row = (struct store_record_row){.id = job->subject,
                                            .report_key = ending->key,
                                            .received_ms = sql_col_int(&rows, 3),
                                            .is_again = !is_first,
                                            .is_kept = sql_col_int(&rows, 4) == 0};
    return FZ_OK;
}

static enum fz_code
store_result(struct store *store, const struct ending *ending, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(ending->key),
                                     sql_blob(fz_span_make(ending->result, ending->result_len))};
    return sql_exec(store->sql,
                    "INSERT INTO report_results (report_key, result) VALUES ($1, $2) "
                    "ON CONFLICT (report_key) DO UPDATE SET result = excluded.result",
                    args, FZ_ARRAY_LEN(args), NULL, err);
}

/* One report, under the project's lock. CONFLICT: it is not this worker's any more, or was deleted;
 * nothing was changed that other reports of the batch depend on. */
static enum fz_code
finish_report(struct store *store, struct ending *ending, struct store_record *record,
              struct fz_error *err)
{
    const struct store_job *job = ending->end->job;
    const struct store_report_done *done = &ending->done;
    const struct fz_span stripped = fz_span_make(ending->stripped, ending->stripped_len);
    struct fz_arena *arena = record->arena;
    struct store_job_row row = {0};
    bool news = false;
    enum fz_code code = store_job_lock(store, job, &row, err);
    if (code == FZ_OK)
        code = has_news(store, job, &row, done, arena, &news, err);
    if (code == FZ_OK)
        /* Under the project's lock, since the sweep deletes sets without reports under it. */
        code = store_image_set(store, job->project_id, done, arena, &ending->image_set, err);
    if (code == FZ_OK)
        code = store_wait_set(store, job->project_id, done, arena, &ending->wait_set, err);
    ending->again = row.again;
    record->sealed_ms = row.sealed_ms;
    /* The rules of the project have changed since its key was made: it is done again at once. What
     * was stored of it stays until then. */
    if (code == FZ_OK && done->grouping && done->grouping->rules_version != row.rules_version)
        return store_job_requeue(store, job->id, row.again, err);
    /* What is done once more needs the memory: the next end removes it. */
    if (code == FZ_OK && !news && !row.again)
        code = store_body_strip(store, job, stripped, &ending->memory, err);
    if (code == FZ_OK)
        code = update_report(store, job, ending, arena, err);
    if (code != FZ_OK)
        return code;
    code = store_run_settle(store->sql, &ending->run, &ending->row.is_counted, err);
    if (code == FZ_OK)
        code = store_record_add(record, &ending->recorded, &ending->row, err);
    if (code == FZ_OK)
        code = store_result(store, ending, err);
    if (code == FZ_OK)
        /* In this transaction: a report that fails leaves no names. */
        code = store_learned_add(store, job, done, arena, err);
    if (code == FZ_OK)
        code = news || row.again ? store_job_requeue(store, job->id, row.again, err)
                                 : store_job_delete(store, job->id, err);
    return code;
}

/* Is it the first one of the batch that came to its issue? */
static bool
is_first_of_issue(const struct ending *endings, size_t i)
{
    int64_t issue_id = endings[i].recorded.fact.issue_id;
    for (size_t k = 0; k < i; k++) {
        if (endings[k].recorded.fact.issue_id == issue_id)
            return false;
    }
    return issue_id != 0;
}

static enum fz_code
count_changes(struct store *store, const struct ending *endings, size_t n,
              const struct store_record *record, struct fz_error *err)
{
    struct store_changed changed = {.project_id = record->project_id,
                                    .n = {[STORE_CHANGE_NEW_ISSUE] = record->n_new_issues},
                                    .new_issue_id = record->new_issue_id};
    for (size_t i = 0; i < n; i++) {
        /* Not those that only answer a request, nor those that will be done again first. */
        if (!endings[i].row.is_kept)
            continue;
        changed.n[STORE_CHANGE_REPORT]++;
        changed.report = endings[i].row.id;
        if (!is_first_of_issue(endings, i))
            continue;
        changed.n[STORE_CHANGE_ISSUE]++;
        changed.issue_id = endings[i].recorded.fact.issue_id;
    }
    return store_changed_count(store, &changed, err);
}

static enum fz_code
finish_batch(struct store *store, struct ending *endings, size_t n, struct store_record *record,
             struct fz_error *err)
{
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(store->sql, &tx, err);
    if (code == FZ_OK)
        /* Before the look for news, and until the commit: fact 2 above. */
        code = sql_lock(tx, record->project_id, record->is_exclusive, err);
    for (size_t i = 0; code == FZ_OK && i < n; i++) {
        struct store_report_end *end = endings[i].end;
        code = finish_report(store, &endings[i], record, &end->err);
        end->code = code == FZ_E_CONFLICT ? code : FZ_OK;
        if (code == FZ_E_CONFLICT)
            code = FZ_OK;
        else if (code != FZ_OK && err)
            *err = end->err;
    }
    if (code == FZ_OK)
        code = store_record_end(record, err);
    if (code == FZ_OK)
        code = count_changes(store, endings, n, record, err);
    return code == FZ_OK ? sql_commit(&tx, err) : code;
}

static enum fz_code
pack(struct store *store, int64_t project_id, const struct store_report_done *done,
     struct ending *ending, struct fz_error *err)
{
    const struct store_dictionary_key of_result = {project_id, done->format,
                                                   STORE_DICTIONARY_RESULT},
                                      of_body = {project_id, done->format, STORE_DICTIONARY_BODY};
    FZ_CLEANUP(store_dictionary_releasep)
    struct store_dictionary *dictionary = store_dictionary_newest(store, &of_result);
    enum fz_code code = store_pack_with(done->result, dictionary, &store->packer, &ending->result,
                                        &ending->result_len, err);
    if (code != FZ_OK || !done->stripped.len)
        return code;
    store_dictionary_release(dictionary);
    dictionary = store_dictionary_newest(store, &of_body);
    return store_pack_with(done->stripped, dictionary, &store->packer, &ending->stripped,
                           &ending->stripped_len, err);
}

/* Before the transaction, which holds locks that others wait for: compression, new names, terms. */
static enum fz_code
prepare(struct store *store, struct ending *ending, struct fz_arena *arena, struct fz_error *err)
{
    const struct store_job *job = ending->end->job;
    struct store_report_done *done = &ending->done;
    enum fz_code code = pack(store, job->project_id, done, ending, err);
    if (code == FZ_OK)
        code = store_learned_news(store, job, done, arena, err);
    if (code == FZ_OK)
        code = store_record_prepare(store, job->project_id, done, arena, &ending->recorded, err);
    return code;
}

static void
drop_endings(struct ending *endings, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(endings[i].result);
        free(endings[i].stripped);
        store_record_deinit(&endings[i].recorded);
    }
}

/* Most batches belong to issues that are known; only a new key needs the lock for itself. */
static enum fz_code
finish_prepared(struct store *store, struct ending *endings, size_t n, struct fz_error *err)
{
    bool is_exclusive = store->sql->driver->has_one_writer, needs_exclusive;
    int n_tries = 0;
    enum fz_code code;
    do {
        /* A new one for each try, or a retry could run out of memory that the first try used. */
        FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(n * FINISH_MEMORY);
        struct store_record record = {.store = store,
                                      .project_id = endings[0].end->job->project_id,
                                      .arena = &arena,
                                      .is_exclusive = is_exclusive,
                                      .deltas = {.arena = &arena}};
        code = finish_batch(store, endings, n, &record, err);
        needs_exclusive = code != FZ_OK && record.needs_exclusive && !is_exclusive;
        is_exclusive = is_exclusive || needs_exclusive;
    } while (needs_exclusive || sql_try_again(store->sql, code, &n_tries));
    return code;
}

enum fz_code
store_job_finish_reports(struct store *store, struct store_report_end *ends, size_t n,
                         struct fz_error *err)
{
    struct ending endings[STORE_ENDS_MAX];
    if (n == 0 || n > STORE_ENDS_MAX)
        return n ? fz_fail(err, FZ_E_LIMIT, "%zu reports at once", n) : FZ_OK;
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(n * FINISH_MEMORY);
    enum fz_code code = FZ_OK;
    for (size_t i = 0; i < n; i++)
        endings[i] = (struct ending){.end = &ends[i], .done = *ends[i].done};
    for (size_t i = 0; code == FZ_OK && i < n; i++)
        code = prepare(store, &endings[i], &arena, err);
    if (code == FZ_OK)
        code = finish_prepared(store, endings, n, err);
    drop_endings(endings, n);
    return code;
}

enum fz_code
store_job_finish_report(struct store *store, const struct store_job *job,
                        const struct store_report_done *done, struct fz_error *err)
{
    struct store_report_end end = {.job = job, .done = done};
    enum fz_code code = store_job_finish_reports(store, &end, 1, err);
    if (code == FZ_OK && end.code != FZ_OK) {
        if (err)
            *err = end.err;
        return end.code;
    }
    return code;
}

/* ---- uploads ---- */

static enum fz_code
next_symbol_seq(struct sql *tx, int64_t project_id, int64_t *ret, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(project_id)};
    return sql_number(
        tx, "UPDATE projects SET symbol_seq = symbol_seq + 1 WHERE id = $1 RETURNING symbol_seq",
        args, 1, ret, NULL, err);
}

static enum fz_code
end_upload(struct store *store, const struct store_job *job, const char *result,
           bool *ret_is_rebuild, struct fz_error *err)
{
    int64_t is_rebuild = 0;
    const struct sql_value args[] = {sql_int(job->project_id), sql_text(job->subject),
                                     sql_text(result)};
    enum fz_code code = sql_number(store->sql,
                                   "UPDATE uploads SET state = 'done', result = $3, error = NULL, "
                                   "error_code = 0 WHERE project_id = $1 AND id = $2 RETURNING "
                                   "rebuild",
                                   args, FZ_ARRAY_LEN(args), &is_rebuild, NULL, err);
    *ret_is_rebuild = is_rebuild != 0;
    if (code == FZ_OK)
        code = store_upload_drop_blob(store->sql, job, err);
    return code == FZ_OK ? store_job_delete(store, job->id, err) : code;
}

/* The files are there for every claim from now on. */
static enum fz_code
register_symbols(struct store *store, const struct store_job *job, struct store_symbol *symbols,
                 size_t n, struct fz_arena *arena, int64_t *ret_last_report, struct fz_error *err)
{
    struct store_job_row row = {0};
    int64_t seq = 0;
    bool is_rebuild = false;
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(store->sql, &tx, err);
    if (code == FZ_OK)
        code = store_job_lock(store, job, &row, err);
    if (code == FZ_OK)
        code = sql_lock(tx, job->project_id, true, err);
    if (code == FZ_OK)
        code = store_job_is_rebuild(store, job, &is_rebuild, err);
    if (code == FZ_OK)
        code = next_symbol_seq(tx, job->project_id, &seq, err);
    for (size_t i = 0; code == FZ_OK && i < n; i++) {
        /* The child has no say in whose files they are. */
        symbols[i].project_id = job->project_id;
        code = store_symbol_register(store, &symbols[i], is_rebuild, seq, arena, err);
    }
    if (code == FZ_OK)
        code = store_rebuild_with_maps(store, job, is_rebuild, symbols, n, arena, err);
    if (code == FZ_OK)
        /* Reports above this key are claimed after the commit and see the files themselves. */
        code = sql_number(tx, "SELECT coalesce(max(key), 0) FROM reports", NULL, 0, ret_last_report,
                          NULL, err);
    const struct store_changed changed = {.project_id = job->project_id,
                                          .n = {[STORE_CHANGE_SYMBOLS] = n}};
    if (code == FZ_OK)
        code = store_changed_count(store, &changed, err);
    return code == FZ_OK ? sql_commit(&tx, err) : code;
}

enum fz_code
store_job_register_symbols(struct store *store, const struct store_job *job,
                           struct store_symbol *symbols, size_t n, struct fz_arena *arena,
                           uint64_t *ret_unblocked, struct fz_error *err)
{
    int64_t last_report = 0;
    int n_tries = 0;
    enum fz_code code;
    do
        code = register_symbols(store, job, symbols, n, arena, &last_report, err);
    while (sql_try_again(store->sql, code, &n_tries));
    if (code == FZ_OK)
        code = store_unblock(store, job, symbols, n, last_report, arena, err);
    return code == FZ_OK ? store_unblocked(store->sql, job, ret_unblocked, err) : code;
}

static enum fz_code
finish_upload(struct store *store, const struct store_job *job, const char *result,
              struct fz_error *err)
{
    struct store_job_row row = {0};
    bool is_rebuild = false;
    uint64_t n_unblocked = 0;
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(store->sql, &tx, err);
    if (code == FZ_OK)
        code = store_job_lock(store, job, &row, err);
    if (code == FZ_OK)
        code = end_upload(store, job, result, &is_rebuild, err);
    if (code == FZ_OK)
        code = store_unblocked(tx, job, &n_unblocked, err);
    /* What the server only builds again, no client has sent. */
    const struct store_changed changed = {
        .project_id = job->project_id,
        .n = {[STORE_CHANGE_UPLOAD] = !is_rebuild,
              [STORE_CHANGE_UNBLOCKED] = is_rebuild ? 0 : n_unblocked},
        .upload = job->subject};
    if (code == FZ_OK)
        code = store_changed_count(store, &changed, err);
    return code == FZ_OK ? sql_commit(&tx, err) : code;
}

enum fz_code
store_job_finish_upload(struct store *store, const struct store_job *job, const char *result,
                        struct fz_error *err)
{
    int n_tries = 0;
    enum fz_code code;
    do
        code = finish_upload(store, job, result, err);
    while (sql_try_again(store->sql, code, &n_tries));
    return code;
}
