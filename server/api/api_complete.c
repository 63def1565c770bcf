/* What may come next in a query that is being typed: keys, choices, and the values that the project has. */
#include <stdlib.h>
#include <string.h>

#include "server/api/api_handlers.h"
#include "server/api/api_query.h"
#include "server/query/query.h"
#include "storage/store_issue_list.h"

enum { VALUES_SHOWN = 20 };

/* ?at=: the cursor, a byte of the text; its end without one. */
static enum fz_code
read_cursor(const struct http_request *request, size_t len, size_t *ret, struct fz_error *err)
{
    const char *text = http_query(request, "at");
    *ret = len;
    if (!text)
        return FZ_OK;
    char *end;
    unsigned long at = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || at > len)
        return fz_fail(err, FZ_E_MALFORMED, "at: it is not a byte of the text, 0 to %zu", len);
    *ret = at;
    return FZ_OK;
}

/* An item takes the place of the bytes from `start` to the cursor; one of keys ends with a colon. */
static void
write_item(struct json_write *w, const char *text, const char *help, uint64_t reports)
{
    json_write_open(w, NULL, '{');
    json_write_text(w, "text", text);
    json_write_text(w, "help", help);
    if (reports)
        json_write_u64(w, "reports", reports);
    json_write_close(w, '}');
}

static enum fz_code
write_values(struct api_call *call, const struct query_completion *completion, struct json_write *w,
             struct fz_error *err)
{
    bool is_tag = completion->what == QUERY_COMPLETES_TAGS;
    const struct store_value_search search = {.field = completion->field,
                                              .tag = is_tag ? NULL : completion->tag,
                                              .prefix = completion->prefix,
                                              .limit = VALUES_SHOWN};
    struct store_value *values = NULL;
    size_t n = 0;
    enum fz_code code =
        store_values(call->store, call->project_id, &search, call->arena, &values, &n, err);
    /* Nothing is kept of some keys, such as id. */
    if (code == FZ_E_MALFORMED)
        return FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < n; i++) {
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
        query_print_value(values[i].text, &text);
        /* The name of a tag is a key: its value comes next. */
        if (is_tag)
            fz_buffer_char(&text, ':');
        if (text.failed)
            return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
        write_item(w, fz_buffer_cstr(&text), NULL, values[i].n);
    }
    return code;
}

enum fz_code
api_query_complete(struct api_call *call, struct fz_error *err)
{
    const char *given = http_query(call->request, "text");
    struct fz_span text = fz_span_cstr(given ? given : "");
    struct query_completion completion;
    size_t cursor = 0;
    enum fz_code code = read_cursor(call->request, text.len, &cursor, err);
    if (code == FZ_OK)
        code = query_complete(text, cursor, call->arena, &completion, err);
    if (code != FZ_OK)
        return code;
    struct json_write w = api_begin(call, '{');
    json_write_u64(&w, "start", completion.start);
    json_write_open(&w, "items", '[');
    for (size_t i = 0; i < completion.n_items; i++)
        write_item(&w, completion.items[i].text, completion.items[i].help, 0);
    if (completion.what == QUERY_COMPLETES_VALUES || completion.what == QUERY_COMPLETES_TAGS)
        code = write_values(call, &completion, &w, err);
    json_write_close(&w, ']');
    return code == FZ_OK ? api_answer(call, 200, &w, '}', err) : code;
}
