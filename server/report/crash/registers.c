/*
 * Registers in the order and the columns of Apple's text:
 *
 *   Thread 0 crashed with ARM Thread State (64-bit):
 *       x0: 0x0000000000000015   x1: 0x...   x2: 0x...   x3: 0x...
 *      x28: 0x0000000000000000   fp: 0x...   lr: 0x...
 *       sp: 0x000000016fdff260   pc: 0x... cpsr: 0x60000000
 *      far: 0x0000000000000010  esr: 0x92000006 (Data Abort) byte read Translation fault
 *
 * Registers that Apple's text does not have follow, in the report's order. On x86 Apple's text goes
 * on with "Logical CPU:", "Error Code:" and "Trap Number:".
 */
#include "server/report/crash/parts.h"

#include <stdio.h>
#include <stdlib.h>

enum { PER_LINE = 4 };

/* One place: the names that reporters give the register; '\n' in `end` closes the line. */
struct place {
    const char *name, *other;
    char end;
};

static const struct place arm64[] = {
    {"x0", NULL, ' '},  {"x1", NULL, ' '},    {"x2", NULL, ' '},   {"x3", NULL, '\n'},
    {"x4", NULL, ' '},  {"x5", NULL, ' '},    {"x6", NULL, ' '},   {"x7", NULL, '\n'},
    {"x8", NULL, ' '},  {"x9", NULL, ' '},    {"x10", NULL, ' '},  {"x11", NULL, '\n'},
    {"x12", NULL, ' '}, {"x13", NULL, ' '},   {"x14", NULL, ' '},  {"x15", NULL, '\n'},
    {"x16", NULL, ' '}, {"x17", NULL, ' '},   {"x18", NULL, ' '},  {"x19", NULL, '\n'},
    {"x20", NULL, ' '}, {"x21", NULL, ' '},   {"x22", NULL, ' '},  {"x23", NULL, '\n'},
    {"x24", NULL, ' '}, {"x25", NULL, ' '},   {"x26", NULL, ' '},  {"x27", NULL, '\n'},
    {"x28", NULL, ' '}, {"fp", "x29", ' '},   {"lr", "x30", '\n'}, {"sp", NULL, ' '},
    {"pc", NULL, ' '},  {"cpsr", NULL, '\n'}, {"far", NULL, ' '},  {"esr", NULL, '\n'},
};
static const struct place arm[] = {
    {"r0", NULL, ' '},    {"r1", NULL, ' '},  {"r2", NULL, ' '},  {"r3", NULL, '\n'},
    {"r4", NULL, ' '},    {"r5", NULL, ' '},  {"r6", NULL, ' '},  {"r7", NULL, '\n'},
    {"r8", NULL, ' '},    {"r9", NULL, ' '},  {"r10", NULL, ' '}, {"r11", NULL, '\n'},
    {"ip", "r12", ' '},   {"sp", "r13", ' '}, {"lr", "r14", ' '}, {"pc", "r15", '\n'},
    {"cpsr", NULL, '\n'},
};
static const struct place x86_64[] = {
    {"rax", NULL, ' '}, {"rbx", NULL, ' '},     {"rcx", NULL, ' '},  {"rdx", NULL, '\n'},
    {"rdi", NULL, ' '}, {"rsi", NULL, ' '},     {"rbp", NULL, ' '},  {"rsp", NULL, '\n'},
    {"r8", NULL, ' '},  {"r9", NULL, ' '},      {"r10", NULL, ' '},  {"r11", NULL, '\n'},
    {"r12", NULL, ' '}, {"r13", NULL, ' '},     {"r14", NULL, ' '},  {"r15", NULL, '\n'},
    {"rip", NULL, ' '}, {"rfl", "rflags", ' '}, {"cr2", NULL, '\n'},
};
static const struct place x86[] = {
    {"eax", NULL, ' '},  {"ebx", NULL, ' '},     {"ecx", NULL, ' '}, {"edx", NULL, '\n'},
    {"edi", NULL, ' '},  {"esi", NULL, ' '},     {"ebp", NULL, ' '}, {"esp", NULL, '\n'},
    {"ss", NULL, ' '},   {"efl", "eflags", ' '}, {"eip", NULL, ' '}, {"cs", NULL, '\n'},
    {"ds", NULL, ' '},   {"es", NULL, ' '},      {"fs", NULL, ' '},  {"gs", NULL, '\n'},
    {"cr2", NULL, '\n'},
};

static const struct layout {
    const char *state;
    const struct place *places;
    size_t n;
    int digits;
    int columns[PER_LINE]; /* of the names, with the space before them */
} layouts[] = {
    [REPORT_CPU_UNKNOWN] = {"Thread State", NULL, 0, 16, {6, 5, 5, 5}},
    [REPORT_CPU_ARM64] =
        {"ARM Thread State (64-bit)", arm64, FZ_ARRAY_LEN(arm64), 16, {6, 5, 5, 5}},
    [REPORT_CPU_ARM] = {"ARM Thread State (32-bit)", arm, FZ_ARRAY_LEN(arm), 8, {6, 6, 8, 8}},
    [REPORT_CPU_X86_64] =
        {"X86 Thread State (64-bit)", x86_64, FZ_ARRAY_LEN(x86_64), 16, {5, 5, 5, 5}},
    [REPORT_CPU_X86] = {"X86 Thread State (32-bit)", x86, FZ_ARRAY_LEN(x86), 8, {5, 5, 5, 5}},
};

/* Of x86, from an .ips: written in lines of their own. */
static const char *const trap_names[] = {"cpu", "err", "trap"};

static bool
is_named(const struct report_register *reg, const struct place *place)
{
    return strcmp(reg->name, place->name) == 0 ||
           (place->other && strcmp(reg->name, place->other) == 0);
}

static const struct report_register *
find(const struct report_thread *thread, const struct place *place)
{
    for (size_t i = 0; i < thread->n_registers; i++) {
        if (is_named(&thread->registers[i], place))
            return &thread->registers[i];
    }
    return NULL;
}

static bool
has_place(const struct layout *layout, const struct report_register *reg)
{
    for (size_t i = 0; i < layout->n; i++) {
        if (is_named(reg, &layout->places[i]))
            return true;
    }
    return false;
}

static const struct report_register *
find_name(const struct report_thread *thread, const char *name)
{
    const struct place place = {name, NULL, ' '};
    return find(thread, &place);
}

static bool
is_of_trap(enum report_cpu cpu, const struct report_register *reg)
{
    bool is_x86 = cpu == REPORT_CPU_X86_64 || cpu == REPORT_CPU_X86;
    for (size_t i = 0; is_x86 && i < FZ_ARRAY_LEN(trap_names); i++) {
        if (strcmp(reg->name, trap_names[i]) == 0)
            return true;
    }
    return is_x86 && strncmp(reg->name, "rosetta.", 8) == 0;
}

/* Flags and syndromes have 32 bits. */
static bool
is_narrow(const struct report_register *reg)
{
    return (strcmp(reg->name, "cpsr") == 0 || strcmp(reg->name, "esr") == 0) &&
           reg->value <= UINT32_MAX;
}

static void
put_register(struct fz_buffer *out, const struct report_register *reg, const char *name,
             const struct layout *layout, size_t column)
{
    int width = layout->columns[column % PER_LINE];
    size_t len = strlen(name);
    fz_buffer_printf(out, "%*s", len < (size_t)width ? width - (int)len : 1, "");
    report_crash_text(out, name);
    fz_buffer_printf(out, ": 0x%0*llx", is_narrow(reg) ? 8 : layout->digits,
                     (unsigned long long)reg->value);
}

/* What the register means, behind it: "(Data Abort) byte read Translation fault". Apple's text has
 * the same in its line, which is kept whole. */
static void
put_meaning(struct report_crash_out *c, const struct report_thread *thread,
            const struct report_register *reg)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    if (strcmp(reg->name, "esr") != 0)
        return;
    if (report_apple_text_in(thread->notable_json, "esr", "description", &text)) {
        fz_buffer_char(c->out, ' ');
        report_crash_text(c->out, fz_buffer_cstr(&text));
        return;
    }
    if (!report_crash_take(c, NULL, "Thread State", &text))
        return;
    const char *line = strstr(fz_buffer_cstr(&text), "esr: 0x");
    const char *meaning = line ? strchr(line + 5, ' ') : NULL;
    if (meaning)
        report_crash_span(c->out, fz_span_make(meaning, strcspn(meaning, "\n")));
}

static void
put_places(struct report_crash_out *c, const struct report_thread *thread,
           const struct layout *layout)
{
    size_t n_in_line = 0;
    bool has_rosetta = find_name(thread, "rosetta.tmp0") != NULL;
    for (size_t i = 0; i < layout->n; i++) {
        const struct place *place = &layout->places[i];
        const struct report_register *reg = find(thread, place);
        if (reg) {
            put_register(c->out, reg, place->name, layout, n_in_line);
            put_meaning(c, thread, reg);
            n_in_line++;
        } else if (has_rosetta && strcmp(place->name, "rip") == 0) {
            fz_buffer_text(c->out, "  rip: <unavailable>     ");
            n_in_line++;
        }
        if (n_in_line && place->end == '\n') {
            fz_buffer_char(c->out, '\n');
            n_in_line = 0;
        }
    }
}

static void
put_others(struct report_crash_out *c, const struct report_thread *thread,
           const struct layout *layout, enum report_cpu cpu)
{
    size_t n_in_line = 0;
    for (size_t i = 0; i < thread->n_registers; i++) {
        const struct report_register *reg = &thread->registers[i];
        if (has_place(layout, reg) || is_of_trap(cpu, reg))
            continue;
        put_register(c->out, reg, reg->name, layout, n_in_line);
        if (++n_in_line % PER_LINE == 0)
            fz_buffer_char(c->out, '\n');
    }
    if (n_in_line % PER_LINE != 0)
        fz_buffer_char(c->out, '\n');
}

/* Rosetta's own registers, or the trap; true if anything was written. */
static bool
put_trap(struct report_crash_out *c, const struct report_thread *thread)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer meaning = fz_buffer_make(0);
    static const char *const headings[] = {"Logical CPU", "Error Code", "Trap Number"};
    const struct report_register *cpu = find_name(thread, "cpu"), *err = find_name(thread, "err");
    const struct report_register *trap = find_name(thread, "trap");
    const struct report_register *tmp[3] = {find_name(thread, "rosetta.tmp0"),
                                            find_name(thread, "rosetta.tmp1"),
                                            find_name(thread, "rosetta.tmp2")};
    if (tmp[0] && tmp[1] && tmp[2]) {
        for (size_t i = 0; i < 3; i++)
            fz_buffer_printf(c->out, " tmp%zu: 0x%016llx", i, (unsigned long long)tmp[i]->value);
        fz_buffer_char(c->out, '\n');
        return true;
    }
    if (cpu && err && trap) {
        (void)report_apple_text_in(thread->notable_json, "trap", "description", &meaning);
        fz_buffer_printf(c->out, "  \nLogical CPU:     %lld\nError Code:      0x%08llx ",
                         (long long)cpu->value, (unsigned long long)err->value);
        report_crash_text(c->out, fz_buffer_cstr(&meaning));
        fz_buffer_printf(c->out, "\nTrap Number:     %lld\n", (long long)trap->value);
        return true;
    }
    bool any = false;
    for (size_t i = 0; i < FZ_ARRAY_LEN(headings); i++) {
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
        if (!report_crash_take(c, NULL, headings[i], &text))
            continue;
        fz_buffer_printf(c->out, "%s%s:%*s", any ? "" : "  \n", headings[i],
                         (int)(16 - strlen(headings[i])), "");
        report_crash_text(c->out, fz_buffer_cstr(&text));
        fz_buffer_char(c->out, '\n');
        any = true;
    }
    return any;
}

void
report_crash_registers(struct report_crash_out *c)
{
    const struct report_thread *thread = report_crashed_thread(c->r);
    enum report_cpu cpu = report_apple_cpu(c->r);
    if (c->is_ips && thread && thread->n_registers == 0) /* in Apple's words */
        fz_buffer_text(c->out, "\nNo thread state (register information) available\n");
    if (!thread || thread->n_registers == 0)
        return;
    const struct layout *layout = &layouts[cpu];
    long long index = (long long)report_apple_index(c->r, thread);
    if (c->is_crash)
        fz_buffer_printf(c->out, "\nThread %lld crashed with %s:\n", index, layout->state);
    else
        fz_buffer_printf(c->out, "\nThread %lld thread state: %s\n", index, layout->state);
    put_places(c, thread, layout);
    put_others(c, thread, layout, cpu);
    if (put_trap(c, thread))
        fz_buffer_char(c->out, '\n');
    report_crash_instructions(c, thread);
}
