/* framezero atos: Apple's atos, with the same options and lines. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "server/atos.h"
#include "server/cmd.h"
#include "server/slice_index.h"

static const char usage[] =
    "usage: framezero atos -o FILE [-arch ARCH] [-l LOADADDRESS | -s SLIDE | --offset]\n"
    "                      [-i] [--fullPath] [-d DELIMITER] [-f ADDRESSFILE] [ADDRESS...]\n"
    "\n"
    "Prints function, file and line of each ADDRESS, one a line. Without addresses, those of\n"
    "standard input are taken, each answered at once.\n"
    "\n"
    "  -o FILE          dSYM, Mach-O, or a zip of one; for a binary, FILE.dSYM beside it is used\n"
    "  -arch ARCH       the architecture of a fat file\n"
    "  -l LOADADDRESS   where the image was loaded (hex, as under Binary Images in a report)\n"
    "  -s SLIDE         what to subtract from each address\n"
    "  --offset         the addresses are offsets into the image\n"
    "  -i               inlined calls too, innermost first\n"
    "  --fullPath       whole paths of source files\n"
    "  -d DELIMITER     between inlined calls, instead of a newline\n"
    "  -f ADDRESSFILE   addresses from a file, separated by white space\n"
    "\n"
    "Addresses are hex with 0x or a leading zero, else decimal. A long option may begin with one\n"
    "dash or two.\n";

struct arguments {
    struct atos_options options;
    const char *file, *arch, *addresses;
    int first; /* of the addresses in argv */
};

static int
wrong_usage(const char *text, const char *what)
{
    fprintf(stderr, "framezero atos: %s%s\n%s", text, what, usage);
    return 2;
}

static bool
is_option(const char *arg, const char *short_name, const char *long_name)
{
    if (strcmp(arg, short_name) == 0)
        return true;
    return fz_text_has_prefix(arg, "-") &&
           (strcmp(arg + 1, long_name) == 0 || (arg[1] == '-' && strcmp(arg + 2, long_name) == 0));
}

/* An option with a value. 0: taken; 1: it is none; 2: wrong usage. */
static int
parse_valued(const char *arg, const char *value, struct arguments *ret)
{
    struct atos_options *options = &ret->options;
    uint64_t *number = NULL;
    if (is_option(arg, "-o", "object"))
        ret->file = value;
    else if (is_option(arg, "-arch", "arch"))
        ret->arch = value;
    else if (is_option(arg, "-f", "file"))
        ret->addresses = value;
    else if (is_option(arg, "-d", "delimiter"))
        options->delimiter = value;
    else if (is_option(arg, "-l", "loadAddress"))
        options->has_load = true, number = &options->load;
    else if (is_option(arg, "-s", "slide"))
        options->has_slide = true, number = &options->slide;
    else
        return 1;
    if (!value)
        return wrong_usage("a value is missing behind ", arg);
    if (number == &options->load && !fz_text_hex_u64(fz_span_cstr(value), number))
        return wrong_usage("not a load address: ", value);
    if (number == &options->slide && !atos_parse(value, number))
        return wrong_usage("not a slide: ", value);
    return 0;
}

static int
parse(int argc, char **argv, struct arguments *ret)
{
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        int status = parse_valued(argv[i], i + 1 < argc ? argv[i + 1] : NULL, ret);
        if (status == 2)
            return 2;
        if (status == 0)
            i++;
        else if (is_option(argv[i], "-i", "inlineFrames"))
            ret->options.inlines = true;
        else if (is_option(argv[i], "-fullPath", "fullPath"))
            ret->options.full_path = true;
        else if (is_option(argv[i], "-offset", "offset"))
            ret->options.is_offset = true;
        else
            return wrong_usage("unknown option ", argv[i]);
    }
    ret->first = i;
    if (!ret->file)
        return wrong_usage("-o FILE is missing", "");
    if (ret->options.has_load + ret->options.has_slide + ret->options.is_offset > 1)
        return wrong_usage("only one of -l, -s and --offset can be given", "");
    return 0;
}

static void
print_word(const struct slice_index *opened, const char *word, const struct atos_options *options)
{
    struct fz_buffer line;
    fz_buffer_init(&line, 0);
    atos_line(opened->index, fz_text_base_name(opened->slice->path), word, options, &line);
    fputs(fz_buffer_cstr(&line), stdout);
    fz_buffer_deinit(&line);
}

/* The words of a stream; answered line by line, since another program may wait for each. */
static void
print_words(const struct slice_index *opened, FILE *in, const struct atos_options *options)
{
    char *line = NULL, *rest = NULL;
    size_t room = 0;
    while (getline(&line, &room, in) > 0) {
        for (char *word = strtok_r(line, " \t\r\n", &rest); word;
             word = strtok_r(NULL, " \t\r\n", &rest))
            print_word(opened, word, options);
        fflush(stdout);
    }
    free(line);
}

int
cmd_atos(int argc, char **argv)
{
    struct arguments arguments = {.file = NULL};
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        fputs(usage, stdout);
        return 0;
    }
    int status = parse(argc, argv, &arguments);
    if (status != 0)
        return status;
    struct fz_error err;
    FZ_CLEANUP(slice_index_deinit) struct slice_index opened = {0};
    if (slice_index_open(arguments.file, arguments.arch, &opened, &err) != FZ_OK) {
        fprintf(stderr, "framezero atos: %s\n", err.text);
        return 1;
    }
    FILE *in = arguments.addresses ? fopen(arguments.addresses, "re") : NULL;
    if (arguments.addresses && !in) {
        perror(arguments.addresses);
        return 1;
    }
    if (in)
        print_words(&opened, in, &arguments.options);
    for (int i = arguments.first; i < argc; i++)
        print_word(&opened, argv[i], &arguments.options);
    if (!in && arguments.first == argc)
        print_words(&opened, stdin, &arguments.options);
    if (in)
        fclose(in);
    return ferror(stdout) ? 1 : 0;
}
