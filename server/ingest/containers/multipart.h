/*
 * A form taken apart, between multipart.c (which part is the report) and multipart_fields.c (what
 * the others add to it). Private to this folder.
 */
#ifndef INGEST_CONTAINERS_MULTIPART_H
#define INGEST_CONTAINERS_MULTIPART_H

#include "base/form.h"
#include "server/ingest/common/json_member.h"

struct multipart_form {
    struct fz_form_part *parts;
    size_t n_parts, report; /* report: the number of the part that holds it */
};

/* The parts beside the report: texts into tags, user, extra, files into attachments. `content` is
 * what the report was parsed from; memory failures stay in b->failed. */
void multipart_read_fields(struct ingest_builder *b, struct fz_span body,
                           const struct multipart_form *form, struct fz_span content);

#endif
