/*
 * A piece is the reports of one variant and one stack. Those that get another variant or issue are written to a temporary table,
 * with where they go; their facts are found by stack, once, and written to another one. Of these all counts are made:
 *
 *   rekey_pieces            stack 7, variant 1 → 5, issue 1 → 1
 *                           stack 9, variant 1 → 6, issue 1 → 3
 *   rekey_facts             a row for each fact of these stacks and variants
 *   issue_hours, issue_days + for 5 and 6, - for 1, grouped by all of a portion
 *   issue_users             + for 3, - for 1
 *   facts                   variant_id
 *
 * It is done in portions, since temporary tables of SQLite are in memory.
 */
#include "storage/store_rekey_parts.h"

#include <stdlib.h>

#include "storage/store_terms.h"

/* Facts of a portion, unless one stack has more. A row has five parameters. */
enum { PORTION = 100000, ROWS = 64, PARAMS = 5 };

/* ---- portions ---- */

static int
compare_whole(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

bool
store_rekey_is_whole(const struct store_rekey_moving *moving, int64_t issue_id)
{
    return moving->n_whole && bsearch(&issue_id, moving->whole, moving->n_whole, sizeof(issue_id),
                                      compare_whole) != NULL;
}

/* What a row of rekey_pieces has; the users of an issue that goes as a whole are not counted by their reports. */
struct way {
    int64_t from, to, from_issue, to_issue;
};

static struct way
way_of(const struct store_rekey_moving *m, const struct store_rekey_piece *piece)
{
    const struct store_rekey_row *row = &m->rows[piece->row];
    const struct store_rekey_place *to = &m->places[piece->place];
    struct way way = {row->id, to->id, m->places[row->before].issue_id, to->issue_id};
    if (store_rekey_is_whole(m, way.from_issue))
        way.to_issue = way.from_issue;
    return way;
}

static int
compare_pieces(const void *a, const void *b)
{
    const struct store_rekey_piece *x = a, *y = b;
    if (x->stack_key != y->stack_key)
        return x->stack_key < y->stack_key ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* Those that move, by stack. */
static void
sort_pieces(struct store_rekey_moving *m)
{
    size_t n = 0;
    for (size_t i = 0; i < m->n_pieces; i++) {
        struct way way = way_of(m, &m->pieces[i]);
        if (way.from != way.to || way.from_issue != way.to_issue)
            m->pieces[n++] = m->pieces[i];
    }
    m->n_pieces = n;
    if (n)
        qsort(m->pieces, n, sizeof(*m->pieces), compare_pieces);
}

static enum fz_code
put_pieces(const struct store_rekey_moving *m, size_t start, size_t end, struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    for (size_t n; code == FZ_OK && start < end; start += n) {
        struct sql_value args[ROWS * PARAMS];
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
        /* Two texts, so that they are prepared once. */
        n = end - start < ROWS ? 1 : ROWS;
        fz_buffer_text(&text, "INSERT INTO rekey_pieces (stack_key, from_id, to_id, from_issue, "
                              "to_issue) VALUES ");
        for (size_t i = 0; i < n; i++) {
            const struct store_rekey_piece *piece = &m->pieces[start + i];
            struct way way = way_of(m, piece);
            const struct sql_value row[PARAMS] = {sql_int(piece->stack_key), sql_int(way.from),
                                                  sql_int(way.to), sql_int(way.from_issue),
                                                  sql_int(way.to_issue)};
            for (size_t j = 0; j < PARAMS; j++)
                args[i * PARAMS + j] = row[j];
            fz_buffer_printf(&text, "%s($%zu, $%zu, $%zu, $%zu, $%zu)", i ? ", " : "",
                             i * PARAMS + 1, i * PARAMS + 2, i * PARAMS + 3, i * PARAMS + 4,
                             i * PARAMS + 5);
        }
        code = fz_buffer_done(&text, err);
        if (code == FZ_OK)
            code = sql_exec(m->r->store->sql, fz_buffer_cstr(&text), args, n * PARAMS, NULL, err);
    }
    return code;
}

/* ---- facts ---- */

static bool
is_counted_daily(int term)
{
    return store_term_kinds[term].is_daily && store_term_kinds[term].column;
}

static enum fz_code
make_tables(struct sql *tx, struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    fz_buffer_text(&text,
                   "CREATE TEMPORARY TABLE rekey_pieces (stack_key bigint NOT NULL, from_id bigint "
                   "NOT NULL, to_id bigint NOT NULL, from_issue bigint NOT NULL, to_issue bigint "
                   "NOT NULL, PRIMARY KEY (stack_key, from_id)); CREATE TEMPORARY TABLE "
                   "rekey_facts (project_id bigint NOT NULL, received_ms bigint NOT NULL, "
                   "report_key bigint NOT NULL, from_id bigint NOT NULL, to_id bigint NOT NULL, "
                   "from_issue bigint NOT NULL, to_issue bigint NOT NULL, is_counted bigint NOT "
                   "NULL, user_id bigint NOT NULL");
    for (int term = 1; term < STORE_TERMS; term++) {
        if (is_counted_daily(term))
            fz_buffer_printf(&text, ", %s bigint NOT NULL", store_term_kinds[term].column);
    }
    fz_buffer_text(&text, ");");
    enum fz_code code = fz_buffer_done(&text, err);
    return code == FZ_OK ? sql_script(tx, fz_buffer_cstr(&text), err) : code;
}

/* SQLite keeps the order of a CROSS JOIN. */
static enum fz_code
find_facts(struct sql *tx, struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer columns = fz_buffer_make(0);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    for (int term = 1; term < STORE_TERMS; term++) {
        if (is_counted_daily(term))
            fz_buffer_printf(&columns, ", %s", store_term_kinds[term].column);
    }
    enum fz_code code = fz_buffer_done(&columns, err);
    if (code != FZ_OK)
        return code;
    fz_buffer_printf(&text,
                     "INSERT INTO rekey_facts (project_id, received_ms, report_key, from_id, "
                     "to_id, from_issue, to_issue, is_counted, user_id%s) SELECT f.project_id, "
                     "f.received_ms, f.report_key, p.from_id, p.to_id, p.from_issue, p.to_issue, "
                     "f.is_counted, f.user_id%s FROM (SELECT DISTINCT stack_key FROM rekey_pieces) "
                     "s CROSS JOIN facts f CROSS JOIN rekey_pieces p WHERE f.stack_key = "
                     "s.stack_key AND f.stack_key > 0 AND p.stack_key = s.stack_key AND p.from_id "
                     "= f.variant_id",
                     fz_buffer_cstr(&columns), fz_buffer_cstr(&columns));
    code = fz_buffer_done(&text, err);
    return code == FZ_OK ? sql_exec(tx, fz_buffer_cstr(&text), NULL, 0, NULL, err) : code;
}

/* What is counted of the facts counts for `of` (from_id, to_id), or no longer. 0: hours. */
static enum fz_code
count_term(struct sql *tx, int term, const char *of, const char *sign, struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    const char *column = store_term_kinds[term].column;
    if (term)
        fz_buffer_printf(&text,
                         "INSERT INTO issue_days (variant_id, field, term_id, day, n) SELECT %s, "
                         "%d, %s, received_ms / 86400000, %scount(*) FROM rekey_facts WHERE "
                         "is_counted = 1 AND from_id <> to_id AND %s > 0 GROUP BY %s, %s, "
                         "received_ms / 86400000 ON CONFLICT (variant_id, field, term_id, day) DO "
                         "UPDATE SET n = issue_days.n + excluded.n",
                         of, term, column, sign, column, of, column);
    else
        fz_buffer_printf(&text,
                         "INSERT INTO issue_hours (variant_id, hour, n) SELECT %s, received_ms / "
                         "3600000, %scount(*) FROM rekey_facts WHERE is_counted = 1 AND from_id <> "
                         "to_id GROUP BY %s, received_ms / 3600000 ON CONFLICT (variant_id, hour) "
                         "DO UPDATE SET n = issue_hours.n + excluded.n",
                         of, sign, of);
    enum fz_code code = fz_buffer_done(&text, err);
    return code == FZ_OK ? sql_exec(tx, fz_buffer_cstr(&text), NULL, 0, NULL, err) : code;
}

static enum fz_code
count_facts(struct sql *tx, struct fz_error *err)
{
    static const char *const users[] = {
        "INSERT INTO issue_users (issue_id, user_id, n) SELECT to_issue, user_id, count(*) FROM "
        "rekey_facts WHERE is_counted = 1 AND from_issue <> to_issue AND user_id > 0 GROUP BY "
        "to_issue, user_id ON CONFLICT (issue_id, user_id) DO UPDATE SET n = issue_users.n + "
        "excluded.n",
        "INSERT INTO issue_users (issue_id, user_id, n) SELECT from_issue, user_id, -count(*) FROM "
        "rekey_facts WHERE is_counted = 1 AND from_issue <> to_issue AND user_id > 0 GROUP BY "
        "from_issue, user_id ON CONFLICT (issue_id, user_id) DO UPDATE SET n = issue_users.n + "
        "excluded.n",
    };
    enum fz_code code = FZ_OK;
    for (int term = 0; code == FZ_OK && term < STORE_TERMS; term++) {
        if (term && !is_counted_daily(term))
            continue;
        code = count_term(tx, term, "to_id", "", err);
        if (code == FZ_OK)
            code = count_term(tx, term, "from_id", "-", err);
    }
    for (size_t i = 0; code == FZ_OK && i < FZ_ARRAY_LEN(users); i++)
        code = sql_exec(tx, users[i], NULL, 0, NULL, err);
    return code;
}

static enum fz_code
move_portion(const struct store_rekey_moving *m, size_t start, size_t end, struct fz_error *err)
{
    struct sql *tx = m->r->store->sql;
    enum fz_code code = make_tables(tx, err);
    if (code == FZ_OK)
        code = put_pieces(m, start, end, err);
    if (code == FZ_OK)
        code = find_facts(tx, err);
    if (code == FZ_OK)
        code = count_facts(tx, err);
    if (code == FZ_OK)
        code = sql_exec(tx,
                        "UPDATE facts SET variant_id = r.to_id FROM rekey_facts r WHERE "
                        "facts.project_id = r.project_id AND facts.received_ms = r.received_ms AND "
                        "facts.report_key = r.report_key AND r.from_id <> r.to_id",
                        NULL, 0, NULL, err);
    return code == FZ_OK ? sql_script(tx, "DROP TABLE rekey_facts; DROP TABLE rekey_pieces;", err)
                         : code;
}

enum fz_code
store_rekey_parts(struct store_rekey_moving *moving, struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    sort_pieces(moving);
    for (size_t start = 0, end; code == FZ_OK && start < moving->n_pieces; start = end) {
        const struct store_rekey_piece *pieces = moving->pieces;
        int64_t n = 0;
        /* A stack is in one portion. */
        for (end = start; end < moving->n_pieces; end++) {
            if (n >= PORTION && pieces[end].stack_key != pieces[end - 1].stack_key)
                break;
            n += pieces[end].n_facts;
        }
        code = move_portion(moving, start, end, err);
    }
    return code;
}
