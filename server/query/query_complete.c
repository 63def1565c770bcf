/*
 * What may come at the cursor: keys, choices, or values that storage has.
 *
 * The text before the cursor is unfinished by nature, so it is not parsed but scanned for the word, the colon and the comma
 * that the cursor is after.
 */
#include <string.h>

#include "server/query/query_lex.h"

enum { KEYS_MAX = 2 * STORE_FIELDS + 3 };

/* The word that ends at the cursor. */
struct scan {
    struct fz_span text; /* up to the cursor */
    bool is_in_word;
    size_t start; /* of the key, after a "-" */
    size_t colon; /* SIZE_MAX: none yet */
    size_t value; /* after the colon, the operator, the last comma */
};

struct items {
    struct fz_arena *arena;
    struct query_item *list;
    size_t n, room;
    bool failed;
};

/* ---- where the cursor is ---- */

static void
begin_word(struct scan *scan, size_t at)
{
    uint8_t c = scan->text.data[at];
    scan->is_in_word = true;
    scan->start = scan->value = c == '-' || c == '!' ? at + 1 : at;
    scan->colon = SIZE_MAX;
}

static bool
is_operator(uint8_t c)
{
    return c == '=' || c == '<' || c == '>';
}

static struct scan
scan_text(struct fz_span text)
{
    struct scan scan = {.text = text, .colon = SIZE_MAX};
    bool is_quoted = false;
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];
        if (!is_quoted && query_is_blank(c)) {
            scan.is_in_word = false;
            continue;
        }
        if (!scan.is_in_word)
            begin_word(&scan, i);
        if (c == '\\')
            i++;
        else if (c == '"')
            is_quoted = !is_quoted;
        else if (is_quoted)
            continue;
        else if (c == ':' && scan.colon == SIZE_MAX)
            scan.colon = i, scan.value = i + 1;
        else if (scan.colon != SIZE_MAX && ((is_operator(c) && scan.value == i) || c == ','))
            scan.value = i + 1;
    }
    return scan;
}

/* The bytes from `start` on without quotes and backslashes. */
static char *
bare(struct fz_span text, size_t start, struct fz_arena *arena)
{
    struct fz_span from = fz_span_from(text, start);
    char *out = fz_arena_text(arena, from);
    size_t n = 0;
    if (!out)
        return NULL;
    for (size_t i = 0; i < from.len; i++) {
        if (from.data[i] == '\\' && i + 1 < from.len)
            out[n++] = (char)from.data[++i];
        else if (from.data[i] != '"' && from.data[i] != '\\')
            out[n++] = (char)from.data[i];
    }
    out[n] = '\0';
    return out;
}

/* ---- items ---- */

static uint8_t
lower(char c)
{
    return (uint8_t)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

static bool
begins(const char *text, const char *prefix)
{
    while (*prefix && lower(*text) == lower(*prefix)) {
        text++;
        prefix++;
    }
    return !*prefix;
}

static void
add_item(struct items *items, const char *prefix, const char *text, const char *end,
         const char *help)
{
    if (items->failed || !text || !begins(text, prefix)) {
        items->failed |= !text;
        return;
    }
    if (!items->list)
        items->list = fz_arena_array(items->arena, KEYS_MAX, sizeof(*items->list));
    char *whole = fz_arena_printf(items->arena, "%s%s", text, end);
    items->failed = !items->list || !whole || items->n == KEYS_MAX;
    if (!items->failed)
        items->list[items->n++] = (struct query_item){whole, help};
}

/* All keys, or those that has: takes. */
static void
add_keys(struct items *items, const char *prefix, bool is_has)
{
    for (size_t i = 0; i < STORE_FIELDS; i++) {
        enum store_field field = (enum store_field)i;
        const struct store_field_row *row = store_field_row(field);
        const char *end = is_has ? "" : ":";
        if (is_has && !store_field_allows(field, STORE_OP_PRESENT))
            continue;
        if (field == STORE_FIELD_TAG)
            end = ".";
        add_item(items, prefix, row->name, end, row->help);
        /* An alias only where it is what is being typed. */
        if (row->alias && *prefix && !begins(row->name, prefix) && !is_has)
            add_item(items, prefix, row->alias, end, row->help);
    }
    if (is_has)
        return;
    add_item(items, prefix, "has", ":", "any value of a key");
    add_item(items, prefix, "since", ":", "received at or after this time");
    add_item(items, prefix, "until", ":", "received before this time");
}

static void
add_choices(struct items *items, const char *prefix, const char *choices)
{
    struct fz_span choice;
    for (size_t i = 0; (choice = query_choice_at(choices, i)).len; i++)
        add_item(items, prefix, fz_arena_text(items->arena, choice), "", NULL);
}

static void
add_ages(struct items *items, const char *prefix)
{
    static const char *const ages[][2] = {{"1h", "the last hour"},
                                          {"24h", "the last day"},
                                          {"7d", "the last week"},
                                          {"30d", "the last month"}};
    for (size_t i = 0; i < FZ_ARRAY_LEN(ages); i++)
        add_item(items, prefix, ages[i][0], "", ages[i][1]);
}

/* ---- what is completed ---- */

static void
complete_key(const struct scan *scan, struct items *items, struct query_completion *ret)
{
    static const char of_tag[] = "tag.";
    if (begins(ret->prefix, of_tag)) {
        ret->what = QUERY_COMPLETES_TAGS;
        ret->field = STORE_FIELD_TAG;
        ret->start = scan->start + strlen(of_tag);
        ret->prefix += strlen(of_tag);
        return;
    }
    /* A text in quotes is not the start of a key. */
    if (scan->start < scan->text.len && !query_is_key_char(scan->text.data[scan->start]))
        return;
    ret->what = QUERY_COMPLETES_KEYS;
    add_keys(items, ret->prefix, false);
}

/* "tag:channel=b": the name, and the value after the sign. */
static enum fz_code
complete_tag(const struct scan *scan, struct query_completion *ret, struct fz_arena *arena,
             struct fz_error *err)
{
    size_t sign = scan->value;
    ret->what = QUERY_COMPLETES_VALUES;
    while (sign < scan->text.len && scan->text.data[sign] != '=' && scan->text.data[sign] != ':')
        sign++;
    if (ret->tag)
        return FZ_OK;
    if (sign == scan->text.len) {
        ret->what = QUERY_COMPLETES_TAGS;
        return FZ_OK;
    }
    ret->tag = bare(fz_span_until(scan->text, sign), scan->value, arena);
    ret->prefix = bare(scan->text, sign + 1, arena);
    ret->start = sign + 1;
    return ret->tag && ret->prefix ? FZ_OK : fz_arena_fail(arena, err);
}

static enum fz_code
complete_value(const struct scan *scan, struct items *items, struct query_completion *ret,
               struct fz_error *err)
{
    struct fz_span key = fz_span_between(scan->text, scan->start, scan->colon);
    size_t len = 0;
    while (len < key.len && query_is_key_char(key.data[len]))
        len++;
    enum store_field field = store_field_find(fz_span_until(key, len));
    ret->field = field;
    if (field == STORE_FIELD_TAG) {
        if (len < key.len && !(ret->tag = bare(key, len + 1, items->arena)))
            return fz_arena_fail(items->arena, err);
        return complete_tag(scan, ret, items->arena, err);
    }
    bool is_range = fz_span_is(key, "since") || fz_span_is(key, "until");
    if (fz_span_is(key, "has")) {
        ret->what = QUERY_COMPLETES_KEYS;
        add_keys(items, ret->prefix, true);
    } else if (is_range ||
               (field < STORE_FIELDS && store_field_row(field)->type == STORE_FIELD_TYPE_TIME)) {
        ret->what = QUERY_COMPLETES_CHOICES;
        add_ages(items, ret->prefix);
    } else if (field < STORE_FIELDS && len == key.len) {
        const char *choices = store_field_row(field)->choices;
        ret->what = choices ? QUERY_COMPLETES_CHOICES : QUERY_COMPLETES_VALUES;
        if (choices)
            add_choices(items, ret->prefix, choices);
    }
    return FZ_OK;
}

enum fz_code
query_complete(struct fz_span text, size_t cursor, struct fz_arena *arena,
               struct query_completion *ret, struct fz_error *err)
{
    struct items items = {.arena = arena};
    struct query_completion completion = {.field = STORE_FIELDS, .prefix = ""};
    *ret = completion;
    if (cursor > text.len || cursor > STORE_QUERY_TEXT)
        return FZ_OK;
    struct scan scan = scan_text(fz_span_until(text, cursor));
    bool has_key = scan.is_in_word && scan.colon != SIZE_MAX;
    completion.start = !scan.is_in_word ? cursor : has_key ? scan.value : scan.start;
    completion.prefix = bare(scan.text, completion.start, arena);
    if (!completion.prefix)
        return fz_arena_fail(arena, err);
    enum fz_code code = FZ_OK;
    if (!scan.is_in_word)
        scan.start = cursor;
    if (has_key)
        code = complete_value(&scan, &items, &completion, err);
    else
        complete_key(&scan, &items, &completion);
    if (code == FZ_OK && items.failed)
        code = fz_arena_fail(arena, err);
    completion.items = items.list;
    completion.n_items = items.n;
    if (code == FZ_OK)
        *ret = completion;
    return code;
}
