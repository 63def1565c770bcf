#include "storage/store_record.h"

#include <stdlib.h>
#include <string.h>

#include "base/json/write.h"
#include "base/list.h"
#include "base/random.h"
#include "base/text.h"
#include "base/version.h"
#include "storage/store_activity.h"
#include "storage/store_fact_days.h"
#include "storage/store_regress.h"

/* ---- before the transaction ---- */

/* The columns that are terms, as references: two columns may be the text and the detail of one. */
static void
collect_columns(const struct store *store, const union fz_value *values,
                struct store_term_ref refs[STORE_FACT_TERMS])
{
    for (int term = 0; term < STORE_FACT_TERMS; term++)
        refs[term] = (struct store_term_ref){.term = (enum store_term)term};
    for (size_t i = 0; values && i < store->columns.n; i++) {
        const struct fz_column *column = &store->columns.list[i];
        for (int term = 1; column->term && term < STORE_FACT_TERMS; term++) {
            if (strcmp(store_term_kinds[term].name, column->term) != 0)
                continue;
            if (column->is_detail)
                refs[term].detail = values[i].text;
            else
                refs[term].text = values[i].text;
        }
    }
}

/* The lines of a text of tags, "\nname=value\n". */
static enum fz_code
collect_tags(const char *tags, struct fz_arena *arena, struct store_term_ref *refs, size_t *n,
             struct fz_error *err)
{
    while (tags && *tags && *n < STORE_FACT_TAGS) {
        size_t len = strcspn(tags, "\n");
        if (len) {
            const char *line = fz_arena_text(arena, fz_span_make(tags, len));
            if (!line)
                return fz_arena_fail(arena, err);
            refs[(*n)++] = (struct store_term_ref){.term = STORE_TERM_TAG, .text = line};
        }
        tags += len + (tags[len] != '\0');
    }
    return FZ_OK;
}

static size_t
collect_texts(enum store_term term, const char *const *texts, size_t n_texts,
              struct store_term_ref *refs)
{
    size_t n = n_texts < STORE_STACK_TEXTS ? n_texts : STORE_STACK_TEXTS;
    for (size_t i = 0; i < n; i++)
        refs[i] = (struct store_term_ref){.term = term, .text = texts[i]};
    return n;
}

/* The function at the top as reports show it, with its parameters: what people paste into a search. A
 * stack has declarations, which have none. */
static const char *
full_name_of_top(const struct store *store, const struct store_report_done *done)
{
    const char *top = fz_columns_text(&store->columns, done->values, "top_function");
    for (size_t i = 0; top && i < done->grouping->n_functions; i++) {
        if (strcmp(done->grouping->functions[i], top) == 0)
            return NULL;
    }
    return top;
}

/* The stack, unless it is there already. */
static enum fz_code
prepare_stack(struct store *store, int64_t project_id, const struct store_grouping *grouping,
              struct store_recorded *ret, struct fz_error *err)
{
    char hex[FZ_SHA256_TEXT];
    bool known = false;
    fz_sha256_hex(grouping->stack, hex);
    if (!fz_text_unhex(fz_span_cstr(hex), ret->stack_sha256))
        return fz_fail(err, FZ_E_INTERNAL, "SHA-256 of a stack");
    const struct sql_value args[] = {sql_int(project_id),
                                     sql_blob(fz_span_make(ret->stack_sha256, FZ_SHA256_LEN))};
    enum fz_code code =
        sql_number(store->sql, "SELECT key FROM stacks WHERE project_id = $1 AND sha256 = $2", args,
                   FZ_ARRAY_LEN(args), NULL, &known, err);
    return code == FZ_OK && !known
               ? store_pack(grouping->stack, &store->packer, &ret->stack, &ret->stack_len, err)
               : code;
}

static void
keep_ids(const struct store_term_ref *refs, size_t n, int64_t *ids, size_t *n_ids)
{
    for (size_t i = 0; i < n; i++) {
        if (refs[i].id)
            ids[(*n_ids)++] = refs[i].id;
    }
}

static enum fz_code
sort_of_version(const struct store_term_ref *version, struct fz_arena *arena, struct fz_span *ret,
                struct fz_error *err)
{
    uint8_t room[FZ_VERSION_KEY_MAX];
    if (!version->id)
        return FZ_OK;
    size_t len = fz_version_key(version->text, version->detail, room);
    uint8_t *copy = fz_arena_alloc(arena, len);
    if (!copy)
        return fz_arena_fail(arena, err);
    memcpy(copy, room, len);
    *ret = fz_span_make(copy, len);
    return FZ_OK;
}

enum fz_code
store_record_prepare(struct store *store, int64_t project_id, const struct store_report_done *done,
                     struct fz_arena *arena, struct store_recorded *ret, struct fz_error *err)
{
    enum { TEXTS = 2 * STORE_STACK_TEXTS + 1, REFS = STORE_FACT_TERMS + STORE_FACT_TAGS + TEXTS };
    const struct store_grouping *grouping = done->grouping;
    *ret = (struct store_recorded){.done = done, .is_grouped = grouping != NULL};
    if (!grouping)
        return FZ_OK;
    struct store_term_ref *refs = fz_arena_array(arena, REFS, sizeof(*refs));
    ret->tags = fz_arena_array(arena, STORE_FACT_TAGS, sizeof(*ret->tags));
    ret->texts = fz_arena_array(arena, TEXTS, sizeof(*ret->texts));
    if (!refs || !ret->tags || !ret->texts)
        return fz_arena_fail(arena, err);
    collect_columns(store, done->values, refs);
    size_t n_tags = 0, n_texts = 0;
    struct store_term_ref *tags = refs + STORE_FACT_TERMS;
    enum fz_code code = collect_tags(fz_columns_text(&store->columns, done->values, "tags"), arena,
                                     tags, &n_tags, err);
    if (code == FZ_OK)
        code = prepare_stack(store, project_id, grouping, ret, err);
    if (code != FZ_OK)
        return code;
    struct store_term_ref *texts = tags + n_tags;
    if (ret->stack) {
        n_texts =
            collect_texts(STORE_TERM_FUNCTION, grouping->functions, grouping->n_functions, texts);
        n_texts +=
            collect_texts(STORE_TERM_FILE, grouping->files, grouping->n_files, texts + n_texts);
    }
    const char *top = full_name_of_top(store, done);
    if (top)
        n_texts += collect_texts(STORE_TERM_FUNCTION, &top, 1, texts + n_texts);
    code = store_terms_number(store, project_id, refs, STORE_FACT_TERMS + n_tags + n_texts, arena,
                              err);
    if (code != FZ_OK)
        return code;
    for (int term = 1; term < STORE_FACT_TERMS; term++)
        ret->fact.terms[term] = refs[term].id;
    keep_ids(tags, n_tags, ret->tags, &ret->n_tags);
    keep_ids(texts, n_texts, ret->texts, &ret->n_texts);
    ret->kind = refs[STORE_TERM_KIND].text;
    return sort_of_version(&refs[STORE_TERM_VERSION], arena, &ret->fact.version_sort, err);
}

void
store_record_deinit(struct store_recorded *recorded)
{
    if (!recorded)
        return;
    free(recorded->stack);
    recorded->stack = NULL;
}

/* ---- the stack ---- */

static enum fz_code
add_stack_texts(struct sql *tx, int64_t stack_key, const struct store_recorded *r,
                struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < r->n_texts; i++) {
        const struct sql_value args[] = {sql_int(r->texts[i]), sql_int(stack_key)};
        code = sql_exec(tx,
                        "INSERT INTO stack_terms (term_id, stack_key) VALUES ($1, $2) ON CONFLICT "
                        "(term_id, stack_key) DO NOTHING",
                        args, FZ_ARRAY_LEN(args), NULL, err);
    }
    return code;
}

/* Stored once. The key is that of the project's rules at this time. */
static enum fz_code
put_stack(struct store_record *record, const struct store_recorded *r, int64_t key_id, int64_t *ret,
          struct fz_error *err)
{
    struct sql *tx = record->store->sql;
    const struct sql_value args[] = {
        sql_int(record->project_id), sql_blob(fz_span_make(r->stack_sha256, FZ_SHA256_LEN)),
        sql_int(key_id), sql_blob(fz_span_make(r->stack, r->stack_len))};
    bool found = false;
    *ret = r->stack_key;
    /* Stacks of overloads are the same: each has a full name of its own. */
    if (r->stack_key)
        return add_stack_texts(tx, r->stack_key, r, err);
    enum fz_code code =
        sql_number(tx, "SELECT key FROM stacks WHERE project_id = $1 AND sha256 = $2", args, 2, ret,
                   &found, err);
    if (code != FZ_OK || found)
        return code;
    /* It was there before the transaction: the sweep has deleted it since. */
    if (!r->stack)
        return fz_fail(err, FZ_E_UNAVAILABLE, "the stack of a report was deleted just now");
    code = sql_number(tx,
                      "INSERT INTO stacks (project_id, sha256, key_id, body) VALUES ($1, $2, $3, "
                      "$4) ON CONFLICT (project_id, sha256) DO NOTHING RETURNING key",
                      args, FZ_ARRAY_LEN(args), ret, &found, err);
    if (code != FZ_OK)
        return code;
    if (found)
        return add_stack_texts(tx, *ret, r, err);
    return sql_number(tx, "SELECT key FROM stacks WHERE project_id = $1 AND sha256 = $2", args, 2,
                      ret, NULL, err);
}

/* ---- facts ---- */

/* Where the report was before; *ret_found = false: nowhere. */
static enum fz_code
find_fact(struct sql *tx, const struct store_record *record, const struct store_record_row *row,
          struct store_fact *ret, bool *ret_found, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(record->project_id), sql_int(row->received_ms),
                                     sql_int(row->report_key)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query(
        tx,
        "SELECT f.variant_id, v.issue_id, f.stack_key, f.is_counted, f.version_id, f.os_id, "
        "f.device_id, f.arch_id, f.environment_id, f.kind_id, f.app_id, f.exception_id, "
        "f.signal_id, f.reason_id, f.user_id FROM facts f JOIN variants v ON v.id = f.variant_id "
        "WHERE f.project_id = $1 AND f.received_ms = $2 AND f.report_key = $3",
        args, FZ_ARRAY_LEN(args), &rows, err);
    *ret_found = sql_row(&rows, &code, err);
    if (code != FZ_OK || !*ret_found)
        return code;
    *ret = (struct store_fact){.received_ms = row->received_ms,
                               .report_key = row->report_key,
                               .variant_id = sql_col_int(&rows, 0),
                               .issue_id = sql_col_int(&rows, 1),
                               .stack_key = sql_col_int(&rows, 2),
                               .is_counted = sql_col_int(&rows, 3) != 0};
    for (int term = 1; term < STORE_FACT_TERMS; term++)
        ret->terms[term] = sql_col_int(&rows, 3 + term);
    return FZ_OK;
}

static enum fz_code
put_fact(struct sql *tx, int64_t project_id, const struct store_fact *fact, struct fz_error *err)
{
    struct sql_value args[8 + STORE_FACT_TERMS] = {
        sql_int(project_id),       sql_int(fact->received_ms), sql_int(fact->report_key),
        sql_int(fact->variant_id), sql_int(fact->stack_key),   sql_int(fact->status),
        sql_int(fact->is_counted)};
    for (int term = 1; term < STORE_FACT_TERMS; term++)
        args[6 + term] = sql_int(fact->terms[term]);
    return sql_exec(
        tx,
        "INSERT INTO facts (project_id, received_ms, report_key, variant_id, stack_key, status, "
        "is_counted, version_id, os_id, device_id, arch_id, environment_id, kind_id, app_id, "
        "exception_id, signal_id, reason_id, user_id) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, "
        "$10, $11, $12, $13, $14, $15, $16, $17, $18) "
        "ON CONFLICT (project_id, received_ms, report_key) DO UPDATE SET variant_id = "
        "excluded.variant_id, stack_key = excluded.stack_key, status = excluded.status, is_counted "
        "= excluded.is_counted, version_id = excluded.version_id, os_id = excluded.os_id, "
        "device_id = excluded.device_id, arch_id = excluded.arch_id, environment_id = "
        "excluded.environment_id, kind_id = excluded.kind_id, app_id = excluded.app_id, "
        "exception_id = excluded.exception_id, signal_id = excluded.signal_id, reason_id = "
        "excluded.reason_id, user_id = excluded.user_id",
        args, 6 + STORE_FACT_TERMS, NULL, err);
}

static enum fz_code
put_tags(struct sql *tx, int64_t project_id, const struct store_recorded *r, struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < r->n_tags; i++) {
        const struct sql_value args[] = {sql_int(r->tags[i]), sql_int(r->fact.received_ms),
                                         sql_int(r->fact.report_key), sql_int(project_id)};
        code = sql_exec(tx,
                        "INSERT INTO fact_tags (term_id, received_ms, report_key, project_id) "
                        "VALUES ($1, $2, $3, $4) ON CONFLICT (term_id, received_ms, report_key) DO "
                        "NOTHING",
                        args, FZ_ARRAY_LEN(args), NULL, err);
    }
    return code;
}

static bool
counts_the_same(const struct store_fact *a, const struct store_fact *b)
{
    return a->variant_id == b->variant_id && a->is_counted == b->is_counted &&
           memcmp(a->terms, b->terms, sizeof(a->terms)) == 0;
}

static enum fz_code
count(struct store_record *record, const struct store_fact *old, const struct store_fact *fact,
      struct fz_error *err)
{
    if (old && counts_the_same(old, fact))
        return FZ_OK;
    enum fz_code code = old ? store_deltas_add(&record->deltas, old, -1, err) : FZ_OK;
    return code == FZ_OK ? store_deltas_add(&record->deltas, fact, 1, err) : code;
}

static enum fz_code
mark_grouped(struct sql *tx, const struct store_record_row *row, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(row->report_key)};
    return sql_exec(tx, "UPDATE reports SET is_grouped = 1 WHERE key = $1 AND is_grouped = 0", args,
                    1, NULL, err);
}

static enum fz_code
add_news(struct store_record *record, struct store_recorded *recorded, struct fz_error *err)
{
    struct store_recorded **news = fz_list_grow_in(record->arena, record->news, &record->news_room,
                                                   record->n_news + 1, sizeof(*news));
    if (!news)
        return fz_arena_fail(record->arena, err);
    record->news = news;
    news[record->n_news++] = recorded;
    return FZ_OK;
}

/* ---- from one issue to another ---- */

/* Better names than the client's, or another unwinding, give a report another key. */
static enum fz_code
add_move(struct store_record *record, int64_t from, int64_t into, struct fz_error *err)
{
    for (size_t i = 0; i < record->n_moves; i++) {
        if (record->moves[i].from == from && record->moves[i].into == into)
            return FZ_OK;
    }
    struct store_move *moves = fz_list_grow_in(record->arena, record->moves, &record->moves_room,
                                               record->n_moves + 1, sizeof(*moves));
    if (!moves)
        return fz_arena_fail(record->arena, err);
    record->moves = moves;
    moves[record->n_moves++] = (struct store_move){from, into};
    return FZ_OK;
}

/* An issue that is left without reports is in no list, so its log says where they are. One entry for
 * each issue that took some: thousands may follow. */
static enum fz_code
log_move(struct store_record *record, const struct store_move *move, struct fz_error *err)
{
    struct sql *tx = record->store->sql;
    const struct sql_value from[] = {sql_int(move->from)}, into[] = {sql_int(move->into)};
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer detail = fz_buffer_make(0);
    struct json_write json = json_write_start(&detail);
    int64_t number = 0, n = 0;
    bool is_there = false, is_known = true;
    /* Either may have been merged since, in this transaction. */
    enum fz_code code =
        sql_number(tx, "SELECT number FROM issues WHERE id = $1 AND merged_into IS NULL", from, 1,
                   NULL, &is_there, err);
    if (code == FZ_OK)
        code = sql_number(tx,
                          "SELECT coalesce(m.number, i.number) FROM issues i LEFT JOIN issues m ON "
                          "m.id = i.merged_into WHERE i.id = $1",
                          into, 1, &number, NULL, err);
    json_write_open(&json, NULL, '{');
    json_write_i64(&json, "number", number);
    json_write_close(&json, '}');
    if (code == FZ_OK)
        code = fz_buffer_done(&detail, err);
    if (code != FZ_OK || !is_there)
        return code;
    const struct sql_value entry[] = {from[0], sql_text(fz_buffer_cstr(&detail))};
    code = sql_number(tx,
                      "SELECT 1 FROM issue_activity WHERE issue_id = $1 AND kind = 'moved' AND "
                      "detail = $2",
                      entry, 2, NULL, &is_known, err);
    if (code == FZ_OK)
        code = sql_number(
            tx, "SELECT count(*) FROM issue_activity WHERE issue_id = $1 AND kind = 'moved'", from,
            1, &n, NULL, err);
    const struct store_activity_new moved = {.project_id = record->project_id,
                                             .issue_id = move->from,
                                             .actor = store_actor,
                                             .kind = "moved",
                                             .detail = fz_buffer_cstr(&detail)};
    return code == FZ_OK && !is_known && n < STORE_MOVES_LOGGED
               ? store_activity_add(tx, &moved, err)
               : code;
}

/* ---- all of it ---- */

enum fz_code
store_record_add(struct store_record *record, struct store_recorded *recorded,
                 const struct store_record_row *row, struct fz_error *err)
{
    struct sql *tx = record->store->sql;
    struct store_fact old, *fact = &recorded->fact;
    bool has_old = false;
    int64_t key_id = 0;
    if (!row->is_kept)
        return FZ_OK;
    if (!recorded->is_grouped)
        /* A fact of an earlier end stays, but columns have texts of the report's row, too. */
        return row->is_again && row->received_ms < record->sealed_ms
                   ? store_ids_put(&record->old_days, row->received_ms / STORE_DAY_MS,
                                   record->arena, err)
                   : FZ_OK;
    fact->report_key = row->report_key;
    fact->received_ms = row->received_ms;
    fact->status = recorded->done->status;
    recorded->id = row->id;
    recorded->has_waited = row->is_old;
    enum fz_code code = row->is_again ? find_fact(tx, record, row, &old, &has_old, err) : FZ_OK;
    /* A crash that came in several reports is counted by the first of them. Deleting that one
     * changes no count, so what was decided stays. */
    fact->is_counted = code == FZ_OK && has_old ? old.is_counted : row->is_counted;
    if (code == FZ_OK)
        code = store_key_find(record, recorded, has_old ? &old : NULL, &key_id, err);
    if (code == FZ_OK && has_old)
        /* The keys may have been joined just now. */
        code = find_fact(tx, record, row, &old, &has_old, err);
    if (code == FZ_OK)
        code = put_stack(record, recorded, key_id, &fact->stack_key, err);
    if (code == FZ_OK)
        code = put_fact(tx, record->project_id, fact, err);
    if (code == FZ_OK && fact->received_ms < record->sealed_ms)
        code =
            store_ids_put(&record->old_days, fact->received_ms / STORE_DAY_MS, record->arena, err);
    if (code == FZ_OK && row->is_old)
        code = mark_grouped(tx, row, err);
    if (code == FZ_OK && !has_old)
        code = put_tags(tx, record->project_id, recorded, err);
    if (code == FZ_OK)
        code = count(record, has_old ? &old : NULL, fact, err);
    if (code == FZ_OK && has_old && old.issue_id != fact->issue_id)
        code = add_move(record, old.issue_id, fact->issue_id, err);
    return code == FZ_OK && fact->is_counted && (!row->is_again || recorded->has_waited)
               ? add_news(record, recorded, err)
               : code;
}

enum fz_code
store_record_end(struct store_record *record, struct fz_error *err)
{
    enum fz_code code = store_deltas_write(&record->deltas, record->store->sql, err);
    /* In one order, so that two transactions do not wait for each other. */
    store_ids_sort(&record->old_days);
    for (size_t i = 0; code == FZ_OK && i < record->old_days.n; i++)
        code = store_facts_changed(record->store->sql, record->project_id, record->old_days.list[i],
                                   err);
    for (size_t i = 0; code == FZ_OK && i < record->n_moves; i++)
        code = log_move(record, &record->moves[i], err);
    return code == FZ_OK ? store_regress_check(record, err) : code;
}

enum fz_code
store_record_forget(struct sql *tx, int64_t project_id, int64_t received_ms, int64_t report_key,
                    bool *ret_was_counted, struct fz_error *err)
{
    int64_t is_counted = 0;
    uint64_t random;
    fz_random(&random, sizeof(random));
    /* SQLite gives the key of a deleted row to a new one; negative keys are of deleted reports. */
    const struct sql_value args[] = {sql_int(project_id), sql_int(received_ms), sql_int(report_key),
                                     sql_int(-1 - (int64_t)(random >> 2))};
    enum fz_code code = sql_number(tx,
                                   "UPDATE facts SET report_key = $4 WHERE project_id = $1 AND "
                                   "received_ms = $2 AND report_key = $3 RETURNING is_counted",
                                   args, FZ_ARRAY_LEN(args), &is_counted, NULL, err);
    if (code == FZ_OK)
        code = sql_exec(tx,
                        "UPDATE fact_tags SET report_key = $4 WHERE report_key = $3 AND "
                        "received_ms = $2 AND project_id = $1",
                        args, FZ_ARRAY_LEN(args), NULL, err);
    if (code == FZ_OK)
        code = store_fact_changed(tx, project_id, received_ms, err);
    if (code == FZ_OK)
        *ret_was_counted = is_counted != 0;
    return code;
}
