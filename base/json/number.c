#include "base/json/number.h"

#include <stdlib.h>

enum {
    INT64_DIGITS = 19,          /* of 2^63 */
    DOUBLE_DIGITS = 308,        /* 10^308 is a double, 10^309 is not */
    BORDER_NUMBER_BYTES = 1024, /* longer ones at the border of a double do not fit */
    EXPONENT_MAX = 1000000000,
};

static bool
int_fits(struct fz_span number)
{
    bool negative = number.data[0] == '-';
    const uint8_t *digits = number.data + negative;
    size_t n = number.len - negative;
    /* Leading zeros have been refused, so more digits are a larger number. */
    if (n != INT64_DIGITS)
        return n < INT64_DIGITS;
    return memcmp(digits, negative ? "9223372036854775808" : "9223372036854775807", n) <= 0;
}

/* Does the number with a fraction or an exponent fit a double? Its decimal exponent decides, except
 * at the very border, where strtod decides. */
static bool
real_fits(struct fz_span number)
{
    int64_t magnitude = 0; /* of the first digit that is not 0: 10^(magnitude - 1) and above */
    bool seen = false, after_point = false;
    size_t i = 0;
    for (; i < number.len && number.data[i] != 'e' && number.data[i] != 'E'; i++) {
        uint8_t c = number.data[i];
        if (c == '.')
            after_point = true;
        else if (c != '-' && (seen || c != '0')) {
            seen = true;
            magnitude += !after_point;
        } else if (c == '0' && after_point) {
            magnitude--;
        }
    }
    /* 0.000e999 is 0, whatever the exponent. */
    if (!seen)
        return true;
    int64_t exponent = 0;
    bool negative = i + 1 < number.len && number.data[i + 1] == '-';
    for (i++; i < number.len; i++) {
        /* Digits after that cannot matter, and the sum must not overflow. */
        if (number.data[i] >= '0' && number.data[i] <= '9' && exponent < EXPONENT_MAX)
            exponent = exponent * 10 + (number.data[i] - '0');
    }
    magnitude += negative ? -exponent : exponent;
    if (magnitude != DOUBLE_DIGITS + 1)
        return magnitude <= DOUBLE_DIGITS;
    char text[BORDER_NUMBER_BYTES];
    /* So many digits at the border of a double: no writer of reports makes one. */
    if (number.len >= sizeof(text))
        return false;
    memcpy(text, number.data, number.len);
    text[number.len] = '\0';
    double value = strtod(text, NULL);
    return value <= __DBL_MAX__ && value >= -__DBL_MAX__;
}

bool
json_number_fits(struct fz_span number, bool is_int)
{
    return is_int ? int_fits(number) : real_fits(number);
}
