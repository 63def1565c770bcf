/*
 * Every limit on what comes from outside, in one place. Defaults, configuration names and meaning:
 * README.md.
 */
#ifndef PROCESS_LIMITS_H
#define PROCESS_LIMITS_H

#include <stddef.h>
#include <stdint.h>

struct limits {
    size_t report_bytes;            /* body of a report as sent; 4 MiB */
    size_t report_inflated_bytes;   /* the same inflated; 32 MiB */
    size_t envelope_bytes;          /* an envelope with attachments as sent; 20 MiB */
    size_t envelope_inflated_bytes; /* the same inflated; 100 MiB */
    uint64_t symbol_bytes;          /* upload of symbols; 4 GiB */
    uint64_t late_token_bytes;      /* the same if its token comes within the body; 16 MiB */
    size_t chunk_bytes;             /* what uploaders cut files into; 8 MiB */
    size_t chunk_request_bytes;     /* chunks of one request, inflated; 32 MiB */
    size_t json_bytes;              /* any other request body; 1 MiB */
    size_t json_depth;              /* 128 */
    size_t threads;                 /* 512 a report */
    size_t frames;                  /* 1,024 a thread */
    size_t images;                  /* 4,096 a report */
    size_t memory_bytes;            /* stack and memory bytes a report carries; 8 MiB */
    size_t report_memory;           /* arena of one report in the child; 256 MiB */
    uint64_t archive_bytes;         /* sum of what an archive unpacks to; 16 GiB */
    size_t archive_entries;         /* 10,000 */
    unsigned archive_ratio;         /* unpacked : packed once above 1 MiB; 200 */
    size_t slices;                  /* Mach-O slices of one upload; 1,024 */
    uint64_t child_memory;          /* address space of a child beside mapped files; 2 GiB */
    unsigned child_cpu_s;           /* CPU seconds of a child per job; 60 (symbol files: 600) */
    unsigned child_wall_s;          /* 120 (symbol files: 1,200) */
    unsigned connections;           /* 4,096 */
    unsigned per_address;           /* connections from one, loopback excepted; 256 */
    size_t body_memory;             /* bodies held in memory, all requests together; 256 MiB */
    size_t unknown_memory;          /* of those who have not shown a token yet; 32 MiB */
    uint64_t unknown_disk;          /* their uploads on disk; 256 MiB */
    size_t answer_memory;           /* answers that are being sent, in memory; 64 MiB */
    uint64_t answer_disk;           /* and in files; 1 GiB */
    unsigned header_s;              /* a request's header must be complete; 10 */
    unsigned body_s;                /* a report's body; 120 */
    unsigned answer_s;              /* the client must take some of its answer; 10 */
    unsigned min_body_rate;         /* bytes per second after 5 s; 1,024 */
    unsigned sweep_s;               /* between two looks for blobs that nothing names; 60 */
    unsigned orphan_s;              /* age of a blob that nothing ever named; 3,600 */
    unsigned auth_failures;         /* wrong tokens a minute from one address; 10 */
    unsigned events_per_minute;     /* of one key; 60,000; 0 = no limit, as for the next three */
    unsigned events_per_minute_address; /* of one client address, loopback excepted; 6,000 */
    uint64_t report_bytes_per_day;      /* of one project, inflated; 64 GiB */
    uint64_t symbol_bytes_per_day;      /* of one project; 256 GiB */
};

/* The defaults named above. */
struct limits limits_default(void);

/* Set the limit with configuration name `name` ("report_bytes"...) from a number with an optional
 * suffix K, M, G (1,024-fold). Returns 0, -1 for an unknown name, -2 for a bad value, or for 0 where
 * that does not mean "no limit". */
int limits_set(struct limits *limits, const char *name, const char *value);

/* The limits one after the other: name, NULL after the last; what it limits; the default as it is
 * configured ("4M", "512", "no limit"). */
enum { LIMITS_TEXT = 32 };
const char *limits_name(size_t i);
const char *limits_help(size_t i);
void limits_default_text(size_t i, char ret[LIMITS_TEXT]);

#endif
