/* framezero symbolicate: reports and symbol files in, the symbolicated reports out. No server. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "server/cmd.h"
#include "server/ingest/ingest.h"
#include "server/limits.h"
#include "server/report/render.h"
#include "server/worker/local.h"

typedef enum fz_code (*render_fn)(const struct report *report,
                                  const struct report_envelope *envelope, struct fz_buffer *out,
                                  struct fz_error *err);

struct arguments {
    const char *report;
    render_fn render;
};

static const char usage[] =
    "usage: framezero symbolicate REPORT [--dsym PATH]... [--json | --crash | --ips]\n\n"
    "  REPORT       a crash report in any accepted format; - reads standard input; of a file with\n"
    "               several reports (a MetricKit payload, an array) each is written\n"
    "  --dsym PATH  symbols: a .dSYM bundle, a Mach-O, an .xcarchive, a folder or a zip of them;\n"
    "               may be given several times\n"
    "  --crash      Apple-style text (the default)\n"
    "  --json       the symbolicated report as the API gives it, one line a report\n"
    "  --ips        Apple's .ips\n";

/* 0 to go on, else the exit code plus one. */
static int
parse(int argc, char **argv, struct local_symbols *symbols, struct arguments *ret)
{
    struct fz_error err;
    *ret = (struct arguments){.render = report_render_crash};
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i];
        if (strcmp(arg, "--help") == 0) {
            fputs(usage, stdout);
            return 1;
        }
        if (strcmp(arg, "--json") == 0) {
            ret->render = report_render_json;
        } else if (strcmp(arg, "--crash") == 0) {
            ret->render = report_render_crash;
        } else if (strcmp(arg, "--ips") == 0) {
            ret->render = report_render_ips;
        } else if (strncmp(arg, "--dsym=", 7) == 0 ||
                   (strcmp(arg, "--dsym") == 0 && i + 1 < argc)) {
            const char *path = arg[6] == '=' ? arg + 7 : argv[++i];
            if (local_symbols_add(symbols, path, &err) != FZ_OK) {
                fprintf(stderr, "framezero symbolicate: %s\n", err.text);
                return 2;
            }
        } else if (arg[0] == '-' && arg[1] != '\0') {
            fprintf(stderr, "framezero symbolicate: unknown or incomplete option '%s'\n%s", arg,
                    usage);
            return 3;
        } else if (ret->report) {
            fprintf(stderr, "framezero symbolicate: one report at a time, not also '%s'\n", arg);
            return 3;
        } else {
            ret->report = arg;
        }
    }
    if (!ret->report) {
        fprintf(stderr, "framezero symbolicate: which report?\n%s", usage);
        return 3;
    }
    return 0;
}

/* What to look for, so that the next run names more. */
static void
tell_missing(const struct report *report)
{
    for (size_t i = 0; i < report->n_images; i++) {
        const struct report_image *image = &report->images[i];
        char uuid[FZ_UUID_DASHED] = "without a UUID";
        if (image->has_uuid)
            fz_uuid_format_dashed(&image->uuid, uuid);
        const char *name = image->name ? image->name : "an image";
        if (image->state == REPORT_IMAGE_MISSING)
            fprintf(stderr, "framezero symbolicate: no symbols for %s (%s%s%s)\n", name, uuid,
                    image->arch ? ", " : "", image->arch ? image->arch : "");
        else if (image->state == REPORT_IMAGE_FAILED)
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

/* One report of the file; `raw` lies in the caller's memory. */
static enum fz_code
symbolicate_one(struct local_symbols *symbols, struct fz_span raw, const struct limits *limits,
                render_fn render, struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(limits->report_memory);
    struct report report;
    enum fz_code code = local_symbolicate(symbols, raw, limits, &arena, &report, err);
    if (code != FZ_OK)
        return code;
    struct report_envelope envelope = {.id = report.id};
    code = render(&report, &envelope, &out, err);
    if (code != FZ_OK)
        return code;
    tell_missing(&report);
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
    for (size_t i = 0; i < n; i++) {
        struct fz_error err = items[i].err;
        enum fz_code code = items[i].code;
        /* In a text, a line between two reports; JSON and .ips are told apart by their lines. */
        if (code == FZ_OK && i > 0 && arguments->render == report_render_crash)
            fputc('\n', stdout);
        if (code == FZ_OK)
            code = symbolicate_one(symbols, items[i].body, limits, arguments->render, &err);
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

int
cmd_symbolicate(int argc, char **argv)
{
    struct local_symbols *symbols = NULL;
    struct arguments arguments;
    struct fz_error err;
    if (local_symbols_create(&symbols, &err) != FZ_OK) {
        fprintf(stderr, "framezero symbolicate: %s\n", err.text);
        return 1;
    }
    int ended = parse(argc, argv, symbols, &arguments);
    int status = ended - 1;
    if (!ended)
        status = symbolicate(symbols, &arguments);
    local_symbols_destroy(symbols);
    return status;
}
