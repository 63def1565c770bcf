#include "server/alert/urgent.h"

#include <math.h>

enum { WEEK_HOURS = 168, HOUR_S = 3600, DAY_HOURS = 24 };

static double
clamp(double value, double low, double high)
{
    return value < low ? low : value > high ? high : value;
}

/* The same day of the week, a week ago, counts twice: crashes follow the week. */
static double
weighted_mean(const uint64_t *hours)
{
    double sum = 0, weights = 0;
    for (size_t i = 0; i < WEEK_HOURS; i++) {
        double weight = i < DAY_HOURS ? 2 : 1;
        sum += weight * (double)hours[i];
        weights += weight;
    }
    return sum / weights;
}

double
alert_hour_ceiling(const uint64_t *hours, size_t n_hours)
{
    double highest = 0, sum = 0, squares = 0;
    for (size_t i = 0; i < n_hours; i++) {
        double n = (double)hours[i];
        highest = n > highest ? n : highest;
        sum += n;
        squares += n * n;
    }
    if (highest <= 0)
        return 0;
    if (n_hours < WEEK_HOURS)
        return 10 * highest;
    double mean = sum / (double)n_hours;
    double variance = squares / (double)n_hours - mean * mean;
    /* Rounding may leave a little less than nothing. */
    double sigma = variance > 0 ? sqrt(variance) : 0;
    double spike = highest * clamp(5 * exp(-0.65 * sigma / mean), 2, 5);
    double rise = weighted_mean(hours) + clamp((mean + 5 * sigma) / mean, 5, 8) * mean;
    return spike > rise ? spike : rise;
}

bool
alert_is_urgent(const struct alert_burst_rules *rules, const struct alert_burst_numbers *numbers)
{
    /* An app that says nothing of its users has reports in their place. */
    uint64_t n = numbers->n_users ? numbers->n_users : numbers->n_reports;
    if (n < rules->users || numbers->n_reports == 0)
        return false;
    if (numbers->has_sessions)
        /* Sessions that end in a crash are often reported after it, so there may be fewer. */
        return (double)numbers->n_reports * 1e6 >= (double)rules->ppm * (double)numbers->n_sessions;
    double ceiling = alert_hour_ceiling(numbers->hours, numbers->n_hours);
    return (double)numbers->n_reports > ceiling * (double)numbers->window_s / (double)HOUR_S;
}
