/* framezero demangle: mangled names to readable ones. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/cmd.h"
#include "symbolicator/demangle.h"

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

static void
print_name(const char *name, const struct sym_demangle_options *options)
{
    struct fz_buffer text;
    fz_buffer_init(&text, 0);
    fz_ignore(sym_demangle(name, false, options, &text)); /* the text is the name otherwise */
    puts(fz_buffer_cstr(&text));
    fz_buffer_deinit(&text);
}

static int
print_lines(const struct sym_demangle_options *options)
{
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, stdin) > 0) {
        line[strcspn(line, "\r\n")] = '\0';
        print_name(line, options);
        fflush(stdout); /* another program may be waiting for each answer */
    }
    free(line);
    return ferror(stdin) || ferror(stdout) ? 1 : 0;
}

int
cmd_demangle(int argc, char **argv)
{
    struct sym_demangle_options options = {.keep_hash = true};
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
    if (i == argc)
        return print_lines(&options);
    for (; i < argc; i++)
        print_name(argv[i], &options);
    return ferror(stdout) ? 1 : 0;
}
