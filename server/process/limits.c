#include "server/process/limits.h"

#include <stdio.h>
#include <string.h>

#include "base/attr.h"
#include "base/text.h"

static const uint64_t KiB = 1024, MiB = 1024 * 1024, GiB = 1024 * 1024 * 1024;

struct limits
limits_default(void)
{
    return (struct limits){
        .report_bytes = 4 * MiB,
        .report_inflated_bytes = 32 * MiB,
        .symbol_bytes = 4 * GiB,
        .late_token_bytes = 16 * MiB,
        .chunk_bytes = 8 * MiB,
        .chunk_request_bytes = 32 * MiB,
        .envelope_bytes = 20 * MiB,
        .envelope_inflated_bytes = 100 * MiB,
        .json_bytes = 1 * MiB,
        .json_depth = 128,
        .threads = 512,
        .frames = 1024,
        .images = 4096,
        .memory_bytes = 8 * MiB,
        .report_memory = 256 * MiB,
        .archive_bytes = 16 * GiB,
        .archive_entries = 10000,
        .archive_ratio = 200,
        .slices = 1024,
        .child_memory = 2 * GiB,
        .child_cpu_s = 60,
        .child_wall_s = 120,
        .connections = 4096,
        .per_address = 256,
        .body_memory = 256 * MiB,
        .unknown_memory = 32 * MiB,
        .unknown_disk = 256 * MiB,
        .answer_memory = 64 * MiB,
        .answer_disk = 1 * GiB,
        .header_s = 10,
        .body_s = 120,
        .answer_s = 10,
        .min_body_rate = 1024,
        .sweep_s = 60,
        .orphan_s = 3600,
        .auth_failures = 10,
        .events_per_minute = 60000,
        .events_per_minute_address = 6000,
        .report_bytes_per_day = 64 * GiB,
        .symbol_bytes_per_day = 256 * GiB,
    };
}

/* A field by its configuration name; `size` is that of its type: 4 or 8 bytes, all unsigned. */
static const struct field {
    const char *name, *help;
    size_t offset, size;
} fields[] = {
#define FIELD(f, help)                                                        \
    {                                                                         \
#f, help, offsetof(struct limits, f), sizeof(((struct limits *)0)->f) \
    }
    FIELD(report_bytes, "body of a report as sent"),
    FIELD(report_inflated_bytes, "body of a report, inflated"),
    FIELD(envelope_bytes, "an envelope with attachments as sent"),
    FIELD(envelope_inflated_bytes, "an envelope, inflated"),
    FIELD(symbol_bytes, "one upload of symbols"),
    FIELD(late_token_bytes, "the same where the token comes in the body"),
    FIELD(chunk_bytes, "what uploaders such as sentry-cli cut files into"),
    FIELD(chunk_request_bytes, "the chunks of one request, inflated"),
    FIELD(json_bytes, "any other request body"),
    FIELD(json_depth, "nesting of JSON"),
    FIELD(threads, "threads of a report"),
    FIELD(frames, "frames of a thread"),
    FIELD(images, "images of a report"),
    FIELD(memory_bytes, "stack and memory bytes that a report carries"),
    FIELD(archive_bytes, "what an upload unpacks to"),
    FIELD(archive_entries, "entries of an archive"),
    FIELD(archive_ratio, "unpacked to packed size of an archive"),
    FIELD(slices, "Mach-O slices of one upload"),
    FIELD(report_memory, "memory for one report"),
    FIELD(child_memory, "address space of a child process"),
    FIELD(child_cpu_s, "CPU seconds of a child process per job"),
    FIELD(child_wall_s, "seconds of a child process per job"),
    FIELD(connections, "connections at once"),
    FIELD(per_address, "connections from one address, loopback excepted"),
    FIELD(body_memory, "bodies held in memory at once"),
    FIELD(unknown_memory, "the same for those who have not shown a token yet"),
    FIELD(answer_memory, "answers in memory that are being sent"),
    FIELD(answer_disk, "answers in files that are being sent"),
    FIELD(unknown_disk, "uploads on disk of those who have not shown a token yet"),
    FIELD(header_s, "seconds until a request's header is complete"),
    FIELD(body_s, "seconds until a report's body is complete"),
    FIELD(answer_s, "seconds in which a client must take some of its answer"),
    FIELD(min_body_rate, "bytes per second of a body"),
    FIELD(sweep_s, "seconds between two looks for files that nothing names"),
    FIELD(orphan_s, "seconds after which a file that nothing ever named is deleted"),
    FIELD(auth_failures, "wrong tokens a minute from one address"),
    FIELD(events_per_minute, "requests with reports or symbols a minute of one key; 0: no limit"),
    FIELD(events_per_minute_address, "the same of one address, loopback excepted; 0: no limit"),
    FIELD(report_bytes_per_day, "reports of one project a day, inflated; 0: no limit"),
    FIELD(symbol_bytes_per_day, "symbol files of one project a day; 0: no limit"),
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

void
limits_default_text(size_t i, char ret[LIMITS_TEXT])
{
    static const char units[] = "KMG";
    struct limits limits = limits_default();
    const char *field = (const char *)&limits + fields[i].offset;
    uint64_t value = 0;
    uint32_t narrow;
    memcpy(&narrow, field, sizeof(narrow));
    if (fields[i].size == sizeof(value))
        memcpy(&value, field, sizeof(value));
    else
        value = narrow;
    /* Sizes are from 1 MiB up; 1024 frames are not "1K". */
    bool is_size = value >= MiB && value % MiB == 0;
    size_t unit = 0;
    for (; is_size && unit < strlen(units) && value >= KiB && value % KiB == 0; unit++)
        value /= KiB;
    if (value == 0)
        snprintf(ret, LIMITS_TEXT, "no limit");
    else
        snprintf(ret, LIMITS_TEXT, "%llu%.*s", (unsigned long long)value, unit > 0,
                 units + (unit > 0 ? unit - 1 : 0));
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

int
limits_set(struct limits *limits, const char *name, const char *value)
{
    for (size_t i = 0; i < FZ_ARRAY_LEN(fields); i++) {
        if (strcmp(fields[i].name, name) != 0)
            continue;
        uint64_t number;
        /* A server that takes nothing is nobody's wish; that it takes any amount may be. */
        bool may_be_0 = strstr(name, "_per_minute") || strstr(name, "_per_day");
        if (parse_value(value, &number) != 0 || (number == 0 && !may_be_0))
            return -2;
        if (fields[i].size == sizeof(uint32_t)) {
            if (number > UINT32_MAX)
                return -2;
            uint32_t narrow = (uint32_t)number;
            memcpy((char *)limits + fields[i].offset, &narrow, sizeof(narrow));
        } else {
            memcpy((char *)limits + fields[i].offset, &number, sizeof(number));
        }
        return 0;
    }
    return -1;
}
