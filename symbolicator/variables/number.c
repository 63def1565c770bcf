/*
 * Arithmetic of the DWARF stack machine.
 *
 * The generic type is an unsigned integer of the size of an address that wraps around; division,
 * arithmetic shifts and comparisons take it as signed (DWARF 5, 2.5.1.4).
 */
#include "symbolicator/variables/number.h"

#include <math.h>
#include <string.h>

#include "symbolicator/variables/constants.h"

static uint64_t
mask_of(unsigned size)
{
    return size >= 8 ? UINT64_MAX : (UINT64_C(1) << (8 * size)) - 1;
}

struct variables_number
variables_number_make(uint64_t bits, unsigned kind, unsigned size)
{
    return (struct variables_number){
        .bits = bits & mask_of(size), .kind = (uint8_t)kind, .size = (uint8_t)size};
}

int64_t
variables_number_signed(struct variables_number number)
{
    uint64_t sign = UINT64_C(1) << (8 * number.size - 1);
    return (int64_t)((number.bits ^ sign) - sign);
}

static double
as_double(struct variables_number number)
{
    float narrow;
    double wide;
    if (number.size == 4) {
        uint32_t bits = (uint32_t)number.bits;
        memcpy(&narrow, &bits, sizeof(narrow));
        return (double)narrow;
    }
    memcpy(&wide, &number.bits, sizeof(wide));
    return wide;
}

static struct variables_number
of_double(double value, unsigned size)
{
    uint64_t bits = 0;
    if (size == 4) {
        float narrow = (float)value;
        uint32_t narrow_bits;
        memcpy(&narrow_bits, &narrow, sizeof(narrow_bits));
        bits = narrow_bits;
    } else {
        memcpy(&bits, &value, sizeof(bits));
    }
    return variables_number_make(bits, NUMBER_FLOAT, size);
}

struct variables_number
variables_number_convert(struct variables_number number, unsigned kind, unsigned size)
{
    if (number.kind == NUMBER_FLOAT) {
        double value = as_double(number);
        if (kind == NUMBER_FLOAT)
            return of_double(value, size);
        /* What does not fit is not defined in C; any fixed value is. */
        if (!(value > -9.2e18 && value < 9.2e18))
            return variables_number_make(0, kind, size);
        return variables_number_make((uint64_t)(int64_t)value, kind, size);
    }
    bool is_signed = number.kind == NUMBER_SIGNED;
    if (kind == NUMBER_FLOAT)
        return of_double(is_signed ? (double)variables_number_signed(number) : (double)number.bits,
                         size);
    uint64_t bits = is_signed ? (uint64_t)variables_number_signed(number) : number.bits;
    return variables_number_make(bits, kind, size);
}

bool
variables_number_unary(unsigned op, struct variables_number a, struct variables_number *ret)
{
    uint64_t bits;
    if (a.kind == NUMBER_FLOAT) {
        double value = as_double(a);
        if (op == OP_NOT)
            return false;
        bool is_negated = op == OP_NEG || value < 0;
        *ret = of_double(is_negated ? -value : value, a.size);
        return true;
    }
    switch (op) {
    case OP_ABS:
        bits = a.kind != NUMBER_UNSIGNED && variables_number_signed(a) < 0 ? 0 - a.bits : a.bits;
        break;
    case OP_NEG:
        bits = 0 - a.bits;
        break;
    case OP_NOT:
        bits = ~a.bits;
        break;
    default:
        return false;
    }
    *ret = variables_number_make(bits, a.kind, a.size);
    return true;
}

/* Comparisons give 0 or 1; false for other operations. */
static bool
compared(unsigned op, int order, uint64_t *ret)
{
    switch (op) {
    case OP_EQ:
        *ret = order == 0;
        return true;
    case OP_GE:
        *ret = order >= 0;
        return true;
    case OP_GT:
        *ret = order > 0;
        return true;
    case OP_LE:
        *ret = order <= 0;
        return true;
    case OP_LT:
        *ret = order < 0;
        return true;
    case OP_NE:
        *ret = order != 0;
        return true;
    default:
        return false;
    }
}

static bool
binary_float(unsigned op, struct variables_number a, struct variables_number b,
             struct variables_number *ret)
{
    double x = as_double(a), y = as_double(b);
    uint64_t truth;
    if (compared(op, x < y ? -1 : x > y, &truth)) {
        if (isunordered(x, y))
            truth = op == OP_NE;
        *ret = variables_number_make(truth, NUMBER_GENERIC, 8);
        return true;
    }
    switch (op) {
    case OP_PLUS:
        *ret = of_double(x + y, a.size);
        return true;
    case OP_MINUS:
        *ret = of_double(x - y, a.size);
        return true;
    case OP_MUL:
        *ret = of_double(x * y, a.size);
        return true;
    case OP_DIV:
        if (y == 0)
            return false;
        *ret = of_double(x / y, a.size);
        return true;
    default:
        return false;
    }
}

static uint64_t
shifted(unsigned op, struct variables_number a, uint64_t by)
{
    int64_t value = variables_number_signed(a);
    unsigned bits = 8u * a.size;
    /* C does not define shifts of as many bits as there are. */
    if (by >= bits)
        return op == OP_SHRA && value < 0 ? UINT64_MAX : 0;
    if (op == OP_SHL)
        return a.bits << by;
    if (op == OP_SHR)
        return a.bits >> by;
    return value < 0 ? ~(~(uint64_t)value >> by) : (uint64_t)value >> by;
}

static bool
divided(unsigned op, struct variables_number a, struct variables_number b, uint64_t *ret)
{
    if (b.bits == 0)
        return false;
    /* DW_OP_mod takes the generic type as unsigned, DW_OP_div as signed. */
    bool is_signed = a.kind == NUMBER_SIGNED || (a.kind == NUMBER_GENERIC && op == OP_DIV);
    if (!is_signed) {
        *ret = op == OP_DIV ? a.bits / b.bits : a.bits % b.bits;
        return true;
    }
    int64_t x = variables_number_signed(a), y = variables_number_signed(b);
    /* The smallest number divided by -1 does not fit. */
    if (y == -1)
        *ret = op == OP_DIV ? 0 - (uint64_t)x : 0;
    else
        *ret = (uint64_t)(op == OP_DIV ? x / y : x % y);
    return true;
}

bool
variables_number_binary(unsigned op, struct variables_number a, struct variables_number b,
                        struct variables_number *ret)
{
    bool is_shift = op == OP_SHL || op == OP_SHR || op == OP_SHRA;
    if (is_shift && a.kind != NUMBER_FLOAT && b.kind != NUMBER_FLOAT) {
        *ret = variables_number_make(shifted(op, a, b.bits), a.kind, a.size);
        return true;
    }
    /* DWARF wants two operands of one type, but LLVM leaves constants as they are. */
    if (a.kind == NUMBER_GENERIC && b.kind != NUMBER_GENERIC && b.kind != NUMBER_FLOAT)
        a = variables_number_convert(a, b.kind, b.size);
    else if (b.kind == NUMBER_GENERIC && a.kind != NUMBER_GENERIC && a.kind != NUMBER_FLOAT)
        b = variables_number_convert(b, a.kind, a.size);
    if (a.kind != b.kind || a.size != b.size)
        return false;
    if (a.kind == NUMBER_FLOAT)
        return binary_float(op, a, b, ret);
    uint64_t bits;
    int64_t x = variables_number_signed(a), y = variables_number_signed(b);
    int order =
        a.kind == NUMBER_UNSIGNED ? (a.bits < b.bits ? -1 : a.bits > b.bits) : (x < y ? -1 : x > y);
    if (compared(op, order, &bits)) {
        *ret = variables_number_make(bits, NUMBER_GENERIC, 8);
        return true;
    }
    switch (op) {
    case OP_AND:
        bits = a.bits & b.bits;
        break;
    case OP_OR:
        bits = a.bits | b.bits;
        break;
    case OP_XOR:
        bits = a.bits ^ b.bits;
        break;
    case OP_PLUS:
        bits = a.bits + b.bits;
        break;
    case OP_MINUS:
        bits = a.bits - b.bits;
        break;
    case OP_MUL:
        bits = a.bits * b.bits;
        break;
    case OP_DIV:
    case OP_MOD:
        if (!divided(op, a, b, &bits))
            return false;
        break;
    default:
        return false;
    }
    *ret = variables_number_make(bits, a.kind, a.size);
    return true;
}
