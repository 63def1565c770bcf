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

/* The counts of one issue, or of one variant of it. */
struct store_counted {
    int64_t id, number;
    uint64_t n_reports, n_users;
    uint64_t n_new_users; /* of the newest versions */
    int64_t first_ms, last_ms;
    uint32_t first_version, last_version; /* places in tally.versions, from 1; 0 = none is known */
    uint32_t trend[STORE_TREND];
};

/* Of an issue, while facts are counted: what each of them changes. */
struct store_tally_sum {
    uint32_t n, n_before; /* facts; of them, those before the present part of the trend */
    uint32_t first, last; /* places in tally.times, from 1; 0 = none, or they are settled */
    uint32_t first_version, last_version;
};

/* When facts were received that may be the first or last of an issue: a column that is held until that is known. */
struct store_tally_times {
    uint32_t from; /* its first fact has this place */
    struct store_block column;
    struct store_fact_kept *kept;
};

struct store_tally {
    struct store *store;
    int64_t project_id;
    struct fz_arena *arena;
    struct store_trend trend;
    int64_t part, part_from_ms, part_to_ms; /* of the trend: that of the last fact */
    struct store_counted *issues;
    struct store_tally_sum *sums; /* one more than issues: the first is of facts that have none */
    size_t n;                     /* of issues */
    struct store_tally_times *times; /* in the order of time; owned */
    size_t n_times, room_times;
    uint32_t n_places;
    struct store_map by_id;      /* issue's id to its place, from 1 */
    struct store_map by_variant; /* the same for a variant */
    struct store_distinct users; /* of issues; marked: with one of the newest versions */
    bool is_one; /* all are variants of one issue, which have their users in common: group 0 */
    struct store_map ranks;  /* version's id to its place among all versions, from 1 */
    int64_t *versions;       /* ids in their order */
    bool *is_new;            /* by place, from 1: is it one of the newest two? */
    struct store_ids newest; /* their ids */
    struct store_ids shown;  /* versions whose texts are in shown_texts */
    struct store_term_text *shown_texts;
};

/* Read the project's versions. The tally ends with store_tally_deinit(), also after a failure. */
FZ_MUST_CHECK enum fz_code store_tally_start(struct store *store, int64_t project_id,
                                             const struct store_query *query,
                                             struct fz_arena *arena, struct store_tally *ret,
                                             struct fz_error *err);
void store_tally_deinit(struct store_tally *tally);
/*
 * Read the issues that meet the conditions about issues, and their variants. `is_all_time`: with the counts of all time, else
 * without, as facts are to be counted.
 */
FZ_MUST_CHECK enum fz_code store_tally_issues(struct store_tally *tally,
                                              const struct store_query *query, bool is_all_time,
                                              struct fz_error *err);
/* Forget the counts, and count the facts that meet the conditions, but not their users; others' facts are passed over. */
FZ_MUST_CHECK enum fz_code store_tally_facts(struct store_tally *tally,
                                             const struct store_fact_query *facts,
                                             struct fz_error *err);
/* After that: how many users the issues in these places have (tally.issues); users of the newest versions, of all issues. */
FZ_MUST_CHECK enum fz_code store_tally_users(struct store_tally *tally, const uint32_t *places,
                                             size_t n, struct fz_error *err);
FZ_MUST_CHECK enum fz_code store_tally_new_users(struct store_tally *tally, struct fz_error *err);
/* Without conditions about reports: count the users of the newest versions. */
FZ_MUST_CHECK enum fz_code store_tally_newest(struct store_tally *tally, struct fz_error *err);
/* The same for the trend; of the issues with these numbers (NULL: of all). */
FZ_MUST_CHECK enum fz_code store_tally_trend(struct store_tally *tally,
                                             const struct store_ids *numbers, struct fz_error *err);
/* The same by the caller's own scan: start, then each batch, which has variants, users, versions and times, then the end. */
FZ_MUST_CHECK enum fz_code store_tally_count_start(struct store_tally *tally, struct fz_error *err);
FZ_MUST_CHECK enum fz_code store_tally_count(struct store_tally *tally,
                                             const struct store_fact_batch *batch,
                                             struct fz_error *err);
void store_tally_count_end(struct store_tally *tally);
/* In between: one for another thread, with counts of its own, which only reads the rest. It ends with store_tally_count_drop(). */
FZ_MUST_CHECK enum fz_code store_tally_count_like(const struct store_tally *tally,
                                                  struct store_tally *ret, struct fz_error *err);
/* Take what was counted in `other`. */
FZ_MUST_CHECK enum fz_code store_tally_count_add(struct store_tally *tally,
                                                 struct store_tally *other, struct fz_error *err);
void store_tally_count_drop(struct store_tally *other);
/* Instead of store_tally_issues(): the variants of one issue, in this order. The users that are counted are those of the issue. */
FZ_MUST_CHECK enum fz_code store_tally_one(struct store_tally *tally,
                                           const struct store_issue *issue,
                                           const struct store_ids *variants, struct fz_error *err);
/* What was counted of its variants together; the trend of all time, too. */
void store_tally_sum_up(const struct store_tally *tally, struct store_counted *ret);
/* The texts of the first and last versions, as counted: read those of the issues with these numbers (sorted), then take them. */
FZ_MUST_CHECK enum fz_code store_tally_versions_start(struct store_tally *tally,
                                                      const struct store_ids *numbers,
                                                      struct fz_error *err);
void store_tally_versions(const struct store_tally *tally, const struct store_counted *counted,
                          struct store_issue *issue);

#endif
