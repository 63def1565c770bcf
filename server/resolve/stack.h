/*
 * The stacks of a report: unwound where registers and memory were captured, and compared with the
 * frames that the client sent.
 *
 * Private to resolve. A report without captured memory is left as it is and costs nothing.
 */
#ifndef RESOLVE_STACK_H
#define RESOLVE_STACK_H

#include "server/report/report.h"
#include "symbolicator/unwind/unwind.h"

/* What is known of a thread that was unwound. */
struct resolve_stack {
    struct sym_unwind_chain chain; /* n 0: it was not */
    int *links;  /* for each frame of the report's thread which one of the chain it is, -1 = none */
    bool is_cut; /* the chain ends because the client captured a part of the stack alone */
};

struct resolve_stacks {
    struct sym_process *process;   /* NULL: no thread was unwound */
    struct resolve_stack *threads; /* as in the report */
    struct fz_arena scratch;       /* of the process, the chains and the links */
};

struct resolve_stacks resolve_stacks_make(void);
void resolve_stacks_deinit(struct resolve_stacks *stacks);

/*
 * Unwind every thread that has registers and memory, the crashed one first, and give it the better
 * chain: the longer one while both agree, the unwound one where the client repeats the link register
 * or skips the caller of a leaf. A note says where they differ. Frames that were unwound have their
 * trust and adjust.
 *
 * `files` is asked for the images that the stacks lead into. Errors: LIMIT, NO_MEMORY of `arena`;
 * when the scratch memory is used up, the threads that are left keep the frames that they have.
 */
FZ_MUST_CHECK enum fz_code resolve_stacks_unwind(struct resolve_stacks *stacks,
                                                 struct report *report, sym_process_files_fn files,
                                                 void *user, struct fz_arena *arena,
                                                 struct fz_error *err);

#endif
