/*
 * Stacks of other issues that have functions of an issue.
 *
 *   newest stacks of its most frequent variants ──► their functions ──► stacks of the rare ones ──► those with the rarest
 *
 * A function in n stacks counts 1/n. One that is in a tenth of all stacks says nothing. A sample of stacks, spread evenly over all,
 * shows which these are, and how much each function counts in the comparison.
 */
#include "storage/store_similar.h"

#include <stdlib.h>
#include <string.h>

#include "storage/store_condition.h"
#include "storage/store_terms.h"

enum {
    NEWEST = 8,        /* stacks of a variant that are looked at */
    RARE = 100,        /* a function in fewer stacks is rare */
    FUNCTIONS = 32,    /* that are followed to other stacks */
    PAGE = 100,        /* stacks of a function that are read at once */
    PAGES = 3,         /* at most, as long as nearly all are of the issue itself */
    FOREIGN = 10,      /* stacks of others that are enough of one function */
    OF_ISSUE = 4,      /* stacks of one other issue */
    COMMON_SHARE = 10, /* a function in a tenth of all stacks leads to nothing */
    BODIES = 16 << 20  /* bytes of stacks, unpacked */
};

struct function {
    int64_t term;
    const char *text;
    uint64_t n; /* stacks that have it, at most RARE */
    uint64_t n_sampled;
};

struct candidate {
    int64_t stack, issue_id; /* by the stack's key */
    double weight;
};

struct search {
    struct store *store;
    int64_t project_id, number, issue_id;
    struct fz_arena *arena;
    struct store_ids own; /* stacks */
    struct function *functions;
    size_t n_functions;
    struct candidate *candidates;
    size_t n_candidates;
    struct store_similar found;
};

/* ---- the issue's own stacks ---- */

static enum fz_code
add_newest(struct search *s, int64_t variant, size_t most, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(variant), sql_int(NEWEST)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query(s->store->sql,
                                  "SELECT stack_key FROM facts WHERE variant_id = $1 ORDER BY "
                                  "received_ms DESC LIMIT $2",
                                  args, FZ_ARRAY_LEN(args), &rows, err);
    for (size_t n = 0; sql_row(&rows, &code, err) && n < most && code == FZ_OK;) {
        int64_t key = sql_col_int(&rows, 0);
        bool is_known = key <= 0;
        for (size_t i = 0; i < s->own.n; i++)
            is_known = is_known || s->own.list[i] == key;
        if (is_known || s->own.n == STORE_SIMILAR_OWN)
            continue;
        code = store_ids_put(&s->own, key, s->arena, err);
        n++;
    }
    return code;
}

/* The newest stack of each of the most frequent variants, then more of them. */
static enum fz_code
find_own(struct search *s, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(s->issue_id), sql_int(STORE_SIMILAR_OWN)};
    struct store_ids variants = {0};
    enum fz_code code;
    {
        FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
        code = sql_query(s->store->sql,
                         "SELECT id FROM variants WHERE issue_id = $1 AND n_reports > 0 ORDER BY "
                         "n_reports DESC, id LIMIT $2",
                         args, FZ_ARRAY_LEN(args), &rows, err);
        while (sql_row(&rows, &code, err))
            code = store_ids_put(&variants, sql_col_int(&rows, 0), s->arena, err);
    }
    for (size_t i = 0; code == FZ_OK && i < variants.n; i++)
        code = add_newest(s, variants.list[i], 1, err);
    for (size_t i = 0; code == FZ_OK && i < variants.n && s->own.n < STORE_SIMILAR_OWN; i++)
        code = add_newest(s, variants.list[i], STORE_SIMILAR_OWN, err);
    return code;
}

/* ---- how frequent functions are ---- */

static int
compare_frequencies(const void *a, const void *b)
{
    const struct store_frequency *x = a, *y = b;
    return strcmp(x->function, y->function);
}

/* Stacks at even distances between the first and the last one. */
static enum fz_code
sample_stacks(struct search *s, struct store_ids *ret, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(s->project_id)};
    int64_t first = 0, last = 0;
    enum fz_code code =
        sql_number(s->store->sql, "SELECT min(key) FROM stacks WHERE project_id = $1", args, 1,
                   &first, NULL, err);
    if (code == FZ_OK)
        code = sql_number(s->store->sql, "SELECT max(key) FROM stacks WHERE project_id = $1", args,
                          1, &last, NULL, err);
    if (code != FZ_OK)
        return code;
    struct store_sql q;
    store_sql_init(&q, s->store, s->arena);
    fz_buffer_text(&q.text, "SELECT DISTINCT (SELECT min(key) FROM stacks WHERE key >= p.column1 "
                            "AND project_id = ");
    store_sql_arg(&q, args[0]);
    fz_buffer_text(&q.text, ") FROM (VALUES ");
    for (int64_t i = 0; i < STORE_SIMILAR_SAMPLE; i++)
        fz_buffer_printf(&q.text, "%s(%lld)", i ? "," : "",
                         (long long)(first + (last - first + 1) * i / STORE_SIMILAR_SAMPLE));
    fz_buffer_text(&q.text, ") AS p");
    code = store_ids_read(s->store, &q, ret, s->arena, err);
    store_sql_deinit(&q);
    if (code == FZ_OK)
        store_ids_sort(ret);
    return code;
}

static enum fz_code
estimate(struct search *s, struct fz_error *err)
{
    struct store_ids sample = {0};
    struct sql_list list = {.arena = s->arena, .item = sizeof(struct store_frequency)};
    enum fz_code code = sample_stacks(s, &sample, err);
    s->found.n_sample = sample.n;
    if (code != FZ_OK || sample.n == 0)
        return code;
    struct store_sql q;
    store_sql_init(&q, s->store, s->arena);
    fz_buffer_text(&q.text, "SELECT t.text, c.n FROM (SELECT term_id, count(*) AS n FROM "
                            "stack_terms WHERE stack_key");
    store_sql_in(&q, &sample);
    fz_buffer_printf(&q.text,
                     " GROUP BY term_id HAVING count(*) > 1) AS c JOIN terms t ON t.id = c.term_id "
                     "WHERE t.field = %d",
                     (int)STORE_TERM_FUNCTION);
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    code = store_sql_done(&q, err);
    if (code == FZ_OK)
        code = sql_query_once(s->store->sql, fz_buffer_cstr(&q.text), q.args, q.n_args, &rows, err);
    for (struct store_frequency *f; (f = sql_list_next(&rows, &list, &code, err));)
        *f = (struct store_frequency){sql_col_text(&rows, 0, s->arena),
                                      (uint64_t)sql_col_int(&rows, 1)};
    store_sql_deinit(&q);
    code = sql_list_done(&list, code, &s->found.functions, &s->found.n_functions);
    if (code == FZ_OK && s->found.n_functions)
        qsort(s->found.functions, s->found.n_functions, sizeof(*s->found.functions),
              compare_frequencies);
    return code;
}

/* ---- functions that lead to others ---- */

static int
compare_functions(const void *a, const void *b)
{
    const struct function *x = a, *y = b;
    if (x->n != y->n)
        return x->n < y->n ? -1 : 1;
    if (x->n_sampled != y->n_sampled)
        return x->n_sampled < y->n_sampled ? -1 : 1;
    return (x->term > y->term) - (x->term < y->term);
}

static uint64_t
sampled(const struct search *s, const char *function)
{
    const struct store_frequency key = {.function = function};
    const struct store_frequency *found =
        s->found.n_functions ? bsearch(&key, s->found.functions, s->found.n_functions, sizeof(key),
                                       compare_frequencies)
                             : NULL;
    return found ? found->n : 0;
}

/* Those of the own stacks that are worth following, the rarest first. */
static enum fz_code
find_functions(struct search *s, struct fz_error *err)
{
    struct sql_list list = {.arena = s->arena, .item = sizeof(struct function)};
    struct store_sql q;
    store_sql_init(&q, s->store, s->arena);
    fz_buffer_printf(&q.text,
                     "SELECT t.id, t.text, (SELECT count(*) FROM (SELECT 1 FROM stack_terms x "
                     "WHERE x.term_id = t.id LIMIT %d) AS few) FROM terms t WHERE t.field = %d AND "
                     "t.text <> '%s' AND t.id IN (SELECT term_id FROM stack_terms WHERE stack_key",
                     (int)RARE, (int)STORE_TERM_FUNCTION, STORE_TERM_OTHER);
    store_sql_in(&q, &s->own);
    fz_buffer_char(&q.text, ')');
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = store_sql_done(&q, err);
    if (code == FZ_OK)
        code = sql_query_once(s->store->sql, fz_buffer_cstr(&q.text), q.args, q.n_args, &rows, err);
    for (struct function *f; (f = sql_list_next(&rows, &list, &code, err));)
        *f = (struct function){.term = sql_col_int(&rows, 0),
                               .text = sql_col_text(&rows, 1, s->arena),
                               .n = (uint64_t)sql_col_int(&rows, 2)};
    store_sql_deinit(&q);
    size_t n_all = 0, n = 0;
    code = sql_list_done(&list, code, &s->functions, &n_all);
    for (size_t i = 0; code == FZ_OK && i < n_all; i++) {
        struct function *f = &s->functions[i];
        f->n_sampled = sampled(s, f->text);
        if (f->n > 1 && (f->n < RARE || f->n_sampled * COMMON_SHARE < s->found.n_sample))
            s->functions[n++] = *f;
    }
    if (n)
        qsort(s->functions, n, sizeof(*s->functions), compare_functions);
    s->n_functions = n < FUNCTIONS ? n : FUNCTIONS;
    return code;
}

/* ---- stacks of others ---- */

/* Appends those of other issues. *last: stacks below it are left; 0 = there are no more. */
static enum fz_code
read_page(struct search *s, const struct function *f, int64_t *last, struct sql_list *list,
          struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(f->term), sql_int(*last), sql_int(PAGE)};
    size_t n = 0;
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code =
        sql_query(s->store->sql,
                  "SELECT p.stack_key, k.issue_id FROM (SELECT stack_key FROM stack_terms WHERE "
                  "term_id = $1 AND stack_key < $2 ORDER BY stack_key DESC LIMIT $3) AS p JOIN "
                  "stacks s ON s.key = p.stack_key JOIN issue_keys k ON k.id = s.key_id",
                  args, FZ_ARRAY_LEN(args), &rows, err);
    for (; sql_row(&rows, &code, err); n++) {
        int64_t stack = sql_col_int(&rows, 0), issue_id = sql_col_int(&rows, 1);
        *last = stack < *last ? stack : *last;
        if (issue_id == s->issue_id)
            continue;
        struct candidate *put = sql_list_put(list, &code, err);
        if (put)
            *put = (struct candidate){stack, issue_id, 1 / (double)f->n};
    }
    if (n < PAGE)
        *last = 0;
    return code;
}

static int
compare_stacks(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    return (x->stack > y->stack) - (x->stack < y->stack);
}

/* The best of each issue together, the newest of those that are equally good first. */
static int
compare_in_issue(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->issue_id != y->issue_id)
        return x->issue_id < y->issue_id ? -1 : 1;
    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return (x->stack < y->stack) - (x->stack > y->stack);
}

static int
compare_weights(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return (x->stack < y->stack) - (x->stack > y->stack);
}

/* Each stack once, a few of each issue, and the best of all. */
static void
choose(struct search *s)
{
    struct candidate *list = s->candidates;
    size_t n = 0, kept = 0, of_issue = 0;
    qsort(list, s->n_candidates, sizeof(*list), compare_stacks);
    for (size_t i = 0; i < s->n_candidates; i++) {
        if (n && list[n - 1].stack == list[i].stack)
            list[n - 1].weight += list[i].weight;
        else
            list[n++] = list[i];
    }
    qsort(list, n, sizeof(*list), compare_in_issue);
    for (size_t i = 0; i < n; i++) {
        of_issue = i && list[i].issue_id == list[i - 1].issue_id ? of_issue + 1 : 1;
        if (of_issue <= OF_ISSUE)
            list[kept++] = list[i];
    }
    qsort(list, kept, sizeof(*list), compare_weights);
    s->n_candidates = kept < STORE_SIMILAR_OTHERS ? kept : STORE_SIMILAR_OTHERS;
}

static enum fz_code
find_candidates(struct search *s, struct fz_error *err)
{
    struct sql_list list = {.arena = s->arena, .item = sizeof(struct candidate)};
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < s->n_functions; i++) {
        size_t before = list.n;
        int64_t last = INT64_MAX;
        for (int page = 0; code == FZ_OK && page < PAGES && last && list.n - before < FOREIGN;
             page++)
            code = read_page(s, &s->functions[i], &last, &list, err);
    }
    code = sql_list_done(&list, code, &s->candidates, &s->n_candidates);
    if (code == FZ_OK && s->n_candidates)
        choose(s);
    return code;
}

/* ---- their bodies ---- */

static enum fz_code
read_bodies(struct search *s, struct store_sql *q, struct store_similar_stack **ret, size_t *ret_n,
            struct fz_error *err)
{
    struct sql_list list = {.arena = s->arena, .item = sizeof(struct store_similar_stack)};
    size_t bytes = 0;
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = store_sql_done(q, err);
    if (code == FZ_OK)
        code =
            sql_query_once(s->store->sql, fz_buffer_cstr(&q->text), q->args, q->n_args, &rows, err);
    while (bytes < BODIES && sql_row(&rows, &code, err)) {
        struct store_similar_stack stack = {.number = sql_col_int(&rows, 1)};
        struct store_similar_stack *put = NULL;
        code = store_unpack(sql_col_bytes(&rows, 0), s->arena, &stack.body, err);
        if (code == FZ_OK)
            put = sql_list_put(&list, &code, err);
        if (put)
            *put = stack;
        bytes += stack.body.len;
    }
    return sql_list_done(&list, code, ret, ret_n);
}

static enum fz_code
read_own(struct search *s, struct fz_error *err)
{
    struct store_sql q;
    store_sql_init(&q, s->store, s->arena);
    store_sql_add(&q, "SELECT body, CAST(? AS bigint) FROM stacks WHERE key", sql_int(s->number));
    store_sql_in(&q, &s->own);
    enum fz_code code = read_bodies(s, &q, &s->found.own, &s->found.n_own, err);
    store_sql_deinit(&q);
    return code;
}

/* A variant that was split off has its reports in another issue than its stack's key: the newest report of the stack says which. */
static enum fz_code
read_others(struct search *s, struct fz_error *err)
{
    struct store_ids stacks = {0};
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < s->n_candidates; i++)
        code = store_ids_put(&stacks, s->candidates[i].stack, s->arena, err);
    if (code != FZ_OK || stacks.n == 0)
        return code;
    struct store_sql q;
    store_sql_init(&q, s->store, s->arena);
    fz_buffer_text(&q.text,
                   "SELECT s.body, i.number FROM stacks s JOIN issue_keys k ON k.id = s.key_id "
                   "JOIN issues i ON i.id = coalesce((SELECT v.issue_id FROM facts f JOIN variants "
                   "v ON v.id = f.variant_id WHERE f.stack_key = s.key AND f.stack_key > 0 ORDER "
                   "BY f.received_ms DESC LIMIT 1), k.issue_id) WHERE s.key");
    store_sql_in(&q, &stacks);
    store_sql_add(&q, " AND i.merged_into IS NULL AND i.n_reports > 0 AND i.id <> ?",
                  sql_int(s->issue_id));
    code = read_bodies(s, &q, &s->found.others, &s->found.n_others, err);
    store_sql_deinit(&q);
    return code;
}

enum fz_code
store_similar_find(struct store *store, int64_t project_id, int64_t number, struct fz_arena *arena,
                   struct store_similar *ret, struct fz_error *err)
{
    struct search s = {.store = store, .project_id = project_id, .number = number, .arena = arena};
    const struct sql_value args[] = {sql_int(project_id), sql_int(number)};
    bool found = false;
    enum fz_code code =
        sql_number(store->sql, "SELECT id FROM issues WHERE project_id = $1 AND number = $2", args,
                   FZ_ARRAY_LEN(args), &s.issue_id, &found, err);
    if (code == FZ_OK && !found)
        return fz_fail(err, FZ_E_NOT_FOUND, "there is no issue %lld", (long long)number);
    if (code == FZ_OK)
        code = find_own(&s, err);
    if (code == FZ_OK && s.own.n) {
        code = estimate(&s, err);
        if (code == FZ_OK)
            code = find_functions(&s, err);
        if (code == FZ_OK)
            code = find_candidates(&s, err);
        if (code == FZ_OK)
            code = read_own(&s, err);
        if (code == FZ_OK)
            code = read_others(&s, err);
    }
    if (code == FZ_OK)
        *ret = s.found;
    return code;
}
