/* Numbers that are recognised by their digits: cards, telephones, bank accounts. */
#include "server/scrub/find.h"

enum {
    CARD_MIN = 13,
    CARD_MAX = 19,
    PHONE_MIN = 8,
    PHONE_MAX = 15,
    IBAN_MIN = 15,
    IBAN_MAX = 34,
    IBAN_SURE = 18,
    GROUP = 4,
};

/* ---- cards ----------------------------------------------------------------------------------- */

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
        bool is_gap = (c == ' ' || c == '-') && i > at && scrub_is_digit(text.data[i - 1]);
        if (!scrub_is_digit(c) && !is_gap)
            break;
        if (!scrub_is_digit(c))
            continue;
        if (n < max)
            ret[n] = (uint8_t)(c - '0');
        n++;
        end = i + 1;
    }
    *ret_end = end;
    return n;
}

static bool
is_part_of_word(struct fz_span text, size_t at)
{
    return at < text.len && (scrub_is_letter(text.data[at]) || scrub_is_digit(text.data[at]) ||
                             text.data[at] == '_');
}

/* In a quoted value any length with a right check digit counts; elsewhere it needs the first digits of an issuer
 * too, since one number in ten has a right check digit. */
bool
scrub_find_card(struct scrub_find *f, size_t at, struct scrub_match *ret)
{
    uint8_t digits[CARD_MAX];
    struct fz_span text = f->text;
    size_t n = read_digits(text, at, digits, CARD_MAX, &f->digits_end);
    size_t end = f->digits_end;
    if (n < CARD_MIN || n > CARD_MAX || !has_luhn_digit(digits, n))
        return false;
    bool is_fraction = (at > 0 && text.data[at - 1] == '.') ||
                       (end < text.len && text.data[end] == '.' && !f->is_quoted &&
                        (f->is_value || is_part_of_word(text, end + 1)));
    /* In prose also hexadecimal digits and identifiers are about. */
    if (!f->is_value && ((at > 0 && is_part_of_word(text, at - 1)) || is_part_of_word(text, end)))
        return false;
    *ret = (struct scrub_match){at, end, SCRUB_CARD};
    return !is_fraction && (f->is_quoted || has_issuer(digits, n));
}

/* ---- telephones ------------------------------------------------------------------------------ */

/* "+49 170 1234567": E.164 with an optional space, dash or bracket between groups. */
bool
scrub_find_phone(const struct scrub_find *f, size_t at, struct scrub_match *ret)
{
    struct fz_span text = f->text;
    size_t n = 0, end = at;
    if (text.data[at] != '+' || at + 1 >= text.len || !scrub_is_digit(text.data[at + 1]) ||
        text.data[at + 1] == '0')
        return false;
    /* "main+12345678" is a place in code. */
    if (!f->is_value && at > 0 && (is_part_of_word(text, at - 1) || text.data[at - 1] == ')'))
        return false;
    for (size_t i = at + 1; i < text.len; i++) {
        uint8_t c = text.data[i];
        if (scrub_is_digit(c)) {
            n++;
            end = i + 1;
        } else if (c != ' ' && c != '-' && c != '(' && c != ')' && c != '/') {
            break;
        }
    }
    *ret = (struct scrub_match){at, end, SCRUB_PHONE};
    return n >= PHONE_MIN && n <= PHONE_MAX;
}

/* ---- bank accounts --------------------------------------------------------------------------- */

/* The characters without their spaces. In prose: capitals and digits, in groups of four as they are printed. */
static size_t
read_iban(const struct scrub_find *f, size_t at, uint8_t c[IBAN_MAX], size_t *ret_end)
{
    size_t n = 0;
    for (size_t i = at; i < f->text.len && n < IBAN_MAX; i++) {
        uint8_t x = f->text.data[i];
        if (x == ' ' && n > 0 && (f->is_value || (n % GROUP == 0 && f->text.data[i - 1] != ' ')))
            continue;
        if (!scrub_is_digit(x) && !scrub_is_letter(x))
            break;
        if (!f->is_value && x >= 'a')
            break;
        c[n++] = x;
        *ret_end = i + 1;
    }
    return n;
}

/* ISO 13616: the first four characters moved to the end, letters as 10 to 35, modulo 97 is 1. */
bool
scrub_find_iban(const struct scrub_find *f, size_t at, struct scrub_match *ret)
{
    uint8_t c[IBAN_MAX];
    size_t end = at;
    size_t n = read_iban(f, at, c, &end);
    if (n < IBAN_MIN || !scrub_is_letter(c[0]) || !scrub_is_letter(c[1]) || !scrub_is_digit(c[2]) ||
        !scrub_is_digit(c[3]))
        return false;
    *ret = (struct scrub_match){at, end, SCRUB_IBAN};
    /* In a value, text may follow without a boundary that could be seen, so every length is tried. */
    for (size_t len = f->is_value ? IBAN_MIN : n; len <= n; len++) {
        unsigned rest = 0;
        for (size_t i = 0; i < len; i++) {
            uint8_t x = c[(i + 4) % len];
            unsigned v =
                scrub_is_digit(x) ? (unsigned)(x - '0') : (unsigned)((x | 0x20) - 'a') + 10;
            rest = (rest * (v > 9 ? 100 : 10) + v) % 97;
        }
        if (rest == 1 && (len == n || len >= IBAN_SURE))
            return true;
    }
    return false;
}
