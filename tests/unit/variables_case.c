#include "tests/unit/variables_case.h"
#include "server/report/report.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * 1 unit (low_pc, length, language), 2 function (name, low_pc, length, frame base), 3 parameter
 * (name, type, expression), 4 variable (same), 5 base type (name, encoding, size), 6 pointer, 7
 * structure (name, size), 8 member (name, type, offset), 9 variable with a list, a array, b
 * subrange (count), c variable (name, type, const sdata), d enumeration (name, size, type), e
 * enumerator, f bit-field (name, type, bits, data bit offset), 10 bit-field (name, type, byte size,
 * bits, bit offset, offset), 11 typedef, 12 call site (origin, return pc), 13 its parameter (place,
 * value), 14 parameter with a list, 15 reference, 16 const, 17 block (low_pc, length), 18 inlined
 * call (origin, low_pc, length), 19 abstract function (name), 1a variable (name, type), 1b union
 * (name, size), 1c variable (origin), 1d structure with linkage name (name, linkage name, size), 1e
 * variable with loclistx, 1f inheritance (type, offset), 20 array of unknown length, 21 function
 * type, 22 parameter of one, 23 member with an expression, 24 member without type, 25 union with
 * linkage name, 26 function that is not optimised away with APPLE_optimized, 27 member pointer
 * (type, class), 28 variant part (discriminant), 29 variant (value), 2a call site (target
 * expression, return pc), 2b vector array, 2c variable (name, type, block1 constant), 2d declared
 * structure (name), 2e namespace (name), 2f unnamed namespace, 30 declared enumeration (name, size,
 * type), 31 unit without code (language).
 */
#define ABBREVS                                                                                  \
    "1 11 1 11 1 12 6 13 b 0 0 2 2e 1 3 8 11 1 12 6 40 18 0 0 3 5 0 3 8 49 13 2 18 0 0 "         \
    "4 34 0 3 8 49 13 2 18 0 0 5 24 0 3 8 3e b b b 0 0 6 f 0 49 13 0 0 7 13 1 3 8 b b 0 0 "      \
    "8 d 0 3 8 49 13 38 b 0 0 9 34 0 3 8 49 13 2 17 0 0 a 1 1 49 13 0 0 b 21 0 37 b 0 0 "        \
    "c 34 0 3 8 49 13 1c d 0 0 d 4 1 3 8 b b 49 13 0 0 e 28 0 3 8 1c d 0 0 "                     \
    "f d 0 3 8 49 13 d b 6b b 0 0 10 d 0 3 8 49 13 b b d b c b 38 b 0 0 11 16 0 3 8 49 13 0 0 "  \
    "12 48 1 7f 13 7d 1 0 0 13 49 0 2 18 7e 18 0 0 14 5 0 3 8 49 13 2 17 0 0 15 10 0 49 13 0 0 " \
    "16 26 0 49 13 0 0 17 b 1 11 1 12 6 0 0 18 1d 1 31 13 11 1 12 6 0 0 19 2e 1 3 8 0 0 "        \
    "1a 34 0 3 8 49 13 0 0 1b 17 1 3 8 b b 0 0 1c 34 0 31 13 0 0 1d 13 1 3 8 6e 8 b b 0 0 "      \
    "1e 34 0 3 8 49 13 2 22 0 0 1f 1c 0 49 13 38 b 0 0 20 1 1 49 13 0 0 21 15 1 49 13 0 0 "      \
    "22 5 0 49 13 0 0 23 d 0 3 8 49 13 38 18 0 0 24 d 0 3 8 0 0 25 17 1 3 8 6e 8 b b 0 0 "       \
    "26 2e 1 3 8 11 1 12 6 40 18 u16353 19 0 0 27 1f 0 49 13 1d 13 0 0 28 33 1 15 13 0 0 "       \
    "29 19 1 16 b 0 0 2a 48 1 u131 18 7d 1 0 0 2b 1 1 49 13 u8455 19 0 0 "                       \
    "2c 34 0 3 8 49 13 1c a 0 0 2d 13 0 3 8 3c 19 0 0 2e 39 1 3 8 0 0 2f 39 1 0 0 "              \
    "30 4 0 3 8 b b 49 13 3c 19 0 0 31 11 1 13 b 0 0 0"
#define TYPES                                                                    \
    "5 'int' 5 4 5 'char' 6 1 5 'float' 4 4 5 'long' 5 8 5 'double' 4 8 6 4:20 " \
    "5 'unsigned char' 8 1 5 'unsigned' 7 4 5 'bool' 2 1 "

enum { TEXT_MAX = 8192, MEMORY_AT = 0x9000, CODE_LOW = 0x1000 };

struct run {
    struct dwarf_sample sample;
    struct fz_arena arena;
    struct sym_process *process;
    struct sym_unwind_frame frames[2];
};

static enum fz_code
files_of(void *user, size_t image, struct sym_process_files *ret, struct fz_error *err)
{
    struct run *run = user;
    (void)image;
    (void)err;
    *ret = (struct sym_process_files){.dsym = &run->sample.macho};
    return FZ_OK;
}

static void
print(const struct sym_variable *variable, struct fz_buffer *out)
{
    fz_buffer_printf(out, "%s", variable->name);
    if (variable->availability != SYM_VALUE_AVAILABLE)
        fz_buffer_printf(out, " %s", report_availability_names[variable->availability]);
    if (variable->value)
        fz_buffer_printf(out, " = %s", variable->value);
    if (variable->maybe_stale)
        fz_buffer_text(out, " stale");
    for (size_t i = 0; i < variable->n_fields; i++) {
        fz_buffer_text(out, i ? ", " : " (");
        print(&variable->fields[i], out);
    }
    if (variable->n_fields)
        fz_buffer_text(out, variable->n_fields_cut ? ", ...)" : ")");
}

static void
make_frames(struct run *run, const struct variables_case *one)
{
    static const double number = 2.5;
    struct sym_unwind_frame *frame = &run->frames[0], *caller = &run->frames[1];
    *frame = (struct sym_unwind_frame){.pc = (one->pc ? one->pc : 0x1180) + CASE_SLIDE,
                                       .is_return = one->is_return};
    enum fz_arch_cpu cpu = one->cpu ? one->cpu : FZ_CPU_ARM64;
    sym_registers_set(&frame->registers, 0, 5);
    if (cpu == FZ_CPU_ARM64)
        sym_registers_set(&frame->registers, 19, (UINT64_C(1) << 32) + 7);
    sym_registers_set(&frame->registers, fz_arch_register_of_role(cpu, FZ_REGISTER_FP),
                      CASE_STACK + 0x10);
    sym_registers_set(&frame->registers, fz_arch_register_of_role(cpu, FZ_REGISTER_SP), CASE_STACK);
    frame->has_cfa = one->is_exact;
    frame->cfa = CASE_STACK + 0x30;
    memcpy(frame->registers.vectors[8].bytes, &number, sizeof(number));
    frame->registers.vectors[8].size = 8;
    memset(frame->registers.vectors[0].bytes, 0xff, 16);
    frame->registers.vectors[0].size = 16;
    *caller = (struct sym_unwind_frame){.pc = one->caller_pc + CASE_SLIDE, .is_return = true};
    sym_registers_set(&caller->registers, 19, 99);
    sym_registers_set(&caller->registers, 20, MEMORY_AT);
}

void
variables_case_run(const struct variables_case *one, struct fz_buffer *out)
{
    static struct run run;
    static char info[TEXT_MAX];
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer stack = fz_buffer_make(0);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer memory = fz_buffer_make(0);
    struct sym_variables *variables = NULL;
    struct fz_error err = {0};
    /* Of version 5 only the header differs; its offsets are one byte higher. */
    enum fz_arch_cpu cpu = one->cpu ? one->cpu : FZ_CPU_ARM64;
    bool is_32 = fz_arch_pointer_bits(cpu) == 32;
    const char *header = one->is_v5 ? "2:5 1 8 4:0" : is_32 ? "2:4 4:0 4" : "2:4 4:0 8";
    const char *address = is_32 ? "4" : "8";
    snprintf(info, sizeof(info),
             "{ %s 1 %s:1000 4:1000 %x %s%s 2 'f' %s:1100 4:100 u1 %x %s 0 %s 0 }", header, address,
             one->language ? one->language : 0xc, TYPES, one->types ? one->types : "", address,
             0x50u + (unsigned)fz_arch_register_of_role(cpu, FZ_REGISTER_FP), one->body,
             one->after ? one->after : "");
    const struct dwarf_text text = {.info = info,
                                    .abbrev = ABBREVS,
                                    .loc = one->loc,
                                    .loclists = one->loclists,
                                    .addr = one->addr,
                                    .str_offsets = one->str_offsets};
    dwarf_sample_init(&run.sample, &text);
    run.sample.macho.text_vmaddr = CODE_LOW;
    run.sample.macho.text_vmsize = 0xff000;
    run.arena = fz_arena_make(64 << 20);
    dwarf_text_write(one->stack ? one->stack : "0", false, &stack);
    dwarf_text_write(one->memory ? one->memory : "0", false, &memory);
    const struct sym_process_region regions[] = {{CASE_STACK, fz_buffer_span(&stack)},
                                                 {MEMORY_AT, fz_buffer_span(&memory)}};
    const struct sym_process_image image = {.addr = CODE_LOW + CASE_SLIDE, .size = 0xff000};
    const struct sym_process_source source = {.cpu = cpu,
                                              .regions = regions,
                                              .n_regions = 2,
                                              .images = &image,
                                              .n_images = 1,
                                              .files = files_of,
                                              .user = &run};
    assert(sym_process_create(&source, &run.arena, &run.process, &err) == FZ_OK);
    make_frames(&run, one);
    const struct sym_unwind_chain chain = {.frames = run.frames, .n = one->caller_pc ? 2 : 1};
    struct sym_scope *scopes = NULL;
    size_t n = 0;
    assert(sym_variables_create(run.process, &one->limits, &run.arena, &variables, &err) == FZ_OK);
    if (sym_variables_at(variables, &chain, 0, &scopes, &n, &err) != FZ_OK)
        fz_buffer_printf(out, "%s", err.text);
    for (size_t i = 0; i < n; i++) {
        if (scopes[i].inlined)
            fz_buffer_printf(out, "%s inlined: ", scopes[i].function);
        if (scopes[i].availability != SYM_VALUE_AVAILABLE)
            fz_buffer_printf(out, "%s; ", report_availability_names[scopes[i].availability]);
        for (size_t k = 0; k < scopes[i].n; k++) {
            print(&scopes[i].variables[k], out);
            fz_buffer_text(out, "; ");
        }
        if (scopes[i].n_cut)
            fz_buffer_printf(out, "%zu cut; ", scopes[i].n_cut);
    }
    sym_process_destroy(run.process);
    dwarf_sample_deinit(&run.sample);
    sym_variables_destroy(variables);
    fz_arena_deinit(&run.arena);
}
