/*
 * Programs write the items of a list in one form. So what precedes a value is compared with what preceded it in the item before,
 * and only what differs from it is read.
 *
 *   {"addr":4362092648,"name":"Demo"}     {"addr":   4362092648   ,"name":   "Demo"   }
 *   {"addr":4362092712,"name":"Demo"}     the same   4362092712   the same   the same }
 *
 * Items that are not flat are passed over.
 */
#include "base/json/rows.h"

#include <string.h>

#include "base/json/value_end.h"
#include "base/text.h"

/* Before the text of an array that was left: a NUL, and how many items it has. */
enum { HEAD = 1 + sizeof(size_t) };

static uint64_t
load_word(const uint8_t *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof(word));
    return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? __builtin_bswap64(word) : word;
}

/* Bit tricks on words as in "Bit Twiddling Hacks", determine if a word has a byte less than n; only the lowest hit is exact, and that
 * is the one that is used. */
static const uint64_t ones = 0x0101010101010101, highs = 0x8080808080808080;

size_t
json_find_special(struct fz_span text, size_t at)
{
    for (; text.len - at >= sizeof(uint64_t); at += sizeof(uint64_t)) {
        uint64_t word = load_word(text.data + at);
        uint64_t quote = word ^ ones * '"', backslash = word ^ ones * '\\';
        uint64_t hit = (((quote - ones) & ~quote) | ((backslash - ones) & ~backslash)) & highs;
        if (hit)
            return at + (size_t)(__builtin_ctzll(hit) / 8);
    }
    while (at < text.len && text.data[at] != '"' && text.data[at] != '\\')
        at++;
    return at;
}

size_t
json_plain_end(struct fz_span text, size_t at)
{
    for (; text.len - at >= sizeof(uint64_t); at += sizeof(uint64_t)) {
        uint64_t word = load_word(text.data + at);
        uint64_t quote = word ^ ones * '"', backslash = word ^ ones * '\\';
        uint64_t hit = ((quote - ones) & ~quote) | ((backslash - ones) & ~backslash) |
                       ((word - ones * 0x20) & ~word) | word;
        if (hit & highs)
            return at + (size_t)(__builtin_ctzll(hit & highs) / 8);
    }
    while (at < text.len && text.data[at] >= 0x20 && text.data[at] < 0x80 && text.data[at] != '"' &&
           text.data[at] != '\\')
        at++;
    return at;
}

size_t
json_space_end(struct fz_span text, size_t at)
{
    static const uint64_t spaces = 0x2020202020202020;
    /* Between tokens there is nothing, or one space. */
    if (at < text.len && text.data[at] == ' ')
        at++;
    if (at < text.len && text.data[at] > ' ')
        return at;
    while (at < text.len) {
        uint8_t c = text.data[at];
        if (c == ' ') {
            /* Indented documents are a quarter spaces. */
            while (text.len - at >= sizeof(spaces) && load_word(text.data + at) == spaces)
                at += sizeof(spaces);
            if (at < text.len && text.data[at] == ' ')
                at++;
        } else if (c == '\n' || c == '\r' || c == '\t') {
            at++;
        } else {
            break;
        }
    }
    return at;
}

static inline size_t
skip_space(struct fz_span text, size_t at)
{
    return at < text.len && text.data[at] > ' ' ? at : json_space_end(text, at);
}

/* Past the number or word at `at`. */
static size_t
word_end(struct fz_span text, size_t at)
{
    while (at < text.len && text.data[at] > ' ' && text.data[at] != ',' && text.data[at] != ']' &&
           text.data[at] != '}')
        at++;
    return at;
}

/* ---- flat items ------------------------------------------------------------------------------ */

/* The number of eight digits at `bytes`, as in Daniel Lemire's "Quickly parsing eight digits"; false: they are not eight digits. */
static bool
eight_digits(const uint8_t *bytes, uint64_t *ret)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof(word));
    if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
        word = __builtin_bswap64(word);
    if (((word & 0xf0f0f0f0f0f0f0f0) | ((word + 0x0606060606060606) & 0xf0f0f0f0f0f0f0f0) >> 4) !=
        0x3333333333333333)
        return false;
    word = (word & 0x0f0f0f0f0f0f0f0f) * (10 * 256 + 1) >> 8;
    word = (word & 0x00ff00ff00ff00ff) * (100 * 65536 + 1) >> 16;
    *ret = (word & 0x0000ffff0000ffff) * (10000 * ((uint64_t)1 << 32) + 1) >> 32;
    return true;
}

static size_t
read_number(struct fz_span text, size_t at, struct json_row_member *ret)
{
    bool is_negative = text.data[at] == '-';
    uint64_t number = 0, eight;
    at += is_negative;
    for (; text.len - at >= 8 && eight_digits(text.data + at, &eight); at += 8)
        number = number * 100000000 + eight;
    for (; at < text.len && text.data[at] - (unsigned)'0' < 10; at++)
        number = number * 10 + (text.data[at] - (unsigned)'0');
    bool is_int =
        at < text.len && text.data[at] != '.' && text.data[at] != 'e' && text.data[at] != 'E';
    ret->kind = is_int ? JSON_ROW_INTEGER : JSON_ROW_OTHER;
    ret->number = is_negative ? 0 - number : number;
    return is_int ? at : word_end(text, at);
}

/* The value at `at`. Returns where it ends, 0 if it is not flat. */
static size_t
read_value(struct fz_span text, size_t at, struct json_row_member *ret)
{
    if (at >= text.len)
        return 0;
    size_t start = at;
    uint8_t c = text.data[at];
    if (c == '"') {
        at = json_find_special(text, at + 1);
        if (at == text.len || text.data[at] != '"')
            return 0;
        ret->kind = JSON_ROW_TEXT;
        at++;
    } else if (c == '-' || c - (unsigned)'0' < 10) {
        at = read_number(text, at, ret);
    } else if (c == '[' || c == '{') {
        return 0;
    } else {
        ret->kind = c == 'n' ? JSON_ROW_NULL : JSON_ROW_OTHER;
        at = word_end(text, at);
    }
    ret->value = fz_span_make(text.data + start, at - start);
    return at;
}

/* Past `wanted`, 0 if the text has something else at `at`. */
static size_t
pass(struct fz_span text, size_t at, struct fz_span wanted)
{
    if (text.len - at < wanted.len || memcmp(text.data + at, wanted.data, wanted.len) != 0)
        return 0;
    return at + wanted.len;
}

/* A value at a place in a text: where it ends, 0 if it is not of the kind that is looked for. */
typedef size_t value_fn(struct fz_span text, size_t at, struct json_row_member *ret);

/* The object at `at` in the form of the one before. Returns where it ends, 0 if it has another one. Inline, since the reader is
 * known where it is called. */
static inline __attribute__((always_inline)) size_t
read_same(struct fz_span text, size_t at, struct json_row *row, value_fn *read)
{
    for (size_t i = 0; i < row->n; i++) {
        struct json_row_member *member = &row->members[i];
        at = pass(text, at, member->lead);
        if (!at)
            return 0;
        size_t end = member->varies ? 0 : pass(text, at, member->value);
        /* A number may go on: 12 is the start of 123. */
        if (end && member->kind != JSON_ROW_TEXT && end != word_end(text, end))
            end = 0;
        member->varies = member->varies || !end;
        at = end ? end : read(text, at, member);
        if (!at)
            return 0;
    }
    at = skip_space(text, at);
    return row->n && at < text.len && text.data[at] == '}' ? at + 1 : 0;
}

/* The object at `at` in any form. Returns where it ends, 0 if it is not flat. */
static size_t
read_new(struct fz_span text, size_t at, struct json_row *row)
{
    size_t n = 0, lead = at;
    row->n = 0;
    row->layout++;
    at = skip_space(text, at + 1);
    while (at < text.len && text.data[at] == '"' && n < JSON_ROW_MEMBERS) {
        struct json_row_member *member = &row->members[n++];
        size_t end = json_find_special(text, at + 1);
        if (end == text.len || text.data[end] != '"')
            return 0;
        member->key = fz_span_make(text.data + at + 1, end - at - 1);
        member->varies = false;
        /* Past the colon. */
        at = skip_space(text, skip_space(text, end + 1) + 1);
        member->lead = fz_span_make(text.data + lead, at - lead);
        at = read_value(text, at, member);
        if (!at)
            return 0;
        lead = at;
        at = skip_space(text, at);
        if (at < text.len && text.data[at] == ',')
            at = skip_space(text, at + 1);
    }
    if (at >= text.len || text.data[at] != '}')
        return 0;
    row->n = n;
    return at + 1;
}

/* ---- items that the scanner passes over ------------------------------------------------------ */

/* So few digits always fit. */
enum { DIGITS_MAX = 18 };

/* As read_value(), of text that was not scanned: a plain string or a short integer. */
static size_t
check_value(struct fz_span text, size_t at, struct json_row_member *ret)
{
    size_t start = at;
    if (at < text.len && text.data[at] == '"') {
        at = json_plain_end(text, at + 1);
        if (at == text.len || text.data[at] != '"')
            return 0;
        ret->kind = JSON_ROW_TEXT;
        at++;
    } else {
        size_t digits = at + (at < text.len && text.data[at] == '-');
        for (at = digits; at < text.len && text.data[at] - (unsigned)'0' < 10; at++)
            ;
        /* No leading zeros. */
        if (at == digits || at - start > DIGITS_MAX ||
            (text.data[digits] == '0' && at > digits + 1))
            return 0;
        ret->kind = JSON_ROW_INTEGER;
    }
    ret->value = fz_span_make(text.data + start, at - start);
    return at;
}

struct json_rows_passed
json_rows_pass(struct fz_span text, size_t like, size_t at)
{
    struct json_rows_passed passed = {.end = at, .has_comma = true};
    struct json_row row;
    row.n = row.layout = 0;
    if (!read_new(text, like, &row))
        return passed;
    while (passed.has_comma) {
        size_t end = read_same(text, skip_space(text, passed.end), &row, check_value);
        if (!end)
            break;
        passed.n++;
        end = skip_space(text, end);
        passed.has_comma = end < text.len && text.data[end] == ',';
        passed.end = end + passed.has_comma;
    }
    passed.n_keys = passed.n * row.n;
    return passed;
}

/* ---- items ----------------------------------------------------------------------------------- */

bool
json_rows_next(struct json_rows *rows)
{
    struct fz_span text = rows->text;
    struct json_row *row = &rows->row;
    size_t at = skip_space(text, rows->pos), end = 0;
    if (at < text.len && text.data[at] == ',')
        at = skip_space(text, at + 1);
    rows->pos = at;
    if (at >= text.len || text.data[at] == ']')
        return false;
    if (text.data[at] == '{') {
        end = read_same(text, at, row, read_value);
        if (!end)
            end = read_new(text, at, row);
    }
    row->is_flat = end > 0;
    if (!end)
        end = json_value_end(text, at);
    /* The text was cut. */
    if (end > text.len)
        end = text.len;
    row->text = fz_span_make(text.data + at, end - at);
    rows->pos = end;
    return true;
}

json_t *
json_rows_leave(struct fz_span text, size_t n, size_t *len)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer left = fz_buffer_make(0);
    if (*len == 0) {
        struct json_rows rows = {.text = text, .pos = 1};
        for (n = 0; json_rows_next(&rows);)
            n++;
        *len = rows.pos < text.len ? rows.pos + 1 : rows.pos;
    }
    fz_buffer_char(&left, '\0');
    fz_buffer_append(&left, &n, sizeof(n));
    fz_buffer_append(&left, text.data, *len);
    return left.failed ? NULL : json_stringn_nocheck(left.data, left.len);
}

bool
json_rows_of(const json_t *value, struct json_rows *ret)
{
    const char *text = json_string_value(value);
    size_t len = json_string_length(value);
    if (len < HEAD || text[0] != '\0')
        return false;
    *ret = (struct json_rows){.text = fz_span_make(text + HEAD, len - HEAD), .pos = 1};
    memcpy(&ret->n, text + 1, sizeof(ret->n));
    return true;
}

/* ---- members --------------------------------------------------------------------------------- */

int
json_row_find(const struct json_row *row, const char *key)
{
    for (size_t i = row->n; i-- > 0;) {
        if (fz_span_is(row->members[i].key, key))
            return (int)i;
    }
    return -1;
}

bool
json_row_has(const struct json_row *row, int member)
{
    return member >= 0 && row->members[member].kind != JSON_ROW_NULL;
}

bool
json_row_text(const struct json_row *row, int member, struct fz_span *ret)
{
    if (member < 0 || row->members[member].kind != JSON_ROW_TEXT)
        return false;
    struct fz_span value = row->members[member].value;
    *ret = fz_span_make(value.data + 1, value.len - 2);
    return true;
}

bool
json_row_u64(const struct json_row *row, int member, uint64_t *ret)
{
    struct fz_span text;
    if (member >= 0 && row->members[member].kind == JSON_ROW_INTEGER) {
        *ret = row->members[member].number;
        return true;
    }
    return json_row_text(row, member, &text) && fz_text_u64(text, ret);
}
