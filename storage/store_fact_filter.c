#include "storage/store_fact_filter.h"

#include <stdlib.h>
#include <string.h>

/* A set is 16 MB at most; sets of ids that are farther apart are searched. */
static const uint64_t SPAN_MAX = UINT64_C(1) << 27;

struct store_fact_filter_part {
    enum store_fact_column column;
    bool is_range;        /* all of them are in the set */
    int64_t least;        /* of the set */
    uint64_t span;        /* from the smallest to the largest */
    uint64_t *bits;       /* from `least` on; owned; NULL: see ids */
    struct store_ids ids; /* sorted */
};

/* ---- sets ---- */

static enum store_fact_column
column_of(const struct store_fact_part *part)
{
    if (part->kind == STORE_FACTS_TAGS)
        return STORE_FACT_TAG_IDS;
    for (int i = 1; i < STORE_FACT_COLUMNS; i++) {
        if (store_fact_column_names[i] && strcmp(store_fact_column_names[i], part->column) == 0)
            return (enum store_fact_column)i;
    }
    return STORE_FACT_COLUMNS;
}

bool
store_fact_filter_can(const struct store_fact_query *facts)
{
    if (facts->needs_reports)
        return false;
    for (size_t i = 0; i < facts->n; i++) {
        for (size_t k = 0; k < facts->conditions[i].n; k++) {
            const struct store_fact_part *part = &facts->conditions[i].parts[k];
            if (part->kind == STORE_FACTS_ROW || column_of(part) == STORE_FACT_COLUMNS)
                return false;
        }
    }
    return true;
}

static enum fz_code
make_part(struct store_fact_filter_part *part, const struct store_fact_part *from,
          struct fz_error *err)
{
    *part = (struct store_fact_filter_part){
        .column = column_of(from),
        .is_range = from->kind == STORE_FACTS_KNOWN || from->is_range,
        .least = from->is_range ? from->least : 1,
        .ids = from->kind == STORE_FACTS_STACKS ? from->stacks : from->ids};
    if (part->is_range) {
        int64_t most = from->is_range ? from->most : INT64_MAX;
        part->span = (uint64_t)most - (uint64_t)part->least;
        /* The span of an empty range would be that of all numbers. */
        part->is_range = most >= part->least;
        return FZ_OK;
    }
    if (part->ids.n == 0)
        return FZ_OK;
    part->least = part->ids.list[0];
    part->span = (uint64_t)part->ids.list[part->ids.n - 1] - (uint64_t)part->least;
    if (part->span > SPAN_MAX)
        return FZ_OK;
    part->bits = calloc(part->span / 64 + 1, sizeof(*part->bits));
    if (!part->bits)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < part->ids.n; i++) {
        uint64_t at = (uint64_t)part->ids.list[i] - (uint64_t)part->least;
        part->bits[at / 64] |= UINT64_C(1) << at % 64;
    }
    return FZ_OK;
}

enum fz_code
store_fact_filter_init(struct store_fact_filter *filter, const struct store_fact_query *facts,
                       struct fz_error *err)
{
    size_t n = 0;
    enum fz_code code = FZ_OK;
    for (size_t i = 0; i < facts->n; i++)
        n += facts->conditions[i].n;
    *filter =
        (struct store_fact_filter){.parts = calloc(n + 1, sizeof(*filter->parts)), .facts = facts};
    if (!filter->parts)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    for (size_t i = 0; code == FZ_OK && i < facts->n; i++) {
        for (size_t k = 0; code == FZ_OK && k < facts->conditions[i].n; k++) {
            struct store_fact_filter_part *part = &filter->parts[filter->n_parts++];
            code = make_part(part, &facts->conditions[i].parts[k], err);
            filter->needs[part->column] = true;
        }
    }
    filter->needs[STORE_FACT_TAG_COUNT] = filter->needs[STORE_FACT_TAG_IDS];
    return code;
}

void
store_fact_filter_deinit(struct store_fact_filter *filter)
{
    if (!filter)
        return;
    for (size_t i = 0; i < filter->n_parts; i++)
        free(filter->parts[i].bits);
    free(filter->parts);
    filter->parts = NULL;
    filter->n_parts = 0;
}

/* ---- facts ---- */

static inline bool
has_bit(const struct store_fact_filter_part *part, int64_t number)
{
    uint64_t at = (uint64_t)number - (uint64_t)part->least;
    return at <= part->span && part->bits[at / 64] >> at % 64 & 1;
}

static inline bool
is_between(const struct store_fact_filter_part *part, int64_t number)
{
    return (uint64_t)number - (uint64_t)part->least <= part->span;
}

static inline bool
has(const struct store_fact_filter_part *part, int64_t number)
{
    if (part->is_range)
        return is_between(part, number);
    return part->bits ? has_bit(part, number) : store_ids_have(&part->ids, number);
}

static bool
holds(const struct store_fact_filter_part *part, const struct store_block *columns,
      const uint32_t *tag_starts, size_t at)
{
    if (part->column != STORE_FACT_TAG_IDS)
        return has(part, store_block_get(&columns[part->column], at));
    for (size_t i = tag_starts[at]; i < tag_starts[at + 1]; i++) {
        if (has(part, store_block_get(&columns[STORE_FACT_TAG_IDS], i)))
            return true;
    }
    return false;
}

/* Most conditions have one part, a set of bits or a range, which the caller knows: a loop without branches. */
static inline size_t
keep_one(const struct store_fact_filter_part *part, bool is_range, const struct store_block *column,
         bool is_negated, uint32_t *at, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t fact = at[i];
        int64_t number = store_block_get(column, fact);
        at[kept] = fact;
        kept += (is_range ? is_between(part, number) : has_bit(part, number)) != is_negated;
    }
    return kept;
}

static size_t
keep(const struct store_fact_filter_part *parts, const struct store_fact_condition *condition,
     const struct store_block *columns, const uint32_t *tag_starts, uint32_t *at, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        bool any = false;
        for (size_t k = 0; k < condition->n && !any; k++)
            any = holds(&parts[k], columns, tag_starts, at[i]);
        at[kept] = at[i];
        kept += any != condition->is_negated;
    }
    return kept;
}

size_t
store_fact_filter_apply(const struct store_fact_filter *filter,
                        const struct store_block columns[STORE_FACT_COLUMNS],
                        const uint32_t *tag_starts, uint32_t *at, size_t n)
{
    const struct store_fact_filter_part *part = filter->parts;
    for (size_t i = 0; i < filter->facts->n && n; i++) {
        const struct store_fact_condition *condition = &filter->facts->conditions[i];
        bool is_one = condition->n == 1 && part->column != STORE_FACT_TAG_IDS;
        const struct store_block *column = &columns[part->column];
        if (is_one && !part->is_range && part->ids.n == 0)
            n = condition->is_negated ? n : 0; /* no sealed day has the text */
        else if (is_one && part->is_range)
            n = keep_one(part, true, column, condition->is_negated, at, n);
        else if (is_one && part->bits)
            n = keep_one(part, false, column, condition->is_negated, at, n);
        else
            n = keep(part, condition, columns, tag_starts, at, n);
        part += condition->n;
    }
    return n;
}

size_t
store_fact_filter_flagged(const struct store_block *column, uint32_t *at, size_t n)
{
    size_t kept = 0;
    if (column->width == 0)
        return column->base > 0 ? n : 0;
    for (size_t i = 0; i < n; i++) {
        at[kept] = at[i];
        kept += store_block_get(column, at[kept]) > 0;
    }
    return kept;
}
