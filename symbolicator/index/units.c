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

enum { THREADS_MAX = 64 };

enum slot_state { SLOT_FREE, SLOT_READING, SLOT_READ };

struct slot_unit {
    struct index_unit_builder unit;
    enum slot_state state;
    enum fz_code code; /* of the reading */
    struct fz_error error;
};

struct crew {
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
find_turn(struct crew *crew)
{
    for (size_t i = 0; i < crew->n_slots && !crew->is_committing; i++) {
        struct slot_unit *slot = &crew->slots[i];
        if (slot->state == SLOT_READ && slot->unit.number == crew->turn)
            return slot;
    }
    return NULL;
}

static struct slot_unit *
find_free(struct crew *crew)
{
    for (size_t i = 0; i < crew->n_slots && crew->next < crew->n_units; i++) {
        if (crew->slots[i].state == SLOT_FREE)
            return &crew->slots[i];
    }
    return NULL;
}

/* Called and left with the mutex held, as read_next(). */
static void
commit_turn(struct crew *crew, struct slot_unit *slot)
{
    enum fz_code code = slot->code;
    crew->is_committing = true;
    pthread_mutex_unlock(&crew->mutex);
    if (code == FZ_OK)
        code = index_unit_commit(&slot->unit, &slot->error);
    pthread_mutex_lock(&crew->mutex);
    crew->is_committing = false;
    crew->turn++;
    slot->state = SLOT_FREE;
    if (code != FZ_OK && crew->code == FZ_OK) {
        crew->code = code;
        crew->error = slot->error;
    }
}

static void
read_next(struct crew *crew, struct slot_unit *slot)
{
    size_t i = crew->next++;
    slot->state = SLOT_READING;
    pthread_mutex_unlock(&crew->mutex);
    slot->code = index_unit_read(&slot->unit, i, &slot->error);
    pthread_mutex_lock(&crew->mutex);
    slot->state = SLOT_READ;
}

static void *
work(void *user)
{
    struct crew *crew = user;
    pthread_mutex_lock(&crew->mutex);
    while (crew->code == FZ_OK && crew->turn < crew->n_units) {
        struct slot_unit *turn = find_turn(crew);
        struct slot_unit *free_slot = turn ? NULL : find_free(crew);
        if (turn)
            commit_turn(crew, turn);
        else if (free_slot)
            read_next(crew, free_slot);
        else
            pthread_cond_wait(&crew->changed, &crew->mutex);
        /* Some wait for a unit that is read, some for a slot that is free. */
        if (turn || free_slot)
            pthread_cond_broadcast(&crew->changed);
    }
    pthread_mutex_unlock(&crew->mutex);
    return NULL;
}

/* The calling thread works too; fewer threads than wanted are no error. */
static void
run(struct crew *crew, unsigned n_threads)
{
    pthread_t threads[THREADS_MAX];
    unsigned n = 0;
    while (n + 1 < n_threads && fz_platform_thread(&threads[n], work, crew) == 0)
        n++;
    work(crew);
    while (n > 0)
        pthread_join(threads[--n], NULL);
}

enum fz_code
index_units_build(struct index_builder *b, struct fz_error *err)
{
    struct crew crew = {.b = b, .n_units = sym_dwarf_n_units(b->dwarf), .code = FZ_OK};
    unsigned n_threads = b->n_threads < THREADS_MAX ? b->n_threads : THREADS_MAX;
    if (n_threads > crew.n_units)
        n_threads = crew.n_units ? (unsigned)crew.n_units : 1;
    /* A thread that is alone never has to wait for another. */
    crew.n_slots = n_threads == 1 ? 1 : 2 * (size_t)n_threads;
    crew.slots = calloc(crew.n_slots, sizeof(*crew.slots));
    if (!crew.slots)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    b->blocks = fz_list_zeroed(&b->budget, crew.n_units, sizeof(*b->blocks));
    if (!b->blocks) {
        free(crew.slots);
        return fz_budget_fail(&b->budget, err);
    }
    b->n_blocks = crew.n_units;
    if (pthread_mutex_init(&crew.mutex, NULL) != 0) {
        free(crew.slots);
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    }
    if (pthread_cond_init(&crew.changed, NULL) != 0) {
        pthread_mutex_destroy(&crew.mutex);
        free(crew.slots);
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < crew.n_slots; i++) {
        struct index_unit_builder *u = &crew.slots[i].unit;
        u->b = b;
        u->scan.code_low = u->lines.code_low = b->code_low;
        u->scan.code_high = u->lines.code_high = b->code_high;
    }
    run(&crew, n_threads);
    for (size_t i = 0; i < crew.n_slots; i++)
        index_unit_deinit(&crew.slots[i].unit);
    free(crew.slots);
    pthread_cond_destroy(&crew.changed);
    pthread_mutex_destroy(&crew.mutex);
    return crew.code == FZ_OK ? FZ_OK : fz_fail(err, crew.code, "%s", crew.error.text);
}
