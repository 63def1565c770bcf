/*
 * A project's rules: one on each line, of words and patterns.
 *
 *   # code of ours in a checkout, and code that is not ours
 *   own path "?*Pods/OurKit/?*"
 *   not-own image Analytics*
 *   not-own module ThirdParty
 *   skip function Shop.Log.*
 *   group-by function Shop.Database.run(_:)
 *   fingerprint use
 *
 * The last rule that matches a frame decides. The built-in rules come before all of them.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "server/group/parts.h"

static const char VERSION[] = "apple-1";

/* ---- matching ---- */

bool
group_matches(const char *pattern, const char *text)
{
    /* The last star takes one byte more each time what follows it does not fit: earlier stars need
     * not be tried again. */
    const char *star = NULL, *taken = NULL;
    while (*text) {
        if (*pattern == '*') {
            star = ++pattern;
            taken = text;
        } else if (*pattern == '?' || (*pattern && *pattern == *text)) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star;
            text = ++taken;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}

static bool
fits(const struct group_rule *rule, const struct group_stack *stack,
     const struct group_frame *frame)
{
    const struct group_image *image = frame->image >= 0 ? &stack->images[frame->image] : NULL;
    const char *texts[2] = {NULL, NULL};
    switch (rule->subject) {
    case GROUP_IMAGE:
        texts[0] = image ? image->name : NULL;
        break;
    case GROUP_PATH: /* of the source, or of the image */
        texts[0] = frame->file;
        texts[1] = image ? image->path : NULL;
        break;
    case GROUP_MODULE:
        texts[0] = frame->module;
        break;
    case GROUP_FUNCTION:
        texts[0] = frame->name;
        break;
    }
    return (texts[0] && group_matches(rule->pattern, texts[0])) ||
           (texts[1] && group_matches(rule->pattern, texts[1]));
}

const struct group_rule *
group_rules_find(const struct group_rules *rules, const struct group_stack *stack,
                 const struct group_frame *frame, unsigned effects)
{
    for (size_t i = rules->n; i > 0; i--) {
        const struct group_rule *rule = &rules->list[i - 1];
        if ((effects >> rule->effect & 1) && fits(rule, stack, frame))
            return rule;
    }
    return NULL;
}

/* ---- reading ---- */

struct rules_reader {
    struct fz_span text;
    size_t at, line_start, line; /* line: from 1 */
    struct fz_arena *arena;
    struct group_rules *to;
};

static enum fz_code
complain(const struct rules_reader *r, size_t at, struct fz_error *err, const char *what)
{
    /* Columns in characters, as editors count them. */
    size_t column = 1;
    for (size_t i = r->line_start; i < at; i++)
        column += (r->text.data[i] & 0xc0) != 0x80;
    return fz_fail_at(err, FZ_E_MALFORMED, at, "rules, line %zu, column %zu: %s", r->line, column,
                      what);
}

static int
peek(const struct rules_reader *r)
{
    return r->at < r->text.len ? r->text.data[r->at] : '\n';
}

static void
skip_blanks(struct rules_reader *r)
{
    while (r->at < r->text.len && fz_text_is_blank((uint8_t)peek(r)))
        r->at++;
}

/* Up to a blank or the end of the line. */
static struct fz_span
read_word(struct rules_reader *r)
{
    skip_blanks(r);
    size_t start = r->at;
    while (peek(r) != '\n' && !fz_text_is_blank((uint8_t)peek(r)))
        r->at++;
    return fz_span_between(r->text, start, r->at);
}

/* A word, or a text in quotes with \" and \\. */
static enum fz_code
read_pattern(struct rules_reader *r, const char **ret, struct fz_error *err)
{
    skip_blanks(r);
    size_t start = r->at;
    if (peek(r) == '\n')
        return complain(r, start, err, "a pattern is missing, such as Shop.Log.* or \"*/Pods/*\"");
    if (peek(r) != '"') {
        struct fz_span word = read_word(r);
        *ret = fz_arena_text(r->arena, word);
        if (word.len > GROUP_TEXT_MAX)
            return complain(r, start, err, "the pattern is longer than 1024 bytes");
        return *ret ? FZ_OK : fz_arena_fail(r->arena, err);
    }
    char *to = fz_arena_alloc(r->arena, GROUP_TEXT_MAX + 1);
    if (!to)
        return fz_arena_fail(r->arena, err);
    size_t n = 0;
    for (r->at++; peek(r) != '"'; r->at++) {
        if (peek(r) == '\\' && r->at + 1 < r->text.len &&
            (r->text.data[r->at + 1] == '"' || r->text.data[r->at + 1] == '\\'))
            r->at++;
        if (peek(r) == '\n')
            return complain(r, start, err, "the quoted pattern has no end on this line");
        if (n == GROUP_TEXT_MAX)
            return complain(r, start, err, "the pattern is longer than 1024 bytes");
        to[n++] = (char)peek(r);
    }
    r->at++;
    if (n == 0)
        return complain(r, start, err, "the pattern is empty");
    *ret = to;
    return FZ_OK;
}

static enum fz_code
end_of_line(struct rules_reader *r, struct fz_error *err)
{
    skip_blanks(r);
    if (peek(r) == '\n' || peek(r) == '#')
        return FZ_OK;
    return complain(r, r->at, err, "more than one pattern; put it into quotes if it has blanks");
}

static enum fz_code
read_fingerprint(struct rules_reader *r, struct fz_error *err)
{
    skip_blanks(r);
    size_t start = r->at;
    struct fz_span word = read_word(r);
    if (!fz_span_is(word, "use") && !fz_span_is(word, "ignore"))
        return complain(r, start, err, "'fingerprint' is followed by 'use' or 'ignore'");
    r->to->use_fingerprint = fz_span_is(word, "use");
    return end_of_line(r, err);
}

static enum fz_code
add_rule(struct rules_reader *r, enum group_effect effect, struct fz_error *err)
{
    static const char *const subjects[] = {[GROUP_IMAGE] = "image",
                                           [GROUP_PATH] = "path",
                                           [GROUP_MODULE] = "module",
                                           [GROUP_FUNCTION] = "function"};
    skip_blanks(r);
    size_t start = r->at, subject = 0;
    struct fz_span word = read_word(r);
    while (subject < FZ_ARRAY_LEN(subjects) && !fz_span_is(word, subjects[subject]))
        subject++;
    if (subject == FZ_ARRAY_LEN(subjects))
        return complain(r, start, err, "expected 'image', 'path', 'module' or 'function'");
    if (effect == GROUP_BY && subject != GROUP_MODULE && subject != GROUP_FUNCTION)
        return complain(r, start, err, "'group-by' is followed by 'module' or 'function'");
    if (r->to->n == GROUP_RULES_MAX)
        return fz_fail_at(err, FZ_E_LIMIT, start, "rules, line %zu: more than %d rules", r->line,
                          GROUP_RULES_MAX);
    struct group_rule rule = {.effect = effect, .subject = (enum group_subject)subject};
    enum fz_code code = read_pattern(r, &rule.pattern, err);
    if (code == FZ_OK)
        code = end_of_line(r, err);
    if (code != FZ_OK)
        return code;
    rule.name = fz_arena_printf(r->arena, "project rule, line %zu", r->line);
    if (!rule.name)
        return fz_arena_fail(r->arena, err);
    r->to->list[r->to->n++] = rule;
    return FZ_OK;
}

static enum fz_code
read_line(struct rules_reader *r, struct fz_error *err)
{
    static const char *const effects[] = {[GROUP_OWN] = "own",
                                          [GROUP_NOT_OWN] = "not-own",
                                          [GROUP_SKIP] = "skip",
                                          [GROUP_BY] = "group-by"};
    skip_blanks(r);
    if (peek(r) == '\n' || peek(r) == '#')
        return FZ_OK;
    size_t start = r->at;
    struct fz_span word = read_word(r);
    if (fz_span_is(word, "fingerprint"))
        return read_fingerprint(r, err);
    for (size_t i = 0; i < FZ_ARRAY_LEN(effects); i++) {
        if (fz_span_is(word, effects[i]))
            return add_rule(r, (enum group_effect)i, err);
    }
    return complain(r, start, err,
                    "expected 'own', 'not-own', 'skip', 'group-by' or 'fingerprint'");
}

static size_t
count_lines(struct fz_span text)
{
    size_t n = 1;
    for (size_t i = 0; i < text.len; i++)
        n += text.data[i] == '\n';
    return n;
}

struct group_rules
group_rules_builtin(void)
{
    struct group_rules rules = {.n = 0};
    snprintf(rules.version, sizeof(rules.version), "%s", VERSION);
    return rules;
}

enum fz_code
group_rules_parse(struct fz_span text, struct fz_arena *arena, struct group_rules *ret,
                  struct fz_error *err)
{
    struct group_rules rules = group_rules_builtin();
    struct rules_reader r = {.text = text, .line = 1, .arena = arena, .to = &rules};
    if (text.len > GROUP_RULES_BYTES)
        return fz_fail(err, FZ_E_LIMIT, "rules: %zu bytes, at most %d", text.len,
                       GROUP_RULES_BYTES);
    if (!fz_text_is_utf8(text) || (text.len && memchr(text.data, 0, text.len)))
        return fz_fail_at(err, FZ_E_MALFORMED, 0, "rules: not UTF-8 text");
    size_t room = count_lines(text);
    rules.list =
        fz_arena_array(arena, room < GROUP_RULES_MAX ? room : GROUP_RULES_MAX, sizeof(*rules.list));
    if (!rules.list)
        return fz_arena_fail(arena, err);
    enum fz_code code = FZ_OK;
    while (code == FZ_OK && r.at < text.len) {
        r.line_start = r.at;
        code = read_line(&r, err);
        while (r.at < text.len && text.data[r.at] != '\n')
            r.at++; /* what a comment says */
        r.at += r.at < text.len;
        r.line++;
    }
    if (code != FZ_OK)
        return code;
    if (rules.n || rules.use_fingerprint) {
        struct fz_sha256 hash = fz_sha256_make();
        uint8_t digest[FZ_SHA256_BYTES];
        char hex[9];
        fz_sha256_add(&hash, text);
        fz_sha256_end(&hash, digest);
        fz_text_hex(fz_span_make(digest, 4), hex);
        snprintf(rules.version, sizeof(rules.version), "%s+%s", VERSION, hex);
    }
    *ret = rules;
    return FZ_OK;
}
