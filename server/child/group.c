/*
 * Which issue a report belongs to: of one that was just resolved, or of one that was symbolicated
 * before there were issues.
 */
#include <string.h>

#include "base/attr.h"
#include "base/file.h"
#include "server/child/parts.h"
#include "server/group/group.h"
#include "server/report/render.h"

enum fz_code
child_issue(struct report *report, const char *rules_text, struct fz_arena *arena,
            struct fz_buffer *stack, struct proto_issue *ret, struct fz_error *err)
{
    _Static_assert((int)PROTO_STACK_MAX == (int)GROUP_STACK_BYTES, "one limit for both");
    _Static_assert((int)PROTO_RULES_MAX == (int)GROUP_RULES_BYTES, "one limit for both");
    struct group_result result;
    struct group_rules rules;
    struct fz_error wrong;
    enum fz_code code = group_rules_parse(fz_span_cstr(rules_text), arena, &rules, &wrong);
    /* They were checked when they were stored; a report is not lost because of them. */
    if (code != FZ_OK) {
        report_note(report, arena, "grouping: %s; the built-in rules are used", wrong.text);
        rules = group_rules_builtin();
    }
    code = group_report(report, &rules, arena, &result, err);
    if (code != FZ_OK)
        return code;
    group_stack_encode(&result.stack, stack);
    ret->stack = fz_buffer_span(stack);
    memcpy(ret->key, result.key.hash, sizeof(ret->key));
    memcpy(ret->variant, result.variant.hash, sizeof(ret->variant));
    ret->is_placeholder = result.key.is_placeholder;
    ret->title = result.key.title;
    ret->label = result.variant.label;
    return fz_buffer_done(stack, err);
}

/* The issue of a symbolicated report, into `out` as proto_issue_encode() writes it. */
static enum fz_code
write_issue(struct fz_span json, const char *rules, struct fz_arena *arena, struct fz_buffer *out,
            struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer stack = fz_buffer_make(PROTO_STACK_MAX);
    struct proto_issue issue = {.is_placeholder = false};
    struct report report;
    struct report_envelope envelope;
    enum fz_code code = report_load_json(json, arena, &report, &envelope, err);
    if (code == FZ_OK)
        code = child_issue(&report, rules, arena, &stack, &issue, err);
    if (code != FZ_OK)
        return code;
    proto_issue_encode(&issue, out);
    return fz_buffer_done(out, err);
}

enum fz_code
child_group(struct child *child, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(child->limits.report_memory);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(2 * PROTO_STACK_MAX);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer body = fz_buffer_make(0);
    struct fz_map json = {.bytes = {NULL, 0}};
    FZ_CLEANUP(fz_closep) int report_fd = proto_take_fd(&child->inbox, 0);
    FZ_CLEANUP(fz_closep) int result_fd = proto_take_fd(&child->inbox, 1);
    struct fz_reader in = fz_reader_make(child->inbox.body, "request");
    const char *rules = proto_get_text(&in, PROTO_RULES_MAX, &arena);
    enum fz_code code = fz_read_done(&in, err);
    if (code == FZ_OK)
        code = fz_map_open_fd(report_fd, &json, err);
    if (code == FZ_OK)
        code = write_issue(json.bytes, rules, &arena, &out, err);
    fz_map_close(&json);
    if (code == FZ_OK)
        code = fz_file_write_fd(result_fd, fz_buffer_span(&out), err);
    if (code != FZ_OK)
        return code;
    proto_put_u64(&body, out.len);
    return child_send(child, PROTO_DONE, &body, err);
}
