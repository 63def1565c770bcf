#include "storage/store_fact_filter.h"

#include <stdlib.h>
#include <string.h>

/* A set is 16 MB at most; sets of ids that are farther apart are searched. */
static const uint64_t SPAN_MAX = UINT64_C(1) << 27;

enum { AT_ONCE = 256 /* facts */, VALUES = 256, LINE = 64, AHEAD = 1024 /* bytes */ };

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

/* Without branches: which numbers are in the set cannot be foreseen. */
static inline bool
has_bit(const struct store_fact_filter_part *part, int64_t number)
{
    uint64_t at = (uint64_t)number - (uint64_t)part->least, is_near = at <= part->span;
    at &= 0 - is_near;
    return (part->bits[at / 64] >> at % 64 & is_near) != 0;
}

static inline bool
is_between(const struct store_fact_filter_part *part, int64_t number)
{
    return (uint64_t)number - (uint64_t)part->least <= part->span;
}

/* Of one fact. */
static bool
has_tag(const struct store_fact_filter_part *part, const struct store_block *ids, size_t from,
        size_t to)
{
    for (size_t i = from; i < to; i++) {
        int64_t number = store_block_get(ids, i);
        if (part->bits ? has_bit(part, number) : store_ids_have(&part->ids, number))
            return true;
    }
    return false;
}

/* Facts of one condition, some at a time. */
struct some {
    const uint32_t *at;
    size_t n;
    bool hold[AT_ONCE];
    int64_t numbers[AT_ONCE];
};

/* Find out of which of the facts this part holds. */
static void
hold_part(const struct store_fact_filter_part *from, const struct store_block *columns,
          const uint32_t *tag_starts, struct some *some)
{
    const struct store_fact_filter_part part = *from;
    const int64_t *numbers = some->numbers;
    const uint32_t *at = some->at;
    const size_t n = some->n;
    if (!part.is_range && part.ids.n == 0) /* no sealed day has the text */
        return;
    if (part.column == STORE_FACT_TAG_IDS) {
        for (size_t i = 0; i < n; i++)
            some->hold[i] |= has_tag(&part, &columns[STORE_FACT_TAG_IDS], tag_starts[at[i]],
                                     tag_starts[at[i] + 1]);
        return;
    }
    store_block_read(&columns[part.column], at, n, some->numbers);
    if (part.is_range) {
        for (size_t i = 0; i < n; i++)
            some->hold[i] |= is_between(&part, numbers[i]);
    } else if (part.bits) {
        for (size_t i = 0; i < n; i++)
            some->hold[i] |= has_bit(&part, numbers[i]);
    } else {
        for (size_t i = 0; i < n; i++)
            some->hold[i] |= store_ids_have(&part.ids, numbers[i]);
    }
}

/* The same for a condition with one part, a range or a set of bits, as most have: in one loop. */
static size_t
keep_one(const struct store_fact_filter_part *from, bool is_negated,
         const struct store_block *column, uint32_t *at, size_t n)
{
    const struct store_fact_filter_part part = *from;
    int64_t numbers[AT_ONCE];
    size_t kept = 0;
    for (size_t start = 0, some; start < n; start += some) {
        some = n - start < AT_ONCE ? n - start : AT_ONCE;
        store_block_read(column, at + start, some, numbers);
        for (size_t i = 0; part.is_range && i < some; i++) {
            at[kept] = at[start + i];
            kept += is_between(&part, numbers[i]) != is_negated;
        }
        for (size_t i = 0; !part.is_range && i < some; i++) {
            at[kept] = at[start + i];
            kept += has_bit(&part, numbers[i]) != is_negated;
        }
    }
    return kept;
}

/*
 * The same of a column with at most 256 values, as most have: the distance is the place in a table. Bytes that are fetched ahead are of
 * pages that the CPU does not look into by itself.
 */
static size_t
keep_few(const struct store_fact_filter_part *part, bool is_negated,
         const struct store_block *column, uint32_t *restrict at, size_t n)
{
    const uint8_t *distances = column->data;
    bool are_kept[VALUES];
    size_t kept = 0;
    for (int i = 0; i < VALUES; i++) {
        int64_t number = (int64_t)((uint64_t)column->base + (uint64_t)i);
        are_kept[i] =
            (part->is_range ? is_between(part, number) : has_bit(part, number)) != is_negated;
    }
    for (size_t from = 0, end; from < n; from = end) {
        end = n - from < LINE ? n : from + LINE;
        __builtin_prefetch(distances + at[from] + AHEAD, 0);
        for (size_t i = from; i < end; i++) {
            uint32_t place = at[i];
            at[kept] = place;
            kept += are_kept[distances[place]];
        }
    }
    return kept;
}

static size_t
keep(const struct store_fact_filter_part *parts, const struct store_fact_condition *condition,
     const struct store_block *columns, const uint32_t *tag_starts, uint32_t *at, size_t n)
{
    struct some some;
    size_t kept = 0;
    for (size_t from = 0; from < n; from += some.n) {
        some.at = at + from;
        some.n = n - from < AT_ONCE ? n - from : AT_ONCE;
        memset(some.hold, 0, sizeof(some.hold));
        for (size_t k = 0; k < condition->n; k++)
            hold_part(&parts[k], columns, tag_starts, &some);
        for (size_t i = 0; i < some.n; i++) {
            at[kept] = at[from + i];
            kept += some.hold[i] != condition->is_negated;
        }
    }
    return kept;
}

enum on_column { ALL, SOME, NO };

/* A version, a build or a time is in some days only: of the others it is known by the limits of the column. */
static enum on_column
look_at(const struct store_fact_filter_part *part, const struct store_block *column)
{
    uint64_t width = (uint64_t)column->most - (uint64_t)column->base, n = 0;
    if (part->is_range && is_between(part, column->base) && is_between(part, column->most))
        return ALL;
    if (part->is_range || width >= VALUES)
        return SOME;
    for (uint64_t i = 0; i <= width; i++)
        n += has_bit(part, (int64_t)((uint64_t)column->base + i));
    return n > width ? ALL : n ? SOME : NO;
}

size_t
store_fact_filter_apply(const struct store_fact_filter *filter,
                        const struct store_block columns[STORE_FACT_COLUMNS],
                        const uint32_t *tag_starts, uint32_t *at, size_t n)
{
    const struct store_fact_filter_part *parts = filter->parts;
    for (size_t i = 0; i < filter->facts->n && n; i++) {
        const struct store_fact_condition *condition = &filter->facts->conditions[i];
        bool is_one = condition->n == 1 && parts->column != STORE_FACT_TAG_IDS &&
                      (parts->is_range || parts->bits);
        enum on_column of = is_one ? look_at(parts, &columns[parts->column]) : SOME;
        if (of != SOME)
            n = (of == ALL) != condition->is_negated ? n : 0;
        else if (is_one && columns[parts->column].width == 1)
            n = keep_few(parts, condition->is_negated, &columns[parts->column], at, n);
        else if (is_one)
            n = keep_one(parts, condition->is_negated, &columns[parts->column], at, n);
        else
            n = keep(parts, condition, columns, tag_starts, at, n);
        parts += condition->n;
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

bool
store_fact_tags_fit(const struct store_block *counts, size_t n_tags)
{
    /* No sum of part of them is larger than that of all. */
    bool are_counts = counts->base >= 0 && (uint64_t)counts->most <= n_tags;
    return counts->n == 0 ? n_tags == 0 : are_counts && counts->sum == n_tags;
}

void
store_fact_tag_starts(const struct store_block *counts, uint32_t *ret)
{
    uint32_t at = 0;
    for (size_t i = 0; i < counts->n; i++) {
        ret[i] = at;
        at += (uint32_t)store_block_get(counts, i);
    }
    ret[counts->n] = at;
}
