/*
 * The rules of a project: kinds that are turned off and on, and patterns.
 *
 *   off:phone
 *   text:order-*
 *   key:*_number
 *   keep:session_id
 */
#include <string.h>

#include "base/attr.h"
#include "server/scrub/find.h"

enum { LITERAL_MIN = 3, STARS_MAX = 2 };

const char *const scrub_kind_names[SCRUB_KINDS] = {
    [SCRUB_SECRET] = "secret",   [SCRUB_TOKEN] = "token",   [SCRUB_CARD] = "card",
    [SCRUB_IBAN] = "iban",       [SCRUB_EMAIL] = "email",   [SCRUB_PHONE] = "phone",
    [SCRUB_USER] = "user",       [SCRUB_DEVICE] = "device", [SCRUB_IP] = "ip",
    [SCRUB_USER_ID] = "user_id", [SCRUB_CUSTOM] = "custom",
};

struct scrub_rules
scrub_rules_default(void)
{
    return (struct scrub_rules){.kinds = ((1u << SCRUB_KINDS) - 1) & ~(1u << SCRUB_USER_ID)};
}

struct parse {
    struct scrub_rules *rules;
    struct fz_span *text, *key, *keep; /* with room for all lines */
    size_t line;
};

static enum fz_code
turn(struct parse *p, struct fz_span name, bool on, struct fz_error *err)
{
    for (int kind = 0; kind < SCRUB_KINDS; kind++) {
        if (kind == SCRUB_CUSTOM || !fz_span_is(name, scrub_kind_names[kind]))
            continue;
        p->rules->kinds = on ? p->rules->kinds | (1u << kind) : p->rules->kinds & ~(1u << kind);
        return FZ_OK;
    }
    return fz_fail(
        err, FZ_E_MALFORMED,
        "scrub_rules: entry %zu: no such kind; there are secret, token, card, iban, email, "
        "phone, user, device, ip, user_id",
        p->line);
}

/* The part before the first star is what a text is searched for. */
static enum fz_code
check_text(const struct parse *p, struct fz_span pattern, struct fz_error *err)
{
    size_t n_stars = 0, first = 0;
    for (size_t i = 0; i < pattern.len; i++) {
        n_stars += pattern.data[i] == '*';
        first += n_stars == 0;
    }
    if (first < LITERAL_MIN || n_stars > STARS_MAX)
        return fz_fail(
            err, FZ_E_MALFORMED,
            "scrub_rules: entry %zu: a pattern of texts begins with %d characters that are no "
            "'*', and has at most %d of those",
            p->line, (int)LITERAL_MIN, (int)STARS_MAX);
    return FZ_OK;
}

static enum fz_code
parse_line(struct parse *p, struct fz_span line, struct fz_error *err)
{
    static const char *const words[] = {"off:", "on:", "text:", "key:", "keep:"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(words); i++) {
        size_t len = strlen(words[i]);
        if (line.len <= len || memcmp(line.data, words[i], len) != 0)
            continue;
        struct fz_span rest = fz_span_from(line, len);
        if (i < 2)
            return turn(p, rest, i == 1, err);
        if (i == 3)
            p->key[p->rules->n_key++] = rest;
        if (i == 4)
            p->keep[p->rules->n_keep++] = rest;
        if (i != 2)
            return FZ_OK;
        p->text[p->rules->n_text++] = rest;
        return check_text(p, rest, err);
    }
    return fz_fail(
        err, FZ_E_MALFORMED,
        "scrub_rules: entry %zu: must be off:KIND, on:KIND, text:PATTERN, key:PATTERN or "
        "keep:PATTERN",
        p->line);
}

enum fz_code
scrub_rules_parse(const char *text, struct fz_arena *arena, struct scrub_rules *ret,
                  struct fz_error *err)
{
    struct scrub_rules rules = scrub_rules_default();
    struct parse parse = {.rules = &rules,
                          .text = fz_arena_array(arena, SCRUB_RULES_MAX, sizeof(struct fz_span)),
                          .key = fz_arena_array(arena, SCRUB_RULES_MAX, sizeof(struct fz_span)),
                          .keep = fz_arena_array(arena, SCRUB_RULES_MAX, sizeof(struct fz_span))};
    if (!parse.text || !parse.key || !parse.keep)
        return fz_arena_fail(arena, err);
    enum fz_code code = FZ_OK;
    while (code == FZ_OK && text && *text) {
        size_t len = strcspn(text, "\n");
        if (++parse.line > SCRUB_RULES_MAX || len > SCRUB_RULE_BYTES)
            return fz_fail(err, FZ_E_MALFORMED, "scrub_rules: at most %d entries of %d bytes",
                           (int)SCRUB_RULES_MAX, (int)SCRUB_RULE_BYTES);
        if (len)
            code = parse_line(&parse, fz_span_make(text, len), err);
        text += len + (text[len] == '\n');
    }
    rules.text = parse.text;
    rules.key = parse.key;
    rules.keep = parse.keep;
    if (code == FZ_OK)
        *ret = rules;
    return code;
}
