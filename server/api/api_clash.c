/* The notes of reports that were sent with one id: each names the others. */
#include "server/api/api_clash.h"

#include "server/report/render.h"

static const char *
note_of(const struct store_clash *clash, struct fz_arena *arena)
{
    if (clash->is_claimed)
        return fz_arena_printf(arena, "id_clash: sent with the id %s, which another report has",
                               clash->id);
    return fz_arena_printf(
        arena, "id_clash: another report was sent with this id; it is stored as %s", clash->id);
}

enum fz_code
api_clash_notes(struct api_call *call, const char *id, const char ***ret, size_t *ret_n,
                struct fz_error *err)
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
    *ret = notes;
    *ret_n = n;
    return FZ_OK;
}

enum fz_code
api_clash_apply(struct api_call *call, const char *const *notes, size_t n, struct fz_span *result,
                struct fz_error *err)
{
    struct report report;
    struct report_envelope envelope;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    /* Nearly always: the stored text goes out as it is, without being read. */
    if (n == 0 || result->len == 0)
        return FZ_OK;
    enum fz_code code = report_load_json(*result, call->arena, &report, &envelope, err);
    if (code != FZ_OK)
        return code;
    /* Into the report, not beside it, so that all formats show them. */
    for (size_t i = 0; i < n; i++)
        report_note(&report, call->arena, "%s", notes[i]);
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
