/*
 * A hand-made crash for tests of the unwinder: a stack of words, registers, one or two images.
 */
#ifndef UNWIND_CASE_H
#define UNWIND_CASE_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include "symbolicator/macho/macho.h"
#include "symbolicator/unwind/unwind.h"

enum { UNWIND_WORDS = 512, UNWIND_ARENA = 4 << 20 };
static const uint64_t UNWIND_STACK = 0x7ff000; /* address of the first word */
static const uint64_t UNWIND_IMAGE = 0x100000, UNWIND_OTHER = 0x200000, UNWIND_SIZE = 0x10000;

struct unwind_case {
    enum fz_arch_cpu cpu;
    unsigned word; /* bytes */
    uint8_t stack[UNWIND_WORDS * 8];
    struct sym_registers registers;
    struct sym_macho binary, dsym; /* of the image at UNWIND_IMAGE; with sections they count */
    struct fz_arena arena;
    struct sym_process *process;
    struct sym_unwind_chain chain;
};

static inline void
unwind_case_init(struct unwind_case *c, enum fz_arch_cpu cpu)
{
    memset(c, 0, sizeof(*c));
    c->cpu = cpu;
    c->word = fz_arch_pointer_bits(cpu) / 8;
    fz_arena_init(&c->arena, UNWIND_ARENA);
}

/* The word at an address of the stack. */
static inline void
unwind_case_put(struct unwind_case *c, uint64_t addr, uint64_t value)
{
    for (unsigned i = 0; i < c->word; i++)
        c->stack[addr - UNWIND_STACK + i] = (uint8_t)(value >> (8 * i));
}

static inline void
unwind_case_set(struct unwind_case *c, const char *name, uint64_t value)
{
    int number = fz_arch_register_number(c->cpu, name);
    assert_int_not_equal(number, FZ_NO_REGISTER);
    sym_registers_set(&c->registers, number, value);
}

static inline enum fz_code
unwind_case_files(void *user, size_t image, struct sym_process_files *ret, struct fz_error *err)
{
    struct unwind_case *c = user;
    if (image != 0)
        return fz_fail(err, FZ_E_NOT_FOUND, "none");
    ret->binary = c->binary.n_sections ? &c->binary : NULL;
    ret->dsym = c->dsym.n_sections ? &c->dsym : NULL;
    return FZ_OK;
}

static inline void
unwind_case_run(struct unwind_case *c, size_t max)
{
    const struct sym_process_image images[] = {{UNWIND_IMAGE, UNWIND_SIZE},
                                               {UNWIND_OTHER, UNWIND_SIZE}};
    const struct sym_process_region region = {UNWIND_STACK,
                                              fz_span_make(c->stack, sizeof(c->stack))};
    c->binary.text_vmaddr = c->dsym.text_vmaddr = 0;
    struct sym_process_source source = {.cpu = c->cpu,
                                        .regions = &region,
                                        .n_regions = 1,
                                        .images = images,
                                        .n_images = 2,
                                        .files = unwind_case_files,
                                        .user = c};
    assert_int_equal(sym_process_create(&source, &c->arena, &c->process, NULL), FZ_OK);
    assert_int_equal(sym_unwind(c->process, &c->registers, max, &c->arena, &c->chain, NULL), FZ_OK);
}

/* Compare the chain with addresses up to a 0, and its end. */
static inline void
unwind_case_want(struct unwind_case *c, const uint64_t *want, enum sym_unwind_end end)
{
    char text[1024] = "";
    bool right = true;
    size_t n = 0;
    for (; want[n]; n++)
        right = right && n < c->chain.n && c->chain.frames[n].pc == want[n];
    for (size_t i = 0; i < c->chain.n; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), " 0x%llx",
                 (unsigned long long)c->chain.frames[i].pc);
    if (!right || n != c->chain.n || c->chain.end != end)
        fail_msg("chain%s, end %d", text, (int)c->chain.end);
}

static inline void
unwind_case_end(struct unwind_case *c)
{
    sym_process_destroy(c->process);
    fz_arena_deinit(&c->arena);
}

#endif
