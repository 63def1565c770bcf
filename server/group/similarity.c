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
    /* Not tuned, as there is no labelled set of Apple's stacks: the middle of what the authors found
     * for their sets. */
    return (struct group_similarity){.alpha = 1.0, .beta = 0.05, .gamma = 0.5};
}

struct place {
    const char *name;
    double weight;
    size_t position; /* from 1 */
};

static int
compare(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : x->position < y->position ? -1 : x->position > y->position;
}

/* The functions by name, those of one name in order. */
static struct place *
make_places(const struct group_similarity *with, const struct group_stack *stack,
            struct fz_arena *arena, size_t *ret_n)
{
    struct place *list = fz_arena_array(arena, stack->n_frames, sizeof(*list));
    size_t n = 0;
    for (size_t i = 0; list && i < stack->n_frames; i++) {
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
    *ret_n = n;
    return list;
}

double
group_similarity(const struct group_similarity *with, const struct group_stack *a,
                 const struct group_stack *b, struct fz_arena *arena)
{
    size_t n_x, n_y, i = 0, k = 0;
    const struct place *x = make_places(with, a, arena, &n_x);
    const struct place *y = make_places(with, b, arena, &n_y);
    double sum = 0, total = 0;
    if (!x || !y)
        return 0;
    while (i < n_x || k < n_y) {
        int order = i == n_x ? 1 : k == n_y ? -1 : strcmp(x[i].name, y[k].name);
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
