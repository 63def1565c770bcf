/*
 * Fair shares of a worker's time between projects (start-time fair queueing).
 *
 * Each project has a virtual time, which its jobs' running time moves on; the project with the
 * smallest one is served next. One that was idle starts at the time of those that were not: it
 * neither saves credit nor owes for what it used while no other project had jobs. Reports and
 * uploads are counted apart, so that a dSYM of a minute does not hold up its project's reports.
 *
 * A worker keeps this for itself and in memory: where each gives fair shares of its own time, all
 * of them together do. No I/O; not thread-safe.
 */
#ifndef STORE_FAIR_H
#define STORE_FAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The projects that were served longest ago are forgotten first, at no cost to them. */
enum { STORE_FAIR_PROJECTS = 512, STORE_FAIR_KINDS = 3 };

struct store_fair {
    struct store_fair_share {
        int64_t project_id, kind;
        int64_t time_us; /* virtual */
        int64_t cost_us; /* of a job, smoothed; 0 = not known */
    } shares[STORE_FAIR_PROJECTS];
    size_t n;
    int64_t now_us[STORE_FAIR_KINDS]; /* by kind: the virtual time of who was served last */
};

/* The virtual time at which the project's next job would start: the smallest is next. */
int64_t store_fair_start(const struct store_fair *fair, int64_t kind, int64_t project_id);
/* What a job of it cost lately, 0 if that is not known. */
int64_t store_fair_cost(const struct store_fair *fair, int64_t kind, int64_t project_id);
/* n jobs are taken on. Returns what each was charged in advance, for store_fair_settle(). */
int64_t store_fair_charge(struct store_fair *fair, int64_t kind, int64_t project_id, size_t n);
/* A job is done: what it was charged becomes what it took. */
void store_fair_settle(struct store_fair *fair, int64_t kind, int64_t project_id,
                       int64_t charged_us, int64_t spent_us);
/* A job was given back undone. */
void store_fair_refund(struct store_fair *fair, int64_t kind, int64_t project_id,
                       int64_t charged_us);

#endif
