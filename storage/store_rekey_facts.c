#include "storage/store_rekey_facts.h"

#include <stdlib.h>

#include "storage/store_fact_days.h"
#include "storage/store_rekey_places.h"
#include "storage/store_terms.h"

enum fz_code
store_rekey_remember(struct store_rekey *r, int64_t issue_id, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(r->project_id), sql_int(r->version),
                                     sql_int(issue_id)};
    /* Two, since a condition with OR would look at all issues. */
    enum fz_code code = sql_exec(
        r->store->sql,
        "INSERT INTO grouping_issues (project_id, version, issue_id, title, is_placeholder, "
        "merged_into) SELECT $1, $2, id, title, is_placeholder, merged_into FROM issues WHERE id = "
        "$3 ON CONFLICT (project_id, version, issue_id) DO NOTHING",
        args, FZ_ARRAY_LEN(args), NULL, err);
    if (code == FZ_OK)
        code = sql_exec(r->store->sql,
                        "INSERT INTO grouping_issues (project_id, version, issue_id, title, "
                        "is_placeholder, merged_into) SELECT $1, $2, id, title, is_placeholder, "
                        "merged_into FROM issues WHERE merged_into IS NOT NULL AND merged_into = "
                        "$3 ON CONFLICT (project_id, version, issue_id) DO NOTHING",
                        args, FZ_ARRAY_LEN(args), NULL, err);
    return code;
}

enum fz_code
store_rekey_revive(struct store_rekey *r, int64_t issue_id, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(issue_id)};
    return sql_exec(r->store->sql,
                    "UPDATE issues SET merged_into = NULL WHERE id = $1 AND merged_into IS NOT "
                    "NULL",
                    args, 1, NULL, err);
}

static enum fz_code
run(struct sql *tx, const char *const *steps, size_t n_steps, const struct sql_value *args,
    size_t n_args, struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < n_steps; i++)
        code = sql_exec(tx, steps[i], args, n_args, NULL, err);
    return code;
}

/* ---- users of issues ---- */

/* Reports that change from one issue to another, and the share that they are. */
struct leaving {
    int64_t from, into;
    size_t share;
};

static int
compare_leaving(const void *a, const void *b)
{
    const struct leaving *x = a, *y = b;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    if (x->into != y->into)
        return x->into < y->into ? -1 : 1;
    return (x->share > y->share) - (x->share < y->share);
}

/* All that an issue has, from where they are kept meanwhile. */
static enum fz_code
add_users(struct sql *tx, int64_t from, int64_t into, struct fz_error *err)
{
    static const char *const steps[] = {
        "INSERT INTO issue_users (issue_id, user_id, n) SELECT $2, user_id, n FROM issue_users "
        "WHERE issue_id = $1 ON CONFLICT (issue_id, user_id) DO UPDATE SET n = issue_users.n + "
        "excluded.n",
        "DELETE FROM issue_users WHERE issue_id = $1 AND $2 <> 0",
    };
    const struct sql_value args[] = {sql_int(from), sql_int(into)};
    return run(tx, steps, FZ_ARRAY_LEN(steps), args, 2, err);
}

/* "FROM" and what follows, of the counted facts of a share: $2 is its variant, $3 the key of its place
 * unless all of the variant goes there. */
static void
add_theirs(const struct store_rekey_moving *m, const struct store_rekey_share *share,
           struct fz_buffer *text)
{
    if (m->rows[share->row].n_parts == 1)
        fz_buffer_text(text, "FROM facts f WHERE f.variant_id = $2 AND f.is_counted = 1");
    else if (store_rekey_by_stacks(m, share))
        /* SQLite keeps the order of a CROSS JOIN. */
        fz_buffer_printf(text,
                         "FROM stacks s CROSS JOIN facts f WHERE s.key_id = $3 AND f.stack_key = "
                         "s.key AND f.stack_key > 0 AND %sf.variant_id = $2 AND f.is_counted = 1",
                         m->r->store->sql->driver->no_index);
    else
        fz_buffer_text(text, "FROM facts f WHERE f.variant_id = $2 AND f.is_counted = 1 AND "
                             "f.stack_key IN (SELECT key FROM stacks WHERE key_id = $3)");
}

/* The users of some of the issue's reports, as those of the issue of this number below 0. */
static enum fz_code
collect_users(const struct store_rekey_moving *m, const struct leaving *one, struct fz_error *err)
{
    const struct store_rekey_share *share = &m->shares[one->share];
    const struct store_rekey_row *row = &m->rows[share->row];
    const struct sql_value args[] = {sql_int(-one->from), sql_int(row->id),
                                     sql_int(m->places[share->place].key_id)};
    struct sql *tx = m->r->store->sql;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    fz_buffer_text(&text, "INSERT INTO issue_users (issue_id, user_id, n) SELECT $1, f.user_id, "
                          "count(*) ");
    add_theirs(m, share, &text);
    fz_buffer_text(&text, " AND f.user_id > 0 GROUP BY f.user_id ON CONFLICT (issue_id, user_id) "
                          "DO UPDATE SET n = issue_users.n + excluded.n");
    enum fz_code code = fz_buffer_done(&text, err);
    return code == FZ_OK
               ? sql_exec(tx, fz_buffer_cstr(&text), args, row->n_parts == 1 ? 2 : 3, NULL, err)
               : code;
}

/* Some of the reports of an issue leave it. */
static enum fz_code
part_users(const struct store_rekey_moving *m, const struct leaving *list, size_t n,
           struct fz_error *err)
{
    static const char *const steps[] = {
        "UPDATE issue_users SET n = n - f.n_facts FROM (SELECT user_id AS id, n AS n_facts FROM "
        "issue_users WHERE issue_id = $1) AS f WHERE user_id = f.id AND issue_id = $2",
        "DELETE FROM issue_users WHERE issue_id = $2 AND n <= 0 AND $1 <> 0",
    };
    const struct sql_value args[] = {sql_int(-list->from), sql_int(list->from)};
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < n; i++)
        code = collect_users(m, &list[i], err);
    if (code == FZ_OK)
        code = run(m->r->store->sql, steps, FZ_ARRAY_LEN(steps), args, 2, err);
    return code == FZ_OK ? add_users(m->r->store->sql, -list->from, list->into, err) : code;
}

/* All reports of an issue go to one other. */
static enum fz_code
goes_whole(const struct store_rekey_moving *m, const struct leaving *list, size_t n, bool *ret,
           struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(list->from)};
    int64_t all = 0, leave = 0;
    for (size_t i = 0; i < n; i++)
        leave += m->shares[list[i].share].n_counted;
    enum fz_code code = sql_number(m->r->store->sql, "SELECT n_reports FROM issues WHERE id = $1",
                                   args, 1, &all, NULL, err);
    *ret = all == leave;
    return code;
}

/* Issues that go as a whole first step aside, so that nothing is added to them before. */
static enum fz_code
move_users(const struct store_rekey_moving *m, struct leaving *list, size_t n, struct fz_error *err)
{
    struct sql *tx = m->r->store->sql;
    bool *is_whole = fz_arena_array(m->r->arena, n, sizeof(*is_whole));
    enum fz_code code = FZ_OK;
    if (!is_whole)
        return fz_arena_fail(m->r->arena, err);
    for (int pass = 0; pass < 3; pass++) {
        for (size_t i = 0, end; code == FZ_OK && i < n; i = end) {
            const struct sql_value args[] = {sql_int(list[i].from), sql_int(-list[i].from)};
            for (end = i; end < n && list[end].from == list[i].from; end++) {
                if (list[end].into != list[i].into)
                    break;
            }
            if (pass == 0)
                code = goes_whole(m, &list[i], end - i, &is_whole[i], err);
            if (code == FZ_OK && pass == 0 && is_whole[i])
                code = sql_exec(tx, "UPDATE issue_users SET issue_id = $2 WHERE issue_id = $1",
                                args, 2, NULL, err);
            if (pass == 1 && !is_whole[i])
                code = part_users(m, &list[i], end - i, err);
            if (pass == 2 && is_whole[i])
                code = add_users(tx, -list[i].from, list[i].into, err);
        }
    }
    return code;
}

static enum fz_code
change_issues(const struct store_rekey_moving *m, struct fz_error *err)
{
    struct leaving *list = fz_arena_array(m->r->arena, m->n_shares, sizeof(*list));
    enum fz_code code = FZ_OK;
    size_t n = 0;
    if (!list)
        return fz_arena_fail(m->r->arena, err);
    for (size_t i = 0; i < m->n_shares; i++) {
        const struct store_rekey_place *from = &m->places[m->rows[m->shares[i].row].before];
        const struct store_rekey_place *into = &m->places[m->shares[i].place];
        if (from->issue_id != into->issue_id)
            list[n++] = (struct leaving){from->issue_id, into->issue_id, i};
    }
    if (n)
        qsort(list, n, sizeof(*list), compare_leaving);
    for (size_t i = 0; code == FZ_OK && i < n; i++) {
        if (i && list[i - 1].from == list[i].from && list[i - 1].into == list[i].into)
            continue;
        code = store_rekey_remember(m->r, list[i].from, err);
        if (code == FZ_OK)
            code = store_rekey_remember(m->r, list[i].into, err);
        if (code == FZ_OK)
            code = store_rekey_revive(m->r, list[i].into, err);
    }
    return code == FZ_OK ? move_users(m, list, n, err) : code;
}

/* ---- variants ---- */

static enum fz_code
put_row(const struct store_rekey_moving *m, const struct store_rekey_row *row, struct fz_error *err)
{
    const struct store_rekey_place *to = &m->places[row->after];
    const struct sql_value args[] = {sql_int(row->id), sql_int(to->key_id),
                                     sql_blob(fz_span_make(to->sha256, sizeof(to->sha256))),
                                     sql_int(to->issue_id)};
    return sql_exec(m->r->store->sql,
                    "UPDATE variants SET key_id = $2, sha256 = $3, issue_id = $4 WHERE id = $1",
                    args, FZ_ARRAY_LEN(args), NULL, err);
}

static enum fz_code
add_row(const struct store_rekey_moving *m, struct store_rekey_place *to, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(to->key_id),
                                     sql_blob(fz_span_make(to->sha256, sizeof(to->sha256))),
                                     sql_int(to->issue_id), sql_int(m->rows[to->like].id)};
    return sql_number(m->r->store->sql,
                      "INSERT INTO variants (key_id, sha256, issue_id, label, first_ms, last_ms) "
                      "SELECT $1, $2, $3, label, first_ms, last_ms FROM variants WHERE id = $4 "
                      "RETURNING id",
                      args, FZ_ARRAY_LEN(args), &to->id, NULL, err);
}

static enum fz_code
put_rows(struct store_rekey_moving *m, struct fz_error *err)
{
    struct sql *tx = m->r->store->sql;
    enum fz_code code = FZ_OK;
    /* Two may change places: whoever leaves one first takes a hash that no variant has. */
    for (size_t i = 0; code == FZ_OK && i < m->n_rows; i++) {
        const struct store_rekey_row *row = &m->rows[i];
        const struct sql_value args[] = {sql_int(row->id),
                                         sql_blob(fz_span_make(&row->id, sizeof(row->id)))};
        if (row->after != row->before)
            code = sql_exec(tx, "UPDATE variants SET sha256 = $2 WHERE id = $1", args,
                            FZ_ARRAY_LEN(args), NULL, err);
    }
    for (size_t i = 0; code == FZ_OK && i < m->n_rows; i++) {
        const struct store_rekey_row *row = &m->rows[i];
        if (row->after == STORE_REKEY_NONE)
            continue;
        m->places[row->after].id = row->id;
        if (row->after != row->before)
            code = put_row(m, row, err);
    }
    for (size_t i = 0; code == FZ_OK && i < m->n_places; i++) {
        if (m->places[i].after == STORE_REKEY_NONE)
            code = add_row(m, &m->places[i], err);
    }
    return code;
}

/* Those whose reports have all gone to others. */
static enum fz_code
drop_rows(const struct store_rekey_moving *m, struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < m->n_rows; i++) {
        const struct sql_value args[] = {sql_int(m->rows[i].id)};
        if (m->rows[i].after == STORE_REKEY_NONE)
            code = sql_exec(m->r->store->sql, "DELETE FROM variants WHERE id = $1", args, 1, NULL,
                            err);
    }
    return code;
}

/* ---- facts and counts by variant ---- */

/* What is counted of $1 counts for $2, too. */
static const char *const give_steps[] = {
    "INSERT INTO issue_hours (variant_id, hour, n) SELECT $2, hour, n FROM issue_hours WHERE "
    "variant_id = $1 ON CONFLICT (variant_id, hour) DO UPDATE SET n = issue_hours.n + excluded.n",
    "INSERT INTO issue_days (variant_id, field, term_id, day, n) SELECT $2, field, term_id, day, n "
    "FROM issue_days WHERE variant_id = $1 ON CONFLICT (variant_id, field, term_id, day) DO UPDATE "
    "SET n = issue_days.n + excluded.n",
};
/* What is counted of $1 no longer counts for $2. */
static const char *const take_steps[] = {
    "UPDATE issue_hours SET n = n - f.n_facts FROM (SELECT hour AS at, n AS n_facts FROM "
    "issue_hours WHERE variant_id = $1) AS f WHERE variant_id = $2 AND hour = f.at",
    "UPDATE issue_days SET n = n - f.n_facts FROM (SELECT field AS what, term_id AS term, day AS "
    "at, "
    "n AS n_facts FROM issue_days WHERE variant_id = $1) AS f WHERE variant_id = $2 AND field = "
    "f.what AND term_id = f.term AND day = f.at",
    "DELETE FROM issue_hours WHERE variant_id = $2 AND n <= 0 AND $1 <> 0",
    "DELETE FROM issue_days WHERE variant_id = $2 AND n <= 0 AND $1 <> 0",
};
static const char *const drop_steps[] = {
    "DELETE FROM issue_hours WHERE variant_id = $1",
    "DELETE FROM issue_days WHERE variant_id = $1",
};

/* What is counted of a share, under a number that no variant has. */
static enum fz_code
collect_counts(const struct store_rekey_moving *m, const struct store_rekey_share *share,
               const struct sql_value args[3], struct fz_error *err)
{
    struct sql *tx = m->r->store->sql;
    enum fz_code code = FZ_OK;
    /* 0: hours. */
    for (int term = 0; code == FZ_OK && term < STORE_TERMS; term++) {
        const char *column = store_term_kinds[term].column;
        if (term && (!store_term_kinds[term].is_daily || !column))
            continue;
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
        if (term)
            fz_buffer_printf(&text,
                             "INSERT INTO issue_days (variant_id, field, term_id, day, n) SELECT "
                             "$1, %d, f.%s, f.received_ms / 86400000, count(*) ",
                             term, column);
        else
            fz_buffer_text(&text, "INSERT INTO issue_hours (variant_id, hour, n) SELECT $1, "
                                  "f.received_ms / 3600000, count(*) ");
        add_theirs(m, share, &text);
        if (term)
            fz_buffer_printf(&text, " AND f.%s > 0 GROUP BY f.%s, f.received_ms / 86400000", column,
                             column);
        else
            fz_buffer_text(&text, " GROUP BY f.received_ms / 3600000");
        code = fz_buffer_done(&text, err);
        if (code == FZ_OK)
            code = sql_exec(tx, fz_buffer_cstr(&text), args, 3, NULL, err);
    }
    return code;
}

/* Some reports of a variant become those of another. */
static enum fz_code
move_part(const struct store_rekey_moving *m, const struct store_rekey_share *share,
          struct fz_error *err)
{
    struct sql *tx = m->r->store->sql;
    const struct store_rekey_place *to = &m->places[share->place];
    const int64_t from = m->rows[share->row].id;
    const struct sql_value collect[] = {sql_int(-from), sql_int(from), sql_int(to->key_id)};
    const struct sql_value give[] = {sql_int(-from), sql_int(to->id)};
    const struct sql_value move[] = {sql_int(from), sql_int(to->id), sql_int(to->key_id)};
    enum fz_code code = collect_counts(m, share, collect, err);
    if (code == FZ_OK)
        code = run(tx, give_steps, FZ_ARRAY_LEN(give_steps), give, 2, err);
    if (code == FZ_OK)
        code = run(tx, take_steps, FZ_ARRAY_LEN(take_steps), collect, 2, err);
    if (code == FZ_OK)
        code = run(tx, drop_steps, FZ_ARRAY_LEN(drop_steps), give, 1, err);
    if (code != FZ_OK)
        return code;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    fz_buffer_printf(&text,
                     "UPDATE facts SET variant_id = $2 WHERE %svariant_id = $1 AND stack_key > 0 "
                     "AND stack_key IN (SELECT key FROM stacks WHERE key_id = $3)",
                     store_rekey_by_stacks(m, share) ? tx->driver->no_index : "");
    code = fz_buffer_done(&text, err);
    return code == FZ_OK ? sql_exec(tx, fz_buffer_cstr(&text), move, 3, NULL, err) : code;
}

/* All reports of a variant do. */
static enum fz_code
move_all(struct sql *tx, int64_t from, int64_t to, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(from), sql_int(to)};
    enum fz_code code = run(tx, give_steps, FZ_ARRAY_LEN(give_steps), args, 2, err);
    if (code == FZ_OK)
        code = run(tx, drop_steps, FZ_ARRAY_LEN(drop_steps), args, 1, err);
    return code == FZ_OK ? sql_exec(tx, "UPDATE facts SET variant_id = $2 WHERE variant_id = $1",
                                    args, 2, NULL, err)
                         : code;
}

/* When the first and the last counted report of the variant were received. */
static enum fz_code
put_times(struct sql *tx, int64_t variant_id, int64_t n_more, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(variant_id), sql_int(n_more)};
    return sql_exec(tx,
                    "UPDATE variants SET n_reports = n_reports + $2, first_ms = coalesce((SELECT "
                    "received_ms FROM facts WHERE variant_id = $1 AND is_counted = 1 ORDER BY "
                    "received_ms LIMIT 1), first_ms), last_ms = coalesce((SELECT received_ms FROM "
                    "facts WHERE variant_id = $1 AND is_counted = 1 ORDER BY received_ms DESC "
                    "LIMIT 1), last_ms) WHERE id = $1",
                    args, 2, NULL, err);
}

static enum fz_code
move_facts(const struct store_rekey_moving *m, struct fz_error *err)
{
    struct sql *tx = m->r->store->sql;
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < m->n_shares; i++) {
        const struct store_rekey_share *share = &m->shares[i];
        const struct store_rekey_row *row = &m->rows[share->row];
        const struct store_rekey_place *to = &m->places[share->place];
        if (to->id == row->id)
            continue;
        code = store_variant_facts_changed(tx, m->r->project_id, row->id, err);
        if (code != FZ_OK)
            return code;
        code = row->n_parts == 1 ? move_all(tx, row->id, to->id, err) : move_part(m, share, err);
        if (code == FZ_OK)
            code = put_times(tx, row->id, -share->n_counted, err);
        if (code == FZ_OK)
            code = put_times(tx, to->id, share->n_counted, err);
    }
    return code;
}

enum fz_code
store_rekey_facts(struct store_rekey *r, struct fz_error *err)
{
    struct store_rekey_moving moving = {.r = r};
    enum fz_code code = store_rekey_places(&moving, err);
    if (code == FZ_OK)
        code = change_issues(&moving, err);
    if (code == FZ_OK)
        code = put_rows(&moving, err);
    if (code == FZ_OK)
        code = move_facts(&moving, err);
    return code == FZ_OK ? drop_rows(&moving, err) : code;
}
