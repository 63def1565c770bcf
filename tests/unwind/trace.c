/*
 * trace BINARY OUT: run a Mach-O program of arm64 or x86_64 that imports nothing in an emulator and
 * write what trace.h describes. Only make.sh runs it; needs libunicorn.
 */
#include "tests/unwind/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unicorn/unicorn.h>

#include "base/buffer.h"
#include "base/file.h"
#include "symbolicator/macho/macho.h"

enum { STACK_SIZE = 256 * 1024, STEPS_MAX = 100000, ARENA = 64 << 20 };
static const uint64_t STACK_LOW = 0x16f000000, PAGE = 0x1000;

struct recorder {
    uc_engine *uc;
    enum fz_arch_cpu cpu;
    struct fz_buffer out;
    uint8_t *stack, *before;
    uint64_t known[TRACE_NUMBERS];
    bool has_known[TRACE_NUMBERS];
    uint64_t steps, calls_back; /* where the last call returns to */
    int last;                   /* event of the instruction before this one */
    uint64_t last_pc;
};

static void
put(struct fz_buffer *out, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        fz_buffer_char(out, (char)(value >> (8 * i)));
}

static int
unicorn_register(enum fz_arch_cpu cpu, unsigned i)
{
    static const int x86[] = {UC_X86_REG_RAX, UC_X86_REG_RDX, UC_X86_REG_RCX, UC_X86_REG_RBX,
                              UC_X86_REG_RSI, UC_X86_REG_RDI, UC_X86_REG_RBP, UC_X86_REG_RSP,
                              UC_X86_REG_R8,  UC_X86_REG_R9,  UC_X86_REG_R10, UC_X86_REG_R11,
                              UC_X86_REG_R12, UC_X86_REG_R13, UC_X86_REG_R14, UC_X86_REG_R15,
                              UC_X86_REG_RIP};
    if (cpu == FZ_CPU_X86_64)
        return i < FZ_ARRAY_LEN(x86) ? x86[i] : -1;
    if (i < 29)
        return UC_ARM64_REG_X0 + (int)i;
    switch (i) {
    case FZ_ARM64_FP:
        return UC_ARM64_REG_X29;
    case FZ_ARM64_LR:
        return UC_ARM64_REG_X30;
    case FZ_ARM64_SP:
        return UC_ARM64_REG_SP;
    case FZ_ARM64_PC:
        return UC_ARM64_REG_PC;
    default:
        return i >= TRACE_VECTOR + 8 && i < TRACE_VECTOR + 16
                   ? UC_ARM64_REG_D0 + (int)(i - TRACE_VECTOR)
                   : -1;
    }
}

static void
put_registers(struct recorder *r)
{
    struct fz_buffer changed = fz_buffer_make(0);
    unsigned n = 0;
    for (unsigned i = 0; i < TRACE_NUMBERS; i++) {
        int id = unicorn_register(r->cpu, i);
        uint64_t value[4] = {0};
        if (id < 0)
            continue;
        uc_reg_read(r->uc, id, value);
        if (r->has_known[i] && r->known[i] == value[0])
            continue;
        r->has_known[i] = true;
        r->known[i] = value[0];
        put(&changed, i, 1);
        put(&changed, value[0], 8);
        n++;
    }
    put(&r->out, n, 1);
    fz_buffer_append(&r->out, changed.data, changed.len);
    fz_buffer_deinit(&changed);
}

static void
put_stack(struct recorder *r)
{
    struct fz_buffer changed = fz_buffer_make(0);
    unsigned n = 0;
    for (size_t block = 0; block < STACK_SIZE; block += 512) {
        if (memcmp(r->stack + block, r->before + block, 512) == 0)
            continue;
        for (size_t at = block; at < block + 512; at += 8) {
            uint64_t value;
            if (memcmp(r->stack + at, r->before + at, 8) == 0)
                continue;
            memcpy(&value, r->stack + at, 8);
            put(&changed, at / 8, 4);
            put(&changed, value, 8);
            n++;
        }
        memcpy(r->before + block, r->stack + block, 512);
    }
    put(&r->out, n, 2);
    fz_buffer_append(&r->out, changed.data, changed.len);
    fz_buffer_deinit(&changed);
}

/* What the instruction at pc does if it is carried out. */
static int
find_event(struct recorder *r, uint64_t pc, uint32_t size)
{
    uint8_t code[16] = {0};
    uc_mem_read(r->uc, pc, code, size < 16 ? size : 16);
    uint32_t insn = (uint32_t)code[0] | (uint32_t)code[1] << 8 | (uint32_t)code[2] << 16 |
                    (uint32_t)code[3] << 24;
    r->calls_back = pc + size;
    if (r->cpu == FZ_CPU_ARM64) {
        if (insn >> 26 == 0x25 || (insn & 0xfffffc1f) == 0xd63f0000)
            return TRACE_CALL;
        return (insn & 0xfffffc1f) == 0xd65f0000 ? TRACE_RETURN : TRACE_NONE;
    }
    unsigned at = (code[0] & 0xf0) == 0x40;
    if (code[at] == 0xe8 || (code[at] == 0xff && (code[at + 1] >> 3 & 7) == 2))
        return TRACE_CALL;
    return code[0] == 0xc3 ? TRACE_RETURN : TRACE_NONE;
}

static void
on_code(uc_engine *uc, uint64_t pc, uint32_t size, void *user)
{
    struct recorder *r = user;
    if (r->steps++ >= STEPS_MAX) {
        uc_emu_stop(uc);
        return;
    }
    put(&r->out, (uint64_t)r->last, 1);
    if (r->last == TRACE_CALL)
        put(&r->out, r->calls_back, 8);
    put_registers(r);
    put_stack(r);
    r->last = find_event(r, pc, size);
}

static void
map_segments(struct recorder *r, const struct sym_macho *macho)
{
    for (size_t i = 0; i < macho->n_segments; i++) {
        const struct sym_segment *s = &macho->segments[i];
        struct fz_span bytes;
        if (strcmp(s->name, "__PAGEZERO") == 0 || s->vmsize == 0)
            continue;
        uint64_t size = (s->vmsize + PAGE - 1) / PAGE * PAGE;
        if (uc_mem_map(r->uc, s->vmaddr, size, UC_PROT_ALL) != UC_ERR_OK)
            exit(3);
        if (fz_span_sub(macho->bytes, s->fileoff, s->filesize, &bytes) && bytes.len > 0)
            uc_mem_write(r->uc, s->vmaddr, bytes.data, bytes.len);
    }
}

static uint64_t
find_main(const struct sym_macho *macho, struct fz_arena *arena)
{
    struct sym_symbol *symbols;
    size_t n;
    if (sym_macho_symbols(macho, arena, &symbols, &n, NULL, NULL) != FZ_OK)
        exit(3);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(symbols[i].name, "_main") == 0)
            return symbols[i].addr;
    }
    exit(3);
}

static void
run(struct recorder *r, uint64_t entry)
{
    uint64_t sp = STACK_LOW + STACK_SIZE - 256, value = 0x30300000;
    uc_hook hook;
    uc_hook_add(r->uc, &hook, UC_HOOK_CODE, (void *)(uintptr_t)on_code, r, 1, 0);
    if (r->cpu == FZ_CPU_ARM64) {
        uint64_t enable = 3 << 20;
        uc_reg_write(r->uc, UC_ARM64_REG_CPACR_EL1, &enable);
        uc_reg_write(r->uc, UC_ARM64_REG_SP, &sp);
        for (unsigned i = 19; i < 29; i++) {
            value++;
            uc_reg_write(r->uc, UC_ARM64_REG_X0 + (int)i, &value);
        }
        for (unsigned i = 8; i < 16; i++) {
            value++;
            uc_reg_write(r->uc, UC_ARM64_REG_D0 + (int)i, &value);
        }
    } else {
        static const int saved[] = {UC_X86_REG_RBX, UC_X86_REG_R12, UC_X86_REG_R13, UC_X86_REG_R14,
                                    UC_X86_REG_R15};
        sp -= 8; /* where the return address is: 0 */
        uc_reg_write(r->uc, UC_X86_REG_RSP, &sp);
        for (size_t i = 0; i < FZ_ARRAY_LEN(saved); i++) {
            value++;
            uc_reg_write(r->uc, saved[i], &value);
        }
    }
    uc_err error = uc_emu_start(r->uc, entry, 0, 0, STEPS_MAX);
    fprintf(stderr, "%llu steps: %s\n", (unsigned long long)r->steps, uc_strerror(error));
}

int
main(int argc, char **argv)
{
    struct fz_arena arena = fz_arena_make(ARENA);
    struct fz_map file;
    struct sym_macho macho;
    struct recorder r = {.out = fz_buffer_make(0)};
    struct fz_buffer header = fz_buffer_make(0);
    if (argc != 3 || fz_map_open(argv[1], &file, NULL) != FZ_OK ||
        sym_macho_open(file.bytes, &arena, &macho, NULL, NULL) != FZ_OK)
        return 2;
    r.cpu = macho.cputype == FZ_ARCH_ARM64 ? FZ_CPU_ARM64 : FZ_CPU_X86_64;
    if (uc_open(r.cpu == FZ_CPU_ARM64 ? UC_ARCH_ARM64 : UC_ARCH_X86,
                r.cpu == FZ_CPU_ARM64 ? UC_MODE_ARM : UC_MODE_64, &r.uc) != UC_ERR_OK)
        return 3;
    map_segments(&r, &macho);
    r.before = calloc(1, STACK_SIZE);
    r.stack = aligned_alloc(4096, STACK_SIZE);
    if (!r.stack || !r.before)
        return 3;
    memset(r.stack, 0, STACK_SIZE);
    uc_mem_map_ptr(r.uc, STACK_LOW, STACK_SIZE, UC_PROT_READ | UC_PROT_WRITE, r.stack);
    run(&r, find_main(&macho, &arena));
    fz_buffer_append(&header, "FZTRACE1", 8);
    put(&header, r.cpu, 4);
    put(&header, 0, 4);
    put(&header, STACK_LOW, 8);
    put(&header, STACK_LOW + STACK_SIZE, 8);
    put(&header, r.steps, 8);
    FILE *out = fopen(argv[2], "wb");
    if (!out)
        return 3;
    fwrite(header.data, 1, header.len, out);
    fwrite(r.out.data, 1, r.out.len, out);
    return fclose(out) != 0;
}
