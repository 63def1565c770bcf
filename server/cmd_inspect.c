/* framezero inspect: what a symbol file holds and what is wrong with it. */
#include <stdio.h>
#include <string.h>

#include "server/cmd.h"
#include "server/inspect_show.h"
#include "server/slice_index.h"

static const size_t ARENA_CAP = (size_t)2 << 30;

static const char usage[] =
    "usage: framezero inspect FILE [--json] [--verify]\n"
    "\n"
    "Tells the slices of FILE (Mach-O, .dSYM, .xcarchive, folder, zip), what each carries, and "
    "what\n"
    "is wrong with it.\n"
    "\n"
    "  --json     the same for programs\n"
    "  --verify   read the debug information again through libdwarf and tell every difference;\n"
    "             exit status 1 if there is any\n";

struct arguments {
    const char *file;
    bool json, verify;
};

static void
add_difference(void *user, const char *text)
{
    struct inspect_result *result = user;
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
    ret->problems = slice->problems;
    struct sym_file_slice read = *slice;
    if (verify) /* libdwarf gives the names as they stand there */
        read.symbol_map = NULL;
    enum fz_code code = slice_index_build(&read, &index, &stats, &ret->problems, err);
    if (code != FZ_OK && code != FZ_E_MALFORMED && code != FZ_E_LIMIT)
        return code;
    if (code != FZ_OK)
        sym_problem_add(&ret->problems, "no_index", "no symbol index can be made of it: %s",
                        err->text);
    code = sym_inspect(&slice->macho, index ? &stats : NULL, &arena, &ret->features, &ret->problems,
                       err);
    if (code != FZ_OK || !verify || !index || !ret->features.dwarf)
        return code;
    code = sym_verify(&slice->macho, index, add_difference, ret, &ret->verify, err);
    ret->verified = code == FZ_OK;
    return code;
}

static int
inspect_file(const struct sym_file *file, const struct arguments *arguments)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    struct fz_error err;
    int status = 0;
    struct json_write json = json_write_start(&text);
    if (arguments->json) {
        json_write_open(&json, NULL, '{');
        json_write_open(&json, "slices", '[');
    }
    for (size_t i = 0; i < file->n_slices; i++) {
        struct inspect_result result = {.verified = false};
        fz_buffer_init(&result.differences, 0);
        if (inspect_slice(file->slices[i], arguments->verify, &result, &err) != FZ_OK) {
            fprintf(stderr, "framezero inspect: %s: %s\n", file->slices[i]->path, err.text);
            status = 1;
        }
        if (result.verify.n_differences)
            status = 1;
        if (arguments->json)
            inspect_show_json(&result, &json);
        else
            inspect_show_text(&result, &text);
        fz_buffer_deinit(&result.differences);
    }
    if (arguments->json) {
        json_write_close(&json, ']');
        inspect_show_problems(&file->problems, &json);
        json_write_close(&json, '}');
        fz_buffer_char(&text, '\n');
    }
    for (size_t i = 0; i < file->problems.n && !arguments->json; i++)
        fz_buffer_printf(&text, "problem: %s\n", file->problems.list[i].text);
    fputs(fz_buffer_cstr(&text), stdout);
    return ferror(stdout) ? 1 : status;
}

int
cmd_inspect(int argc, char **argv)
{
    struct arguments arguments = {.file = NULL};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0) {
            arguments.json = true;
        } else if (strcmp(argv[i], "--verify") == 0) {
            arguments.verify = true;
        } else if (strcmp(argv[i], "--help") == 0) {
            fputs(usage, stdout);
            return 0;
        } else if (argv[i][0] == '-' || arguments.file) {
            fprintf(stderr, "framezero inspect: unexpected %s\n%s", argv[i], usage);
            return 2;
        } else {
            arguments.file = argv[i];
        }
    }
    if (!arguments.file) {
        fputs(usage, stderr);
        return 2;
    }
    struct fz_error err;
    FZ_CLEANUP(sym_file_closep) struct sym_file *file = NULL;
    if (sym_file_open(arguments.file, &file, &err) != FZ_OK) {
        fprintf(stderr, "framezero inspect: %s\n", err.text);
        return 1;
    }
    return inspect_file(file, &arguments);
}
