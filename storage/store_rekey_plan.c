#include "storage/store_rekey.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"

enum { PAGE = 500, PAGE_MEMORY = 256 * 1024 * 1024 };

/* ---- new keys of stacks ---- */

static size_t
slot_of(const struct store_rekey *r, const uint8_t sha256[FZ_SHA256_LEN])
{
    uint64_t hash;
    memcpy(&hash, sha256, sizeof(hash));
    size_t slot = (size_t)(hash % r->n_slots);
    while (r->slots[slot] && memcmp(r->keys[r->slots[slot] - 1].sha256, sha256, FZ_SHA256_LEN) != 0)
        slot = (slot + 1) % r->n_slots;
    return slot;
}

/* Room for one more in the table; false when memory is out. */
static bool
grow_slots(struct store_rekey *r)
{
    if (2 * (r->n_keys + 1) < r->n_slots)
        return true;
    size_t n = r->n_slots ? 4 * r->n_slots : 1024;
    size_t *slots = fz_arena_array(r->arena, n, sizeof(*slots));
    if (!slots)
        return false;
    r->slots = slots;
    r->n_slots = n;
    for (size_t i = 0; i < r->n_keys; i++)
        r->slots[slot_of(r, r->keys[i].sha256)] = i + 1;
    return true;
}

static enum fz_code
find_key(struct store_rekey *r, const struct store_stack_key *key, size_t *ret,
         struct fz_error *err)
{
    if (!grow_slots(r))
        return fz_arena_fail(r->arena, err);
    size_t slot = slot_of(r, key->key);
    if (!r->slots[slot]) {
        struct store_rekey_key *keys =
            fz_list_grow_in(r->arena, r->keys, &r->keys_room, r->n_keys + 1, sizeof(*keys));
        const char *title = fz_arena_strdup(r->arena, key->title ? key->title : "");
        if (!keys || !title)
            return fz_arena_fail(r->arena, err);
        r->keys = keys;
        keys[r->n_keys] =
            (struct store_rekey_key){.title = title, .is_placeholder = key->is_placeholder};
        memcpy(keys[r->n_keys].sha256, key->key, FZ_SHA256_LEN);
        r->slots[slot] = ++r->n_keys;
    }
    *ret = r->slots[slot] - 1;
    return FZ_OK;
}

static enum fz_code
load_stack(struct store_rekey *r, struct sql_rows *rows, struct fz_arena *page,
           struct fz_error *err)
{
    struct store_rekey_stack stack = {
        .key = sql_col_int(rows, 0), .from = sql_col_int(rows, 2), .to = SIZE_MAX};
    struct store_stack_key key;
    struct fz_span body;
    enum fz_code code = store_unpack(sql_col_bytes(rows, 1), page, &body, err);
    if (code == FZ_OK)
        code = r->change->key_of(r->change->user, body, &key, err);
    if (code != FZ_OK && code != FZ_E_NOT_FOUND)
        return code;
    struct fz_span now = sql_col_bytes(rows, 3);
    bool moves = code == FZ_OK &&
                 (now.len != FZ_SHA256_LEN || memcmp(now.data, key.key, FZ_SHA256_LEN) != 0);
    code = moves ? find_key(r, &key, &stack.to, err) : FZ_OK;
    struct store_rekey_stack *stacks =
        fz_list_grow_in(r->arena, r->stacks, &r->stacks_room, r->n_stacks + 1, sizeof(*stacks));
    if (!stacks)
        return fz_arena_fail(r->arena, err);
    r->stacks = stacks;
    stacks[r->n_stacks++] = stack;
    return code;
}

static enum fz_code
load_page(struct store_rekey *r, size_t *ret_n, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena page = fz_arena_make(PAGE_MEMORY);
    const struct sql_value args[] = {sql_int(r->project_id),
                                     sql_int(r->n_stacks ? r->stacks[r->n_stacks - 1].key : 0),
                                     sql_int(PAGE)};
    size_t n = 0;
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code =
        sql_query(r->store->sql,
                  "SELECT s.key, s.body, s.key_id, k.sha256 FROM stacks s JOIN issue_keys k ON "
                  "k.id = s.key_id WHERE s.project_id = $1 AND s.key > $2 ORDER BY s.key LIMIT $3",
                  args, FZ_ARRAY_LEN(args), &rows, err);
    for (; sql_row(&rows, &code, err) && code == FZ_OK; n++)
        code = load_stack(r, &rows, &page, err);
    *ret_n = n;
    return code;
}

enum fz_code
store_rekey_load(struct store_rekey *r, struct fz_error *err)
{
    size_t n = PAGE;
    enum fz_code code = FZ_OK;
    while (code == FZ_OK && n == PAGE)
        code = load_page(r, &n, err);
    return code;
}

/* ---- what becomes of issues ---- */

/* All keys of the project and their issues, by id. */
struct owner {
    int64_t key_id, issue_id;
    bool stays; /* a stack with reports keeps this key */
};

static int
compare_owners(const void *a, const void *b)
{
    const struct owner *x = a, *y = b;
    return (x->key_id > y->key_id) - (x->key_id < y->key_id);
}

struct owners {
    struct owner *list;
    size_t n;
};

static enum fz_code
read_owners(struct store_rekey *r, struct owners *ret, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(r->project_id)};
    struct sql_list list = {.arena = r->arena, .item = sizeof(struct owner)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query(
        r->store->sql, "SELECT id, issue_id FROM issue_keys WHERE project_id = $1 ORDER BY id",
        args, 1, &rows, err);
    for (struct owner *o; (o = sql_list_next(&rows, &list, &code, err));)
        *o = (struct owner){sql_col_int(&rows, 0), sql_col_int(&rows, 1), false};
    return sql_list_done(&list, code, &ret->list, &ret->n);
}

static enum fz_code
read_key_ids(struct store_rekey *r, struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < r->n_keys; i++) {
        struct store_rekey_key *key = &r->keys[i];
        const struct sql_value args[] = {sql_int(r->project_id),
                                         sql_blob(fz_span_make(key->sha256, FZ_SHA256_LEN))};
        FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
        code =
            sql_query(r->store->sql,
                      "SELECT id, issue_id FROM issue_keys WHERE project_id = $1 AND sha256 = $2",
                      args, FZ_ARRAY_LEN(args), &rows, err);
        bool found = sql_row(&rows, &code, err);
        key->id = code == FZ_OK && found ? sql_col_int(&rows, 0) : 0;
        key->issue_id = code == FZ_OK && found ? sql_col_int(&rows, 1) : 0;
    }
    return code;
}

static enum fz_code
count_reports(struct store_rekey *r, struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < r->n_stacks; i++) {
        const struct sql_value args[] = {sql_int(r->stacks[i].key)};
        if (r->stacks[i].to != SIZE_MAX)
            code = sql_number(r->store->sql,
                              "SELECT count(*) FROM facts WHERE stack_key = $1 AND stack_key > 0",
                              args, 1, &r->stacks[i].n_reports, NULL, err);
    }
    return code;
}

static int
compare_parts(const void *a, const void *b)
{
    const struct store_rekey_part *x = a, *y = b;
    if (x->issue_id != y->issue_id)
        return x->issue_id < y->issue_id ? -1 : 1;
    return (x->to > y->to) - (x->to < y->to);
}

/* Of one issue: most reports first. */
static int
compare_sizes(const void *a, const void *b)
{
    const struct store_rekey_part *x = a, *y = b;
    if (x->n_reports != y->n_reports)
        return x->n_reports > y->n_reports ? -1 : 1;
    return (x->to > y->to) - (x->to < y->to);
}

static struct owner *
owner_of(const struct owners *owners, const struct store_rekey_stack *stack)
{
    const struct owner key = {.key_id = stack->from};
    return bsearch(&key, owners->list, owners->n, sizeof(*owners->list), compare_owners);
}

static enum fz_code
make_parts(struct store_rekey *r, const struct owners *owners, struct fz_error *err)
{
    struct store_rekey_part *parts = fz_arena_array(r->arena, r->n_stacks + 1, sizeof(*parts));
    size_t n = 0, n_parts = 0;
    if (!parts)
        return fz_arena_fail(r->arena, err);
    for (size_t i = 0; i < r->n_stacks; i++) {
        const struct owner *owner = owner_of(owners, &r->stacks[i]);
        if (owner && r->stacks[i].to != SIZE_MAX)
            parts[n++] =
                (struct store_rekey_part){owner->issue_id, r->stacks[i].to, r->stacks[i].n_reports};
    }
    qsort(parts, n, sizeof(*parts), compare_parts);
    for (size_t i = 0; i < n; i++) {
        if (n_parts && compare_parts(&parts[n_parts - 1], &parts[i]) == 0)
            parts[n_parts - 1].n_reports += parts[i].n_reports;
        else
            parts[n_parts++] = parts[i];
    }
    r->parts = parts;
    r->n_parts = n_parts;
    return FZ_OK;
}

static enum fz_code
read_issue(struct store_rekey *r, struct store_rekey_issue *issue, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(issue->id)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query(
        r->store->sql, "SELECT number, title, coalesce(merged_into, 0) FROM issues WHERE id = $1",
        args, 1, &rows, err);
    if (sql_row(&rows, &code, err)) {
        issue->number = sql_col_int(&rows, 0);
        issue->title = sql_col_text(&rows, 1, r->arena);
        issue->merged_into = sql_col_int(&rows, 2);
    }
    return code;
}

static int
compare_numbers(const void *a, const void *b)
{
    const struct store_rekey_issue *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

static int
compare_ids(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The issues with keys that stacks keep, sorted. */
struct staying {
    int64_t *ids;
    size_t n;
};

static bool
has_parts(const struct store_rekey *r, int64_t issue_id)
{
    size_t low = 0, high = r->n_parts;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (r->parts[middle].issue_id < issue_id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < r->n_parts && r->parts[low].issue_id == issue_id;
}

/* A stack may have no reports any more: that of a placeholder, once the names have come. Looked up only where it matters, since
 * most stacks stay, and most of their issues have no part that moves. */
static enum fz_code
mark_staying(struct store_rekey *r, const struct owners *owners, struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < r->n_stacks; i++) {
        const struct sql_value args[] = {sql_int(r->stacks[i].key)};
        struct owner *owner = owner_of(owners, &r->stacks[i]);
        if (!owner || owner->stays || r->stacks[i].to != SIZE_MAX || !has_parts(r, owner->issue_id))
            continue;
        code = sql_number(r->store->sql,
                          "SELECT 1 FROM facts WHERE stack_key = $1 AND stack_key > 0 LIMIT 1",
                          args, 1, NULL, &owner->stays, err);
    }
    return code;
}

static enum fz_code
find_staying(struct store_rekey *r, const struct owners *owners, struct staying *ret,
             struct fz_error *err)
{
    ret->n = 0;
    ret->ids = fz_arena_array(r->arena, owners->n + 1, sizeof(*ret->ids));
    if (!ret->ids)
        return fz_arena_fail(r->arena, err);
    enum fz_code code = mark_staying(r, owners, err);
    for (size_t i = 0; code == FZ_OK && i < owners->n; i++) {
        if (owners->list[i].stays)
            ret->ids[ret->n++] = owners->list[i].issue_id;
    }
    qsort(ret->ids, ret->n, sizeof(*ret->ids), compare_ids);
    return code;
}

static bool
stays(const struct staying *staying, int64_t issue_id)
{
    return bsearch(&issue_id, staying->ids, staying->n, sizeof(*staying->ids), compare_ids) != NULL;
}

static enum fz_code
make_issues(struct store_rekey *r, const struct staying *staying, struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    r->n_issues = 0;
    for (size_t i = 0; code == FZ_OK && i < r->n_parts; i++) {
        struct store_rekey_issue *last = r->n_issues ? &r->issues[r->n_issues - 1] : NULL;
        if (last && last->id == r->parts[i].issue_id) {
            last->n_parts++;
            continue;
        }
        struct store_rekey_issue *issues =
            fz_list_grow_in(r->arena, r->issues, &r->issues_room, r->n_issues + 1, sizeof(*issues));
        if (!issues)
            return fz_arena_fail(r->arena, err);
        r->issues = issues;
        last = &issues[r->n_issues++];
        *last =
            (struct store_rekey_issue){.id = r->parts[i].issue_id, .first_part = i, .n_parts = 1};
        code = read_issue(r, last, err);
    }
    for (size_t i = 0; i < r->n_issues; i++) {
        struct store_rekey_issue *issue = &r->issues[i];
        struct store_rekey_part *parts = &r->parts[issue->first_part];
        qsort(parts, issue->n_parts, sizeof(*parts), compare_sizes);
        for (size_t j = 0; j < issue->n_parts; j++) {
            bool is_own = r->keys[parts[j].to].issue_id == issue->id;
            issue->remains = issue->remains || (is_own && parts[j].n_reports);
            r->keys[parts[j].to].has_reports |= parts[j].n_reports > 0;
        }
        issue->remains = issue->remains || stays(staying, issue->id);
    }
    if (r->n_issues > 0)
        qsort(r->issues, r->n_issues, sizeof(*r->issues), compare_numbers);
    return code;
}

/* Where the reports of a part are afterwards; below 0: in a new issue. */
static int64_t
issue_after(const struct store_rekey *r, const struct store_rekey_part *part)
{
    int64_t id = r->keys[part->to].issue_id;
    return id ? id : -1 - (int64_t)part->to;
}

/* Parts without reports decide nothing. Their keys stay with the issue, or go where it redirects to, so that no issue is made for
 * them. */
static void
give_rest(struct store_rekey *r)
{
    for (size_t i = 0; i < r->n_issues; i++) {
        const struct store_rekey_issue *issue = &r->issues[i];
        int64_t into = issue->heir          ? issue->heir
                       : issue->merged_into ? issue->merged_into
                                            : issue->id;
        for (size_t j = 0; j < issue->n_parts; j++) {
            struct store_rekey_key *key = &r->keys[r->parts[issue->first_part + j].to];
            if (key->issue_id == 0 && !key->has_reports)
                key->issue_id = into;
        }
    }
}

static void
give_numbers(struct store_rekey *r, const struct staying *staying)
{
    for (size_t i = 0; i < r->n_issues; i++) {
        struct store_rekey_issue *issue = &r->issues[i];
        const struct store_rekey_part *parts = &r->parts[issue->first_part];
        for (size_t j = 0; j < issue->n_parts && parts[j].n_reports && !issue->remains; j++) {
            if (r->keys[parts[j].to].issue_id == 0) {
                r->keys[parts[j].to].issue_id = issue->id;
                issue->remains = true;
            }
        }
    }
    for (size_t i = 0; i < r->n_issues; i++) {
        struct store_rekey_issue *issue = &r->issues[i];
        const struct store_rekey_part *parts = &r->parts[issue->first_part];
        if (parts[0].n_reports == 0) { /* nor do the others */
            issue->remains = true;
            continue;
        }
        int64_t first = issue_after(r, &parts[0]);
        bool is_one = true;
        for (size_t j = 1; j < issue->n_parts && parts[j].n_reports; j++)
            is_one = is_one && issue_after(r, &parts[j]) == first;
        issue->is_split = !is_one || (stays(staying, issue->id) && first != issue->id);
        issue->heir = !issue->remains && is_one && first > 0 ? first : 0;
    }
    give_rest(r);
}

enum fz_code
store_rekey_plan(struct store_rekey *r, struct fz_error *err)
{
    struct owners owners = {NULL, 0};
    struct staying staying;
    enum fz_code code = read_owners(r, &owners, err);
    if (code == FZ_OK)
        code = read_key_ids(r, err);
    if (code == FZ_OK)
        code = count_reports(r, err);
    if (code == FZ_OK)
        code = make_parts(r, &owners, err);
    if (code == FZ_OK)
        code = find_staying(r, &owners, &staying, err);
    if (code == FZ_OK)
        code = make_issues(r, &staying, err);
    if (code == FZ_OK)
        give_numbers(r, &staying);
    return code;
}
