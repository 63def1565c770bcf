/*
 * The other parts of a form with a report:
 *
 *   prod, ver, guid, ptype, ...            Crashpad's and Breakpad's annotations
 *   ProductName, Version, BuildID, ...     Socorro's
 *   sentry, sentry[tags][channel], ...     an event for Sentry, whole or by member
 *   sdk, sdk_version, attachment0          Hockey's
 *
 * All texts stay in extra ("form"); those with a place in the model fill it unless the report did.
 */
#include "base/text.h"
#include "server/ingest/containers/multipart.h"

static const size_t VALUE_MAX = 64 * 1024;

static void
set_unless(const char **member, const char *value)
{
    if (!*member && value && *value)
        *member = value;
}

static void
set_known(struct report *r, const char *name, const char *value)
{
    static const char *const products[] = {"prod", "product", "ProductName", "_productName", NULL};
    static const char *const versions[] = {"ver", "version", "Version", "_version", NULL};
    static const char *const builds[] = {"BuildID", "build", NULL};
    static const char *const channels[] = {"ReleaseChannel", "channel", NULL};
    /* Crashpad, Breakpad, Mozilla and others have their own names for the same things. */
    if (ingest_is_one_of(fz_span_cstr(name), products))
        set_unless(&r->app_name, value);
    else if (ingest_is_one_of(fz_span_cstr(name), versions))
        set_unless(&r->app_version, value);
    else if (ingest_is_one_of(fz_span_cstr(name), builds))
        set_unless(&r->app_build, value);
    else if (ingest_is_one_of(fz_span_cstr(name), channels))
        set_unless(&r->environment, value);
}

/* The name between the last brackets of "sentry[tags][channel]", in `ret`; false for others. */
static bool
is_tag(const char *name, char ret[128])
{
    static const char prefix[] = "sentry[tags][";
    size_t len = strlen(name), start = sizeof(prefix) - 1;
    if (!fz_text_has_prefix(name, prefix) || len <= start + 1 || len - start > 127 ||
        name[len - 1] != ']')
        return false;
    memcpy(ret, name + start, len - start - 1);
    ret[len - start - 1] = '\0';
    return true;
}

/* A name that comes twice gets a list. */
static void
add_text(struct ingest_builder *b, json_t *object, const char *name, const char *value)
{
    json_t *text = json_string(value), *before = json_object_get(object, name);
    int failed = !text;
    if (!failed && !before) {
        failed = json_object_set_new(object, name, text);
    } else if (!failed && json_is_array(before)) {
        failed = json_array_append_new(before, text);
    } else if (!failed) {
        json_t *list = json_array();
        failed = !list || json_array_append(list, before) || json_array_append(list, text) ||
                 json_object_set(object, name, list);
        json_decref(list);
        json_decref(text);
    }
    b->failed = b->failed || failed;
}

/* An event for Sentry that came as one field. */
static void
read_event(struct ingest_builder *b, struct fz_span text)
{
    static const char *const known[] = {"tags",        "user",    "breadcrumbs",
                                        "environment", "release", NULL};
    struct report *r = b->report;
    struct fz_error err;
    json_auto_t *event = NULL;
    enum fz_code code = ingest_json_load(b, text, NULL, &event, &err);
    if (code != FZ_OK || !json_is_object(event)) {
        ingest_note(b, "sentry: %s",
                    code != FZ_OK ? err.text : "a field that is not a JSON object");
        return;
    }
    /* The dump's annotations are from the process that crashed, the event from whoever uploads
     * it. */
    set_unless(&r->tags_json, ingest_json_dump(b, event, "tags"));
    set_unless(&r->user_json, ingest_json_dump(b, event, "user"));
    set_unless(&r->breadcrumbs_json, ingest_json_dump(b, event, "breadcrumbs"));
    set_unless(&r->environment, ingest_json_text(b, event, "sentry", "environment"));
    set_unless(&r->app_version, ingest_json_text(b, event, "sentry", "release"));
    ingest_add_extra(b, "sentry", event, known);
}

static void
read_text(struct ingest_builder *b, json_t *fields, json_t *tags, const char *name,
          struct fz_span value)
{
    char tag[128];
    if (strcmp(name, "sentry") == 0 && value.len && value.data[0] == '{') {
        read_event(b, value);
        return;
    }
    if (value.len > VALUE_MAX) {
        ingest_note(b, "form field '%.64s': %zu bytes, of which %zu are kept", name, value.len,
                    VALUE_MAX);
        /* The raw body, which is kept, has all of it. */
        value.len = VALUE_MAX;
    }
    const char *text = fz_text_clean_utf8(b->arena, value);
    b->failed = !text;
    if (b->failed)
        return;
    set_known(b->report, name, text);
    /* Clients of Sentry's minidump endpoint set each tag by a field. */
    if (is_tag(name, tag))
        add_text(b, tags, tag, text);
    else
        add_text(b, fields, name, text);
}

/* Attachments of the report itself count from its own start. */
static void
shift_attachments(struct ingest_builder *b, struct fz_span body, struct fz_span content)
{
    uintptr_t start = (uintptr_t)body.data, at = (uintptr_t)content.data;
    /* The report may be in memory of its own: a JSON text in the form was unescaped. */
    bool inside = at >= start && at - start <= body.len;
    if (b->report->n_attachments && !inside) {
        ingest_note(b, "%zu attachments within an escaped text are left out",
                    b->report->n_attachments);
        b->report->n_attachments = 0;
    }
    for (size_t i = 0; i < b->report->n_attachments; i++)
        b->report->attachments[i].offset += at - start;
}

/* HockeySDK ends its last part with a line break too much. */
static uint64_t
surplus(struct fz_span body, const struct multipart_form *form, size_t number)
{
    struct fz_span content = fz_form_content(body, &form->parts[number]);
    bool ends = number + 1 == form->n_parts && content.len >= 2 &&
                memcmp(content.data + content.len - 2, "\r\n", 2) == 0;
    for (size_t i = 0; ends && i < form->n_parts; i++) {
        if (strcmp(form->parts[i].name, "sdk") == 0 &&
            fz_span_is(fz_form_content(body, &form->parts[i]), "HockeySDK"))
            return 2;
    }
    return 0;
}

static void
add_attachments(struct ingest_builder *b, struct fz_span body, const struct multipart_form *form)
{
    struct report *r = b->report;
    struct report_attachment *all = ingest_alloc(b, r->n_attachments + form->n_parts, sizeof(*all));
    if (!all)
        return;
    if (r->n_attachments)
        memcpy(all, r->attachments, r->n_attachments * sizeof(*all));
    for (size_t i = 0; i < form->n_parts; i++) {
        const struct fz_form_part *part = &form->parts[i];
        /* The report itself is not an attachment; fields are texts. */
        if (i == form->report || !part->filename)
            continue;
        all[r->n_attachments++] = (struct report_attachment){
            .name = *part->filename ? part->filename : NULL,
            .type = part->content_type,
            .kind = part->name,
            .offset = part->offset,
            .size = part->len - surplus(body, form, i),
        };
    }
    r->attachments = all;
}

void
multipart_read_fields(struct ingest_builder *b, struct fz_span body,
                      const struct multipart_form *form, struct fz_span content)
{
    json_auto_t *fields = json_object();
    json_auto_t *tags = json_object();
    if (!fields || !tags)
        b->failed = true;
    for (size_t i = 0; i < form->n_parts && !b->failed; i++) {
        const struct fz_form_part *part = &form->parts[i];
        if (i != form->report && !part->filename)
            read_text(b, fields, tags, part->name, fz_form_content(body, part));
    }
    if (b->failed)
        return;
    ingest_add_extra(b, "form", fields, NULL);
    if (json_object_size(tags))
        set_unless(&b->report->tags_json, ingest_json_dump(b, tags, NULL));
    shift_attachments(b, body, content);
    add_attachments(b, body, form);
}
