/*
 * The first frame without unwind information: what the registers say about a function of which
 * only its place and its DW_AT_frame_base are known.
 *
 * On ARM a call sets lr to an address of the calling function. So as long as lr leads outside of
 * the function, it has called nothing yet or is in its epilogue, and lr is the return address. If
 * the record at fp has the same address, it is the function's own; else fp is still the caller's.
 * After a call lr leads into the function itself, and the record at fp is the function's own.
 *
 * The tables of compilers are often wrong in epilogues, so their rows are checked in the same way.
 *
 * On x86 a function with a frame record begins with `push rbp; mov rbp, rsp`, 1 and 3 bytes.
 */
#include "symbolicator/unwind/frame_base.h"
#include "symbolicator/unwind/step.h"

/* An address this near may be in the same function, where that is not known. Stubs of system calls
 * and their callers of one image are farther apart (mach_msg of iOS 14: 3 KiB). */
enum { NEAR = 2048, PUSH_END = 1, MOVE_END_32 = 3, MOVE_END_64 = 4, FRAME_WORDS_MAX = 8192 };

struct view {
    struct unwind_step *step;
    int fp, sp;
    int64_t word;
    struct unwind_base base;
};

/* The function has not begun: everything is the caller's. */
static bool
make_entry(const struct view *v, int64_t pushed, struct unwind_row *ret)
{
    bool has_lr = fz_arch_register_of_role(v->step->cpu, FZ_REGISTER_LR) >= 0;
    unwind_row_init(ret, v->step->cpu, SYM_TRUST_LINK_REGISTER);
    ret->cfa = (struct unwind_rule){
        .where = UNWIND_IS, .reg = v->sp, .offset = has_lr ? 0 : v->word + pushed};
    ret->pc = (struct unwind_rule){.where = has_lr ? UNWIND_SAME : UNWIND_AT, .offset = -v->word};
    if (pushed)
        ret->registers[v->fp] = (struct unwind_rule){.where = UNWIND_AT, .offset = -2 * v->word};
    return true;
}

/* lr is the return address and fp the caller's; how far sp has moved is not known. */
static bool
make_leaf(const struct view *v, struct unwind_row *ret)
{
    unwind_row_init_unknown(ret, SYM_TRUST_LINK_REGISTER);
    ret->pc.where = UNWIND_SAME;
    ret->registers[v->fp].where = UNWIND_SAME;
    return true;
}

static bool
is_in_function(const struct view *v, uint64_t addr)
{
    struct unwind_step *step = v->step;
    uint64_t file_addr;
    if (sym_process_image_at(step->process, addr) != step->frame->image)
        return false;
    if (!step->has_function)
        return addr - step->frame->pc < NEAR || step->frame->pc - addr < NEAR;
    return sym_process_to_file(step->process, step->frame->image, addr - 1, &file_addr) &&
           file_addr >= step->function.start && file_addr < step->function.end;
}

/* Has the record at fp the address that is in lr? */
static bool
has_own_record(const struct view *v, uint64_t lr)
{
    uint64_t fp, saved;
    return sym_registers_get(&v->step->frame->registers, v->fp, &fp) &&
           sym_process_read_uint(v->step->process, fp + (uint64_t)v->word, (unsigned)v->word,
                                 &saved) &&
           sym_process_code(v->step->process, saved, &saved) && saved == lr;
}

/* RET is last in most functions, and so is a tail call: all is given back by then. */
static bool
is_last_arm64(const struct view *v)
{
    return v->step->cpu == FZ_CPU_ARM64 && v->base.kind != UNWIND_BASE_NONE &&
           v->step->addr + 4 == v->base.high;
}

/* Is the record at fp the function's own, where its caller is the same function? Then frames are of
 * one size, and fp is as far from sp as the caller's record is from this one, less a record. */
static bool
is_own_of_recursive(const struct view *v, uint64_t lr)
{
    uint64_t fp, sp, next;
    return has_own_record(v, lr) && sym_registers_get(&v->step->frame->registers, v->fp, &fp) &&
           sym_registers_get(&v->step->frame->registers, v->sp, &sp) &&
           sym_process_read_uint(v->step->process, fp, (unsigned)v->word, &next) &&
           next - fp == fp - sp + 2 * (uint64_t)v->word;
}

/* In an epilogue fp and lr are loaded from the function's record before sp is above it: then a record
 * at or above sp still has the very values of both. */
static bool
has_left_record(const struct view *v)
{
    const struct sym_registers *registers = &v->step->frame->registers;
    int lr_number = fz_arch_register_of_role(v->step->cpu, FZ_REGISTER_LR);
    uint64_t fp, sp, lr, saved_fp, saved_lr = 0;
    unsigned word = (unsigned)v->word;
    if (!sym_registers_get(registers, v->fp, &fp) || !sym_registers_get(registers, v->sp, &sp) ||
        !sym_registers_get(registers, lr_number, &lr))
        return false;
    for (unsigned i = 0; i < FRAME_WORDS_MAX && fp > sp + word; i++, sp += word) {
        if (!sym_process_read_uint(v->step->process, sp, word, &saved_fp))
            return false;
        if (saved_fp == fp && sym_process_read_uint(v->step->process, sp + word, word, &saved_lr) &&
            saved_lr == lr)
            return true;
    }
    return false;
}

/* lr leads into the function itself: it called another one, or itself. Its prologue calls nothing,
 * so there lr is the return address of a recursive call. */
static bool
find_recursive(const struct view *v, uint64_t lr, struct unwind_row *ret)
{
    uint64_t end;
    if (is_last_arm64(v))
        return make_entry(v, 0, ret);
    if (has_left_record(v))
        return make_leaf(v, ret);
    return v->base.kind == UNWIND_BASE_FP && v->step->addr > v->base.low &&
           unwind_base_prologue_end(v->step->image, v->base.low, &end) && v->step->addr < end &&
           !is_own_of_recursive(v, lr) && make_leaf(v, ret);
}

static bool
find_arm(const struct view *v, struct unwind_row *ret)
{
    const struct sym_registers *registers = &v->step->frame->registers;
    int number = fz_arch_register_of_role(v->step->cpu, FZ_REGISTER_LR);
    uint64_t lr;
    if (!sym_registers_get(registers, number, &lr) || !sym_process_code(v->step->process, lr, &lr))
        return false;
    if (v->base.kind == UNWIND_BASE_SP)
        return make_leaf(v, ret);
    if (is_in_function(v, lr))
        return find_recursive(v, lr, ret);
    if (!has_own_record(v, lr))
        return make_leaf(v, ret);
    unwind_row_init_record(ret, v->step->cpu);
    return true;
}

static bool
find_x86(const struct view *v, struct unwind_row *ret)
{
    struct unwind_step *step = v->step;
    uint64_t sp, top;
    if (v->base.kind == UNWIND_BASE_FP) {
        uint64_t done = step->addr - v->base.low;
        if (done >= PUSH_END && done < (v->word == 8 ? MOVE_END_64 : MOVE_END_32))
            return make_entry(v, v->word, ret);
        /* Only RET is one byte and last. */
        return step->addr + 1 == v->base.high && make_entry(v, 0, ret);
    }
    /* The stubs of system calls push nothing and are called from other images. */
    return !step->has_function && sym_registers_get(&step->frame->registers, v->sp, &sp) &&
           sym_process_read_uint(step->process, sp, (unsigned)v->word, &top) &&
           sym_process_code(step->process, top, &top) &&
           sym_process_image_at(step->process, top) != step->frame->image && make_entry(v, 0, ret);
}

static struct view
view_of(struct unwind_step *step)
{
    struct view v = {.step = step,
                     .fp = fz_arch_register_of_role(step->cpu, FZ_REGISTER_FP),
                     .sp = fz_arch_register_of_role(step->cpu, FZ_REGISTER_SP),
                     .word = unwind_slot_size(step->cpu)};
    if (step->image)
        v.base = unwind_base_find(step->image, step->cpu, step->addr);
    return v;
}

bool
unwind_frame_base(struct unwind_step *step, struct unwind_row *ret)
{
    if (step->cpu == FZ_CPU_UNKNOWN || step->frame->image < 0)
        return false;
    struct view v = view_of(step);
    if (step->has_function && step->addr == step->function.start)
        return make_entry(&v, 0, ret);
    return step->cpu == FZ_CPU_ARM64 || step->cpu == FZ_CPU_ARM ? find_arm(&v, ret)
                                                                : find_x86(&v, ret);
}

/* A row that says "nothing has happened yet". Tables of armv7 have no instructions at all, and many
 * others describe a prologue only from its end on: until then sp moves unnoticed. */
static bool
check_entry_row(const struct view *v, bool has_lr, uint64_t lr, struct unwind_row *row)
{
    if (v->base.kind == UNWIND_BASE_SP || v->step->addr == v->step->function.start)
        return true;
    /* Where a table has instructions, lr is right in a prologue, of a recursive call too. */
    if (!has_lr || (v->step->cpu == FZ_CPU_ARM && is_in_function(v, lr)))
        return false;
    if (has_own_record(v, lr))
        unwind_row_init_record(row, v->step->cpu);
    else
        (void)make_leaf(v, row);
    return true;
}

static bool
check_arm(const struct view *v, struct unwind_row *row)
{
    struct unwind_step *step = v->step;
    const struct sym_registers *registers = &step->frame->registers;
    uint64_t base, lr = 0, saved;
    bool has_lr =
        sym_registers_get(registers, fz_arch_register_of_role(step->cpu, FZ_REGISTER_LR), &lr) &&
        sym_process_code(step->process, lr, &lr);
    if (row->pc.where == UNWIND_SAME && is_last_arm64(v))
        return make_entry(v, 0, row);
    if (row->pc.where == UNWIND_SAME && row->cfa.reg == v->sp && row->cfa.offset == 0)
        return check_entry_row(v, has_lr, lr, row);
    if (row->pc.where != UNWIND_AT || row->cfa.where != UNWIND_IS || !has_lr ||
        !sym_registers_get(registers, row->cfa.reg, &base))
        return true;
    bool is_last = is_last_arm64(v);
    if (is_in_function(v, lr)) {
        struct unwind_row other;
        if (find_recursive(v, lr, &other))
            *row = other;
        return true;
    }
    uint64_t place = base + (uint64_t)row->cfa.offset + (uint64_t)row->pc.offset;
    if (sym_process_read_uint(step->process, place, (unsigned)v->word, &saved) &&
        sym_process_code(step->process, saved, &saved) && saved == lr)
        return true;
    return is_last ? make_entry(v, 0, row) : make_leaf(v, row);
}

/* Code of x86 pushes registers one by one, and pops them: what would be saved below sp is still, or
 * again, in its register. */
static void
check_pushed(const struct view *v, struct unwind_row *row)
{
    const struct sym_registers *registers = &v->step->frame->registers;
    uint64_t base, sp;
    if (row->cfa.where != UNWIND_IS || !sym_registers_get(registers, row->cfa.reg, &base) ||
        !sym_registers_get(registers, v->sp, &sp))
        return;
    for (int i = 0; i < FZ_REGISTER_NUMBERS; i++) {
        struct unwind_rule *rule = &row->registers[i];
        uint64_t place = base + (uint64_t)row->cfa.offset + (uint64_t)rule->offset;
        if (rule->where == UNWIND_AT && place < sp)
            rule->where = UNWIND_SAME;
    }
}

bool
unwind_check_row(struct unwind_step *step, struct unwind_row *row)
{
    if (!step->is_exact || !step->has_function || row->trust == SYM_TRUST_LINK_REGISTER)
        return true;
    struct view v = view_of(step);
    /* Compact unwind information describes no prologue, not even where it begins. */
    if (row->trust == SYM_TRUST_COMPACT && step->addr == step->function.start)
        return make_entry(&v, 0, row);
    if (step->cpu == FZ_CPU_ARM64 || step->cpu == FZ_CPU_ARM)
        return check_arm(&v, row);
    struct unwind_row other;
    if (row->trust == SYM_TRUST_COMPACT && v.base.kind == UNWIND_BASE_FP && find_x86(&v, &other))
        *row = other;
    else if (v.base.kind != UNWIND_BASE_NONE && step->addr + 1 == v.base.high)
        return make_entry(&v, 0, row);
    else if (row->trust == SYM_TRUST_COMPACT)
        check_pushed(&v, row);
    return true;
}
