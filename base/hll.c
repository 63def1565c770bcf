/*
 * A hash has 64 bits: the lowest 12 choose a register, and the register keeps the highest number of zeros, plus one, that the
 * other 52 bits began with.
 *
 *   hash 0x0010000000000abc → register 0xabc; the upper 52 bits are 0x0010000000000: 11 zeros, so the register becomes 12
 *
 * Encoded, by the first byte:
 *
 *   1   for each register that is set, in their order: u16 its number, little-endian, u8 its value
 *   2   4,096 values
 *   3   u8 the lowest value, then 2,048 bytes: the low half of byte i is what the value of register i exceeds the lowest by,
 *       the high half that of register i + 2,048, both at most 15; then, as in form 1, those whose value is higher still
 */
#include "base/hll.h"

#include <math.h>
#include <string.h>

#include "base/reader.h"

enum {
    FORM_FEW = 1,
    FORM_ALL = 2,
    FORM_HALVES = 3,
    FEW_BYTES = 3, /* of one register */
    HALVES = FZ_HLL_REGISTERS / 2,
    HALF_MAX = 15,
    FEW_MAX = HALVES / FEW_BYTES,
    RANK_MAX = 64 - FZ_HLL_BITS + 1
};

/* ---- hashes ---- */

/* The last steps of MurmurHash3: each bit of the input changes half of the output. */
static uint64_t
mix(uint64_t h)
{
    h = (h ^ (h >> 33)) * 0xff51afd7ed558ccd;
    h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53;
    return h ^ (h >> 33);
}

uint64_t
fz_hll_hash(struct fz_span thing)
{
    uint64_t h = 0xcbf29ce484222325; /* FNV-1a */
    for (size_t i = 0; i < thing.len; i++)
        h = (h ^ thing.data[i]) * 0x100000001b3;
    return mix(h);
}

uint64_t
fz_hll_hash_number(int64_t number)
{
    /* mix() leaves 0 as it is. */
    return mix((uint64_t)number + 0x9e3779b97f4a7c15);
}

/* ---- count ---- */

static uint8_t
rank_of(uint64_t hash)
{
    uint64_t rest = hash >> FZ_HLL_BITS;
    uint8_t rank = 1;
    for (uint64_t bit = UINT64_C(1) << (63 - FZ_HLL_BITS); bit && !(rest & bit); bit >>= 1)
        rank++;
    return rank;
}

bool
fz_hll_add(struct fz_hll *hll, uint64_t hash)
{
    uint8_t *at = &hll->registers[hash % FZ_HLL_REGISTERS];
    uint8_t rank = rank_of(hash);
    if (rank <= *at)
        return false;
    *at = rank;
    return true;
}

/* Without a branch, so that the compiler does sixteen at once: a list of versions merges thousands of counters. */
static void
merge(uint8_t *restrict into, const uint8_t *restrict from)
{
    for (size_t i = 0; i < FZ_HLL_REGISTERS; i++)
        into[i] = into[i] > from[i] ? into[i] : from[i];
}

void
fz_hll_merge(struct fz_hll *into, const struct fz_hll *from)
{
    merge(into->registers, from->registers);
}

/* Of registers that are still empty: x + sum of x^(2^k) * 2^(k-1). x is a share, below 1. */
static double
sigma(double x)
{
    double y = 1, z = x, before;
    do {
        before = z;
        x *= x;
        z += x * y;
        y += y;
    } while (z != before);
    return z;
}

/* Of registers that cannot rise any more; x is the share of the others. */
static double
tau(double x)
{
    double y = 1, z = 1 - x, before;
    if (x <= 0 || x >= 1)
        return 0;
    do {
        before = z;
        x = sqrt(x);
        y /= 2;
        z -= (1 - x) * (1 - x) * y;
    } while (z != before);
    return z / 3;
}

uint64_t
fz_hll_count(const struct fz_hll *hll)
{
    static const double half_over_ln2 = 0.72134752044448170368, m = FZ_HLL_REGISTERS;
    unsigned n[RANK_MAX + 1] = {0};
    for (size_t i = 0; i < FZ_HLL_REGISTERS; i++)
        n[hll->registers[i] <= RANK_MAX ? hll->registers[i] : RANK_MAX]++;
    if (n[0] == FZ_HLL_REGISTERS)
        return 0;
    double z = m * tau(1 - n[RANK_MAX] / m);
    for (int k = RANK_MAX - 1; k >= 1; k--)
        z = (z + n[k]) / 2;
    z += m * sigma(n[0] / m);
    double count = half_over_ln2 * m * m / z;
    /* Registers that were made up: no number of things leads there. */
    return count < 1e18 ? (uint64_t)(count + 0.5) : UINT64_C(1000000000000000000);
}

/* ---- bytes ---- */

/* The registers whose value is above `floor`. */
static size_t
count_above(const struct fz_hll *hll, unsigned floor)
{
    size_t n = 0;
    for (size_t i = 0; i < FZ_HLL_REGISTERS; i++)
        n += hll->registers[i] > floor;
    return n;
}

static void
encode_above(const struct fz_hll *hll, unsigned floor, struct fz_buffer *out)
{
    for (size_t i = 0; i < FZ_HLL_REGISTERS; i++) {
        const uint8_t one[FEW_BYTES] = {(uint8_t)(i & 0xff), (uint8_t)(i >> 8), hll->registers[i]};
        if (hll->registers[i] > floor)
            fz_buffer_append(out, one, FEW_BYTES);
    }
}

static void
encode_halves(const struct fz_hll *hll, unsigned lowest, struct fz_buffer *out)
{
    uint8_t halves[HALVES];
    for (size_t i = 0; i < HALVES; i++) {
        unsigned low = hll->registers[i] - lowest, high = hll->registers[i + HALVES] - lowest;
        halves[i] =
            (uint8_t)((low < HALF_MAX ? low : HALF_MAX) | (high < HALF_MAX ? high : HALF_MAX) << 4);
    }
    fz_buffer_char(out, FORM_HALVES);
    fz_buffer_char(out, (char)lowest);
    fz_buffer_append(out, halves, HALVES);
    encode_above(hll, lowest + HALF_MAX, out);
}

void
fz_hll_encode(const struct fz_hll *hll, struct fz_buffer *out)
{
    unsigned lowest = UINT8_MAX;
    for (size_t i = 0; i < FZ_HLL_REGISTERS; i++)
        lowest = hll->registers[i] < lowest ? hll->registers[i] : lowest;
    if (count_above(hll, 0) <= FEW_MAX) {
        fz_buffer_char(out, FORM_FEW);
        encode_above(hll, 0, out);
    } else if (count_above(hll, lowest + HALF_MAX) < FEW_MAX) {
        encode_halves(hll, lowest, out);
    } else {
        fz_buffer_char(out, FORM_ALL);
        fz_buffer_append(out, hll->registers, FZ_HLL_REGISTERS);
    }
}

static enum fz_code
odd_register(struct fz_error *err)
{
    return fz_fail(err, FZ_E_MALFORMED, "counter: it has a register that there is not");
}

static enum fz_code
merge_all(struct fz_hll *into, struct fz_reader *r, struct fz_error *err)
{
    struct fz_span bytes = fz_read_bytes(r, FZ_HLL_REGISTERS);
    uint8_t highest = 0;
    enum fz_code code = fz_read_done(r, err);
    if (code != FZ_OK)
        return code;
    for (size_t i = 0; i < FZ_HLL_REGISTERS; i++)
        highest = bytes.data[i] > highest ? bytes.data[i] : highest;
    if (highest > RANK_MAX || fz_read_left(r) > 0)
        return odd_register(err);
    merge(into->registers, bytes.data);
    return FZ_OK;
}

/* The registers that are left, if all are sound: nothing is merged of a counter that is not. */
static enum fz_code
read_few(struct fz_reader *r, struct fz_span *ret, struct fz_error *err)
{
    size_t len = fz_read_left(r);
    struct fz_span bytes = fz_read_bytes(r, len - len % FEW_BYTES);
    unsigned odd = 0;
    if (len % FEW_BYTES) { /* which fails */
        fz_read_u16(r);
        fz_read_u8(r);
    }
    enum fz_code code = fz_read_done(r, err);
    if (code != FZ_OK)
        return code;
    for (size_t i = 0; i < bytes.len; i += FEW_BYTES)
        odd |= (unsigned)(bytes.data[i + 1] >= FZ_HLL_REGISTERS >> 8) |
               (unsigned)(bytes.data[i + 2] > RANK_MAX);
    if (odd)
        return odd_register(err);
    *ret = bytes;
    return FZ_OK;
}

static void
merge_few(struct fz_hll *into, struct fz_span bytes)
{
    for (size_t i = 0; i < bytes.len; i += FEW_BYTES) {
        uint8_t *at = &into->registers[bytes.data[i] | bytes.data[i + 1] << 8],
                rank = bytes.data[i + 2];
        *at = rank > *at ? rank : *at;
    }
}

static enum fz_code
merge_halves(struct fz_hll *into, struct fz_reader *r, struct fz_error *err)
{
    struct fz_hll from;
    uint8_t lowest = fz_read_u8(r), highest = 0;
    struct fz_span bytes = fz_read_bytes(r, HALVES);
    struct fz_span few;
    enum fz_code code = fz_read_done(r, err);
    if (code == FZ_OK && lowest > RANK_MAX)
        code = odd_register(err);
    if (code == FZ_OK)
        code = read_few(r, &few, err);
    if (code != FZ_OK)
        return code;
    for (size_t i = 0; i < HALVES; i++) {
        from.registers[i] = (uint8_t)(lowest + (bytes.data[i] & 0xf));
        from.registers[i + HALVES] = (uint8_t)(lowest + (bytes.data[i] >> 4));
    }
    for (size_t i = 0; i < FZ_HLL_REGISTERS; i++)
        highest = from.registers[i] > highest ? from.registers[i] : highest;
    if (highest > RANK_MAX)
        return odd_register(err);
    merge(into->registers, from.registers);
    merge_few(into, few);
    return FZ_OK;
}

enum fz_code
fz_hll_merge_encoded(struct fz_hll *into, struct fz_span bytes, struct fz_error *err)
{
    struct fz_reader r = fz_reader_make(bytes, "counter");
    if (bytes.len == 0)
        return FZ_OK;
    uint8_t form = fz_read_u8(&r);
    if (form == FORM_ALL)
        return merge_all(into, &r, err);
    if (form == FORM_HALVES)
        return merge_halves(into, &r, err);
    if (form != FORM_FEW)
        return odd_register(err);
    struct fz_span few;
    enum fz_code code = read_few(&r, &few, err);
    if (code == FZ_OK)
        merge_few(into, few);
    return code;
}
