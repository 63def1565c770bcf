/* framezero atos: Apple's atos, with the same options and lines. */
#include "base/text.h"
#include "server/cli/atos_print.h"
#include "server/cli/cmd.h"
#include "server/cli/command.h"
#include "server/config/term.h"

struct arguments {
    struct atos_options options;
    const char *file, *arch, *addresses;
};

static enum fz_code
set_load(const struct option_spec *option FZ_UNUSED, void *field, const char *value,
         const char *where, struct fz_error *err)
{
    struct atos_options *options = field;
    /* Hex even without 0x, as Apple's atos reads it. */
    if (!fz_text_hex_u64(fz_span_cstr(value), &options->load))
        return fz_fail(err, FZ_E_MALFORMED, "%s: '%.60s' is not a hex address", where, value);
    options->has_load = true;
    return FZ_OK;
}

static enum fz_code
set_slide(const struct option_spec *option FZ_UNUSED, void *field, const char *value,
          const char *where, struct fz_error *err)
{
    struct atos_options *options = field;
    if (!atos_parse(value, &options->slide))
        return fz_fail(err, FZ_E_MALFORMED, "%s: '%.60s' is not a number", where, value);
    options->has_slide = true;
    return FZ_OK;
}

static const struct option_spec own_options[] = {
    {.name = "object",
     .letter = 'o',
     .argument = "FILE",
     .complete = "file",
     .offset = offsetof(struct arguments, file),
     .help = "A dSYM, a Mach-O, or a zip of one; for a binary, FILE.dSYM beside it is used."},
    {.name = "arch",
     .argument = "ARCH",
     .offset = offsetof(struct arguments, arch),
     .help = "The architecture of a fat file."},
    {.name = "loadAddress",
     .letter = 'l',
     .argument = "ADDRESS",
     .set = set_load,
     .offset = offsetof(struct arguments, options),
     .help = "Where the image was loaded (hex, as under Binary Images in a report)."},
    {.name = "slide",
     .letter = 's',
     .argument = "SLIDE",
     .set = set_slide,
     .offset = offsetof(struct arguments, options),
     .help = "What to subtract from each address."},
    {.name = "offset",
     .offset = offsetof(struct arguments, options.is_offset),
     .help = "The addresses are offsets into the image."},
    {.name = "inlineFrames",
     .letter = 'i',
     .offset = offsetof(struct arguments, options.inlines),
     .help = "Print inlined calls too, innermost first."},
    {.name = "fullPath",
     .offset = offsetof(struct arguments, options.full_path),
     .help = "Print whole paths of source files."},
    {.name = "delimiter",
     .letter = 'd',
     .argument = "TEXT",
     .offset = offsetof(struct arguments, options.delimiter),
     .help = "What to print between inlined calls instead of a newline."},
    {.name = "file",
     .letter = 'f',
     .argument = "ADDRESSFILE",
     .complete = "file",
     .offset = offsetof(struct arguments, addresses),
     .help = "Read addresses from a file, separated by white space."},
    {.name = NULL},
};
static const struct command_example examples[] = {
    {"framezero atos -o Shop.app.dSYM -arch arm64 -l 0x1045f0000 0x1045f8a10", "one frame"},
    {NULL, NULL},
};

static int
run(const struct command_call *call)
{
    const struct arguments *arguments = call->values;
    struct fz_error err;
    const struct atos_options *o = &arguments->options;
    /* Each of the three maps addresses in its own way, so two of them contradict each other. */
    if (!arguments->file || o->has_load + o->has_slide + o->is_offset > 1) {
        fz_fail(&err, FZ_E_MALFORMED,
                arguments->file ? "only one of -l, -s and -offset can be given"
                                : "-o FILE is missing");
        return term_wrong_usage(cmd_atos.name, &err);
    }
    /* One index for all addresses: it costs more than thousands of lookups. */
    FZ_CLEANUP(slice_index_deinit) struct slice_index opened = {0};
    if (slice_index_open(arguments->file, arguments->arch, &opened, &err) != FZ_OK)
        return term_failed(cmd_atos.name, &err);
    return atos_print(&opened, o, arguments->addresses, call->operands, call->n_operands);
}

const struct command_spec cmd_atos = {
    .name = "atos",
    .summary = "addresses to function, file and line, like Apple's atos",
    .operands = "[ADDRESS...]",
    .required = "-o FILE",
    .flags = COMMAND_SINGLE_DASH,
    .description =
        "Print function, file and line of each ADDRESS, one per line. Without addresses, those of "
        "standard input are taken, each answered at once. Addresses are hex with 0x or a leading "
        "zero, else decimal. A long option may begin with one dash or two.",
    .options = own_options,
    .values_size = sizeof(struct arguments),
    .examples = examples,
    .run = run,
};
