/*
 * The first frame without unwind information: what the registers tell about a function of which
 * only its place and its DW_AT_frame_base are known.
 *
 * On ARM a call sets lr to an address of the calling function. So as long as lr leads outside of
 * the function, it has called nothing yet or is in its epilogue, and lr is the return address. If
 * the record at fp has the same address, it is the function's own; else fp is still the caller's.
 * After a call lr leads into the function itself, and the record at fp is the function's own.
 *
 * On x86 a function with a frame record begins with `push rbp; mov rbp, rsp`, 1 and 3 bytes.
 */
#include "symbolicator/unwind/frame_base.h"
#include "symbolicator/unwind/step.h"

/* An address this near may be in the same function, where that is not known. */
enum { NEAR = 4096, PUSH_END = 1, MOVE_END_32 = 3, MOVE_END_64 = 4 };

struct view {
    struct unwind_step *step;
    int fp, sp;
    int64_t word;
    enum unwind_base base;
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

static bool
find_arm(const struct view *v, struct unwind_row *ret)
{
    const struct sym_registers *registers = &v->step->frame->registers;
    int number = fz_arch_register_of_role(v->step->cpu, FZ_REGISTER_LR);
    uint64_t lr, fp, saved;
    if (!sym_registers_get(registers, number, &lr) || !sym_process_code(v->step->process, lr, &lr))
        return false;
    if (v->base == UNWIND_BASE_SP)
        return make_leaf(v, ret);
    if (is_in_function(v, lr))
        return false;
    bool has_record = sym_registers_get(registers, v->fp, &fp) &&
                      sym_process_read_uint(v->step->process, fp + (uint64_t)v->word,
                                            (unsigned)v->word, &saved) &&
                      sym_process_code(v->step->process, saved, &saved) && saved == lr;
    return has_record ? unwind_record(v->step, ret) : make_leaf(v, ret);
}

static bool
find_x86(const struct view *v, struct unwind_row *ret)
{
    struct unwind_step *step = v->step;
    uint64_t sp, top;
    if (v->base == UNWIND_BASE_FP && step->has_function) {
        uint64_t done = step->addr - step->function.start;
        if (done < (v->word == 8 ? MOVE_END_64 : MOVE_END_32))
            return done >= PUSH_END && make_entry(v, v->word, ret);
        return false;
    }
    if (!sym_registers_get(&step->frame->registers, v->sp, &sp) ||
        !sym_process_read_uint(step->process, sp, (unsigned)v->word, &top) ||
        !sym_process_code(step->process, top, &top))
        return false;
    /* A function without a record that has pushed nothing; without its DWARF only an address of
     * another image is taken for one, as stubs of system calls have it. */
    return (v->base == UNWIND_BASE_SP ||
            (!step->has_function &&
             sym_process_image_at(step->process, top) != step->frame->image)) &&
           make_entry(v, 0, ret);
}

bool
unwind_frame_base(struct unwind_step *step, struct unwind_row *ret)
{
    struct view v = {.step = step,
                     .fp = fz_arch_register_of_role(step->cpu, FZ_REGISTER_FP),
                     .sp = fz_arch_register_of_role(step->cpu, FZ_REGISTER_SP),
                     .word = unwind_slot_size(step->cpu)};
    if (step->cpu == FZ_CPU_UNKNOWN || step->frame->image < 0)
        return false;
    if (step->has_function && step->addr == step->function.start)
        return make_entry(&v, 0, ret);
    v.base = step->image ? unwind_base_find(step->image, step->cpu, step->addr) : UNWIND_BASE_NONE;
    return step->cpu == FZ_CPU_ARM64 || step->cpu == FZ_CPU_ARM ? find_arm(&v, ret)
                                                                : find_x86(&v, ret);
}
