/*
 * The words of a query's text, and the pieces that a word consists of.
 *
 * Private to server/query.
 */
#ifndef QUERY_LEX_H
#define QUERY_LEX_H

#include "server/query/query_build.h"

enum query_operator {
    QUERY_PLAIN,
    QUERY_EQUAL,
    QUERY_LESS,
    QUERY_AT_MOST,
    QUERY_GREATER,
    QUERY_AT_LEAST
};

/* One word: "-version:>=4.2" or "selector". */
struct query_word {
    size_t offset;       /* of its first byte, which may be its "-" */
    size_t key_offset;   /* after the "-" */
    size_t value_offset; /* after the ":" */
    bool is_negated;
    struct fz_span key; /* "version", "tag"; empty: a word without a key */
    const char *tag;    /* what follows "tag.", NULL without it */
    bool is_quoted;     /* a word without a key has quotes in it */
    enum query_operator op;
    struct query_piece pieces[STORE_QUERY_VALUES + 1]; /* one more than is allowed */
    size_t n_pieces;
};

struct query_lex {
    struct fz_span text;
    size_t at;
    struct fz_arena *arena;
    char scratch[STORE_QUERY_TEXT + 1];
};

/* Begin with a text of at most STORE_QUERY_TEXT bytes of UTF-8 without NUL. MALFORMED: it is not. */
FZ_MUST_CHECK enum fz_code query_lex_start(struct query_lex *lex, struct fz_span text,
                                           struct fz_arena *arena, struct fz_error *err);
/* The next word; *ret_more is false at the end. MALFORMED: a quote that does not end, a star inside of a value. */
FZ_MUST_CHECK enum fz_code query_lex_next(struct query_lex *lex, struct query_word *ret,
                                          bool *ret_more, struct fz_error *err);

/* What separates words. */
bool query_is_blank(uint8_t c);
/* A letter, digit or '_': what a key consists of. */
bool query_is_key_char(uint8_t c);
/* Does a comma at `at` belong to the model of a device ("iPhone15,2"), whose name begins at `start`? */
bool query_is_model_comma(struct fz_span text, size_t start, size_t at);

#endif
