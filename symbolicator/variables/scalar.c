/*
 * Numbers, characters, booleans: the base types (DWARF 5, 5.1).
 *
 * char is a character; signed char and unsigned char, and so int8_t and uint8_t, are numbers. A
 * floating-point number has as few digits as read back to the same bits.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "symbolicator/variables/place.h"
#include "symbolicator/variables/value.h"

enum { NUMBER_TEXT_MAX = 96, FLOAT_DIGITS = 9, DOUBLE_DIGITS = 17, EXTENDED_DIGITS = 21 };

bool
variables_scalar_is_char(const struct variables_type *type)
{
    return type->kind == TYPE_BASE && type->size == 1 &&
           (variables_type_is_named(type, "char") || variables_type_is_named(type, "char8_t"));
}

static void
print_special(double value, char *ret, size_t size)
{
    snprintf(ret, size, "%s", isnan(value) ? "NaN" : value < 0 ? "-Inf" : "Inf");
}

static void
print_float(float value, char *ret, size_t size)
{
    if (!isfinite(value)) {
        print_special((double)value, ret, size);
        return;
    }
    for (int digits = 6; digits <= FLOAT_DIGITS; digits++) {
        snprintf(ret, size, "%.*g", digits, (double)value);
        if (strtof(ret, NULL) == value)
            return;
    }
}

static void
print_double(double value, char *ret, size_t size)
{
    if (!isfinite(value)) {
        print_special(value, ret, size);
        return;
    }
    for (int digits = 6; digits <= DOUBLE_DIGITS; digits++) {
        snprintf(ret, size, "%.*g", digits, value);
        if (strtod(ret, NULL) == value)
            return;
    }
}

/* IEEE 754 binary16. */
static double
half_of(uint16_t bits)
{
    int exponent = bits >> 10 & 0x1f;
    double mantissa = bits & 0x3ff, sign = bits >> 15 ? -1 : 1;
    if (exponent == 0x1f)
        return mantissa != 0 ? (double)NAN : sign * (double)INFINITY;
    return sign * (exponent ? ldexp(mantissa + 0x400, exponent - 25) : ldexp(mantissa, -24));
}

/* The x87 format of 80 bits. False: this machine has no type that holds it exactly. */
static bool
print_extended(const uint8_t bytes[10], char *ret, size_t size)
{
    uint64_t mantissa = 0;
    int exponent = (bytes[8] | bytes[9] << 8) & 0x7fff;
    bool is_negative = bytes[9] >> 7;
    for (unsigned i = 8; i-- > 0;)
        mantissa = mantissa << 8 | bytes[i];
    if (exponent == 0x7fff) {
        print_special(mantissa << 1 ? (double)NAN
                      : is_negative ? -1.0 / 0.0
                                    : 1.0 / 0.0,
                      ret, size);
        return true;
    }
#if LDBL_MANT_DIG >= 64
    long double value = ldexpl((long double)mantissa, exponent - 16383 - 63);
    value = is_negative ? -value : value;
    for (int digits = 6; digits <= EXTENDED_DIGITS; digits++) {
        snprintf(ret, size, "%.*Lg", digits, value);
        if (strtold(ret, NULL) == value)
            break;
    }
    return true;
#else
    return false;
#endif
}

static bool
print_floating(const uint8_t *bytes, uint64_t size, char *ret, size_t room)
{
    uint64_t bits = 0;
    for (unsigned i = 0; i < 8 && i < size; i++)
        bits |= (uint64_t)bytes[i] << (8 * i);
    float narrow;
    double wide;
    uint32_t low = (uint32_t)bits;
    switch (size) {
    case 2:
        print_double(half_of((uint16_t)bits), ret, room);
        return true;
    case 4:
        memcpy(&narrow, &low, sizeof(narrow));
        print_float(narrow, ret, room);
        return true;
    case 8:
        memcpy(&wide, &bits, sizeof(wide));
        print_double(wide, ret, room);
        return true;
    case 10:
    case 12:
    case 16:
        return print_extended(bytes, ret, room);
    default:
        return false;
    }
}

/* 128 bits in decimal: the remainder of a division by ten, word by word. */
static void
print_wide(const uint8_t bytes[16], bool is_signed, char *ret, size_t size)
{
    uint32_t words[4];
    char digits[48];
    size_t n = sizeof(digits);
    bool is_negative = is_signed && bytes[15] >> 7;
    uint64_t carry = is_negative;
    for (unsigned i = 0; i < 4; i++) {
        const uint8_t *p = bytes + 4 * (size_t)i;
        uint32_t word =
            (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
        carry += is_negative ? ~word : word;
        words[i] = (uint32_t)carry;
        carry >>= 32;
    }
    digits[--n] = '\0';
    do {
        uint64_t rest = 0;
        for (unsigned i = 4; i-- > 0;) {
            rest = rest << 32 | words[i];
            words[i] = (uint32_t)(rest / 10);
            rest %= 10;
        }
        digits[--n] = (char)('0' + rest);
    } while (words[0] | words[1] | words[2] | words[3]);
    snprintf(ret, size, "%s%s", is_negative ? "-" : "", digits + n);
}

/* Characters wider than a byte; NULL: not one. */
static const char *
character_prefix(const struct variables_type *type)
{
    if (variables_type_is_named(type, "wchar_t"))
        return "L";
    if (type->encoding != ATE_UTF && type->encoding != ATE_UCS)
        return NULL;
    return type->size == 1 ? "" : type->size == 2 ? "u" : "U";
}

static void
print_bool(const struct variables_type *type, uint64_t number, char *ret, size_t size)
{
    if (number > 1)
        snprintf(ret, size, "%llu", (unsigned long long)number);
    else if (type->is_objc_bool)
        snprintf(ret, size, "%s", number ? "YES" : "NO");
    else
        snprintf(ret, size, "%s", number ? "true" : "false");
}

void
variables_scalar_number(struct variables_value *value, const struct variables_type *type,
                        uint64_t number, struct sym_variable *out)
{
    char text[NUMBER_TEXT_MAX];
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer character = fz_buffer_make(NUMBER_TEXT_MAX);
    const char *prefix = character_prefix(type);
    if (type->encoding == ATE_BOOLEAN ||
        ((type->is_objc_bool || type->is_boolean) && number <= 1)) {
        print_bool(type, number, text, sizeof(text));
    } else if (variables_scalar_is_char(type) || prefix) {
        variables_string_char(&character, prefix ? prefix : "", (uint32_t)number);
        snprintf(text, sizeof(text), "%s", fz_buffer_cstr(&character));
    } else if (type->encoding == ATE_SIGNED || type->encoding == ATE_SIGNED_CHAR) {
        uint64_t sign = type->size && type->size < 8 ? UINT64_C(1) << (8 * type->size - 1) : 0;
        snprintf(text, sizeof(text), "%lld", (long long)((number ^ sign) - sign));
    } else if (type->encoding == ATE_ADDRESS) {
        snprintf(text, sizeof(text), "0x%llx", (unsigned long long)number);
    } else {
        snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
    }
    variables_value_text(value, out, text);
}

void
variables_scalar_fill(struct variables_value *value, const struct variables_type *type,
                      const struct variables_place *place, struct sym_variable *out)
{
    uint8_t bytes[32] = {0};
    char text[NUMBER_TEXT_MAX] = "", imaginary[NUMBER_TEXT_MAX];
    bool is_float = type->encoding == ATE_FLOAT, is_complex = type->encoding == ATE_COMPLEX_FLOAT;
    if (type->size == 0 || type->size > sizeof(bytes)) {
        variables_value_absent(out, SYM_VALUE_UNSUPPORTED);
        return;
    }
    enum sym_availability why =
        variables_place_read(value->variables, place, 0, (size_t)type->size, bytes);
    /* x87 numbers have 10 bytes, the rest is padding. */
    if (why != SYM_VALUE_AVAILABLE && is_float && type->size == 16)
        why = variables_place_read(value->variables, place, 0, 10, bytes);
    if (why != SYM_VALUE_AVAILABLE) {
        variables_value_absent(out, why);
        return;
    }
    bool is_done = true;
    if (is_complex) {
        uint64_t half = type->size / 2;
        is_done = print_floating(bytes, half, text, sizeof(text)) &&
                  print_floating(bytes + half, half, imaginary, sizeof(imaginary));
        size_t len = strlen(text);
        snprintf(text + len, sizeof(text) - len, " + %si", is_done ? imaginary : "");
    } else if (is_float) {
        is_done = print_floating(bytes, type->size, text, sizeof(text));
    } else if (type->size == 16) {
        print_wide(bytes, type->encoding == ATE_SIGNED, text, sizeof(text));
    } else if (type->size <= 8) {
        uint64_t number = 0;
        for (unsigned i = 8; i-- > 0;)
            number = number << 8 | bytes[i];
        variables_scalar_number(value, type, number, out);
        return;
    } else {
        is_done = false;
    }
    if (is_done)
        variables_value_text(value, out, text);
    else
        variables_value_absent(out, SYM_VALUE_UNSUPPORTED);
}
