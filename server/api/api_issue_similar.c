/*
 * Issues like another one: GET /issues/{number}/similar.
 *
 * Storage has the stacks that are worth comparing, server/group compares them. An issue is as similar as the most similar pair of
 * stacks, one of each. It is a proposal: nothing is merged.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/api/api_handlers.h"
#include "server/api/api_issue.h"
#include "server/api/api_query.h"
#include "server/group/group.h"
#include "storage/store_similar.h"

enum {
    LIMIT_DEFAULT = 5,
    LIMIT_MAX = 20,
    SHOWN = 5, /* shared functions by name */
    /* Added to the sample: in a project of few stacks, one that has a function says little of how frequent it is. */
    UNSEEN = 50,
};

/* At 0 as much is shared as is not. Where only the function that crashed differs, the score is a little below it: of the labelled
 * stacks (docs/grouping.md) one pair in two hundred that does not belong together is above this. */
static const double score_min = -0.25;

struct proposal {
    int64_t number;
    double score;
    const struct group_weighed *own, *other; /* the pair */
};

struct comparison {
    struct api_call *call;
    struct store_similar found;
    struct group_similarity with;
    const struct group_weighed *own[STORE_SIMILAR_OWN];
    size_t n_own;
    struct proposal proposals[STORE_SIMILAR_OTHERS];
    size_t n;
};

static int
compare_functions(const void *a, const void *b)
{
    const struct store_frequency *x = a, *y = b;
    return strcmp(x->function, y->function);
}

static uint64_t
frequency(void *user, const char *function)
{
    const struct store_similar *found = user;
    const struct store_frequency key = {.function = function};
    const struct store_frequency *known =
        found->n_functions
            ? bsearch(&key, found->functions, found->n_functions, sizeof(key), compare_functions)
            : NULL;
    return known ? known->n : 1;
}

/* NULL in *ret: a stack that this program cannot read, or without functions. */
static enum fz_code
weigh(struct comparison *c, struct fz_span body, const struct group_weighed **ret,
      struct fz_error *err)
{
    struct group_stack *stack = fz_arena_alloc(c->call->arena, sizeof(*stack));
    *ret = NULL;
    if (!stack)
        return fz_arena_fail(c->call->arena, err);
    enum fz_code code = group_stack_decode(body, c->call->arena, stack, err);
    if (code == FZ_E_MALFORMED)
        return FZ_OK;
    if (code == FZ_OK) {
        *ret = group_similarity_weigh(&c->with, stack, c->call->arena);
        code = *ret ? FZ_OK : fz_arena_fail(c->call->arena, err);
    }
    return code;
}

static void
propose(struct comparison *c, int64_t number, const struct group_weighed *other)
{
    struct proposal best = {.number = number, .score = -1};
    for (size_t i = 0; i < c->n_own; i++) {
        double score = group_similarity(&c->with, c->own[i], other);
        if (!best.own || score > best.score)
            best = (struct proposal){number, score, c->own[i], other};
    }
    if (!best.own || best.score < score_min)
        return;
    size_t i = 0;
    while (i < c->n && c->proposals[i].number != number)
        i++;
    if (i == c->n)
        c->proposals[c->n++] = best;
    else if (best.score > c->proposals[i].score)
        c->proposals[i] = best;
}

static enum fz_code
compare_all(struct comparison *c, struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    c->with = group_similarity_default();
    c->with.frequency = frequency;
    c->with.user = &c->found;
    c->with.n_stacks = c->found.n_sample + UNSEEN;
    for (size_t i = 0; code == FZ_OK && i < c->found.n_own; i++) {
        code = weigh(c, c->found.own[i].body, &c->own[c->n_own], err);
        c->n_own += code == FZ_OK && c->own[c->n_own];
    }
    for (size_t i = 0; code == FZ_OK && i < c->found.n_others; i++) {
        const struct group_weighed *other = NULL;
        code = weigh(c, c->found.others[i].body, &other, err);
        if (code == FZ_OK && other)
            propose(c, c->found.others[i].number, other);
    }
    return code;
}

/* The most similar first; of equal ones the older issue. */
static int
compare_proposals(const void *a, const void *b)
{
    const struct proposal *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

static void
write_shared(struct json_write *w, const struct proposal *proposal)
{
    const char *shared[SHOWN];
    size_t n = group_similarity_shared(proposal->own, proposal->other, shared, SHOWN);
    size_t n_shown = n < SHOWN ? n : SHOWN;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer words = fz_buffer_make(0);
    fz_buffer_text(&words, "both have ");
    for (size_t i = 0; i < n_shown; i++)
        fz_buffer_printf(&words, "%s%s", i == 0 ? "" : i + 1 == n ? " and " : ", ", shared[i]);
    if (n > n_shown)
        fz_buffer_printf(&words, " and %zu more", n - n_shown);
    json_write_text(w, "why", words.failed ? NULL : fz_buffer_cstr(&words));
    json_write_open(w, "functions", '[');
    for (size_t i = 0; i < n_shown; i++)
        json_write_text(w, NULL, shared[i]);
    json_write_close(w, ']');
    json_write_u64(w, "function_count", n);
}

static enum fz_code
write_proposal(struct comparison *c, const struct proposal *proposal, struct json_write *w,
               struct fz_error *err)
{
    struct store_issue issue;
    char score[32];
    enum fz_code code = store_issue_get(c->call->store, c->call->project_id, proposal->number,
                                        c->call->arena, &issue, err);
    if (code != FZ_OK)
        return code;
    json_write_open(w, NULL, '{');
    api_issue_write(w, &issue);
    snprintf(score, sizeof(score), "%.3f", proposal->score);
    json_write_raw(w, "score", score);
    write_shared(w, proposal);
    json_write_close(w, '}');
    return FZ_OK;
}

static enum fz_code
answer(struct comparison *c, size_t limit, struct fz_error *err)
{
    struct json_write w = api_begin(c->call, '{');
    enum fz_code code = FZ_OK;
    if (c->n)
        qsort(c->proposals, c->n, sizeof(*c->proposals), compare_proposals);
    json_write_open(&w, "similar", '[');
    for (size_t i = 0; code == FZ_OK && i < c->n && i < limit; i++)
        code = write_proposal(c, &c->proposals[i], &w, err);
    json_write_close(&w, ']');
    return code == FZ_OK ? api_answer(c->call, 200, &w, '}', err) : code;
}

enum fz_code
api_issue_similar(struct api_call *call, struct fz_error *err)
{
    struct store_issue issue;
    bool is_redirected = false;
    size_t limit = 0;
    struct comparison *c = fz_arena_alloc(call->arena, sizeof(*c));
    if (!c)
        return fz_arena_fail(call->arena, err);
    *c = (struct comparison){.call = call};
    enum fz_code code = api_query_limit(call->request, LIMIT_DEFAULT, LIMIT_MAX, &limit, err);
    if (code == FZ_OK)
        code = api_issue_find(call, "/similar", &issue, &is_redirected, err);
    if (code != FZ_OK || is_redirected)
        return code;
    code = store_similar_find(call->store, call->project_id, issue.number, call->arena, &c->found,
                              err);
    if (code == FZ_OK)
        code = compare_all(c, err);
    return code == FZ_OK ? answer(c, limit, err) : code;
}
