/*
 * json_scan() says what is broken and where; everything before that byte is valid.
 *
 *   {"a":[1,2,],"b":[3,4    the comma before ']' is blanked, and json_scan() asked again:
 *   {"a":[1,2 ],"b":[3,4    ends within "b"; the last complete value is 3:
 *   {"a":[1,2 ],"b":[3]}
 */
#include "server/ingest/common/json_repair.h"

#include "base/json/scan.h"

enum { COMMAS_MAX = 16 };

static bool
is_space(uint8_t c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* The comma before the closing bracket at `at`; false if no comma is there. */
static bool
comma_before(struct fz_span text, size_t at, size_t *ret)
{
    if (at >= text.len || (text.data[at] != ']' && text.data[at] != '}'))
        return false;
    while (at > 0 && is_space(text.data[at - 1]))
        at--;
    if (at == 0 || text.data[at - 1] != ',')
        return false;
    *ret = at - 1;
    return true;
}

/* Steps through valid JSON: which brackets are open, and where the last complete value ended. */
struct walk {
    struct fz_span text;
    size_t pos, safe; /* safe: 0 = nothing complete yet */
    size_t depth;
    char open[JSON_SCAN_DEPTH_MAX];
    bool key_next; /* the next string is a key */
};

/* To the end of the string at pos; false if it does not end. */
static bool
skip_string(struct walk *w)
{
    size_t at = w->pos + 1;
    while (at < w->text.len && w->text.data[at] != '"')
        at += w->text.data[at] == '\\' ? 2 : 1;
    if (at >= w->text.len)
        return false;
    w->pos = at + 1;
    return true;
}

/* One token; false where the text ends or is nothing that can be closed. */
static bool
step(struct walk *w)
{
    uint8_t c = w->text.data[w->pos];
    if (is_space(c) || c == ':' || c == ',') {
        if (c == ',' || c == ':')
            w->key_next = c == ',' && w->depth && w->open[w->depth - 1] == '{';
        w->pos++;
        return true;
    }
    if (c == '"') {
        if (!skip_string(w))
            return false;
        if (!w->key_next)
            w->safe = w->pos;
        return w->depth > 0;
    }
    if (c == '{' || c == '[') {
        if (w->depth == sizeof(w->open))
            return false;
        w->open[w->depth++] = (char)c;
        w->key_next = c == '{';
        w->safe = ++w->pos;
        return true;
    }
    if (c == '}' || c == ']') {
        if (w->depth == 0)
            return false;
        w->depth--;
        w->key_next = false;
        w->safe = ++w->pos;
        return w->depth > 0;
    }
    size_t at = w->pos;
    while (at < w->text.len && !strchr(",:]} \n\r\t", w->text.data[at]))
        at++;
    if (at == w->text.len) /* a number may be cut in the middle */
        return false;
    w->pos = w->safe = at;
    return w->depth > 0;
}

/* The complete start of `text`, brackets closed. False if it is not an object. */
static bool
close_start(struct fz_span text, struct fz_buffer *out)
{
    struct walk w = {.text = text, .pos = ingest_json_start(text)};
    if (w.pos == text.len || text.data[w.pos] != '{')
        return false;
    while (w.pos < text.len && step(&w))
        ;
    fz_buffer_append(out, text.data, w.safe);
    /* The inner ones first. */
    while (w.depth-- > 0)
        fz_buffer_char(out, w.open[w.depth] == '{' ? '}' : ']');
    return true;
}

static enum fz_code
repair_text(struct fz_buffer *text, const struct limits *limits, struct fz_buffer *out,
            struct ingest_repair *repair, struct fz_error *err)
{
    struct json_scan_limits scan = {limits->json_depth, SIZE_MAX, 0};
    for (;;) {
        struct fz_span span = fz_buffer_span(text);
        struct fz_error fault = {.offset = -1};
        enum fz_code code = json_scan(span, &scan, NULL, NULL, &fault);
        if (code == FZ_OK) {
            fz_buffer_append(out, span.data, span.len);
            return FZ_OK;
        }
        size_t at = fault.offset < 0 ? span.len : (size_t)fault.offset, comma;
        /* Limits and memory are not faults of the text, so nothing is repaired. */
        if (code != FZ_E_MALFORMED || at > span.len) {
            *err = fault;
            return code;
        }
        /* Real: KSCrash's report of a SIGTERM. Each comma costs one more scan of the whole text,
         * hence the limit. */
        if (repair->n_commas < COMMAS_MAX && comma_before(span, at, &comma)) {
            if (repair->n_commas++ == 0)
                repair->first_comma = at;
            text->data[comma] = ' ';
            continue;
        }
        /* A file that was overwritten by a shorter one ends with the tail of the older report:
         * everything from the fault on belongs to another crash. */
        repair->cut = true;
        repair->fault = fault;
        span.len = at;
        if (!close_start(span, out)) {
            *err = fault;
            return code;
        }
        return FZ_OK;
    }
}

enum fz_code
ingest_json_repair(struct fz_span body, const struct limits *limits, struct fz_buffer *out,
                   struct ingest_repair *ret, struct fz_error *err)
{
    struct ingest_repair repair = {.fault.offset = -1};
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    /* A copy, since commas are blanked in place. */
    fz_buffer_append(&text, body.data, body.len);
    enum fz_code code = fz_buffer_done(&text, err);
    if (code == FZ_OK)
        code = repair_text(&text, limits, out, &repair, err);
    if (code == FZ_OK)
        code = fz_buffer_done(out, err);
    if (code == FZ_OK)
        *ret = repair;
    return code;
}

enum fz_code
ingest_json_check(struct fz_span body, const struct limits *limits, ingest_json_need_fn need,
                  struct fz_buffer *buffer, struct fz_span *ret, struct ingest_repair *repair,
                  struct fz_error *err)
{
    struct json_scan_limits scan = {limits->json_depth, SIZE_MAX, 0};
    struct fz_error fault, unused;
    if (!err)
        err = &unused;
    enum fz_code code = json_scan(body, &scan, NULL, NULL, &fault);
    if (code == FZ_OK) {
        /* The common case costs no copy of the body. */
        *ret = body;
        return need(body, err);
    }
    if (code == FZ_E_MALFORMED)
        code = ingest_json_repair(body, limits, buffer, repair, err);
    else
        *err = fault;
    if (code != FZ_OK)
        return code;
    *ret = fz_buffer_span(buffer);
    /* The first fault explains more than what is missing because of it. */
    if (need(*ret, &unused) == FZ_OK)
        return FZ_OK;
    *err = fault;
    return FZ_E_MALFORMED;
}

static void
note_repair(struct ingest_builder *b, const char *what, const struct ingest_repair *repair)
{
    if (repair->n_commas)
        ingest_note(b, "%s is not valid JSON: a comma before the bracket at byte %zu (%zu such)",
                    what, repair->first_comma, repair->n_commas);
    if (repair->cut)
        ingest_note(b, "%s is not valid JSON (%s); what precedes the fault is kept", what,
                    repair->fault.text);
}

enum fz_code
ingest_json_load_repaired(struct ingest_builder *b, struct fz_span body, const char *what,
                          ingest_json_need_fn need, json_t **ret, struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer buffer = fz_buffer_make(0);
    struct ingest_repair repair = {0};
    struct fz_span text;
    /* Nearly all need no repair, and are not scanned twice. */
    enum fz_code code = need(body, NULL);
    if (code == FZ_OK)
        code = ingest_json_load(b, body, NULL, ret, err);
    else
        code = FZ_E_MALFORMED;
    if (code != FZ_E_MALFORMED)
        return code;
    code = ingest_json_check(body, b->limits, need, &buffer, &text, &repair, err);
    if (code != FZ_OK)
        return code;
    note_repair(b, what, &repair);
    return ingest_json_load(b, text, NULL, ret, err);
}
