/*
 * Symbols for images that have a name but no UUID, as in plain stacks: which of the user's files
 * may be meant.
 *
 * Pure: files and report are borrowed.
 */
#ifndef CLI_USER_SYMBOLS_NAMED_H
#define CLI_USER_SYMBOLS_NAMED_H

#include "base/buffer.h"
#include "server/report/report.h"
#include "symbolicator/symbolicator.h"

enum { USER_SYMBOLS_NAMED_MAX = 32 };

struct user_symbols_named {
    const struct sym_file_slice *slices[USER_SYMBOLS_NAMED_MAX]; /* one of each UUID */
    size_t n;
};

/* The slices whose file has the image's name. */
struct user_symbols_named user_symbols_named_find(struct sym_file *const *files, size_t n_files,
                                                  const struct report_image *image);

/* Keep the slices of this architecture: the very one if there is one, else those of its family. An
 * unknown one and NULL keep all. */
void user_symbols_named_keep_arch(struct user_symbols_named *named, const char *arch);

/*
 * While there are several, drop those that cannot hold the frames of image `number`: by the width
 * of the addresses, their alignment, and the size of the code. A test that would drop all of them
 * drops none.
 */
void user_symbols_named_keep_fitting(struct user_symbols_named *named, const struct report *report,
                                     size_t number);

/* The frames of image `number` one after another; `may_be_exact` for the newest of a thread. False
 * from fn ends the walk and is returned. */
typedef bool (*user_symbols_named_frame_fn)(void *user, const struct report_frame *frame,
                                            bool may_be_exact);
bool user_symbols_named_each(const struct report *report, size_t number,
                             user_symbols_named_frame_fn fn, void *user);

/* "2 symbol files have that name: armv7 UUID ..., arm64 UUID ..." and `end`, or with NULL what the
 * user can do to choose one; nothing for none. */
void user_symbols_named_write(const struct user_symbols_named *named, const char *end,
                              struct fz_buffer *out);

#endif
