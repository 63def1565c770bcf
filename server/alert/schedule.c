/*
 * Attempts of a message, and the guard against storms.
 *
 * The guard is the generic cell rate algorithm (GCRA): a message costs hour / (2/3 per_hour), and
 * free_at_ms is when all costs are paid. It may be ahead of the clock by the cost of the third that
 * may come at once, and by twice that for urgent ones. So in any hour, at most 1/3 + 2/3 of per_hour pass,
 * and 1/3 of urgent ones. Example with 30: a cost of 3 minutes; 10 messages at once, then one each 3
 * minutes.
 */
#include "server/alert/schedule.h"

enum { TROUBLE_ATTEMPT = 5 };

static const int64_t HOUR_MS = 3600 * 1000, DAY_MS = 24 * 3600 * 1000LL, SLOW_MS = 60 * 1000;

/* ---- attempts ---------------------------------------------------------------------------- */

/* 10 % earlier or later. */
static int64_t
jitter(int64_t delay_ms, uint32_t random)
{
    int64_t span_ms = delay_ms / 10;
    return delay_ms - span_ms + (int64_t)(random % (uint64_t)(2 * span_ms + 1));
}

static int64_t
delay_after(unsigned number, uint32_t random)
{
    static const int64_t seconds[ALERT_ATTEMPTS_MAX - 1] = {5,     300,   1800,  7200, 18000,
                                                            36000, 50400, 72000, 86400};
    return jitter(seconds[number - 1] * 1000, random);
}

static bool
is_delivered(const struct alert_attempt *attempt)
{
    const struct net_outcome *outcome = attempt->outcome;
    if (outcome->result != NET_ANSWERED)
        return false;
    return attempt->is_mail || (outcome->status >= 200 && outcome->status < 300);
}

/* 55x is about the mail or its recipients, and stays the same for this mail. Others are about the
 * connection, the login or the server's state, and the operator or time can change them. */
static bool
is_final_reply(int status)
{
    return status >= 550 && status <= 559;
}

/* 503 is not in the standard's list, but says the same. */
static bool
is_slow_down(const struct net_outcome *outcome)
{
    int status = outcome->result == NET_ANSWERED ? outcome->status : 0;
    return status == 429 || status == 502 || status == 503 || status == 504;
}

void
alert_next_attempt(const struct alert_attempt *attempt, struct alert_next *ret)
{
    const struct net_outcome *outcome = attempt->outcome;
    unsigned number = attempt->number ? attempt->number : 1;
    *ret = (struct alert_next){.verdict = ALERT_DELIVERED};
    if (is_delivered(attempt))
        return;
    bool is_gone = !attempt->is_mail && outcome->result == NET_ANSWERED && outcome->status == 410;
    if (outcome->result == NET_INVALID || is_gone || number >= ALERT_ATTEMPTS_MAX) {
        *ret = (struct alert_next){.verdict = ALERT_DISABLE, .is_trouble = true};
        return;
    }
    if (attempt->is_mail && is_final_reply(outcome->status)) {
        ret->verdict = ALERT_GIVE_UP;
        return;
    }
    int64_t delay_ms = delay_after(number, attempt->random), asked_ms = 0;
    if (outcome->retry_after_s > 0)
        /* A day is the longest pause of the schedule, too. */
        asked_ms = outcome->retry_after_s < DAY_MS / 1000 ? outcome->retry_after_s * 1000 : DAY_MS;
    ret->verdict = ALERT_AGAIN;
    ret->when_ms = attempt->now_ms + (asked_ms > delay_ms ? asked_ms : delay_ms);
    if (!attempt->is_mail && is_slow_down(outcome))
        ret->channel_from_ms = attempt->now_ms + (asked_ms > 0 ? asked_ms : SLOW_MS);
    /* The message that asked for less does not come before the others. */
    if (ret->when_ms < ret->channel_from_ms)
        ret->when_ms = ret->channel_from_ms;
    ret->is_trouble = number == TROUBLE_ATTEMPT;
}

/* ---- storms ------------------------------------------------------------------------------ */

struct alert_storm_rules
alert_storm_default(void)
{
    return (struct alert_storm_rules){.per_hour = 30, .digest_every_ms = 15 * 60 * 1000};
}

bool
alert_storm_passes(const struct alert_storm_rules *rules, struct alert_storm *storm,
                   enum alert_kind kind, int64_t now_ms)
{
    bool is_urgent = kind == ALERT_ISSUE_URGENT;
    if (rules->per_hour == 0 || kind == ALERT_CHANNEL_FAILING || kind == ALERT_TEST ||
        kind == ALERT_DIGEST)
        return true;
    if (storm->held_since_ms && !is_urgent)
        return false;
    /* At least one at once, and one an hour. */
    int64_t at_once = rules->per_hour / 3 > 0 ? rules->per_hour / 3 : 1;
    int64_t evenly =
        (int64_t)rules->per_hour - at_once > 0 ? (int64_t)rules->per_hour - at_once : 1;
    int64_t cost_ms = HOUR_MS / evenly, ahead_ms = cost_ms * at_once;
    int64_t free_at_ms = storm->free_at_ms > now_ms ? storm->free_at_ms : now_ms;
    /* The clock was set back: what is owed is never more than what could be. Stored, or the next call
     * would find the same. */
    if (free_at_ms > now_ms + 2 * ahead_ms)
        storm->free_at_ms = free_at_ms = now_ms + 2 * ahead_ms;
    if (free_at_ms + cost_ms > now_ms + (is_urgent ? 2 : 1) * ahead_ms) {
        if (!storm->held_since_ms)
            storm->held_since_ms = now_ms;
        return false;
    }
    storm->free_at_ms = free_at_ms + cost_ms;
    return true;
}

int64_t
alert_storm_digest_ms(const struct alert_storm_rules *rules, const struct alert_storm *storm,
                      int64_t now_ms)
{
    if (!storm->held_since_ms)
        return 0;
    /* The clock was set back: a later time would be as far away at each call. */
    if (storm->held_since_ms > now_ms)
        return now_ms;
    return storm->held_since_ms + rules->digest_every_ms;
}

void
alert_storm_digested(struct alert_storm *storm)
{
    storm->held_since_ms = 0;
}
