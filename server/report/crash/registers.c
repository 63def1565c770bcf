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

enum { PER_LINE = 4 };

/* Numbers of registers (base/arch/registers.h) in the order of Apple's text; EOL ends a line. */
enum { EOL = FZ_NO_REGISTER };

/* clang-format off */
static const int8_t arm64[] = {
    0, 1, 2, 3, EOL, 4, 5, 6, 7, EOL, 8, 9, 10, 11, EOL, 12, 13, 14, 15, EOL,
    16, 17, 18, 19, EOL, 20, 21, 22, 23, EOL, 24, 25, 26, 27, EOL,
    28, FZ_ARM64_FP, FZ_ARM64_LR, EOL, FZ_ARM64_SP, FZ_ARM64_PC, FZ_ARM64_CPSR, EOL,
    FZ_ARM64_FAR, FZ_ARM64_ESR, EOL,
};
static const int8_t arm[] = {
    0, 1, 2, 3, EOL, 4, 5, 6, 7, EOL, 8, 9, 10, 11, EOL,
    FZ_ARM_IP, FZ_ARM_SP, FZ_ARM_LR, FZ_ARM_PC, EOL, FZ_ARM_CPSR, EOL,
};
static const int8_t x86_64[] = {
    FZ_X86_64_RAX, FZ_X86_64_RBX, FZ_X86_64_RCX, FZ_X86_64_RDX, EOL,
    FZ_X86_64_RDI, FZ_X86_64_RSI, FZ_X86_64_RBP, FZ_X86_64_RSP, EOL,
    8, 9, 10, 11, EOL, 12, 13, 14, 15, EOL, FZ_X86_64_RIP, FZ_X86_64_RFLAGS, FZ_X86_64_CR2, EOL,
};
static const int8_t x86[] = {
    FZ_X86_EAX, FZ_X86_EBX, FZ_X86_ECX, FZ_X86_EDX, EOL,
    FZ_X86_EDI, FZ_X86_ESI, FZ_X86_EBP, FZ_X86_ESP, EOL,
    FZ_X86_SS, FZ_X86_EFLAGS, FZ_X86_EIP, FZ_X86_CS, EOL,
    FZ_X86_DS, FZ_X86_ES, FZ_X86_FS, FZ_X86_GS, EOL, FZ_X86_CR2, EOL,
};
/* clang-format on */

static const struct layout {
    const char *state;
    const int8_t *numbers;
    size_t n;
    int columns[PER_LINE]; /* of the names, with the space before them */
} layouts[] = {
    [FZ_CPU_UNKNOWN] = {"Thread State", NULL, 0, {6, 5, 5, 5}},
    [FZ_CPU_ARM64] = {"ARM Thread State (64-bit)", arm64, FZ_ARRAY_LEN(arm64), {6, 5, 5, 5}},
    [FZ_CPU_ARM] = {"ARM Thread State (32-bit)", arm, FZ_ARRAY_LEN(arm), {6, 6, 8, 8}},
    [FZ_CPU_X86_64] = {"X86 Thread State (64-bit)", x86_64, FZ_ARRAY_LEN(x86_64), {5, 5, 5, 5}},
    [FZ_CPU_X86] = {"X86 Thread State (32-bit)", x86, FZ_ARRAY_LEN(x86), {5, 5, 5, 5}},
};

/* The registers of a thread by their place in the layout. */
struct table {
    const struct report *report;
    enum fz_arch_cpu cpu;
    const struct layout *layout;
    const struct report_register *by_number[FZ_REGISTER_NUMBERS];
};

/* Of x86, from an .ips: written in lines of their own. */
static const char *const trap_names[] = {"cpu", "err", "trap"};

static bool
has_place(const struct layout *layout, int number)
{
    for (size_t i = 0; number != FZ_NO_REGISTER && i < layout->n; i++) {
        if (layout->numbers[i] == number)
            return true;
    }
    return false;
}

static struct table
table_of(const struct report *report, const struct report_thread *thread)
{
    enum fz_arch_cpu cpu = report_cpu(report);
    struct table table = {.report = report, .cpu = cpu, .layout = &layouts[cpu]};
    for (size_t i = 0; i < thread->n_registers; i++) {
        int number = thread->registers[i].number;
        /* Aliases (x29 and fp) have one number: the first counts. */
        if (number != FZ_NO_REGISTER && !table.by_number[number])
            table.by_number[number] = &thread->registers[i];
    }
    return table;
}

static const char *
name_of(const struct table *table, const struct report_register *reg)
{
    return report_register_name(table->report, reg);
}

/* Apple's text has short names for the flags of x86. */
static const char *
shown_name(enum fz_arch_cpu cpu, int number)
{
    if (cpu == FZ_CPU_X86_64 && number == FZ_X86_64_RFLAGS)
        return "rfl";
    if (cpu == FZ_CPU_X86 && number == FZ_X86_EFLAGS)
        return "efl";
    return fz_arch_register_name(cpu, (unsigned)number);
}

/* One that the table of registers does not have. */
static const struct report_register *
find_name(const struct report_thread *thread, const char *name)
{
    for (size_t i = 0; i < thread->n_registers; i++) {
        const char *own = thread->registers[i].name;
        if (own && strcmp(own, name) == 0)
            return &thread->registers[i];
    }
    return NULL;
}

static bool
is_of_trap(const struct table *table, const struct report_register *reg)
{
    const char *name = name_of(table, reg);
    bool is_x86 = table->cpu == FZ_CPU_X86_64 || table->cpu == FZ_CPU_X86;
    for (size_t i = 0; is_x86 && i < FZ_ARRAY_LEN(trap_names); i++) {
        if (strcmp(name, trap_names[i]) == 0)
            return true;
    }
    return is_x86 && strncmp(name, "rosetta.", 8) == 0;
}

/* Flags and syndromes have 32 bits. */
static bool
is_narrow(const struct table *table, const struct report_register *reg)
{
    const char *name = name_of(table, reg);
    return (strcmp(name, "cpsr") == 0 || strcmp(name, "esr") == 0) && reg->value <= UINT32_MAX;
}

static void
put_register(struct fz_buffer *out, const struct report_register *reg, const char *name,
             const struct table *table, size_t column)
{
    /* The names are right-aligned, in columns that differ by architecture. */
    int width = table->layout->columns[column % PER_LINE];
    /* A value is as wide as a pointer, so that columns align. */
    int digits = (int)fz_arch_pointer_bits(table->cpu) / 4;
    size_t len = strlen(name);
    fz_buffer_printf(out, "%*s", len < (size_t)width ? width - (int)len : 1, "");
    report_crash_text(out, name);
    fz_buffer_printf(out, ": 0x%0*llx", is_narrow(table, reg) ? 8 : digits,
                     (unsigned long long)reg->value);
}

/* What the register means, after its value: "(Data Abort) byte read Translation fault". Apple's
 * text has the same in its line, which is kept whole. */
static void
put_meaning(struct report_crash_out *c, const struct report_thread *thread,
            const struct table *table, const struct report_register *reg)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    if (strcmp(name_of(table, reg), "esr") != 0)
        return;
    if (report_apple_text_in(thread->notable_json, "esr", "description", &text)) {
        fz_buffer_char(c->out, ' ');
        report_crash_text(c->out, fz_buffer_cstr(&text));
        return;
    }
    if (!report_crash_take(c, NULL, "Thread State", &text))
        return;
    /* A crash text keeps the line of the thread state as it came. */
    const char *line = strstr(fz_buffer_cstr(&text), "esr: 0x");
    const char *meaning = line ? strchr(line + 5, ' ') : NULL;
    if (meaning)
        report_crash_span(c->out, fz_span_make(meaning, strcspn(meaning, "\n")));
}

static void
put_places(struct report_crash_out *c, const struct report_thread *thread,
           const struct table *table)
{
    size_t n_in_line = 0;
    /* Rosetta names its own registers so in an .ips. */
    bool has_rosetta = find_name(thread, "rosetta.tmp0") != NULL;
    for (size_t i = 0; i < table->layout->n; i++) {
        int number = table->layout->numbers[i];
        const struct report_register *reg = number == EOL ? NULL : table->by_number[number];
        if (reg) {
            put_register(c->out, reg, shown_name(table->cpu, number), table, n_in_line);
            put_meaning(c, thread, table, reg);
            n_in_line++;
        } else if (has_rosetta && table->cpu == FZ_CPU_X86_64 && number == FZ_X86_64_RIP) {
            /* Apple's text of a translated process, whose x86 pc is not known. */
            fz_buffer_text(c->out, "  rip: <unavailable>     ");
            n_in_line++;
        }
        if (n_in_line && number == EOL) {
            fz_buffer_char(c->out, '\n');
            n_in_line = 0;
        }
    }
}

static void
put_others(struct report_crash_out *c, const struct report_thread *thread,
           const struct table *table)
{
    size_t n_in_line = 0;
    for (size_t i = 0; i < thread->n_registers; i++) {
        const struct report_register *reg = &thread->registers[i];
        /* Written above already, in Apple's order. */
        if (has_place(table->layout, reg->number) || is_of_trap(table, reg))
            continue;
        put_register(c->out, reg, name_of(table, reg), table, n_in_line);
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
    /* A translated process has no trap of the x86 processor. */
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
    if (c->is_ips && thread && thread->n_registers == 0) /* in Apple's words */
        fz_buffer_text(c->out, "\nNo thread state (register information) available\n");
    if (!thread || thread->n_registers == 0)
        return;
    /* Registers of the thread that crashed only, as in Apple's text. */
    struct table table = table_of(c->r, thread);
    long long index = (long long)report_apple_index(c->r, thread);
    if (c->is_crash)
        fz_buffer_printf(c->out, "\nThread %lld crashed with %s:\n", index, table.layout->state);
    else
        fz_buffer_printf(c->out, "\nThread %lld thread state: %s\n", index, table.layout->state);
    put_places(c, thread, &table);
    put_others(c, thread, &table);
    if (put_trap(c, thread))
        fz_buffer_char(c->out, '\n');
    report_crash_instructions(c, thread);
}
