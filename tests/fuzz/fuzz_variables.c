/*
 * Any bytes as the DWARF of a function, its registers and its memory: one byte of flags (1 DWARF is
 * of an arm64 process, else x86_64; 2 the function has a caller), the lengths of ten sections and of
 * the memory (two bytes each, little-endian), then those. All frames are read.
 */
#include <stdio.h>

#include "symbolicator/macho/macho.h"
#include "symbolicator/variables/variables.h"

enum { N_NAMES = 10, S_CODE = 0x400, ARENA_CAP = 64 << 20, N_PCS = 16, MEMORY_AT = 0x7000 };

struct input {
    struct sym_macho macho;
    struct sym_section sections[N_NAMES + 1];
    struct fz_span memory;
    bool is_arm64, has_caller;
};

static enum fz_code
files_of(void *user, size_t image, struct sym_process_files *ret, struct fz_error *err)
{
    struct input *input = user;
    (void)image;
    (void)err;
    *ret = (struct sym_process_files){.dsym = &input->macho, .binary = &input->macho};
    return FZ_OK;
}

static void
read_frames(struct input *input)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(ARENA_CAP);
    struct sym_process *process = NULL;
    struct sym_variables *variables = NULL;
    static struct sym_unwind_frame frames[2];
    const struct sym_process_region region = {MEMORY_AT, input->memory};
    const struct sym_process_image image = {.addr = 0x1000, .size = 0x10000};
    const struct sym_process_source source = {
        .cpu = input->is_arm64 ? FZ_CPU_ARM64 : FZ_CPU_X86_64,
        .regions = &region,
        .n_regions = 1,
        .images = &image,
        .n_images = 1,
        .files = files_of,
        .user = input,
    };
    bool is_open = sym_process_create(&source, &arena, &process, NULL) == FZ_OK &&
                   sym_variables_create(process, NULL, &arena, &variables, NULL) == FZ_OK;
    for (uint64_t pc = 0; is_open && pc < N_PCS; pc++) {
        for (int i = 0; i < 2; i++) {
            frames[i] = (struct sym_unwind_frame){.pc = 0x1000 + pc * 0x10 + (i ? 0x20 : 0),
                                                  .is_return = i == 1,
                                                  .has_cfa = true,
                                                  .cfa = MEMORY_AT + 0x40};
            for (int k = 0; k < 32; k++)
                sym_registers_set(&frames[i].registers, k, MEMORY_AT + (uint64_t)k * 8);
            for (size_t k = 0; k < FZ_VECTORS; k++)
                frames[i].registers.vectors[k].size = k % 2 ? 16 : 8;
        }
        const struct sym_unwind_chain chain = {.frames = frames, .n = input->has_caller ? 2 : 1};
        for (size_t i = 0; i < chain.n; i++) {
            struct sym_scope *scopes;
            size_t n;
            fz_ignore(sym_variables_at(variables, &chain, i, &scopes, &n,
                                       NULL)); /* that it ends is what counts */
        }
    }
    sym_variables_destroy(variables);
    sym_process_destroy(process);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[N_NAMES] = {
        "__debug_info", "__debug_abbrev",   "__debug_str",  "__debug_str_offs", "__debug_addr",
        "__debug_loc",  "__debug_loclists", "__debug_line", "__debug_ranges",   "__text"};
    struct input input = {
        .sections = {
            {.segment = "__TEXT", .name = "__text", .addr = 0, .size = 0x1000, .flags = S_CODE}}};
    size_t at = 1 + 2 * (N_NAMES + 1);
    if (size < at)
        return 0;
    for (size_t i = 0; i <= N_NAMES; i++) {
        size_t len = data[1 + 2 * i] | (size_t)data[2 + 2 * i] << 8;
        len = len < size - at ? len : size - at;
        struct fz_span bytes = len ? fz_span_make(data + at, len) : fz_span_make(NULL, 0);
        at += len;
        if (i == N_NAMES) {
            input.memory = bytes;
        } else if (i == N_NAMES - 1) {
            input.sections[0].bytes = bytes;
        } else {
            snprintf(input.sections[i + 1].segment, 17, "__DWARF");
            snprintf(input.sections[i + 1].name, 17, "%s", names[i]);
            input.sections[i + 1].bytes = bytes;
        }
    }
    input.is_arm64 = data[0] & 1;
    input.has_caller = data[0] & 2;
    input.macho = (struct sym_macho){.cputype = FZ_ARCH_ARM64,
                                     .is_64 = true,
                                     .sections = input.sections,
                                     .n_sections = N_NAMES,
                                     .text_vmsize = 0x1000,
                                     .bytes = fz_span_make(data, size)};
    read_frames(&input);
    return 0;
}
