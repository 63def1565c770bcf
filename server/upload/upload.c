#include "server/upload/upload.h"

#include <string.h>

#include "base/json/scan.h"

/* ---- verdicts ---- */

/* What a verdict says. */
struct advice {
    const char *code; /* "truncated" */
    bool retry;       /* the same upload may succeed later: the file was not complete */
    const char *todo; /* what to do, for people; NULL where there is nothing to do */
};

static const struct advice advices[] = {
    [UPLOAD_NOT_JUDGED] = {NULL, false, NULL},
    [UPLOAD_OK] = {"ok", false, NULL},
    [UPLOAD_TRUNCATED] =
        {"truncated", true,
         "the file was still being written, or was cut or damaged on its way; wait "
         "until the build has finished with it and upload it again"},
    [UPLOAD_UNUSABLE] = {"unusable", false,
                         "nothing can be read from it; see the problems, and check it with "
                         "'dwarfdump --verify' or 'framezero inspect'"},
    [UPLOAD_NOT_LINKED] = {"not_linked", false,
                           "an app does not load object files; upload the dSYM of the linked "
                           "product"},
    [UPLOAD_ENCRYPTED] = {"encrypted", false,
                          "a binary from the App Store is encrypted; upload the dSYM or binary of "
                          "your own archive"},
    [UPLOAD_HIDDEN_NAMES] = {"hidden_names", false,
                             "its names were hidden by a bitcode build; upload the BCSymbolMaps "
                             "folder of the .xcarchive, or the dSYMs that App Store Connect gives"},
    [UPLOAD_NO_DWARF] = {"no_dwarf", false,
                         "a dSYM without debug information gives no files and lines; set "
                         "DEBUG_INFORMATION_FORMAT to dwarf-with-dsym and build again"},
    [UPLOAD_NO_LINES] = {"no_lines", false,
                         "no line tables; compile with -g or -gline-tables-only"},
    [UPLOAD_SYMBOLS_ONLY] = {"symbols_only", false,
                             "a binary gives the names of functions that were not stripped; upload "
                             "its dSYM for files, lines and inlined calls"},
    [UPLOAD_MAP] = {"map", false, NULL},
};

/* e2e.variables measures the figures: values that optimised programs printed of themselves. */
static const char wants_binary[] =
    "for the values of variables upload the binary too: in optimised code 59 % instead of 51 % of "
    "them can be read";

static enum upload_verdict
find_verdict(const char *code)
{
    /* From UPLOAD_OK on: NOT_JUDGED has no code. */
    for (size_t i = UPLOAD_OK; code && i < FZ_ARRAY_LEN(advices); i++) {
        if (strcmp(advices[i].code, code) == 0)
            return (enum upload_verdict)i;
    }
    return UPLOAD_NOT_JUDGED;
}

/* ---- features ---- */

/* Each name of the JSON with its member: one table, so that what is written is also read. */
static const struct {
    const char *name;
    size_t offset;
} flags[] = {{"symtab", offsetof(struct sym_features, symtab)},
             {"function_starts", offsetof(struct sym_features, function_starts)},
             {"dwarf", offsetof(struct sym_features, dwarf)},
             {"lines", offsetof(struct sym_features, lines)},
             {"inlines", offsetof(struct sym_features, inlines)},
             {"variables", offsetof(struct sym_features, variables)},
             {"unwind", offsetof(struct sym_features, unwind)}},
  counts[] = {{"symbols", offsetof(struct sym_features, n_symbols)},
              {"functions", offsetof(struct sym_features, n_functions)},
              {"units", offsetof(struct sym_features, n_units)}};

void
upload_features_write(struct json_write *w, const char *key, const struct sym_features *f)
{
    json_write_open(w, key, '{');
    for (size_t i = 0; i < FZ_ARRAY_LEN(flags); i++) {
        bool value;
        memcpy(&value, (const char *)f + flags[i].offset, sizeof(value));
        json_write_bool(w, flags[i].name, value);
    }
    /* Without DWARF both are 0, which is not a version. */
    if (f->dwarf) {
        json_write_u64(w, "dwarf_min", f->dwarf_min);
        json_write_u64(w, "dwarf_max", f->dwarf_max);
    }
    for (size_t i = 0; i < FZ_ARRAY_LEN(counts); i++) {
        uint64_t value;
        memcpy(&value, (const char *)f + counts[i].offset, sizeof(value));
        json_write_u64(w, counts[i].name, value);
    }
    json_write_close(w, '}');
}

static uint64_t
read_u64(const json_t *object, const char *name)
{
    json_int_t value = json_integer_value(json_object_get(object, name));
    return value > 0 ? (uint64_t)value : 0;
}

static void
read_features(const json_t *object, struct sym_features *ret)
{
    for (size_t i = 0; i < FZ_ARRAY_LEN(flags); i++) {
        bool value = json_is_true(json_object_get(object, flags[i].name));
        memcpy((char *)ret + flags[i].offset, &value, sizeof(value));
    }
    ret->dwarf_min = (unsigned)read_u64(object, "dwarf_min");
    ret->dwarf_max = (unsigned)read_u64(object, "dwarf_max");
    for (size_t i = 0; i < FZ_ARRAY_LEN(counts); i++) {
        uint64_t value = read_u64(object, counts[i].name);
        memcpy((char *)ret + counts[i].offset, &value, sizeof(value));
    }
}

/* ---- problems ---- */

void
upload_problems_write(struct json_write *w, const char *key, const struct upload_problems *problems)
{
    json_write_open(w, key, '[');
    for (size_t i = 0; i < problems->n; i++) {
        /* The members of the response in docs/api/symbols-post.md, in its order. */
        json_write_open(w, NULL, '{');
        json_write_text(w, "kind", problems->list[i].kind);
        json_write_text(w, "text", problems->list[i].text);
        json_write_u64(w, "count", problems->list[i].count);
        json_write_close(w, '}');
    }
    json_write_close(w, ']');
}

/* ---- writing ---- */

static void
write_file(struct json_write *w, const struct upload_file *file)
{
    char uuid[FZ_UUID_TEXT];
    fz_uuid_format(&file->uuid, uuid);
    json_write_open(w, NULL, '{');
    json_write_text(w, "uuid", uuid);
    json_write_text(w, "arch", file->arch);
    json_write_text(w, "kind", store_symbol_kind_name(file->kind));
    json_write_text(w, "name", file->name);
    json_write_u64(w, "size", file->size);
    json_write_text(w, "status", file->is_new ? "new" : "known");
    upload_features_write(w, "features", &file->features);
    upload_problems_write(w, "problems", &file->problems);
    /* Results that an older version stored have none, and none is made up for them. */
    if (file->verdict != UPLOAD_NOT_JUDGED) {
        const struct advice *advice = &advices[file->verdict];
        json_write_open(w, "verdict", '{');
        json_write_text(w, "code", advice->code);
        if (advice->retry)
            json_write_bool(w, "retry", true);
        json_write_text(w, "todo", file->wants_binary ? wants_binary : advice->todo);
        json_write_close(w, '}');
    }
    json_write_close(w, '}');
}

void
upload_result_write(struct json_write *w, const char *key, const struct upload_result *result)
{
    json_write_open(w, key, '{');
    json_write_open(w, "files", '[');
    for (size_t i = 0; i < result->n_files; i++)
        write_file(w, &result->files[i]);
    json_write_close(w, ']');
    /* Left out in the usual case, as docs/api shows it. */
    if (result->problems.n)
        upload_problems_write(w, "problems", &result->problems);
    json_write_u64(w, "unblocked_reports", result->n_unblocked);
    json_write_close(w, '}');
}

/* ---- reading ---- */

/* What an upload's result may take as a tree: it has at most as many files as an archive may. */
enum { TREE_BYTES = 64 * 1024 * 1024, TREE_DEPTH = 8 };

/* A copy in the arena; "" without such a member. NULL: no memory. */
static const char *
read_text(const json_t *object, const char *name, struct fz_arena *arena)
{
    const char *text = json_string_value(json_object_get(object, name));
    return fz_arena_strdup(arena, text ? text : "");
}

static bool
read_problems(const json_t *array, struct fz_arena *arena, struct upload_problems *ret)
{
    size_t n = json_array_size(array);
    struct upload_problem *list = fz_arena_array(arena, n, sizeof(*list));
    for (size_t i = 0; list && i < n; i++) {
        const json_t *one = json_array_get(array, i);
        list[i] = (struct upload_problem){.kind = read_text(one, "kind", arena),
                                          .text = read_text(one, "text", arena),
                                          .count = read_u64(one, "count")};
        if (!list[i].kind || !list[i].text)
            return false;
    }
    *ret = (struct upload_problems){list, n};
    return list != NULL;
}

static bool
read_file(const json_t *object, struct fz_arena *arena, struct upload_file *ret)
{
    const char *kind = json_string_value(json_object_get(object, "kind"));
    const char *uuid = json_string_value(json_object_get(object, "uuid"));
    const char *status = json_string_value(json_object_get(object, "status"));
    /* Results outlive versions: what an older one did not write reads as unknown. */
    const json_t *verdict = json_object_get(object, "verdict");
    if (kind)
        fz_ignore(store_symbol_kind_parse(kind, &ret->kind)); /* stays a dSYM */
    if (uuid)
        fz_ignore(fz_uuid_parse(fz_span_cstr(uuid), &ret->uuid)); /* stays nil */
    ret->arch = read_text(object, "arch", arena);
    ret->name = read_text(object, "name", arena);
    ret->size = read_u64(object, "size");
    ret->is_new = status && strcmp(status, "new") == 0;
    read_features(json_object_get(object, "features"), &ret->features);
    ret->verdict = find_verdict(json_string_value(json_object_get(verdict, "code")));
    /* The verdict that has no advice of its own. */
    ret->wants_binary = ret->verdict == UPLOAD_OK && json_object_get(verdict, "todo") != NULL;
    return ret->arch && ret->name &&
           read_problems(json_object_get(object, "problems"), arena, &ret->problems);
}

enum fz_code
upload_result_read(const char *json, struct fz_arena *arena, struct upload_result *ret,
                   struct fz_error *err)
{
    const struct json_scan_limits bounds = {
        .depth = TREE_DEPTH, .output_bytes = TREE_BYTES, .tree_bytes = TREE_BYTES};
    json_auto_t *root = NULL;
    struct upload_result result = {.n_files = 0};
    enum fz_code code = json_scan_load(fz_span_cstr(json ? json : "{}"), &bounds, NULL, &root, err);
    /* Passed on: memory may be there the next time, and the stored text is not damaged. */
    if (code == FZ_E_NO_MEMORY)
        return code;
    if (code != FZ_OK)
        return fz_fail(err, FZ_E_INTERNAL, "the stored result of an upload is damaged");
    const json_t *files = json_object_get(root, "files");
    result.n_files = json_array_size(files);
    result.files = fz_arena_array(arena, result.n_files, sizeof(*result.files));
    if (!result.files || !read_problems(json_object_get(root, "problems"), arena, &result.problems))
        return fz_arena_fail(arena, err);
    for (size_t i = 0; i < result.n_files; i++) {
        if (!read_file(json_array_get(files, i), arena, &result.files[i]))
            return fz_arena_fail(arena, err);
    }
    result.n_unblocked = read_u64(root, "unblocked_reports");
    *ret = result;
    return FZ_OK;
}
