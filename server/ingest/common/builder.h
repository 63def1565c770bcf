/*
 * A report under construction: what every format uses to fill the report model.
 *
 * Everything that is added lives in the arena and stays under the limits; what a limit cuts is
 * noted. Only memory can fail: `failed` then stays set, all further calls do nothing, and the parse
 * ends with fz_arena_fail(). Lists grow while they are filled, so a pointer to a thread or an image
 * is valid only until the next one is added.
 */
#ifndef INGEST_COMMON_BUILDER_H
#define INGEST_COMMON_BUILDER_H

#include "base/arena.h"
#include "server/process/limits.h"
#include "server/report/report.h"

enum {
    INGEST_WHERE = 64, /* room for "threads[511].frames[1023]", which names an object in notes */
    INGEST_REGISTERS_MAX = 256,
    INGEST_MESSAGES_MAX = 256,
};

struct ingest_builder {
    struct report *report;
    struct fz_arena *arena;
    const struct limits *limits;
    size_t memory_left; /* of limits->memory_bytes */
    bool failed;
    size_t room_threads, room_images;   /* of the report's lists */
    size_t n_threads_cut, n_images_cut; /* refused by ingest_add_thread(), ingest_add_image() */
    const char *const *
        leave; /* arrays that ingest_json_load() leaves as texts, see json_scan_load_leaving(); NULL: none */
};

struct ingest_builder ingest_builder_make(struct report *report, struct fz_arena *arena,
                                          const struct limits *limits);

/* ---- memory, texts, notes ------------------------------------------------------------------- */

/* A zeroed array; NULL sets `failed`. */
void *ingest_alloc(struct ingest_builder *b, size_t n, size_t size);
/* Room for one more item in a list that grows by doubling: `items` holds `n` items of `size` bytes
 * and has room for *room. Returns the list, moved if it grew; NULL when memory is out. */
void *ingest_grow(struct ingest_builder *b, void *items, size_t n, size_t *room, size_t size);
/* A copy that ends with NUL; NULL for an empty text. */
const char *ingest_text(struct ingest_builder *b, struct fz_span text);
/* The same, with U+FFFD for bytes that are not UTF-8. */
const char *ingest_clean_text(struct ingest_builder *b, struct fz_span text);
/* Is the text one of the words (NULL-terminated; NULL: no words)? */
bool ingest_is_one_of(struct fz_span text, const char *const *words);
/* Sets `ret` to the 32 hex digits of a report's own id; false, and nothing set, if the text is not a
 * UUID or is one of zeros. */
bool ingest_set_id(struct fz_span text, char ret[FZ_UUID_TEXT]);
/* "4C4C445B-5555-3144-A129-88BEB9D5EB60" */
const char *ingest_uuid_text(struct ingest_builder *b, const struct fz_uuid *uuid);
const char *ingest_printf(struct ingest_builder *b, const char *fmt, ...) FZ_PRINTF(2, 3);
/* A note of the report, see report_note(). */
void ingest_note(struct ingest_builder *b, const char *fmt, ...) FZ_PRINTF(2, 3);
/* How many of `n` fit under the limit, with a note if not all do. */
size_t ingest_limit(struct ingest_builder *b, const char *where, size_t n, size_t max);

/* ---- threads -------------------------------------------------------------------------------- */

/* One more thread, zeroed; NULL beyond limits->threads, which counts it in n_threads_cut. */
struct report_thread *ingest_add_thread(struct ingest_builder *b);
/* An index that no thread has yet. */
int64_t ingest_free_index(const struct report *report);
/* Which thread crashed is said in two places (crash.thread, thread.crashed); one is made to follow
 * from the other. */
void ingest_mark_crashed(struct report *report);

/* The frames of a stack while they are added, newest first. */
struct ingest_stack {
    struct report_frame *frames;
    size_t n, room;
    size_t n_cut; /* beyond limits->frames */
    bool has_gap; /* a frame newer than the first one here is missing */
};

/* Reserve room for `n` frames. The limit cuts them with a note about `where`; with NULL without. */
struct ingest_stack ingest_stack_make(struct ingest_builder *b, const char *where, size_t n);
/*
 * Append a copy of the frame and return it; NULL beyond limits->frames, which counts it in n_cut.
 *
 * The first frame of a thread is its exact pc (REPORT_ADJUST_AUTO), all others are return
 * addresses; so is the first one that is there if `has_gap` is set.
 */
struct report_frame *ingest_stack_add(struct ingest_builder *b, struct ingest_stack *stack,
                                      const struct report_frame *frame);
/* For threads that stopped elsewhere (something was thrown, newer frames are missing): the first
 * frame is a return address too, unless its reader has set what it is. */
void ingest_first_is_return(struct report_frame *frames, size_t n);
bool ingest_same_stack(const struct report_frame *a, size_t n_a, const struct report_frame *b,
                       size_t n_b);
void ingest_set_stack(struct report_thread *thread, const struct ingest_stack *stack);
void ingest_set_exception_stack(struct report *report, const struct ingest_stack *stack);

/* A client's name for a frame, see report_add_client_symbol(); "<redacted>" and "???" are left out.
 */
void ingest_add_client_symbol(struct ingest_builder *b, struct report_frame *frame,
                              const struct report_symbol *symbol);
/* Where the function starts, for the frame and its symbol; 0 and starts above the frame's address
 * are not used. */
void ingest_set_start(struct report_frame *frame, struct report_symbol *symbol, uint64_t start);

/* One more register with a copy of its name; INGEST_REGISTERS_MAX of them are kept. */
void ingest_add_register(struct ingest_builder *b, struct report_thread *thread,
                         struct fz_span name, uint64_t value);
/* The same for a vector register; what its name means is found out at the end of the parse. */
void ingest_add_vector(struct ingest_builder *b, struct report_thread *thread, struct fz_span name,
                       const uint8_t bytes[16]);
/* Does the first frame have another address than the pc among the registers? False without a pc.
 * Bit 0 (Thumb) is not compared. */
bool ingest_starts_elsewhere(const struct report_thread *thread);

/* ---- images --------------------------------------------------------------------------------- */

/* One more image: its number, -1 beyond limits->images, which counts it in n_images_cut. A UUID of
 * zeros is how binaries without one are written down: it is dropped. */
int ingest_add_image(struct ingest_builder *b, const struct report_image *image);
/* Cut a size that reaches beyond 2^64, with a note about `where`.`key`. */
void ingest_clip_size(struct ingest_builder *b, struct report_image *image, const char *where,
                      const char *key);
/* The image's UUID out of a text. Noted under `where`.`key`: a text that is not one (but not zeros),
 * and with `required` also that it is missing. */
void ingest_set_uuid(struct ingest_builder *b, struct report_image *image, const char *text,
                     bool required, const char *where, const char *key);
/* Its path, and the name at the end of it. */
void ingest_set_path(struct report_image *image, const char *path);
/* Note what the limits cut of threads and images that were not counted before they were added. */
void ingest_note_cut(struct ingest_builder *b);

/* ---- the crash, memory ---------------------------------------------------------------------- */

/* The exception's name, "EXC_99" for a number that has no name. */
void ingest_set_mach(struct ingest_builder *b, uint64_t type);
void ingest_set_mach_codes(struct ingest_builder *b, const uint64_t *codes, size_t n);
/* The second code of a bad access is its address; it is used unless there is one already. */
void ingest_set_address_of_codes(struct report_crash *crash);
/* One more application-specific message; NULL adds nothing, false beyond INGEST_MESSAGES_MAX. */
bool ingest_add_message(struct ingest_builder *b, const char *text);

/* One more region of the report; its bytes are taken from memory_left, which must have them. */
void ingest_add_memory(struct ingest_builder *b, const struct report_memory *memory);
/* Captured bytes written as hex digits; false if they are something else (noted) or empty. What the
 * report may not carry any more (memory_left) is cut, with a note about `where`. */
bool ingest_hex_memory(struct ingest_builder *b, const char *where, uint64_t addr,
                       struct fz_span hex, struct report_memory *ret);

#endif
