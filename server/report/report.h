/*
 * The one report model: every format that comes in is converted to it, every format that goes out
 * is made from it.
 *
 * All memory lies in one arena. Texts are NUL-terminated UTF-8; NULL means the report did not say.
 * The model holds the crash as it came; resolve (server/worker) fills in lookup addresses, image
 * numbers, symbols and states.
 */
#ifndef REPORT_H
#define REPORT_H

#include "base/arena.h"
#include "base/error.h"
#include "base/uuid.h"

enum report_adjust {
    REPORT_ADJUST_AUTO,  /* by the rule: frame 0 of a thread exact, others return addresses */
    REPORT_ADJUST_EXACT, /* look up as it stands: the exact pc, or adjusted by the client already */
    REPORT_ADJUST_RETURN, /* a return address, also as frame 0 (exception backtraces) */
};

enum report_frame_status {
    REPORT_FRAME_UNRESOLVED, /* before resolve */
    REPORT_FRAME_SYMBOLICATED,
    REPORT_FRAME_MISSING_SYMBOL_FILE,
    REPORT_FRAME_NO_SYMBOL,
    REPORT_FRAME_UNKNOWN_IMAGE,
    REPORT_FRAME_MALFORMED_SYMBOL_FILE,
};

enum report_trust {
    REPORT_TRUST_GIVEN,
    REPORT_TRUST_CONTEXT,
    REPORT_TRUST_FRAME_POINTER,
    REPORT_TRUST_UNWIND
};

struct report_symbol {
    const char *function;  /* readable */
    const char *mangled;   /* NULL if the same */
    const char *file;      /* full path as the compiler saw it */
    uint32_t line, column; /* 0 = unknown */
    uint64_t
        offset; /* address - function start; only of the last symbol of a frame, if has_offset */
    bool has_offset, inlined;
    const char *source; /* "dwarf", "symtab", "exports", "function_starts", "client", "learned" */
    const char **also;  /* other names at the same address (identical code folding) */
    size_t n_also;
};

struct report_frame {
    uint64_t addr;        /* as the report has it */
    uint64_t lookup_addr; /* set by resolve */
    enum report_adjust adjust;
    enum report_frame_status status;
    enum report_trust trust;
    int image; /* number in images, -1 = in none; set by resolve unless the format gave it */
    bool has_image_offset;
    uint64_t image_offset;
    const char *client_function, *client_file; /* names that the client had itself */
    uint32_t client_line;
    bool in_app;
    struct report_symbol *symbols; /* innermost first */
    size_t n_symbols;
};

struct report_register {
    const char *name;
    uint64_t value;
};

struct report_memory {
    uint64_t addr;
    struct fz_span bytes;
};

struct report_thread {
    int64_t index;
    const char *name, *queue;
    bool crashed;
    struct report_register *registers;
    size_t n_registers;
    struct report_frame *frames;   /* newest first */
    size_t n_frames, n_frames_cut; /* cut: left out because of the limit */
    struct report_memory stack;    /* empty if not captured */
};

enum report_image_state {
    REPORT_IMAGE_UNUSED,
    REPORT_IMAGE_FOUND,
    REPORT_IMAGE_MISSING,
    REPORT_IMAGE_FAILED
};

struct report_image {
    struct fz_uuid uuid;
    bool has_uuid;
    const char *name, *path, *arch;
    uint64_t addr, size; /* size 0 = unknown: reaches to the next image */
    enum report_image_state state;
    bool lacks_dwarf; /* found, but with a symbol table only: a dSYM would tell more */
};

struct report_crash {
    int64_t thread; /* index of the crashed thread, -1 = unknown */
    const char *signal, *mach, *code, *exception, *reason;
    bool has_address;
    uint64_t address;
};

struct report {
    const char *id;       /* as the client spelt it; NULL = none */
    const char *format;   /* "framezero", ... */
    int64_t timestamp_ms; /* 0 = unknown */
    const char *app_id, *app_name, *app_version, *app_build;
    const char *os_name, *os_version, *os_build;
    const char *device_model;
    const char *arch;
    struct report_crash crash;
    struct report_thread *threads;
    size_t n_threads;
    struct report_image *images;
    size_t n_images;
    struct report_memory *memory;
    size_t n_memory;
    const char *user_json, *tags_json, *breadcrumbs_json,
        *extra_json;    /* JSON texts kept as they came, NULL = none */
    const char **notes; /* what was odd and mended or left out, for people; shown in the report */
    size_t n_notes;
};

enum { REPORT_NOTES_MAX = 64 };

/* Add a note (dropped silently beyond REPORT_NOTES_MAX or when memory is out). */
void report_note(struct report *report, struct fz_arena *arena, const char *fmt, ...)
    FZ_PRINTF(3, 4);

/* The image that holds `addr`, -1 if none: the first one whose known range does; else the one of
 * unknown size below it, which reaches to the next image's start and at most 4 GiB. One pass over
 * the images. */
int report_image_at(const struct report *report, uint64_t addr);

/* The crashed thread: crash.thread, else the first marked one, else the first. NULL without
 * threads. */
struct report_thread *report_crashed_thread(const struct report *report);

/*
 * "symbolicated": every frame that lies in an image has a name, and there is such a frame;
 * "partial": some have one; "unsymbolicated": no frame has a name.
 *
 * A frame lacks its name no matter why: no symbol file (the system's own images too), a broken one,
 * or none of its symbols there. A frame outside all images does not count: no upload could name it.
 */
const char *report_status(const struct report *report);

/* The words of the JSON, static strings. NULL for REPORT_FRAME_UNRESOLVED. */
const char *report_frame_status_name(enum report_frame_status status);
const char *report_trust_name(enum report_trust trust);
const char *report_image_state_name(enum report_image_state state);

#endif
