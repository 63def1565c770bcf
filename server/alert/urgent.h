/*
 * Is an issue urgent? Pure functions of numbers.
 *
 * With sessions: enough reports of the sessions of the window, and enough users. Without: more reports
 * than the ceiling for an hour, which follows from its last week.
 */
#ifndef ALERT_URGENT_H
#define ALERT_URGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct alert_burst_rules {
    unsigned ppm;   /* reports of a million sessions, at least */
    unsigned users; /* at least; also reports, where reports have no users */
};

struct alert_burst_numbers {
    uint64_t n_reports, n_users; /* within the window; n_users 0: no report has one */
    bool has_sessions;           /* the app sends sessions */
    uint64_t n_sessions;         /* within the window */
    const uint64_t *hours;       /* reports of each of the hours before the window, oldest first */
    size_t n_hours;              /* since the first report, at most 168 */
    int64_t window_s;
};

bool alert_is_urgent(const struct alert_burst_rules *rules,
                     const struct alert_burst_numbers *numbers);

/*
 * The most reports of an hour that are usual. With a week (168 hours) of hourly counts:
 *
 *   max(highest hour * clamp(5 e^(-0.65 s), 2, 5), mean + clamp((mean + 5 sigma) / mean, 5, 8) * mean)
 *
 * with s = sigma / mean; with less than a week, ten times the highest hour. 0: there was none.
 */
double alert_hour_ceiling(const uint64_t *hours, size_t n_hours);

#endif
