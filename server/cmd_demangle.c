/* framezero demangle: mangled names to readable ones. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/file.h"
#include "server/cmd.h"
#include "symbolicator/demangle.h"

enum { READ_BYTES = 64 * 1024 };

static const char usage[] =
    "usage: framezero demangle [--simplified] [NAME...]\n"
    "\n"
    "Prints the readable form of each NAME, or of each line of standard input: C++, Rust, Swift "
    "and\n"
    "blocks, with or without the underscore of Mach-O. A name that is not mangled comes back as "
    "it\n"
    "was.\n"
    "\n"
    "  --simplified   shorter: without default template arguments, hashes, modules and types\n"
    "  --             what follows is a name, even if it begins with a dash\n";

/* Append the readable form of `name` and a newline. */
static void
append_name(struct fz_buffer *out, const char *name, const struct sym_demangle_options *options)
{
    fz_ignore(sym_demangle(name, false, options, out)); /* the text is the name otherwise */
    fz_buffer_char(out, '\n');
}

/* Answer the whole lines of `in` and keep what is behind them; at the end that is a line too. */
static void
answer_lines(struct fz_buffer *in, bool is_end, const struct sym_demangle_options *options,
             struct fz_buffer *out)
{
    char *line = in->data, *end = in->data + in->len;
    while (line < end) {
        char *newline = memchr(line, '\n', (size_t)(end - line));
        if (!newline && !is_end)
            break;
        *(newline ? newline : end) = '\0';
        line[strcspn(line, "\r")] = '\0';
        append_name(out, line, options);
        line = newline ? newline + 1 : end;
    }
    in->len = (size_t)(end - line);
    memmove(in->data, line, in->len);
}

/* Another program may be waiting for each answer: what was read is answered before more is read. */
static enum fz_code
print_lines(const struct sym_demangle_options *options, struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer in = fz_buffer_make(0);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    ssize_t n;
    do {
        char *at = fz_buffer_room(&in, READ_BYTES);
        if (!at)
            return fz_buffer_done(&in, err);
        n = read(STDIN_FILENO, at, READ_BYTES);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fz_fail_errno(err, "cannot read the names");
        in.len += (size_t)n;
        /* A line that goes on in what comes next is not looked at again and again. */
        if (n == 0 || memchr(at, '\n', (size_t)n))
            answer_lines(&in, n == 0, options, &out);
        enum fz_code code = fz_buffer_done(&out, err);
        if (code == FZ_OK)
            code = fz_file_write_fd(STDOUT_FILENO, fz_buffer_span(&out), err);
        if (code != FZ_OK)
            return code;
        fz_buffer_clear(&out);
    } while (n != 0);
    return FZ_OK;
}

int
cmd_demangle(int argc, char **argv)
{
    struct sym_demangle_options options = {.keep_hash = true,
                                           .stack_room = sym_demangle_stack_room()};
    int i = 1;
    /* Objective-C names begin with a dash: only two dashes make an option. */
    for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
        if (strcmp(argv[i], "--simplified") == 0) {
            options.simplified = true;
            options.keep_hash = false;
        } else if (strcmp(argv[i], "--help") == 0) {
            fputs(usage, stdout);
            return 0;
        } else if (strcmp(argv[i], "--") == 0) {
            i++;
            break;
        } else {
            fprintf(stderr, "framezero demangle: unknown option %s\n%s", argv[i], usage);
            return 2;
        }
    }
    struct fz_error err;
    enum fz_code code;
    if (i == argc) {
        code = print_lines(&options, &err);
    } else {
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
        for (; i < argc; i++)
            append_name(&out, argv[i], &options);
        code = fz_buffer_done(&out, &err);
        if (code == FZ_OK)
            code = fz_file_write_fd(STDOUT_FILENO, fz_buffer_span(&out), &err);
    }
    if (code != FZ_OK)
        fprintf(stderr, "framezero demangle: %s\n", err.text);
    return code == FZ_OK ? 0 : 1;
}
