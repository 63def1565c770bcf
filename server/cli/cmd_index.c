/* framezero index: one slice of a symbol file to a symbol index. */
#include "server/cli/cmd.h"
#include "server/cli/command.h"
#include "server/cli/index_file.h"
#include "server/config/term.h"

enum { JOBS_MAX = 256 };

struct arguments {
    struct index_file_options file;
    const char *arch;
    struct fz_uuid uuid;
    bool has_uuid;
};

static enum fz_code
set_uuid(const struct option_spec *option FZ_UNUSED, void *field, const char *value,
         const char *where, struct fz_error *err)
{
    struct arguments *arguments = field;
    if (!fz_uuid_parse(fz_span_cstr(value), &arguments->uuid))
        return fz_fail(err, FZ_E_MALFORMED, "%s: '%.60s' is not a UUID", where, value);
    arguments->has_uuid = true;
    return FZ_OK;
}

static const struct option_spec own_options[] = {
    {.name = "output",
     .letter = 'o',
     .argument = "OUT",
     .complete = "file",
     .offset = offsetof(struct arguments, file.out),
     .help = "The index to write."},
    {.name = "arch",
     .argument = "A",
     .offset = offsetof(struct arguments, arch),
     .help = "Which architecture, for a file with several."},
    {.name = "uuid",
     .argument = "U",
     .set = set_uuid,
     .help = "Which slice, for a file with several."},
    {.name = "jobs",
     .argument = "N",
     .set = option_set_count,
     .offset = offsetof(struct arguments, file.n_jobs),
     .min = 1,
     .max = JOBS_MAX,
     .initial = "1",
     .help = "Threads that read the debug information; the index is the same for any N."},
    {.name = "symbol-map",
     .argument = "MAP",
     .complete = "file",
     .offset = offsetof(struct arguments, file.symbol_map),
     .help = "The .bcsymbolmap with the names that a bitcode build hid (__hidden#12_). It is found "
             "without this option if FILE is an .xcarchive, or a folder or archive that has it."},
    {.name = NULL},
};
static const struct command_example examples[] = {
    {"framezero index Shop.app.dSYM -o Shop.index --arch arm64", "the arm64 slice of a dSYM"},
    {NULL, NULL},
};

static int
run(const struct command_call *call)
{
    const struct arguments *arguments = call->values;
    struct fz_error err;
    /* A UUID names one slice, so an architecture could only contradict it. */
    if (!arguments->file.out || (arguments->arch && arguments->has_uuid)) {
        fz_fail(&err, FZ_E_MALFORMED,
                arguments->file.out ? "--arch and --uuid cannot be used together"
                                    : "-o OUT is missing");
        return term_wrong_usage(cmd_index.name, &err);
    }
    FZ_CLEANUP(sym_file_closep) struct sym_file *file = NULL;
    const struct sym_file_slice *slice = NULL;
    enum fz_code code = sym_file_open(call->operands[0], &file, &err);
    if (code == FZ_OK)
        code = sym_file_choose(file, arguments->arch, arguments->has_uuid ? &arguments->uuid : NULL,
                               &slice, &err);
    if (code == FZ_OK)
        code = index_file_write(slice, &arguments->file, &err);
    return code != FZ_OK ? term_failed(cmd_index.name, &err) : 0;
}

const struct command_spec cmd_index = {
    .name = "index",
    .summary = "symbol file to symbol index",
    .operands = "FILE",
    .required = "-o OUT",
    .complete = "file",
    .flags = COMMAND_NEEDS_OPERANDS,
    .description = "Build the symbol index of FILE (a Mach-O, a .dSYM bundle, or a zip of one) and "
                   "print one JSON line about it. 'framezero lookup' reads the index.",
    .options = own_options,
    .values_size = sizeof(struct arguments),
    .examples = examples,
    .run = run,
};
