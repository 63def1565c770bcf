/* Names of people: addresses of mail, folders of users, devices; and names of values. */
#include <string.h>

#include "base/attr.h"
#include "base/platform.h"
#include "server/scrub/find.h"
#include "server/scrub/words.h"

enum { LOCAL_MAX = 64, NAME_MAX_LEN = 64, OWNER_WORDS = 3, KEY_MAX = 40 };

/* ---- mail ------------------------------------------------------------------------------------ */

static bool
is_local_part(uint8_t c)
{
    return scrub_is_digit(c) || scrub_is_letter(c) || c >= 0x80 ||
           (c && strchr(".!#$%&'*+/=?^_`{|}~-", c));
}

/* What of these ends an address before it in prose: "user=anna@example.com". */
static bool
is_surely_local(uint8_t c)
{
    return is_local_part(c) && !strchr("=/'?&`{|}^*#$", c);
}

/* "icon@2x.png" */
static bool
is_scale(struct fz_span text, size_t at)
{
    return text.len - at > 3 && text.data[at + 1] >= '1' && text.data[at + 1] <= '3' &&
           text.data[at + 2] == 'x' && (text.data[at + 3] == '.' || text.data[at + 3] == '~');
}

/* The text around an '@': a part before it, a name with a dot after it. */
bool
scrub_find_email(const struct scrub_find *f, size_t at, struct scrub_match *ret)
{
    struct fz_span text = f->text;
    size_t n_letters = 0, last_dot = 0, end = at + 1, start = at;
    bool is_address = false;
    if (at == f->floor || !is_local_part(text.data[at - 1]) || (!f->is_value && is_scale(text, at)))
        return false;
    for (size_t i = at + 1; i < text.len; i++) {
        uint8_t c = text.data[i];
        if (c == '.' && i > at + 1) {
            last_dot = i;
            n_letters = 0;
        } else if (scrub_is_letter(c) || scrub_is_digit(c) || c == '-') {
            n_letters += scrub_is_letter(c);
            is_address = is_address || (last_dot && n_letters >= 2);
            end = i + 1;
        } else {
            break;
        }
    }
    while (start > f->floor && at - start < LOCAL_MAX && is_surely_local(text.data[start - 1]))
        start--;
    *ret = (struct scrub_match){start, end, SCRUB_EMAIL};
    return is_address && (f->is_value || start < at);
}

/* ---- folders --------------------------------------------------------------------------------- */

static bool
begins(struct fz_span text, size_t at, const char *word)
{
    size_t len = strlen(word);
    return text.len - at >= len && memcmp(text.data + at, word, len) == 0;
}

/* "/Users/NAME", "/home/NAME": the name alone. */
bool
scrub_find_path(const struct scrub_find *f, size_t at, struct scrub_match *ret)
{
    static const char *const nobody[] = {"Shared", "Guest", "ci", "runner", "root", "[user]"};
    struct fz_span text = f->text;
    size_t from = at;
    if (begins(text, at, "/Users/"))
        from += strlen("/Users/");
    /* In the address of a page it is a part of the site. */
    else if (begins(text, at, "/home/") && (at == 0 || !(scrub_is_letter(text.data[at - 1]) ||
                                                         scrub_is_digit(text.data[at - 1]))))
        from += strlen("/home/");
    else
        return false;
    size_t end = from;
    while (end < text.len && end - from < NAME_MAX_LEN && text.data[end] > ' ' &&
           !strchr("/\"':;,<>()", text.data[end]))
        end++;
    struct fz_span name = fz_span_make(text.data + from, end - from);
    for (size_t i = 0; i < FZ_ARRAY_LEN(nobody); i++) {
        if (fz_span_is(name, nobody[i]))
            return false;
    }
    *ret = (struct scrub_match){from, end, SCRUB_USER};
    return name.len > 0;
}

/* ---- devices --------------------------------------------------------------------------------- */

static size_t
product_at(struct fz_span text, size_t at)
{
    static const char *const products[] = {"iPhone", "iPad", "iPod",        "MacBook",
                                           "iMac",   "Mac",  "Apple Watch", "Apple TV"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(products); i++) {
        if (begins(text, at, products[i]))
            return strlen(products[i]);
    }
    return 0;
}

static bool
is_of_name(uint8_t c)
{
    return scrub_is_letter(c) || c >= 0x80 || c == '-' || c == '.';
}

/* The name that ends at `end`: its last word, and those before it with a capital. */
static size_t
owner_start(const struct scrub_find *f, size_t end)
{
    size_t start = end;
    for (size_t n = 0; n < OWNER_WORDS; n++) {
        size_t from = n ? start - 1 : start, word = from;
        if (n && (start <= f->floor + 1 || f->text.data[start - 1] != ' '))
            break;
        while (word > f->floor && from - word < NAME_MAX_LEN && is_of_name(f->text.data[word - 1]))
            word--;
        uint8_t first = word < f->text.len ? f->text.data[word] : 0;
        if (word == from || (n && first >= 'a' && first <= 'z'))
            break;
        start = word;
    }
    return start;
}

/* "Anna's iPhone", also with a curly apostrophe; "Annas-MacBook-Pro.local". */
bool
scrub_find_device(const struct scrub_find *f, size_t at, struct scrub_match *ret)
{
    static const char curly[] = "\xe2\x80\x99";
    struct fz_span text = f->text;
    size_t sign = text.data[at] == '\'' ? 1 : begins(text, at, curly) ? strlen(curly) : 0;
    if (sign && begins(text, at + sign, "s ")) {
        size_t from = at + sign + 2, len = from < text.len ? product_at(text, from) : 0;
        *ret = (struct scrub_match){owner_start(f, at), from + len, SCRUB_DEVICE};
        return len > 0 && ret->start < at;
    }
    if (text.data[at] != '-' || at + 1 >= text.len || at == f->floor || text.data[at - 1] != 's' ||
        !product_at(text, at + 1))
        return false;
    size_t start = at, end = at + 1;
    while (start > f->floor && at - start < NAME_MAX_LEN && is_of_name(text.data[start - 1]))
        start--;
    while (end < text.len && (is_of_name(text.data[end]) || scrub_is_digit(text.data[end])))
        end++;
    *ret = (struct scrub_match){start, end, SCRUB_DEVICE};
    return text.data[start] >= 'A' && text.data[start] <= 'Z';
}

/* ---- names of values ------------------------------------------------------------------------- */

struct named {
    const char *name;
    enum scrub_kind kind;
    bool is_part; /* anywhere in the name */
};

enum scrub_kind
scrub_kind_of_name(struct fz_span name)
{
    /* Without what separates words, in lower case. */
    static const struct named rows[] = {
        {"ip", SCRUB_IP, false},
        {"ipaddress", SCRUB_IP, true},
        {"clientip", SCRUB_IP, true},
        {"userip", SCRUB_IP, true},
        {"remoteaddr", SCRUB_IP, true},
        {"devicename", SCRUB_DEVICE, true},
        {"hostname", SCRUB_DEVICE, false},
        {"servername", SCRUB_DEVICE, false},
        {"computername", SCRUB_DEVICE, false},
        {"username", SCRUB_USER, true},
        {"firstname", SCRUB_USER, true},
        {"lastname", SCRUB_USER, true},
        {"fullname", SCRUB_USER, true},
        {"nickname", SCRUB_USER, true},
        {"displayname", SCRUB_USER, false},
    };
    static const struct named words[] = {
        {"mail", SCRUB_EMAIL, true},         {"phone", SCRUB_PHONE, true},
        {"mobilenumber", SCRUB_PHONE, true}, {"msisdn", SCRUB_PHONE, true},
        {"card", SCRUB_CARD, true},          {"iban", SCRUB_IBAN, true},
    };
    char plain[KEY_MAX + 1];
    size_t n = 0;
    for (size_t i = 0; i < name.len && n < KEY_MAX; i++) {
        uint8_t c = name.data[i];
        if (scrub_is_letter(c))
            plain[n++] = (char)(c | 0x20);
    }
    plain[n] = '\0';
    /* All of them have one of these. */
    bool may_be = strstr(plain, "ip") || strstr(plain, "name") || strstr(plain, "addr");
    for (size_t i = 0; may_be && i < FZ_ARRAY_LEN(rows); i++) {
        if (rows[i].is_part ? strstr(plain, rows[i].name) != NULL
                            : strcmp(plain, rows[i].name) == 0)
            return rows[i].kind;
    }
    if (!scrub_words_have_secret(name, SCRUB_WORDS_OF_NAME))
        return SCRUB_KINDS;
    for (size_t i = 0; i < FZ_ARRAY_LEN(words); i++) {
        if (strstr(plain, words[i].name))
            return words[i].kind;
    }
    return SCRUB_SECRET;
}
