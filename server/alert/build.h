/*
 * Making a document (doc.h): its parts, and what each kind of event says.
 */
#ifndef ALERT_BUILD_H
#define ALERT_BUILD_H

#include "server/alert/doc.h"

struct alert_build {
    const struct alert_event *event;
    const char *server;
    struct fz_arena *arena;
    struct alert_doc *doc;
    bool failed; /* the arena is exhausted */
};

/* A formatted text of at most `max` units, cleaned. "" after a failure. */
const char *alert_build_text(struct alert_build *b, size_t max, const char *fmt, ...)
    FZ_PRINTF(3, 4);
/* NULL and "" are left out. */
void alert_build_field(struct alert_build *b, const char *name, const char *value);
void alert_build_line(struct alert_build *b, const char *line);
/* "2026-11-23 03:05 UTC" */
const char *alert_build_time(struct alert_build *b, int64_t time_ms);
/* "1 report", "3 reports" */
const char *alert_build_count(struct alert_build *b, uint64_t n, const char *one, const char *many);
/* "97.1 %" of a whole; "0 %" of nothing. Rounded down, so that 100 % means all. */
const char *alert_build_percent(struct alert_build *b, uint64_t part, uint64_t whole);

/* Headline, summary and lines of the event's kind. */
void alert_kind_describe(struct alert_build *b);
/* "New issue #12: TITLE", as in headlines and digests. */
const char *alert_kind_headline(struct alert_build *b, const struct alert_item *item);

#endif
