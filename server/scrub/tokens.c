/* Secrets that are recognised by their form, by how they begin, or by the name before them. */
#include <string.h>

#include "base/attr.h"
#include "base/platform.h"
#include "server/scrub/find.h"
#include "server/scrub/words.h"

enum { RUN_MIN = 32, NAME_MAX_LEN = 64, WORD_MIN = 16, VALUE_MIN = 6 };

/* ---- by form --------------------------------------------------------------------------------- */

struct run {
    size_t n, longest_hex, n_digits, n_upper, n_lower, n_signs, n_changes;
};

static bool
is_hex(uint8_t c)
{
    return scrub_is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static struct run
measure(const struct scrub_find *f, size_t at)
{
    struct run run = {.n = 0};
    size_t n_hex = 0;
    int last = 0;
    for (; at + run.n < f->text.len; run.n++) {
        uint8_t c = f->text.data[at + run.n];
        /* In prose a slash is that of a path. */
        if (!scrub_is_base64(c) || (c == '/' && !f->is_value))
            break;
    }
    /* Nearly all are words. */
    for (size_t i = 0; run.n >= RUN_MIN && i < run.n; i++) {
        uint8_t c = f->text.data[at + i];
        int kind = scrub_is_digit(c) ? 1 : c >= 'a' && c <= 'z' ? 2 : scrub_is_letter(c) ? 3 : 4;
        n_hex = is_hex(c) ? n_hex + 1 : 0;
        run.longest_hex = n_hex > run.longest_hex ? n_hex : run.longest_hex;
        run.n_digits += kind == 1;
        run.n_lower += kind == 2;
        run.n_upper += kind == 3;
        run.n_signs += kind == 4;
        run.n_changes += last && kind != last;
        last = kind;
    }
    return run;
}

/* Names that compilers make: "_ZN4acme4shop", "_TtC4Shop22CheckoutViewController", "$s4Shop". */
static bool
is_mangled(struct fz_span text, size_t at)
{
    static const char *const heads[] = {"_Z", "__Z", "_T", "_$s", "_OBJC", "_R"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(heads); i++) {
        size_t len = strlen(heads[i]);
        if (text.len - at >= len && memcmp(text.data + at, heads[i], len) == 0)
            return true;
    }
    return at > 0 && text.data[at - 1] == '$';
}

/* 32 or more digits in hexadecimal, or characters of base64 that are no path and no words. */
bool
scrub_find_run(struct scrub_find *f, size_t at, struct scrub_match *ret)
{
    struct fz_span text = f->text;
    /* "0x" before the digits would join them to one run with the x. */
    if (text.data[at] == '0' && at + 1 < text.len && (text.data[at + 1] | 0x20) == 'x')
        at += 2;
    struct run run = measure(f, at);
    f->run_end = at + run.n;
    if (f->keeps_runs || run.n < RUN_MIN)
        return false;
    /* Of 32 random characters one is a sign, five are digits; in paths one of eight is a slash. */
    bool is_random = run.n_upper && run.n_lower && run.n_digits && run.n_signs * 10 <= run.n;
    /* Of 32 random characters 19 are of another kind than the one before, of names one in four. */
    if (!f->is_value)
        is_random = is_random && run.n_changes * 5 >= run.n * 2 && !is_mangled(text, at);
    if (run.longest_hex < RUN_MIN && !is_random)
        return false;
    while (f->run_end < text.len &&
           (scrub_is_base64(text.data[f->run_end]) || text.data[f->run_end] == '='))
        f->run_end++;
    *ret = (struct scrub_match){at, f->run_end, SCRUB_TOKEN};
    return true;
}

/* ---- by how they begin ----------------------------------------------------------------------- */

struct known {
    const char *text;
    size_t n;     /* characters of base64 that follow at least */
    bool is_kept; /* what it begins with is not a part of the secret */
};

/* The end of a key in PEM form; that of the text if it was cut. */
static size_t
pem_end(struct fz_span text, size_t at)
{
    static const char last[] = "-----END ", dashes[] = "-----";
    const uint8_t *end = fz_platform_find(text.data + at, text.len - at, last, sizeof(last) - 1);
    if (!end)
        return text.len;
    size_t from = (size_t)(end - text.data) + sizeof(last) - 1;
    end = fz_platform_find(text.data + from, text.len - from, dashes, sizeof(dashes) - 1);
    return end ? (size_t)(end - text.data) + sizeof(dashes) - 1 : text.len;
}

/* "Basic understanding" is not a login. */
static bool
is_prose(struct fz_span word)
{
    if (word.len >= WORD_MIN)
        return false;
    for (size_t i = 0; i < word.len; i++) {
        if (scrub_is_digit(word.data[i]))
            return false;
    }
    return true;
}

bool
scrub_find_known(const struct scrub_find *f, size_t at, struct scrub_match *ret)
{
    static const struct known rows[] = {
        {"eyJ", 8, false},      {"-----BEGIN ", 0, false},  {"AKIA", 12, false},
        {"ASIA", 12, false},    {"ghp_", 16, false},        {"gho_", 16, false},
        {"ghs_", 16, false},    {"github_pat_", 16, false}, {"xoxb-", 8, false},
        {"xoxp-", 8, false},    {"sk_live_", 8, false},     {"sk_test_", 8, false},
        {"rk_live_", 8, false}, {"AIza", 20, false},        {"glpat-", 12, false},
        {"Bearer ", 8, true},   {"Basic ", 8, true},        {"fz_", 40, false},
        {"sntrys_", 20, false},
    };
    struct fz_span text = f->text;
    for (size_t i = 0; i < FZ_ARRAY_LEN(rows); i++) {
        const struct known *row = &rows[i];
        if ((uint8_t)row->text[0] != text.data[at])
            continue;
        size_t len = strlen(row->text), n = 0;
        if (text.len - at < len || memcmp(text.data + at, row->text, len) != 0)
            continue;
        if (row->n == 0) {
            *ret = (struct scrub_match){at, pem_end(text, at), SCRUB_TOKEN};
            return true;
        }
        while (at + len + n < text.len && scrub_is_base64(text.data[at + len + n]))
            n++;
        size_t from = at + len, end = from + n;
        if (n < row->n ||
            (row->is_kept && !f->is_value && is_prose(fz_span_make(text.data + from, n))))
            continue;
        /* The parts of a JSON web token have dots between them. */
        while (end < text.len &&
               (scrub_is_base64(text.data[end]) || text.data[end] == '.' || text.data[end] == '='))
            end++;
        *ret = (struct scrub_match){row->is_kept ? from : at, end, SCRUB_TOKEN};
        return true;
    }
    return false;
}

/* ---- by their name --------------------------------------------------------------------------- */

static bool
is_quoting(uint8_t c)
{
    return c == ' ' || c == '"' || c == '\'' || c == '\\';
}

static bool
ends_value(uint8_t c, uint8_t quote)
{
    if (quote)
        return c == quote || c == '\n' || c == '\\';
    return c <= ' ' || strchr("\"',;&}])<>\\", c) != NULL;
}

static bool
says_nothing(struct fz_span value)
{
    static const char *const words[] = {"nil", "null", "NULL", "(null", "true", "false",
                                        "YES", "NO",   "none", "0",     "1"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(words); i++) {
        if (fz_span_is(value, words[i]))
            return true;
    }
    return value.len == 0;
}

/* The value in prose: to the next blank or the quote that ends it. */
static bool
read_value(const struct scrub_find *f, size_t at, struct scrub_match *ret)
{
    struct fz_span text = f->text;
    size_t from = at + 1, end, n_digits = 0;
    bool is_apart = text.data[at] == '=';
    for (; from < text.len && (text.data[from] == ' ' || text.data[from] == '\\'); from++)
        is_apart = true;
    uint8_t quote = from < text.len && (text.data[from] == '"' || text.data[from] == '\'')
                        ? text.data[from++]
                        : 0;
    /* A mark of an earlier pass, or a list. */
    if (from < text.len && text.data[from] == '[')
        return false;
    is_apart = is_apart || quote;
    for (end = from; end < text.len && !ends_value(text.data[end], quote); end++) {
        /* "loginWithToken:completion:" is the name of a method, "Auth::login" as well. */
        if (!is_apart && text.data[end] == ':')
            return false;
        n_digits += scrub_is_digit(text.data[end]);
    }
    struct fz_span value = fz_span_make(text.data + from, end - from);
    if (!is_apart && (n_digits == 0 || value.len < VALUE_MIN))
        return false;
    if (says_nothing(value))
        return false;
    /* "Authorization: Bearer x" */
    if (!quote &&
        (fz_span_is(value, "Bearer") || fz_span_is(value, "Basic") || fz_span_is(value, "Token"))) {
        while (end < text.len && text.data[end] == ' ')
            end++;
        while (end < text.len && !ends_value(text.data[end], 0))
            end++;
    }
    ret->start = from;
    ret->end = end;
    return true;
}

/* "password=hunter2", "\"token\": \"x\"": a name with a secret's word before '=' or ':'. */
bool
scrub_find_assigned(const struct scrub_find *f, size_t at, struct scrub_match *ret)
{
    struct fz_span text = f->text;
    size_t end = at, start;
    while (end > f->floor && is_quoting(text.data[end - 1]))
        end--;
    for (start = end;
         start > f->floor && end - start < NAME_MAX_LEN && scrub_is_base64(text.data[start - 1]);)
        start--;
    struct fz_span name = fz_span_make(text.data + start, end - start);
    if (name.len == 0)
        return false;
    if (f->is_value) {
        /* A name at the very end has no value after it: "enter your password:". */
        size_t after = at + 1;
        while (after < text.len && is_quoting(text.data[after]))
            after++;
        *ret = (struct scrub_match){after, text.len, SCRUB_SECRET};
        return after < text.len && scrub_words_have_secret(name, SCRUB_WORDS_OF_NAME);
    }
    ret->kind = scrub_kind_of_name(name);
    return ret->kind != SCRUB_KINDS && read_value(f, at, ret);
}
