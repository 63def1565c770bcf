/* From the words of a query's text to its conditions. */
#include <string.h>

#include "base/suggest.h"
#include "base/text.h"
#include "server/query/query_lex.h"

/* Keys that are not fields. */
static const char has_key[] = "has", since_key[] = "since", until_key[] = "until";

enum { SHOWN = 40 }; /* bytes of a word in a message */

static bool
is_key(struct fz_span key, const char *name)
{
    if (key.len != strlen(name))
        return false;
    for (size_t i = 0; i < key.len; i++) {
        uint8_t c = key.data[i];
        if ((uint8_t)name[i] != (c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c))
            return false;
    }
    return true;
}

static enum fz_code
fail_key(struct fz_span key, size_t offset, bool may_be_text, struct fz_error *err)
{
    struct fz_suggest suggest;
    char name[FZ_SUGGEST_ROOM] = "";
    memcpy(name, key.data, key.len < sizeof(name) ? key.len : sizeof(name) - 1);
    fz_suggest_start(&suggest, name);
    for (size_t i = 0; i < STORE_FIELDS; i++) {
        const struct store_field_row *row = store_field_row((enum store_field)i);
        fz_suggest_try(&suggest, row->name);
        if (row->alias)
            fz_suggest_try(&suggest, row->alias);
    }
    fz_suggest_try(&suggest, has_key);
    fz_suggest_try(&suggest, since_key);
    fz_suggest_try(&suggest, until_key);
    const char *quotes = may_be_text ? "; write quotes around a text that has a colon" : "";
    if (suggest.best[0])
        return fz_fail_at(err, FZ_E_MALFORMED, offset,
                          "unknown key \"%.*s\": did you mean \"%s\"?%s", SHOWN, name, suggest.best,
                          may_be_text ? " Otherwise write quotes around the text" : "");
    return fz_fail_at(err, FZ_E_MALFORMED, offset, "unknown key \"%.*s\"%s", SHOWN, name, quotes);
}

/* ---- words without a key ---- */

static enum fz_code
add_text(struct query_build *build, const struct query_word *word, struct fz_error *err)
{
    static const char *const others[] = {"AND", "OR", "NOT", "&&", "||"};
    const char *text = word->pieces[0].text;
    for (size_t i = 0; !word->is_quoted && i < FZ_ARRAY_LEN(others); i++) {
        if (strcmp(text, others[i]) == 0)
            return fz_fail_at(err, FZ_E_MALFORMED, word->offset,
                              "there is no %s: all words must match, os:17,18 matches one of them, "
                              "-os:17 is the opposite; write quotes around a text",
                              text);
    }
    struct query_input input = {.field = STORE_FIELD_TEXT,
                                .op = STORE_OP_CONTAINS,
                                .is_negated = word->is_negated,
                                .pieces = word->pieces,
                                .n_pieces = 1,
                                .offset = word->key_offset};
    return query_build_add(build, &input, err);
}

/* ---- has, since, until ---- */

static enum fz_code
add_has(struct query_build *build, const struct query_word *word, struct fz_error *err)
{
    static const char of_tag[] = "tag.";
    const struct query_piece *piece = &word->pieces[0];
    struct query_input input = {
        .op = STORE_OP_PRESENT, .is_negated = word->is_negated, .offset = piece->offset};
    if (word->n_pieces > 1)
        return fz_fail_at(err, FZ_E_MALFORMED, word->pieces[1].offset,
                          "has: one key; write a condition for each");
    if (word->op != QUERY_PLAIN || piece->any_before || piece->any_after)
        return fz_fail_at(err, FZ_E_MALFORMED, word->value_offset,
                          "has: write has:KEY, without = < > *");
    if (fz_text_has_prefix(piece->text, of_tag) && piece->text[strlen(of_tag)]) {
        input.field = STORE_FIELD_TAG;
        input.name = piece->text + strlen(of_tag);
        return query_build_add(build, &input, err);
    }
    input.field = store_field_find(fz_span_cstr(piece->text));
    if (input.field == STORE_FIELDS)
        return fail_key(fz_span_cstr(piece->text), piece->offset, false, err);
    if (input.field == STORE_FIELD_TAG)
        return fz_fail_at(err, FZ_E_MALFORMED, piece->offset, "has: which tag? write has:tag.NAME");
    return query_build_add(build, &input, err);
}

static enum fz_code
set_range(struct query_build *build, const struct query_word *word, bool is_since,
          struct fz_error *err)
{
    const char *key = is_since ? since_key : until_key;
    int64_t *time = is_since ? &build->query.since_ms : &build->query.until_ms;
    if (word->is_negated || word->op != QUERY_PLAIN || word->n_pieces > 1)
        return fz_fail_at(err, FZ_E_MALFORMED, word->offset, "%s: write %s:TIME, with nothing else",
                          key, key);
    if (*time)
        return fz_fail_at(err, FZ_E_MALFORMED, word->offset, "%s: is there twice", key);
    return query_build_time(build, key, &word->pieces[0], time, err);
}

/* ---- conditions ---- */

/* "tag:channel=beta" and "tag:channel": the name is a part of the values. */
static enum fz_code
split_tags(struct query_build *build, struct query_word *word, struct query_input *input,
           struct fz_error *err)
{
    for (size_t i = 0; i < word->n_pieces; i++) {
        struct query_piece *piece = &word->pieces[i];
        size_t len = strcspn(piece->text, "=:");
        bool has_value = piece->text[len];
        const char *name = fz_arena_text(build->arena, fz_span_make(piece->text, len));
        if (!name)
            return fz_arena_fail(build->arena, err);
        if (len == 0 || piece->any_before)
            return fz_fail_at(err, FZ_E_MALFORMED, piece->offset,
                              "tag: a tag's name is missing; write tag:NAME=VALUE");
        if (i > 0 && (!has_value || strcmp(name, input->name) != 0))
            return fz_fail_at(err, FZ_E_MALFORMED, piece->offset,
                              "tag: several values are of one tag; write tag.NAME:VALUE,VALUE");
        input->name = name;
        piece->text += len + has_value;
        if (has_value)
            continue;
        if (piece->any_after || word->n_pieces > 1 || word->op != QUERY_PLAIN)
            return fz_fail_at(err, FZ_E_MALFORMED, piece->offset,
                              "tag: a tag's value is missing; write tag:NAME=VALUE");
        input->op = STORE_OP_PRESENT;
        input->n_pieces = 0;
    }
    return FZ_OK;
}

static enum store_op
op_of(const struct query_word *word, const struct store_field_row *row)
{
    static const enum store_op ops[] = {[QUERY_EQUAL] = STORE_OP_EQUAL,
                                        [QUERY_LESS] = STORE_OP_LESS,
                                        [QUERY_AT_MOST] = STORE_OP_AT_MOST,
                                        [QUERY_GREATER] = STORE_OP_GREATER,
                                        [QUERY_AT_LEAST] = STORE_OP_AT_LEAST};
    bool has_star = false;
    for (size_t i = 0; i < word->n_pieces; i++)
        has_star |= word->pieces[i].any_before || word->pieces[i].any_after;
    if (word->op != QUERY_PLAIN)
        return ops[word->op];
    return has_star ? STORE_OP_WILDCARD : row->plain;
}

/* An age grows while the time that it means falls, so "<7d" is after a time. */
static enum store_op
of_age(enum store_op op)
{
    if (op == STORE_OP_LESS)
        return STORE_OP_GREATER;
    if (op == STORE_OP_AT_MOST)
        return STORE_OP_AT_LEAST;
    if (op == STORE_OP_GREATER)
        return STORE_OP_LESS;
    return STORE_OP_AT_MOST;
}

/* "seen:<7d" is after a time. "seen:7d" is so, too: in the last seven days. */
static enum store_op
op_of_time(const struct query_build *build, const struct query_word *word, enum store_op op)
{
    int64_t time;
    bool is_age = false;
    bool is_time =
        query_time_parse(fz_span_cstr(word->pieces[0].text), build->query.now_ms, &time, &is_age);
    return is_time && is_age && word->op != QUERY_PLAIN ? of_age(op) : op;
}

static enum fz_code
check_stars(const struct query_word *word, struct fz_error *err)
{
    for (size_t i = 0; word->op != QUERY_PLAIN && i < word->n_pieces; i++) {
        if (word->pieces[i].any_before || word->pieces[i].any_after)
            return fz_fail_at(err, FZ_E_MALFORMED, word->pieces[i].offset,
                              "after = < > a value has no *; write \\* to find a star");
    }
    return FZ_OK;
}

static enum fz_code
add_condition(struct query_build *build, struct query_word *word, struct fz_error *err)
{
    struct query_input input = {.field = store_field_find(word->key),
                                .is_negated = word->is_negated,
                                .name = word->tag,
                                .pieces = word->pieces,
                                .n_pieces = word->n_pieces,
                                .offset = word->key_offset};
    if (input.field == STORE_FIELDS)
        return fail_key(word->key, word->key_offset, true, err);
    enum fz_code code = check_stars(word, err);
    if (code != FZ_OK)
        return code;
    input.op = op_of(word, store_field_row(input.field));
    if (store_field_row(input.field)->type == STORE_FIELD_TYPE_TIME)
        input.op = op_of_time(build, word, input.op);
    if (input.field == STORE_FIELD_TAG && !word->tag)
        code = split_tags(build, word, &input, err);
    return code == FZ_OK ? query_build_add(build, &input, err) : code;
}

static enum fz_code
add_word(struct query_build *build, struct query_word *word, struct fz_error *err)
{
    if (word->key.len == 0)
        return add_text(build, word, err);
    if (is_key(word->key, has_key))
        return add_has(build, word, err);
    if (is_key(word->key, since_key))
        return set_range(build, word, true, err);
    if (is_key(word->key, until_key))
        return set_range(build, word, false, err);
    return add_condition(build, word, err);
}

enum fz_code
query_parse(struct fz_span text, int64_t now_ms, struct fz_arena *arena, struct store_query *ret,
            struct fz_error *err)
{
    struct store_query empty = {.now_ms = now_ms};
    struct query_build build;
    struct query_word word;
    struct query_lex lex;
    bool has_more = true;
    enum fz_code code = query_lex_start(&lex, text, arena, err);
    if (code == FZ_OK)
        code = query_build_start(&build, &empty, arena, err);
    while (code == FZ_OK && has_more) {
        code = query_lex_next(&lex, &word, &has_more, err);
        if (code == FZ_OK && has_more)
            code = add_word(&build, &word, err);
    }
    if (code == FZ_OK)
        *ret = build.query;
    return code;
}
