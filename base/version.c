/*
 * The key of a version:
 *
 *   bytes                what
 *   01 | 02 | 03         no text | a text that is not a version | a version
 *   10+n, n bytes        a number in n bytes (0 to 8), the highest first; zeros at the end are left out
 *   20, letters, 00      a word, in lower case (not among the numbers of a version)
 *   01 | 02              a pre-release follows | none; both are below what a further number begins with
 *   ... 00               the numbers and words of the pre-release
 *   ...                  the numbers and words of the build, up to the end of the key
 *
 * "1.0-beta.2+45" is 03 11 01 | 01 20 62 65 74 61 00 11 02 00 | 11 2d.
 */
#include "base/version.h"

#include <string.h>

#include "base/span.h"

enum {
    CLASS_NONE = 1,
    CLASS_WORDS = 2,
    CLASS_VERSION = FZ_VERSION_KEY_FIRST,
    TOKEN_END = 0,
    PRE_RELEASE = 1,
    NO_PRE_RELEASE = 2,
    TOKEN_NUMBER = 0x10,
    TOKEN_WORD = 0x20,
    TOKEN_MAX = 18,  /* bytes of the longest: a word */
    WORD_MAX = 16,   /* letters */
    SECTION_MAX = 54 /* bytes of a pre-release or of a build */
};

/* A text taken apart: spans of it. */
struct parts {
    uint8_t class;
    struct fz_version version;
    struct fz_span pre_release, build;
};

struct key {
    uint8_t *bytes;
    size_t len;
};

/* ---- characters ---- */

static bool
is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

/* A part of a word: a letter, or any byte of a letter beyond ASCII. */
static bool
is_letter(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c >= 0x80;
}

static uint8_t
lower(uint8_t c)
{
    return c >= 'A' && c <= 'Z' ? (uint8_t)(c - 'A' + 'a') : c;
}

/* The text without blanks at its ends, as much of it as is read. */
static struct fz_span
text_span(const char *text)
{
    size_t end = text ? strnlen(text, FZ_VERSION_TEXT) : 0, start = 0;
    while (start < end && (uint8_t)text[start] <= ' ')
        start++;
    while (end > start && (uint8_t)text[end - 1] <= ' ')
        end--;
    return start == end ? (struct fz_span){NULL, 0} : fz_span_make(text + start, end - start);
}

/* ---- taking a text apart ---- */

/* The number at `*at`, which is moved after it. */
static uint64_t
read_number(struct fz_span text, size_t *at)
{
    uint64_t number = 0;
    bool is_huge = false;
    for (; *at < text.len && is_digit(text.data[*at]); (*at)++) {
        is_huge |= __builtin_mul_overflow(number, (uint64_t)10, &number);
        is_huge |= __builtin_add_overflow(number, (uint64_t)(text.data[*at] - '0'), &number);
    }
    return is_huge ? UINT64_MAX : number;
}

/* What precedes the numbers and does not count: "com.acme@", "v". */
static size_t
skip_prefix(struct fz_span text)
{
    size_t at = text.len;
    while (at > 0 && text.data[at - 1] != '@')
        at--;
    if (at + 1 < text.len && lower(text.data[at]) == 'v' && is_digit(text.data[at + 1]))
        at++;
    return at;
}

/* The dotted numbers from `at` on; returns where they end, `at` if there are none. */
static size_t
read_numbers(struct fz_span text, size_t at, struct fz_version *ret, size_t *ret_n_read)
{
    size_t n = 0;
    *ret = (struct fz_version){.n_numbers = 0};
    while (at < text.len && is_digit(text.data[at])) {
        uint64_t number = read_number(text, &at);
        if (n < FZ_VERSION_NUMBERS)
            ret->numbers[n] = number;
        if (n < FZ_VERSION_NUMBERS && number)
            ret->n_numbers = n + 1;
        n++;
        /* A dot that no number follows is not one of theirs. */
        if (at + 1 < text.len && text.data[at] == '.' && is_digit(text.data[at + 1]))
            at++;
        else
            break;
    }
    *ret_n_read = n;
    return at;
}

/* "-beta.2+45", " (4201)", "b3": the pre-release up to what begins a build, and the build. */
static void
split_rest(struct fz_span rest, struct parts *parts)
{
    size_t end = 0;
    while (end < rest.len && rest.data[end] != '+' && rest.data[end] != '(')
        end++;
    parts->pre_release = fz_span_until(rest, end);
    parts->build = end < rest.len ? fz_span_from(rest, end + 1) : (struct fz_span){NULL, 0};
    for (size_t i = 0; i < parts->pre_release.len; i++) {
        uint8_t c = parts->pre_release.data[i];
        parts->version.is_pre_release |= is_letter(c) || is_digit(c);
    }
}

static struct parts
take_apart(struct fz_span text)
{
    struct parts parts = {.class = text.len ? CLASS_WORDS : CLASS_NONE};
    size_t n_read, at = skip_prefix(text);
    size_t end = read_numbers(text, at, &parts.version, &n_read);
    /* "1.0b3" is a version, "9f8e7d6c" the hash of a commit. */
    bool is_hash = n_read == 1 && end < text.len && is_letter(text.data[end]);
    if (n_read == 0 || is_hash) {
        parts.version = (struct fz_version){.n_numbers = 0};
        parts.pre_release = text;
        return parts;
    }
    parts.class = CLASS_VERSION;
    split_rest(fz_span_from(text, end), &parts);
    return parts;
}

/* ---- the key ---- */

static void
add_byte(struct key *key, uint8_t byte)
{
    key->bytes[key->len++] = byte;
}

static void
add_number(struct key *key, uint64_t number)
{
    unsigned n = 0;
    while (n < sizeof(number) && number >> (8 * n))
        n++;
    add_byte(key, (uint8_t)(TOKEN_NUMBER + n));
    while (n-- > 0)
        add_byte(key, (uint8_t)(number >> (8 * n)));
}

static void
add_word(struct key *key, struct fz_span text, size_t *at)
{
    size_t n = 0;
    add_byte(key, TOKEN_WORD);
    for (; *at < text.len && is_letter(text.data[*at]); (*at)++) {
        if (n++ < WORD_MAX)
            add_byte(key, lower(text.data[*at]));
    }
    add_byte(key, TOKEN_END);
}

/* The numbers and words of a text, whatever is between them, in at most SECTION_MAX bytes. */
static void
add_tokens(struct key *key, struct fz_span text)
{
    size_t start = key->len, used = start;
    for (size_t at = 0; at < text.len && key->len - start <= SECTION_MAX - TOKEN_MAX;) {
        if (is_digit(text.data[at])) {
            uint64_t number = read_number(text, &at);
            add_number(key, number);
            /* Zeros at the end do not count: Apple takes missing numbers as zero. */
            used = number ? key->len : used;
        } else if (is_letter(text.data[at])) {
            add_word(key, text, &at);
            used = key->len;
        } else {
            at++;
        }
    }
    key->len = used;
}

/* The version's own build and the other one, once if they are the same. */
static void
add_builds(struct key *key, struct fz_span own, struct fz_span other)
{
    uint8_t bytes[SECTION_MAX];
    struct key second = {bytes, 0};
    size_t start = key->len;
    add_tokens(key, own);
    add_tokens(&second, other);
    size_t own_len = key->len - start;
    if (own_len == second.len && memcmp(key->bytes + start, bytes, own_len) == 0)
        return;
    memcpy(key->bytes + key->len, bytes, second.len);
    key->len += second.len;
}

size_t
fz_version_key(const char *version, const char *build, uint8_t ret[FZ_VERSION_KEY_MAX])
{
    _Static_assert(3 + FZ_VERSION_NUMBERS * 9 + 3 * SECTION_MAX <= FZ_VERSION_KEY_MAX,
                   "the longest key: numbers, a pre-release and two builds");
    struct parts parts = take_apart(text_span(version));
    struct key key = {ret, 0};
    add_byte(&key, parts.class);
    for (size_t i = 0; i < parts.version.n_numbers; i++)
        add_number(&key, parts.version.numbers[i]);
    bool has_words = parts.version.is_pre_release || parts.class == CLASS_WORDS;
    add_byte(&key, has_words ? PRE_RELEASE : NO_PRE_RELEASE);
    if (has_words) {
        add_tokens(&key, parts.pre_release);
        add_byte(&key, TOKEN_END);
    }
    add_builds(&key, parts.build, text_span(build));
    return key.len;
}

size_t
fz_version_key_end(uint8_t *key, size_t len)
{
    /* The highest byte has nothing after it. The first byte is a class, so one is left. */
    while (len > 1 && key[len - 1] == UINT8_MAX)
        len--;
    key[len - 1]++;
    return len;
}

/* ---- comparing ---- */

struct keyed {
    uint8_t key[FZ_VERSION_KEY_MAX];
    size_t len;
};

static struct keyed
make_keyed(const char *version, const char *build)
{
    struct keyed keyed;
    keyed.len = fz_version_key(version, build, keyed.key);
    return keyed;
}

static int
compare_keyed(const struct keyed *a, const struct keyed *b)
{
    int order = memcmp(a->key, b->key, a->len < b->len ? a->len : b->len);
    if (order == 0)
        return (a->len > b->len) - (a->len < b->len);
    return order < 0 ? -1 : 1;
}

/* 0 also where `a` is a build of `bound`. */
static int
compare_keyed_bound(const struct keyed *a, const struct keyed *bound)
{
    bool is_build_of = a->len >= bound->len && memcmp(a->key, bound->key, bound->len) == 0;
    return is_build_of ? 0 : compare_keyed(a, bound);
}

int
fz_version_compare(const char *version_a, const char *build_a, const char *version_b,
                   const char *build_b)
{
    struct keyed a = make_keyed(version_a, build_a), b = make_keyed(version_b, build_b);
    return compare_keyed(&a, &b);
}

int
fz_version_compare_bound(const char *version, const char *bound)
{
    struct keyed a = make_keyed(version, NULL), b = make_keyed(bound, NULL);
    return compare_keyed_bound(&a, &b);
}

bool
fz_version_is_ordered(const char *version)
{
    return take_apart(text_span(version)).class == CLASS_VERSION;
}

bool
fz_version_read(const char *version, struct fz_version *ret)
{
    struct parts parts = take_apart(text_span(version));
    if (parts.class != CLASS_VERSION)
        return false;
    *ret = parts.version;
    return true;
}

void
fz_release_split(const char *text, struct fz_release *ret)
{
    const char *at = text ? strrchr(text, '@') : NULL;
    *ret = (struct fz_release){.version = text ? fz_span_cstr(text) : (struct fz_span){NULL, 0}};
    if (!at)
        return;
    ret->app = fz_span_make(text, (size_t)(at - text));
    ret->version = fz_span_cstr(at + 1);
    const char *plus = strchr(at + 1, '+');
    if (!plus)
        return;
    ret->version = fz_span_make(at + 1, (size_t)(plus - at - 1));
    ret->build = fz_span_cstr(plus + 1);
}

/* ---- branches and regressions ---- */

bool
fz_version_same_branch(const char *a, const char *b)
{
    struct fz_version first, second;
    /* Missing numbers are zero. */
    return fz_version_read(a, &first) && fz_version_read(b, &second) &&
           first.numbers[0] == second.numbers[0] && first.numbers[1] == second.numbers[1];
}

bool
fz_version_is_regression(const struct fz_version_fix *fix, const char *version, const char *build)
{
    if (!fz_version_is_ordered(version) || !fz_version_is_ordered(fix->version))
        return false;
    struct keyed at = make_keyed(version, build);
    struct keyed fixed = make_keyed(fix->version, fix->build);
    struct keyed newest = make_keyed(fix->newest, fix->newest_build);
    if (compare_keyed(&at, &fixed) < 0)
        return false;
    bool is_hotfix = compare_keyed_bound(&newest, &fixed) > 0;
    if (!is_hotfix || fz_version_same_branch(version, fix->version))
        return true;
    return compare_keyed_bound(&at, &newest) > 0;
}
