#include "server/api/api_privacy.h"

#include <string.h>

enum { ENTRIES_MAX = 256, ENTRY_BYTES = 128 };

void
api_privacy_write_lines(struct json_write *w, const char *key, const char *lines, size_t max)
{
    json_write_open(w, key, '[');
    while (lines && *lines) {
        size_t len = strcspn(lines, "\n");
        json_write_span(w, NULL, fz_span_make(lines, len < max ? len : max));
        lines += len + (lines[len] == '\n');
    }
    json_write_close(w, ']');
}

void
api_privacy_write(struct json_write *w, const struct store_privacy *privacy)
{
    json_write_text(w, "values", privacy->values ? "on" : "off");
    json_write_text(w, "memory", privacy->keep_memory ? "keep" : "drop");
    json_write_u64(w, "memory_days", (uint64_t)privacy->memory_days);
    api_privacy_write_lines(w, "redact_allow", privacy->redact_allow, ENTRY_BYTES);
    api_privacy_write_lines(w, "redact_deny", privacy->redact_deny, ENTRY_BYTES);
}

enum fz_code
api_privacy_join_lines(struct api_call *call, const json_t *list, const struct api_lines *lines,
                       struct fz_buffer *ret, struct fz_error *err)
{
    size_t n = json_array_size(list);
    call->detail = lines->detail; /* for the failures below */
    if (!json_is_array(list))
        return fz_fail(err, FZ_E_MALFORMED, "no array '%s'; send %s", lines->key, lines->example);
    if (n > lines->n_max)
        return fz_fail(err, FZ_E_LIMIT, "%s: %zu, at most %zu", lines->key, n, lines->n_max);
    for (size_t i = 0; i < n; i++) {
        const char *text = json_string_value(json_array_get(list, i));
        /* Storage keeps one entry per line, so a line break would make two of it. */
        if (!text || !*text || strchr(text, '\n') || strlen(text) > lines->bytes_max)
            return fz_fail(err, FZ_E_MALFORMED, "%s[%zu]: no text of 1 to %zu bytes on one line",
                           lines->key, i, lines->bytes_max);
        fz_buffer_text(ret, i ? "\n" : "");
        fz_buffer_text(ret, text);
    }
    call->detail = NULL;
    return fz_buffer_done(ret, err);
}

/* One of two words; `ret` is true for the first. */
static enum fz_code
read_choice(struct api_call *call, const json_t *value, const char *const words[2],
            const char *detail, bool *ret, struct fz_error *err)
{
    const char *text = json_string_value(value);
    if (!text || (strcmp(text, words[0]) != 0 && strcmp(text, words[1]) != 0)) {
        call->detail = detail;
        return fz_fail(err, FZ_E_MALFORMED, "the value is neither \"%s\" nor \"%s\"", words[0],
                       words[1]);
    }
    *ret = strcmp(text, words[0]) == 0;
    return FZ_OK;
}

static enum fz_code
read_days(struct api_call *call, const json_t *value, int64_t *ret, struct fz_error *err)
{
    json_int_t days = json_integer_value(value);
    if (!json_is_integer(value) || days < 1 || days > STORE_MEMORY_DAYS_MAX) {
        call->detail = "{\"path\":\"memory_days\"}";
        return fz_fail(err, FZ_E_MALFORMED, "memory_days: no number from 1 to %d",
                       (int)STORE_MEMORY_DAYS_MAX);
    }
    *ret = days;
    return FZ_OK;
}

static enum fz_code
read_entries(struct api_call *call, const json_t *list, const struct api_lines *lines,
             const char **ret, struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    enum fz_code code = api_privacy_join_lines(call, list, lines, &text, err);
    if (code != FZ_OK)
        return code;
    *ret = fz_arena_text(call->arena, fz_buffer_span(&text));
    return *ret ? FZ_OK : fz_arena_fail(call->arena, err);
}

enum fz_code
api_privacy_read(struct api_call *call, const json_t *root, struct store_privacy *ret,
                 bool *ret_any, struct fz_error *err)
{
    static const char *const values_words[] = {"on", "off"}, *const memory_words[] = {"keep",
                                                                                      "drop"};
    static const struct api_lines allow = {"redact_allow", ENTRIES_MAX, ENTRY_BYTES,
                                           "{\"path\":\"redact_allow\"}",
                                           "{\"redact_allow\":[\"render_pass\"]}"};
    static const struct api_lines deny = {"redact_deny", ENTRIES_MAX, ENTRY_BYTES,
                                          "{\"path\":\"redact_deny\"}",
                                          "{\"redact_deny\":[\"salary\"]}"};
    const json_t *values = json_object_get(root, "values"),
                 *memory = json_object_get(root, "memory"),
                 *days = json_object_get(root, "memory_days"),
                 *allowed = json_object_get(root, allow.key),
                 *denied = json_object_get(root, deny.key);
    enum fz_code code = FZ_OK;
    *ret_any = *ret_any || values || memory || days || allowed || denied;
    if (values)
        code = read_choice(call, values, values_words, "{\"path\":\"values\"}", &ret->values, err);
    if (code == FZ_OK && memory)
        code = read_choice(call, memory, memory_words, "{\"path\":\"memory\"}", &ret->keep_memory,
                           err);
    if (code == FZ_OK && days)
        code = read_days(call, days, &ret->memory_days, err);
    if (code == FZ_OK && allowed)
        code = read_entries(call, allowed, &allow, &ret->redact_allow, err);
    if (code == FZ_OK && denied)
        code = read_entries(call, denied, &deny, &ret->redact_deny, err);
    return code;
}
