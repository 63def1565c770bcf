/*
 * The names at one address of an index as symbols of the report model.
 *
 * Private to resolve. All memory is in the arena.
 */
#ifndef RESOLVE_SYMBOLS_H
#define RESOLVE_SYMBOLS_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "server/report/report.h"
#include "server/resolve/resolve.h"
#include "symbolicator/symbolicator.h"

struct resolve_names {
    const struct resolve_options *options; /* may be NULL */
    struct fz_arena *arena;
    struct fz_buffer text; /* scratch for demangled names */
    struct sym_frame frames[SYM_FRAMES_MAX];
};

void resolve_names_init(struct resolve_names *names, const struct resolve_options *options,
                        struct fz_arena *arena);
void resolve_names_deinit(struct resolve_names *names);

/*
 * Fill frame->symbols with what `index` says about `addr` (of the symbol file). No
 * name there leaves the frame without symbols and is not an error. Errors: LIMIT, NO_MEMORY.
 */
FZ_MUST_CHECK enum fz_code resolve_names_at(struct resolve_names *names,
                                            const struct sym_index *index, uint64_t addr,
                                            struct report_frame *frame, struct fz_error *err);

/*
 * The caller says that it called `target`: if that is one of the names that the linker folded at
 * `addr`, it becomes the function of the frame and the one before goes to the others. The frame has
 * symbols from the same index and address. Errors: LIMIT, NO_MEMORY.
 */
FZ_MUST_CHECK enum fz_code resolve_names_called(struct resolve_names *names,
                                                const struct sym_index *index, uint64_t addr,
                                                const char *target, struct report_frame *frame,
                                                struct fz_error *err);

/* The name that the client had itself as the only symbol of the frame. */
FZ_MUST_CHECK enum fz_code resolve_names_client(struct resolve_names *names,
                                                struct report_frame *frame, struct fz_error *err);

/* A name that another report gave, for a function that starts at the image's offset `start`, as the
 * only symbol of the frame. */
FZ_MUST_CHECK enum fz_code resolve_names_found(struct resolve_names *names, const char *name,
                                               uint64_t start, struct report_frame *frame,
                                               struct fz_error *err);

#endif
