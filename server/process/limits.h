/*
 * Every limit on what comes from outside, in one place.
 *
 * A limit is a member of this struct and a row of the table in limits.c, which has its default and
 * its meaning; its configuration name is the member's. Bytes, unless the name ends in _s (seconds).
 */
#ifndef PROCESS_LIMITS_H
#define PROCESS_LIMITS_H

#include <stddef.h>
#include <stdint.h>

struct limits {
    size_t report_bytes;
    size_t report_inflated_bytes;
    size_t envelope_bytes;
    size_t envelope_inflated_bytes;
    uint64_t symbol_bytes;
    uint64_t late_token_bytes;
    size_t chunk_bytes;
    size_t chunk_request_bytes;
    size_t json_bytes;
    size_t json_depth;
    size_t threads;
    size_t frames;
    size_t images;
    size_t memory_bytes;
    size_t report_memory;
    uint64_t archive_bytes;
    size_t archive_entries;
    unsigned archive_ratio;
    size_t slices;
    uint64_t child_memory;
    unsigned child_cpu_s;
    unsigned child_wall_s;
    unsigned connections;
    unsigned per_address;
    size_t body_memory;
    size_t unknown_memory;
    uint64_t unknown_disk;
    size_t answer_memory;
    uint64_t answer_disk;
    unsigned header_s;
    unsigned body_s;
    unsigned answer_s;
    unsigned min_body_rate;
    unsigned sweep_s;
    unsigned orphan_s;
    unsigned auth_failures;
    unsigned events_per_minute;
    unsigned events_per_minute_address;
    uint64_t report_bytes_per_day;
    uint64_t symbol_bytes_per_day;
};

/* Every limit at its default. */
struct limits limits_default(void);

/* Set the limit with configuration name `name` ("report_bytes"...) from a number with an optional
 * suffix K, M, G (1,024-fold). Returns 0, -1 for an unknown name, -2 for a bad value, or for 0
 * where that does not mean "no limit". */
int limits_set(struct limits *limits, const char *name, const char *value);

/* The value of the limit with this place in the order below. */
uint64_t limits_value(const struct limits *limits, size_t i);

/* The limits one after the other: name, NULL after the last; what it limits; further sentences for
 * the manual, or NULL; the default as it is configured ("4M", "512"). */
const char *limits_name(size_t i);
const char *limits_help(size_t i);
const char *limits_more(size_t i);
const char *limits_default_text(size_t i);

#endif
