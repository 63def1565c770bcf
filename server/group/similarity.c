/*
 * FaST: how similar two stacks are, in time that is linear in their frames (I. M. Rodrigues,
 * D. Aloise, E. R. Fernandes: FaST, a linear time stack trace alignment heuristic for crash report
 * deduplication, MSR 2022).
 *
 * The weight of the function at position p, from 1, is p^-alpha · exp(-beta · 100 · df / N): less
 * the deeper it is and the more stacks contain it. Occurrences of a function in both stacks are
 * paired in order; a pair adds (w1 + w2) · exp(-gamma · |p1 - p2|), what is left over subtracts its
 * weight, and the sum is divided by all weights.
 *
 *   a: f g     b: g     alpha 1, beta 0, gamma 0: weights 1, 1/2 and 1; (1/2 + 1 - 1) / 2.5 = 0.2
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "server/group/group.h"

struct group_similarity
group_similarity_default(void)
{
    /* By the labelled stacks of tests/compare/similar_stacks.py; docs/grouping.md has the figures. */
    return (struct group_similarity){.alpha = 0.5, .beta = 0.2, .gamma = 0.25};
}

struct place {
    const char *name;
    double weight;
    size_t position; /* from 1 */
};

struct group_weighed {
    struct place *list; /* by name, those of one name in order */
    size_t n;
};

static int
compare(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : x->position < y->position ? -1 : x->position > y->position;
}

const struct group_weighed *
group_similarity_weigh(const struct group_similarity *with, const struct group_stack *stack,
                       struct fz_arena *arena)
{
    struct group_weighed *made = fz_arena_alloc(arena, sizeof(*made));
    struct place *list = fz_arena_array(arena, stack->n_frames, sizeof(*list));
    size_t n = 0;
    if (!made || !list)
        return NULL;
    for (size_t i = 0; i < stack->n_frames; i++) {
        const char *name = stack->frames[i].name;
        if (!name)
            continue;
        double share = 0;
        if (with->frequency && with->n_stacks)
            share = (double)with->frequency(with->user, name) / (double)with->n_stacks;
        list[n] = (struct place){.name = name, .position = i + 1};
        list[n++].weight = pow((double)(i + 1), -with->alpha) * exp(-with->beta * 100 * share);
    }
    if (n)
        qsort(list, n, sizeof(*list), compare);
    *made = (struct group_weighed){list, n};
    return made;
}

double
group_similarity(const struct group_similarity *with, const struct group_weighed *a,
                 const struct group_weighed *b)
{
    const struct place *x = a->list, *y = b->list;
    size_t i = 0, k = 0;
    double sum = 0, total = 0;
    while (i < a->n || k < b->n) {
        int order = i == a->n ? 1 : k == b->n ? -1 : strcmp(x[i].name, y[k].name);
        if (order == 0) {
            size_t p = x[i].position, q = y[k].position;
            double weight = x[i++].weight + y[k++].weight;
            sum += weight * exp(-with->gamma * (double)(p > q ? p - q : q - p));
            total += weight;
            continue;
        }
        double weight = order < 0 ? x[i++].weight : y[k++].weight;
        sum -= weight;
        total += weight;
    }
    return total > 0 ? sum / total : 0;
}

/* Past all places of the name at `i`; adds their weights. */
static size_t
skip(const struct group_weighed *weighed, size_t i, double *weight)
{
    const char *name = weighed->list[i].name;
    for (; i < weighed->n && strcmp(weighed->list[i].name, name) == 0; i++)
        *weight += weighed->list[i].weight;
    return i;
}

size_t
group_similarity_shared(const struct group_weighed *a, const struct group_weighed *b,
                        const char **ret, size_t max)
{
    double weights[GROUP_SHARED_MAX];
    size_t i = 0, k = 0, n = 0, kept = 0;
    max = max < GROUP_SHARED_MAX ? max : GROUP_SHARED_MAX;
    while (i < a->n && k < b->n) {
        const char *name = a->list[i].name;
        int order = strcmp(name, b->list[k].name);
        double weight = 0;
        if (order <= 0)
            i = skip(a, i, &weight);
        if (order >= 0)
            k = skip(b, k, &weight);
        if (order != 0)
            continue;
        n++;
        size_t at = kept < max ? kept++ : max;
        for (; at > 0 && weights[at - 1] < weight; at--) {
            if (at < max) {
                weights[at] = weights[at - 1];
                ret[at] = ret[at - 1];
            }
        }
        if (at < max) {
            weights[at] = weight;
            ret[at] = name;
        }
    }
    return n;
}
