#include "server/cli/inspect.h"

#include <unistd.h>

#include "server/cli/inspect_output.h"
#include "server/cli/slice_index.h"
#include "server/config/term.h"

static const char command[] = "inspect";
static const size_t ARENA_CAP = (size_t)2 << 30;

static void
add_difference(void *user, const char *text)
{
    struct inspect_result *result = user;
    /* Counted again for each, which the limit on lines keeps cheap. */
    size_t lines = 0;
    for (size_t i = 0; i < result->differences.len; i++)
        lines += result->differences.data[i] == '\n';
    if (lines < INSPECT_DIFFERENCES_MAX)
        fz_buffer_printf(&result->differences, "    %s\n", text);
}

/* Problems are part of the result; a failure here is one of this machine. */
static enum fz_code
inspect_slice(const struct sym_file_slice *slice, bool verify, struct inspect_result *ret,
              struct fz_error *err)
{
    struct sym_build_stats stats = {0};
    FZ_CLEANUP(sym_index_closep) struct sym_index *index = NULL;
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(ARENA_CAP);
    ret->slice = slice;
    /* A copy: building the index adds to it. */
    ret->problems = slice->problems;
    enum fz_code code = slice_index_build(slice, &index, &stats, &ret->problems, err);
    if (code == FZ_OK && verify && slice->symbol_map) {
        /* libdwarf gives the names as they are in the file, so it is compared with an index without
         * the map; what is wrong with the slice was found with the map. */
        struct sym_file_slice read = *slice;
        read.symbol_map = NULL;
        sym_index_close(fz_take(&index));
        code = slice_index_build(&read, &index, NULL, NULL, err);
    }
    /* These two are about the file, and become one of its problems. */
    if (code != FZ_OK && code != FZ_E_MALFORMED && code != FZ_E_LIMIT)
        return code;
    if (code != FZ_OK)
        sym_problem_add(&ret->problems, SYM_PROBLEM_NO_INDEX,
                        "no symbol index can be made of it: %s", err->text);
    code = sym_inspect(&slice->macho, index ? &stats : NULL, &arena, &ret->features, &ret->problems,
                       err);
    if (code != FZ_OK || !verify || !index || !ret->features.dwarf)
        return code;
    code = sym_verify(&slice->macho, index, add_difference, ret, &ret->verify, err);
    ret->verified = code == FZ_OK;
    return code;
}

/* A binary has no debug information; nothing is wrong with that if its dSYM is here too. */
static void
drop_solved(const struct sym_file *file, const struct sym_file_slice *slice,
            struct sym_problems *problems)
{
    const struct sym_file_slice *best =
        slice->macho.has_uuid ? sym_file_find(file, &slice->macho.uuid) : NULL;
    size_t kept = 0;
    /* sym_file_find() prefers the one with DWARF, so another slice is the dSYM. */
    bool is_solved = best && best != slice && sym_file_slice_has_dwarf(best);
    for (size_t i = 0; i < problems->n; i++) {
        if (!is_solved || problems->list[i].kind != SYM_PROBLEM_NO_DWARF)
            problems->list[kept++] = problems->list[i];
    }
    problems->n = kept;
}

int
inspect_file(const struct sym_file *file, bool is_json, bool verify)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    struct fz_error err;
    int status = 0;
    struct json_write json = json_write_start(&text);
    if (is_json) {
        json_write_open(&json, NULL, '{');
        json_write_open(&json, "slices", '[');
    }
    for (size_t i = 0; i < file->n_slices; i++) {
        struct inspect_result result = {.verified = false};
        fz_buffer_init(&result.differences, 0);
        /* The other slices are still worth to be shown. */
        if (inspect_slice(file->slices[i], verify, &result, &err) != FZ_OK) {
            term_error(command, "%s: %s", file->slices[i]->path, err.text);
            status = 1;
        }
        /* For scripts: a difference is a fault of the index, or of libdwarf. */
        if (result.verify.n_differences)
            status = 1;
        drop_solved(file, file->slices[i], &result.problems);
        if (is_json)
            inspect_output_json(&result, &json);
        else
            inspect_output_text(&result, term_has_colour(STDOUT_FILENO), &text);
        fz_buffer_deinit(&result.differences);
    }
    if (is_json) {
        json_write_close(&json, ']');
        inspect_output_problems(&file->problems, &json);
        json_write_close(&json, '}');
        fz_buffer_char(&text, '\n');
    }
    for (size_t i = 0; i < file->problems.n && !is_json; i++)
        fz_buffer_printf(&text, "problem: %s\n", file->problems.list[i].text);
    return term_write(command, fz_buffer_cstr(&text), text.len) ? status : 1;
}
