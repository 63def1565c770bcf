/*
 * The words of the query language:
 *
 *   query     words with blanks between them
 *   word      ["-" | "!"] (condition | text)
 *   condition key ":" [operator] piece {"," piece}      a key is followed by one colon; "std::sort" is a text
 *   key       letters, digits, "_"; or "tag." and a name, which may have quotes
 *   operator  "=" "<" "<=" ">" ">="
 *   piece     characters; quotes around any part of it; a backslash before any character; stars at its ends
 *   text      the same without stars and commas; "-[" or "+[" begin the name of a method, which ends after its "]"
 *
 *   -device:iPad*,"a b"  is negated, has the key "device" and the pieces "iPad" (any_after) and "a b"
 */
#include "server/query/query_lex.h"

#include <string.h>

#include "base/text.h"

bool
query_is_blank(uint8_t c)
{
    return fz_text_is_blank(c) || c == '\n';
}

bool
query_is_key_char(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool
query_is_model_comma(struct fz_span text, size_t start, size_t at)
{
    size_t end = at + 1;
    while (end < text.len && text.data[end] >= '0' && text.data[end] <= '9')
        end++;
    bool is_end = end == text.len || text.data[end] == ',' || query_is_blank(text.data[end]);
    return at > start && end > at + 1 && is_end && !memchr(text.data + start, ',', at - start);
}

/* The byte at a place of the text, 0 after its end: the text has none. */
static uint8_t
byte_at(const struct query_lex *lex, size_t at)
{
    return at < lex->text.len ? lex->text.data[at] : 0;
}

enum fz_code
query_lex_start(struct query_lex *lex, struct fz_span text, struct fz_arena *arena,
                struct fz_error *err)
{
    if (text.len > STORE_QUERY_TEXT)
        return fz_fail_at(err, FZ_E_MALFORMED, STORE_QUERY_TEXT,
                          "the query has %zu bytes, at most %d", text.len, (int)STORE_QUERY_TEXT);
    for (size_t i = 0; i < text.len;) {
        size_t len = fz_text_utf8_len(fz_span_from(text, i));
        if (len == 0 || text.data[i] == 0)
            return fz_fail_at(err, FZ_E_MALFORMED, i, "the query is not a text of UTF-8");
        i += len;
    }
    lex->text = text;
    lex->at = 0;
    lex->arena = arena;
    return FZ_OK;
}

/* ---- pieces ---- */

enum piece_kind { PIECE_OF_LIST, PIECE_OF_MODELS, PIECE_TEXT };

/* Where in its text a piece is being read. */
struct reader {
    enum piece_kind kind;
    size_t start;
    size_t n; /* bytes of the result so far */
    bool is_quoted, has_end_star;
};

/* A part in quotes. */
static enum fz_code
read_quoted(struct query_lex *lex, struct reader *reader, struct fz_error *err)
{
    size_t from = lex->at++;
    reader->is_quoted = true;
    for (; lex->at < lex->text.len && byte_at(lex, lex->at) != '"'; lex->at++) {
        /* The last byte is left for the failure below. */
        if (byte_at(lex, lex->at) == '\\' && lex->at + 1 < lex->text.len)
            lex->at++;
        lex->scratch[reader->n++] = (char)byte_at(lex, lex->at);
    }
    if (lex->at == lex->text.len)
        return fz_fail_at(err, FZ_E_MALFORMED, from, "the quote has no end: write \" after it");
    lex->at++;
    return FZ_OK;
}

static bool
ends_piece(const struct query_lex *lex, const struct reader *reader)
{
    uint8_t c = byte_at(lex, lex->at);
    if (lex->at == lex->text.len || query_is_blank(c))
        return true;
    if (c != ',' || reader->kind == PIECE_TEXT)
        return false;
    return reader->kind == PIECE_OF_LIST ||
           !query_is_model_comma(lex->text, reader->start, lex->at);
}

static enum fz_code
read_char(struct query_lex *lex, struct reader *reader, struct query_piece *piece,
          struct fz_error *err)
{
    uint8_t c = byte_at(lex, lex->at);
    if (c == '*' && reader->kind != PIECE_TEXT) {
        lex->at++;
        if (reader->n == 0 && !reader->is_quoted)
            piece->any_before = true;
        else
            piece->any_after = true;
        return FZ_OK;
    }
    if (piece->any_after)
        return fz_fail_at(err, FZ_E_MALFORMED, lex->at - 1,
                          "a * is at the start or the end of a value; write \\* to find a star");
    if (c == '"')
        return read_quoted(lex, reader, err);
    if (c == '\\' && ++lex->at == lex->text.len)
        return fz_fail_at(err, FZ_E_MALFORMED, lex->at - 1,
                          "nothing follows the \\; write \\\\ to find one");
    lex->scratch[reader->n++] = (char)byte_at(lex, lex->at++);
    return FZ_OK;
}

static enum fz_code
read_piece(struct query_lex *lex, enum piece_kind kind, struct query_piece *ret, bool *ret_quoted,
           struct fz_error *err)
{
    struct reader reader = {.kind = kind, .start = lex->at};
    struct query_piece piece = {.offset = lex->at};
    enum fz_code code = FZ_OK;
    while (code == FZ_OK && !ends_piece(lex, &reader))
        code = read_char(lex, &reader, &piece, err);
    if (code != FZ_OK)
        return code;
    if (lex->at == piece.offset)
        return fz_fail_at(err, FZ_E_MALFORMED, lex->at, "a value is missing");
    bool has_star = piece.any_before || piece.any_after;
    if (reader.n == 0 && has_star)
        return fz_fail_at(err, FZ_E_MALFORMED, piece.offset,
                          "a * alone finds everything; has:KEY finds any value");
    piece.text = fz_arena_text(lex->arena, fz_span_make(lex->scratch, reader.n));
    if (!piece.text)
        return fz_arena_fail(lex->arena, err);
    *ret = piece;
    *ret_quoted = reader.is_quoted;
    return FZ_OK;
}

/* "-[ViewController tap:]", up to the blank after it. */
static enum fz_code
read_method(struct query_lex *lex, struct query_piece *ret, struct fz_error *err)
{
    size_t from = lex->at, end = from;
    while (end < lex->text.len && lex->text.data[end] != ']')
        end++;
    if (end == lex->text.len)
        return fz_fail_at(err, FZ_E_MALFORMED, from,
                          "the method's name has no end: write ] after it, or quotes around it");
    while (end < lex->text.len && !query_is_blank(lex->text.data[end]))
        end++;
    lex->at = end;
    *ret = (struct query_piece){
        .offset = from, .text = fz_arena_text(lex->arena, fz_span_between(lex->text, from, end))};
    return ret->text ? FZ_OK : fz_arena_fail(lex->arena, err);
}

/* ---- words ---- */

/* Where the name of a tag ends: at its colon. `at` itself if it has none. */
static size_t
tag_end(const struct query_lex *lex, size_t at)
{
    size_t i = at;
    bool is_quoted = false;
    for (; i < lex->text.len; i++) {
        uint8_t c = lex->text.data[i];
        if (c == '"')
            is_quoted = !is_quoted;
        else if (c == '\\')
            i++;
        else if (!is_quoted && (c == ':' || query_is_blank(c)))
            break;
    }
    return byte_at(lex, i) == ':' && !is_quoted ? i : at;
}

/* Where the word's key ends, at its colon; `at` if it has no key. */
static size_t
key_end(const struct query_lex *lex, size_t at)
{
    size_t end = at;
    while (query_is_key_char(byte_at(lex, end)))
        end++;
    if (end == at)
        return at;
    if (byte_at(lex, end) == '.' &&
        store_field_find(fz_span_between(lex->text, at, end)) == STORE_FIELD_TAG) {
        size_t colon = tag_end(lex, end + 1);
        return colon == end + 1 ? at : colon;
    }
    return byte_at(lex, end) == ':' && byte_at(lex, end + 1) != ':' ? end : at;
}

/* The key before the colon at `end`, and a tag's name. */
static enum fz_code
read_key(struct query_lex *lex, size_t end, struct query_word *word, struct fz_error *err)
{
    size_t at = lex->at;
    while (query_is_key_char(byte_at(lex, at)))
        at++;
    word->key = fz_span_between(lex->text, lex->at, at);
    if (at < end) {
        /* The name is a piece of a text that ends before the colon. */
        struct query_piece name;
        bool is_quoted;
        struct fz_span whole = lex->text;
        lex->text = fz_span_until(whole, end);
        lex->at = at + 1;
        enum fz_code code = read_piece(lex, PIECE_TEXT, &name, &is_quoted, err);
        lex->text = whole;
        if (code != FZ_OK)
            return code;
        if (!*name.text)
            return fz_fail_at(err, FZ_E_MALFORMED, name.offset, "tag: the tag's name is empty");
        word->tag = name.text;
    }
    lex->at = end + 1;
    word->value_offset = lex->at;
    return FZ_OK;
}

static void
read_operator(struct query_lex *lex, struct query_word *word)
{
    uint8_t c = byte_at(lex, lex->at), next = byte_at(lex, lex->at + 1);
    word->op = QUERY_PLAIN;
    if (c == '=')
        word->op = QUERY_EQUAL;
    else if (c == '<')
        word->op = next == '=' ? QUERY_AT_MOST : QUERY_LESS;
    else if (c == '>')
        word->op = next == '=' ? QUERY_AT_LEAST : QUERY_GREATER;
    if (word->op == QUERY_AT_MOST || word->op == QUERY_AT_LEAST)
        lex->at += 2;
    else if (word->op != QUERY_PLAIN)
        lex->at++;
}

static enum fz_code
read_pieces(struct query_lex *lex, struct query_word *word, struct fz_error *err)
{
    bool is_quoted;
    bool is_device = store_field_find(word->key) == STORE_FIELD_DEVICE;
    for (;;) {
        enum fz_code code = read_piece(lex, is_device ? PIECE_OF_MODELS : PIECE_OF_LIST,
                                       &word->pieces[word->n_pieces], &is_quoted, err);
        if (code != FZ_OK)
            return code;
        word->n_pieces++;
        if (byte_at(lex, lex->at) != ',' || word->n_pieces == FZ_ARRAY_LEN(word->pieces))
            return FZ_OK;
        lex->at++;
    }
}

enum fz_code
query_lex_next(struct query_lex *lex, struct query_word *ret, bool *ret_more, struct fz_error *err)
{
    while (lex->at < lex->text.len && query_is_blank(lex->text.data[lex->at]))
        lex->at++;
    *ret_more = lex->at < lex->text.len;
    if (!*ret_more)
        return FZ_OK;
    ret->offset = lex->at;
    ret->key = (struct fz_span){NULL, 0};
    ret->tag = NULL;
    ret->n_pieces = 0;
    ret->is_quoted = false;
    ret->op = QUERY_PLAIN;
    uint8_t c = byte_at(lex, lex->at), next = byte_at(lex, lex->at + 1);
    bool is_method = (c == '-' || c == '+') && next == '[';
    ret->is_negated = (c == '-' || c == '!') && !is_method && next && !query_is_blank(next);
    lex->at += ret->is_negated;
    ret->key_offset = lex->at;
    if (ret->is_negated) {
        c = next;
        next = byte_at(lex, lex->at + 1);
        is_method = (c == '-' || c == '+') && next == '[';
    }
    size_t colon = is_method ? lex->at : key_end(lex, lex->at);
    if (colon == lex->at) {
        ret->n_pieces = 1;
        return is_method ? read_method(lex, &ret->pieces[0], err)
                         : read_piece(lex, PIECE_TEXT, &ret->pieces[0], &ret->is_quoted, err);
    }
    enum fz_code code = read_key(lex, colon, ret, err);
    if (code != FZ_OK)
        return code;
    read_operator(lex, ret);
    return read_pieces(lex, ret, err);
}
