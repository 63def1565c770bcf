#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "loader.h"

struct loader_shared *loader_shared;
struct macho *loader_images[LOADER_IMAGES];
unsigned loader_n_images;
const char *loader_dump_path;

struct program {
    int argc;
    char **argv;
    struct macho *image;
};

static void
run_initialisers(const struct macho *image, const struct program *program)
{
    static const char *const segments[] = {"__DATA_CONST", "__DATA"};
    for (size_t i = 0; i < 2; i++) {
        uint64_t size = 0;
        uint64_t at = macho_section(image, segments[i], "__mod_init_func", &size);
        for (uint64_t k = 0; at && k < size; k += 8)
            ((void (*)(int, char **))(*(uint64_t *)(at + k)))(program->argc, program->argv);
        at = macho_section(image, "__TEXT", "__init_offsets", &size);
        for (uint64_t k = 0; i == 0 && at && k < size; k += 4)
            ((void (*)(int, char **))(image->addr + *(uint32_t *)(at + k)))(program->argc,
                                                                            program->argv);
    }
}

static void *
run_main(void *user)
{
    const struct program *program = user;
    run_initialisers(program->image, program);
    int code = ((int (*)(int, char **))program->image->entry)(program->argc, program->argv);
    fflush(stdout);
    _exit(code);
}

static void
usage(void)
{
    fprintf(stderr, "usage: loader [--slide HEX] [--dump FILE] PROGRAM [ARGUMENT...]\n");
    exit(2);
}

int
main(int argc, char **argv)
{
    uint64_t slide = 0;
    int at = 1;
    for (; at + 1 < argc && !strncmp(argv[at], "--", 2); at += 2) {
        if (!strcmp(argv[at], "--slide"))
            slide = strtoull(argv[at + 1], NULL, 16);
        else if (!strcmp(argv[at], "--dump"))
            loader_dump_path = argv[at + 1];
        else
            usage();
    }
    if (at >= argc)
        usage();
    setvbuf(stdout, NULL, _IONBF, 0);
    loader_shared = mmap(NULL, sizeof(*loader_shared), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct loader_thread *thread = loader_thread_register();
    loader_thread_alternate_stack();
    loader_threads_install();
    loader_signals_install();
    struct program program = {.argc = argc - at, .argv = argv + at};
    program.image = macho_load(argv[at], slide, loader_resolve);
    loader_images[loader_n_images++] = program.image;
    if (!program.image->entry) {
        fprintf(stderr, "loader: %s has no main\n", argv[at]);
        return 125;
    }
    thread->stack_top = loader_stack_make(&thread->stack_low);
    cpu_call_on_stack(run_main, &program, thread->stack_top);
    return 0;
}
