/*
 * A report's threads as a captured process, and the chain of each.
 *
 *   registers, stack, memory, images  →  struct sym_process
 *   sym_unwind()                      →  a chain for each thread
 *   chain and the client's frames     →  the frames of the report (stack_merge.c)
 */
#include "server/resolve/stack.h"

#include <string.h>
#include <time.h>

#include "base/arch/registers.h"
#include "base/attr.h"
#include "server/resolve/stack_merge.h"

/* Chains need about 1.2 KB a frame, and an app has some hundred threads of some thirty frames. */
static const size_t SCRATCH_BYTES = 64 * 1024 * 1024;

/* For all threads together; a frame takes microseconds once the tables of its image are read. */
enum { CPU_MS = 4000 };

struct resolve_stacks
resolve_stacks_make(void)
{
    return (struct resolve_stacks){.scratch = fz_arena_make(SCRATCH_BYTES)};
}

void
resolve_stacks_deinit(struct resolve_stacks *stacks)
{
    sym_process_destroy(stacks->process);
    stacks->process = NULL;
    fz_arena_deinit(&stacks->scratch);
}

/* Without memory only the frames that came are known; so it is without sp, as of the calls of an
 * exception that a minidump has in place of a thread. */
static bool
can_unwind(const struct report *report, const struct report_thread *thread)
{
    return (thread->stack.bytes.len > 0 || report->n_memory > 0) &&
           report_find_register(report, thread, FZ_REGISTER_PC) != NULL &&
           report_find_register(report, thread, FZ_REGISTER_SP) != NULL;
}

static bool
any_can_unwind(const struct report *report)
{
    for (size_t i = 0; i < report->n_threads; i++) {
        if (can_unwind(report, &report->threads[i]))
            return true;
    }
    return false;
}

/* The regions of all threads: a pointer in one stack may lead into another. The stacks come first,
 * since of regions that overlap the earlier one counts. */
static struct sym_process_region *
list_regions(const struct report *report, struct fz_arena *arena, size_t *ret_n)
{
    struct sym_process_region *list =
        fz_arena_array(arena, report->n_threads + report->n_memory, sizeof(*list));
    size_t n = 0;
    for (size_t i = 0; list && i < report->n_threads; i++) {
        const struct report_memory *stack = &report->threads[i].stack;
        if (stack->bytes.len > 0)
            list[n++] = (struct sym_process_region){stack->addr, stack->bytes};
    }
    for (size_t i = 0; list && i < report->n_memory; i++) {
        if (report->memory[i].bytes.len > 0)
            list[n++] =
                (struct sym_process_region){report->memory[i].addr, report->memory[i].bytes};
    }
    *ret_n = n;
    return list;
}

static bool
is_arm64_32(const struct report *report)
{
    return report->arch && strcmp(report->arch, "arm64_32") == 0;
}

static enum fz_code
make_process(struct resolve_stacks *stacks, const struct report *report, sym_process_files_fn files,
             void *user, struct fz_error *err)
{
    struct fz_arena *arena = &stacks->scratch;
    struct sym_process_source source = {.cpu = report_cpu(report),
                                        .is_arm64_32 = is_arm64_32(report),
                                        .n_images = report->n_images,
                                        .files = files,
                                        .user = user};
    struct sym_process_image *images = fz_arena_array(arena, report->n_images, sizeof(*images));
    source.regions = list_regions(report, arena, &source.n_regions);
    source.images = images;
    stacks->threads = fz_arena_array(arena, report->n_threads, sizeof(*stacks->threads));
    if (!images || !source.regions || !stacks->threads)
        return fz_arena_fail(arena, err);
    for (size_t i = 0; i < report->n_images; i++)
        images[i] = (struct sym_process_image){report->images[i].addr, report->images[i].size};
    return sym_process_create(&source, arena, &stacks->process, err);
}

/* The registers of a thread in the unwinder's form. */
static void
copy_registers(const struct report_thread *thread, struct sym_registers *ret)
{
    *ret = (struct sym_registers){.value = {0}};
    for (size_t i = 0; i < thread->n_registers; i++)
        /* One without a number is ignored. */
        sym_registers_set(ret, thread->registers[i].number, thread->registers[i].value);
    for (size_t i = 0; i < thread->n_vectors; i++) {
        const struct report_vector *from = &thread->vectors[i];
        if (from->index >= FZ_VECTORS || from->size > sizeof(from->bytes))
            continue;
        struct sym_vector *to = &ret->vectors[from->index];
        memcpy(to->bytes, from->bytes, from->size);
        to->size = from->size;
    }
}

/* One thread. The unwinder's limits end a chain; only the memory of the report itself can fail. */
static enum fz_code
unwind_thread(struct resolve_stacks *stacks, struct report *report, size_t number,
              struct fz_arena *arena, struct fz_error *err)
{
    struct report_thread *thread = &report->threads[number];
    struct resolve_stack *stack = &stacks->threads[number];
    struct sym_registers registers;
    if (!can_unwind(report, thread))
        return FZ_OK;
    copy_registers(thread, &registers);
    enum fz_code code = sym_unwind(stacks->process, &registers, SYM_UNWIND_FRAMES_MAX,
                                   &stacks->scratch, &stack->chain, NULL);
    if (code != FZ_OK) {
        stack->chain.n = 0;
        return FZ_OK;
    }
    if (stack->chain.end == SYM_UNWIND_END_LIMIT)
        report_note(report, arena, "thread %lld: frames beyond the first %zu are left out",
                    (long long)thread->index, stack->chain.n);
    if (thread->stack.truncated && stack->chain.end == SYM_UNWIND_END_NO_MEMORY)
        stack->is_cut = true;
    return resolve_stack_merge(stacks, report, number, arena, err);
}

/* Chains that end because no more of the stack came: in a note each, the report's would not last. */
static void
note_cut(const struct resolve_stacks *stacks, struct report *report, size_t crashed,
         struct fz_arena *arena)
{
    size_t n = 0;
    for (size_t i = 0; i < report->n_threads; i++)
        n += i != crashed && stacks->threads[i].is_cut;
    if (stacks->threads[crashed].is_cut)
        report_note(report, arena,
                    "thread %lld: only %zu bytes of its stack were captured; calls beyond are "
                    "missing, or as the client sent them and without values",
                    (long long)report->threads[crashed].index,
                    report->threads[crashed].stack.bytes.len);
    if (n > 0)
        report_note(report, arena,
                    "%zu %s that did not crash: only a part of the stack was captured; calls "
                    "beyond are missing, or as the client sent them",
                    n, n == 1 ? "thread" : "threads");
}

static int64_t
cpu_ms(void)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

enum fz_code
resolve_stacks_unwind(struct resolve_stacks *stacks, struct report *report,
                      sym_process_files_fn files, void *user, struct fz_arena *arena,
                      struct fz_error *err)
{
    const struct report_thread *crashed = report_crashed_thread(report);
    if (!any_can_unwind(report) || report_cpu(report) == FZ_CPU_UNKNOWN)
        return FZ_OK;
    if (make_process(stacks, report, files, user, NULL) != FZ_OK) {
        stacks->process = NULL;
        report_note(report, arena, "the captured memory is too large to unwind the stacks");
        return FZ_OK;
    }
    int64_t end_ms = cpu_ms() + CPU_MS;
    bool is_over = false;
    size_t first = (size_t)(crashed - report->threads);
    /* The crashed thread first: others are what is left out when time or memory is used up. */
    enum fz_code code = unwind_thread(stacks, report, first, arena, err);
    for (size_t i = 0; code == FZ_OK && i < report->n_threads; i++) {
        is_over = cpu_ms() > end_ms || stacks->scratch.over_cap;
        if (is_over)
            break;
        if (i != first)
            code = unwind_thread(stacks, report, i, arena, err);
    }
    if (is_over || stacks->scratch.over_cap)
        report_note(report, arena,
                    "unwinding all threads would take too much time or memory: the last ones are "
                    "as they came");
    note_cut(stacks, report, first, arena);
    return code;
}
