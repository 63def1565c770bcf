/*
 * Most bytes of a report are inside of a few values, which are passed over several times: once for each format that it could be
 * of. So blocks of 64 bytes are looked at as a whole, as in Langdale and Lemire, "Parsing Gigabytes of JSON per Second": one bit for
 * each byte that is a quote, and a string is where the number of quotes before is odd.
 *
 *   text      {"a":"}",   "b":[1]}
 *   quotes     1 1 1 1    1 1
 *   strings    11  11     11
 *   closes                      11   without those inside of strings
 */
#include "base/json/value_end.h"

#include <stdbool.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

size_t
json_string_end(struct fz_span text, size_t pos)
{
    size_t at = pos + 1;
    for (;;) {
        if (at >= text.len)
            return text.len + 1;
        const uint8_t *quote = memchr(text.data + at, '"', text.len - at);
        /* The text was cut in the middle of a string. */
        if (!quote)
            return text.len + 1;
        size_t end = (size_t)(quote - text.data);
        /* The quote is a character of the string if an odd number of backslashes precedes it. */
        /* Backslashes may be escaped themselves, so their number decides. */
        size_t slashes = end;
        while (slashes > at && text.data[slashes - 1] == '\\')
            slashes--;
        at = end + 1;
        if ((end - slashes) % 2 == 0)
            return at;
    }
}

/* Inside brackets, all other bytes are passed over. */
static const bool is_structural[256] = {
    ['"'] = true, ['{'] = true, ['}'] = true, ['['] = true, [']'] = true};

/* The position after the bracket that closes the last of `depth` open ones; outside of strings. */
static size_t
brackets_end(struct fz_span text, size_t pos, size_t depth)
{
    while (pos < text.len) {
        uint8_t c = text.data[pos];
        if (!is_structural[c]) {
            do
                pos++;
            while (pos < text.len && !is_structural[text.data[pos]]);
            continue;
        }
        if (c == '"') {
            pos = json_string_end(text, pos);
            continue;
        }
        depth += c == '{' || c == '[';
        pos++;
        if ((c == '}' || c == ']') && --depth == 0)
            return pos;
    }
    return text.len + 1;
}

#ifdef __SSE2__

enum { BLOCK = 64, PART = 16 };

/* One bit for each byte of a block. */
struct block {
    uint64_t quotes, backslashes, opens, closes;
};

static inline uint64_t
bits(__m128i hits)
{
    return (uint64_t)(uint32_t)_mm_movemask_epi8(hits);
}

static inline struct block
read_block(const uint8_t *bytes)
{
    struct block block = {0};
    for (int i = 0; i < BLOCK; i += PART) {
        __m128i part = _mm_loadu_si128((const __m128i *)(const void *)(bytes + i));
        /* '[' and '{' differ in this bit alone, as do ']' and '}'. */
        __m128i braces = _mm_or_si128(part, _mm_set1_epi8(0x20));
        block.quotes |= bits(_mm_cmpeq_epi8(part, _mm_set1_epi8('"'))) << i;
        block.backslashes |= bits(_mm_cmpeq_epi8(part, _mm_set1_epi8('\\'))) << i;
        block.opens |= bits(_mm_cmpeq_epi8(braces, _mm_set1_epi8('{'))) << i;
        block.closes |= bits(_mm_cmpeq_epi8(braces, _mm_set1_epi8('}'))) << i;
    }
    return block;
}

/* The bytes that a backslash escapes. *is_escaped: the first byte is; then whether the first one of the next block is. */
static inline uint64_t
escaped(uint64_t backslashes, bool *is_escaped)
{
    uint64_t found = *is_escaped;
    /* One that is escaped escapes nothing. They are rare, so each is taken by itself. */
    *is_escaped = false;
    for (uint64_t left = backslashes; left; left &= left - 1) {
        uint64_t slash = left & -left;
        if (found & slash)
            continue;
        found |= slash << 1;
        *is_escaped = slash >> (BLOCK - 1);
    }
    return found;
}

/* Bit by bit, whether the number of ones up to it is odd. */
static inline uint64_t
odd_so_far(uint64_t ones)
{
    for (int i = 1; i < BLOCK; i *= 2)
        ones ^= ones << i;
    return ones;
}

/* As in "Bit Twiddling Hacks": without a newer instruction set, the compiler's own is a call. */
static inline size_t
count_ones(uint64_t word)
{
    word -= word >> 1 & 0x5555555555555555;
    word = (word & 0x3333333333333333) + (word >> 2 & 0x3333333333333333);
    word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0f;
    return word * 0x0101010101010101 >> 56;
}

/* As brackets_end(). */
static size_t
blocks_end(struct fz_span text, size_t pos, size_t depth)
{
    bool is_escaped = false, is_string = false;
    for (; text.len - pos >= BLOCK; pos += BLOCK) {
        struct block block = read_block(text.data + pos);
        uint64_t quotes = block.quotes & ~escaped(block.backslashes, &is_escaped);
        uint64_t strings = odd_so_far(quotes) ^ (is_string ? UINT64_MAX : 0);
        uint64_t opens = block.opens & ~strings, closes = block.closes & ~strings;
        is_string = strings >> (BLOCK - 1);
        if ((opens | closes) == 0)
            continue;
        size_t n_closes = count_ones(closes);
        if (n_closes < depth) {
            depth += count_ones(opens) - n_closes;
            continue;
        }
        for (uint64_t left = opens | closes; left; left &= left - 1) {
            if (opens & left & -left)
                depth++;
            else if (--depth == 0)
                return pos + (size_t)__builtin_ctzll(left) + 1;
        }
    }
    /* As if the string began right before; what is escaped cannot end it. */
    if (is_string)
        pos = json_string_end(text, is_escaped ? pos : pos - 1);
    return brackets_end(text, pos, depth);
}

#else

static size_t
blocks_end(struct fz_span text, size_t pos, size_t depth)
{
    return brackets_end(text, pos, depth);
}

#endif

size_t
json_value_end(struct fz_span text, size_t pos)
{
    for (; pos < text.len; pos++) {
        uint8_t c = text.data[pos];
        if (c == '"')
            return json_string_end(text, pos);
        if (c == '{' || c == '[')
            return blocks_end(text, pos + 1, 1);
        /* A bracket that closes what is around the value ends it, too. */
        if (c == '}' || c == ']' || c == ',' || c == ' ' || c == '\n' || c == '\r' || c == '\t')
            return pos;
    }
    return text.len + 1;
}
