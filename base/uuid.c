#include "base/uuid.h"

#include "base/random.h"
#include "base/text.h"
#include "base/time.h"

#include <stdio.h>

enum { AGE_DIGITS = 8 };

bool
fz_uuid_parse(struct fz_span text, struct fz_uuid *ret)
{
    if (text.len >= 2 && ((text.data[0] == '<' && text.data[text.len - 1] == '>') ||
                          (text.data[0] == '{' && text.data[text.len - 1] == '}')))
        text = fz_span_make(text.data + 1, text.len - 2);
    struct fz_uuid uuid = {{0}};
    size_t n_digits = 0, n_dashes = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == '-') {
            n_dashes++;
            continue;
        }
        int digit = fz_text_hex_digit((char)text.data[i]);
        if (digit < 0 || n_digits >= 32 + AGE_DIGITS)
            return false;
        if (n_digits < 32) {
            unsigned shift = n_digits % 2 ? 0 : 4;
            uuid.bytes[n_digits / 2] |= (uint8_t)((unsigned)digit << shift);
        }
        n_digits++;
    }
    /* A dashed age ("...-0") would be 33 digits with 5 dashes. */
    if (n_digits < 32 || n_dashes > 5)
        return false;
    *ret = uuid;
    return true;
}

void
fz_uuid_format(const struct fz_uuid *uuid, char ret[FZ_UUID_TEXT])
{
    fz_text_hex(fz_span_make(uuid->bytes, sizeof(uuid->bytes)), ret);
}

void
fz_uuid_format_dashed(const struct fz_uuid *uuid, char ret[FZ_UUID_DASHED])
{
    char plain[FZ_UUID_TEXT];
    fz_uuid_format(uuid, plain);
    snprintf(ret, FZ_UUID_DASHED, "%.8s-%.4s-%.4s-%.4s-%.12s", plain, plain + 8, plain + 12,
             plain + 16, plain + 20);
}

bool
fz_uuid_equal(const struct fz_uuid *a, const struct fz_uuid *b)
{
    return memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

bool
fz_uuid_is_nil(const struct fz_uuid *uuid)
{
    static const struct fz_uuid nil;
    return fz_uuid_equal(uuid, &nil);
}

struct fz_uuid
fz_uuid_new(void)
{
    struct fz_uuid uuid;
    fz_random(uuid.bytes, sizeof(uuid.bytes));
    uint64_t ms = (uint64_t)fz_time_now_ms();
    /* Big-endian, so that ids sort by their time as texts too. */
    for (unsigned i = 0; i < 6; i++)
        uuid.bytes[i] = (uint8_t)(ms >> (8 * (5 - i)));
    /* Version 7 and the variant (RFC 9562). */
    uuid.bytes[6] = (uint8_t)(0x70 | (uuid.bytes[6] & 0x0f));
    uuid.bytes[8] = (uint8_t)(0x80 | (uuid.bytes[8] & 0x3f));
    return uuid;
}
