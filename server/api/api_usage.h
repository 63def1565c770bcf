/*
 * What each project has sent today, and what it may send, in memory, for quotas, the API and /metrics.
 *
 * A thread reads the numbers of all servers from the database every second. What this server takes
 * in counts at once, so a quota is exceeded by little, and never for longer than that. Thread-safe;
 * asking never waits for the database.
 */
#ifndef API_USAGE_H
#define API_USAGE_H

#include "server/process/limits.h"
#include "storage/store_usage.h"

struct api;
struct api_usage; /* opaque */

/* Reads the numbers for the first time; fails if the database does. */
FZ_MUST_CHECK enum fz_code api_usage_start(struct api *api, struct api_usage **ret,
                                           struct fz_error *err);
void api_usage_stop(struct api_usage *usage);

/* This server has taken in so many bytes, in one report or upload; the database has it or will. */
void api_usage_add(struct api_usage *usage, int64_t project_id, enum store_usage_kind kind,
                   uint64_t bytes);

/* The project's numbers of today; *ret_left_ms (may be NULL): until the day is over. */
struct store_usage api_usage_get(struct api_usage *usage, int64_t project_id,
                                 enum store_usage_kind kind, int64_t *ret_left_ms);

/* What the project may send a day: its own quotas, and the server's limits where it has none. 0 = no limit. */
struct store_quota api_usage_quota(struct api_usage *usage, int64_t project_id);
/* The same, when the project's own are known; in place. */
void api_usage_fill_quota(const struct limits *limits, struct store_quota *quota);

/* All numbers of today, at most `max`; returns how many. */
size_t api_usage_list(struct api_usage *usage, struct store_usage *ret, size_t max);

#endif
