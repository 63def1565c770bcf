/* framezero symbolicate: reports and symbol files in, the symbolicated reports out. No server. */
#include <stdio.h>

#include "base/file.h"
#include "server/cmd.h"
#include "server/command.h"
#include "server/ingest/ingest.h"
#include "server/limits.h"
#include "server/report/annotate.h"
#include "server/term.h"
#include "server/worker/local.h"

struct arguments {
    const char *report;
    int form; /* an enum report_form */
    bool rebuild;
    const char *arch; /* NULL = not said */
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
     .set = option_set_text,
     .offset = offsetof(struct arguments, arch),
     .help = "The architecture to take from the symbols, for images without a UUID: stacks as "
             "text."},
    {.name = "crash",
     .set = option_set_choice,
     .offset = offsetof(struct arguments, form),
     .value = REPORT_FORM_CRASH,
     .help = "Write text like Apple's crash reports (the default): a text that came as one is "
             "kept, and only its frames get names."},
    {.name = "json",
     .set = option_set_choice,
     .offset = offsetof(struct arguments, form),
     .value = REPORT_FORM_JSON,
     .help = "Write the symbolicated report as the API gives it, one line per report."},
    {.name = "ips",
     .set = option_set_choice,
     .offset = offsetof(struct arguments, form),
     .value = REPORT_FORM_IPS,
     .help = "Write Apple's .ips: one that came as such is kept, and only its frames get names."},
    {.name = "rebuild",
     .set = option_set_flag,
     .offset = offsetof(struct arguments, rebuild),
     .help = "Write the whole report anew, also where its text could be kept."},
    {.name = NULL},
};
static const struct command_example examples[] = {
    {"framezero symbolicate Shop.ips --dsym Shop.app.dSYM", "a report of a device to names"},
    {NULL, NULL},
};
static int run(int argc, char **argv);
const struct command_spec cmd_symbolicate = {
    .name = "symbolicate",
    .summary = "one report and its dSYMs to names, without a server",
    .operands = "REPORT",
    .complete = "file",
    .flags = COMMAND_NEEDS_OPERANDS,
    .description = "Write REPORT, a crash report in any accepted format (- reads standard input), "
                   "with names instead of addresses. Of a file with several reports (a MetricKit "
                   "payload, an array) each is written.",
    .options = own_options,
    .examples = examples,
    .run = run,
};

/* What to look for, so that the next run names more. */
static void
tell_missing(struct local_symbols *symbols, const struct report *report)
{
    for (size_t i = 0; i < report->n_images; i++) {
        const struct report_image *image = &report->images[i];
        char uuid[FZ_UUID_DASHED] = "without a UUID";
        if (image->has_uuid)
            fz_uuid_format_dashed(&image->uuid, uuid);
        const char *name = image->name ? image->name : "an image";
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer why = fz_buffer_make(0);
        if (image->state == REPORT_IMAGE_MISSING) {
            local_symbols_explain(symbols, report, i, &why);
            fprintf(stderr, "framezero symbolicate: no symbols for %s (%s%s%s)%s%s\n", name, uuid,
                    image->arch ? ", " : "", image->arch ? image->arch : "", why.len ? ": " : "",
                    fz_buffer_cstr(&why));
        } else if (image->state == REPORT_IMAGE_FAILED)
            fprintf(stderr, "framezero symbolicate: the symbols for %s (%s) cannot be used\n", name,
                    uuid);
    }
}

static enum fz_code
print(const struct fz_buffer *out, struct fz_error *err)
{
    if (fwrite(out->data, 1, out->len, stdout) != out->len || fflush(stdout) != 0)
        return fz_fail_errno(err, "cannot write the result");
    return FZ_OK;
}

/* What was written last: a report at all, and one that was kept as it came. */
struct written {
    bool any, kept;
};

/* One report of the file; `raw` lies in the caller's memory. */
static enum fz_code
symbolicate_one(struct local_symbols *symbols, struct fz_span raw, const struct limits *limits,
                const struct arguments *arguments, struct written *before, struct fz_error *err)
{
    struct fz_span text = arguments->rebuild ? (struct fz_span){NULL, 0} : raw;
    bool kept;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(limits->report_memory);
    struct report report;
    enum fz_code code = local_symbolicate(symbols, raw, limits, &arena, &report, err);
    if (code != FZ_OK)
        return code;
    struct report_envelope envelope = {.id = report.id};
    code =
        report_write(&report, &envelope, text, (enum report_form)arguments->form, &out, &kept, err);
    if (code != FZ_OK)
        return code;
    tell_missing(symbols, &report);
    /* In a text, a line between two reports; JSON and .ips are told apart by their lines. What is
     * kept is kept to the byte. */
    if (arguments->form == REPORT_FORM_CRASH && before->any && !(kept && before->kept))
        fputc('\n', stdout);
    *before = (struct written){true, kept};
    if (!kept)
        fz_buffer_text(&out, out.len && out.data[out.len - 1] == '\n' ? "" : "\n");
    return print(&out, err);
}

/* All reports of the file, one after another; one that is broken costs only itself. Returns how
 * many failed. */
static size_t
symbolicate_items(struct local_symbols *symbols, const struct arguments *arguments,
                  const struct limits *limits, const struct ingest_item *items, size_t n)
{
    size_t n_failed = 0;
    struct written before = {false, false};
    for (size_t i = 0; i < n; i++) {
        struct fz_error err = items[i].err;
        enum fz_code code = items[i].code;
        if (code == FZ_OK)
            code = symbolicate_one(symbols, items[i].body, limits, arguments, &before, &err);
        if (code == FZ_OK)
            continue;
        n_failed++;
        if (n > 1)
            fz_ignore(fz_wrap(&err, "report %zu of %zu", i + 1, n)); /* keeps the code */
        fprintf(stderr, "framezero symbolicate: %s: %s\n", arguments->report, err.text);
    }
    return n_failed;
}

/* 0 or 1, the exit code. */
static int
symbolicate(struct local_symbols *symbols, const struct arguments *arguments)
{
    struct limits limits = limits_default();
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer raw = fz_buffer_make(0);
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(limits.report_memory);
    struct ingest_item *items;
    struct fz_error err;
    size_t n, n_cut;
    if (fz_file_read(arguments->report, limits.report_inflated_bytes, &raw, &err) != FZ_OK) {
        fprintf(stderr, "framezero symbolicate: %s\n", err.text);
        return 1;
    }
    if (ingest_split(fz_buffer_span(&raw), &limits, &arena, &items, &n, &n_cut, &err) != FZ_OK) {
        fprintf(stderr, "framezero symbolicate: %s: %s\n", arguments->report, err.text);
        return 1;
    }
    if (n_cut)
        fprintf(stderr, "framezero symbolicate: %s: %zu reports, of which %zu are read\n",
                arguments->report, n + n_cut, n);
    return symbolicate_items(symbols, arguments, &limits, items, n) || n_cut ? 1 : 0;
}

static int
run_with(struct local_symbols *symbols, const struct arguments *arguments)
{
    struct fz_error err;
    if (arguments->arch && local_symbols_set_arch(symbols, arguments->arch, &err) != FZ_OK)
        return term_wrong_usage(cmd_symbolicate.name, &err);
    for (size_t i = 0; i < arguments->dsyms.n; i++) {
        if (local_symbols_add(symbols, arguments->dsyms.items[i], &err) != FZ_OK)
            return term_failed(cmd_symbolicate.name, &err);
    }
    return symbolicate(symbols, arguments);
}

static int
run(int argc, char **argv)
{
    FZ_CLEANUP(options_deinit) struct options given = options_make();
    struct arguments arguments = {.form = REPORT_FORM_CRASH};
    struct local_symbols *symbols = NULL;
    struct fz_error err;
    int ended = command_start(&cmd_symbolicate, argc, argv, &arguments, &given);
    if (ended < 0 && local_symbols_create(&symbols, &err) != FZ_OK)
        ended = term_failed(cmd_symbolicate.name, &err);
    if (ended < 0) {
        arguments.report = given.operands[0];
        ended = run_with(symbols, &arguments);
    }
    local_symbols_destroy(symbols);
    option_list_deinit(&arguments.dsyms);
    return ended;
}
