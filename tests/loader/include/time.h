/* Declarations with the names and values of Apple's time.h: just what client/ and the test programs use. */
#pragma once
typedef long time_t;
struct timespec {
    time_t tv_sec;
    long tv_nsec;
};
typedef int clockid_t;
#define CLOCK_REALTIME 0
#define CLOCK_MONOTONIC 6
int clock_gettime(clockid_t, struct timespec *);
int nanosleep(const struct timespec *, struct timespec *);
time_t time(time_t *);
