/*
 * The exception stream: which thread crashed and why.
 *
 *   0   u32 thread   8 u32 code   12 u32 flags   24 u64 address   32 u32 number of parameters
 *   40  15 x u64 parameters   160 place of the context
 *
 * On macOS and iOS `code` is the Mach exception, `flags` the low half of its code[0] (for
 * EXC_RESOURCE and EXC_GUARD the high half), and the parameters, where they are written, are the
 * exception as the kernel sent it and its codes. Crashpad on iOS writes a caught signal as `code`
 * (no parameters then), and has exceptions of its own: 'CPnx' for an uncaught NSException, 'CPsx'
 * for a dump without a crash.
 *
 * Of an uncaught NSException the return addresses are known from where it was thrown. Crashpad and
 * Breakpad write them as if they were a thread: pc has the first one, lr the second, and the stack,
 * from address 0 on, has the second one again and a frame record for each of the others, without
 * gaps. Of a, b, c, d on a 64-bit processor:
 *
 *   pc a   lr b   sp 0   fp 8        0  b    8  record 24, c    24  record 40, d    40  record 0, 0
 */
#include "server/ingest/common/exception_names.h"
#include "server/ingest/minidump/minidump.h"

enum { PARAMETERS_MAX = 15 };

static const uint32_t CRASHPAD_NSEXCEPTION = 0x43506e78, CRASHPAD_SIMULATED = 0x43507378;
static const uint32_t UNCAUGHT_NSEXCEPTION = 0xdeadc0de;

struct exception {
    uint32_t thread, code, flags, n_parameters;
    uint64_t address, parameters[PARAMETERS_MAX];
    struct minidump_place context;
};

static bool
read_exception(const struct minidump *m, struct exception *ret)
{
    struct fz_reader r = minidump_reader(m, minidump_find(m, MINIDUMP_EXCEPTION));
    ret->thread = fz_read_u32(&r);
    fz_read_skip(&r, 4);
    ret->code = fz_read_u32(&r);
    ret->flags = fz_read_u32(&r);
    fz_read_skip(&r, 8); /* a nested record */
    ret->address = fz_read_u64(&r);
    ret->n_parameters = fz_read_u32(&r);
    fz_read_skip(&r, 4);
    for (size_t i = 0; i < PARAMETERS_MAX; i++)
        ret->parameters[i] = fz_read_u64(&r);
    ret->context = minidump_read_place(&r);
    if (ret->n_parameters > PARAMETERS_MAX)
        /* The record has room for 15 only, whatever its count says. */
        ret->n_parameters = PARAMETERS_MAX;
    return !r.failed;
}

static const char *
signal_name(struct minidump *m, uint64_t number)
{
    const char *name = number <= INT32_MAX ? ingest_signal_name((int64_t)number) : NULL;
    return name ? name : ingest_printf(&m->b, "signal %llu", (unsigned long long)number);
}

/* The codes as the kernel sent them, else what the exception's members contain of them. */
static void
read_codes(struct minidump *m, const struct exception *e)
{
    bool high = e->code == MACH_EXC_RESOURCE || e->code == MACH_EXC_GUARD;
    uint64_t made[2] = {high ? (uint64_t)e->flags << 32 : e->flags, e->address};
    if (e->n_parameters > 1)
        ingest_set_mach_codes(&m->b, e->parameters + 1, e->n_parameters - 1);
    else
        ingest_set_mach_codes(&m->b, made, e->code == MACH_EXC_BAD_ACCESS ? 2 : 1);
}

static void
read_mach(struct minidump *m, const struct exception *e)
{
    enum { SIGNAL_SHIFT = 24 };
    struct report_crash *crash = &m->b.report->crash;
    bool arm = m->cpu == FZ_CPU_ARM || m->cpu == FZ_CPU_ARM64;
    read_codes(m, e);
    if (m->b.failed)
        return;
    uint64_t first = crash->mach_codes[0];
    /* EXC_CRASH reports the process's death; the exception that led to it is inside code[0]. */
    bool death = e->n_parameters ? e->parameters[0] == MACH_EXC_CRASH : e->code == MACH_EXC_CRASH;
    uint64_t type = e->code ? e->code : MACH_EXC_CRASH;
    ingest_set_mach(&m->b, type);
    /* Most names are in the low half; those of EXC_RESOURCE follow from all of it (normalise.c). */
    crash->code = ingest_mach_code(type, e->flags, arm);
    int number = ingest_mach_signal(type, e->flags,
                                    crash->n_mach_codes > 1 ? crash->mach_codes[1] : e->address);
    if (death && (first >> SIGNAL_SHIFT & 0xff))
        number = (int)(first >> SIGNAL_SHIFT & 0xff);
    if (number)
        crash->signal = signal_name(m, (uint64_t)number);
}

static void
read_reason(struct minidump *m, const struct exception *e, struct minidump_thread *t)
{
    struct report *report = m->b.report;
    struct report_crash *crash = &report->crash;
    bool objc = e->code == CRASHPAD_NSEXCEPTION ||
                (e->code == MACH_EXC_SOFTWARE && e->flags == UNCAUGHT_NSEXCEPTION);
    crash->has_address = true;
    crash->address = e->address;
    if (objc) {
        /* Crashpad's annotations may contain its name. */
        if (!crash->exception)
            crash->exception = "NSException";
        crash->signal = "SIGABRT";
        /* A stack from address 0 on is the exception's own list of return addresses. */
        if (t && t->has_context && minidump_register(m, t, FZ_REGISTER_SP) == 0)
            m->listed = t;
    } else if (e->code == CRASHPAD_SIMULATED) {
        /* The app asked for this dump and went on. */
        report->kind = "error";
    } else if (m->is_ios && m->has_crashpad && e->n_parameters == 0) {
        crash->signal = signal_name(m, e->code);
        /* Crashpad's in-process handler on iOS has no Mach exception, only the siginfo. */
        crash->signal_code = ingest_signal_code(e->code, e->flags);
        if (!crash->signal_code)
            crash->signal_code = ingest_printf(&m->b, "%u", e->flags);
    } else {
        read_mach(m, e);
    }
}

/* A dump without a crash: the thread that requested it is the one of interest. */
static void
read_request(struct minidump *m)
{
    enum { HAS_REQUESTING = 2 };
    struct report *report = m->b.report;
    struct fz_reader r = minidump_reader(m, minidump_find(m, MINIDUMP_BREAKPAD_INFO));
    uint32_t validity = fz_read_u32(&r);
    fz_read_skip(&r, 4);
    uint32_t requesting = fz_read_u32(&r);
    /* A dump without threads shows nothing that goes on, so it counts as a crash. */
    report->kind = report->n_threads ? "error" : NULL;
    for (size_t i = 0; i < report->n_threads; i++) {
        if (!r.failed && (validity & HAS_REQUESTING) && report->threads[i].index == requesting)
            report->crash.thread = requesting;
    }
}

void
minidump_exception(struct minidump *m)
{
    struct report *report = m->b.report;
    struct minidump_thread *thread = NULL;
    struct exception e = {0};
    if (minidump_find(m, MINIDUMP_EXCEPTION).size == 0) {
        read_request(m);
    } else if (!read_exception(m, &e)) {
        ingest_note(&m->b, "exception: cut off, the reason is not known");
    } else {
        for (size_t i = 0; i < report->n_threads && !thread; i++) {
            if (report->threads[i].index == e.thread)
                thread = &m->threads[i];
        }
        if (thread) {
            report->crash.thread = e.thread;
            /* The state at the crash; the thread's own may be that of the handler. */
            minidump_context(m, e.context, thread);
        } else {
            ingest_note(&m->b, "exception: thread %u, which crashed, is not in the list", e.thread);
        }
        read_reason(m, &e, thread);
    }
    ingest_mark_crashed(report);
}

/* ---- the calls of an exception --------------------------------------------------------------- */

static void
add_call(struct minidump *m, struct ingest_stack *stack, uint64_t addr)
{
    const struct report_frame frame = {.addr = addr, .image = -1};
    /* No call returns to 0: it is the end, or an address that was left out of a stored body. */
    if (addr)
        (void)ingest_stack_add(&m->b, stack, &frame);
}

/* One word of the list; the memory of a process is that of its processor, all of which are
 * little-endian, whatever the dump's own numbers are. */
static uint64_t
word_at(const struct report_memory *memory, uint64_t addr, unsigned word)
{
    struct fz_span bytes;
    if (addr < memory->addr || !fz_span_sub(memory->bytes, addr - memory->addr, word, &bytes))
        return 0;
    struct fz_reader r = fz_reader_make(bytes, "stack");
    return fz_read_uint(&r, word);
}

/* It is not memory of the process, and values of variables must not be read from it: pc and lr are
 * all that is left of the thread's state. */
static void
drop_made_up(const struct minidump *m, struct report_thread *thread)
{
    int pc = fz_arch_register_of_role(m->cpu, FZ_REGISTER_PC);
    int lr = fz_arch_register_of_role(m->cpu, FZ_REGISTER_LR);
    size_t n = 0;
    for (size_t i = 0; i < thread->n_registers; i++) {
        struct report_register reg = thread->registers[i];
        if (reg.number == pc || (reg.number == lr && reg.value))
            thread->registers[n++] = reg;
    }
    thread->n_registers = n;
    thread->n_vectors = 0;
    thread->stack = (struct report_memory){.addr = 0};
}

void
minidump_calls(struct minidump *m)
{
    const struct minidump_thread *t = m->listed;
    struct ingest_stack stack = {.has_gap = true};
    if (!t)
        return;
    const struct report_memory *memory = &t->report->stack;
    unsigned word = fz_arch_pointer_bits(m->cpu) / 8;
    bool has_lr = fz_arch_register_of_role(m->cpu, FZ_REGISTER_LR) >= 0;
    uint64_t fp = minidump_register(m, t, FZ_REGISTER_FP);
    add_call(m, &stack, minidump_register(m, t, FZ_REGISTER_PC));
    add_call(m, &stack,
             has_lr ? minidump_register(m, t, FZ_REGISTER_LR) : word_at(memory, 0, word));
    /* By place and not by the links: of a stored body only words that lead into images are left. */
    for (uint64_t at = 0; fp <= memory->bytes.len && at < memory->bytes.len && !m->b.failed;
         at += 2 * (uint64_t)word)
        add_call(m, &stack, word_at(memory, fp + at + word, word));
    ingest_set_stack(t->report, &stack);
    drop_made_up(m, t->report);
}
