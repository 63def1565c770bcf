/*
 * The units of a file, given out to threads.
 *
 * A unit is read into a slot by any thread and committed in the order of the file, so the index
 * does not depend on who was faster. There are two slots per thread: one that has read its unit
 * while an earlier one is still being read goes on with the next unit instead of waiting.
 */
#include <pthread.h>
#include <stdlib.h>

#include "base/platform.h"
#include "symbolicator/index/unit.h"

enum slot_state { SLOT_FREE, SLOT_READING, SLOT_READ };

struct slot_unit {
    struct index_unit_builder unit;
    enum slot_state state;
    enum fz_code code; /* of the reading */
    struct fz_error error;
};

struct index_workers {
    struct index_builder *b;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct slot_unit *slots;
    size_t n_slots;
    size_t n_units, next, turn; /* to read next, to commit next */
    bool is_committing;
    enum fz_code code; /* what ended the build */
    struct fz_error error;
};

/* The slot whose unit is to be committed now; NULL if it is not read yet. */
static struct slot_unit *
find_turn(struct index_workers *shared)
{
    for (size_t i = 0; i < shared->n_slots && !shared->is_committing; i++) {
        struct slot_unit *slot = &shared->slots[i];
        if (slot->state == SLOT_READ && slot->unit.number == shared->turn)
            return slot;
    }
    return NULL;
}

static struct slot_unit *
find_free(struct index_workers *shared)
{
    for (size_t i = 0; i < shared->n_slots && shared->next < shared->n_units; i++) {
        if (shared->slots[i].state == SLOT_FREE)
            return &shared->slots[i];
    }
    return NULL;
}

/* The unit whose turn it is and those after it are left out. */
static void
cut_units(struct index_workers *shared, const char *why)
{
    sym_problem_add(shared->b->problems, SYM_PROBLEM_TOO_MUCH_WORK, "%s: %llu of %llu were read",
                    why, (unsigned long long)shared->turn, (unsigned long long)shared->n_units);
    /* What others have begun to read is dropped, so that the index does not depend on them. */
    shared->n_units = shared->turn;
}

static const char too_large[] = "units need more memory than a file of this size gets";

/* Whether the unit was read and fits into what the file may cost; else the file ends before it. */
static bool
is_affordable(struct index_workers *shared, const struct slot_unit *slot, uint64_t *ret_work)
{
    struct index_builder *b = shared->b;
    *ret_work = slot->code == FZ_OK ? index_unit_work(&slot->unit) : 0;
    if (*ret_work > b->work_left) {
        cut_units(shared, "units refer to the same bytes again and again");
        return false;
    }
    bool is_over = slot->code == FZ_E_LIMIT && b->budget.over;
    /* The other half is for sorting and writing, and for units that are read. */
    if (is_over || (slot->code == FZ_OK && b->budget.cap &&
                    index_units_memory(b, &slot->unit) > b->budget.cap / 2)) {
        b->budget.over = false;
        cut_units(shared, too_large);
        return false;
    }
    return true;
}

/* Called and left with the mutex held, as read_next(). */
static void
commit_turn(struct index_workers *shared, struct slot_unit *slot)
{
    enum fz_code code = slot->code;
    uint64_t work;
    if (!is_affordable(shared, slot, &work))
        return;
    shared->b->work_left -= work;
    /* Commits change the builder, so only one at a time; reading goes on meanwhile. */
    shared->is_committing = true;
    pthread_mutex_unlock(&shared->mutex);
    if (code == FZ_OK)
        code = index_unit_commit(&slot->unit, &slot->error);
    pthread_mutex_lock(&shared->mutex);
    shared->is_committing = false;
    if (code == FZ_E_LIMIT && shared->b->budget.over) {
        shared->b->budget.over = false;
        cut_units(shared, too_large);
        return;
    }
    shared->turn++;
    slot->state = SLOT_FREE;
    /* The first fault in the order of the file is the one that is reported. */
    if (code != FZ_OK && shared->code == FZ_OK) {
        shared->code = code;
        shared->error = slot->error;
    }
}

static void
read_next(struct index_workers *shared, struct slot_unit *slot)
{
    size_t i = shared->next++;
    slot->state = SLOT_READING;
    pthread_mutex_unlock(&shared->mutex);
    slot->code = index_unit_read(&slot->unit, i, &slot->error);
    pthread_mutex_lock(&shared->mutex);
    slot->state = SLOT_READ;
}

static void *
work(void *user)
{
    struct index_workers *shared = user;
    pthread_mutex_lock(&shared->mutex);
    while (shared->code == FZ_OK && shared->turn < shared->n_units) {
        /* Committing first: it frees a slot and its memory. */
        struct slot_unit *turn = find_turn(shared);
        struct slot_unit *free_slot = turn ? NULL : find_free(shared);
        if (turn)
            commit_turn(shared, turn);
        else if (free_slot)
            read_next(shared, free_slot);
        else
            pthread_cond_wait(&shared->changed, &shared->mutex);
        /* Some wait for a unit that is read, some for a slot that is free. */
        if (turn || free_slot)
            pthread_cond_broadcast(&shared->changed);
    }
    pthread_mutex_unlock(&shared->mutex);
    return NULL;
}

void
index_threads_run(size_t n, void *(*work_on)(void *), void *users, size_t size)
{
    pthread_t threads[INDEX_THREADS_MAX];
    size_t started = 0;
    while (started + 1 < n && fz_platform_thread(&threads[started], work_on,
                                                 (char *)users + (started + 1) * size) == 0)
        started++;
    work_on(users);
    while (started > 0)
        pthread_join(threads[--started], NULL);
}

enum fz_code
index_units_build(struct index_builder *b, struct fz_error *err)
{
    struct index_workers shared = {.b = b,
                                   .mutex = PTHREAD_MUTEX_INITIALIZER,
                                   .changed = PTHREAD_COND_INITIALIZER,
                                   .n_units = sym_dwarf_n_units(b->dwarf),
                                   .code = FZ_OK};
    unsigned n_threads = b->n_threads < INDEX_THREADS_MAX ? b->n_threads : INDEX_THREADS_MAX;
    /* More threads than units would only wait. */
    if (n_threads > shared.n_units)
        n_threads = shared.n_units ? (unsigned)shared.n_units : 1;
    /* A thread that is alone never has to wait for another. */
    shared.n_slots = n_threads == 1 ? 1 : 2 * (size_t)n_threads;
    shared.slots = calloc(shared.n_slots, sizeof(*shared.slots));
    if (!shared.slots)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    b->blocks = fz_list_zeroed(&b->budget, shared.n_units, sizeof(*b->blocks));
    if (!b->blocks) {
        free(shared.slots);
        return fz_budget_fail(&b->budget, err);
    }
    b->n_blocks = shared.n_units;
    for (size_t i = 0; i < shared.n_slots; i++) {
        struct index_unit_builder *u = &shared.slots[i].unit;
        u->b = b;
        u->scan.code_low = u->lines.code_low = b->code_low;
        u->scan.code_high = u->lines.code_high = b->code_high;
    }
    index_threads_run(n_threads, work, &shared, 0);
    for (size_t i = 0; i < shared.n_slots; i++)
        /* Also after a fault: a slot keeps the memory of the units that it read before. */
        index_unit_deinit(&shared.slots[i].unit);
    free(shared.slots);
    pthread_cond_destroy(&shared.changed);
    pthread_mutex_destroy(&shared.mutex);
    return shared.code == FZ_OK ? FZ_OK : fz_fail(err, shared.code, "%s", shared.error.text);
}
