/*
 * The threads' stacks, unwound by frame pointers.
 *
 * A frame record is two words: the caller's frame pointer and the return address. Callers of code
 * without a record (leaf functions, prologues) are missed; server/resolve/stack.h finds them with the
 * unwind tables of the images, and takes its own chain where that is not the shorter one. Every step
 * moves up the captured stack, so the loop ends.
 */
#include "server/ingest/minidump/minidump.h"

struct walk {
    struct minidump *m;
    const struct report_memory *memory; /* the stack's bytes */
    unsigned word;                      /* 4 or 8 */
    bool signed_pointers;
};

static bool
in_image(const struct minidump *m, uint64_t addr)
{
    size_t low = 0, high = m->n_ranges;
    while (low < high) {
        /* A bisection: each word of each stack is looked up. */
        size_t middle = low + (high - low) / 2;
        if (m->ranges[middle].start <= addr)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && addr < m->ranges[low - 1].end;
}

/* arm64e signs return addresses in their high bits, and the dump does not say how many: the widest
 * mask that leads into an image is the right one. False if no mask does. */
static bool
plain(const struct walk *w, uint64_t addr, uint64_t *ret)
{
    static const unsigned bits[] = {64, 47, 39, 36};
    size_t n = w->signed_pointers ? FZ_ARRAY_LEN(bits) : 1;
    for (size_t i = 0; i < n; i++) {
        /* 47 bits are macOS's addresses, 39 and fewer those of iOS. */
        uint64_t masked = bits[i] == 64 ? addr : addr & ((UINT64_C(1) << bits[i]) - 1);
        if (in_image(w->m, masked)) {
            *ret = masked;
            return true;
        }
    }
    return false;
}

static bool
read_word(const struct walk *w, uint64_t addr, uint64_t *ret)
{
    struct fz_span word;
    if (addr < w->memory->addr ||
        !fz_span_sub(w->memory->bytes, addr - w->memory->addr, w->word, &word))
        return false;
    struct fz_reader r = fz_reader_make(word, "stack");
    /* The stack's bytes are those of the crashed machine, not of the writer. */
    r.big_endian = w->m->big_endian;
    *ret = fz_read_uint(&r, w->word);
    return true;
}

static void
add(const struct walk *w, struct ingest_stack *stack, uint64_t addr, enum report_trust trust)
{
    struct report_frame frame = {.addr = addr, .image = -1, .trust = trust};
    (void)ingest_stack_add(&w->m->b, stack, &frame);
}

/* After a call to an address without code (a null function pointer), no prologue has run: the
 * return address is still in the link register or at the top of the stack. */
static void
add_caller_of_nowhere(const struct walk *w, const struct minidump_thread *t,
                      struct ingest_stack *stack)
{
    uint64_t pc, top;
    if (!t->lr_is_caller && plain(w, t->pc, &pc))
        return;
    top = t->lr;
    if ((w->m->cpu == FZ_CPU_X86_64 || w->m->cpu == FZ_CPU_X86) && !read_word(w, t->sp, &top))
        return;
    if (top && plain(w, top, &pc))
        add(w, stack, pc, REPORT_TRUST_FRAME_POINTER);
}

static void
walk_thread(const struct walk *w, const struct minidump_thread *t)
{
    struct ingest_stack stack = {.has_gap = t->pc_is_return};
    size_t max = w->m->b.limits->frames;
    uint64_t pc = t->pc, fp = t->fp, sp = t->sp;
    /* A pc outside of all images stays as it is: it is what the crash is about. */
    (void)plain(w, t->pc, &pc);
    add(w, &stack, pc, REPORT_TRUST_CONTEXT);
    add_caller_of_nowhere(w, t, &stack);
    bool has_caller = stack.n > 1; /* the first record may repeat it */
    while (stack.n < max && !w->m->b.failed) {
        uint64_t caller_fp, caller;
        /* Real records are aligned and above the stack pointer; anything else is a register in
         * other use. */
        if (fp < sp || fp % w->word != 0 || !read_word(w, fp, &caller_fp) ||
            !read_word(w, fp + w->word, &caller) || !plain(w, caller, &caller))
            break;
        if (!has_caller || caller != stack.frames[1].addr)
            add(w, &stack, caller, REPORT_TRUST_FRAME_POINTER);
        has_caller = false;
        /* The outermost record has 0 here; a lower address would make a loop. */
        if (caller_fp <= fp)
            break;
        sp = fp + 2 * w->word;
        fp = caller_fp;
    }
    ingest_set_stack(t->report, &stack);
}

/* Crashpad writes the return addresses of an exception as if they were a thread: a stack from address
 * 0 on, and registers that are zero but for those that lead to it. It is not memory of the process, and
 * values of variables must not be read from it: pc and lr are all that is left. */
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
minidump_walk(struct minidump *m)
{
    struct walk w = {.m = m,
                     .word = fz_arch_pointer_bits(m->cpu) / 8,
                     .signed_pointers = m->cpu == FZ_CPU_ARM64};
    for (size_t i = 0; i < m->b.report->n_threads; i++) {
        w.memory = &m->threads[i].report->stack;
        if (m->threads[i].has_context)
            walk_thread(&w, &m->threads[i]);
        if (m->threads[i].pc_is_return)
            drop_made_up(m, m->threads[i].report);
    }
}
