/*
 * What the unwinder keeps of one image: its functions, its code, its open call frame information.
 *
 * Everything is opened when it is first needed and ends with the process. Addresses are those of
 * the files, not of the process.
 */
#ifndef UNWIND_IMAGE_H
#define UNWIND_IMAGE_H

#include "symbolicator/process/process.h"

struct libdwarf_frames;

/* Call frame information, in the order of its value. */
enum unwind_cfi { UNWIND_CFI_DEBUG, UNWIND_CFI_BINARY_EH, UNWIND_CFI_DSYM_EH, UNWIND_CFIS };

struct unwind_function {
    uint64_t start, end;
};

struct unwind_image {
    const struct sym_process_files *files;
    struct fz_arena arena;
    uint64_t *starts; /* of functions, ascending; only if there is no index */
    size_t n_starts;
    bool has_starts;
    struct libdwarf_frames *cfi[UNWIND_CFIS];
    bool has_opened[UNWIND_CFIS];
    void *bases; /* frame_base.c's */
    void (*close_bases)(void *bases);
};

/* NULL: the image has no files, or there is no memory. */
struct unwind_image *unwind_image_get(struct sym_process *process, int number);

/* The function that covers an address, as the index, the symbol table or the function starts have
 * it. */
bool unwind_image_function(struct unwind_image *image, uint64_t addr, struct unwind_function *ret);
/* Its name in the symbol table or index; NULL if it is not known. */
const char *unwind_image_name(struct unwind_image *image, uint64_t addr);

/* NULL: the files have none. */
struct libdwarf_frames *unwind_image_cfi(struct unwind_image *image, enum unwind_cfi kind);

/* The __unwind_info of the binary; empty without one. */
struct fz_span unwind_image_compact(const struct unwind_image *image);

#endif
