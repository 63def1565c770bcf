#include "storage/store_rekey_places.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"

enum { NONE_TO = -1, SPLIT = -2 }; /* touched.to: all stay, they part; else an index of r->keys */

/* ---- keys that stacks leave or come to ---- */

static int
compare_touched(const void *a, const void *b)
{
    const struct store_rekey_touched *x = a, *y = b;
    if (x->key_id != y->key_id)
        return x->key_id < y->key_id ? -1 : 1;
    return (x->to > y->to) - (x->to < y->to);
}

static int
compare_touched_keys(const void *a, const void *b)
{
    const struct store_rekey_touched *x = a, *y = b;
    return (x->key_id > y->key_id) - (x->key_id < y->key_id);
}

/* One for each key that a stack leaves or comes to, sorted. */
static enum fz_code
find_touched(struct store_rekey_moving *m, struct fz_error *err)
{
    struct store_rekey *r = m->r;
    struct store_rekey_touched *list =
        fz_arena_array(r->arena, r->n_stacks + r->n_keys, sizeof(*list));
    size_t n = 0, n_left = 0;
    if (!list)
        return fz_arena_fail(r->arena, err);
    for (size_t i = 0; i < r->n_stacks; i++) {
        bool moves = r->stacks[i].to != SIZE_MAX;
        list[n++] = (struct store_rekey_touched){.key_id = r->stacks[i].from,
                                                 .to = moves ? (int64_t)r->stacks[i].to : NONE_TO};
    }
    qsort(list, n, sizeof(*list), compare_touched);
    for (size_t i = 0, end; i < n; i = end) {
        struct store_rekey_touched key = list[i];
        for (end = i; end < n && list[end].key_id == key.key_id; end++)
            key.to = list[end].to == key.to ? key.to : SPLIT;
        if (key.to != NONE_TO)
            list[n_left++] = key;
    }
    n = n_left;
    for (size_t i = 0; i < r->n_keys; i++) {
        const struct store_rekey_touched to = {.key_id = r->keys[i].id, .to = NONE_TO};
        if (!n_left || !bsearch(&to, list, n_left, sizeof(*list), compare_touched_keys))
            list[n++] = to;
    }
    if (n)
        qsort(list, n, sizeof(*list), compare_touched_keys);
    m->touched = list;
    m->n_touched = n;
    return FZ_OK;
}

static struct store_rekey_touched *
touched_key(const struct store_rekey_moving *m, int64_t key_id)
{
    const struct store_rekey_touched key = {.key_id = key_id};
    return m->n_touched ? bsearch(&key, m->touched, m->n_touched, sizeof(key), compare_touched_keys)
                        : NULL;
}

/* ---- places ---- */

static size_t
slot_of(const struct store_rekey_moving *m, int64_t key_id, const uint8_t sha256[STORE_REKEY_HASH])
{
    uint64_t hash;
    memcpy(&hash, sha256, sizeof(hash));
    /* Many keys have variants of the same hash. */
    hash = (hash ^ (uint64_t)key_id) * UINT64_C(0x9e3779b97f4a7c15);
    size_t slot = (size_t)((hash >> 20) % m->n_slots);
    for (; m->slots[slot]; slot = (slot + 1) % m->n_slots) {
        const struct store_rekey_place *place = &m->places[m->slots[slot] - 1];
        if (place->key_id == key_id && memcmp(place->sha256, sha256, STORE_REKEY_HASH) == 0)
            break;
    }
    return slot;
}

/* Room for one more in the table; false when memory is out. */
static bool
grow_slots(struct store_rekey_moving *m)
{
    if (2 * (m->n_places + 1) < m->n_slots)
        return true;
    size_t n = m->n_slots ? 4 * m->n_slots : 1024;
    size_t *slots = fz_arena_array(m->r->arena, n, sizeof(*slots));
    if (!slots)
        return false;
    m->slots = slots;
    m->n_slots = n;
    for (size_t i = 0; i < m->n_places; i++)
        m->slots[slot_of(m, m->places[i].key_id, m->places[i].sha256)] = i + 1;
    return true;
}

/* The place of this key and hash; a new one has no row and no issue. */
static enum fz_code
put_place(struct store_rekey_moving *m, int64_t key_id, const uint8_t sha256[STORE_REKEY_HASH],
          size_t *ret, struct fz_error *err)
{
    if (!grow_slots(m))
        return fz_arena_fail(m->r->arena, err);
    size_t slot = slot_of(m, key_id, sha256);
    if (!m->slots[slot]) {
        struct store_rekey_place *places = fz_list_grow_in(m->r->arena, m->places, &m->places_room,
                                                           m->n_places + 1, sizeof(*places));
        if (!places)
            return fz_arena_fail(m->r->arena, err);
        m->places = places;
        places[m->n_places] = (struct store_rekey_place){.key_id = key_id,
                                                         .before = STORE_REKEY_NONE,
                                                         .after = STORE_REKEY_NONE,
                                                         .like = STORE_REKEY_NONE};
        memcpy(places[m->n_places].sha256, sha256, STORE_REKEY_HASH);
        m->slots[slot] = ++m->n_places;
    }
    *ret = m->slots[slot] - 1;
    return FZ_OK;
}

static enum fz_code
load_row(struct store_rekey_moving *m, struct sql_rows *rows, struct fz_error *err)
{
    struct fz_span sha256 = sql_col_bytes(rows, 2);
    size_t place = 0;
    if (sha256.len != STORE_REKEY_HASH)
        return fz_fail(err, FZ_E_INTERNAL, "the hash of a variant is damaged");
    enum fz_code code = put_place(m, sql_col_int(rows, 1), sha256.data, &place, err);
    if (code != FZ_OK)
        return code;
    struct store_rekey_row *list =
        fz_list_grow_in(m->r->arena, m->rows, &m->rows_room, m->n_rows + 1, sizeof(*list));
    if (!list)
        return fz_arena_fail(m->r->arena, err);
    m->rows = list;
    list[m->n_rows] = (struct store_rekey_row){.id = sql_col_int(rows, 0),
                                               .n_reports = sql_col_int(rows, 4),
                                               .before = place,
                                               .after = STORE_REKEY_NONE};
    m->places[place].issue_id = sql_col_int(rows, 3);
    m->places[place].key_issue_id = sql_col_int(rows, 5);
    m->places[place].before = m->places[place].like = m->n_rows++;
    return FZ_OK;
}

static enum fz_code
load_rows(struct store_rekey_moving *m, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(m->r->project_id)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code =
        sql_query(m->r->store->sql,
                  "SELECT v.id, v.key_id, v.sha256, v.issue_id, v.n_reports, k.issue_id FROM "
                  "issue_keys k JOIN variants v ON v.key_id = k.id WHERE k.project_id = $1",
                  args, 1, &rows, err);
    while (sql_row(&rows, &code, err) && code == FZ_OK) {
        if (touched_key(m, sql_col_int(&rows, 1)))
            code = load_row(m, &rows, err);
    }
    return code;
}

/* ---- shares ---- */

/* `stack_key` 0: all of the row goes there. */
static enum fz_code
add_piece(struct store_rekey_moving *m, const struct store_rekey_piece *piece, struct fz_error *err)
{
    if (!piece->stack_key)
        return FZ_OK;
    struct store_rekey_piece *pieces =
        fz_list_grow_in(m->r->arena, m->pieces, &m->pieces_room, m->n_pieces + 1, sizeof(*pieces));
    if (!pieces)
        return fz_arena_fail(m->r->arena, err);
    m->pieces = pieces;
    pieces[m->n_pieces++] = *piece;
    return FZ_OK;
}

static enum fz_code
add_share(struct store_rekey_moving *m, size_t row, int64_t stack_key, int64_t to,
          const int64_t n[2], struct fz_error *err)
{
    uint8_t sha256[STORE_REKEY_HASH];
    size_t place = m->rows[row].before;
    memcpy(sha256, m->places[place].sha256, sizeof(sha256)); /* the list may grow */
    enum fz_code code = to >= 0 ? put_place(m, m->r->keys[to].id, sha256, &place, err) : FZ_OK;
    if (code != FZ_OK)
        return code;
    if (to >= 0)
        m->places[place].key_issue_id = m->r->keys[to].issue_id;
    m->places[place].n_counted += n[1];
    const struct store_rekey_piece piece = {stack_key, n[0], row, place};
    code = add_piece(m, &piece, err);
    if (code != FZ_OK)
        return code;
    /* Several stacks of the row may go to one key. */
    size_t last = m->places[place].share;
    if (last && m->shares[last - 1].row == row) {
        m->shares[last - 1].n_facts += n[0];
        m->shares[last - 1].n_counted += n[1];
        return FZ_OK;
    }
    struct store_rekey_share *shares =
        fz_list_grow_in(m->r->arena, m->shares, &m->shares_room, m->n_shares + 1, sizeof(*shares));
    if (!shares)
        return fz_arena_fail(m->r->arena, err);
    m->shares = shares;
    shares[m->n_shares++] = (struct store_rekey_share){row, place, n[0], n[1]};
    m->places[place].share = m->n_shares;
    m->rows[row].n_parts++;
    return FZ_OK;
}

static int
compare_stacks(const void *a, const void *b)
{
    const struct store_rekey_stack *x = a, *y = b;
    return (x->key > y->key) - (x->key < y->key);
}

/* Of a key whose stacks part. */
static enum fz_code
share_out(struct store_rekey_moving *m, size_t row, struct fz_error *err)
{
    static const char *const columns[] = {"f.stack_key", "f.n", "f.n_counted", NULL};
    const struct sql_value args[] = {sql_int(m->rows[row].id)};
    const struct store_rekey *r = m->r;
    struct sql_ints ints = {.n_columns = 0};
    m->rows[row].is_parted = true;
    enum fz_code code = sql_ints_open(
        r->store->sql, columns,
        "FROM (SELECT stack_key, count(*) AS n, CAST(sum(is_counted) AS bigint) AS n_counted FROM "
        "facts WHERE variant_id = $1 GROUP BY stack_key) AS f ORDER BY f.stack_key",
        args, 1, &ints, err);
    for (int64_t found[3]; sql_ints_next(&ints, found, &code, err) && code == FZ_OK;) {
        const struct store_rekey_stack key = {.key = found[0]};
        const struct store_rekey_stack *stack =
            r->n_stacks ? bsearch(&key, r->stacks, r->n_stacks, sizeof(key), compare_stacks) : NULL;
        int64_t to = stack && stack->to != SIZE_MAX ? (int64_t)stack->to : NONE_TO;
        code = add_share(m, row, found[0], to, &found[1], err);
    }
    sql_ints_close(&ints);
    return code;
}

static enum fz_code
find_shares(struct store_rekey_moving *m, struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < m->n_rows; i++) {
        const struct store_rekey_touched *of = touched_key(m, m->places[m->rows[i].before].key_id);
        const struct sql_value args[] = {sql_int(m->rows[i].id)};
        const int64_t n[2] = {m->rows[i].n_reports, m->rows[i].n_reports};
        bool has_facts = n[0] > 0;
        if (of->to == SPLIT) {
            code = share_out(m, i, err);
            continue;
        }
        /* All of it may be reports that are not counted. */
        if (!has_facts)
            code = sql_number(m->r->store->sql, "SELECT 1 FROM facts WHERE variant_id = $1 LIMIT 1",
                              args, 1, NULL, &has_facts, err);
        if (code == FZ_OK && has_facts)
            code = add_share(m, i, 0, of->to, n, err);
    }
    return code;
}

/* ---- who goes where ---- */

/* The largest first; those of one size by their number, so that it depends on nothing else. */
static int
compare_shares(const void *a, const void *b)
{
    const struct store_rekey_share *x = a, *y = b;
    if (x->n_facts != y->n_facts)
        return x->n_facts > y->n_facts ? -1 : 1;
    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

static void
assign(struct store_rekey_moving *m)
{
    for (size_t i = 0; i < m->n_shares; i++) {
        struct store_rekey_row *row = &m->rows[m->shares[i].row];
        struct store_rekey_place *to = &m->places[m->shares[i].place];
        const struct store_rekey_place *from = &m->places[row->before];
        /* A new place is in its key's issue, unless what comes was split off from its own. */
        if (to->like == STORE_REKEY_NONE) {
            to->like = m->shares[i].row;
            to->issue_id = from->issue_id != from->key_issue_id ? from->issue_id : to->key_issue_id;
        }
        if (row->after == STORE_REKEY_NONE && to->after == STORE_REKEY_NONE) {
            row->after = m->shares[i].place;
            to->after = m->shares[i].row;
        }
    }
    /* One without reports stays, unless others have taken its place. */
    for (size_t i = 0; i < m->n_rows; i++) {
        struct store_rekey_row *row = &m->rows[i];
        struct store_rekey_place *place = &m->places[row->before];
        if (row->n_parts == 0 && place->after == STORE_REKEY_NONE) {
            row->after = row->before;
            place->after = i;
        }
    }
}

enum fz_code
store_rekey_places(struct store_rekey_moving *moving, struct fz_error *err)
{
    enum fz_code code = find_touched(moving, err);
    if (code == FZ_OK)
        code = load_rows(moving, err);
    if (code == FZ_OK)
        code = find_shares(moving, err);
    if (code != FZ_OK)
        return code;
    if (moving->n_shares)
        qsort(moving->shares, moving->n_shares, sizeof(*moving->shares), compare_shares);
    assign(moving);
    return FZ_OK;
}
