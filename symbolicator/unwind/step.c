#include "symbolicator/unwind/step.h"

/* At any instruction: what the code itself does is exact, the tables are so only after a prologue. */
static const unwind_source_fn exact_sources[] = {
    unwind_nowhere,    unwind_code,     unwind_cfi_debug,  unwind_compact,
    unwind_cfi_binary, unwind_cfi_dsym, unwind_frame_base, unwind_record,
};

/* At a call the tables are right. The code is read if they lead nowhere: it also finds the CFA from
 * sp, which a damaged frame record cannot spoil. */
static const unwind_source_fn call_sources[] = {
    unwind_cfi_debug, unwind_compact, unwind_cfi_binary,
    unwind_cfi_dsym,  unwind_code,    unwind_record,
};

enum unwind_result
unwind_step_run(struct unwind_step *step, struct sym_unwind_frame *ret)
{
    const unwind_source_fn *sources = step->is_exact ? exact_sources : call_sources;
    size_t n = step->is_exact ? FZ_ARRAY_LEN(exact_sources) : FZ_ARRAY_LEN(call_sources);
    enum unwind_result first = UNWIND_NO_ROW;
    for (size_t i = 0; i < n; i++) {
        struct unwind_row row;
        if (!sources[i](step, &row))
            continue;
        if (sources[i] != unwind_code && sources[i] != unwind_frame_base)
            unwind_check_epilogue(step, &row);
        enum unwind_result result =
            unwind_row_apply(step->process, &row, step->lowest, step->frame, ret);
        if (result == UNWIND_OK || (result == UNWIND_BASE && first == UNWIND_NO_ROW))
            return result;
        if (first == UNWIND_NO_ROW)
            first = result;
    }
    return first;
}
