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
#define FIELD(type, name, initial, help, more) \
    {#name, initial, help, more, offsetof(struct limits, name), sizeof(type)},
    LIMITS(FIELD)
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
    /* 1,024-fold, as in all options that take a size. */
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
        /* Rejected rather than cut: a limit that is silently lower is hard to find. */
        if (number > UINT32_MAX)
            return -2;
        /* By memcpy(): the offset alone has no type. */
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
