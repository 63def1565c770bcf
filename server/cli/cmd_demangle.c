/* framezero demangle: mangled names to readable ones. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/file.h"
#include "server/cli/cmd.h"
#include "server/cli/command.h"
#include "server/config/term.h"
#include "symbolicator/demangle/declaration.h"
#include "symbolicator/symbolicator.h"

enum { READ_BYTES = 64 * 1024 };

enum { ARENA_BYTES = 1024 * 1024, ARENA_KEPT = ARENA_BYTES / 2 };

struct arguments {
    bool simplified, declaration;
};

struct printer {
    struct sym_demangle_options options;
    bool declaration;
    struct fz_arena arena; /* for declarations, of several names */
};

static const struct option_spec own_options[] = {
    {.name = "simplified",
     .offset = offsetof(struct arguments, simplified),
     .help = "Shorter: without default template arguments, hashes, modules and types."},
    {.name = "declaration",
     .offset = offsetof(struct arguments, declaration),
     .help = "The function of the source that each name belongs to, as issues are grouped; after "
             "tabs its module, and what the name is of it."},
    {.name = NULL},
};
static const struct command_example examples[] = {
    {"framezero demangle _ZN4shop8checkoutEv", "shop::checkout()"},
    {"nm Shop | framezero demangle", "each line of standard input"},
    {"framezero demangle --declaration '$s4Shop4loadyyFyycfU_'", "load(), Shop, closure #1 in"},
    {NULL, NULL},
};

/* "checkout()", tab, "Shop", tab, "closure #1 in". */
static void
append_declaration(struct fz_buffer *out, const char *name, struct printer *printer)
{
    struct sym_declaration found;
    if (printer->arena.used > ARENA_KEPT) /* nothing of it is needed any more */
        fz_arena_deinit(&printer->arena);
    if (sym_demangle_declaration(name, NULL, printer->options.stack_room, &printer->arena, &found,
                                 NULL) != FZ_OK) {
        out->failed = true;
        return;
    }
    fz_buffer_text(out, found.name);
    fz_buffer_char(out, '\t');
    fz_buffer_text(out, found.module);
    fz_buffer_char(out, '\t');
    fz_buffer_text(out, found.is_real ? found.removed : "no declaration");
}

/* Append the readable form of `name` and a newline. */
static void
append_name(struct fz_buffer *out, const char *name, struct printer *printer)
{
    if (printer->declaration)
        append_declaration(out, name, printer);
    else /* the text is the name if it is not mangled */
        fz_ignore(sym_demangle(name, false, &printer->options, out));
    fz_buffer_char(out, '\n');
}

/* Answer the whole lines of `in` and keep the rest; at the end of the input the rest is a line too. */
static void
answer_lines(struct fz_buffer *in, bool is_end, struct printer *printer, struct fz_buffer *out)
{
    char *line = in->data, *end = in->data + in->len;
    while (line < end) {
        char *newline = memchr(line, '\n', (size_t)(end - line));
        if (!newline && !is_end)
            break;
        /* At the end too: fz_buffer_room() leaves a byte for a NUL. */
        *(newline ? newline : end) = '\0';
        /* Lists that were made on Windows have CR LF at the ends of lines. */
        line[strcspn(line, "\r")] = '\0';
        append_name(out, line, printer);
        line = newline ? newline + 1 : end;
    }
    in->len = (size_t)(end - line);
    memmove(in->data, line, in->len);
}

/* Another program may be waiting for each answer: what was read is answered before more is read. */
static enum fz_code
print_lines(struct printer *printer, struct fz_error *err)
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
            answer_lines(&in, n == 0, printer, &out);
        enum fz_code code = fz_buffer_done(&out, err);
        if (code == FZ_OK)
            code = fz_file_write_fd(STDOUT_FILENO, fz_buffer_span(&out), err);
        if (code != FZ_OK)
            return code;
        /* Also where nothing was answered: the buffer keeps its memory for the next lines. */
        fz_buffer_clear(&out);
    } while (n != 0);
    return FZ_OK;
}

static int
run(const struct command_call *call)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    const struct arguments *arguments = call->values;
    struct fz_error err;
    /* The hash of a Rust name distinguishes the instances of one generic function. */
    struct printer printer = {.options = {.simplified = arguments->simplified,
                                          .keep_hash = !arguments->simplified,
                                          .stack_room = sym_demangle_stack_room()},
                              .declaration = arguments->declaration,
                              .arena = fz_arena_make(ARENA_BYTES)};
    for (size_t i = 0; i < call->n_operands; i++)
        append_name(&out, call->operands[i], &printer);
    enum fz_code code = fz_buffer_done(&out, &err);
    if (code == FZ_OK)
        code = call->n_operands ? fz_file_write_fd(STDOUT_FILENO, fz_buffer_span(&out), &err)
                                : print_lines(&printer, &err);
    fz_arena_deinit(&printer.arena);
    return code == FZ_OK ? 0 : term_failed(cmd_demangle.name, &err);
}

const struct command_spec cmd_demangle = {
    .name = "demangle",
    .summary = "mangled names to readable ones",
    .operands = "[NAME...]",
    .description =
        "Print the readable form of each NAME, or of each line of standard input: C++, Rust, Swift "
        "and blocks, with or without the underscore of Mach-O. A name that is not mangled is "
        "printed unchanged. So is a C++ type alone (PKFvRiE): it is not the name of a symbol. An "
        "Objective-C name may begin with one dash; after -- everything is a name.",
    .flags = COMMAND_DASH_OPERANDS,
    .options = own_options,
    .values_size = sizeof(struct arguments),
    .examples = examples,
    .run = run,
};
