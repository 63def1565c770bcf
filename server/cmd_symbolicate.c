/* framezero symbolicate: one report and symbol files in, the symbolicated report out. No server. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "server/cmd.h"
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
    "  REPORT       a crash report in any accepted format; - reads standard input\n"
    "  --dsym PATH  symbols: a .dSYM bundle, a Mach-O, an .xcarchive, a folder or a zip of them;\n"
    "               may be given several times\n"
    "  --crash      Apple-style text (the default)\n"
    "  --json       the symbolicated report as the API gives it\n"
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
symbolicate(struct local_symbols *symbols, const struct arguments *arguments, struct fz_error *err)
{
    struct limits limits = limits_default();
    struct fz_buffer raw, out;
    struct fz_arena arena;
    struct report report;
    fz_buffer_init(&raw, 0);
    fz_buffer_init(&out, 0);
    fz_arena_init(&arena, limits.report_memory);
    enum fz_code code = fz_file_read(arguments->report, limits.report_inflated_bytes, &raw, err);
    if (code == FZ_OK) {
        code = local_symbolicate(symbols, fz_buffer_span(&raw), &limits, &arena, &report, err);
        if (code != FZ_OK)
            fz_wrap(err, "%s", arguments->report);
    }
    if (code == FZ_OK) {
        struct report_envelope envelope = {.id = report.id};
        code = arguments->render(&report, &envelope, &out, err);
    }
    if (code == FZ_OK) {
        tell_missing(&report);
        fz_buffer_text(&out, out.len && out.data[out.len - 1] == '\n' ? "" : "\n");
        if (fwrite(out.data, 1, out.len, stdout) != out.len || fflush(stdout) != 0)
            code = fz_fail_errno(err, "cannot write the result");
    }
    fz_arena_deinit(&arena);
    fz_buffer_deinit(&out);
    fz_buffer_deinit(&raw);
    return code;
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
    if (!ended) {
        status = symbolicate(symbols, &arguments, &err) == FZ_OK ? 0 : 1;
        if (status)
            fprintf(stderr, "framezero symbolicate: %s\n", err.text);
    }
    local_symbols_destroy(symbols);
    return status;
}
