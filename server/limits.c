#include "server/limits.h"

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
        .header_s = 10,
        .body_s = 120,
        .answer_s = 10,
        .min_body_rate = 1024,
        .auth_failures = 10,
    };
}

/* A field by its configuration name; `size` tells its type apart (4 or 8 bytes, all unsigned). */
static const struct field {
    const char *name;
    size_t offset, size;
} fields[] = {
#define FIELD(f)                                                        \
    {                                                                   \
#f, offsetof(struct limits, f), sizeof(((struct limits *)0)->f) \
    }
    FIELD(report_bytes),
    FIELD(report_inflated_bytes),
    FIELD(symbol_bytes),
    FIELD(json_bytes),
    FIELD(envelope_bytes),
    FIELD(envelope_inflated_bytes),
    FIELD(json_depth),
    FIELD(threads),
    FIELD(frames),
    FIELD(images),
    FIELD(memory_bytes),
    FIELD(report_memory),
    FIELD(archive_bytes),
    FIELD(archive_entries),
    FIELD(archive_ratio),
    FIELD(slices),
    FIELD(child_memory),
    FIELD(child_cpu_s),
    FIELD(child_wall_s),
    FIELD(connections),
    FIELD(header_s),
    FIELD(body_s),
    FIELD(min_body_rate),
    FIELD(auth_failures),
    FIELD(per_address),
    FIELD(body_memory),
    FIELD(answer_s),
    FIELD(late_token_bytes),
    FIELD(chunk_bytes),
    FIELD(chunk_request_bytes),
    FIELD(events_per_minute),
#undef FIELD
};

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
    if (!fz_text_u64(fz_span_make(text, unit > 1 ? len - 1 : len), &value) || value == 0 ||
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
        if (parse_value(value, &number) != 0)
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
