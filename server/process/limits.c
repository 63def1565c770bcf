#include "server/process/limits.h"

#include <string.h>

#include "base/attr.h"
#include "base/text.h"

static const uint64_t KiB = 1024, MiB = 1024 * 1024, GiB = 1024 * 1024 * 1024;

/* A field by its configuration name; `size` is that of its type: 4 or 8 bytes, all unsigned. */
static const struct field {
    const char *name, *initial, *help, *more;
    size_t offset, size;
} fields[] = {
#define FIELD(f, initial, help, more)                                                        \
    {                                                                                        \
#f, initial, help, more, offsetof(struct limits, f), sizeof(((struct limits *)0)->f) \
    }
    FIELD(report_bytes, "4M", "body of a report as sent", NULL),
    FIELD(report_inflated_bytes, "32M", "body of a report, inflated", NULL),
    FIELD(envelope_bytes, "20M", "body of an envelope with attachments as sent", NULL),
    FIELD(envelope_inflated_bytes, "100M", "body of an envelope, inflated", NULL),
    FIELD(symbol_bytes, "4G", "one upload of symbols", NULL),
    FIELD(late_token_bytes, "16M", "one upload of symbols whose token comes in the body",
          "The server has to store such a body before it knows who sends it."),
    FIELD(chunk_bytes, "8M", "one chunk into which uploaders such as sentry-cli cut files", NULL),
    FIELD(chunk_request_bytes, "32M", "all chunks of one request, inflated", NULL),
    FIELD(json_bytes, "1M", "any other request body", NULL),
    FIELD(json_depth, "128", "nesting of JSON", NULL),
    FIELD(threads, "512", "threads of a report", NULL),
    FIELD(frames, "1024", "frames of a thread", NULL),
    FIELD(images, "4096", "images of a report", NULL),
    FIELD(memory_bytes, "8M", "stack and memory bytes in a report", NULL),
    FIELD(archive_bytes, "16G", "unpacked size of an upload", NULL),
    FIELD(archive_entries, "10000", "entries of an archive", NULL),
    FIELD(archive_ratio, "200", "unpacked to packed size of an archive", NULL),
    FIELD(slices, "1024", "Mach-O slices of one upload", NULL),
    FIELD(report_memory, "256M", "memory for one report", NULL),
    FIELD(child_memory, "2G", "address space of a child process", NULL),
    FIELD(child_cpu_s, "60", "CPU seconds of a child process per job",
          "Symbol files get ten times as much."),
    FIELD(child_wall_s, "120", "seconds of a child process per job",
          "Symbol files get ten times as much."),
    FIELD(connections, "4096", "connections at once",
          "When all are in use, a new one replaces the one that has been idle for longest."),
    FIELD(per_address, "256", "connections from one address",
          "An IPv6 client is its /64. Loopback and trusted proxies are excepted."),
    FIELD(
        body_memory, "256M", "request bodies in memory at once, of clients that have shown a token",
        "Beyond half of it, one address gets at most a quarter, and one token at most half through "
        "addresses that send much and three quarters through all. Bodies up to 64K count in the "
        "sum only, of which one token has at most seven eighths. Further requests get 503."),
    FIELD(unknown_memory, "32M",
          "request bodies in memory of clients that have not shown a token yet",
          "The token may come in the body."),
    FIELD(unknown_disk, "256M", "uploads on disk of clients that have not shown a token yet",
          "They must be complete within body_s seconds."),
    FIELD(answer_memory, "64M", "answers in memory that are being sent",
          "Shares per address and token are those of body_memory; further requests get 503."),
    FIELD(answer_disk, "1G", "answers in files that are being sent",
          "Answers above 1M, and those for which memory has no room, go to files; equal answers "
          "are stored once."),
    FIELD(header_s, "10", "seconds until a request's header is complete", NULL),
    FIELD(body_s, "120", "seconds until a report's body is complete", NULL),
    FIELD(answer_s, "10", "seconds in which a client must take some of its answer", NULL),
    FIELD(min_body_rate, "1024", "bytes per second of a body, at least", NULL),
    FIELD(sweep_s, "60", "seconds between two searches for blobs that nothing names",
          "Blobs of deleted symbol files and refused uploads are deleted within seconds, without "
          "such a search."),
    FIELD(orphan_s, "3600", "seconds after which a blob that nothing ever named is deleted", NULL),
    FIELD(auth_failures, "10", "wrong tokens a minute from one address",
          "An IPv6 client is its /64. Further wrong tokens get 429; valid tokens always pass."),
    FIELD(events_per_minute, "60000",
          "requests with reports, sessions or symbols a minute of one key; 0: no limit",
          "Each of the three is counted by itself, and by each server. Further requests get 429 "
          "and Retry-After."),
    FIELD(events_per_minute_address, "6000",
          "the same of one address, loopback excepted; 0: no limit", NULL),
    FIELD(report_bytes_per_day, "64G", "reports of one project a day, inflated; 0: no limit",
          "A day is one of UTC; all servers count together. Further requests get 429 and "
          "Retry-After. GET /api/v1/project shows what was used."),
    FIELD(symbol_bytes_per_day, "256G", "symbol files of one project a day, as stored; 0: no limit",
          NULL),
#undef FIELD
};

const char *
limits_name(size_t i)
{
    return i < FZ_ARRAY_LEN(fields) ? fields[i].name : NULL;
}

const char *
limits_help(size_t i)
{
    return fields[i].help;
}

const char *
limits_more(size_t i)
{
    return fields[i].more;
}

const char *
limits_default_text(size_t i)
{
    return fields[i].initial;
}

static int
parse_value(const char *text, uint64_t *ret)
{
    size_t len = strlen(text);
    uint64_t unit = 1;
    if (len && (text[len - 1] == 'K' || text[len - 1] == 'k'))
        unit = KiB;
    else if (len && (text[len - 1] == 'M' || text[len - 1] == 'm'))
        unit = MiB;
    else if (len && (text[len - 1] == 'G' || text[len - 1] == 'g'))
        unit = GiB;
    uint64_t value;
    if (!fz_text_u64(fz_span_make(text, unit > 1 ? len - 1 : len), &value) ||
        __builtin_mul_overflow(value, unit, &value))
        return -2;
    *ret = value;
    return 0;
}

static int
set(struct limits *limits, const struct field *field, const char *text)
{
    uint64_t number;
    /* 0 is "no limit" where any amount can be wanted; elsewhere it would refuse everything. */
    bool may_be_0 = strstr(field->name, "_per_minute") || strstr(field->name, "_per_day");
    if (parse_value(text, &number) != 0 || (number == 0 && !may_be_0))
        return -2;
    if (field->size == sizeof(uint32_t)) {
        if (number > UINT32_MAX)
            return -2;
        uint32_t narrow = (uint32_t)number;
        memcpy((char *)limits + field->offset, &narrow, sizeof(narrow));
    } else {
        memcpy((char *)limits + field->offset, &number, sizeof(number));
    }
    return 0;
}

struct limits
limits_default(void)
{
    struct limits limits = {0};
    for (size_t i = 0; i < FZ_ARRAY_LEN(fields); i++)
        fz_ignore(set(&limits, &fields[i], fields[i].initial)); /* test_limits sets each of them */
    return limits;
}

int
limits_set(struct limits *limits, const char *name, const char *value)
{
    for (size_t i = 0; i < FZ_ARRAY_LEN(fields); i++) {
        if (strcmp(fields[i].name, name) == 0)
            return set(limits, &fields[i], value);
    }
    return -1;
}

uint64_t
limits_value(const struct limits *limits, size_t i)
{
    const char *field = (const char *)limits + fields[i].offset;
    uint64_t value;
    uint32_t narrow;
    memcpy(&narrow, field, sizeof(narrow));
    if (fields[i].size == sizeof(narrow))
        return narrow;
    memcpy(&value, field, sizeof(value));
    return value;
}
