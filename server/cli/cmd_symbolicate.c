/* framezero symbolicate: reports and symbol files in, the symbolicated reports out. No server. */
#include "server/cli/cmd.h"
#include "server/cli/command.h"
#include "server/cli/symbolicate.h"
#include "server/cli/user_symbols.h"
#include "server/config/term.h"
#include "server/report/annotate.h"

struct arguments {
    struct symbolicate_options options;
    const char *arch; /* NULL = any */
    struct option_list dsyms;
};

static const struct option_spec own_options[] = {
    {.name = "dsym",
     .argument = "PATH",
     .complete = "file",
     .set = option_add_text,
     .offset = offsetof(struct arguments, dsyms),
     .help = "Symbols: a .dSYM bundle, a Mach-O, an .xcarchive, a folder or a zip of them. May be "
             "repeated."},
    {.name = "arch",
     .argument = "ARCH",
     .single_dash = true,
     .offset = offsetof(struct arguments, arch),
     .help = "The architecture to take from the symbols, for images without a UUID: stacks as "
             "text."},
    {.name = "output",
     .letter = 'o',
     .argument = "DIR",
     .complete = "dir",
     .offset = offsetof(struct arguments, options.output),
     .help = "Write one file per report into the folder DIR instead of standard output. A report "
             "that is read is never written over."},
    {.name = "crash",
     .set = option_set_choice,
     .offset = offsetof(struct arguments, options.form),
     .value = REPORT_FORM_CRASH,
     .help = "Write text like Apple's crash reports (the default): a text that came as one is "
             "kept, and only its frames get names."},
    {.name = "json",
     .set = option_set_choice,
     .offset = offsetof(struct arguments, options.form),
     .value = REPORT_FORM_JSON,
     .help = "Write the symbolicated report as the API gives it, one line per report."},
    {.name = "ips",
     .set = option_set_choice,
     .offset = offsetof(struct arguments, options.form),
     .value = REPORT_FORM_IPS,
     .help = "Write Apple's .ips: one that came as such is kept, and only its frames get names."},
    {.name = "variables",
     .offset = offsetof(struct arguments, options.variables),
     .help = "Show the names, types and values of parameters and locals in each frame, as far as "
             "the report has registers and memory: as a debugger's bt full does, or with --json. "
             "Give the program itself with --dsym too: with it more values can be read."},
    {.name = "rebuild",
     .offset = offsetof(struct arguments, options.rebuild),
     .help = "Write the whole report anew, also where its text could be kept."},
    {.name = NULL},
};
static const struct arguments defaults = {.options.form = REPORT_FORM_CRASH};
static const struct command_example examples[] = {
    {"framezero symbolicate Shop.ips --dsym Shop.app.dSYM", "a report of a device to names"},
    {"framezero symbolicate Shop.json --dsym Shop.dSYM --dsym Shop --variables",
     "the values of variables too, from the dSYM and the program"},
    {"framezero symbolicate reports/ --dsym Shop.xcarchive -o out",
     "every report of a folder, one file each"},
    {NULL, NULL},
};

static int
run_with(struct user_symbols *symbols, const struct command_call *call)
{
    const struct arguments *arguments = call->values;
    struct fz_error err;
    /* Before the symbols are opened, which may take long. */
    if (arguments->arch && user_symbols_set_arch(symbols, arguments->arch, &err) != FZ_OK)
        return term_wrong_usage(cmd_symbolicate.name, &err);
    if (arguments->options.variables && arguments->options.form == REPORT_FORM_IPS) {
        fz_ignore(fz_fail(&err, FZ_E_UNSUPPORTED,
                          "--variables: an .ips has no place for values; use --json or neither"));
        return term_wrong_usage(cmd_symbolicate.name, &err);
    }
    if (arguments->options.variables)
        user_symbols_want_variables(symbols);
    for (size_t i = 0; i < arguments->dsyms.n; i++) {
        if (user_symbols_add(symbols, arguments->dsyms.items[i], &err) != FZ_OK)
            return term_failed(cmd_symbolicate.name, &err);
    }
    return symbolicate_run(symbols, &arguments->options, call->operands, call->n_operands);
}

static int
run(const struct command_call *call)
{
    struct user_symbols *symbols = NULL;
    struct fz_error err;
    if (user_symbols_create(&symbols, &err) != FZ_OK)
        return term_failed(cmd_symbolicate.name, &err);
    /* One set of symbols for all reports: each index is built once. */
    int status = run_with(symbols, call);
    user_symbols_destroy(symbols);
    return status;
}

const struct command_spec cmd_symbolicate = {
    .name = "symbolicate",
    .summary = "reports and their dSYMs to names, without a server",
    .operands = "REPORT...",
    .complete = "file",
    .flags = COMMAND_NEEDS_OPERANDS,
    .description =
        "Write each REPORT, a crash report in any accepted format, with names instead of "
        "addresses. REPORT may be compressed (gzip, zstd, xz), a zip or tar with reports, a folder "
        "of them, or - for standard input. Of a file with several reports (a MetricKit payload, an "
        "array) each is written. Exit status 1 if a report could not be read; the others are "
        "written.",
    .options = own_options,
    .values_size = sizeof(struct arguments),
    .defaults = &defaults,
    .examples = examples,
    .run = run,
};
