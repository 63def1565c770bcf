#include "base/time.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

int64_t
fz_time_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t
fz_time_monotonic_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void
fz_time_sleep_ms(int64_t ms)
{
    if (ms <= 0)
        return;
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    /* A signal must not shorten the pause. */
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
}

/* Days since 1970-01-01 of a proleptic Gregorian date (H. Hinnant's days_from_civil). */
static int64_t
days_from_date(int64_t year, int64_t month, int64_t day)
{
    /* Years begin in March here, so that a leap day is the last day of its year. */
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t of_era = year - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static int64_t
days_in_month(int64_t year, int64_t month)
{
    return month == 12 ? 31 : days_from_date(year, month + 1, 1) - days_from_date(year, month, 1);
}

void
fz_time_format(int64_t unix_ms, char ret[FZ_TIME_TEXT])
{
    static const int64_t year_0 = -62167219200000, year_9999 = 253402300799999;
    /* RFC 3339 has four digits for the year; clocks of devices may say anything. */
    if (unix_ms < year_0)
        unix_ms = year_0;
    if (unix_ms > year_9999)
        unix_ms = year_9999;
    int64_t seconds = unix_ms / 1000, ms = unix_ms % 1000;
    /* C rounds towards 0, but the second before 1970 is the earlier one. */
    if (ms < 0) {
        ms += 1000;
        seconds--;
    }
    time_t when = (time_t)seconds;
    struct tm tm;
    gmtime_r(&when, &tm);
    snprintf(ret, FZ_TIME_TEXT, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", (tm.tm_year + 1900) % 10000,
             tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, (int)ms);
}

struct cursor {
    const uint8_t *at;
    const uint8_t *end;
};

/* Exactly `n` digits as a number, -1 if there are not so many. */
static int64_t
digits(struct cursor *c, unsigned n)
{
    int64_t value = 0;
    if ((size_t)(c->end - c->at) < n)
        return -1;
    for (unsigned i = 0; i < n; i++, c->at++) {
        if (*c->at < '0' || *c->at > '9')
            return -1;
        value = value * 10 + (*c->at - '0');
    }
    return value;
}

static bool
accept(struct cursor *c, char wanted)
{
    if (c->at == c->end || *c->at != (uint8_t)wanted)
        return false;
    c->at++;
    return true;
}

static bool
parse_zone(struct cursor *c, int64_t *ret_minutes)
{
    *ret_minutes = 0;
    while (accept(c, ' '))
        ;
    if (c->at == c->end || accept(c, 'Z') || accept(c, 'z'))
        return c->at == c->end;
    int sign = accept(c, '-') ? -1 : accept(c, '+') ? 1 : 0;
    if (sign == 0)
        return false;
    int64_t hours = digits(c, 2);
    accept(c, ':');
    int64_t minutes = c->at == c->end ? 0 : digits(c, 2);
    if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59 || c->at != c->end)
        return false;
    /* Minutes have the sign of the hours: -03:30 is 210 minutes west. */
    *ret_minutes = sign * (hours * 60 + minutes);
    return true;
}

bool
fz_time_parse(struct fz_span text, int64_t *ret_unix_ms)
{
    if (text.len == 0 || text.len > 64)
        return false;
    struct cursor c = {text.data, text.data + text.len};
    int64_t year = digits(&c, 4);
    if (year < 0 || !accept(&c, '-'))
        return false;
    int64_t month = digits(&c, 2);
    if (month < 1 || month > 12 || !accept(&c, '-'))
        return false;
    int64_t day = digits(&c, 2);
    if (day < 1 || day > days_in_month(year, month) ||
        !(accept(&c, 'T') || accept(&c, 't') || accept(&c, ' ')))
        return false;
    int64_t hour = digits(&c, 2);
    if (hour < 0 || hour > 23 || !accept(&c, ':'))
        return false;
    int64_t minute = digits(&c, 2);
    if (minute < 0 || minute > 59)
        return false;
    int64_t second = 0, ms = 0;
    if (accept(&c, ':')) {
        second = digits(&c, 2);
        /* 60 is a leap second. */
        if (second < 0 || second > 60)
            return false;
        if (accept(&c, '.')) {
            int64_t scale = 100;
            while (c.at < c.end && *c.at >= '0' && *c.at <= '9') {
                /* Digits after the third count for nothing: scale is 0 by then. */
                ms += (*c.at++ - '0') * scale;
                scale /= 10;
            }
        }
    }
    int64_t zone;
    if (!parse_zone(&c, &zone))
        return false;
    int64_t seconds = days_from_date(year, month, day) * 86400 + hour * 3600 + minute * 60 + second;
    *ret_unix_ms = (seconds - zone * 60) * 1000 + ms;
    return true;
}
