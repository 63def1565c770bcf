/* framezero inspect: what a symbol file holds and what is wrong with it. */
#include "server/cli/cmd.h"
#include "server/cli/command.h"
#include "server/cli/inspect.h"
#include "server/config/term.h"

struct arguments {
    bool json, verify;
};

static const struct option_spec own_options[] = {
    {.name = "json", .offset = offsetof(struct arguments, json), .help = "The same for programs."},
    {.name = "verify",
     .offset = offsetof(struct arguments, verify),
     .help = "Read the debug information again with libdwarf and report every difference; exit "
             "status 1 if there is any."},
    {.name = NULL},
};
static const struct command_example examples[] = {
    {"framezero inspect Shop.xcarchive", "every dSYM and binary of an archive"},
    {NULL, NULL},
};

static int
run(const struct command_call *call)
{
    const struct arguments *arguments = call->values;
    struct fz_error err;
    FZ_CLEANUP(sym_file_closep) struct sym_file *file = NULL;
    if (sym_file_open(call->operands[0], &file, &err) != FZ_OK)
        return term_failed(cmd_inspect.name, &err);
    /* What is wrong inside the file is a part of the answer, not a failure. */
    return inspect_file(file, arguments->json, arguments->verify);
}

const struct command_spec cmd_inspect = {
    .name = "inspect",
    .summary = "what a symbol file holds and what is wrong with it",
    .operands = "FILE",
    .complete = "file",
    .flags = COMMAND_NEEDS_OPERANDS,
    .description = "Show the slices of FILE (Mach-O, .dSYM, .xcarchive, folder, zip), what each of "
                   "them contains, and what is wrong with it.",
    .options = own_options,
    .values_size = sizeof(struct arguments),
    .examples = examples,
    .run = run,
};
