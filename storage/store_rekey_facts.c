#include "storage/store_rekey_facts.h"

#include <stdlib.h>

#include "storage/store_fact_days.h"
#include "storage/store_rekey_parts.h"

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

/* The users of a variant that goes to another issue with all its reports. */
static enum fz_code
change_users(const struct store_rekey_moving *m, const struct leaving *one, struct fz_error *err)
{
    static const char *const steps[] = {
        "INSERT INTO issue_users (issue_id, user_id, n) SELECT $2, f.user_id, count(*) FROM facts "
        "f WHERE f.variant_id = $3 AND f.is_counted = 1 AND f.user_id > 0 AND $1 <> 0 GROUP BY "
        "f.user_id ON CONFLICT (issue_id, user_id) DO UPDATE SET n = issue_users.n + excluded.n",
        "INSERT INTO issue_users (issue_id, user_id, n) SELECT $1, f.user_id, -count(*) FROM facts "
        "f WHERE f.variant_id = $3 AND f.is_counted = 1 AND f.user_id > 0 AND $2 <> 0 GROUP BY "
        "f.user_id ON CONFLICT (issue_id, user_id) DO UPDATE SET n = issue_users.n + excluded.n",
    };
    const struct store_rekey_row *row = &m->rows[m->shares[one->share].row];
    const struct sql_value args[] = {sql_int(one->from), sql_int(one->into), sql_int(row->id)};
    return row->is_parted ? FZ_OK : run(m->r->store->sql, steps, FZ_ARRAY_LEN(steps), args, 3, err);
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

/* Reports of one issue that leave for one other. */
static size_t
end_of(const struct leaving *list, size_t n, size_t start)
{
    size_t end = start;
    while (end < n && list[end].from == list[start].from && list[end].into == list[start].into)
        end++;
    return end;
}

static enum fz_code
find_whole(struct store_rekey_moving *m, const struct leaving *list, size_t n, struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    m->whole = fz_arena_array(m->r->arena, n + 1, sizeof(*m->whole));
    if (!m->whole)
        return fz_arena_fail(m->r->arena, err);
    for (size_t i = 0, end; code == FZ_OK && i < n; i = end) {
        bool is_whole = false;
        end = end_of(list, n, i);
        code = goes_whole(m, &list[i], end - i, &is_whole, err);
        if (is_whole)
            m->whole[m->n_whole++] = list[i].from;
    }
    return code;
}

/* Issues that go as a whole first step aside, so that nothing is added to them before. */
static enum fz_code
move_users(struct store_rekey_moving *m, const struct leaving *list, size_t n, struct fz_error *err)
{
    struct sql *tx = m->r->store->sql;
    enum fz_code code = find_whole(m, list, n, err);
    for (size_t i = 0; code == FZ_OK && i < m->n_whole; i++) {
        const struct sql_value args[] = {sql_int(m->whole[i]), sql_int(-m->whole[i])};
        code = sql_exec(tx, "UPDATE issue_users SET issue_id = $2 WHERE issue_id = $1", args, 2,
                        NULL, err);
    }
    for (size_t i = 0; code == FZ_OK && i < n; i++) {
        if (!store_rekey_is_whole(m, list[i].from))
            code = change_users(m, &list[i], err);
    }
    if (code == FZ_OK)
        code = store_rekey_parts(m, err);
    for (size_t i = 0; code == FZ_OK && i < n; i = end_of(list, n, i)) {
        const struct sql_value args[] = {sql_int(list[i].from)};
        if (store_rekey_is_whole(m, list[i].from))
            code = add_users(tx, -list[i].from, list[i].into, err);
        else if (i == 0 || list[i - 1].from != list[i].from)
            code = sql_exec(tx, "DELETE FROM issue_users WHERE issue_id = $1 AND n <= 0", args, 1,
                            NULL, err);
    }
    return code;
}

/* What leaves its issue, sorted. */
static enum fz_code
change_issues(const struct store_rekey_moving *m, struct leaving **ret, size_t *ret_n,
              struct fz_error *err)
{
    struct leaving *list = fz_arena_array(m->r->arena, m->n_shares + 1, sizeof(*list));
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
    *ret = list;
    *ret_n = n;
    return code;
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
static const char *const clean_steps[] = {
    "DELETE FROM issue_hours WHERE variant_id = $1 AND n <= 0",
    "DELETE FROM issue_days WHERE variant_id = $1 AND n <= 0",
};
static const char *const drop_steps[] = {
    "DELETE FROM issue_hours WHERE variant_id = $1",
    "DELETE FROM issue_days WHERE variant_id = $1",
};

/* All reports of a variant become those of another. */
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

/* How many counted reports the variant has, and when the first and the last were received. */
static enum fz_code
put_times(struct sql *tx, const struct store_rekey_place *place, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(place->id), sql_int(place->n_counted)};
    return sql_exec(tx,
                    "UPDATE variants SET n_reports = $2, first_ms = coalesce((SELECT received_ms "
                    "FROM facts WHERE variant_id = $1 AND is_counted = 1 ORDER BY received_ms "
                    "LIMIT 1), first_ms), last_ms = coalesce((SELECT received_ms FROM facts WHERE "
                    "variant_id = $1 AND is_counted = 1 ORDER BY received_ms DESC LIMIT 1), "
                    "last_ms) WHERE id = $1",
                    args, 2, NULL, err);
}

/* Variants that go to others with all their reports; the others have their facts already. */
static enum fz_code
move_facts(const struct store_rekey_moving *m, struct fz_error *err)
{
    struct sql *tx = m->r->store->sql;
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < m->n_shares; i++) {
        const struct store_rekey_row *row = &m->rows[m->shares[i].row];
        const struct store_rekey_place *to = &m->places[m->shares[i].place];
        if (to->id != row->id && !row->is_parted)
            code = move_all(tx, row->id, to->id, err);
    }
    for (size_t i = 0; code == FZ_OK && i < m->n_rows; i++) {
        const struct sql_value args[] = {sql_int(m->rows[i].id)};
        if (m->rows[i].is_parted)
            code = run(tx, clean_steps, FZ_ARRAY_LEN(clean_steps), args, 1, err);
    }
    /* Of each variant that facts have left or come to. */
    bool *is_changed = fz_arena_array(m->r->arena, m->n_places + 1, sizeof(*is_changed));
    if (!is_changed)
        return fz_arena_fail(m->r->arena, err);
    for (size_t i = 0; i < m->n_shares; i++) {
        const struct store_rekey_row *row = &m->rows[m->shares[i].row];
        if (m->places[m->shares[i].place].id == row->id)
            continue;
        is_changed[m->shares[i].place] = true;
        if (row->after != STORE_REKEY_NONE)
            is_changed[row->after] = true;
    }
    for (size_t i = 0; code == FZ_OK && i < m->n_places; i++) {
        if (is_changed[i])
            code = put_times(tx, &m->places[i], err);
    }
    return code;
}

/* Days whose facts get another variant, before they do. */
static enum fz_code
note_days(const struct store_rekey_moving *m, struct fz_error *err)
{
    bool *is_noted = fz_arena_array(m->r->arena, m->n_rows + 1, sizeof(*is_noted));
    enum fz_code code = FZ_OK;
    if (!is_noted)
        return fz_arena_fail(m->r->arena, err);
    for (size_t i = 0; code == FZ_OK && i < m->n_shares; i++) {
        const struct store_rekey_share *share = &m->shares[i];
        if (m->places[share->place].id == m->rows[share->row].id || is_noted[share->row])
            continue;
        is_noted[share->row] = true;
        code = store_variant_facts_changed(m->r->store->sql, m->r->project_id,
                                           m->rows[share->row].id, err);
    }
    return code;
}

enum fz_code
store_rekey_facts(struct store_rekey *r, struct fz_error *err)
{
    struct store_rekey_moving moving = {.r = r};
    struct leaving *list = NULL;
    size_t n = 0;
    enum fz_code code = store_rekey_places(&moving, err);
    if (code == FZ_OK)
        code = change_issues(&moving, &list, &n, err);
    if (code == FZ_OK)
        code = put_rows(&moving, err);
    if (code == FZ_OK)
        code = note_days(&moving, err);
    if (code == FZ_OK)
        code = move_users(&moving, list, n, err);
    if (code == FZ_OK)
        code = move_facts(&moving, err);
    return code == FZ_OK ? drop_rows(&moving, err) : code;
}
