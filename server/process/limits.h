/*
 * Every limit on what comes from outside, in one place.
 *
 * A limit is one row of the list; its configuration name is the member's. Bytes, unless the name ends in _s (seconds).
 */
#ifndef PROCESS_LIMITS_H
#define PROCESS_LIMITS_H

#include <stddef.h>
#include <stdint.h>

/* X(type, name, default, what it limits, further sentences for the manual or NULL) */
#define LIMITS(X)                                                                                  \
    X(size_t, report_bytes, "4M", "body of a report as sent", NULL)                                \
    X(size_t, report_inflated_bytes, "32M", "body of a report, inflated", NULL)                    \
    X(size_t, envelope_bytes, "20M", "body of an envelope with attachments as sent", NULL)         \
    X(size_t, envelope_inflated_bytes, "100M", "body of an envelope, inflated", NULL)              \
    X(uint64_t, symbol_bytes, "4G", "one upload of symbols", NULL)                                 \
    X(uint64_t, late_token_bytes, "16M", "one upload of symbols whose token comes in the body",    \
      "The server has to store such a body before it knows who sends it.")                         \
    X(size_t, chunk_bytes, "8M", "one chunk into which uploaders such as sentry-cli cut files",    \
      NULL)                                                                                        \
    X(size_t, chunk_request_bytes, "32M", "all chunks of one request, inflated", NULL)             \
    X(size_t, json_bytes, "1M", "any other request body", NULL)                                    \
    X(size_t, json_depth, "128", "nesting of JSON", NULL)                                          \
    X(size_t, threads, "512", "threads of a report", NULL)                                         \
    X(size_t, frames, "1024", "frames of a thread", NULL)                                          \
    X(size_t, images, "4096", "images of a report", NULL)                                          \
    X(size_t, memory_bytes, "8M", "stack and memory bytes in a report", NULL)                      \
    X(uint64_t, archive_bytes, "16G", "unpacked size of an upload", NULL)                          \
    X(size_t, archive_entries, "10000", "entries of an archive", NULL)                             \
    X(unsigned, archive_ratio, "200", "unpacked to packed size of an archive", NULL)               \
    X(size_t, slices, "1024", "Mach-O slices of one upload", NULL)                                 \
    X(size_t, report_memory, "256M", "memory for one report", NULL)                                \
    X(uint64_t, child_memory, "2G", "address space of a child process", NULL)                      \
    X(unsigned, child_cpu_s, "60", "CPU seconds of a child process per job",                       \
      "Symbol files get ten times as much.")                                                       \
    X(unsigned, child_wall_s, "120", "seconds of a child process per job",                         \
      "Symbol files get ten times as much.")                                                       \
    X(unsigned, connections, "4096", "connections at once",                                        \
      "When all are in use, a new one replaces the one that has been idle for longest.")           \
    X(unsigned, per_address, "256", "connections from one address",                                \
      "An IPv6 client is its /64. Loopback and trusted proxies are excepted.")                     \
    X(size_t, body_memory, "256M",                                                                 \
      "request bodies in memory at once, of clients that have shown a token",                      \
      "Beyond half of it, one address gets at most a quarter, and one token at most half through " \
      "addresses that send much and three quarters through all. Bodies up to 64K count in the "    \
      "sum only, of which one token has at most seven eighths. Further requests get 503.")         \
    X(size_t, unknown_memory, "32M",                                                               \
      "request bodies in memory of clients that have not shown a token yet",                       \
      "The token may come in the body.")                                                           \
    X(uint64_t, unknown_disk, "256M",                                                              \
      "uploads on disk of clients that have not shown a token yet",                                \
      "They must be complete within body_s seconds.")                                              \
    X(unsigned, reports_waiting, "256", "requests with reports that wait for being stored",        \
      "If the server stores more in a quarter of a second, as many as that. Further requests get " \
      "503 and Retry-After at once; a project with less than an eighth of the places gets in "     \
      "until there are twice as many.")                                                            \
    X(uint64_t, disk_free_symbols, "256M",                                                         \
      "free disk space below which symbol files get 503 and Retry-After",                          \
      "Both are without disk_reserve. Space is looked at twice a second.")                         \
    X(uint64_t, disk_free_reports, "64M",                                                          \
      "free disk space below which reports and symbol files get 503 and Retry-After", NULL)        \
    X(uint64_t, blob_cache_bytes, "4G",                                                            \
      "copies of indexes and symbol files of an object store, in the data folder",                 \
      "Those that were not used for longest are deleted; none has more than half.")                \
    X(uint64_t, disk_reserve, "64M",                                                               \
      "disk space kept in a file of the data folder, for deletes on a full disk",                  \
      "With less free space workers begin no further jobs.")                                       \
    X(size_t, answer_memory, "64M", "answers in memory that are being sent",                       \
      "Shares per address and token are those of body_memory; further requests get 503.")          \
    X(uint64_t, answer_disk, "1G", "answers in files that are being sent",                         \
      "Answers above 1M, and those for which memory has no room, go to files; equal answers "      \
      "are stored once.")                                                                          \
    X(size_t, list_memory, "256M", "columns of reports in memory, for lists",                      \
      "All of a million reports take 38M; without them lists read the database.")                  \
    X(unsigned, streams, "16", "exports and other streamed answers at once",                       \
      "Each takes 1M of answer_memory, besides what waits for its client. Further requests get "   \
      "503.")                                                                                      \
    X(unsigned, event_streams, "256", "streams of events at once (GET /api/v1/events)",            \
      "Further requests get 503; the page then asks from time to time instead.")                   \
    X(unsigned, event_streams_project, "64", "the same of one project", NULL)                      \
    X(unsigned, database_wait_s, "60",                                                             \
      "seconds in which serve and workers that start wait for PostgreSQL, and for an object "      \
      "store, to come up",                                                                         \
      NULL)                                                                                        \
    X(unsigned, header_s, "10", "seconds until a request's header is complete", NULL)              \
    X(unsigned, body_s, "120", "seconds until a report's body is complete", NULL)                  \
    X(unsigned, answer_s, "10", "seconds in which a client must take some of its answer", NULL)    \
    X(unsigned, min_body_rate, "1024", "bytes per second of a body, at least", NULL)               \
    X(unsigned, query_s, "10",                                                                     \
      "seconds of the database that one GET may take, or one piece of an export",                  \
      "Then it gets 503, and its message says to narrow the time range.")                          \
    X(unsigned, replica_lag_s, "5",                                                                \
      "seconds that a read replica may be late; then the database is read", NULL)                  \
    X(unsigned, sweep_s, "60", "seconds between two searches for blobs that nothing names",        \
      "Blobs of deleted symbol files and refused uploads are deleted within seconds, without "     \
      "such a search.")                                                                            \
    X(unsigned, retention_s, "3600",                                                               \
      "seconds between two searches for what projects keep no longer, at most 3600", NULL)         \
    X(unsigned, orphan_s, "3600", "seconds after which a blob that nothing ever named is deleted", \
      NULL)                                                                                        \
    X(unsigned, auth_failures, "10", "wrong tokens a minute from one address",                     \
      "An IPv6 client is its /64. Further wrong tokens get 429; valid tokens always pass. Wrong "  \
      "passwords are counted apart from them, and then right ones get 429, too.")                  \
    X(unsigned, verify_s, "600",                                                                   \
      "seconds between two of the 256 folders of stored files that are read in full",              \
      "Damaged indexes are built again, damaged symbol files are listed as failed.")               \
    X(unsigned, passwords, "2", "passwords that are checked at once",                              \
      "Each takes 19 MiB and one core for some tens of milliseconds.")                             \
    X(unsigned, passwords_waiting, "64", "logins that wait for that", "Further ones get 503.")     \
    X(unsigned, events_per_minute, "60000",                                                        \
      "requests with reports, sessions or symbols a minute of one key; 0: no limit",               \
      "Each of the three is counted by itself, and by each server. Further requests get 429 "      \
      "and Retry-After.")                                                                          \
    X(unsigned, events_per_minute_address, "6000",                                                 \
      "the same of one address, loopback excepted; 0: no limit", NULL)                             \
    X(uint64_t, report_bytes_per_day, "64G",                                                       \
      "reports of one project a day, inflated; 0: no limit",                                       \
      "A day is one of UTC; all servers count together. Further requests get 429 and "             \
      "Retry-After. GET /api/v1/project shows what was used.")                                     \
    X(uint64_t, reports_per_day, "10M", "reports of one project a day; 0: no limit", NULL)         \
    X(uint64_t, symbol_bytes_per_day, "256G",                                                      \
      "symbol files of one project a day, as stored; 0: no limit", NULL)

struct limits {
#define MEMBER(type, name, initial, help, more) type name;
    LIMITS(MEMBER)
#undef MEMBER
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
