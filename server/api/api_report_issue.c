#include "server/api/api_report_issue.h"

#include <string.h>

#include "base/json/walk.h"
#include "base/json/write.h"
#include "base/text.h"
#include "server/api/api_issue.h"
#include "server/group/group.h"
#include "storage/store_issues.h"

enum { SHORT_HASH = API_VARIANT_DIGITS / 2 }; /* bytes of a key that a report shows */

/* Why the report belongs to its issue. A stack that this program cannot read has no words. */
static enum fz_code
write_words(struct api_call *call, const struct store_report_issue *issue, struct json_write *w,
            struct fz_error *err)
{
    struct store_project project;
    struct group_stack stack;
    struct group_rules rules;
    struct group_key key;
    char hash[2 * SHORT_HASH + 1];
    enum fz_code code =
        store_project_by_id(call->store, call->project_id, call->arena, &project, err);
    if (code != FZ_OK)
        return code;
    if (group_stack_decode(issue->stack, call->arena, &stack, NULL) != FZ_OK)
        return FZ_OK;
    if (group_rules_parse(fz_span_cstr(project.rules), call->arena, &rules, NULL) != FZ_OK)
        rules = group_rules_builtin();
    code = group_key(&stack, &rules, call->arena, &key, err);
    if (code != FZ_OK)
        return code;
    fz_text_hex(fz_span_make(key.hash, SHORT_HASH), hash);
    json_write_text(w, "hash", hash);
    json_write_text(w, "rules", rules.version);
    json_write_open(w, "key", '[');
    for (size_t i = 0; i < key.n_words; i++)
        json_write_text(w, NULL, key.words[i]);
    json_write_close(w, ']');
    return FZ_OK;
}

static enum fz_code
write_issue(struct api_call *call, const struct store_report_issue *issue, struct fz_buffer *out,
            struct fz_error *err)
{
    struct json_write w = json_write_start(out);
    json_write_open(&w, NULL, '{');
    json_write_i64(&w, "number", issue->number);
    json_write_text(&w, "title", issue->title);
    json_write_span(&w, "variant", fz_span_make(issue->variant, API_VARIANT_DIGITS));
    json_write_text(&w, "label", issue->label);
    enum fz_code code = write_words(call, issue, &w, err);
    json_write_close(&w, '}');
    return code == FZ_OK ? fz_buffer_done(out, err) : code;
}

/* The span of the top member "issue", or an empty one where it belongs: before the last brace. */
static struct fz_span
find_place(struct fz_span json)
{
    struct json_walk walk = json_walk_start(json);
    struct json_member member;
    while (json_walk_next(&walk, &member)) {
        if (fz_span_is(member.key, "issue"))
            return member.value;
    }
    return fz_span_make(json.data + json.len - 1, 0);
}

enum fz_code
api_report_issue(struct api_call *call, const struct store_report *report, struct fz_span *result,
                 struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer issue_json = fz_buffer_make(0);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    struct store_report_issue issue;
    /* What is stored is one object, as the worker has checked: "{" ... "}". */
    if (result->len < 2)
        return FZ_OK;
    enum fz_code code = store_report_find_issue(call->store, report->project_id, report->id,
                                                call->arena, &issue, err);
    if (code == FZ_E_NOT_FOUND)
        return FZ_OK;
    if (code == FZ_OK)
        code = write_issue(call, &issue, &issue_json, err);
    if (code != FZ_OK)
        return code;
    struct fz_span place = find_place(*result);
    size_t before = (size_t)(place.data - result->data);
    fz_buffer_append(&out, result->data, before);
    /* In place of the old value, or as one more member. */
    struct json_write w = {.out = &out, .comma = place.len == 0 && result->len > 2};
    json_write_raw(&w, place.len ? NULL : "issue", fz_buffer_cstr(&issue_json));
    fz_buffer_append(&out, place.data + place.len, result->len - before - place.len);
    code = fz_buffer_done(&out, err);
    if (code != FZ_OK)
        return code;
    const char *copy = fz_arena_text(call->arena, fz_buffer_span(&out));
    if (!copy)
        return fz_arena_fail(call->arena, err);
    *result = fz_span_make(copy, out.len);
    return FZ_OK;
}
