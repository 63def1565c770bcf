/*
 * Texts for the places where messages are shown: cleaned, cut, and without meaning for the target.
 *
 * Everything in a message may come from a hostile report: titles, names of functions and files,
 * versions. It must not format the text, name people, make links or break lines. Control
 * characters and those that turn the direction of text become '?', line breaks and tabs a space,
 * and bytes that are not UTF-8 U+FFFD, for every target.
 */
#ifndef ALERT_ESCAPE_H
#define ALERT_ESCAPE_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/json/write.h"

enum alert_target {
    ALERT_PLAIN, /* mail, JSON: nothing has a meaning */
    ALERT_CARD, /* TextRuns of adaptive cards, which know no Markdown; "{{", which begins what cards
                    replace, is parted by a space of no width */
    ALERT_SLACK,      /* & < > as entities (Slack, "Escaping text") */
    ALERT_MARKDOWN,   /* Mattermost, Discord: a backslash before each punctuation character; '@' is
                       followed by a space of no width, so that it names no one */
    ALERT_CODE,       /* between ``` of Markdown: a backtick becomes an apostrophe */
    ALERT_SLACK_CODE, /* the same at Slack */
};

/* Append at most `max` UTF-16 units (as the services count) of the escaped text, which ends with
 * U+2026 if it was cut. No escape is cut in half. NULL is "". */
void alert_escape(struct fz_buffer *out, enum alert_target target, const char *text, size_t max);

/* A member whose value is escaped and cut; failures are those of w->out. */
void alert_write_escaped(struct json_write *w, const char *key, enum alert_target target,
                         const char *text, size_t max);

struct alert_lines {
    const char *const *lines;
    size_t n_lines;
    uint64_t n_more; /* which `lines` does not have */
    bool is_list;    /* "and 12 more" says how many are not shown; without it, nothing does */
};
/* The first lines that fit as a whole into `max` units, between ``` and ```, and a line break; nothing for
 * no lines. */
void alert_append_code(struct fz_buffer *out, enum alert_target target,
                       const struct alert_lines *from, size_t max);

/* ALERT_PLAIN as a text in the arena; NULL for NULL, or without memory. */
const char *alert_plain(struct fz_arena *arena, const char *text, size_t max);

#endif
