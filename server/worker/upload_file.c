#include "server/worker/upload_file.h"

#include "base/text.h"

/* The verdict of a problem that decides about a file alone. UPLOAD_OK: it does not, since the rest of
 * the file may be usable. */
static enum upload_verdict
verdict_of(enum sym_problem_kind kind)
{
    static const enum upload_verdict verdicts[SYM_PROBLEM_KINDS] = {
        [SYM_PROBLEM_TRUNCATED] = UPLOAD_TRUNCATED,
        [SYM_PROBLEM_NO_INDEX] = UPLOAD_UNUSABLE,
        [SYM_PROBLEM_NOT_LINKED] = UPLOAD_NOT_LINKED,
        [SYM_PROBLEM_ENCRYPTED] = UPLOAD_ENCRYPTED,
        [SYM_PROBLEM_HIDDEN_NAMES] = UPLOAD_HIDDEN_NAMES,
        [SYM_PROBLEM_BAD_MEMBER] = UPLOAD_TRUNCATED, /* damaged on its way */
    };
    return verdicts[kind] ? verdicts[kind] : UPLOAD_OK;
}

bool
worker_upload_has_problem(const struct proto_slice *slice, enum sym_problem_kind kind)
{
    for (size_t i = 0; i < slice->problems.n; i++) {
        if (slice->problems.list[i].kind == kind)
            return true;
    }
    return false;
}

bool
worker_upload_is_map(const struct proto_slice *slice)
{
    return slice->kind == PROTO_SLICE_BCSYMBOLMAP || slice->kind == PROTO_SLICE_UUIDMAP;
}

enum upload_verdict
worker_upload_verdict(const struct proto_slice *slice)
{
    const struct sym_features *f = &slice->features;
    if (worker_upload_is_map(slice))
        return UPLOAD_MAP;
    /* The worst problem decides; the enum lists the worst first. */
    for (int kind = 0; kind < SYM_PROBLEM_KINDS; kind++) {
        enum upload_verdict verdict = verdict_of((enum sym_problem_kind)kind);
        if (verdict != UPLOAD_OK && worker_upload_has_problem(slice, (enum sym_problem_kind)kind))
            return verdict;
    }
    /* A binary without DWARF is as expected; a dSYM without it is a mistake of the build. */
    if (!f->dwarf)
        return slice->kind == PROTO_SLICE_DSYM ? UPLOAD_NO_DWARF : UPLOAD_SYMBOLS_ONLY;
    return f->lines ? UPLOAD_OK : UPLOAD_NO_LINES;
}

static enum store_symbol_kind
kind_of(enum proto_slice_kind kind)
{
    switch (kind) {
    case PROTO_SLICE_DSYM:
        return STORE_SYMBOL_DSYM;
    case PROTO_SLICE_BCSYMBOLMAP:
        return STORE_SYMBOL_BCSYMBOLMAP;
    case PROTO_SLICE_UUIDMAP:
        return STORE_SYMBOL_UUIDMAP;
    case PROTO_SLICE_BINARY:
    /* Not a kind; the decoder rejects it. */
    case PROTO_SLICE_KINDS:
        break;
    }
    return STORE_SYMBOL_BINARY;
}

struct upload_problems
worker_upload_problems(const struct sym_problems *problems, struct fz_arena *arena)
{
    struct upload_problem *list = fz_arena_array(arena, problems->n, sizeof(*list));
    /* A child makes them visible, too, but is not trusted with it. */
    for (size_t i = 0; list && i < problems->n; i++) {
        list[i] = (struct upload_problem){sym_problem_kind_name(problems->list[i].kind),
                                          fz_text_visible_copy(arena, problems->list[i].text),
                                          problems->list[i].count};
        if (!list[i].text)
            return (struct upload_problems){NULL, 0};
    }
    return (struct upload_problems){list, problems->n};
}

enum fz_code
worker_upload_file(const struct proto_slice *slice, struct fz_arena *arena, struct upload_file *ret,
                   struct fz_error *err)
{
    *ret = (struct upload_file){
        .uuid = slice->uuid,
        .kind = kind_of(slice->kind),
        .arch = slice->arch,
        .name = fz_text_visible_copy(arena, slice->name),
        .features = slice->features,
        .problems = worker_upload_problems(&slice->problems, arena),
        .verdict = worker_upload_verdict(slice),
    };
    return ret->problems.list && ret->name ? FZ_OK : fz_arena_fail(arena, err);
}
