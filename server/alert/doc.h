/*
 * A message before it has a target: what happened, since when, how many, and what to do.
 *
 * Its texts are plain, cleaned and cut, and not escaped: each renderer escapes all of them.
 */
#ifndef ALERT_DOC_H
#define ALERT_DOC_H

#include "server/alert/alert.h"
#include "server/alert/escape.h"

enum alert_level { ALERT_INFO, ALERT_GOOD, ALERT_WARNING, ALERT_BAD };

enum {
    ALERT_HEADLINE_MAX = 150, /* Slack: header, 150 */
    ALERT_SUMMARY_MAX = 600,
    ALERT_VALUE_MAX = 120,
    ALERT_LINE_MAX = 160,
    ALERT_FIELDS_MAX = 6,
    ALERT_LINES_MAX = ALERT_FRAMES_MAX + ALERT_SYMBOLS_MAX,
    ALERT_COMMANDS_MAX = 5,
};

struct alert_doc {
    enum alert_level level;
    const char *headline, *summary, *advice; /* advice: NULL where nothing is to be done */
    struct {
        const char *name, *value;
    } fields[ALERT_FIELDS_MAX];
    size_t n_fields;
    const char *lines[ALERT_LINES_MAX]; /* frames, missing dSYMs, events: one below the other */
    size_t n_lines;
    uint64_t n_more;                          /* further ones, which `lines` does not have */
    const char *commands[ALERT_COMMANDS_MAX]; /* for a shell */
    size_t n_commands;
    const char *link, *link_name; /* NULL: none */
};

FZ_MUST_CHECK enum fz_code alert_doc_make(const struct alert_event *event, const char *server,
                                          struct fz_arena *arena, struct alert_doc *ret,
                                          struct fz_error *err);

/* The lines and the commands for alert_append_code(). */
struct alert_lines alert_doc_lines(const struct alert_doc *doc);
struct alert_lines alert_doc_commands(const struct alert_doc *doc);

#endif
