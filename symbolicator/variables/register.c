/*
 * What the machine works with: registers of the frame, its stack.
 */
#include "symbolicator/variables/machine.h"

enum sym_availability
variables_register(const struct variables_frame *frame, unsigned number, uint64_t *ret)
{
    struct fz_arch_vector vector;
    enum fz_arch_cpu cpu = sym_process_cpu(frame->variables->process);
    /* Numbers of vectors are others of process.h's table. */
    if (number >= FZ_REGISTER_NUMBERS || fz_arch_vector_of_number(cpu, number, &vector))
        return SYM_VALUE_UNSUPPORTED;
    return sym_registers_get(&frame->frame->registers, (int)number, ret)
               ? SYM_VALUE_AVAILABLE
               : SYM_VALUE_REGISTER_NOT_RECOVERABLE;
}

enum sym_availability
variables_register_bytes(const struct variables_frame *frame, unsigned number, uint8_t to[16],
                         size_t *ret_n)
{
    enum fz_arch_cpu cpu = sym_process_cpu(frame->variables->process);
    struct fz_arch_vector vector;
    uint64_t value;
    if (fz_arch_vector_of_number(cpu, number, &vector)) {
        /* Of a callee-saved vector only the low half is preserved. */
        const struct sym_vector *all = &frame->frame->registers.vectors[vector.index];
        if (all->size <= vector.offset)
            return SYM_VALUE_REGISTER_NOT_RECOVERABLE;
        size_t n = (size_t)(all->size - vector.offset);
        *ret_n = n < vector.size ? n : vector.size;
        memcpy(to, all->bytes + vector.offset, *ret_n);
        return SYM_VALUE_AVAILABLE;
    }
    enum sym_availability why = variables_register(frame, number, &value);
    if (why != SYM_VALUE_AVAILABLE)
        return why;
    *ret_n = cpu == FZ_CPU_ARM || cpu == FZ_CPU_X86 ? 4 : 8;
    for (unsigned i = 0; i < *ret_n; i++)
        to[i] = (uint8_t)(value >> (8 * i));
    return SYM_VALUE_AVAILABLE;
}

const char *
variables_register_name(const struct variables_frame *frame, unsigned number)
{
    enum fz_arch_cpu cpu = sym_process_cpu(frame->variables->process);
    struct fz_arch_vector vector;
    if (fz_arch_vector_of_number(cpu, number, &vector))
        return fz_arch_vector_name(cpu, vector.index);
    return fz_arch_register_name(cpu, number);
}

void
variables_machine_init(struct variables_machine *machine, struct variables_frame *frame,
                       const struct sym_dwarf_unit *unit, struct fz_span expr)
{
    *machine = (struct variables_machine){
        .frame = frame,
        .unit = unit,
        .at = {.at = expr.data,
               .end = expr.len ? expr.data + expr.len : expr.data,
               .big_endian = frame->image->dwarf->big_endian},
    };
}

void
variables_machine_push(struct variables_machine *machine, uint64_t value)
{
    if (machine->n == VARIABLES_STACK_MAX)
        machine->failure = SYM_VALUE_LIMIT;
    else
        machine->stack[machine->n++] =
            variables_number_make(value, NUMBER_GENERIC, machine->unit->addr_size);
}

void
variables_machine_poison(struct variables_machine *machine, enum sym_availability why)
{
    if (machine->poison == SYM_VALUE_AVAILABLE)
        machine->poison = why;
    variables_machine_push(machine, 0);
}
