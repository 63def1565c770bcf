#include "corpse.h"

#include <string.h>

/*
 * Items follow one another: {u32 type, u32 size, u64 flags}, then `size` bytes, of which the low four bits of the flags
 * are padding, then up to a multiple of 16. Example, the id of the crashed thread:
 *
 *   1a 08 00 00  10 00 00 00  08 00 00 00 00 00 00 00   type 0x81a, size 16, 8 of them padding
 *   39 30 00 00 00 00 00 00  00 00 00 00 00 00 00 00    thread 12345
 */
enum {
    ITEM_HEADER = 16,
    ALIGNMENT = 16,
    ITEMS_MAX = 4096,
    TYPE_BEGIN = (int)0xdeadf157u,
    TYPE_END = (int)0xf19158edu,
    TYPE_CODES = 0x80e,
    TYPE_CRASHED_THREAD = 0x81a,
    TYPE_EXCEPTION = 0x838,
    TYPE_EXIT_REASON = 0x1001, /* packed {u32 namespace, u64 code, u64 flags} */
    TYPE_EXIT_TEXT = 0x1002,
    EXC_CRASH_TYPE = 10,
    EXC_RESOURCE_TYPE = 11,
    EXC_GUARD_TYPE = 12,
};

static uint32_t
u32_at(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

static uint64_t
u64_at(const uint8_t *bytes)
{
    return u32_at(bytes) | (uint64_t)u32_at(bytes + 4) << 32;
}

static void
read_item(uint32_t type, const uint8_t *bytes, size_t n, struct framezero_corpse *ret)
{
    if (type == (uint32_t)TYPE_CODES && n >= 16) {
        ret->has_codes = true;
        ret->codes[0] = u64_at(bytes);
        ret->codes[1] = u64_at(bytes + 8);
    } else if (type == (uint32_t)TYPE_CRASHED_THREAD && n >= 8) {
        ret->has_crashed_id = true;
        ret->crashed_id = u64_at(bytes);
    } else if (type == (uint32_t)TYPE_EXCEPTION && n >= 4) {
        ret->exception = u32_at(bytes);
    } else if (type == (uint32_t)TYPE_EXIT_REASON && n >= 20) {
        ret->has_exit_reason = true;
        ret->exit_namespace = u32_at(bytes);
        ret->exit_code = u64_at(bytes + 4);
        ret->exit_flags = u64_at(bytes + 12);
    } else if (type == (uint32_t)TYPE_EXIT_TEXT) {
        size_t len = n < sizeof(ret->exit_text) - 1 ? n : sizeof(ret->exit_text) - 1;
        memcpy(ret->exit_text, bytes, len);
        ret->exit_text[len] = '\0';
    }
}

bool
framezero_corpse_parse(const uint8_t *bytes, size_t n, struct framezero_corpse *ret)
{
    memset(ret, 0, sizeof(*ret));
    if (n < ITEM_HEADER || u32_at(bytes) != (uint32_t)TYPE_BEGIN)
        return false;
    size_t at = 0;
    for (int i = 0; i < ITEMS_MAX && n - at >= ITEM_HEADER; i++) {
        uint32_t type = u32_at(bytes + at), size = u32_at(bytes + at + 4);
        uint32_t padding = u32_at(bytes + at + 8) & 0xf;
        at += ITEM_HEADER;
        if (type == (uint32_t)TYPE_END || size > n - at)
            break;
        read_item(type, bytes + at, padding < size ? size - padding : size, ret);
        size_t step = ((size_t)size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
        if (step > n - at)
            break;
        at += step;
    }
    return true;
}

int
framezero_corpse_signal(const struct framezero_corpse *corpse, int exception, int *ret_exception)
{
    *ret_exception = exception;
    /* The whole word belongs to these two. */
    if (!corpse->has_codes || exception == EXC_RESOURCE_TYPE || exception == EXC_GUARD_TYPE)
        return 0;
    int inner = (int)(corpse->codes[0] >> 20 & 0xf);
    /* An abort stays EXC_CRASH; a fault that became one is shown as the fault. */
    if (exception == EXC_CRASH_TYPE && inner)
        *ret_exception = inner;
    return (int)(corpse->codes[0] >> 24 & 0xff);
}
