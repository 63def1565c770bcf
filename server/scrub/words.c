/*
 * An identifier is split into words, and words are compared as a whole, so that "spinning",
 * "compass" and "discard" do not count: "userPIN" is user, pin. Compound words that are written
 * without a boundary ("accesstoken") are on the list of parts, which are long enough not to occur in other words.
 */
#include "server/scrub/words.h"

#include <string.h>

#include "base/attr.h"

enum { WORD_MAX = 32, WORDS_KEPT = 3, PART_MIN = 6 };

struct entry {
    const char *word;
    bool not_of_types;
};

static const struct entry entries[] = {
    {"pass", true},           {"password", false}, {"passwd", false},     {"passphrase", false},
    {"passcode", false},      {"pwd", false},      {"pin", true},         {"token", false},
    {"secret", false},        {"auth", false},     {"oauth", false},      {"authorization", false},
    {"authorisation", false}, {"bearer", false},   {"credential", false}, {"cred", false},
    {"jwt", false},           {"otp", false},      {"totp", false},       {"card", true},
    {"iban", false},          {"bic", false},      {"cvv", false},        {"cvc", false},
    {"ssn", false},           {"email", false},    {"phone", true},       {"telephone", true},
    {"cookie", false},        {"msisdn", false},
};

/* Two or three words in a row, written together. */
static const char *const compounds[] = {
    "apikey",         "privatekey", "secretkey",     "accesskey",      "encryptionkey",
    "decryptionkey",  "signingkey", "sessionkey",    "masterkey",      "authkey",
    "sharedkey",      "sessionid",  "accountnumber", "mailaddress",    "phonenumber",
    "mobilenumber",   "creditcard", "seckey",        "socialsecurity", "dateofbirth",
    "passportnumber", "userpass",   "pwdhash",
};

/* Within a word that is written without boundaries: "accesstoken", "mypassword". With two letters of it that are rare: a word
 * that lacks one of them is not searched. */
struct part {
    const char *text;
    char rare[2];
};
static const struct part parts[] = {
    {"password", "pw"},      {"passwd", "pw"},       {"passphrase", "ph"}, {"credential", "dl"},
    {"accesstoken", "ck"},   {"authtoken", "hk"},    {"apitoken", "pk"},   {"refreshtoken", "fk"},
    {"idtoken", "dk"},       {"sessiontoken", "sk"}, {"apikey", "ky"},     {"privatekey", "vk"},
    {"secretkey", "ky"},     {"clientsecret", "cl"}, {"creditcard", "cd"}, {"cardnumber", "mb"},
    {"phonenumber", "mb"},   {"emailaddress", "md"}, {"useremail", "ml"},  {"sessioncookie", "ck"},
    {"accountnumber", "mb"},
};

static bool
is_upper(uint8_t c)
{
    return c >= 'A' && c <= 'Z';
}
static bool
is_lower(uint8_t c)
{
    return c >= 'a' && c <= 'z';
}

/* The end of the word that begins at `at`: "APIKey" is API, Key; "userID" is user, ID. */
static size_t
word_end(struct fz_span text, size_t at)
{
    size_t end = at + 1;
    if (is_lower(text.data[at])) {
        while (end < text.len && is_lower(text.data[end]))
            end++;
        return end;
    }
    while (end < text.len && is_upper(text.data[end]))
        end++;
    if (end == text.len || !is_lower(text.data[end]))
        return end;
    /* The last capital begins the next word, unless it is the only one. */
    if (end - at > 1) {
        /* A plural of capitals: "PINs", "JWTs". */
        bool is_plural =
            text.data[end] == 's' && (end + 1 == text.len || (!is_lower(text.data[end + 1])));
        return is_plural ? end + 1 : end - 1;
    }
    while (end < text.len && is_lower(text.data[end]))
        end++;
    return end;
}

static uint32_t
letter_bit(char c)
{
    return UINT32_C(1) << (c & 0x1f);
}

static bool
is_one_word(const char *word, enum scrub_words_of of)
{
    size_t len = strlen(word);
    uint32_t letters = 0;
    for (size_t i = 0; i < FZ_ARRAY_LEN(entries); i++) {
        /* Nearly all words end here. */
        if (entries[i].word[0] != word[0] || entries[i].word[1] != word[1] ||
            (of == SCRUB_WORDS_OF_TYPE && entries[i].not_of_types))
            continue;
        size_t n = strlen(entries[i].word);
        bool is_plural = len == n + 1 && word[n] == 's';
        if ((len == n || is_plural) && memcmp(word, entries[i].word, n) == 0)
            return true;
    }
    if (len < PART_MIN)
        return false;
    for (size_t i = 0; i < len; i++)
        letters |= letter_bit(word[i]);
    for (size_t i = 0; i < FZ_ARRAY_LEN(parts); i++) {
        uint32_t rare = letter_bit(parts[i].rare[0]) | letter_bit(parts[i].rare[1]);
        if ((letters & rare) == rare && strstr(word, parts[i].text))
            return true;
    }
    return false;
}

static bool
is_compound(const char *joined)
{
    size_t len = strlen(joined);
    for (size_t i = 0; i < FZ_ARRAY_LEN(compounds); i++) {
        if (compounds[i][0] != joined[0] || compounds[i][1] != joined[1])
            continue;
        size_t n = strlen(compounds[i]);
        /* "apiKeys" as well. */
        bool is_plural = len == n + 1 && joined[n] == 's';
        if ((len == n || is_plural) && memcmp(joined, compounds[i], n) == 0)
            return true;
    }
    return false;
}

/* The words before, the newest last, to be read together with the next. */
struct window {
    char words[WORDS_KEPT][WORD_MAX + 1];
    size_t n;
};

static bool
add_word(struct window *w, struct fz_span word, enum scrub_words_of of)
{
    char joined[WORDS_KEPT * WORD_MAX + 1];
    if (w->n == WORDS_KEPT) {
        memmove(w->words[0], w->words[1], sizeof(w->words[0]) * (WORDS_KEPT - 1));
        w->n--;
    }
    char *to = w->words[w->n++];
    size_t n = word.len < WORD_MAX ? word.len : WORD_MAX;
    for (size_t i = 0; i < n; i++)
        to[i] = (char)(is_upper(word.data[i]) ? word.data[i] - 'A' + 'a' : word.data[i]);
    to[n] = '\0';
    if (is_one_word(to, of))
        return true;
    for (size_t first = w->n - 1; first-- > 0;) {
        size_t len = 0;
        for (size_t i = first; i < w->n; i++) {
            size_t n_word = strlen(w->words[i]);
            /* `joined` has room for all of them. */
            memcpy(joined + len, w->words[i], n_word + 1);
            len += n_word;
        }
        if (is_compound(joined))
            return true;
    }
    return false;
}

bool
scrub_words_have_secret(struct fz_span text, enum scrub_words_of of)
{
    struct window window = {.n = 0};
    for (size_t at = 0; at < text.len;) {
        uint8_t c = text.data[at];
        if (!is_upper(c) && !is_lower(c)) {
            /* Another identifier begins: "char *key, id" is no "key id". */
            if (c != '_' && c != '-' && !(c >= '0' && c <= '9'))
                window.n = 0;
            at++;
            continue;
        }
        size_t end = word_end(text, at);
        if (add_word(&window, fz_span_make(text.data + at, end - at), of))
            return true;
        at = end;
    }
    return false;
}
