/* The rules of grouping: GET and PUT /grouping, its dry run, and undo. */
#include <jansson.h>
#include <stdatomic.h>
#include <string.h>

#include "base/json/scan.h"
#include "base/json/write.h"
#include "server/api/api_handlers.h"
#include "server/api/api_object.h"
#include "server/api/api_session.h"
#include "server/group/group.h"
#include "storage/store_rules.h"

enum { KEY_MEMORY = 16 * 1024 * 1024 };

/* Makes keys under new rules. */
struct keyer {
    const struct group_rules *rules;
    struct fz_arena arena; /* of the key that was made last */
};

static void
keyer_deinit(struct keyer *keyer)
{
    fz_arena_deinit(&keyer->arena);
}

static enum fz_code
key_of(void *user, struct fz_span bytes, struct store_stack_key *ret, struct fz_error *err)
{
    struct keyer *keyer = user;
    struct group_stack stack;
    struct group_key key;
    fz_arena_deinit(&keyer->arena);
    fz_arena_init(&keyer->arena, KEY_MEMORY);
    /* Of a version that this program does not know: it keeps its key. */
    if (group_stack_decode(bytes, &keyer->arena, &stack, err) != FZ_OK)
        return fz_fail(err, FZ_E_NOT_FOUND, "a stack cannot be read");
    enum fz_code code = group_key(&stack, keyer->rules, &keyer->arena, &key, err);
    if (code != FZ_OK)
        return code;
    *ret = (struct store_stack_key){.title = key.title, .is_placeholder = key.is_placeholder};
    memcpy(ret->key, key.hash, sizeof(ret->key));
    return FZ_OK;
}

static enum fz_code
parse(struct api_call *call, const char *text, struct group_rules *ret, struct fz_error *err)
{
    if (!text || !*text) {
        *ret = group_rules_builtin();
        return FZ_OK;
    }
    return group_rules_parse(fz_span_cstr(text), call->arena, ret, err);
}

/* ---- reading -------------------------------------------------------------------------------- */

static void
write_history(struct json_write *w, const struct store_rules_version *list, size_t n)
{
    json_write_open(w, "history", '[');
    for (size_t i = 0; i < n; i++) {
        json_write_open(w, NULL, '{');
        json_write_i64(w, "version", list[i].version);
        json_write_time(w, "at", list[i].at_ms);
        json_write_text(w, "actor", list[i].actor);
        json_write_text(w, "rules", list[i].rules ? list[i].rules : "");
        if (list[i].undoes)
            json_write_i64(w, "undoes", list[i].undoes);
        if (list[i].is_undone)
            json_write_bool(w, "undone", true);
        json_write_u64(w, "merged", list[i].n_merged);
        json_write_u64(w, "split", list[i].n_split);
        json_write_close(w, '}');
    }
    json_write_close(w, ']');
}

enum fz_code
api_grouping_get(struct api_call *call, struct fz_error *err)
{
    struct store_project project;
    struct group_rules rules;
    struct store_rules_version *history = NULL;
    size_t n = 0;
    enum fz_code code =
        store_project_by_id(call->store, call->project_id, call->arena, &project, err);
    if (code == FZ_OK)
        code = store_rules_history(call->store, call->project_id, call->arena, &history, &n, err);
    if (code != FZ_OK)
        return code;
    /* An older program's rules that this one refuses: reports are grouped without them. */
    if (parse(call, project.rules, &rules, NULL) != FZ_OK)
        rules = group_rules_builtin();
    struct json_write w = api_begin(call, '{');
    json_write_text(&w, "rules", project.rules ? project.rules : "");
    json_write_i64(&w, "version", project.rules_version);
    json_write_text(&w, "rule_set", rules.version);
    write_history(&w, history, n);
    return api_answer(call, 200, &w, '}', err);
}

/* ---- changing ------------------------------------------------------------------------------- */

static enum fz_code
answer_effect(struct api_call *call, const struct store_rules_effect *effect, struct fz_error *err)
{
    struct json_write w = api_begin(call, '{');
    json_write_i64(&w, "version", effect->version);
    json_write_u64(&w, "stacks", effect->n_stacks);
    json_write_u64(&w, "moved", effect->n_moved);
    json_write_u64(&w, "reports", effect->n_reports);
    json_write_u64(&w, "merged", effect->n_merged);
    json_write_u64(&w, "split", effect->n_split);
    json_write_u64(&w, "new", effect->n_new);
    json_write_open(&w, "examples", '[');
    for (size_t i = 0; i < effect->n_examples; i++) {
        const struct store_rules_example *example = &effect->examples[i];
        json_write_open(&w, NULL, '{');
        json_write_text(&w, "kind", example->is_split ? "split" : "merged");
        json_write_i64(&w, "number", example->number);
        json_write_text(&w, "title", example->title);
        json_write_u64(&w, "reports", example->n_reports);
        json_write_open(&w, "into", '{');
        if (example->into)
            json_write_i64(&w, "number", example->into);
        json_write_text(&w, "title", example->into_title);
        json_write_close(&w, '}');
        json_write_close(&w, '}');
    }
    json_write_close(&w, ']');
    return api_answer(call, 200, &w, '}', err);
}

/* {"rules", "version"}; *ret_version stays without one. */
static enum fz_code
read_rules(struct api_call *call, const char **ret_text, int64_t *ret_version, struct fz_error *err)
{
    const struct limits *limits = call->api->config.limits;
    struct json_scan_limits scan = {.depth = limits->json_depth,
                                    .output_bytes = 2 * limits->json_bytes};
    json_auto_t *root = NULL;
    enum fz_code code = json_scan_load(http_body(call->request), &scan, NULL, &root, err);
    if (code != FZ_OK)
        return code;
    const json_t *version = json_object_get(root, "version");
    const char *text = json_string_value(json_object_get(root, "rules"));
    if (!text)
        return fz_fail(err, FZ_E_MALFORMED,
                       "rules: must be the text of the rules, one a line; \"\" for none");
    if (version && !json_is_integer(version))
        return fz_fail(err, FZ_E_MALFORMED, "version: must be the number that GET has shown");
    *ret_text = fz_arena_strdup(call->arena, text);
    if (!*ret_text)
        return fz_arena_fail(call->arena, err);
    if (version)
        *ret_version = json_integer_value(version);
    return FZ_OK;
}

/* change->rules are tried or applied. */
static enum fz_code
run(struct api_call *call, struct store_rules_change *change, bool is_dry, struct fz_error *err)
{
    struct group_rules rules;
    struct store_rules_effect effect;
    enum fz_code code = parse(call, change->rules, &rules, err);
    if (code == FZ_OK)
        code = api_sender_name(call, &change->actor, err);
    if (code != FZ_OK)
        return code;
    if (change->rules && !*change->rules)
        change->rules = NULL;
    FZ_CLEANUP(keyer_deinit) struct keyer keyer = {.rules = &rules, .arena = fz_arena_make(0)};
    change->key_of = key_of;
    change->user = &keyer;
    if (is_dry) {
        code = store_rules_try(call->store, call->project_id, change, call->arena, &effect, err);
    } else {
        /* Before the transaction begins, so that a report that comes now waits as well. */
        atomic_fetch_add(&call->api->n_moves, 1);
        code = store_rules_apply(call->store, call->project_id, change, call->arena, &effect, err);
        atomic_fetch_sub(&call->api->n_moves, 1);
    }
    return code == FZ_OK ? answer_effect(call, &effect, err) : code;
}

static enum fz_code
run_body(struct api_call *call, bool is_dry, struct fz_error *err)
{
    struct store_rules_change change = {0};
    struct store_project project;
    enum fz_code code =
        store_project_by_id(call->store, call->project_id, call->arena, &project, err);
    if (code != FZ_OK)
        return code;
    /* Without a version: whatever they are now. */
    change.based_on = project.rules_version;
    code = read_rules(call, &change.rules, &change.based_on, err);
    return code == FZ_OK ? run(call, &change, is_dry, err) : code;
}

enum fz_code
api_grouping_put(struct api_call *call, struct fz_error *err)
{
    return run_body(call, false, err);
}

enum fz_code
api_grouping_try(struct api_call *call, struct fz_error *err)
{
    return run_body(call, true, err);
}

enum fz_code
api_grouping_undo(struct api_call *call, struct fz_error *err)
{
    struct store_rules_change change = {0};
    struct store_project project;
    enum fz_code code =
        store_project_by_id(call->store, call->project_id, call->arena, &project, err);
    if (code == FZ_OK)
        code = store_rules_before(call->store, call->project_id, call->arena, &change.rules,
                                  &change.undoes, err);
    if (code != FZ_OK)
        return code;
    change.based_on = project.rules_version;
    return run(call, &change, false, err);
}
