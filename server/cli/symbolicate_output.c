#include "server/cli/symbolicate_output.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/list.h"
#include "base/text.h"
#include "server/report/annotate.h"

enum { NAME_ROOM = 256, STEM_MAX = 200 };

enum fz_code
symbolicate_output_open(struct symbolicate_output *output,
                        const struct symbolicate_options *options,
                        const struct report_files *inputs, struct fz_error *err)
{
    struct stat st;
    *output = (struct symbolicate_output){.options = options, .inputs = inputs};
    if (!options->output)
        return FZ_OK;
    if (stat(options->output, &st) == 0) {
        if (S_ISDIR(st.st_mode))
            return FZ_OK;
        return fz_fail(err, FZ_E_MALFORMED, "--output: '%.100s' is a file; a folder is expected",
                       options->output);
    }
    /* As the user's umask says; folders of which parents are missing are made for the user
     * alone. */
    if (mkdir(options->output, 0777) != 0 &&
        (errno != ENOENT || fz_file_make_dirs(options->output, NULL) != FZ_OK))
        return fz_fail_errno(err, "--output: cannot make the folder %.100s", options->output);
    return FZ_OK;
}

void
symbolicate_output_close(struct symbolicate_output *output)
{
    for (size_t i = 0; i < output->n; i++)
        free(output->written[i]);
    free(output->written);
}

/* "dir/a.zip:inner/Shop 2026.ips.gz" -> "Shop 2026" */
static void
make_stem(const char *name, char ret[NAME_ROOM])
{
    static const char *const extensions[] = {".gz",  ".zst", ".xz",  ".zip",  ".tgz",     ".tar",
                                             ".ips", ".txt", ".dmp", ".json", ".plcrash", ".crash"};
    const char *base = fz_text_base_name(name), *colon = strrchr(base, ':');
    snprintf(ret, NAME_ROOM, "%.*s", STEM_MAX, colon && colon[1] ? colon + 1 : base);
    if (strcmp(name, "standard input") == 0)
        snprintf(ret, NAME_ROOM, "stdin");
    /* Those of compression come first, so that "a.ips.gz" loses both. */
    for (size_t i = 0; i < FZ_ARRAY_LEN(extensions); i++) {
        size_t len = strlen(ret), n = strlen(extensions[i]);
        if (len > n && strcasecmp(ret + len - n, extensions[i]) == 0)
            ret[len - n] = '\0';
    }
    /* A hidden file would be overlooked. */
    if (ret[0] == '\0' || ret[0] == '.')
        snprintf(ret, NAME_ROOM, "report");
}

static bool
is_taken(const struct symbolicate_output *output, const char *name)
{
    for (size_t i = 0; i < output->n; i++) {
        if (strcasecmp(output->written[i], name) == 0) /* one file on a Mac */
            return true;
    }
    return false;
}

static bool
is_input(const struct symbolicate_output *output, const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return false;
    for (size_t i = 0; i < output->inputs->n; i++) {
        const struct report_file *file = &output->inputs->list[i];
        /* Compared as files, not as paths: "./a" and a link to it are the same. */
        if (file->inode == st.st_ino && file->device == st.st_dev)
            return true;
    }
    return false;
}

static enum fz_code
remember(struct symbolicate_output *output, const char *name, struct fz_error *err)
{
    char **written =
        fz_list_grow(NULL, output->written, &output->room, output->n + 1, sizeof(*written));
    if (!written)
        return fz_budget_fail(NULL, err);
    output->written = written;
    output->written[output->n] = strdup(name);
    if (!output->written[output->n])
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    output->n++;
    return FZ_OK;
}

static enum fz_code
write_file(struct symbolicate_output *output, const char *name, struct fz_span text,
           struct fz_error *err)
{
    static const char *const extensions[] = {
        [REPORT_FORM_JSON] = "json", [REPORT_FORM_CRASH] = "crash", [REPORT_FORM_IPS] = "ips"};
    const char *extension = extensions[output->options->form], *more = "";
    char stem[NAME_ROOM], file[NAME_ROOM + 64], number[32] = "", path[PATH_MAX];
    make_stem(name, stem);
    for (unsigned n = 2;; n++) {
        snprintf(file, sizeof(file), "%s%s%s.%s", stem, more, number, extension);
        if (snprintf(path, sizeof(path), "%s/%s", output->options->output, file) >=
            (int)sizeof(path))
            return fz_fail(err, FZ_E_LIMIT, "the path of the output is too long");
        if (!is_taken(output, file) && !is_input(output, path))
            break;
        /* No report of this run has the name, so an input has: the name says what the new file
         * is. */
        if (!*more && !is_taken(output, file)) {
            more = ".symbolicated";
            n = 1;
            continue;
        }
        snprintf(number, sizeof(number), "-%u", n);
    }
    /* Before it is written: of two reports with one name, none replaces the other. */
    enum fz_code code = remember(output, file, err);
    if (code == FZ_OK)
        code = fz_file_write_atomic(path, text, 0644, err);
    return code;
}

enum fz_code
symbolicate_output_write(struct symbolicate_output *output, const char *name, struct fz_span text,
                         bool is_kept, struct fz_error *err)
{
    if (output->options->output)
        return write_file(output, name, text, err);
    /* Texts are separated by a line; JSON and .ips have one line each. */
    if (output->is_begun && output->options->form == REPORT_FORM_CRASH &&
        !(is_kept && output->was_kept))
        fputc('\n', stdout);
    if (output->is_open)
        fputc('\n', stdout);
    output->is_open = text.len > 0 && text.data[text.len - 1] != '\n';
    output->is_begun = true;
    output->was_kept = is_kept;
    if (fwrite(text.data, 1, text.len, stdout) == text.len && fflush(stdout) == 0)
        return FZ_OK;
    /* The caller then stops without a message, as other filters do. */
    output->is_gone = errno == EPIPE;
    fz_fail_errno(err, "cannot write to standard output");
    clearerr(stdout); /* it has been reported */
    return FZ_E_INTERNAL;
}
