/*
 * Texts that look like a secret or like personal data, wherever in the value they are.
 *
 * Each pattern is one function over the text from one place on. Places within a longer run of the
 * same characters are not tried again, so the time is linear in the text (128 bytes as a rule).
 */
#include "server/resolve/redact.h"

#include <string.h>

#include "base/attr.h"
#include "server/resolve/redact_words.h"

enum {
    RUN_MIN = 32, /* of hexadecimal digits or base64 */
    CARD_MIN = 13,
    CARD_MAX = 19,
    PHONE_MIN = 8,
    PHONE_MAX = 15,
    IBAN_MIN = 15,
    IBAN_MAX = 34,
    NAME_MAX_LEN = 64,
};

static bool
is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

static bool
is_letter(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool
is_hex(uint8_t c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool
is_base64(uint8_t c)
{
    return is_digit(c) || is_letter(c) || c == '+' || c == '/' || c == '-' || c == '_';
}

static bool
is_local_part(uint8_t c)
{
    return is_digit(c) || is_letter(c) || (c && strchr(".!#$%&'*+/=?^_`{|}~-", c));
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* ISO/IEC 7812: every second digit from the right doubled, the sum of the digits is a multiple of 10. */
static bool
has_luhn_digit(const uint8_t *digits, size_t n)
{
    unsigned sum = 0;
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        unsigned d = digits[n - 1 - i];
        any = any || d != 0;
        if (i % 2 == 1)
            d = d * 2 > 9 ? d * 2 - 9 : d * 2;
        sum += d;
    }
    return any && sum % 10 == 0;
}

/* The first digits of the networks in use: a counter or a time in microseconds has others. */
static bool
has_issuer(const uint8_t *d, size_t n)
{
    unsigned four = d[0] * 1000u + d[1] * 100u + d[2] * 10u + d[3];
    return (d[0] == 4 && (n == 13 || n == 16 || n == 19)) ||
           (n == 16 && ((four >= 5100 && four <= 5599) || (four >= 2221 && four <= 2720))) ||
           (n == 15 && d[0] == 3 && (d[1] == 4 || d[1] == 7)) ||
           (n == 14 && d[0] == 3 && (d[1] == 0 || d[1] == 6 || d[1] == 8)) ||
           (n >= 16 && (d[0] == 6 || (four >= 3528 && four <= 3589)));
}

/* Digits from `at` on, also in groups: "4111 1111-1111 1111". *ret_end is after the last one. */
static size_t
read_digits(struct fz_span text, size_t at, uint8_t *ret, size_t max, size_t *ret_end)
{
    size_t n = 0, end = at;
    for (size_t i = at; i < text.len && n <= max; i++) {
        uint8_t c = text.data[i];
        bool is_gap = (c == ' ' || c == '-') && i > at && is_digit(text.data[i - 1]);
        if (!is_digit(c) && !is_gap)
            break;
        if (!is_digit(c))
            continue;
        if (n < max)
            ret[n] = (uint8_t)(c - '0');
        n++;
        end = i + 1;
    }
    *ret_end = end;
    return n;
}

/* A card's number. In text any length with a right check digit counts; a bare number needs the
 * first digits of an issuer too, since one number in ten has a right check digit. */
static bool
is_card(struct fz_span text, size_t at, bool quoted, size_t *ret_end)
{
    uint8_t digits[CARD_MAX];
    size_t n = read_digits(text, at, digits, CARD_MAX, ret_end);
    if (n < CARD_MIN || n > CARD_MAX || !has_luhn_digit(digits, n))
        return false;
    bool is_fraction = (at > 0 && text.data[at - 1] == '.') ||
                       (*ret_end < text.len && text.data[*ret_end] == '.' && !quoted);
    return !is_fraction && (quoted || has_issuer(digits, n));
}

/* "+49 170 1234567": E.164 with an optional space, dash or bracket between groups. */
static bool
is_phone(struct fz_span text, size_t at)
{
    size_t n = 0;
    if (text.data[at] != '+' || at + 1 >= text.len || !is_digit(text.data[at + 1]) ||
        text.data[at + 1] == '0')
        return false;
    for (size_t i = at + 1; i < text.len; i++) {
        uint8_t c = text.data[i];
        if (is_digit(c))
            n++;
        else if (c != ' ' && c != '-' && c != '(' && c != ')' && c != '/')
            break;
    }
    return n >= PHONE_MIN && n <= PHONE_MAX;
}

/* ISO 13616: the first four characters moved to the end, letters as 10 to 35, modulo 97 is 1. */
static bool
is_iban(struct fz_span text, size_t at)
{
    uint8_t c[IBAN_MAX];
    size_t n = 0;
    for (size_t i = at; i < text.len && n < IBAN_MAX; i++) {
        if (text.data[i] == ' ' && n > 0)
            continue;
        if (!is_digit(text.data[i]) && !is_letter(text.data[i]))
            break;
        c[n++] = text.data[i];
    }
    if (n < IBAN_MIN || !is_letter(c[0]) || !is_letter(c[1]) || !is_digit(c[2]) || !is_digit(c[3]))
        return false;
    /* Text may follow without a boundary that could be seen, so every length is tried. */
    for (size_t len = IBAN_MIN; len <= n; len++) {
        unsigned rest = 0;
        for (size_t i = 0; i < len; i++) {
            uint8_t x = c[(i + 4) % len];
            unsigned v = is_digit(x) ? (unsigned)(x - '0') : (unsigned)((x | 0x20) - 'a') + 10;
            rest = (rest * (v > 9 ? 100 : 10) + v) % 97;
        }
        if (rest == 1 && (len == n || len >= 18))
            return true;
    }
    return false;
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* The text around an '@': a part before it, a name with a dot after it. */
static bool
is_email(struct fz_span text, size_t at)
{
    size_t n_letters = 0, last_dot = 0;
    if (text.data[at] != '@' || at == 0 || !is_local_part(text.data[at - 1]))
        return false;
    for (size_t i = at + 1; i < text.len; i++) {
        uint8_t c = text.data[i];
        if (c == '.' && i > at + 1) {
            last_dot = i;
            n_letters = 0;
        } else if (is_letter(c) || is_digit(c) || c == '-') {
            n_letters += is_letter(c);
            if (last_dot && n_letters >= 2)
                return true;
        } else {
            break;
        }
    }
    return false;
}

/* 32 or more digits in hexadecimal, or characters of base64 that are no path and no words. */
static bool
is_long_run(struct fz_span text, size_t at, size_t *ret_end)
{
    size_t n = 0, n_hex = 0, longest_hex = 0, n_digits = 0, n_upper = 0, n_lower = 0, n_signs = 0;
    /* "0x" before the digits would join them to one run with the x. */
    if (text.data[at] == '0' && at + 1 < text.len && (text.data[at + 1] | 0x20) == 'x')
        at += 2;
    for (; at + n < text.len && is_base64(text.data[at + n]); n++) {
        uint8_t c = text.data[at + n];
        n_hex = is_hex(c) ? n_hex + 1 : 0;
        longest_hex = n_hex > longest_hex ? n_hex : longest_hex;
        n_digits += is_digit(c);
        n_upper += c >= 'A' && c <= 'Z';
        n_lower += c >= 'a' && c <= 'z';
        n_signs += !is_digit(c) && !is_letter(c);
    }
    *ret_end = at + n;
    if (longest_hex >= RUN_MIN)
        return true;
    /* Of 32 random characters one is a sign, five are digits; in paths one of eight is a slash. */
    return n >= RUN_MIN && n_upper && n_lower && n_digits && n_signs * 10 <= n;
}

/* How keys begin that everybody knows; `n` characters of base64 follow. */
static bool
has_known_prefix(struct fz_span text, size_t at)
{
    static const struct {
        const char *text;
        size_t n;
    } rows[] = {
        {"eyJ", 8},      {"-----BEGIN ", 0}, {"AKIA", 12},        {"ASIA", 12},    {"ghp_", 16},
        {"gho_", 16},    {"ghs_", 16},       {"github_pat_", 16}, {"xoxb-", 8},    {"xoxp-", 8},
        {"sk_live_", 8}, {"sk_test_", 8},    {"rk_live_", 8},     {"AIza", 20},    {"glpat-", 12},
        {"Bearer ", 8},  {"Basic ", 8},      {"fz_", 40},         {"sntrys_", 20},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(rows); i++) {
        size_t len = strlen(rows[i].text), n = 0;
        if (text.len - at < len || memcmp(text.data + at, rows[i].text, len) != 0)
            continue;
        while (at + len + n < text.len && is_base64(text.data[at + len + n]))
            n++;
        if (n >= rows[i].n)
            return true;
    }
    return false;
}

static bool
is_quoting(uint8_t c)
{
    return c == ' ' || c == '"' || c == '\'' || c == '\\';
}

/* "password=hunter2", "\"token\": \"x\"": a name with a secret's word before '=' or ':'. */
static bool
is_assignment(struct fz_span text, size_t at)
{
    size_t end = at, start;
    if (text.data[at] != '=' && text.data[at] != ':')
        return false;
    while (end > 0 && is_quoting(text.data[end - 1]))
        end--;
    for (start = end; start > 0 && end - start < NAME_MAX_LEN && is_base64(text.data[start - 1]);)
        start--;
    /* A name at the very end has no value after it: "enter your password:". */
    size_t after = at + 1;
    while (after < text.len && is_quoting(text.data[after]))
        after++;
    return after < text.len &&
           resolve_words_have_secret(fz_span_make(text.data + start, end - start),
                                     RESOLVE_WORDS_OF_NAME);
}

bool
resolve_redact_text(struct fz_span text)
{
    bool quoted = false;
    size_t run_end = 0, digits_end = 0;
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];
        bool begins = i == 0 || (!is_letter(text.data[i - 1]) && !is_digit(text.data[i - 1]));
        quoted = quoted || c == '"';
        if (is_email(text, i) || is_phone(text, i) || is_assignment(text, i))
            return true;
        if (is_base64(c) && i >= run_end && is_long_run(text, i, &run_end))
            return true;
        if (is_digit(c) && i >= digits_end && is_card(text, i, quoted, &digits_end))
            return true;
        if ((is_letter(c) || c == '-') && begins && (has_known_prefix(text, i) || is_iban(text, i)))
            return true;
    }
    return false;
}
