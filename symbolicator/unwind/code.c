#include "symbolicator/unwind/code.h"

#include <stdlib.h>

#include "base/list.h"

enum { CODE_MAX = 1 << 20, PATHS_MAX = 1 << 16 };
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

static struct unwind_rule
rule_of(int32_t saved)
{
    if (saved == UNWIND_IN_PLACE)
        return (struct unwind_rule){.where = UNWIND_SAME};
    if (saved == UNWIND_LOST)
        return (struct unwind_rule){.where = UNWIND_UNKNOWN};
    return (struct unwind_rule){.where = UNWIND_AT, .offset = -(int64_t)saved};
}

static bool
row_of(const struct unwind_state *state, enum fz_arch_cpu cpu, struct unwind_row *ret)
{
    int sp = fz_arch_register_of_role(cpu, FZ_REGISTER_SP);
    int fp = fz_arch_register_of_role(cpu, FZ_REGISTER_FP);
    int lr = fz_arch_register_of_role(cpu, FZ_REGISTER_LR);
    unwind_row_init(ret, cpu, SYM_TRUST_COMPACT);
    /* A callee of i386 may pop its arguments, so sp is sure only where there is no record. */
    bool by_fp = state->has_fp && (!state->has_sp || cpu == FZ_CPU_X86);
    if (!by_fp && !state->has_sp)
        return false;
    ret->cfa = (struct unwind_rule){
        .where = UNWIND_IS, .reg = by_fp ? fp : sp, .offset = by_fp ? state->fp : state->sp};
    for (int i = 0; i < 32; i++) {
        if (unwind_is_callee_saved(cpu, i))
            ret->registers[i] = rule_of(state->saved[i]);
        if (unwind_is_callee_saved_vector(cpu, (unsigned)i))
            ret->vectors[i] = rule_of(state->saved_vectors[i]);
    }
    if (lr < 0) {
        ret->pc =
            (struct unwind_rule){.where = UNWIND_AT, .offset = -(int64_t)unwind_slot_size(cpu)};
        return true;
    }
    ret->pc = rule_of(state->saved[lr]);
    if (ret->pc.where == UNWIND_SAME)
        ret->trust = SYM_TRUST_LINK_REGISTER;
    return ret->pc.where != UNWIND_UNKNOWN;
}

bool
unwind_code(struct unwind_step *step, struct unwind_row *ret)
{
    static const struct {
        unwind_decode_fn decode;
        unsigned unit;
        int64_t entry_sp; /* a call of x86 pushes the return address */
    } cpus[] = {[FZ_CPU_UNKNOWN] = {NULL, 1, 0},
                [FZ_CPU_ARM64] = {unwind_decode_arm64, 4, 0},
                [FZ_CPU_ARM] = {NULL, 1, 0},
                [FZ_CPU_X86_64] = {unwind_decode_x86_64, 1, 8},
                [FZ_CPU_X86] = {unwind_decode_x86, 1, 4}};
    struct unwind_state state = {.has_sp = true, .sp = cpus[step->cpu].entry_sp};
    uint64_t start, size = step->function.end - step->function.start, at = step->addr;
    if (!cpus[step->cpu].decode || !step->has_function ||
        !sym_process_from_file(step->process, step->frame->image, step->function.start, &start))
        return false;
    struct fz_span code =
        sym_process_bytes(step->process, start, size < CODE_MAX ? size : CODE_MAX);
    at -= step->function.start;
    /* Of a call: the call itself, or where its length is not fixed the instruction after it, which
     * finds the same frame. */
    if (!step->is_exact)
        at = cpus[step->cpu].unit > 1 ? at - at % cpus[step->cpu].unit : at + 1;
    if (!unwind_code_follow(code, cpus[step->cpu].decode, cpus[step->cpu].unit, &state, at, &state))
        return false;
    /* At a call lr is overwritten. */
    return row_of(&state, step->cpu, ret) &&
           (step->is_exact || ret->trust != SYM_TRUST_LINK_REGISTER);
}
