/*
 * What a format brought and the model has no member for (report->extra_json), looked up and written
 * again by those who render Apple's formats. Private to this folder.
 */
#ifndef REPORT_EXTRA_H
#define REPORT_EXTRA_H

#include <jansson.h>

#include "base/json/write.h"
#include "server/report/report.h"

/* The extras as a tree that the caller owns (json_decref); NULL where there are none, or where they
 * cannot be read. */
json_t *report_extra_load(const struct report *report);

/* The member that a path names ("termination.byProc"), borrowed; NULL if there is none. */
const json_t *report_extra_get(const json_t *extra, const char *path);

/* A member as text: a string, a number in digits, the strings of a list on a line each. False (and
 * nothing appended) if there is none, or it is empty. */
bool report_extra_text(const json_t *extra, const char *path, struct fz_buffer *out);

/* Add the members of `object` to the object that is being written, but not those in `skip`
 * (NULL-terminated; NULL: all are added). */
void report_extra_write(struct json_write *w, const json_t *object, const char *const *skip);

#endif
