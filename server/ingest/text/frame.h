/*
 * One stack frame written as a line of text, in the dialects of Apple, its tools and the crash
 * reporters. Private to this folder.
 *
 *   0   Demo   0x0000000104004068 0x104000000 + 16488                     not symbolicated
 *   0   Demo   0x0000000104004068 0x104000000 + 16488 (work_step + 8)     KSCrash, both
 *   0   Demo   0x0000000104004068 work_step + 8 (work.c:5)                Xcode
 *   0   Demo   0x0000000104004068 work_step (in Demo) (work.c:5)          atos, symbolicatecrash
 *   0   Demo   0x0000000104004068 Demo + 16488                            offset in the image
 *   0   Demo   0x0000000104004068 inner(int) [inlined] (work.c:2)         an inlined call
 */
#ifndef INGEST_TEXT_FRAME_H
#define INGEST_TEXT_FRAME_H

#include "server/ingest/text/line.h"

/* What follows the address. All spans are borrowed from the line; empty = not there. */
struct ingest_text_symbol {
    struct fz_span name, file;
    uint32_t line, column;
    uint64_t offset; /* of the address from the start of `name`, if has_offset */
    bool has_offset, inlined;
    uint64_t load_offset; /* of the address from the load address of the image, if has_load */
    bool has_load;
    uint64_t load;    /* the load address */
    uint32_t samples; /* 0 = no count */
};

struct ingest_text_frame {
    uint64_t index; /* the number before the image, if has_index */
    bool has_index;
    struct fz_span image; /* empty for "???" */
    uint64_t addr;
    struct ingest_text_symbol symbol;
};

/* False if the line is not a frame. Without a number before it, a symbol or an offset must follow
 * the address. */
bool ingest_text_frame_parse(struct fz_span line, struct ingest_text_frame *ret);

/* What follows `addr` in such a line; `image` is the name of the image in that line. */
struct ingest_text_symbol ingest_text_symbol_parse(struct fz_span text, struct fz_span image,
                                                   uint64_t addr);

/* Cut "[12 samples]" off the end of *text; false if it ends otherwise. */
bool ingest_text_cut_samples(struct fz_span *text, uint32_t *ret);

/* "work.c:5", "work.c:5:9": file, line and column; false for other texts. */
bool ingest_text_place_parse(struct fz_span text, struct ingest_text_symbol *ret);

/* Images that are known only from frames: by name and load address, or by name alone. */
struct ingest_text_hints {
    struct ingest_text_hint {
        struct fz_span name; /* borrowed from the text */
        uint64_t load;
        bool has_load;
    } * items;
    size_t n, room;
};

/* Add a frame with its client names. What it says about its image goes to `hints` (may be NULL),
 * and report_frame.image is the number of that hint until the images are settled. Inlined calls
 * join the frame that follows them with the same address. */
void ingest_text_stack_add(struct ingest_builder *b, struct ingest_stack *stack,
                           const struct ingest_text_frame *frame, struct ingest_text_hints *hints);

/* Add the addresses of "(0x1845f8a10 0x1845f8b00 ...)"; false, and nothing added, if the line holds
 * something else. A list may span several lines, each given to a call. */
bool ingest_text_stack_add_list(struct ingest_builder *b, struct ingest_stack *stack,
                                struct fz_span line);

#endif
