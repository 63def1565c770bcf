#include "server/api/api_others.h"

#include "server/report/render.h"
#include "storage/store_runs.h"

static const char *
note_of(const struct store_clash *clash, struct fz_arena *arena)
{
    if (clash->is_claimed)
        return fz_arena_printf(arena, "id_clash: sent with the id %s, which another report has",
                               clash->id);
    return fz_arena_printf(
        arena, "id_clash: another report was sent with this id; it is stored as %s", clash->id);
}

/* A note for each report that was sent with one id: it names the other. */
static enum fz_code
find_clashes(struct api_call *call, const char *id, struct api_others *others, struct fz_error *err)
{
    struct store_clash *clashes = NULL;
    size_t n = 0;
    enum fz_code code =
        store_report_clashes(call->store, call->project_id, id, call->arena, &clashes, &n, err);
    if (code != FZ_OK)
        return code;
    /* Also with none: an array of no elements is not NULL. */
    const char **notes = fz_arena_array(call->arena, n, sizeof(*notes));
    for (size_t i = 0; notes && i < n; i++) {
        notes[i] = note_of(&clashes[i], call->arena);
        if (!notes[i])
            return fz_arena_fail(call->arena, err);
    }
    if (!notes)
        return fz_arena_fail(call->arena, err);
    others->notes = notes;
    others->n_notes = n;
    return FZ_OK;
}

enum fz_code
api_others_find(struct api_call *call, const struct store_report *report, struct api_others *ret,
                struct fz_error *err)
{
    *ret = (struct api_others){.n_notes = 0};
    enum fz_code code = find_clashes(call, report->id, ret, err);
    return code != FZ_OK ? code
                         : store_report_same_crash(call->store, report, call->arena,
                                                   &ret->same_crash, &ret->n_same_crash, err);
}

enum fz_code
api_others_apply(struct api_call *call, const struct api_others *others, struct fz_span *result,
                 struct fz_error *err)
{
    struct report report;
    struct report_envelope envelope;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    /* Nearly always: the stored text goes out as it is, without being read. */
    if (others->n_notes + others->n_same_crash == 0 || result->len == 0)
        return FZ_OK;
    enum fz_code code = report_load_json(*result, call->arena, &report, &envelope, err);
    if (code != FZ_OK)
        return code;
    /* Into the report, not beside it, so that all formats show them. */
    for (size_t i = 0; i < others->n_notes; i++)
        report_note(&report, call->arena, "%s", others->notes[i]);
    envelope.same_crash = others->same_crash;
    envelope.n_same_crash = others->n_same_crash;
    code = report_render_json(&report, &envelope, &out, err);
    if (code == FZ_OK)
        code = fz_buffer_done(&out, err);
    if (code != FZ_OK)
        return code;
    const char *copy = fz_arena_text(call->arena, fz_buffer_span(&out));
    if (!copy)
        return fz_arena_fail(call->arena, err);
    *result = fz_span_make(copy, out.len);
    return FZ_OK;
}
