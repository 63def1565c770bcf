#include "symbolicator/unwind/code.h"

#include <stdlib.h>

#include "base/list.h"

enum { CODE_MAX = 1 << 20, PATHS_MAX = 1 << 14 };
enum { IS_VISITED = 1, IS_QUEUED = 2, IS_TARGET = 4, IS_START = 8 };

struct path {
    uint64_t at;
    struct unwind_state state;
};

struct paths {
    struct path *list;
    size_t n, room;
};

struct walk {
    struct fz_span code;
    unwind_decode_fn decode;
    unsigned unit;  /* instructions begin at multiples of it */
    uint8_t *flags; /* for each unit */
    struct paths now, later;
    uint64_t wanted;
    bool found, failed;
    struct unwind_state result;
    /* Blocks that only a table or the runtime's exception handling leads to have the state of the
     * table's jump, or of a call. */
    bool has_seed, has_table_seed;
    struct unwind_state seed;
};

void
unwind_state_store(int32_t saved[32], int number, int64_t below)
{
    if (number >= 0 && saved[number] == UNWIND_IN_PLACE && below > 0 && below <= INT32_MAX)
        saved[number] = (int32_t)below;
}

static void
overwrite(int32_t saved[32], int64_t below, unsigned size)
{
    for (int i = 0; i < 32; i++) {
        /* The slot is [CFA - saved, + 8), the store [CFA - below, + size). */
        if (saved[i] > 0 && -below < -(int64_t)saved[i] + 8 && -(int64_t)saved[i] < -below + size)
            saved[i] = UNWIND_LOST;
    }
}

void
unwind_state_overwrite(struct unwind_state *state, int64_t below, unsigned size)
{
    overwrite(state->saved, below, size);
    overwrite(state->saved_vectors, below, size);
}

void
unwind_state_load(int32_t saved[32], int number, int64_t below)
{
    if (number >= 0 && saved[number] > 0 && saved[number] == below)
        saved[number] = UNWIND_IN_PLACE;
}

void
unwind_state_copy(struct unwind_state *state, unsigned number, bool known, int64_t below)
{
    state->has_copy &= ~(1u << number);
    if (!known || below < INT32_MIN || below > INT32_MAX)
        return;
    state->has_copy |= 1u << number;
    state->copies[number] = (int32_t)below;
}

static uint8_t *
flags_at(struct walk *w, uint64_t at)
{
    return &w->flags[at / w->unit];
}

static bool
is_inside(const struct walk *w, uint64_t at)
{
    return at < w->code.len && at % w->unit == 0;
}

static void
add_path(struct walk *w, struct paths *paths, uint64_t at, const struct unwind_state *state)
{
    struct path *list = paths->n >= PATHS_MAX ? NULL
                                              : fz_list_grow(NULL, paths->list, &paths->room,
                                                             paths->n + 1, sizeof(*list));
    if (!list) {
        w->failed = true;
        return;
    }
    paths->list = list;
    list[paths->n++] = (struct path){.at = at, .state = *state};
}

/* Go there too, unless a path did before: all that lead to a place have the same frame. */
static void
add_target(struct walk *w, uint64_t at, const struct unwind_state *state)
{
    if (!is_inside(w, at) || *flags_at(w, at) & (IS_VISITED | IS_QUEUED))
        return;
    *flags_at(w, at) |= IS_QUEUED;
    add_path(w, &w->now, at, state);
}

static void
keep_seed(struct walk *w, const struct unwind_state *state, bool is_table)
{
    if (w->has_table_seed && !is_table)
        return;
    w->seed = *state;
    w->has_seed = true;
    w->has_table_seed = is_table;
}

/* Nothing is saved any more: a jump from here leaves the function. */
static bool
is_entry_like(const struct unwind_state *state)
{
    for (int i = 0; i < 32; i++) {
        if (state->saved[i] != UNWIND_IN_PLACE)
            return false;
    }
    return true;
}

/* Follow one path until it ends, meets another one, or reaches the wanted place. */
static void
follow(struct walk *w, const struct path *path)
{
    struct unwind_state state = path->state;
    struct unwind_numbers numbers = {.known = 0};
    struct unwind_insn insn;
    for (uint64_t at = path->at; is_inside(w, at); at += insn.len) {
        if (*flags_at(w, at) & IS_VISITED)
            return;
        *flags_at(w, at) |= IS_VISITED;
        if (at == w->wanted) {
            w->found = true;
            w->result = state;
            return;
        }
        w->decode(w->code, at, &state, &numbers, &insn);
        switch (insn.flow) {
        case UNWIND_FLOW_NEXT:
            break;
        case UNWIND_FLOW_CALL:
            keep_seed(w, &state, false);
            numbers.known = 0;
            /* If the callee does not return, what follows belongs to the branch that leads there. */
            if (is_inside(w, at + insn.len) && *flags_at(w, at + insn.len) & IS_TARGET) {
                add_path(w, &w->later, at + insn.len, &state);
                return;
            }
            break;
        case UNWIND_FLOW_BRANCH:
            add_target(w, insn.target, &state);
            break;
        case UNWIND_FLOW_JUMP:
            add_target(w, insn.target, &state);
            return;
        case UNWIND_FLOW_INDIRECT:
            if (!is_entry_like(&state))
                keep_seed(w, &state, true);
            else if (!w->has_seed)
                keep_seed(w, &state, false);
            return;
        case UNWIND_FLOW_END:
        case UNWIND_FLOW_BAD:
            return;
        }
    }
}

/* Where instructions begin and which of them branches lead to, read from start to end. */
static void
mark(struct walk *w)
{
    struct unwind_insn insn;
    for (uint64_t at = 0; is_inside(w, at); at += insn.len) {
        w->decode(w->code, at, NULL, NULL, &insn);
        if (insn.flow == UNWIND_FLOW_BAD)
            insn.len = w->unit; /* data between the code */
        else
            *flags_at(w, at) |= IS_START;
        if ((insn.flow == UNWIND_FLOW_BRANCH || insn.flow == UNWIND_FLOW_JUMP) &&
            is_inside(w, insn.target))
            *flags_at(w, insn.target) |= IS_TARGET;
    }
}

static void
follow_all(struct walk *w)
{
    while (!w->found && !w->failed && (w->now.n > 0 || w->later.n > 0)) {
        struct paths *paths = w->now.n > 0 ? &w->now : &w->later;
        struct path path = paths->list[--paths->n];
        follow(w, &path);
    }
}

/* The next place that no path led to; false if there is none. */
static bool
find_unvisited(struct walk *w, uint64_t *at)
{
    for (; is_inside(w, *at); *at += w->unit) {
        if ((*flags_at(w, *at) & (IS_START | IS_VISITED)) == IS_START)
            return true;
    }
    return false;
}

bool
unwind_code_follow(struct fz_span code, unwind_decode_fn decode, unsigned unit,
                   const struct unwind_state *entry, uint64_t at, struct unwind_state *ret)
{
    struct walk w = {.code = code, .decode = decode, .unit = unit, .wanted = at};
    if (code.len == 0 || code.len > CODE_MAX || !is_inside(&w, at))
        return false;
    w.flags = calloc(code.len / unit + 1, 1);
    if (!w.flags)
        return false;
    mark(&w);
    add_target(&w, 0, entry);
    follow_all(&w);
    for (uint64_t next = 0; !w.found && !w.failed && w.has_seed && find_unvisited(&w, &next);) {
        add_path(&w, &w.now, next, &w.seed);
        follow_all(&w);
    }
    free(w.flags);
    fz_list_free(NULL, w.now.list, w.now.room, sizeof(*w.now.list));
    fz_list_free(NULL, w.later.list, w.later.room, sizeof(*w.later.list));
    if (!w.found)
        return false;
    *ret = w.result;
    return true;
}
