/*
 * The symbol files of a report's images while its frames are resolved: each is asked for once, and
 * the image gets its state.
 *
 * Private to resolve.
 */
#ifndef RESOLVE_IMAGES_H
#define RESOLVE_IMAGES_H

#include "server/resolve/resolve.h"

struct resolve_images {
    struct report *report;
    resolve_find_fn find;
    resolve_files_fn files; /* NULL = none */
    void *user;             /* of both */
    bool wants_binaries;    /* own images with a dSYM alone wait for their binary */
    struct fz_arena *arena;
    struct resolve_image {
        unsigned n_asked; /* ranks that were asked for */
        bool ended;       /* there are no more */
        struct resolve_file {
            struct resolve_found found; /* index NULL: cannot be used */
            uint64_t text_vmaddr;
            bool named; /* it gave a name */
        } files[RESOLVE_FILES_MAX];
    } * list; /* as in the report */
};

/* `find`, `files` and `user` are set by the caller. LIMIT, NO_MEMORY: the arena. */
FZ_MUST_CHECK enum fz_code resolve_images_init(struct resolve_images *images, struct report *report,
                                               struct fz_arena *arena, struct fz_error *err);

/* The image's symbol file of that rank, asked for once; *ret NULL if there is none that can be used.
 * Sets the image's state. Errors: those of `find`. */
FZ_MUST_CHECK enum fz_code resolve_images_file(struct resolve_images *images, int number,
                                               unsigned rank, struct resolve_file **ret,
                                               struct fz_error *err);

/* A sym_process_files_fn, of struct resolve_images: the dSYM and the binary, and the index that
 * names come from. */
FZ_MUST_CHECK enum fz_code resolve_images_symbols(void *images, size_t number,
                                                  struct sym_process_files *ret,
                                                  struct fz_error *err);

/* Images with an index whose bytes have changed since it was written get the state failed and a note,
 * and so do their frames without a name. After all lookups. */
void resolve_images_mark_damaged(struct resolve_images *images);

/* Which files the names of each image came from, into the report. Errors: LIMIT, NO_MEMORY. */
FZ_MUST_CHECK enum fz_code resolve_images_list_files(struct resolve_images *images,
                                                     struct fz_error *err);

#endif
