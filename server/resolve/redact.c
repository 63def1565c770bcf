#include "server/resolve/redact.h"

#include <string.h>

#include "base/attr.h"
#include "base/json/walk.h"
#include "server/scrub/find.h"
#include "server/scrub/words.h"

enum { DEPTH_MAX = 32, CHARS_MIN = 8, CHARS_MAX = 256 };

/* ---- entries of the project ------------------------------------------------------------------ */

static uint8_t
lower(uint8_t c)
{
    return c >= 'A' && c <= 'Z' ? (uint8_t)(c - 'A' + 'a') : c;
}

/* With '*' for any text. One place to return to is enough: after a later star an earlier one never has to take more. */
static bool
matches(struct fz_span pattern, const char *text)
{
    size_t p = 0, star = SIZE_MAX, len = strlen(text), back = 0;
    for (size_t t = 0; t < len;) {
        if (p < pattern.len && pattern.data[p] == '*') {
            star = p++;
            back = t;
        } else if (p < pattern.len && lower(pattern.data[p]) == lower((uint8_t)text[t])) {
            p++;
            t++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            t = ++back;
        } else {
            return false;
        }
    }
    while (p < pattern.len && pattern.data[p] == '*')
        p++;
    return p == pattern.len;
}

static bool
entry_matches(struct fz_span entry, const struct resolve_redact_subject *subject)
{
    const struct {
        const char *prefix, *text;
    } kinds[] = {{"type:", subject->type},
                 {"function:", subject->function},
                 {"image:", subject->image},
                 {"", subject->name}};
    for (size_t i = 0; i < FZ_ARRAY_LEN(kinds); i++) {
        size_t len = strlen(kinds[i].prefix);
        if (entry.len > len && memcmp(entry.data, kinds[i].prefix, len) == 0)
            return kinds[i].text && matches(fz_span_from(entry, len), kinds[i].text);
    }
    return false;
}

static bool
any_matches(const char *entries, const struct resolve_redact_subject *subject)
{
    while (entries && *entries) {
        size_t len = strcspn(entries, "\n");
        if (entry_matches(fz_span_make(entries, len), subject))
            return true;
        entries += len + (entries[len] == '\n');
    }
    return false;
}

enum resolve_redact_verdict
resolve_redact_judge(const struct resolve_redact_rules *rules,
                     const struct resolve_redact_subject *subject)
{
    if (any_matches(rules->deny, subject))
        return RESOLVE_REDACT_ALWAYS;
    if (any_matches(rules->allow, subject))
        return RESOLVE_REDACT_NEVER;
    bool hides = scrub_words_have_secret(fz_span_cstr(subject->name), SCRUB_WORDS_OF_NAME) ||
                 scrub_words_have_secret(fz_span_cstr(subject->type), SCRUB_WORDS_OF_TYPE);
    return hides ? RESOLVE_REDACT_ALWAYS : RESOLVE_REDACT_BY_VALUE;
}

/* ---- variables ------------------------------------------------------------------------------- */

struct redaction {
    const struct resolve_redact_rules *rules;
    const char *function, *image;
};

static void
hide(struct report_variable *v)
{
    v->availability = REPORT_VALUE_REDACTED;
    v->value = NULL;
    /* An implicit value's location is its value. */
    v->location = NULL;
    v->fields = NULL;
    v->n_fields = v->n_fields_cut = 0;
}

/* A character as it is printed: 'x', 120 'x', 120. 0: it is not one. */
static char
char_of(const char *value)
{
    const char *quote = value ? strchr(value, '\'') : NULL;
    unsigned number = 0;
    if (quote)
        return quote[1] && quote[2] == '\'' ? quote[1] : '\0';
    for (size_t i = 0; value && value[i]; i++) {
        if (value[i] < '0' || value[i] > '9' || i > 2)
            return '\0';
        number = number * 10 + (unsigned)(value[i] - '0');
    }
    return number >= 0x20 && number < 0x7f ? (char)number : '\0';
}

/* The elements of an array of characters, read as one text. */
static bool
spells_secret(const struct report_variable *v)
{
    char text[CHARS_MAX + 1] = "\"";
    size_t n = 1;
    for (size_t i = 0; i < v->n_fields && n < CHARS_MAX; i++) {
        const char *name = v->fields[i].name;
        char c = char_of(v->fields[i].value);
        if (!name || name[0] != '[' || !c)
            break;
        text[n++] = c;
    }
    return n > CHARS_MIN && scrub_find_in_value(fz_span_make(text, n));
}

/* True if something of it was hidden. `allowed`: an entry allows a variable that it is part of. */
static bool
redact(const struct redaction *r, struct report_variable *v, bool allowed, unsigned depth)
{
    /* Elements and pointees have no name of their own. */
    bool has_name = v->name && v->name[0] != '[' && v->name[0] != '*';
    const struct resolve_redact_subject subject = {has_name ? v->name : NULL, v->type, r->function,
                                                   r->image};
    enum resolve_redact_verdict verdict = resolve_redact_judge(r->rules, &subject);
    /* An entry that allows a structure allows its fields, but not what another entry denies. */
    if (allowed && !any_matches(r->rules->deny, &subject))
        verdict = RESOLVE_REDACT_NEVER;
    bool is_secret = verdict == RESOLVE_REDACT_ALWAYS || depth >= DEPTH_MAX;
    if (verdict == RESOLVE_REDACT_BY_VALUE && !is_secret)
        is_secret = scrub_find_in_value(fz_span_cstr(v->value)) || spells_secret(v);
    if (is_secret) {
        hide(v);
        return true;
    }
    bool any = false;
    for (size_t i = 0; i < v->n_fields; i++)
        any = redact(r, &v->fields[i], verdict == RESOLVE_REDACT_NEVER, depth + 1) || any;
    /* The text of a container may repeat that of a field. */
    if (any && v->value && strchr(v->value, '"')) {
        v->value = NULL;
        v->availability = REPORT_VALUE_PARTIAL;
    }
    return any;
}

size_t
resolve_redact(struct report_variable *variables, size_t n,
               const struct resolve_redact_rules *rules, const char *function, const char *image)
{
    const struct redaction r = {rules, function, image};
    size_t n_hidden = 0;
    for (size_t i = 0; i < n; i++)
        n_hidden += redact(&r, &variables[i], false, 0);
    return n_hidden;
}

/* ---- what a client read out of memory -------------------------------------------------------- */

static enum fz_code
redact_notable(struct report_thread *thread, struct fz_arena *arena, struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    struct json_walk walk = json_walk_start(fz_span_cstr(thread->notable_json));
    struct json_member member;
    bool any = false;
    fz_buffer_char(&out, '{');
    while (json_walk_next(&walk, &member)) {
        /* The whole entry: it may have the text in several members. */
        if (scrub_find_in_value(member.value)) {
            any = true;
            continue;
        }
        if (out.len > 1)
            fz_buffer_char(&out, ',');
        fz_buffer_char(&out, '"');
        fz_buffer_append(&out, member.key.data, member.key.len);
        fz_buffer_char(&out, '"');
        fz_buffer_char(&out, ':');
        fz_buffer_append(&out, member.value.data, member.value.len);
    }
    fz_buffer_char(&out, '}');
    enum fz_code code = fz_buffer_done(&out, err);
    if (code != FZ_OK || !any)
        return code;
    thread->notable_json = fz_arena_text(arena, fz_buffer_span(&out));
    return thread->notable_json ? FZ_OK : fz_arena_fail(arena, err);
}

enum fz_code
resolve_redact_notable(struct report *report, struct fz_arena *arena, struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < report->n_threads; i++) {
        if (report->threads[i].notable_json)
            code = redact_notable(&report->threads[i], arena, err);
    }
    return code;
}
