#include "symbolicator/unwind/code.h"

#include "symbolicator/unwind/x86_insn.h"

/* Numbers of instructions; those of DWARF differ. */
enum { SP = 4, BP = 5 };

struct machine {
    bool is_64;
    int64_t word;
    struct unwind_state *state;
    struct unwind_numbers *numbers;
    const struct unwind_x86_insn *insn;
    uint64_t next; /* offset of the instruction after this one */
};

/* From the number in an instruction to DWARF's. */
static int
dwarf_number(const struct machine *m, unsigned number)
{
    static const uint8_t of_64[] = {FZ_X86_64_RAX, FZ_X86_64_RCX, FZ_X86_64_RDX, FZ_X86_64_RBX,
                                    FZ_X86_64_RSP, FZ_X86_64_RBP, FZ_X86_64_RSI, FZ_X86_64_RDI};
    if (m->is_64 && number < 8)
        return of_64[number];
    return (int)number; /* the same on i386, and from r8 on */
}

static bool
is_callee_saved(const struct machine *m, int number)
{
    return unwind_is_callee_saved(m->is_64 ? FZ_CPU_X86_64 : FZ_CPU_X86, number);
}

static bool
find_below(const struct unwind_state *state, unsigned base, int64_t offset, int64_t *ret)
{
    if (base == SP && state->has_sp)
        *ret = state->sp - offset;
    else if (base == BP && state->has_fp)
        *ret = state->fp - offset;
    else if (base < 16 && state->has_copy >> base & 1)
        *ret = state->copies[base] - offset;
    else
        return false;
    return true;
}

/* The memory operand, if it is sp or fp and a number. */
static bool
find_operand(const struct machine *m, int64_t *ret)
{
    const struct unwind_x86_insn *insn = m->insn;
    if (!insn->has_modrm || insn->mod == 3 || (insn->mod == 0 && !insn->has_sib))
        return false;
    if (insn->has_sib && insn->index != SP)
        return false;
    if (insn->has_sib && insn->mod == 0 && (insn->base & 7) == BP)
        return false;
    return find_below(m->state, insn->has_sib ? insn->base : insn->rm, insn->displacement, ret);
}

static void
push(struct machine *m, int number)
{
    struct unwind_state *state = m->state;
    state->sp += m->word;
    if (!state->has_sp)
        return;
    if (number >= 0 && is_callee_saved(m, number) && state->saved[number] == UNWIND_IN_PLACE)
        unwind_state_store(state->saved, number, state->sp);
    else
        unwind_state_overwrite(state, state->sp, (unsigned)m->word);
}

static void
load(struct machine *m, int number, int64_t below)
{
    unwind_state_load(m->state->saved, number, below);
    if (number == dwarf_number(m, BP) && m->state->saved[number] == UNWIND_IN_PLACE)
        m->state->has_fp = false;
}

static void
pop(struct machine *m, int number)
{
    if (m->state->has_sp && number >= 0)
        load(m, number, m->state->sp);
    m->state->sp -= m->word;
    unsigned popped = (m->insn->opcode & 7u) | (m->insn->rex & 1u) << 3;
    if (number >= 0)
        m->state->has_copy &= ~(1u << popped);
    if (number == dwarf_number(m, SP))
        m->state->has_sp = false;
}

/* A register gets the value "sp or fp + offset", or one that is not known. */
static void
set_pointer(struct machine *m, unsigned number, unsigned base, int64_t offset)
{
    int64_t below = 0;
    bool known = find_below(m->state, base, offset, &below);
    if (number == SP) {
        m->state->has_sp = known;
        m->state->sp = known ? below : 0;
    } else if (number == BP && known) {
        m->state->has_fp = true;
        m->state->fp = below;
    } else if (number != BP) {
        unwind_state_copy(m->state, number, known, below);
    }
}

/* Opcode 81 and 83 on a register, or 01 and 29 with sp: ADD, SUB, AND. */
static void
add_to_sp(struct machine *m, unsigned operation, int64_t value)
{
    if (operation == 0)
        m->state->sp -= value;
    else if (operation == 5)
        m->state->sp += value;
    else if (operation == 4) /* AND aligns it */
        m->state->has_sp = false;
}

/* MOV and LEA between registers and memory. */
static void
apply_move(struct machine *m)
{
    const struct unwind_x86_insn *insn = m->insn;
    int64_t below;
    bool is_load = insn->opcode == 0x8b;
    int number = dwarf_number(m, insn->reg);
    if (insn->opcode == 0x8d) {
        unsigned base = insn->has_sib ? insn->base : insn->rm;
        if (find_operand(m, &below))
            set_pointer(m, insn->reg, base, insn->displacement);
        else if (insn->reg == SP)
            m->state->has_sp = false;
        else
            m->state->has_copy &= ~(1u << insn->reg);
    } else if (insn->mod == 3) {
        unsigned to = is_load ? insn->reg : insn->rm, from = is_load ? insn->rm : insn->reg;
        if (to != BP || from == SP)
            set_pointer(m, to, from, 0);
    } else if (find_operand(m, &below)) {
        if (is_load)
            load(m, number, below);
        else if (is_callee_saved(m, number) && m->state->saved[number] == UNWIND_IN_PLACE &&
                 (insn->is_wide || !m->is_64))
            unwind_state_store(m->state->saved, number, below);
        else
            unwind_state_overwrite(m->state, below, insn->is_wide ? 8 : 4);
    }
    unsigned written = is_load || insn->opcode == 0x8d ? insn->reg : insn->rm;
    if (is_load || insn->opcode == 0x8d || insn->mod == 3)
        m->numbers->known &= ~(1u << written);
    if (is_load && insn->mod != 3)
        m->state->has_copy &= ~(1u << insn->reg);
}

static void
forget(struct machine *m, unsigned number)
{
    m->state->has_copy &= ~(1u << number);
    m->numbers->known &= ~(1u << number);
}

/* Does an instruction of the 0F map write the general register that its ModRM names? Most of them
 * are of vectors or write memory. */
static bool
writes_register_0f(uint8_t opcode)
{
    return (opcode & 0xf0) == 0x40 || opcode == 0x2c || opcode == 0x2d || opcode == 0x50 ||
           opcode == 0xaf || (opcode >= 0xb6 && opcode <= 0xbf && opcode != 0xba) ||
           opcode == 0xc1 || opcode == 0xd7;
}

/* Registers that an instruction writes, apart from what apply_move() follows. A register too many
 * is forgotten rather than one too few. */
static void
forget_written(struct machine *m)
{
    const struct unwind_x86_insn *insn = m->insn;
    unsigned opcode = insn->opcode, group = insn->reg & 7;
    if (insn->map == UNWIND_X86_0F && !insn->is_vex) {
        if (insn->has_modrm && writes_register_0f(insn->opcode))
            forget(m, insn->reg);
        if (insn->has_modrm && insn->mod == 3 && !writes_register_0f(insn->opcode))
            forget(m, insn->rm);
        return;
    }
    if (insn->map != UNWIND_X86_ONE || insn->is_vex || opcode == 0x89 || opcode == 0x8b ||
        opcode == 0x8d || (opcode >= 0xb8 && opcode <= 0xbf) || opcode == 0xc7)
        return;
    bool only_reads = (opcode >= 0x38 && opcode < 0x40) || opcode == 0x84 || opcode == 0x85 ||
                      (opcode >= 0x80 && opcode <= 0x83 && group == 7) ||
                      ((opcode & 0xfe) == 0xf6 && group < 2) || (opcode & 0xf8) == 0x50;
    if (only_reads)
        return;
    if (insn->has_modrm && insn->mod == 3)
        forget(m, insn->rm);
    /* The reg field of a group is not a register. */
    if (insn->has_modrm && (opcode < 0x80 || opcode == 0x86 || opcode == 0x87))
        forget(m, insn->reg);
    if ((opcode & 0xfe) == 0xf6 || !insn->has_modrm) {
        forget(m, 0);
        forget(m, 2);
    }
}

static void
apply_group_ff(struct machine *m, struct unwind_insn *ret)
{
    switch (m->insn->reg & 7) {
    case 2:
    case 3:
        ret->flow = UNWIND_FLOW_CALL;
        break;
    case 4:
    case 5:
        ret->flow = UNWIND_FLOW_INDIRECT;
        break;
    case 6:
        if (m->state)
            push(m, -1);
        break;
    default:
        break;
    }
}

/* What changes the frame, of the one-byte opcodes. */
static void
apply(struct machine *m)
{
    const struct unwind_x86_insn *insn = m->insn;
    unsigned opcode = insn->opcode, low = (opcode & 7u) | (insn->rex & 1u) << 3;
    struct unwind_state *state = m->state;
    bool sp_is_rm = insn->has_modrm && insn->mod == 3 && insn->rm == SP;
    if ((opcode & 0xf8) == 0x50) {
        push(m, dwarf_number(m, low));
    } else if ((opcode & 0xf8) == 0x58) {
        pop(m, dwarf_number(m, low));
    } else if (opcode == 0x68 || opcode == 0x6a || opcode == 0x9c) {
        push(m, -1);
    } else if (opcode == 0x8f || opcode == 0x9d) {
        pop(m, -1);
    } else if ((opcode == 0x81 || opcode == 0x83) && sp_is_rm) {
        add_to_sp(m, insn->reg & 7, insn->immediate);
    } else if ((opcode == 0x01 || opcode == 0x29) && sp_is_rm) {
        bool known = m->numbers->known >> insn->reg & 1;
        state->has_sp = state->has_sp && known;
        add_to_sp(m, opcode == 0x01 ? 0 : 5, known ? (int64_t)m->numbers->value[insn->reg] : 0);
    } else if (opcode == 0x89 || opcode == 0x8b || opcode == 0x8d) {
        apply_move(m);
    } else if (opcode == 0xc9) { /* LEAVE */
        set_pointer(m, SP, BP, 0);
        pop(m, dwarf_number(m, BP));
    } else if (opcode >= 0xb8 && opcode <= 0xbf) {
        forget(m, low);
        m->numbers->value[low] =
            insn->is_wide ? (uint64_t)insn->immediate : (uint32_t)insn->immediate;
        m->numbers->known |= m->numbers->value[low] <= INT32_MAX ? 1u << low : 0;
    } else if (opcode == 0xc7 && insn->mod == 3 && insn->immediate >= 0) {
        forget(m, insn->rm);
        m->numbers->value[insn->rm] = (uint64_t)insn->immediate;
        m->numbers->known |= 1u << insn->rm;
    }
}

static void
find_flow(struct machine *m, struct unwind_insn *ret)
{
    const struct unwind_x86_insn *insn = m->insn;
    uint8_t opcode = insn->opcode;
    ret->target = m->next + (uint64_t)insn->immediate;
    if (insn->map == UNWIND_X86_0F) {
        if ((opcode & 0xf0) == 0x80)
            ret->flow = UNWIND_FLOW_BRANCH;
        else if (opcode == 0x0b)
            ret->flow = UNWIND_FLOW_END; /* UD2 */
        return;
    }
    if (insn->map != UNWIND_X86_ONE)
        return;
    if ((opcode & 0xf0) == 0x70 || (opcode >= 0xe0 && opcode <= 0xe3))
        ret->flow = UNWIND_FLOW_BRANCH;
    else if (opcode == 0xe9 || opcode == 0xeb)
        ret->flow = UNWIND_FLOW_JUMP;
    else if ((opcode & 0xfe) == 0xc2 || (opcode & 0xfe) == 0xca || opcode == 0xcf || opcode == 0xf4)
        ret->flow = UNWIND_FLOW_END; /* RET, IRET, HLT */
    else if (opcode == 0xff)
        apply_group_ff(m, ret);
    /* A call to the next instruction reads the pc and leaves it on the stack. */
    else if (opcode == 0xe8 && insn->immediate != 0)
        ret->flow = UNWIND_FLOW_CALL;
    else if (opcode == 0xe8 && m->state)
        push(m, -1);
}

static void
decode(struct fz_span code, uint64_t at, struct machine *m, struct unwind_insn *ret)
{
    struct unwind_x86_insn insn;
    *ret = (struct unwind_insn){.flow = UNWIND_FLOW_BAD, .len = 1};
    if (!unwind_x86_decode(code, at, m->is_64, &insn))
        return;
    *ret = (struct unwind_insn){.len = insn.len};
    m->insn = &insn;
    m->next = at + insn.len;
    find_flow(m, ret);
    if (m->state && insn.map == UNWIND_X86_ONE && !insn.is_vex && ret->flow == UNWIND_FLOW_NEXT &&
        insn.opcode != 0xe8 && insn.opcode != 0xff)
        apply(m);
    if (m->state)
        forget_written(m);
    /* A call leaves only those that are saved for the caller. */
    for (unsigned i = 0; m->state && ret->flow == UNWIND_FLOW_CALL && i < 16; i++) {
        if (!is_callee_saved(m, dwarf_number(m, i)))
            forget(m, i);
    }
}

void
unwind_decode_x86_64(struct fz_span code, uint64_t at, struct unwind_state *state,
                     struct unwind_numbers *numbers, struct unwind_insn *ret)
{
    struct machine m = {.is_64 = true, .word = 8, .state = state, .numbers = numbers};
    decode(code, at, &m, ret);
}

void
unwind_decode_x86(struct fz_span code, uint64_t at, struct unwind_state *state,
                  struct unwind_numbers *numbers, struct unwind_insn *ret)
{
    struct machine m = {.word = 4, .state = state, .numbers = numbers};
    decode(code, at, &m, ret);
}
