/*
 * The check of a body as a client's request gets it: the first report in it, for tests of formats.
 */
#ifndef CHECK_BODY_H
#define CHECK_BODY_H

#include "server/ingest/ingest.h"

/* The outer form alone. On success *ret_format is the format's name and ret_id (may be "") the
 * report's own id as 32 hex digits. */
static inline enum fz_code
check_body(struct fz_span body, const struct limits *most, const char **ret_format,
           char ret_id[FZ_UUID_TEXT], struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena scratch = fz_arena_make(most->report_memory);
    struct ingest_item *items = NULL;
    size_t n = 0, n_cut = 0;
    enum fz_code code = ingest_split(body, most, &scratch, &items, &n, &n_cut, err);
    if (code != FZ_OK)
        return code;
    if (items[0].code != FZ_OK) {
        if (err)
            *err = items[0].err;
        return items[0].code;
    }
    *ret_format = items[0].format;
    memcpy(ret_id, items[0].id, sizeof(items[0].id));
    return FZ_OK;
}

#endif
