/*
 * Registers by number: from the names of a report to the numbers of base/arch.
 *
 * Vectors come under several names, of which each gives some bytes: on armv7 s0 and s1 are the halves
 * of d0, and d0 and d1 those of q0; on arm64 d8 is the low half of v8.
 */
#include "server/report/report.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum fz_arch_cpu
report_cpu(const struct report *report)
{
    /* The images of a process have its architecture, or one that runs in it (arm64e). */
    const char *arch = report->arch;
    if (report->cpu != FZ_CPU_UNKNOWN)
        return report->cpu;
    if (!arch && report->n_images)
        arch = report->images[0].arch;
    return fz_arch_cpu(arch);
}

const char *
report_register_name(const struct report *report, const struct report_register *reg)
{
    const char *name = reg->name;
    if (!name && reg->number >= 0)
        name = fz_arch_register_name(report_cpu(report), (unsigned)reg->number);
    return name ? name : "";
}

const struct report_register *
report_find_register(const struct report *report, const struct report_thread *thread,
                     enum fz_arch_register_role role)
{
    int number = fz_arch_register_of_role(report_cpu(report), role);
    for (size_t i = 0; number != FZ_NO_REGISTER && i < thread->n_registers; i++) {
        if (thread->registers[i].number == number)
            return &thread->registers[i];
    }
    return NULL;
}

void
report_vector_name(enum fz_arch_cpu cpu, const struct report_vector *vector,
                   char ret[REPORT_VECTOR_NAME])
{
    const char *name = fz_arch_vector_name(cpu, vector->index);
    unsigned index = vector->index;
    char letter = 0;
    /* Half of a register has a name of its own on ARM only. */
    if (cpu == FZ_CPU_ARM64 && vector->size < 16)
        letter = vector->size == 8 ? 'd' : 's';
    if (cpu == FZ_CPU_ARM && vector->size == 4) {
        letter = 's';
        index *= 2;
    }
    if (letter)
        snprintf(ret, REPORT_VECTOR_NAME, "%c%u", letter, index % 100);
    else
        snprintf(ret, REPORT_VECTOR_NAME, "%s", name ? name : "");
}

bool
report_is_vector_name(const char *name)
{
    struct fz_arch_vector vector;
    for (unsigned cpu = FZ_CPU_ARM64; cpu <= FZ_CPU_X86; cpu++) {
        if (fz_arch_vector_of_name((enum fz_arch_cpu)cpu, name, &vector))
            return true;
    }
    return false;
}

bool
report_vector_parse(struct fz_span text, uint8_t ret[16])
{
    uint8_t bytes[16] = {0};
    if (text.len < 3 || text.len > 34 || text.data[0] != '0' || (text.data[1] | 0x20) != 'x')
        return false;
    for (size_t i = 0; i < text.len - 2; i++) {
        int digit = fz_text_hex_digit((char)text.data[text.len - 1 - i]);
        if (digit < 0)
            return false;
        bytes[i / 2] |= (uint8_t)(digit << i % 2 * 4);
    }
    memcpy(ret, bytes, sizeof(bytes));
    return true;
}

void
report_vector_set(uint64_t value, uint8_t ret[16])
{
    memset(ret, 0, 16);
    for (size_t i = 0; i < 8; i++)
        ret[i] = (uint8_t)(value >> 8 * i);
}

/* ---- numbers ---------------------------------------------------------------------------------- */

static bool
has_register_of(const struct report_thread *thread, enum fz_arch_cpu cpu)
{
    for (size_t i = 0; i < thread->n_registers; i++) {
        const struct report_register *reg = &thread->registers[i];
        if (reg->number >= 0 || fz_arch_register_number(cpu, reg->name) != FZ_NO_REGISTER)
            return true;
    }
    return false;
}

/* Some clients name no architecture, or that of the device where a simulator runs; but each
 * processor has registers of its own. */
static enum fz_arch_cpu
cpu_of_registers(const struct report *report)
{
    const struct report_thread *thread = report_crashed_thread(report);
    enum fz_arch_cpu cpu = report_cpu(report);
    if (!thread || thread->n_registers == 0 || has_register_of(thread, cpu))
        return cpu;
    for (size_t i = 0; i < thread->n_registers; i++) {
        enum fz_arch_cpu own = fz_arch_cpu_of_register(thread->registers[i].name);
        if (own != FZ_CPU_UNKNOWN)
            return own;
    }
    return cpu;
}

static bool
has_name(enum fz_arch_cpu cpu, int number, const char *name)
{
    const char *own = number < 0 ? NULL : fz_arch_register_name(cpu, (unsigned)number);
    return own && strcmp(own, name) == 0;
}

/* `next`: the number after that of the register before, which most reports list next. */
static void
number_register(enum fz_arch_cpu cpu, int next, struct report_register *reg)
{
    /* A binary format has the numbers already. */
    if (reg->number >= 0 || !reg->name)
        return;
    bool is_next = has_name(cpu, next, reg->name);
    reg->number = is_next ? next : fz_arch_register_number(cpu, reg->name);
    /* Another spelling (x29 for fp) is shown as it came. */
    if (is_next || has_name(cpu, reg->number, reg->name))
        reg->name = NULL;
}

/* ---- vectors ---------------------------------------------------------------------------------- */

/* All vectors of a thread, byte by byte. */
struct vectors {
    uint8_t bytes[FZ_VECTORS * 16];
    bool known[FZ_VECTORS * 16];
};

static bool
is_zero(const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (bytes[i])
            return false;
    }
    return true;
}

/* The bytes of one, in the rows of 16 that a pair goes on to the next of; false if its value is
 * wider than the register. */
static bool
merge(struct vectors *all, enum fz_arch_cpu cpu, struct fz_arch_vector at, const uint8_t value[16])
{
    unsigned own = fz_arch_vector_size(cpu);
    if (!is_zero(value + at.size, 16u - at.size))
        return false;
    for (unsigned i = 0; i < at.size; i++) {
        unsigned offset = at.offset + i;
        unsigned place = (at.index + offset / own) * 16 + offset % own;
        /* Of two names for the same bytes the first counts, as with other registers. */
        if (place >= sizeof(all->bytes) || all->known[place])
            continue;
        all->bytes[place] = value[i];
        all->known[place] = true;
    }
    return true;
}

/* How many of the low bytes are known. */
static uint8_t
known_size(const struct vectors *all, unsigned index)
{
    uint8_t n = 0;
    while (n < 16 && all->known[index * 16 + n])
        n++;
    return n == 16 ? 16 : n >= 8 ? 8 : n >= 4 ? 4 : 0;
}

/* What the processor does not have keeps its name and value, as far as a register has room. */
static bool
keep_as_register(struct report *report, struct fz_arena *arena, struct report_thread *thread,
                 const struct report_vector *vector)
{
    struct report_register *grown = fz_arena_array(arena, thread->n_registers + 1, sizeof(*grown));
    if (!grown)
        return false;
    if (!is_zero(vector->bytes + 8, 8)) {
        report_note(report, arena, "register %.16s: not one of the processor's, left out",
                    vector->name);
        return true;
    }
    if (thread->n_registers)
        memcpy(grown, thread->registers, thread->n_registers * sizeof(*grown));
    struct report_register *reg = &grown[thread->n_registers++];
    *reg = (struct report_register){.number = FZ_NO_REGISTER, .name = vector->name};
    for (unsigned i = 8; i-- > 0;)
        reg->value = reg->value << 8 | vector->bytes[i];
    thread->registers = grown;
    return true;
}

static bool
number_vectors(struct report *report, struct fz_arena *arena, struct report_thread *thread)
{
    struct vectors all = {.known = {false}};
    enum fz_arch_cpu cpu = report_cpu(report);
    struct report_vector *list = NULL;
    size_t n = 0;
    /* Without a name they have been numbered. */
    if (thread->n_vectors == 0 || !thread->vectors[0].name)
        return true;
    list = fz_arena_array(arena, FZ_VECTORS, sizeof(*list));
    if (!list)
        return false;
    for (size_t i = 0; i < thread->n_vectors; i++) {
        const struct report_vector *vector = &thread->vectors[i];
        struct fz_arch_vector at;
        if (fz_arch_vector_of_name(cpu, vector->name, &at)) {
            if (!merge(&all, cpu, at, vector->bytes))
                report_note(report, arena, "register %.16s: value is wider than it, left out",
                            vector->name);
        } else if (!keep_as_register(report, arena, thread, vector)) {
            return false;
        }
    }
    for (unsigned i = 0; i < FZ_VECTORS; i++) {
        uint8_t size = known_size(&all, i);
        if (size == 0)
            continue;
        list[n] = (struct report_vector){.index = (uint8_t)i, .size = size};
        memcpy(list[n++].bytes, all.bytes + i * 16, size);
    }
    thread->vectors = list;
    thread->n_vectors = n;
    return true;
}

bool
report_number_registers(struct report *report, struct fz_arena *arena)
{
    report->cpu = cpu_of_registers(report);
    for (size_t i = 0; i < report->n_threads; i++) {
        struct report_thread *thread = &report->threads[i];
        for (size_t k = 0; k < thread->n_registers; k++)
            number_register(report->cpu, k ? thread->registers[k - 1].number + 1 : 0,
                            &thread->registers[k]);
        if (!number_vectors(report, arena, thread))
            return false;
    }
    return true;
}
