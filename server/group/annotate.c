/* Grouping one report: stack, key and variant, and what the report shows of them. */
#include <string.h>

#include "base/text.h"
#include "server/group/own.h"
#include "server/group/parts.h"
#include "server/report/report.h"

enum { HASH_DIGITS = 16 };

/* ---- in_app ---- */

/* What frames of the same image and module have in common is found once. */
struct app_code {
    const struct report *report;
    const struct group_rules *rules;
    const struct group_image *images;
};

/* Is this call the app's own code, by its own evidence alone? */
static bool
is_own_call(const struct app_code *c, const struct report_frame *frame,
            const struct report_symbol *symbol, struct fz_arena *arena)
{
    const struct group_stack stack = {.images = (struct group_image *)(uintptr_t)c->images,
                                      .n_images = c->report->n_images};
    struct group_frame call = {.image = frame->image};
    bool own = group_origin_is_own(c->images[frame->image].origin);
    if (!own && c->rules->n == 0)
        return false;
    if (symbol) {
        struct fz_span module = group_module_of(symbol->mangled);
        call.name = symbol->function;
        call.file = symbol->file && *symbol->file != '<' ? symbol->file : NULL;
        /* An arena's text, since rules compare C strings; out of memory it is unknown. */
        call.module = module.len ? fz_arena_text(arena, module) : NULL;
        own = own && !group_file_rule(call.file) &&
              !(call.module && group_module_is_system(call.module)) &&
              !(call.name && fz_text_has_prefix(call.name, "std::"));
    }
    const struct group_rule *rule =
        c->rules->n
            ? group_rules_find(c->rules, &stack, &call, 1u << GROUP_OWN | 1u << GROUP_NOT_OWN)
            : NULL;
    return rule ? rule->effect == GROUP_OWN : own;
}

static void
mark_frames(const struct app_code *c, struct report_frame *frames, size_t n, struct fz_arena *arena)
{
    for (size_t i = 0; i < n; i++) {
        struct report_frame *frame = &frames[i];
        frame->in_app = false;
        if (frame->image < 0 || (size_t)frame->image >= c->report->n_images)
            continue;
        if (frame->n_symbols == 0)
            frame->in_app = is_own_call(c, frame, NULL, arena);
        for (size_t k = 0; k < frame->n_symbols && !frame->in_app; k++)
            frame->in_app = is_own_call(c, frame, &frame->symbols[k], arena);
    }
}

static bool
mark_app_code(struct report *report, const struct group_rules *rules, struct fz_arena *arena)
{
    struct group_image *images = fz_arena_array(arena, report->n_images, sizeof(*images));
    const enum group_origin *origins = group_find_origins(report, arena);
    if (!images || !origins)
        return false;
    for (size_t i = 0; i < report->n_images; i++)
        images[i] = (struct group_image){
            .name = report->images[i].name, .path = report->images[i].path, .origin = origins[i]};
    const struct app_code code = {report, rules, images};
    for (size_t i = 0; i < report->n_threads; i++)
        mark_frames(&code, report->threads[i].frames, report->threads[i].n_frames, arena);
    mark_frames(&code, report->exception_frames, report->n_exception_frames, arena);
    return true;
}

/* ---- the chosen backtrace ---- */

/* The rule of each call; a frame has that of the call that counts, or of its innermost one. */
static void
mark_rules(const struct group_stack *stack, const struct group_key *key, struct report *report)
{
    struct report_thread *thread = report_crashed_thread(report);
    bool has_exception = stack->source == GROUP_SOURCE_EXCEPTION;
    struct report_frame *frames = has_exception ? report->exception_frames
                                  : thread      ? thread->frames
                                                : NULL;
    int rank = 0;
    for (size_t i = 0; i < stack->n_frames; i++) {
        const struct group_verdict *v = &key->frames[i];
        struct report_frame *frame = &frames[stack->frames[i].number];
        bool is_first = i == 0 || stack->frames[i - 1].number != stack->frames[i].number;
        int this_rank = v->use == GROUP_USE_ANCHOR ? 3 : v->use == GROUP_USE_CONTEXT ? 2 : 1;
        if (is_first || this_rank > rank) {
            frame->rule = v->rule;
            rank = this_rank;
        }
        frame->is_anchor = frame->is_anchor || v->use == GROUP_USE_ANCHOR;
        /* The key knows more than one frame does: the modules of the others. */
        frame->in_app = v->is_own || (!is_first && frame->in_app);
    }
}

static bool
set_issue(const struct group_result *result, struct report *report, struct fz_arena *arena)
{
    const struct group_stack *stack = &result->stack;
    const struct group_key *key = &result->key;
    char *hash = fz_arena_alloc(arena, HASH_DIGITS + 1);
    char *variant = fz_arena_alloc(arena, HASH_DIGITS + 1);
    if (!hash || !variant)
        return false;
    fz_text_hex(fz_span_make(key->hash, HASH_DIGITS / 2), hash);
    fz_text_hex(fz_span_make(result->variant.hash, HASH_DIGITS / 2), variant);
    report->issue = (struct report_issue){.hash = hash,
                                          .variant = variant,
                                          .label = result->variant.label,
                                          .key = key->words,
                                          .n_key = key->n_words};
    if (key->anchor_frame >= 0)
        report->issue.anchor = stack->frames[key->anchor_frame].symbol;
    return true;
}

enum fz_code
group_report(struct report *report, const struct group_rules *rules, struct fz_arena *arena,
             struct group_result *ret, struct fz_error *err)
{
    enum fz_code code = group_stack_make(report, arena, &ret->stack, err);
    if (code == FZ_OK)
        code = group_key(&ret->stack, rules, arena, &ret->key, err);
    if (code == FZ_OK)
        code = group_variant(report, &ret->stack, &ret->key, arena, &ret->variant, err);
    if (code != FZ_OK)
        return code;
    if (!mark_app_code(report, rules, arena))
        return fz_arena_fail(arena, err);
    mark_rules(&ret->stack, &ret->key, report);
    return set_issue(ret, report, arena) ? FZ_OK : fz_arena_fail(arena, err);
}
