/*
 * Recursion without end: a stack of which a part repeats.
 *
 *   leaf  b a b a b a b a ... b a  viewDidLoad ...     period 2, from frame 1 on
 *
 * The stack ends at whatever function met the end of its memory, and a client cuts it where it
 * likes: only what repeats distinguishes such crashes.
 */
#include <string.h>

#include "server/group/parts.h"

enum {
    PERIOD_MAX = 32,
    START_MAX = 24,   /* frames of what the recursion called last */
    TIMES_MIN = 4,    /* less is recursion as many programs have it */
    FRAMES_MIN = 12,  /* that repeat */
    PERCENT_MIN = 60, /* of the stack */
    SURE = 60,        /* frames that repeat in a stack of any length */
};

static bool
same_place(const struct group_frame *a, const struct group_frame *b)
{
    return a->has_place && b->has_place && a->offset == b->offset &&
           fz_uuid_equal(&a->uuid, &b->uuid);
}

/* Code of others has no places where the app's own has names (stack.c): what is known then is its
 * image. */
static bool
same_function(const struct group_frame *a, const struct group_frame *b)
{
    if (!a->name && !b->name && !a->has_place && !b->has_place)
        return a->image >= 0 && a->image == b->image;
    if (!a->name || !b->name)
        return !a->name && !b->name && same_place(a, b);
    return strcmp(a->name, b->name) == 0;
}

/* How many frames from `first` on are equal to the one `period` further. */
static size_t
run_length(const struct group_stack *stack, size_t first, size_t period)
{
    size_t n = 0;
    while (first + n + period < stack->n_frames &&
           same_function(&stack->frames[first + n], &stack->frames[first + n + period]))
        n++;
    return n;
}

bool
group_find_cycle(const struct group_stack *stack, struct group_cycle *ret)
{
    /* The shortest period that fits: a longer one is a multiple of it. */
    for (size_t period = 1; period <= PERIOD_MAX && period * TIMES_MIN <= stack->n_frames;
         period++) {
        for (size_t first = 0; first <= START_MAX;) {
            size_t run = run_length(stack, first, period), n = run + period;
            if (run && n >= FRAMES_MIN && n / period >= TIMES_MIN &&
                (n >= SURE || n * 100 >= stack->n_frames * PERCENT_MIN)) {
                *ret = (struct group_cycle){first, period, n / period};
                return true;
            }
            first += run + 1;
        }
    }
    return false;
}
