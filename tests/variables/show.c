/* Prints the variables of a dump: show DUMP [DSYM|-] [BINARY|-] [REPEAT]. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/variables/dump.h"

static const char *
file_of(int argc, char **argv, int i)
{
    return i < argc && strcmp(argv[i], "-") != 0 ? argv[i] : NULL;
}

static double
now_ms(clockid_t clock)
{
    struct timespec at;
    clock_gettime(clock, &at);
    return (double)at.tv_sec * 1e3 + (double)at.tv_nsec / 1e6;
}

int
main(int argc, char **argv)
{
    static struct dump dump;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    int repeat = argc > 4 ? atoi(argv[4]) : 1;
    if (argc < 2 || !dump_open(&dump, argv[1], file_of(argc, argv, 2), file_of(argc, argv, 3)))
        return 1;
    for (int i = 0; i < repeat; i++) {
        struct sym_variables *variables = NULL;
        double start = now_ms(CLOCK_MONOTONIC), cpu = now_ms(CLOCK_PROCESS_CPUTIME_ID);
        fz_buffer_clear(&out);
        if (sym_variables_create(dump.process, NULL, &dump.arena, &variables, NULL) != FZ_OK)
            return 1;
        dump_print(variables, &dump, &out);
        sym_variables_destroy(variables);
        if (repeat > 1)
            fprintf(stderr, "%.2f ms, CPU %.2f ms, %zu frames\n", now_ms(CLOCK_MONOTONIC) - start,
                    now_ms(CLOCK_PROCESS_CPUTIME_ID) - cpu, dump.chain.n);
    }
    fwrite(out.data, 1, out.len, stdout);
    dump_close(&dump);
    return 0;
}
