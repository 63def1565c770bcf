/*
 * replay [-v] FOLDER NAME...: unwind at every instruction of recorded runs and compare with the
 * calls that really happened.
 *
 * FOLDER/NAME.trace.gz, NAME.gz (the program) and NAME.dsym.gz. Four ways: the program and its
 * dSYM, the program alone, both but without the program's code, the dSYM alone. A chain is right if all of its addresses are, up to the
 * first function. Registers that the unwinder gives for a caller must be those at the call. Exit
 * status 1 if a score is too low (see goal_of()) or a register is wrong.
 */
#include "tests/unwind/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "base/buffer.h"
#include "base/reader.h"
#include "symbolicator/macho/macho.h"
#include "symbolicator/unwind/unwind.h"

enum { ARENA = 64 << 20, DEPTH_MAX = 64, SHOWN_MAX = 12 };

enum way { WAY_BOTH, WAY_BINARY, WAY_TABLES, WAY_DSYM, WAYS };
static const char *const way_names[] = {"both", "binary", "tables", "dSYM"};

/* A call that has not returned yet: what its caller must get back. */
struct call {
    uint64_t return_addr, sp;
    uint64_t values[TRACE_NUMBERS];
};

struct run {
    enum fz_arch_cpu cpu;
    uint64_t low, high;
    uint8_t *stack;
    uint64_t values[TRACE_NUMBERS];
    bool known[TRACE_NUMBERS];
    struct call calls[DEPTH_MAX];
    size_t n_calls;
    struct sym_macho binary, slim, dsym; /* slim: without code */
    struct sym_process_image image;
    enum way way;
    uint64_t trust[8];
};

struct score {
    uint64_t steps, right, registers, wrong_registers;
};

static struct fz_span
read_gz(const char *folder, const char *name, const char *suffix)
{
    char path[4096];
    struct fz_buffer out = fz_buffer_make(0);
    snprintf(path, sizeof(path), "%s/%s%s.gz", folder, name, suffix);
    gzFile file = gzopen(path, "rb");
    if (!file) {
        fprintf(stderr, "%s: cannot be opened\n", path);
        exit(2);
    }
    char chunk[65536];
    for (int n; (n = gzread(file, chunk, sizeof(chunk))) > 0;)
        fz_buffer_append(&out, chunk, (size_t)n);
    gzclose(file);
    return fz_span_make(out.data, out.len);
}

static enum fz_code
give_files(void *user, size_t image, struct sym_process_files *ret, struct fz_error *err)
{
    struct run *run = user;
    (void)image;
    (void)err;
    ret->binary = run->way == WAY_DSYM ? NULL : run->way == WAY_TABLES ? &run->slim : &run->binary;
    ret->dsym = run->way == WAY_BINARY ? NULL : &run->dsym;
    return FZ_OK;
}

static int
sp_of(const struct run *run)
{
    return fz_arch_register_of_role(run->cpu, FZ_REGISTER_SP);
}

static int
pc_of(const struct run *run)
{
    return fz_arch_register_of_role(run->cpu, FZ_REGISTER_PC);
}

static void
read_step(struct run *run, struct fz_reader *r)
{
    unsigned event = fz_read_u8(r);
    if (event == TRACE_CALL && run->n_calls < DEPTH_MAX) {
        /* The registers are still those before the call was carried out. */
        struct call *call = &run->calls[run->n_calls++];
        call->return_addr = fz_read_u64(r);
        call->sp = run->values[sp_of(run)];
        memcpy(call->values, run->values, sizeof(call->values));
    } else if (event == TRACE_RETURN && run->n_calls > 0) {
        run->n_calls--;
    }
    for (unsigned n = fz_read_u8(r); n > 0; n--) {
        unsigned number = fz_read_u8(r) % TRACE_NUMBERS;
        run->values[number] = fz_read_u64(r);
        run->known[number] = true;
    }
    for (unsigned n = fz_read_u16(r); n > 0; n--) {
        uint64_t at = (uint64_t)fz_read_u32(r) * 8, value = fz_read_u64(r);
        for (unsigned i = 0; i < 8 && at + i < run->high - run->low; i++)
            run->stack[at + i] = (uint8_t)(value >> (8 * i));
    }
}

/* Registers of frame `i`, a caller, that are known but wrong. */
static unsigned
count_wrong(const struct run *run, const struct sym_unwind_chain *chain, size_t i,
            struct score *score)
{
    const struct call *call = &run->calls[run->n_calls - i];
    const struct sym_registers *registers = &chain->frames[i].registers;
    unsigned n = 0;
    for (int number = 0; number < FZ_REGISTER_NUMBERS; number++) {
        uint64_t value;
        if (number == pc_of(run) || !sym_registers_get(registers, number, &value))
            continue;
        score->registers++;
        n += value != (number == sp_of(run) ? call->sp : call->values[number]);
    }
    for (unsigned v = 8; v < 16 && run->cpu == FZ_CPU_ARM64; v++) {
        uint64_t value = 0;
        if (registers->vectors[v].size < 8)
            continue;
        for (unsigned k = 0; k < 8; k++)
            value |= (uint64_t)registers->vectors[v].bytes[k] << (8 * k);
        score->registers++;
        n += value != call->values[TRACE_VECTOR + v];
    }
    /* The CFA of the callee is sp before the call. */
    if (chain->frames[i - 1].has_cfa && chain->frames[i - 1].cfa != call->sp)
        n++;
    return n;
}

static void
show(const struct run *run, uint64_t step, const struct sym_unwind_chain *chain)
{
    printf("  step %" PRIu64 " %s: 0x%" PRIx64 " want", step, way_names[run->way],
           run->values[pc_of(run)]);
    for (size_t i = run->n_calls; i-- > 0;)
        printf(" %" PRIx64, run->calls[i].return_addr);
    printf("\n    got");
    for (size_t i = 0; i < chain->n; i++)
        printf(" %" PRIx64 "(trust %d)", chain->frames[i].pc, (int)chain->frames[i].trust);
    printf(" end %d\n", (int)chain->end);
}

static void
check_step(struct run *run, uint64_t step, bool verbose, struct score *score)
{
    struct fz_arena arena = fz_arena_make(ARENA);
    struct sym_registers registers = {.known = {false}};
    struct sym_process *process = NULL;
    struct sym_unwind_chain chain = {.n = 0};
    uint64_t sp = run->values[sp_of(run)] - 128;
    struct sym_process_region region = {
        sp, fz_span_make(run->stack + (sp - run->low), (size_t)(run->high - sp))};
    struct sym_process_source source = {.cpu = run->cpu,
                                        .regions = &region,
                                        .n_regions = 1,
                                        .images = &run->image,
                                        .n_images = 1,
                                        .files = give_files,
                                        .user = run};
    for (int i = 0; i < FZ_REGISTER_NUMBERS && i < TRACE_VECTOR; i++) {
        if (run->known[i])
            sym_registers_set(&registers, i, run->values[i]);
    }
    for (unsigned i = 8; i < 16 && run->known[TRACE_VECTOR + i]; i++) {
        for (unsigned k = 0; k < 8; k++)
            registers.vectors[i].bytes[k] = (uint8_t)(run->values[TRACE_VECTOR + i] >> (8 * k));
        registers.vectors[i].size = 8;
    }
    if (sp < run->low || sp > run->high ||
        sym_process_create(&source, &arena, &process, NULL) != FZ_OK ||
        sym_unwind(process, &registers, 100, &arena, &chain, NULL) != FZ_OK) {
        fprintf(stderr, "step %" PRIu64 ": not unwound\n", step);
        exit(2);
    }
    bool right = chain.n == run->n_calls + 1 && chain.frames[0].pc == run->values[pc_of(run)];
    for (size_t i = 1; right && i < chain.n; i++)
        right = chain.frames[i].pc == run->calls[run->n_calls - i].return_addr;
    unsigned wrong = 0;
    for (size_t i = 1; right && i < chain.n; i++)
        wrong += count_wrong(run, &chain, i, score);
    score->steps++;
    score->right += right;
    score->wrong_registers += wrong;
    if (verbose && (!right || wrong) &&
        score->steps - score->right + score->wrong_registers <= SHOWN_MAX)
        show(run, step, &chain);
    sym_process_destroy(process);
    fz_arena_deinit(&arena);
}

/* Right chains of 1000. */
static unsigned
goal_of(const char *name, enum way way)
{
    if (way == WAY_BOTH || way == WAY_BINARY)
        return 1000;
    /* Without code nothing says where a frame without record is; Apple's compilers make none. */
    if (strstr(name, "-omit"))
        return 0;
    return strstr(name, "-O0") ? 980 : 900;
}

static bool
replay(const char *folder, const char *name, enum way way, bool verbose)
{
    struct fz_arena arena = fz_arena_make(ARENA);
    struct fz_span trace = read_gz(folder, name, ".trace"), binary = read_gz(folder, name, ""),
                   dsym = read_gz(folder, name, ".dsym");
    struct fz_reader r = fz_reader_make(trace, "trace");
    struct run *run = calloc(1, sizeof(*run));
    struct score score = {.steps = 0};
    fz_read_skip(&r, 8);
    if (!run || sym_macho_open(binary, &arena, &run->binary, NULL, NULL) != FZ_OK ||
        sym_macho_open(dsym, &arena, &run->dsym, NULL, NULL) != FZ_OK)
        exit(2);
    run->way = way;
    run->slim = run->binary;
    run->slim.sections = fz_arena_array(&arena, run->binary.n_sections, sizeof(struct sym_section));
    if (!run->slim.sections)
        exit(2);
    memcpy(run->slim.sections, run->binary.sections,
           run->binary.n_sections * sizeof(struct sym_section));
    for (size_t i = 0; i < run->slim.n_sections; i++) {
        if (strcmp(run->slim.sections[i].name, "__text") == 0)
            run->slim.sections[i].bytes = (struct fz_span){NULL, 0};
    }
    run->cpu = (enum fz_arch_cpu)fz_read_u32(&r);
    fz_read_skip(&r, 4);
    run->low = fz_read_u64(&r);
    run->high = fz_read_u64(&r);
    uint64_t n = fz_read_u64(&r);
    run->image = (struct sym_process_image){run->binary.text_vmaddr, run->binary.text_vmsize};
    run->stack = calloc(1, (size_t)(run->high - run->low));
    for (uint64_t step = 0; step < n && run->stack; step++) {
        read_step(run, &r);
        check_step(run, step, verbose, &score);
    }
    unsigned goal = goal_of(name, way);
    bool ok = !r.failed && score.steps > 0 && score.right * 1000 >= score.steps * goal &&
              (score.wrong_registers == 0 || goal == 0);
    printf("%-24s %-7s %6" PRIu64 " stops %6.2f %% right, %7" PRIu64 " registers, %" PRIu64
           " wrong%s\n",
           name, way_names[way], score.steps, 100.0 * (double)score.right / (double)score.steps,
           score.registers, score.wrong_registers, ok ? "" : "  FAILED");
    free(run->stack);
    free(run);
    fz_arena_deinit(&arena);
    free((void *)(uintptr_t)trace.data);
    free((void *)(uintptr_t)binary.data);
    free((void *)(uintptr_t)dsym.data);
    return ok;
}

int
main(int argc, char **argv)
{
    bool verbose = argc > 1 && strcmp(argv[1], "-v") == 0, ok = true;
    int first = verbose ? 3 : 2;
    if (argc <= first) {
        fprintf(stderr, "usage: replay [-v] FOLDER NAME...\n");
        return 2;
    }
    for (int i = first; i < argc; i++) {
        for (unsigned way = 0; way < WAYS; way++)
            ok = replay(argv[first - 1], argv[i], (enum way)way, verbose) && ok;
    }
    return ok ? 0 : 1;
}
