/*
 * Issues of reports, on the trusted side: what a child says of one is checked and put into storage's
 * types; reports that were processed before there were issues get theirs while no job waits.
 */
#include <string.h>

#include "base/attr.h"
#include "base/file.h"
#include "base/log.h"
#include "base/time.h"
#include "server/group/group.h"
#include "server/worker/job.h"
#include "storage/store_regroup.h"

enum {
    REGROUP_AT_ONCE = 16,
    REGROUP_CHECK_MS = 60 * 1000, /* how often to look, once there were none */
    REGROUP_LOG_MS = 10 * 1000,
    REGROUP_COUNT_MAX = 1000 * 1000
};

/* ---- what a child says ---- */

static bool
has_text(const char *const *list, size_t n, const char *text)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(list[i], text) == 0)
            return true;
    }
    return false;
}

/* The functions and files of the stack, each once: what reports are searched by. */
static void
collect_texts(const struct group_stack *stack, const char **functions, const char **files,
              struct store_grouping *ret)
{
    for (size_t i = 0; i < stack->n_frames; i++) {
        const struct group_frame *frame = &stack->frames[i];
        if (frame->name && ret->n_functions < STORE_STACK_TEXTS &&
            !has_text(functions, ret->n_functions, frame->name))
            functions[ret->n_functions++] = frame->name;
        if (frame->file && ret->n_files < STORE_STACK_TEXTS &&
            !has_text(files, ret->n_files, frame->file))
            files[ret->n_files++] = frame->file;
    }
    ret->functions = functions;
    ret->files = files;
}

enum fz_code
job_grouping(const struct proto_issue *issue, int64_t rules_version, struct fz_arena *arena,
             const struct store_grouping **ret, struct fz_error *err)
{
    _Static_assert((int)PROTO_HASH == (int)FZ_SHA256_LEN, "keys are SHA-256");
    struct group_stack stack;
    /* Keys are made of the stack again whenever rules change, so it must be one. */
    enum fz_code code = group_stack_decode(issue->stack, arena, &stack, err);
    if (code != FZ_OK)
        return code;
    struct store_grouping *made = fz_arena_alloc(arena, sizeof(*made));
    const char **functions = fz_arena_array(arena, STORE_STACK_TEXTS, sizeof(*functions));
    const char **files = fz_arena_array(arena, STORE_STACK_TEXTS, sizeof(*files));
    if (!made || !functions || !files)
        return fz_arena_fail(arena, err);
    *made = (struct store_grouping){.rules_version = rules_version,
                                    .stack = issue->stack,
                                    .title = issue->title ? issue->title : "",
                                    .is_placeholder = issue->is_placeholder,
                                    .variant_label = issue->label ? issue->label : ""};
    memcpy(made->key, issue->key, sizeof(made->key));
    memcpy(made->variant, issue->variant, sizeof(made->variant));
    collect_texts(&stack, functions, files, made);
    *ret = made;
    return FZ_OK;
}

/* ---- reports of an older program ---- */

static enum fz_code
ask_child(struct worker *w, const struct store_project *project, struct fz_span json,
          struct fz_arena *arena, struct proto_issue *ret, struct fz_error *err)
{
    static const struct child_process_answer kinds[] = {{0}};
    const struct child_process_plan plan = {.role = PROTO_ROLE_REPORTS,
                                            .project_id = project->id,
                                            .requests_max = JOB_CHILD_REPORTS,
                                            .limits = w->config->limits,
                                            .metrics = w->config->metrics,
                                            .backoff = &w->backoff};
    FZ_CLEANUP(fz_closep) int json_fd = -1;
    FZ_CLEANUP(fz_closep) int result_fd = -1;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer body = fz_buffer_make(0);
    struct fz_span bytes = {NULL, 0};
    enum fz_code code = children_file_make(json, &json_fd, err);
    if (code == FZ_OK)
        code = children_file_make((struct fz_span){NULL, 0}, &result_fd, err);
    if (code == FZ_OK)
        code = child_process_ensure(&w->child, &plan, err);
    if (code != FZ_OK)
        return code;
    child_process_begin(&w->child, w->config->limits->child_wall_s);
    proto_put_text(&body, project->rules, PROTO_RULES_MAX);
    const int fds[PROTO_FDS_MAX] = {json_fd, result_fd};
    code = child_process_send(&w->child, PROTO_GROUP, &body, fds, 2, err);
    if (code == FZ_OK)
        code = child_process_converse(&w->child, kinds, NULL, err);
    if (code != FZ_OK)
        return code;
    struct fz_reader in = fz_reader_make(w->child.inbox.body, "result");
    uint64_t len = fz_read_u64(&in);
    if (in.failed || len > 2 * (uint64_t)PROTO_STACK_MAX)
        return child_process_violation(&w->child, err);
    code = children_file_read(result_fd, 0, len, arena, &bytes, err);
    if (code == FZ_OK)
        code = proto_issue_decode(bytes, arena, ret, err);
    return code == FZ_E_MALFORMED ? child_process_violation(&w->child, err) : code;
}

/* NULL in ret->grouping: nothing can be said of it, now or later. */
static enum fz_code
group_one(struct worker *w, const struct store_project *project, struct fz_arena *arena,
          struct store_regrouped *ret, struct fz_error *err)
{
    struct fz_span json;
    struct proto_issue issue;
    enum fz_code code =
        store_report_result(w->store, project->id, ret->ungrouped->report.id, arena, &json, err);
    if (code == FZ_OK)
        code = ask_child(w, project, json, arena, &issue, err);
    if (code == FZ_OK)
        code = job_grouping(&issue, project->rules_version, arena, &ret->grouping, err);
    /* Not the report's fault: it is looked at again later. */
    bool again = code == FZ_E_UNAVAILABLE || code == FZ_E_NO_MEMORY;
    return again && !w->child.died ? code : FZ_OK;
}

static enum fz_code
group_some(struct worker *w, int64_t project_id, size_t *ret_n, struct fz_error *err)
{
    const struct limits *limits = w->config->limits;
    FZ_CLEANUP(fz_arena_deinit)
    struct fz_arena arena =
        fz_arena_make(REGROUP_AT_ONCE * (limits->report_memory + 4 * (size_t)PROTO_STACK_MAX));
    struct store_project project;
    struct store_ungrouped *found = NULL;
    struct store_regrouped list[REGROUP_AT_ONCE];
    enum fz_code code = store_project_by_id(w->store, project_id, &arena, &project, err);
    if (code == FZ_OK)
        code =
            store_ungrouped_list(w->store, project_id, REGROUP_AT_ONCE, &arena, &found, ret_n, err);
    for (size_t i = 0; code == FZ_OK && i < *ret_n; i++) {
        list[i] = (struct store_regrouped){.ungrouped = &found[i]};
        w->child.died = false;
        code = group_one(w, &project, &arena, &list[i], err);
    }
    return code == FZ_OK ? store_regroup(w->store, project_id, list, *ret_n, err) : code;
}

static void
log_progress(struct worker *w, int64_t now, bool is_end)
{
    uint64_t left = 0;
    if (!is_end && now - w->regroup_logged_ms < REGROUP_LOG_MS)
        return;
    w->regroup_logged_ms = now;
    if (store_ungrouped_count(w->store, REGROUP_COUNT_MAX, &left, NULL) == FZ_OK)
        fz_log(FZ_LOG_INFO, "older reports get their issues", "done=%llu left=%llu",
               (unsigned long long)w->n_regrouped, (unsigned long long)left);
}

bool
worker_regroup(struct worker *w)
{
    struct fz_error err;
    int64_t now = fz_time_monotonic_ms(), project_id = 0;
    size_t n = 0;
    if (w->regroup_due_ms > now)
        return false;
    enum fz_code code = store_ungrouped_project(w->store, &project_id, &err);
    if (code == FZ_OK && project_id)
        code = group_some(w, project_id, &n, &err);
    w->n_regrouped += n;
    if (code != FZ_OK)
        job_warn("older reports cannot be given issues", &err);
    if (code == FZ_OK && n > 0) {
        log_progress(w, now, false);
        return true;
    }
    w->regroup_due_ms = now + REGROUP_CHECK_MS;
    if (w->n_regrouped)
        log_progress(w, now, true);
    w->n_regrouped = 0;
    return false;
}
