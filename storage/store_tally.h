/*
 * Facts counted by issue: reports, distinct users, first and last, versions, and how many in each part of a range of time.
 *
 * A list of issues counts some 100,000 facts at a time. They are read in the order in which the database has them and counted
 * here, in hash tables, which is several times as fast as GROUP BY. Private to storage.
 */
#ifndef STORE_TALLY_H
#define STORE_TALLY_H

#include "storage/store_distinct.h"
#include "storage/store_fact_query.h"
#include "storage/store_fact_scan.h"
#include "storage/store_issue_list.h"

/* A table of numbers by numbers that are not 0; on the heap. */
struct store_map {
    struct store_map_slot {
        int64_t key;
        uint32_t value;
    } * slots;
    size_t n, room; /* a power of two */
    /* After store_map_pack(), if the keys are near each other: the values of all from `least` on. */
    uint32_t *dense;
    int64_t least;
    uint64_t span;
};
void store_map_deinit(struct store_map *map);
/* The value, to be read and written: 0 for a new key, which is put in. NULL: out of memory. */
uint32_t *store_map_put(struct store_map *map, int64_t key);
/* Have it found without hashing, which is worth it for as many look-ups as there are facts. Nothing is put in after that. */
void store_map_pack(struct store_map *map);
uint32_t store_map_find(const struct store_map *map, int64_t key);
/* 0: the key is not there. */
static inline uint32_t
store_map_get(const struct store_map *map, int64_t key)
{
    uint64_t at = (uint64_t)key - (uint64_t)map->least;
    if (map->dense)
        return at <= map->span ? map->dense[at] : 0;
    return store_map_find(map, key);
}

/* The counts of one issue. */
struct store_counted {
    int64_t id, number;
    uint64_t n_reports, n_users;
    uint64_t n_new_users; /* of the newest versions */
    int64_t first_ms, last_ms;
    uint32_t first_version, last_version; /* places in tally.versions, from 1; 0 = none is known */
    uint32_t trend[STORE_TREND];
};

/* The same while facts are counted: what each of them changes. */
struct store_tally_sum {
    uint32_t n,
        n_before; /* reports, and how many there were before the present part of the trend */
    uint32_t first_version, last_version;
    int64_t first_ms, last_ms;
};

struct store_tally {
    struct store *store;
    int64_t project_id;
    struct fz_arena *arena;
    struct store_trend trend;
    int64_t part, part_from_ms, part_to_ms; /* of the trend: that of the last fact */
    struct store_counted *issues;
    struct store_tally_sum *sums;
    size_t n;                    /* of both */
    struct store_map by_id;      /* issue's id to its place, from 1 */
    struct store_map by_variant; /* the same for a variant */
    struct store_distinct users; /* of issues; marked: with one of the newest versions */
    struct store_map ranks;      /* version's id to its place among all versions, from 1 */
    int64_t *versions;           /* ids in their order */
    bool *is_new;                /* by place, from 1: is it one of the newest two? */
    struct store_ids newest;     /* their ids */
    struct store_ids shown;      /* versions whose texts are in shown_texts */
    struct store_term_text *shown_texts;
};

/* Read the project's versions. The tally ends with store_tally_deinit(), also after a failure. */
FZ_MUST_CHECK enum fz_code store_tally_start(struct store *store, int64_t project_id,
                                             const struct store_query *query,
                                             struct fz_arena *arena, struct store_tally *ret,
                                             struct fz_error *err);
void store_tally_deinit(struct store_tally *tally);
/*
 * Read the issues that meet the conditions about issues, and their variants. `is_all_time`: with the counts of all time, else only
 * n_reports of them, as facts are to be counted.
 */
FZ_MUST_CHECK enum fz_code store_tally_issues(struct store_tally *tally,
                                              const struct store_query *query, bool is_all_time,
                                              struct fz_error *err);
/* Forget the counts, and count the facts that meet the conditions; others' facts are passed over. */
FZ_MUST_CHECK enum fz_code store_tally_facts(struct store_tally *tally,
                                             const struct store_fact_query *facts,
                                             struct fz_error *err);
/* Without conditions about reports: count the users of the newest versions. */
FZ_MUST_CHECK enum fz_code store_tally_newest(struct store_tally *tally, struct fz_error *err);
/* The same for the trend; of the issues with these numbers (NULL: of all). */
FZ_MUST_CHECK enum fz_code store_tally_trend(struct store_tally *tally,
                                             const struct store_ids *numbers, struct fz_error *err);
/*
 * The same by the caller's own scan: start, then each batch, which has variants, users, versions and times, then the end. n_reports
 * of the issues are those of all time until then.
 */
FZ_MUST_CHECK enum fz_code store_tally_count_start(struct store_tally *tally, struct fz_error *err);
/* From so many facts on an issue may have a table of its users; 0 = the default. */
void store_set_table_from(struct store *store, uint64_t facts);
/* Before the first batch is counted, of which and of those after it there are about `n_facts`: it makes counting fast. */
FZ_MUST_CHECK enum fz_code store_tally_count_expect(struct store_tally *tally, uint64_t n_facts,
                                                    const struct store_fact_batch *batch,
                                                    struct fz_error *err);
FZ_MUST_CHECK enum fz_code store_tally_count(struct store_tally *tally,
                                             const struct store_fact_batch *batch,
                                             struct fz_error *err);
/* What was counted in `other`, which began as a copy with counts of its own. */
FZ_MUST_CHECK enum fz_code store_tally_count_add(struct store_tally *tally,
                                                 struct store_tally *other, struct fz_error *err);
FZ_MUST_CHECK enum fz_code store_tally_count_end(struct store_tally *tally, struct fz_error *err);
/* Instead of store_tally_issues(): only this issue, with these variants. */
FZ_MUST_CHECK enum fz_code store_tally_one(struct store_tally *tally,
                                           const struct store_issue *issue,
                                           const struct store_ids *variants, struct fz_error *err);
/* The texts of the first and last versions, as counted: read those of the issues with these numbers (sorted), then take them. */
FZ_MUST_CHECK enum fz_code store_tally_versions_start(struct store_tally *tally,
                                                      const struct store_ids *numbers,
                                                      struct fz_error *err);
void store_tally_versions(const struct store_tally *tally, const struct store_counted *counted,
                          struct store_issue *issue);

#endif
