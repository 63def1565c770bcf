/*
 * What Sentry's SDKs send, on its way in: envelopes with reports and with what is counted, and
 * bodies that become envelopes. Private to server/ingest.
 */
#ifndef INGEST_SENTRY_INTAKE_H
#define INGEST_SENTRY_INTAKE_H

#include "server/ingest/common/format.h"
#include "server/ingest/sentry/items.h"

/* Does the item, by its header, make the envelope a report? */
bool sentry_is_report(const struct sentry_item *item);
/* Is it counted: session, sessions, client_report? */
bool sentry_is_counted(const struct sentry_item *item);

/* The check of the format, for an envelope whose framing was read. */
FZ_MUST_CHECK enum fz_code sentry_envelope_check(const struct ingest_context *in,
                                                 const struct sentry_items *items,
                                                 char ret_id[FZ_UUID_TEXT], struct fz_error *err);

/* All items that are counted, up to INGEST_COUNTED_MAX of each kind. What is odd is left out. */
void sentry_count(const struct sentry_items *items, const struct limits *limits,
                  struct fz_arena *arena, struct ingest_counted *ret);

/* An event item and attachments as one envelope; `event` is JSON. For bodies that are not an event
 * by their look alone, and for those that bring one beside files. */
struct sentry_file {
    const char *name, *type, *kind; /* any may be NULL */
    struct fz_span bytes;
};
FZ_MUST_CHECK enum fz_code sentry_make_envelope(struct fz_span event,
                                                const struct sentry_file *files, size_t n_files,
                                                struct fz_arena *arena, struct fz_span *ret,
                                                struct fz_error *err);

/* A form with a minidump as an envelope, if it has fields of an event or `must` is set; else *ret is
 * the form. */
FZ_MUST_CHECK enum fz_code sentry_form_envelope(const struct ingest_request *form,
                                                const struct limits *limits, struct fz_arena *arena,
                                                struct fz_span *ret, struct fz_error *err);

#endif
