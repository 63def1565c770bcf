/* framezero: the sub-commands by name. Each lives in its own cmd_<name>.c. */
#include "server/cmd.h"

#include <stdio.h>
#include <string.h>

#include "base/attr.h"

static const struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary; /* NULL: not shown */
} commands[] = {
    {"serve", cmd_serve, "HTTP server with its workers"},
    {"worker", cmd_worker, "workers only, for further machines"},
    {"child", cmd_child, NULL},
    {"migrate", cmd_migrate, "bring the database to this version"},
    {"token", cmd_token, "create, list and revoke tokens and ingest keys"},
    {"project", cmd_project, "create and list projects"},
    {"upload", cmd_upload, "send the dSYMs and binaries under some paths to a server"},
    {"symbolicate", cmd_symbolicate, "one report and its dSYMs to names, without a server"},
    {"index", cmd_index, "symbol file to symbol index"},
    {"lookup", cmd_lookup, "addresses to names out of a symbol index"},
    {"atos", cmd_atos, "addresses to function, file and line, as Apple's atos"},
    {"inspect", cmd_inspect, "what a symbol file holds and what is wrong with it"},
    {"demangle", cmd_demangle, "mangled names to readable ones"},
    {NULL, NULL, NULL},
};

static void
print_usage(FILE *to)
{
    fprintf(to, "usage: framezero COMMAND [OPTIONS]   (framezero COMMAND --help tells more)\n\n");
    for (size_t i = 0; i + 1 < FZ_ARRAY_LEN(commands); i++) {
        if (commands[i].summary)
            fprintf(to, "  %-12s %s\n", commands[i].name, commands[i].summary);
    }
}

int
main(int argc, char **argv)
{
    if (argc < 2) {
        print_usage(stderr);
        return 2;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
        print_usage(stdout);
        return 0;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("framezero %s\n", FZ_VERSION);
        return 0;
    }
    for (size_t i = 0; i + 1 < FZ_ARRAY_LEN(commands); i++) {
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    }
    fprintf(stderr, "framezero: there is no command '%s'; 'framezero --help' lists them\n",
            argv[1]);
    return 2;
}
