/*
 * What looks like a secret or like personal data in a text: one place after the other.
 *
 * Each pattern is one function over the text from one place on. Places within a longer run of the
 * same characters are not tried again, so the time is linear in the text (128 bytes as a rule).
 */
#ifndef SCRUB_FIND_H
#define SCRUB_FIND_H

#include "server/scrub/scrub.h"

struct scrub_match {
    size_t start, end;
    enum scrub_kind kind;
};

struct scrub_find {
    struct fz_span text;
    bool
        is_value; /* of a variable, as a debugger prints it: hides more, since all of it is hidden */
    bool keeps_runs; /* long runs of digits and letters are no tokens here: the value of an id */
    unsigned kinds;  /* 1 << enum scrub_kind */
    size_t pos;      /* the next place to look at */
    size_t floor;    /* the end of the last match: nothing before belongs to the next one */
    size_t run_end, digits_end; /* of runs that were looked at */
    bool is_quoted;             /* of a value: a quote has come */
};

/* All kinds in prose. */
struct scrub_find scrub_find_start(struct fz_span text, unsigned kinds);
/* False at the end. */
bool scrub_find_next(struct scrub_find *f, struct scrub_match *ret);
/* Does a variable's value have a part that looks like a secret? `text` as a debugger prints it:
 * "0x16f0 \"4111 1111 1111 1111\"", "7". */
bool scrub_find_in_value(struct fz_span text);

/* What a value of this name is; SCRUB_KINDS: nothing that is hidden. */
enum scrub_kind scrub_kind_of_name(struct fz_span name);

/* ---- the patterns, at one place (numbers.c, tokens.c, names.c) -------------------------------- */

static inline bool
scrub_is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

static inline bool
scrub_is_letter(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static inline bool
scrub_is_base64(uint8_t c)
{
    return scrub_is_digit(c) || scrub_is_letter(c) || c == '+' || c == '/' || c == '-' || c == '_';
}

bool scrub_find_card(struct scrub_find *f, size_t at, struct scrub_match *ret);
bool scrub_find_phone(const struct scrub_find *f, size_t at, struct scrub_match *ret);
bool scrub_find_iban(const struct scrub_find *f, size_t at, struct scrub_match *ret);
bool scrub_find_run(struct scrub_find *f, size_t at, struct scrub_match *ret);
bool scrub_find_known(const struct scrub_find *f, size_t at, struct scrub_match *ret);
bool scrub_find_assigned(const struct scrub_find *f, size_t at, struct scrub_match *ret);
bool scrub_find_email(const struct scrub_find *f, size_t at, struct scrub_match *ret);
bool scrub_find_path(const struct scrub_find *f, size_t at, struct scrub_match *ret);
bool scrub_find_device(const struct scrub_find *f, size_t at, struct scrub_match *ret);

#endif
