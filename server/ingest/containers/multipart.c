/*
 * A report inside a form (multipart/form-data), as KSCrash, Quincy, Hockey, Breakpad and Crashpad
 * send it, detected by its first bytes; the HTTP header is not needed and not kept:
 *
 *   --BOUNDARY\r\n
 *   Content-Disposition: form-data; name="upload_file_minidump"; filename="a.dmp"\r\n
 *
 * A part that is alone is the report. If there are others, the form is the report: its texts and
 * files belong to it and are kept with it.
 */
#include "server/ingest/containers/multipart.h"

#include <stdio.h>

#include "base/form.h"
#include "base/text.h"
#include "server/ingest/common/format.h"

static bool
multipart_detect(struct fz_span head)
{
    char boundary[FZ_FORM_BOUNDARY];
    return fz_form_find_boundary(head, boundary);
}

static const struct ingest_format *
format_of_part(const struct ingest_context *in, struct fz_span body,
               const struct fz_form_part *part)
{
    const struct ingest_format *format = ingest_format_of(in, fz_form_content(body, part));
    return format == &ingest_multipart ? NULL : format;
}

/* The part that is the report: by the names that clients use, else a file, else any. */
static size_t
find_report(const struct ingest_context *in, struct fz_span body, const struct multipart_form *form)
{
    static const char *const names[] = {"upload_file_minidump", "reports", "xml", "xmlstring",
                                        NULL};
    size_t best = form->n_parts, best_rank = 3;
    for (size_t i = 0; i < form->n_parts; i++) {
        const struct fz_form_part *part = &form->parts[i];
        /* KSCrash, Hockey and Crashpad send the report as a file; fields are mostly about it. */
        size_t rank = part->filename ? 1 : 2;
        if (ingest_is_one_of(fz_span_cstr(part->name), names))
            rank = 0;
        if (rank < best_rank && format_of_part(in, body, part)) {
            best = i;
            best_rank = rank;
        }
    }
    return best;
}

static enum fz_code
refuse(const struct multipart_form *form, struct fz_error *err)
{
    char names[128] = "";
    size_t len = 0;
    for (size_t i = 0; i < form->n_parts && len < sizeof(names); i++) {
        /* The names show whoever wrote the client what arrived. */
        int n = snprintf(names + len, sizeof(names) - len, "%s'%.32s'", i ? ", " : "",
                         form->parts[i].name);
        len += n > 0 ? (size_t)n : 0;
    }
    return fz_fail(err, FZ_E_UNSUPPORTED,
                   "a form without a report: no part (%s) is one in a known format", names);
}

/* The part that a reader names ("2/minidump"), and what reads that part. */
static bool
read_reader(struct ingest_context *in, size_t n_parts, size_t *ret)
{
    const char *slash = in->reader ? strchr(in->reader, '/') : NULL;
    uint64_t part = 0;
    bool known = slash &&
                 fz_text_u64(fz_span_make(in->reader, (size_t)(slash - in->reader)), &part) &&
                 part < n_parts;
    in->reader = known ? slash + 1 : NULL;
    *ret = (size_t)part;
    return known;
}

/* Takes the form apart and finds the report's part. in->reader then is that part's. */
static enum fz_code
read_form(struct ingest_context *in, struct fz_span body, struct fz_arena *arena,
          struct multipart_form *ret, struct fz_error *err)
{
    char boundary[FZ_FORM_BOUNDARY];
    struct multipart_form form = {0};
    if (!fz_form_find_boundary(body, boundary))
        return fz_fail_at(err, FZ_E_MALFORMED, 0, "multipart: no boundary");
    enum fz_code code = fz_form_parse(body, boundary, arena, &form.parts, &form.n_parts, err);
    if (code != FZ_OK)
        return code;
    if (!read_reader(in, form.n_parts, &form.report))
        /* The command line detects, and so does a worker whose job another version wrote. */
        form.report = find_report(in, body, &form);
    if (form.report == form.n_parts)
        return refuse(&form, err);
    *ret = form;
    return FZ_OK;
}

/* The one report that the form's part is, or holds as a container of one. in->reader then is the
 * reader of that, if it is known. */
static enum fz_code
find_content(struct ingest_context *in, struct fz_span body, struct fz_arena *arena,
             struct multipart_form *ret_form, struct fz_span *ret, struct fz_error *err)
{
    enum fz_code code = read_form(in, body, arena, ret_form, err);
    if (code != FZ_OK)
        return code;
    const struct fz_form_part *part = &ret_form->parts[ret_form->report];
    *ret = fz_form_content(body, part);
    /* KSCrash's part is an array of all reports that piled up. */
    if (in->reader || !format_of_part(in, body, part)->split)
        return FZ_OK;
    struct ingest_item *items;
    size_t n, n_cut;
    code = ingest_split_body(in, *ret, arena, &items, &n, &n_cut, err);
    for (size_t i = 0; code == FZ_OK && i < n; i++) {
        if (items[i].code == FZ_OK) {
            *ret = items[i].body;
            break;
        }
    }
    return code;
}

static enum fz_code
multipart_check(struct fz_span body, const struct ingest_context *in, char ret_id[FZ_UUID_TEXT],
                struct fz_error *err)
{
    struct ingest_context inner = *in;
    struct multipart_form form;
    struct fz_span content = {NULL, 0};
    struct ingest_item item = {.format = NULL};
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(in->limits->report_memory);
    enum fz_code code = find_content(&inner, body, &arena, &form, &content, err);
    if (code != FZ_OK)
        return code;
    /* The id of a form is that of its report. */
    code = ingest_check_body(&inner, content, &item);
    memcpy(ret_id, item.id, sizeof(item.id));
    if (code != FZ_OK && err)
        *err = item.err;
    return code;
}

static const struct ingest_format *
multipart_inside(struct fz_span body, const struct ingest_context *in,
                 char reader[INGEST_READER_TEXT])
{
    struct ingest_context inner = *in;
    struct multipart_form form;
    struct fz_span content = {NULL, 0};
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(in->limits->report_memory);
    if (find_content(&inner, body, &arena, &form, &content, NULL) != FZ_OK)
        return NULL;
    const struct ingest_format *format = ingest_format_of(in, content);
    /* A report that had to be taken out of a container in the part is found anew. */
    bool is_part = content.data == fz_form_content(body, &form.parts[form.report]).data &&
                   content.len == form.parts[form.report].len;
    if (reader && format && is_part)
        snprintf(reader, INGEST_READER_TEXT, "%zu/%s", form.report, ingest_format_reader(format));
    return format && format->inside ? format->inside(content, in, NULL) : format;
}

/* The item of a form that is one report, of what its part is. One that is not keeps its own bytes:
 * they may say what else it is. */
static void
found_form(struct ingest_found *found, struct fz_span body, const struct multipart_form *form,
           struct ingest_item *item)
{
    char reader[INGEST_READER_TEXT];
    size_t len = (size_t)snprintf(reader, sizeof(reader), "%s", ingest_multipart.name);
    if (*item->reader)
        snprintf(reader + len, sizeof(reader) - len, "/%zu/%.40s", form->report, item->reader);
    memcpy(item->reader, reader, sizeof(reader));
    if (item->code == FZ_OK)
        item->body = body;
    item->parts = form->parts;
    item->n_parts = form->n_parts;
    ingest_found_item(found, item);
}

static enum fz_code
multipart_split(struct fz_span body, struct ingest_found *found, struct fz_error *err)
{
    struct ingest_context in = *found->in;
    struct multipart_form form;
    struct ingest_item item = {.format = NULL};
    enum fz_code code = read_form(&in, body, found->arena, &form, err);
    if (code != FZ_OK)
        return code;
    const struct fz_form_part *part = &form.parts[form.report];
    struct fz_span content = fz_form_content(body, part);
    /* KSCrash's form: its boundary says nothing about the report, so it is not stored. */
    if (form.n_parts == 1) { /* the part alone is the report */
        ingest_found_body(found, content);
        return FZ_OK;
    }
    if (format_of_part(&in, body, part)->split) {
        size_t before = found->n;
        ingest_found_body(found, content);
        if (found->failed || found->n != before + 1)
            return FZ_OK;
        item = found->items[before];
        found->n = before;
        item.reader[0] = '\0'; /* it is taken out of the part again */
    } else {
        item.body = content;
        fz_ignore(ingest_check_body(&in, content, &item) != FZ_OK); /* item.code has it */
    }
    found_form(found, body, &form, &item);
    return FZ_OK;
}

static enum fz_code
multipart_parse(struct fz_span body, const struct ingest_context *in, struct fz_arena *arena,
                struct report *ret, struct fz_error *err)
{
    struct ingest_context inner = *in;
    struct multipart_form form;
    struct fz_span content = {NULL, 0};
    enum fz_code code = find_content(&inner, body, arena, &form, &content, err);
    if (code == FZ_OK)
        code = ingest_parse_body(&inner, content, arena, ret, err);
    if (code != FZ_OK)
        return code;
    struct ingest_builder b = ingest_builder_make(ret, arena, in->limits);
    /* After the report: what it says itself has precedence over the fields. */
    multipart_read_fields(&b, body, &form, content);
    return b.failed ? fz_arena_fail(arena, err) : FZ_OK;
}

const struct ingest_format ingest_multipart = {
    .name = "multipart",
    .detect = multipart_detect,
    .check = multipart_check,
    .parse = multipart_parse,
    .split = multipart_split,
    .inside = multipart_inside,
};
