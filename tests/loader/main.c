#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "loader.h"

enum { EXTENSION_SLIDE = 0x5550000 };
static const uint64_t LIBRARY_SLIDE = 0x40000000;

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
    loader_steps_begin(program->image->entry);
    int code = ((int (*)(int, char **))program->image->entry)(program->argc, program->argv);
    loader_steps_close();
    fflush(stdout);
    _exit(code);
}

static void
usage(void)
{
    fprintf(stderr, "usage: loader [--slide HEX] [--dump FILE] [--steps FILE] [--library FILE] "
                    "[--extension FILE] PROGRAM "
                    "[ARGUMENT...]\n");
    exit(2);
}

/* Load and run a program in this process; does not return. */
static void
run(struct program *program, uint64_t slide)
{
    struct loader_thread *thread = loader_thread_register();
    loader_thread_alternate_stack();
    loader_threads_install();
    loader_signals_install();
    program->image = macho_load(program->argv[0], slide, loader_resolve, loader_steps_wanted());
    loader_images[loader_n_images++] = program->image;
    if (!program->image->entry) {
        fprintf(stderr, "loader: %s has no main\n", program->argv[0]);
        _exit(125);
    }
    loader_shared->dyld_infos = loader_infos_make();
    thread->stack_top = loader_stack_make(&thread->stack_low);
    cpu_call_on_stack(run_main, program, thread->stack_top);
}

static struct loader_shared *
make_shared(void)
{
    return mmap(NULL, sizeof(*loader_shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                -1, 0);
}

/* The program dies in a child, which stays as a corpse; the extension runs in this process and reads it. */
static int
run_with_extension(struct program *program, uint64_t slide, char *extension)
{
    struct loader_shared *child = make_shared();
    struct timespec pause = {.tv_nsec = 1000000};
    pid_t pid = fork();
    if (pid == 0) {
        loader_shared = child;
        child->pid = getpid();
        run(program, slide);
    }
    int status;
    while (!__atomic_load_n(&child->dead, __ATOMIC_SEQ_CST)) {
        if (waitpid(pid, &status, WNOHANG) == pid) {
            fprintf(stderr, "loader: %s ended without a crash\n", program->argv[0]);
            return 125;
        }
        nanosleep(&pause, NULL);
    }
    /* The extension's process knows the child by its port alone, so it is a process of its own, too. */
    fflush(NULL);
    pid_t reader = fork();
    if (reader == 0) {
        loader_shared = make_shared();
        loader_corpse = child;
        loader_n_images = 0;
        program->argv[0] = extension;
        run(program, slide + EXTENSION_SLIDE);
    }
    waitpid(reader, &status, 0);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 125;
}

int
main(int argc, char **argv)
{
    uint64_t slide = 0;
    char *extension = NULL;
    int at = 1;
    for (; at + 1 < argc && !strncmp(argv[at], "--", 2); at += 2) {
        if (!strcmp(argv[at], "--slide"))
            slide = strtoull(argv[at + 1], NULL, 16);
        else if (!strcmp(argv[at], "--dump"))
            loader_dump_path = argv[at + 1];
        else if (!strcmp(argv[at], "--steps"))
            loader_steps_open(argv[at + 1]);
        else if (!strcmp(argv[at], "--extension"))
            extension = argv[at + 1];
        else if (!strcmp(argv[at], "--library") && loader_n_images < LOADER_IMAGES - 1) {
            loader_images[loader_n_images] =
                macho_load(argv[at + 1], LIBRARY_SLIDE * (1 + (uint64_t)loader_n_images),
                           loader_resolve, loader_steps_wanted());
            loader_n_images++;
        } else
            usage();
    }
    if (at >= argc)
        usage();
    setvbuf(stdout, NULL, _IONBF, 0);
    struct program program = {.argc = argc - at, .argv = argv + at};
    if (extension)
        return run_with_extension(&program, slide, extension);
    loader_shared = make_shared();
    run(&program, slide);
    return 0;
}
