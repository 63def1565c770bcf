#include "storage/store_issue_counts.h"

#include <stdlib.h>

#include "storage/store_fact_share.h"

enum { AT_ONCE = 256 /* facts */, VALUES = 256, TABLES = 4 };

const struct store_distributed store_distributed[STORE_DISTRIBUTIONS] = {
    [STORE_BY_VERSION] = {STORE_TERM_VERSION, STORE_FACT_VERSION},
    [STORE_BY_OS] = {STORE_TERM_OS, STORE_FACT_OS},
    [STORE_BY_DEVICE] = {STORE_TERM_DEVICE, STORE_FACT_DEVICE},
    [STORE_BY_ARCH] = {STORE_TERM_ARCH, STORE_FACT_ARCH},
    [STORE_BY_ENVIRONMENT] = {STORE_TERM_ENVIRONMENT, STORE_FACT_ENVIRONMENT},
};

/* For store_tally_count(), then for the distributions. */
static const enum store_fact_column columns[] = {
    STORE_FACT_VARIANT, STORE_FACT_USER,   STORE_FACT_VERSION, STORE_FACT_RECEIVED,
    STORE_FACT_OS,      STORE_FACT_DEVICE, STORE_FACT_ARCH,    STORE_FACT_ENVIRONMENT};

void
store_issue_counts_deinit(struct store_issue_counts *counts)
{
    for (int i = 0; i < STORE_DISTRIBUTIONS; i++)
        store_map_deinit(&counts->values[i]);
}

enum fz_code
store_issue_counts_put(struct store_issue_counts *counts, int by, int64_t term, uint64_t n,
                       struct fz_error *err)
{
    uint32_t *count = store_map_put(&counts->values[by], term > 0 ? term : -1);
    if (!count)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    *count += (uint32_t)n;
    return FZ_OK;
}

/* ---- batches ---- */

/* Of a column with at most 256 values, which most columns of a day are. */
static enum fz_code
count_few(struct store_issue_counts *counts, const struct store_fact_batch *batch, int by,
          struct fz_error *err)
{
    const struct store_block *column = &batch->columns[store_distributed[by].column];
    /* Most facts have the same value as the one before: in turns, no addition waits for the last one. */
    uint32_t tables[TABLES][VALUES] = {{0}};
    int64_t numbers[AT_ONCE];
    enum fz_code code = FZ_OK;
    for (size_t from = 0, n; from < batch->n; from += n) {
        n = batch->n - from < AT_ONCE ? batch->n - from : AT_ONCE;
        store_block_read(column, batch->at + from, n, numbers);
        for (size_t i = 0; i < n; i++)
            tables[i % TABLES][(uint64_t)(numbers[i] - column->base) % VALUES]++;
    }
    for (int i = 0; code == FZ_OK && i < VALUES; i++) {
        uint64_t n = 0;
        for (int k = 0; k < TABLES; k++)
            n += tables[k][i];
        code = n ? store_issue_counts_put(counts, by, column->base + i, n, err) : FZ_OK;
    }
    return code;
}

static enum fz_code
count_many(struct store_issue_counts *counts, const struct store_fact_batch *batch, int by,
           struct fz_error *err)
{
    const struct store_block *column = &batch->columns[store_distributed[by].column];
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < batch->n; i++)
        code = store_issue_counts_put(counts, by, store_block_get(column, batch->at[i]), 1, err);
    return code;
}

static enum fz_code
count(void *user, const struct store_fact_batch *batch, struct fz_error *err)
{
    struct store_issue_counts *counts = user;
    enum fz_code code = store_tally_count(counts->tally, batch, err);
    for (int by = 0; code == FZ_OK && by < STORE_DISTRIBUTIONS; by++) {
        bool is_few = batch->columns[store_distributed[by].column].width <= 1;
        code = is_few ? count_few(counts, batch, by, err) : count_many(counts, batch, by, err);
    }
    return code;
}

/* ---- two threads ---- */

struct other {
    struct store_issue_counts counts;
    struct store_tally tally;
};

static enum fz_code
make_other(void *own, void **ret, struct fz_error *err)
{
    const struct store_issue_counts *counts = own;
    struct other *other = calloc(1, sizeof(*other));
    *ret = other;
    if (!other)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    other->counts.tally = &other->tally;
    return store_tally_count_like(counts->tally, &other->tally, err);
}

static void
drop_other(void *user)
{
    struct other *other = user;
    if (!other)
        return;
    store_issue_counts_deinit(&other->counts);
    store_tally_count_drop(&other->tally);
    free(other);
}

static enum fz_code
add_other(void *own, void *user, struct fz_error *err)
{
    struct store_issue_counts *counts = own;
    struct other *other = user;
    enum fz_code code = store_tally_count_add(counts->tally, &other->tally, err);
    for (int by = 0; by < STORE_DISTRIBUTIONS; by++) {
        const struct store_map *values = &other->counts.values[by];
        for (size_t i = 0; code == FZ_OK && i < values->room; i++) {
            if (values->slots[i].key)
                code = store_issue_counts_put(counts, by, values->slots[i].key,
                                              values->slots[i].value, err);
        }
    }
    return code;
}

enum fz_code
store_issue_counts_facts(struct store_issue_counts *counts, const struct store_fact_query *facts,
                         struct fz_error *err)
{
    const struct store_fact_want want = {
        .columns = columns, .n_columns = FZ_ARRAY_LEN(columns), .counted_only = true};
    const struct store_counter counter = {counts, count, make_other, add_other, drop_other};
    enum fz_code code = store_tally_count_start(counts->tally, err);
    if (code == FZ_OK && !facts->is_empty)
        code = store_facts_count(facts, &want, &counter, err);
    if (code != FZ_OK)
        return code;
    store_tally_count_end(counts->tally);
    /* Its variants have their users in common. */
    const uint32_t first = 0;
    return store_tally_users(counts->tally, &first, counts->tally->n ? 1 : 0, err);
}
