#include "symbolicator/unwind/code.h"

#include "base/reader.h"

enum { FP = 29, LR = 30, SP = 31, CALLEE_SAVED_FIRST = 19 };

/* A load or store with its base register. */
struct access {
    bool is_load, is_vector, writes_back, is_post;
    unsigned rt, rt2; /* rt2 32: only one register */
    unsigned rn, size;
    int64_t offset;
};

static int64_t
sign_extend(uint32_t value, unsigned bits)
{
    uint64_t sign = UINT64_C(1) << (bits - 1);
    return (int64_t)(((uint64_t)value ^ sign) - sign);
}

/* STP, LDP, STNP, LDNP and the forms of STR, LDR, STUR, LDUR with an immediate ("Arm Architecture
 * Reference Manual for A-profile", C4.1.94, loads and stores). */
static bool
parse_access(uint32_t insn, struct access *ret)
{
    struct access a = {.rt = insn & 31, .rt2 = 32, .rn = insn >> 5 & 31};
    uint32_t top = insn >> 30;
    a.is_vector = insn >> 26 & 1;
    if ((insn & 0x3a000000) == 0x28000000) { /* pairs */
        uint32_t mode = insn >> 23 & 3;
        a.rt2 = insn >> 10 & 31;
        a.is_load = insn >> 22 & 1;
        a.size = a.is_vector ? 4u << top : top == 2 ? 8 : 4;
        a.offset = sign_extend(insn >> 15 & 0x7f, 7) * (int64_t)a.size;
        a.writes_back = mode == 1 || mode == 3;
        a.is_post = mode == 1;
        *ret = a;
        return top != 3;
    }
    if ((insn & 0x3a000000) != 0x38000000)
        return false;
    uint32_t opc = insn >> 22 & 3;
    bool is_quad = a.is_vector && top == 0 && opc >= 2;
    a.size = is_quad ? 16 : 1u << top;
    a.is_load = opc & 1 || (!a.is_vector && opc == 2);
    if (insn >> 24 & 1) {
        a.offset = (int64_t)(insn >> 10 & 0xfff) * a.size;
    } else if (insn >> 21 & 1) {
        return false; /* a register as offset, or an atomic operation */
    } else {
        uint32_t mode = insn >> 10 & 3;
        if (mode == 2)
            return false;
        a.offset = sign_extend(insn >> 12 & 0x1ff, 9);
        a.writes_back = mode == 1 || mode == 3;
        a.is_post = mode == 1;
    }
    *ret = a;
    return true;
}

/* How far below the CFA `offset` from a base register is; false if that is not known. */
static bool
find_below(const struct unwind_state *state, unsigned rn, int64_t offset, int64_t *ret)
{
    if (rn == SP && state->has_sp)
        *ret = state->sp - offset;
    else if (rn == FP && state->has_fp)
        *ret = state->fp - offset;
    else if (rn < FP && state->has_copy >> rn & 1)
        *ret = state->copies[rn] - offset;
    else
        return false;
    return true;
}

static void
access_one(struct unwind_state *state, const struct access *a, unsigned rt, int64_t below)
{
    int32_t *saved = a->is_vector ? state->saved_vectors : state->saved;
    int number = a->size < 8 ? -1 : rt == SP && !a->is_vector ? -1 : (int)rt;
    if (!a->is_vector && rt < CALLEE_SAVED_FIRST)
        number = -1;
    if (a->is_load) {
        unwind_state_load(saved, number, below);
        if (!a->is_vector && rt == FP && saved[FP] == UNWIND_IN_PLACE)
            state->has_fp = false;
        return;
    }
    if (number < 0 || saved[number] != UNWIND_IN_PLACE)
        unwind_state_overwrite(state, below, a->size);
    else
        unwind_state_store(saved, number, below);
}

static void
apply_access(struct unwind_state *state, const struct access *a)
{
    int64_t below;
    if (find_below(state, a->rn, a->is_post ? 0 : a->offset, &below)) {
        access_one(state, a, a->rt, below);
        if (a->rt2 != 32)
            access_one(state, a, a->rt2, below - (int64_t)a->size);
    }
    if (a->writes_back && a->rn == SP)
        state->sp -= a->offset;
}

/* ADD and SUB of an immediate, where sp or fp is involved. */
static void
add_immediate(struct unwind_state *state, uint32_t insn)
{
    unsigned rd = insn & 31, rn = insn >> 5 & 31;
    int64_t value = (int64_t)(insn >> 10 & 0xfff) << (insn >> 22 & 1 ? 12 : 0), below = 0;
    if (insn >> 29 & 1)
        return; /* the variants that set flags write no sp */
    if (insn >> 30 & 1)
        value = -value;
    bool known = find_below(state, rn, value, &below);
    if (rd == SP) {
        state->has_sp = known;
        state->sp = known ? below : 0;
    } else if (rd != FP) {
        unwind_state_copy(state, rd, known, below);
    } else {
        state->has_fp = known;
        state->fp = known ? below : 0;
    }
}

/* ADD and SUB of a register to sp. */
static void
add_register(struct unwind_state *state, const struct unwind_numbers *numbers, uint32_t insn)
{
    unsigned rm = insn >> 16 & 31, extend = insn >> 13 & 7, shift = insn >> 10 & 7;
    if ((insn & 31) != SP || insn >> 29 & 1)
        return;
    if ((insn >> 5 & 31) != SP || !(numbers->known >> rm & 1) || (extend != 3 && extend != 2) ||
        shift > 4) {
        state->has_sp = false;
        return;
    }
    uint64_t value = extend == 2 ? (uint32_t)numbers->value[rm] : numbers->value[rm];
    if (value > INT32_MAX)
        state->has_sp = false;
    else
        state->sp += (insn >> 30 & 1 ? 1 : -1) * (int64_t)(value << shift);
}

/* MOVN, MOVZ, MOVK. */
static void
move_wide(struct unwind_numbers *numbers, uint32_t insn)
{
    unsigned rd = insn & 31, shift = (insn >> 21 & 3) * 16, opc = insn >> 29 & 3;
    uint64_t value = (uint64_t)(insn >> 5 & 0xffff) << shift;
    if (opc == 3)
        value |= numbers->value[rd] & ~(UINT64_C(0xffff) << shift);
    else
        numbers->known |= 1u << rd;
    if (opc == 0)
        value = ~value;
    if (!(insn >> 31))
        value = (uint32_t)value;
    numbers->value[rd] = value;
}

static void
forget(struct unwind_state *state, struct unwind_numbers *numbers, unsigned number)
{
    numbers->known &= ~(1u << number);
    state->has_copy &= ~(1u << number);
}

static void
apply(uint32_t insn, struct unwind_state *state, struct unwind_numbers *numbers)
{
    struct access access;
    if (parse_access(insn, &access)) {
        apply_access(state, &access);
        if (access.is_load && !access.is_vector)
            forget(state, numbers, access.rt);
        if (access.is_load && !access.is_vector && access.rt2 != 32)
            forget(state, numbers, access.rt2);
        return;
    }
    if ((insn & 0x1f800000) == 0x12800000) {
        move_wide(numbers, insn);
        state->has_copy &= ~(1u << (insn & 31));
        return;
    }
    if ((insn & 0x1f800000) == 0x11000000) {
        add_immediate(state, insn);
        numbers->known &= ~(1u << (insn & 31));
        return;
    }
    if ((insn & 0x9fe00000) == 0x8b200000)
        add_register(state, numbers, insn);
    else if ((insn & 0xff80001f) == 0x9200001f)
        state->has_sp = false; /* AND into sp aligns it */
    /* What else an instruction writes is in its low bits, or it writes nothing of interest. */
    forget(state, numbers, insn & 31);
}

static void
call(struct unwind_state *state)
{
    /* The callee returns here: lr is no longer the caller's. */
    if (state && state->saved[LR] == UNWIND_IN_PLACE)
        state->saved[LR] = UNWIND_LOST;
    if (state)
        state->has_copy &= ~((1u << CALLEE_SAVED_FIRST) - 1);
}

void
unwind_decode_arm64(struct fz_span code, uint64_t at, struct unwind_state *state,
                    struct unwind_numbers *numbers, struct unwind_insn *ret)
{
    struct fz_reader r = fz_reader_make(code, "code");
    fz_read_seek(&r, at);
    uint32_t insn = fz_read_u32(&r);
    *ret = (struct unwind_insn){.len = 4};
    if (r.failed) {
        ret->flow = UNWIND_FLOW_BAD;
    } else if ((insn & 0x7c000000) == 0x14000000) { /* B, BL */
        bool is_call = insn >> 31;
        ret->flow = is_call ? UNWIND_FLOW_CALL : UNWIND_FLOW_JUMP;
        ret->target = at + (uint64_t)(sign_extend(insn & 0x3ffffff, 26) * 4);
        if (is_call)
            call(state);
    } else if ((insn & 0xff000000) == 0x54000000 || (insn & 0x7e000000) == 0x34000000) {
        ret->flow = UNWIND_FLOW_BRANCH; /* B.cond, CBZ, CBNZ */
        ret->target = at + (uint64_t)(sign_extend(insn >> 5 & 0x7ffff, 19) * 4);
    } else if ((insn & 0x7e000000) == 0x36000000) {
        ret->flow = UNWIND_FLOW_BRANCH; /* TBZ, TBNZ */
        ret->target = at + (uint64_t)(sign_extend(insn >> 5 & 0x3fff, 14) * 4);
    } else if ((insn & 0xfe000000) == 0xd6000000) { /* by register, with or without PAC */
        uint32_t kind = insn >> 21 & 7;
        ret->flow = kind == 0   ? UNWIND_FLOW_INDIRECT
                    : kind == 1 ? UNWIND_FLOW_CALL
                                : UNWIND_FLOW_END;
        if (kind == 1)
            call(state);
    } else if ((insn & 0xffe0001f) == 0xd4200000 || insn >> 16 == 0) {
        ret->flow = UNWIND_FLOW_END; /* BRK, UDF */
    } else if (state) {
        apply(insn, state, numbers);
    }
}
