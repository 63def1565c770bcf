#include "symbolicator/unwind/expression.h"

#include "base/reader.h"
#include "symbolicator/dwarf/operations.h"

enum { STACK_MAX = 64, STEPS_MAX = 512 };

struct machine {
    struct sym_process *process;
    const struct sym_registers *registers;
    struct fz_reader r;
    uint64_t stack[STACK_MAX];
    size_t n;
    bool failed;
};

static uint64_t
fail(struct machine *m)
{
    m->failed = true;
    return 0;
}

static void
push(struct machine *m, uint64_t value)
{
    if (m->n < STACK_MAX)
        m->stack[m->n++] = value;
    else
        fail(m);
}

static uint64_t
pop(struct machine *m)
{
    return m->n > 0 ? m->stack[--m->n] : fail(m);
}

static uint64_t
peek(struct machine *m, size_t depth)
{
    return depth < m->n ? m->stack[m->n - 1 - depth] : fail(m);
}

static void
push_memory(struct machine *m, uint64_t addr, unsigned size)
{
    uint64_t value;
    if (sym_process_read_uint(m->process, addr, size, &value))
        push(m, value);
    else
        fail(m);
}

static void
push_register(struct machine *m, uint64_t number, int64_t offset)
{
    uint64_t value;
    if (number < FZ_REGISTER_NUMBERS && sym_registers_get(m->registers, (int)number, &value))
        push(m, value + (uint64_t)offset);
    else
        fail(m);
}

static void
jump(struct machine *m, int16_t by)
{
    int64_t to = (int64_t)m->r.pos + by;
    if (to < 0 || (uint64_t)to > m->r.len)
        fail(m);
    else
        fz_read_seek(&m->r, (uint64_t)to);
}

/* An operation on the two topmost values; `b` was on top. */
static uint64_t
binary(struct machine *m, unsigned op, uint64_t a, uint64_t b)
{
    int64_t x = (int64_t)a, y = (int64_t)b;
    switch (op) {
    case OP_AND:
        return a & b;
    case OP_DIV:
        return y == 0 || (x == INT64_MIN && y == -1) ? fail(m) : (uint64_t)(x / y);
    case OP_MINUS:
        return a - b;
    case OP_MOD:
        return b == 0 ? fail(m) : a % b;
    case OP_MUL:
        return a * b;
    case OP_OR:
        return a | b;
    case OP_PLUS:
        return a + b;
    case OP_SHL:
        return b < 64 ? a << b : 0;
    case OP_SHR:
        return b < 64 ? a >> b : 0;
    case OP_SHRA:
        return (uint64_t)(x >> (b < 63 ? b : 63));
    case OP_XOR:
        return a ^ b;
    case OP_EQ:
        return x == y;
    case OP_GE:
        return x >= y;
    case OP_GT:
        return x > y;
    case OP_LE:
        return x <= y;
    case OP_LT:
        return x < y;
    case OP_NE:
        return x != y;
    default:
        return fail(m);
    }
}

static void
stack_operation(struct machine *m, unsigned op)
{
    uint64_t a;
    switch (op) {
    case OP_DUP:
        push(m, peek(m, 0));
        break;
    case OP_DROP:
        pop(m);
        break;
    case OP_OVER:
        push(m, peek(m, 1));
        break;
    case OP_PICK:
        push(m, peek(m, fz_read_u8(&m->r)));
        break;
    case OP_SWAP:
        a = peek(m, 1);
        if (!m->failed) {
            m->stack[m->n - 2] = m->stack[m->n - 1];
            m->stack[m->n - 1] = a;
        }
        break;
    case OP_ROT:
        a = peek(m, 0);
        if (peek(m, 2), !m->failed) {
            m->stack[m->n - 1] = m->stack[m->n - 2];
            m->stack[m->n - 2] = m->stack[m->n - 3];
            m->stack[m->n - 3] = a;
        }
        break;
    default:
        fail(m);
    }
}

/* Numbers in the expression itself. */
static uint64_t
constant(struct machine *m, unsigned op)
{
    struct fz_reader *r = &m->r;
    switch (op) {
    case OP_ADDR:
        return fz_read_uint(r, sym_process_pointer_size(m->process));
    case OP_CONST1U:
        return fz_read_u8(r);
    case OP_CONST1S:
        return (uint64_t)(int8_t)fz_read_u8(r);
    case OP_CONST2U:
        return fz_read_u16(r);
    case OP_CONST2S:
        return (uint64_t)(int16_t)fz_read_u16(r);
    case OP_CONST4U:
        return fz_read_u32(r);
    case OP_CONST4S:
        return (uint64_t)(int32_t)fz_read_u32(r);
    case OP_CONST8U:
    case OP_CONST8S:
        return fz_read_u64(r);
    case OP_CONSTU:
        return fz_read_uleb(r);
    default:
        return (uint64_t)fz_read_sleb(r);
    }
}

static void
unary(struct machine *m, unsigned op)
{
    uint64_t a = pop(m);
    if (op == OP_DEREF)
        push_memory(m, a, sym_process_pointer_size(m->process));
    else if (op == OP_DEREF_SIZE)
        push_memory(m, a, fz_read_u8(&m->r));
    else if (op == OP_ABS)
        push(m, (int64_t)a < 0 ? 0 - a : a);
    else if (op == OP_NEG)
        push(m, 0 - a);
    else if (op == OP_NOT)
        push(m, ~a);
    else
        push(m, a + fz_read_uleb(&m->r));
}

static void
step(struct machine *m)
{
    unsigned op = fz_read_u8(&m->r);
    if (op == OP_ADDR || (op >= OP_CONST1U && op <= OP_CONSTS)) {
        push(m, constant(m, op));
    } else if (op >= OP_DUP && op <= OP_ROT) {
        stack_operation(m, op);
    } else if (op == OP_DEREF || op == OP_DEREF_SIZE || op == OP_ABS || op == OP_NEG ||
               op == OP_NOT || op == OP_PLUS_UCONST) {
        unary(m, op);
    } else if (op == OP_SKIP || op == OP_BRA) {
        int16_t by = (int16_t)fz_read_u16(&m->r);
        if (op == OP_SKIP || pop(m) != 0)
            jump(m, by);
    } else if (op >= OP_AND && op <= OP_NE) {
        uint64_t b = pop(m), a = pop(m);
        push(m, binary(m, op, a, b));
    } else if (op >= OP_LIT0 && op < OP_LIT0 + 32) {
        push(m, op - OP_LIT0);
    } else if (op >= OP_BREG0 && op < OP_BREG0 + 32) {
        push_register(m, op - OP_BREG0, fz_read_sleb(&m->r));
    } else if (op == OP_BREGX) {
        uint64_t number = fz_read_uleb(&m->r);
        push_register(m, number, fz_read_sleb(&m->r));
    } else if (op != OP_NOP) {
        fail(m);
    }
}

bool
unwind_evaluate(struct sym_process *process, const struct sym_registers *registers,
                struct fz_span expr, const uint64_t *first, uint64_t *ret)
{
    struct machine m = {
        .process = process, .registers = registers, .r = fz_reader_make(expr, "expression")};
    if (first)
        push(&m, *first);
    for (unsigned steps = 0; !m.failed && fz_read_left(&m.r) > 0; steps++) {
        if (steps == STEPS_MAX)
            return false;
        step(&m);
        m.failed = m.failed || m.r.failed;
    }
    uint64_t value = pop(&m);
    if (m.failed)
        return false;
    *ret = value;
    return true;
}
