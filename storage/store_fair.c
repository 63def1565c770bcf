#include "storage/store_fair.h"

/* A job whose cost is not known, and the most that a project may owe: a longer job costs the other
 * projects something, but no project is locked out for minutes because of one. */
static const int64_t COST_UNKNOWN_US = 1000, DEBT_MAX_US = 30 * 1000 * 1000;

static const struct store_fair_share *
find(const struct store_fair *fair, int64_t kind, int64_t project_id)
{
    for (size_t i = 0; i < fair->n; i++)
        if (fair->shares[i].project_id == project_id && fair->shares[i].kind == kind)
            return &fair->shares[i];
    return NULL;
}

static int64_t
now_of(const struct store_fair *fair, int64_t kind)
{
    return kind >= 0 && kind < STORE_FAIR_KINDS ? fair->now_us[kind] : 0;
}

int64_t
store_fair_start(const struct store_fair *fair, int64_t kind, int64_t project_id)
{
    const struct store_fair_share *share = find(fair, kind, project_id);
    int64_t now = now_of(fair, kind);
    return share && share->time_us > now ? share->time_us : now;
}

int64_t
store_fair_cost(const struct store_fair *fair, int64_t kind, int64_t project_id)
{
    const struct store_fair_share *share = find(fair, kind, project_id);
    return share ? share->cost_us : 0;
}

/* The project's share, new if need be; of too many the one that is furthest back makes room. */
static struct store_fair_share *
touch(struct store_fair *fair, int64_t kind, int64_t project_id)
{
    size_t at = 0;
    for (size_t i = 0; i < fair->n; i++) {
        if (fair->shares[i].project_id == project_id && fair->shares[i].kind == kind)
            return &fair->shares[i];
        if (fair->shares[i].time_us - now_of(fair, fair->shares[i].kind) <
            fair->shares[at].time_us - now_of(fair, fair->shares[at].kind))
            at = i;
    }
    /* The one that is replaced has had least, so forgetting it costs it the least. */
    if (fair->n < STORE_FAIR_PROJECTS)
        at = fair->n++;
    fair->shares[at] = (struct store_fair_share){.project_id = project_id, .kind = kind};
    return &fair->shares[at];
}

static void
bound(const struct store_fair *fair, struct store_fair_share *share)
{
    int64_t now = now_of(fair, share->kind);
    if (share->time_us > now + DEBT_MAX_US)
        share->time_us = now + DEBT_MAX_US;
}

int64_t
store_fair_charge(struct store_fair *fair, int64_t kind, int64_t project_id, size_t n)
{
    int64_t start = store_fair_start(fair, kind, project_id);
    struct store_fair_share *share = touch(fair, kind, project_id);
    int64_t each = share->cost_us ? share->cost_us : COST_UNKNOWN_US;
    if (kind >= 0 && kind < STORE_FAIR_KINDS)
        /* The clock of the shares moves with the work: who had none for a while does not save
         * up. */
        fair->now_us[kind] = start;
    share->time_us = start + each * (int64_t)n;
    bound(fair, share);
    return each;
}

void
store_fair_settle(struct store_fair *fair, int64_t kind, int64_t project_id, int64_t charged_us,
                  int64_t spent_us)
{
    struct store_fair_share *share = touch(fair, kind, project_id);
    share->time_us += spent_us - charged_us;
    bound(fair, share);
    /* 0 means that the cost is not known. */
    if (spent_us < 1)
        spent_us = 1;
    /* A moving average: one job that took unusually long does not decide the next claims alone. */
    share->cost_us = share->cost_us ? (3 * share->cost_us + spent_us) / 4 : spent_us;
}

void
store_fair_refund(struct store_fair *fair, int64_t kind, int64_t project_id, int64_t charged_us)
{
    /* A share that made room meanwhile starts afresh, without the charge. */
    if (find(fair, kind, project_id))
        touch(fair, kind, project_id)->time_us -= charged_us;
}
