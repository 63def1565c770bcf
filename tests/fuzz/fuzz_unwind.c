/*
 * Any bytes as everything that the unwinder reads: a byte of flags (0-3 the processor, 4 no binary, 8 no
 * dSYM), 12 registers as 2-byte offsets into the stack or code, the lengths of four sections (2 bytes
 * each: code, unwind_info, eh_frame of both, debug_frame), the sections, and the stack as the rest.
 */
#include <stdlib.h>

#include "base/reader.h"
#include "symbolicator/macho/macho.h"
#include "symbolicator/unwind/unwind.h"

enum { ARENA = 16 << 20, REGISTERS = 12, TEXT = 0x4000, SIZE = 0x40000, STACK = 0x700000 };
enum { S_CODE = 0x400 };
static const uint64_t LOAD = 0x100000;

struct input {
    struct sym_macho binary, dsym;
    uint8_t flags;
};

static enum fz_code
give_files(void *user, size_t image, struct sym_process_files *ret, struct fz_error *err)
{
    struct input *in = user;
    if (image != 0)
        return fz_fail(err, FZ_E_NOT_FOUND, "none");
    ret->binary = in->flags & 4 ? NULL : &in->binary;
    ret->dsym = in->flags & 8 ? NULL : &in->dsym;
    return FZ_OK;
}

/* The high bit decides what it points to. */
static uint64_t
pointer(uint16_t value)
{
    return value & 0x8000 ? LOAD + (value & 0x3fff) : STACK + (uint64_t)(value & 0x3fff) * 2;
}

static void
check(const struct sym_unwind_chain *chain)
{
    if (chain->n == 0 || chain->n > SYM_UNWIND_FRAMES_MAX)
        __builtin_trap();
    for (size_t i = 0; i + 1 < chain->n; i++) {
        if (chain->frames[i + 1].is_return && chain->frames[i + 1].image < 0)
            __builtin_trap(); /* a return address is in an image */
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct {
        enum fz_arch_cpu cpu;
        uint32_t cputype;
        unsigned saved[4];
    } cpus[] = {{FZ_CPU_ARM64, FZ_ARCH_ARM64, {19, 20, 29, 30}},
                {FZ_CPU_ARM, FZ_ARCH_ARM, {4, 5, 7, 14}},
                {FZ_CPU_X86_64, FZ_ARCH_X86_64, {3, 6, 12, 13}},
                {FZ_CPU_X86, FZ_ARCH_I386, {3, 5, 6, 7}}};
    struct fz_reader r = fz_reader_make(fz_span_make(data, size), "input");
    struct input in = {.flags = fz_read_u8(&r)};
    struct sym_registers registers = {.known = {false}};
    unsigned cpu = in.flags & 3;
    int pc = fz_arch_register_of_role(cpus[cpu].cpu, FZ_REGISTER_PC);
    sym_registers_set(&registers, pc, pointer(fz_read_u16(&r)));
    sym_registers_set(&registers, fz_arch_register_of_role(cpus[cpu].cpu, FZ_REGISTER_SP),
                      pointer(fz_read_u16(&r)));
    for (unsigned i = 0; i < REGISTERS - 2; i++)
        sym_registers_set(&registers, (int)cpus[cpu].saved[i % 4], pointer(fz_read_u16(&r)));
    uint16_t lengths[4];
    for (unsigned i = 0; i < 4; i++)
        lengths[i] = fz_read_u16(&r);
    struct sym_section sections[4] = {{.segment = "__TEXT", .name = "__text", .flags = S_CODE},
                                      {.segment = "__TEXT", .name = "__unwind_info"},
                                      {.segment = "__TEXT", .name = "__eh_frame"},
                                      {.segment = "__DWARF", .name = "__debug_frame"}};
    for (unsigned i = 0; i < 4 && !r.failed; i++) {
        sections[i].addr = i == 0 ? 0 : TEXT + i * 0x8000u;
        sections[i].size = lengths[i];
        sections[i].bytes = fz_read_bytes(&r, lengths[i]);
    }
    if (r.failed)
        return 0;
    static const uint8_t starts[] = {0x10, 0x10, 0x20, 0x80, 0x01, 0x80, 0x02, 0};
    in.binary = (struct sym_macho){.cputype = cpus[cpu].cputype,
                                   .is_64 = cpu == 0 || cpu == 2,
                                   .sections = sections,
                                   .n_sections = 4,
                                   .function_starts = fz_span_make(starts, sizeof(starts)),
                                   .bytes = fz_span_make(data, size)};
    in.dsym = in.binary;
    const struct sym_process_image images[] = {{LOAD, SIZE}, {2 * LOAD, SIZE}};
    struct sym_process_region stack = {STACK, fz_read_bytes(&r, fz_read_left(&r))};
    struct sym_process_source source = {.cpu = cpus[cpu].cpu,
                                        .regions = &stack,
                                        .n_regions = 1,
                                        .images = images,
                                        .n_images = 2,
                                        .files = give_files,
                                        .user = &in};
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(ARENA);
    struct sym_process *process = NULL;
    struct sym_unwind_chain chain;
    if (sym_process_create(&source, &arena, &process, NULL) == FZ_OK &&
        sym_unwind(process, &registers, SYM_UNWIND_FRAMES_MAX, &arena, &chain, NULL) == FZ_OK)
        check(&chain);
    sym_process_destroy(process);
    return 0;
}
