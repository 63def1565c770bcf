/*
 * Registers in the order and the columns of Apple's text:
 *
 *   Thread 0 crashed with ARM Thread State (64-bit):
 *       x0: 0x0000000000000015   x1: 0x...   x2: 0x...   x3: 0x...
 *      x28: 0x0000000000000000   fp: 0x...   lr: 0x...
 *       sp: 0x000000016fdff260   pc: 0x... cpsr: 0x60000000
 *      far: 0x0000000000000010  esr: 0x92000006 (Data Abort) byte read Translation fault
 *
 * Registers that Apple's text does not have follow, in the report's order.
 */
#include "server/report/render_crash.h"

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
} layouts[] = {
    [REPORT_CPU_UNKNOWN] = {"Thread State", NULL, 0, 16},
    [REPORT_CPU_ARM64] = {"ARM Thread State (64-bit)", arm64, FZ_ARRAY_LEN(arm64), 16},
    [REPORT_CPU_ARM] = {"ARM Thread State (32-bit)", arm, FZ_ARRAY_LEN(arm), 8},
    [REPORT_CPU_X86_64] = {"X86 Thread State (64-bit)", x86_64, FZ_ARRAY_LEN(x86_64), 16},
    [REPORT_CPU_X86] = {"X86 Thread State (32-bit)", x86, FZ_ARRAY_LEN(x86), 8},
};

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

/* Flags and syndromes have 32 bits. */
static bool
is_narrow(const struct report_register *reg)
{
    return (strcmp(reg->name, "cpsr") == 0 || strcmp(reg->name, "esr") == 0) &&
           reg->value <= UINT32_MAX;
}

static void
put_register(struct fz_buffer *out, const struct report_register *reg, int digits)
{
    size_t len = strlen(reg->name);
    fz_buffer_printf(out, "%*s", len < 6 ? (int)(6 - len) : 1, "");
    render_crash_text(out, reg->name);
    fz_buffer_printf(out, ": 0x%0*llx", is_narrow(reg) ? 8 : digits,
                     (unsigned long long)reg->value);
}

/* What the register means, behind it: "(Data Abort) byte read Translation fault". */
static void
put_meaning(struct fz_buffer *out, const struct report_thread *thread,
            const struct report_register *reg)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    if (strcmp(reg->name, "esr") != 0 ||
        !report_apple_text_in(thread->notable_json, "esr", "description", &text))
        return;
    fz_buffer_char(out, ' ');
    render_crash_text(out, fz_buffer_cstr(&text) + strspn(fz_buffer_cstr(&text), " "));
}

void
render_crash_registers(struct fz_buffer *out, const struct report *r)
{
    const struct report_thread *thread = report_crashed_thread(r);
    if (!thread || thread->n_registers == 0)
        return;
    const struct layout *layout = &layouts[report_apple_cpu(r)];
    fz_buffer_printf(out, "\nThread %lld crashed with %s:\n",
                     (long long)report_apple_index(r, thread), layout->state);
    size_t n_in_line = 0;
    for (size_t i = 0; i < layout->n; i++) {
        const struct report_register *reg = find(thread, &layout->places[i]);
        if (reg) {
            put_register(out, reg, layout->digits);
            put_meaning(out, thread, reg);
            n_in_line++;
        }
        if (n_in_line && layout->places[i].end == '\n') {
            fz_buffer_char(out, '\n');
            n_in_line = 0;
        }
    }
    for (size_t i = 0; i < thread->n_registers; i++) {
        if (has_place(layout, &thread->registers[i]))
            continue;
        put_register(out, &thread->registers[i], layout->digits);
        if (++n_in_line % PER_LINE == 0)
            fz_buffer_char(out, '\n');
    }
    if (n_in_line % PER_LINE != 0)
        fz_buffer_char(out, '\n');
}
