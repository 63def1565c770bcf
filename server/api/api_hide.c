#include "server/api/api_hide.h"

#include <string.h>

#include "base/json/walk.h"
#include "base/platform.h"
#include "base/text.h"
#include "server/api/api_fetch.h"
#include "server/api/api_object.h"
#include "server/report/columns.h"

/* Where a member is; the members that are left out there, and those that are looked into. */
enum level { REPORT, THREADS, EXCEPTION, FRAMES, SYMBOLS, LEVELS };

struct rule {
    enum level level;
    const char *key;
    bool is_hidden;
    enum level inside; /* of what is not hidden */
};

static const struct rule rules[] = {
    {REPORT, "memory", true, REPORT},
    {REPORT, "threads", false, THREADS},
    {REPORT, "exception_backtrace", false, EXCEPTION},
    {THREADS, "stack", true, REPORT},
    {THREADS, "notable_addresses", true, REPORT},
    {THREADS, "frames", false, FRAMES},
    {EXCEPTION, "frames", false, FRAMES},
    {FRAMES, "symbols", false, SYMBOLS},
    {SYMBOLS, "variables", true, REPORT},
};

struct copy {
    struct fz_buffer *out;
    bool keeps_notable, hidden;
};

static const struct rule *
find_rule(enum level level, struct fz_span key)
{
    for (size_t i = 0; i < FZ_ARRAY_LEN(rules); i++) {
        if (rules[i].level == level && fz_span_is(key, rules[i].key))
            return &rules[i];
    }
    return NULL;
}

static bool
has_any(struct fz_span json)
{
    static const char *const words[] = {"\"variables\"", "\"stack\"", "\"memory\"",
                                        "\"notable_addresses\""};
    for (size_t i = 0; i < FZ_ARRAY_LEN(words); i++) {
        if (json.len && fz_platform_find(json.data, json.len, words[i], strlen(words[i])))
            return true;
    }
    return false;
}

/* The name as it is in the text, with its escapes. */
static void
write_key(struct copy *c, struct fz_span key)
{
    fz_buffer_char(c->out, '"');
    fz_buffer_append(c->out, key.data, key.len);
    fz_buffer_char(c->out, '"');
    fz_buffer_char(c->out, ':');
}

static void copy_object(struct copy *c, struct fz_span object, enum level level);

/* An object, or the objects of an array; anything else as it is. The levels end, so this does. */
static void
copy_value(struct copy *c, struct fz_span value, enum level level)
{
    bool is_array = value.len && value.data[0] == '[',
         is_object = value.len && value.data[0] == '{';
    if (!is_array && !is_object) {
        fz_buffer_append(c->out, value.data, value.len);
        return;
    }
    if (is_object) {
        copy_object(c, value, level);
        return;
    }
    struct json_walk walk = json_walk_items(value);
    struct json_member item;
    const char *comma = "";
    fz_buffer_char(c->out, '[');
    while (json_walk_next_item(&walk, &item)) {
        fz_buffer_text(c->out, comma);
        /* A thread, a frame or a symbol is an object. */
        if (item.value.len && item.value.data[0] == '{')
            copy_object(c, item.value, level);
        else
            fz_buffer_append(c->out, item.value.data, item.value.len);
        comma = ",";
    }
    fz_buffer_char(c->out, ']');
}

static void
copy_object(struct copy *c, struct fz_span object, enum level level)
{
    struct json_walk walk = json_walk_start(object);
    struct json_member member;
    const char *comma = "";
    fz_buffer_char(c->out, '{');
    while (json_walk_next(&walk, &member)) {
        const struct rule *rule = find_rule(level, member.key);
        bool is_notable = rule && rule->is_hidden && rule->key[0] == 'n';
        if (rule && rule->is_hidden && !(is_notable && c->keeps_notable)) {
            c->hidden = true;
            continue;
        }
        fz_buffer_text(c->out, comma);
        write_key(c, member.key);
        if (rule && !rule->is_hidden)
            copy_value(c, member.value, rule->inside);
        else
            fz_buffer_append(c->out, member.value.data, member.value.len);
        comma = ",";
    }
    if (level == REPORT && c->hidden) {
        fz_buffer_text(c->out, comma);
        write_key(c, fz_span_cstr("variables"));
        fz_text_json_append(c->out, fz_span_cstr("hidden"));
    }
    fz_buffer_char(c->out, '}');
}

void
api_hide_copy(struct fz_span json, bool keeps_notable, struct fz_buffer *out, bool *ret_hidden)
{
    struct copy copy = {.out = out, .keeps_notable = keeps_notable};
    copy_object(&copy, json, REPORT);
    *ret_hidden = copy.hidden;
}

static bool
may_see_values(const struct api_call *call)
{
    return api_token_may(call->api, call->request, STORE_SCOPE_VARIABLES);
}

static bool
is_format(const struct store_report *columns, const char *const *formats, size_t n)
{
    for (size_t i = 0; columns->format && i < n; i++) {
        if (strcmp(columns->format, formats[i]) == 0)
            return true;
    }
    return false;
}

enum fz_code
api_hide_values(struct api_call *call, const struct store_report *columns, struct fz_span *result,
                struct fz_error *err)
{
    /* What Apple's reports call notable is the system's own text about registers. */
    static const char *const of_system[] = {"ips"};
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    bool hidden = false;
    if (result->len == 0 || may_see_values(call) || !has_any(*result))
        return FZ_OK;
    api_hide_copy(*result, is_format(columns, of_system, 1), &out, &hidden);
    enum fz_code code = fz_buffer_done(&out, err);
    if (code != FZ_OK || !hidden)
        return code;
    const char *copy = fz_arena_text(call->arena, fz_buffer_span(&out));
    if (!copy)
        return fz_arena_fail(call->arena, err);
    *result = fz_span_make(copy, out.len);
    return FZ_OK;
}

/* As far as is known. */
static bool
may_have_memory(const struct store_report *columns)
{
    static const char *const without[] = {"ips", "metrickit", "plcrash", "bugsnag", "quincy"};
    return columns->memory == STORE_MEMORY_UNKNOWN &&
           !is_format(columns, without, FZ_ARRAY_LEN(without));
}

bool
api_hides_body(const struct api_call *call, const struct store_report *columns)
{
    return fz_columns_number(&report_columns, columns->values, "scrubbed") && !may_see_values(call);
}

enum fz_code
api_fetch_body(struct api_call *call, const struct store_report *columns, unsigned weight,
               struct fz_span *ret, struct fz_error *err)
{
    bool may_see = may_see_values(call);
    if (!may_see && may_have_memory(columns)) {
        call->detail = "{\"scope\":\"variables\"}";
        return fz_fail(err, FZ_E_DENIED,
                       "this report was not processed, so its body may have captured memory: that "
                       "needs the scope 'variables'");
    }
    if (api_hides_body(call, columns)) {
        call->detail = "{\"scope\":\"variables\"}";
        return fz_fail(
            err, FZ_E_DENIED,
            "the body of this report has personal data that is masked in the report: that "
            "needs the scope 'variables'");
    }
    return api_fetch(call, columns->id, may_see ? STORE_REPORT_FULL_BODY : STORE_REPORT_BODY,
                     weight, ret, err);
}
