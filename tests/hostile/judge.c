/*
 * What a child does with a symbol file, for many damaged copies of one: each in a process of its own, whose end, CPU time and
 * memory are looked at.
 *
 *     judge FILE < mutants
 *
 * A mutant is the number of its changes (4 bytes) and its length (8 bytes, at most the file's), then for each change an
 * offset (8), a width (1, 2, 4 or 8; one byte) and a value (8); all little-endian. For each that dies of a signal or takes
 * more than it may, a line "N: why" (N counts from 0); at the end a line with the figures.
 */
#define _GNU_SOURCE /* memfd_create(), MAP_ANONYMOUS, wait4() */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/list.h"
#include "symbolicator/symbolicator.h"
#include "symbolicator/unwind/unwind.h"
#include "symbolicator/variables/variables.h"

enum {
    CPU_S = 10,
    MEMORY_MB = 512,
    CAP = 1 << 30,
    PCS = 6,
    FRAMES = 4,
    STACK = 0x7000000,
    CHANGES_MAX = 64
};
static const uint64_t LOAD = 0x500000000;

static enum fz_code
give_files(void *user, size_t image, struct sym_process_files *ret, struct fz_error *err)
{
    (void)image;
    (void)err;
    *ret = (struct sym_process_files){.dsym = user, .binary = user};
    return FZ_OK;
}

/* A crash at `pc` of this file: its stack and the values of its frames. */
static void
crash(struct sym_macho *macho, uint64_t pc, struct fz_arena *arena)
{
    static uint8_t stack[4096];
    const struct sym_process_region region = {STACK, fz_span_make(stack, sizeof(stack))};
    const struct sym_process_image image = {.addr = LOAD, .size = 0x10000000};
    struct sym_process_source source = {.cpu = macho->cputype == FZ_ARCH_ARM64 ? FZ_CPU_ARM64
                                                                               : FZ_CPU_X86_64,
                                        .regions = &region,
                                        .n_regions = 1,
                                        .images = &image,
                                        .n_images = 1,
                                        .files = give_files,
                                        .user = macho};
    struct sym_registers registers = {.known = {false}};
    struct sym_process *process = NULL;
    struct sym_variables *variables = NULL;
    struct sym_unwind_chain chain;
    for (size_t i = 0; i < sizeof(stack); i += 8)
        memcpy(stack + i, &(uint64_t){i % 16 ? pc + i : STACK + i + 32}, 8);
    for (int i = 0; i < 33; i++)
        sym_registers_set(&registers, i, STACK + (uint64_t)i * 8);
    sym_registers_set(&registers, fz_arch_register_of_role(source.cpu, FZ_REGISTER_PC), pc);
    sym_registers_set(&registers, fz_arch_register_of_role(source.cpu, FZ_REGISTER_SP), STACK);
    bool ok = sym_process_create(&source, arena, &process, NULL) == FZ_OK &&
              sym_unwind(process, &registers, FRAMES, arena, &chain, NULL) == FZ_OK &&
              sym_variables_create(process, NULL, arena, &variables, NULL) == FZ_OK;
    for (size_t i = 0; ok && i < chain.n && i < FRAMES; i++) {
        struct sym_scope *scopes;
        size_t n;
        fz_ignore(sym_variables_at(variables, &chain, i, &scopes, &n,
                                   NULL)); /* that it ends is what counts */
    }
    sym_variables_destroy(variables);
    sym_process_destroy(process);
}

static void
judge_slice(struct fz_span bytes)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(CAP);
    struct sym_problems problems = {.n = 0};
    struct sym_macho macho;
    struct sym_build_stats stats = {.n_functions = 0};
    struct sym_build_options options = {.memory_cap = CAP};
    struct sym_index *index = NULL;
    struct sym_features features;
    static struct sym_frame frames[SYM_FRAMES_MAX];
    if (sym_macho_open(bytes, &arena, &macho, &problems, NULL) != FZ_OK)
        return;
    int fd = memfd_create("index", MFD_CLOEXEC);
    if (sym_index_build(&macho, &options, fd, &stats, &problems, NULL) == FZ_OK &&
        sym_index_open_fd(fd, &index, NULL) == FZ_OK) {
        for (uint64_t i = 0; i < 512; i++)
            sym_index_lookup(index, macho.text_vmaddr + i * 64, frames, SYM_FRAMES_MAX);
    }
    fz_ignore(sym_inspect(&macho, index ? &stats : NULL, &arena, &features, &problems,
                          NULL)); /* likewise */
    for (uint64_t i = 0; i < PCS; i++)
        crash(&macho, LOAD + 0x1000 + i * 0x94, &arena);
    sym_index_close(index);
    close(fd);
}

static void
judge(struct fz_span file)
{
    struct sym_slice slices[SYM_SLICES_MAX];
    struct sym_problems problems = {.n = 0};
    size_t n = 0;
    if (!sym_macho_has_magic(file) || sym_macho_slices(file, slices, &n, &problems, NULL) != FZ_OK)
        return;
    for (size_t i = 0; i < n; i++) {
        struct fz_span bytes;
        if (fz_span_sub(file, slices[i].offset, slices[i].size, &bytes))
            judge_slice(bytes);
    }
}

struct change {
    uint64_t offset, value;
    uint8_t width;
};

struct mutant {
    uint32_t n;
    uint64_t len;
    struct change changes[CHANGES_MAX];
};

static bool
read_mutant(struct mutant *ret)
{
    if (fread(&ret->n, 4, 1, stdin) != 1 || fread(&ret->len, 8, 1, stdin) != 1 ||
        ret->n > CHANGES_MAX)
        return false;
    for (uint32_t i = 0; i < ret->n; i++) {
        struct change *c = &ret->changes[i];
        if (fread(&c->offset, 8, 1, stdin) != 1 || fread(&c->width, 1, 1, stdin) != 1 ||
            fread(&c->value, 8, 1, stdin) != 1 || c->width > 8)
            return false;
    }
    return true;
}

/* In the process of the mutant. The copy ends at a page that cannot be read, so that a read past the end is a signal. */
static void
run_mutant(struct fz_span file, const struct mutant *m)
{
    setrlimit(RLIMIT_CPU, &(struct rlimit){CPU_S, CPU_S + 1});
    size_t page = (size_t)sysconf(_SC_PAGESIZE),
           len = m->len < file.len ? (size_t)m->len : file.len;
    size_t room = (len + page - 1) / page * page;
    uint8_t *map =
        mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED || mprotect(map + room, page, PROT_NONE) != 0)
        _exit(2);
    uint8_t *bytes = map + room - len;
    memcpy(bytes, file.data, len);
    for (uint32_t i = 0; i < m->n; i++) {
        const struct change *c = &m->changes[i];
        if (c->offset <= len && c->width <= len - c->offset)
            memcpy(bytes + c->offset, &c->value, c->width);
    }
    judge(fz_span_make(bytes, len));
    _exit(0);
}

static int
compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int
main(int argc, char **argv)
{
    struct fz_map map;
    struct fz_error err;
    static struct mutant mutant;
    size_t n = 0, room = 0, n_bad = 0;
    double *times = NULL, slowest = 0;
    long peak = 0;
    if (argc != 2 || fz_map_open(argv[1], &map, &err) != FZ_OK)
        return 2;
    while (read_mutant(&mutant)) {
        fflush(stdout);
        pid_t pid = fork();
        if (pid == 0)
            run_mutant(map.bytes, &mutant);
        int status = 0;
        struct rusage used;
        if (pid < 0 || wait4(pid, &status, 0, &used) != pid)
            return 2;
        double cpu = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                     (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
        bool is_bad = !WIFEXITED(status) || WEXITSTATUS(status) != 0 || cpu > (double)CPU_S ||
                      used.ru_maxrss > MEMORY_MB * 1024L;
        if (is_bad)
            printf("%zu: status %d, %.2f s of CPU, %ld MB\n", n, status, cpu,
                   used.ru_maxrss / 1024);
        n_bad += is_bad;
        slowest = cpu > slowest ? cpu : slowest;
        peak = used.ru_maxrss > peak ? used.ru_maxrss : peak;
        times = fz_list_grow(NULL, times, &room, n + 1, sizeof(*times));
        if (!times)
            return 2;
        times[n++] = cpu;
    }
    if (n)
        qsort(times, n, sizeof(*times), compare);
    printf("%zu mutants, %zu bad, slowest %.3f s, median %.1f ms, peak %ld MB\n", n, n_bad, slowest,
           n ? times[n / 2] * 1e3 : 0, peak / 1024);
    free(times);
    fz_map_close(&map);
    return n_bad ? 1 : 0;
}
