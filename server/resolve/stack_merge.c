/*
 * Both chains are walked from the newest frame on. While they agree, a frame is the client's, with
 * the trust of the unwinder. Where they differ, the next pair that agrees is looked for:
 *
 *   client     pc  lr  a   b         KSCrash always lists lr: here the function has saved it,
 *   unwound    pc      a   b         so the lr of the last call it made is left out
 *
 *   client     pc      a   b         a leaf without a frame record: the records skip its caller
 *   unwound    pc  lr  a   b
 */
#include "server/resolve/stack_merge.h"

#include <string.h>

#include "base/attr.h"

/* Frames that are searched for the next pair that agrees. */
enum { RESYNC_MAX = 16 };

struct merge {
    struct resolve_stacks *stacks;
    const struct report *report;
    struct report_thread *thread;
    const struct sym_unwind_chain *chain;
    struct report_frame *frames; /* the result */
    int *links;
    size_t n;
    size_t n_dropped,
        n_added;  /* frames of the client that are left out, of the chain that it lacks */
    size_t first; /* frame at which they differ first */
};

/* Where both chains differ. */
struct differing {
    size_t i, k;           /* of the client's frames, of the chain */
    size_t skip_i, skip_k; /* how many each has up to the next pair that agrees, or its end */
    bool meets;            /* there is such a pair */
};

static enum report_trust
trust_of(enum sym_trust trust)
{
    static const enum report_trust trusts[] = {
        [SYM_TRUST_CONTEXT] = REPORT_TRUST_CONTEXT,
        [SYM_TRUST_CFI] = REPORT_TRUST_CFI,
        [SYM_TRUST_COMPACT] = REPORT_TRUST_COMPACT,
        [SYM_TRUST_FRAME_POINTER] = REPORT_TRUST_FRAME_POINTER,
        [SYM_TRUST_LINK_REGISTER] = REPORT_TRUST_LINK_REGISTER};
    return trusts[trust];
}

/* Frame 0 is exact and the others are not, so only what deviates is said. */
static enum report_adjust
adjust_of(const struct sym_unwind_frame *frame, size_t number)
{
    if ((number == 0) != frame->is_return)
        return REPORT_ADJUST_AUTO;
    return frame->is_return ? REPORT_ADJUST_RETURN : REPORT_ADJUST_EXACT;
}

static bool
agree(const struct merge *m, const struct report_frame *given, const struct sym_unwind_frame *found)
{
    uint64_t addr;
    if (given->addr == found->pc)
        return true;
    fz_ignore(sym_process_code(m->stacks->process, given->addr, &addr)); /* is as it was then */
    if (addr == found->pc)
        return true;
    /* A client that looks up the call itself sends an address up to one instruction lower. */
    return given->adjust == REPORT_ADJUST_EXACT && found->is_return && addr < found->pc &&
           found->pc - addr <= 4;
}

static void
add_found(struct merge *m, size_t k, const struct report_frame *given)
{
    const struct sym_unwind_frame *found = &m->chain->frames[k];
    struct report_frame *to = &m->frames[m->n];
    *to = given ? *given : (struct report_frame){.addr = found->pc, .image = -1};
    to->trust = trust_of(found->trust);
    /* The client knows what it did to its own addresses. */
    if (!given || given->adjust == REPORT_ADJUST_AUTO)
        to->adjust = adjust_of(found, m->n);
    m->links[m->n++] = (int)k;
}

static void
add_given(struct merge *m, const struct report_frame *given)
{
    m->frames[m->n] = *given;
    m->links[m->n++] = -1;
}

static void
differ(struct merge *m, size_t n_dropped, size_t n_added)
{
    if (m->n_dropped + m->n_added == 0 && n_dropped + n_added > 0)
        m->first = m->n;
    m->n_dropped += n_dropped;
    m->n_added += n_added;
}

/* How far ahead in both the next pair that agrees is; false if there is none near. */
static bool
resync(const struct merge *m, size_t i, size_t k, size_t *ret_i, size_t *ret_k)
{
    for (size_t sum = 1; sum <= RESYNC_MAX; sum++) {
        for (size_t a = 0; a <= sum; a++) {
            size_t b = sum - a;
            if (i + a < m->thread->n_frames && k + b < m->chain->n &&
                agree(m, &m->thread->frames[i + a], &m->chain->frames[k + b])) {
                *ret_i = a;
                *ret_k = b;
                return true;
            }
        }
    }
    return false;
}

/* Did more than the frame pointers lead to frame k? */
static bool
is_informed(const struct merge *m, size_t k)
{
    const struct sym_process_files *files;
    if (k == 0)
        return true;
    files = sym_process_files(m->stacks->process, m->chain->frames[k - 1].image);
    return files->dsym || files->binary;
}

/* KSCrash lists lr and then the return address of the first record, also if they are the same. */
static bool
repeats_caller(const struct merge *m, size_t i)
{
    const struct report_frame *frames = m->thread->frames;
    return i > 0 && i <= 2 && frames[i].addr == frames[i - 1].addr;
}

/* Of the frames up to the next pair that agrees, or without one up to the end: is the chain's part
 * the better one? */
static bool
prefers_chain(const struct merge *m, const struct differing *d)
{
    if (d->meets && (d->skip_i == 0 || (d->skip_k == 0 && repeats_caller(m, d->i))))
        return true;
    /* Frame records alone do not know the caller of a leaf. */
    if (!is_informed(m, d->k))
        return !d->meets && d->skip_k > d->skip_i;
    /* A few captured bytes may end the chain where the client, on the device, went on. */
    return d->meets || 2 * d->skip_k >= d->skip_i;
}

/* Both differ at i and k: take the better part. */
static void
settle(struct merge *m, size_t *i, size_t *k)
{
    struct differing d = {
        .i = *i, .k = *k, .skip_i = m->thread->n_frames - *i, .skip_k = m->chain->n - *k};
    d.meets = resync(m, *i, *k, &d.skip_i, &d.skip_k);
    if (prefers_chain(m, &d)) {
        differ(m, d.skip_i, d.skip_k);
        for (size_t n = 0; n < d.skip_k; n++)
            add_found(m, d.k + n, NULL);
    } else {
        for (size_t n = 0; n < d.skip_i; n++)
            add_given(m, &m->thread->frames[d.i + n]);
    }
    *i += d.skip_i;
    *k += d.skip_k;
}

static void
note_difference(const struct merge *m, struct report *report, struct fz_arena *arena)
{
    const char *dropped = m->n_dropped == 1 ? "frame" : "frames";
    long long index = (long long)m->thread->index;
    if (m->n_dropped && m->n_added)
        report_note(report, arena,
                    "thread %lld: from frame %zu on, %zu %s of the client differ from the unwound "
                    "stack and are replaced by %zu",
                    index, m->first, m->n_dropped, dropped, m->n_added);
    else if (m->n_dropped)
        report_note(report, arena,
                    "thread %lld: from frame %zu on, %zu %s of the client are left out: the "
                    "unwound stack does not have them",
                    index, m->first, m->n_dropped, dropped);
    else if (m->n_added)
        report_note(report, arena,
                    "thread %lld: from frame %zu on, %zu frames that the client skipped are added "
                    "from the unwound stack",
                    index, m->first, m->n_added);
}

static void
merge_chains(struct merge *m)
{
    size_t i = 0, k = 0;
    while (i < m->thread->n_frames && k < m->chain->n) {
        if (agree(m, &m->thread->frames[i], &m->chain->frames[k]))
            add_found(m, k++, &m->thread->frames[i++]);
        else
            settle(m, &i, &k);
    }
    if (m->thread->n_frames > 0)
        differ(m, 0, m->chain->n - k);
    while (k < m->chain->n)
        add_found(m, k++, NULL);
    while (i < m->thread->n_frames)
        add_given(m, &m->thread->frames[i++]);
}

enum fz_code
resolve_stack_merge(struct resolve_stacks *stacks, struct report *report, size_t number,
                    struct fz_arena *arena, struct fz_error *err)
{
    struct report_thread *thread = &report->threads[number];
    struct resolve_stack *stack = &stacks->threads[number];
    struct merge m = {.stacks = stacks, .report = report, .thread = thread, .chain = &stack->chain};
    /* A stack of another moment, as that of a language exception. */
    if (thread->n_frames > 0 && !agree(&m, &thread->frames[0], &stack->chain.frames[0])) {
        report_note(report, arena,
                    "thread %lld: the frames of the client do not begin at the pc; they are shown "
                    "as they came",
                    (long long)thread->index);
        stack->chain.n = 0;
        return FZ_OK;
    }
    size_t room = thread->n_frames + stack->chain.n;
    m.frames = fz_arena_array(arena, room, sizeof(*m.frames));
    m.links = fz_arena_array(arena, room, sizeof(*m.links));
    if (!m.frames || !m.links)
        return fz_arena_fail(arena, err);
    merge_chains(&m);
    note_difference(&m, report, arena);
    thread->frames = m.frames;
    thread->n_frames = m.n;
    stack->links = m.links;
    return FZ_OK;
}

static const char *
function_of(const struct report_frame *frame)
{
    return frame->n_symbols ? frame->symbols[frame->n_symbols - 1].function : NULL;
}

static bool
repeats_lr(const struct report *report, const struct report_thread *thread)
{
    const struct report_frame *frames = thread->frames;
    const struct report_register *lr = report_find_register(report, thread, FZ_REGISTER_LR);
    if (!lr || thread->n_frames < 3 || frames[1].trust != REPORT_TRUST_GIVEN ||
        frames[1].addr != lr->value || frames[2].addr != frames[1].addr)
        return false;
    const char *callee = function_of(&frames[0]), *caller = function_of(&frames[1]);
    return callee && caller && strcmp(callee, caller) != 0;
}

void
resolve_stack_drop_repeated(const struct resolve_stacks *stacks, struct report *report,
                            struct fz_arena *arena)
{
    /* Others list lr only where they know that it is the caller. */
    if (!report->format || strcmp(report->format, "kscrash") != 0)
        return;
    for (size_t i = 0; i < report->n_threads; i++) {
        struct report_thread *thread = &report->threads[i];
        bool is_unwound = stacks->process && stacks->threads[i].chain.n > 0;
        if (is_unwound || !repeats_lr(report, thread))
            continue;
        thread->n_frames--;
        memmove(&thread->frames[1], &thread->frames[2],
                (thread->n_frames - 1) * sizeof(*thread->frames));
        report_note(report, arena, "thread %lld: frame 1 was listed twice, as lr and as a caller",
                    (long long)thread->index);
    }
}
