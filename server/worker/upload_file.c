#include "server/worker/upload_file.h"

#include <string.h>

#include "base/attr.h"

/* Problems that decide alone, the worst first. */
static const struct {
    const char *problem;
    enum upload_verdict verdict;
} by_problem[] = {
    {"truncated", UPLOAD_TRUNCATED},       {"no_index", UPLOAD_UNUSABLE},
    {"not_linked", UPLOAD_NOT_LINKED},     {"encrypted", UPLOAD_ENCRYPTED},
    {"hidden_names", UPLOAD_HIDDEN_NAMES},
};

bool
worker_upload_has_problem(const struct proto_slice *slice, const char *kind)
{
    for (size_t i = 0; i < slice->problems.n; i++) {
        if (strcmp(slice->problems.list[i].kind, kind) == 0)
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
    for (size_t i = 0; i < FZ_ARRAY_LEN(by_problem); i++) {
        if (worker_upload_has_problem(slice, by_problem[i].problem))
            return by_problem[i].verdict;
    }
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
    case PROTO_SLICE_KINDS:
        break;
    }
    return STORE_SYMBOL_BINARY;
}

struct upload_problems
worker_upload_problems(const struct sym_problems *problems, struct fz_arena *arena)
{
    struct upload_problem *list = fz_arena_array(arena, problems->n, sizeof(*list));
    for (size_t i = 0; list && i < problems->n; i++)
        list[i] = (struct upload_problem){problems->list[i].kind, problems->list[i].text,
                                          problems->list[i].count};
    return (struct upload_problems){list, problems->n};
}

enum fz_code
worker_upload_file(const struct proto_slice *slice, struct fz_arena *arena, struct upload_file *ret,
                   struct fz_error *err)
{
    const struct sym_features *f = &slice->features;
    *ret = (struct upload_file){
        .uuid = slice->uuid,
        .kind = kind_of(slice->kind),
        .arch = slice->arch,
        .name = slice->name,
        .features = {.symtab = f->symtab,
                     .function_starts = f->function_starts,
                     .dwarf = f->dwarf,
                     .lines = f->lines,
                     .inlines = f->inlines,
                     .variables = f->variables,
                     .unwind = f->unwind,
                     .dwarf_min = f->dwarf_min,
                     .dwarf_max = f->dwarf_max,
                     .n_symbols = f->n_symbols,
                     .n_functions = f->n_functions,
                     .n_units = f->n_units},
        .problems = worker_upload_problems(&slice->problems, arena),
        .verdict = worker_upload_verdict(slice),
    };
    return ret->problems.list ? FZ_OK : fz_arena_fail(arena, err);
}
