#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "loader.h"

/*
 * The state of the program at every instruction of its images, with the true chain of calls: what an unwinder must find
 * without it. One native report a line, with the additional member "truth": pc, then return addresses, newest first.
 *
 * The truth is kept while the program runs, from calls and returns alone: x86_64 steps with the trap flag; arm64 has none
 * in user mode, so the instruction that comes next is replaced by BRK. Each instruction is written at its first visits.
 */
enum { VISITS = 2, DEPTH = 4096, TABLE = 1 << 16, SUCCESSORS = 2 };

static FILE *out;
static struct {
    uint64_t from, sp; /* return address; x86_64: where it is, arm64: sp at the call */
} calls[DEPTH];
static unsigned n_calls;
static struct {
    uint64_t pc;
    unsigned count;
} visits[TABLE];

static bool
is_in_image(uint64_t addr)
{
    for (unsigned i = 0; i < loader_n_images; i++)
        if (addr >= loader_images[i]->addr &&
            addr < loader_images[i]->addr + loader_images[i]->text_size)
            return true;
    return false;
}

static bool
is_new(uint64_t pc)
{
    for (uint64_t at = pc * 0x9e3779b97f4a7c15ull >> 48;; at = (at + 1) % TABLE) {
        if (visits[at].pc == pc)
            return visits[at].count++ < VISITS;
        if (!visits[at].pc) {
            visits[at].pc = pc;
            visits[at].count = 1;
            return true;
        }
    }
}

static void
write_step(struct loader_thread *thread)
{
    fprintf(out,
            "{\"framezero\":1,\"arch\":\"" CPU_ARCH
            "\",\"crash\":{\"thread\":0},\"truth\":[\"0x%llx\"",
            (unsigned long long)thread->cpu.state.r[CPU_PC]);
    for (unsigned i = n_calls; i-- && is_in_image(calls[i].from);)
        fprintf(out, ",\"0x%llx\"", (unsigned long long)calls[i].from);
    fprintf(out, "],\"threads\":[");
    loader_dump_thread(out, thread, true);
    fprintf(out, "],\"images\":[");
    loader_dump_images(out);
    fprintf(out, "]}\n");
}

static void
call(uint64_t from, uint64_t sp)
{
    if (n_calls < DEPTH) {
        calls[n_calls].from = from;
        calls[n_calls++].sp = sp;
    }
}

#ifdef __aarch64__
enum { BRK = (int)0xd4200000u };
static struct {
    uint64_t addr;
    uint32_t original;
} planted[SUCCESSORS];

static uint32_t
code_at(uint64_t addr)
{
    return *(volatile uint32_t *)addr;
}

static void
poke(uint64_t addr, uint32_t code)
{
    *(volatile uint32_t *)addr = code;
    __builtin___clear_cache((char *)addr, (char *)addr + 4);
}

static int64_t
offset(uint32_t code, unsigned shift, unsigned bits)
{
    return (int64_t)((uint64_t)(code >> shift) << (64 - bits)) >> (64 - bits) << 2;
}

/* Where control may be after the instruction at pc; 0 for the places that are not used. */
static void
successors(const struct cpu_state *s, uint64_t ret[SUCCESSORS])
{
    uint64_t pc = s->r[CPU_PC];
    uint32_t code = code_at(pc);
    ret[0] = pc + 4;
    ret[1] = 0;
    if (code >> 26 == 0x05) /* B */
        ret[0] = pc + (uint64_t)offset(code, 0, 26);
    else if (code >> 26 == 0x25) /* BL */
        ret[0] = pc + (uint64_t)offset(code, 0, 26);
    else if ((code & 0xff000010) == 0x54000000 || (code & 0x7e000000) == 0x34000000)
        ret[1] = pc + (uint64_t)offset(code, 5, 19); /* B.cond, CBZ, CBNZ */
    else if ((code & 0x7e000000) == 0x36000000)
        ret[1] = pc + (uint64_t)offset(code, 5, 14); /* TBZ, TBNZ */
    else if ((code & 0xff9ffc1f) == 0xd61f0000) {    /* BR, BLR, RET */
        bool is_call = (code >> 21 & 3) == 1;
        uint64_t target = s->r[code >> 5 & 31];
        ret[0] = is_in_image(target) ? target : is_call ? pc + 4 : s->r[CPU_LR];
    }
}

static void
remove_planted(void)
{
    for (int i = 0; i < SUCCESSORS; i++)
        if (planted[i].addr)
            poke(planted[i].addr, planted[i].original);
    memset(planted, 0, sizeof(planted));
}

static void
plant(int i, uint64_t addr)
{
    if (!is_in_image(addr) || code_at(addr) == (uint32_t)BRK)
        return;
    planted[i].addr = addr;
    planted[i].original = code_at(addr);
    poke(addr, (uint32_t)BRK);
}

bool
loader_step(struct loader_thread *thread, ucontext_t *context)
{
    static uint64_t call_from, call_sp;
    const struct cpu_state *s = &thread->cpu.state;
    uint64_t next[SUCCESSORS], pc = s->r[CPU_PC], sp = s->r[CPU_SP];
    (void)context;
    if (!out || code_at(pc) != (uint32_t)BRK)
        return false;
    remove_planted();
    /* A call is one when its target is reached; one that left the images is over when control is back. */
    if (call_from && pc != call_from)
        call(call_from, call_sp);
    call_from = 0;
    while (n_calls && (calls[n_calls - 1].sp < sp ||
                       (calls[n_calls - 1].sp == sp && calls[n_calls - 1].from == pc)))
        n_calls--;
    if (is_new(pc))
        write_step(thread);
    uint32_t code = code_at(pc);
    if (code >> 26 == 0x25 || (code & 0xfffffc1f) == 0xd63f0000) {
        call_from = pc + 4;
        call_sp = sp;
    }
    successors(s, next);
    for (int i = 0; i < SUCCESSORS; i++)
        if (next[i])
            plant(i, next[i]);
    return true;
}

void
loader_steps_begin(uint64_t entry)
{
    if (out)
        plant(0, entry);
}
#else
enum { TRAP_FLAG = 0x100 };

bool
loader_step(struct loader_thread *thread, ucontext_t *context)
{
    static uint64_t last_pc, last_sp;
    const struct cpu_state *s = &thread->cpu.state;
    uint64_t pc = s->r[CPU_PC], sp = s->r[CPU_SP];
    if (!out)
        return false;
    context->uc_mcontext.gregs[17] |= TRAP_FLAG;
    while (n_calls && calls[n_calls - 1].sp < sp)
        n_calls--;
    /* A call has pushed an address that is just after it. */
    if (last_pc && sp == last_sp - 8) {
        uint64_t pushed = *(const uint64_t *)sp;
        if (pushed > last_pc && pushed <= last_pc + 15 && (pc < last_pc || pc > last_pc + 15))
            call(pushed, sp);
    }
    if (is_in_image(pc) && is_new(pc))
        write_step(thread);
    last_pc = pc;
    last_sp = sp;
    return true;
}

void
loader_steps_begin(uint64_t entry)
{
    (void)entry;
    if (out)
        __asm__ volatile("int3");
}
#endif

void
loader_steps_open(const char *path)
{
    static char buffer[1 << 16];
    out = fopen(path, "we");
    if (!out) {
        fprintf(stderr, "loader: %s cannot be written\n", path);
        exit(125);
    }
    setvbuf(out, buffer, _IOFBF, sizeof(buffer));
}

void
loader_steps_close(void)
{
    if (out)
        fflush(out);
    out = NULL;
}

bool
loader_steps_wanted(void)
{
    return out != NULL;
}
