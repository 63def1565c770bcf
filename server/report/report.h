/*
 * The one report model: every format that comes in is converted to it, every format that goes out
 * is made from it.
 *
 * All memory is in one arena. Texts are NUL-terminated UTF-8; NULL means that the report does not
 * say. The model has the crash as it came; server/resolve fills in lookup addresses, image numbers,
 * symbols and states.
 */
#ifndef REPORT_H
#define REPORT_H

#include "base/arch/vectors.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/uuid.h"

enum { REPORT_CLIENT_SYMBOLS_MAX = 64 };

enum report_adjust {
    REPORT_ADJUST_AUTO,   /* by the rule: frame 0 of a thread exact, others return addresses */
    REPORT_ADJUST_EXACT,  /* look up as it is: the exact pc, or adjusted by the client already */
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

/* How a frame was found. */
enum report_trust {
    REPORT_TRUST_GIVEN,         /* the report lists it */
    REPORT_TRUST_CONTEXT,       /* the thread's registers, or those that a signal interrupted */
    REPORT_TRUST_CFI,           /* __debug_frame, __eh_frame */
    REPORT_TRUST_COMPACT,       /* __unwind_info */
    REPORT_TRUST_FRAME_POINTER, /* a frame record on the stack */
    REPORT_TRUST_LINK_REGISTER, /* lr of a function that saved nothing yet */
};

enum report_variable_kind {
    REPORT_VARIABLE_PARAM,
    REPORT_VARIABLE_LOCAL,
    REPORT_VARIABLE_GLOBAL,
    REPORT_VARIABLE_THIS,
};

/* Whether a variable has its value, or why not. */
enum report_availability {
    REPORT_VALUE_AVAILABLE,
    REPORT_VALUE_ENTRY_VALUE, /* its value at the call */
    REPORT_VALUE_PARTIAL,     /* some fields or pieces */
    REPORT_VALUE_OPTIMIZED_OUT,
    REPORT_VALUE_REGISTER_NOT_RECOVERABLE,
    REPORT_VALUE_MEMORY_NOT_CAPTURED,
    REPORT_VALUE_UNSUPPORTED,
    REPORT_VALUE_NO_DEBUG_INFO,
    REPORT_VALUE_REDACTED,
    REPORT_VALUE_LIMIT,
};

/* Fields in fields: deeper ones are neither written nor read. */
enum { REPORT_VARIABLE_DEPTH_MAX = 16 };

/* One variable, field, element, base class or pointee. Mirrors struct sym_variable of the
 * symbolicator, which this module does not use. */
struct report_variable {
    const char *name; /* of a field, "[3]" of an element, "*" of what a pointer points to */
    const char *type; /* "const char *", "struct item"; NULL = unknown */
    enum report_variable_kind kind; /* fields have that of their variable; not written for them */
    enum report_availability availability;
    const char *value; /* as a debugger prints it; NULL = none, or only fields */
    bool maybe_stale;  /* in memory of an optimised frame: the store may have been dropped */
    bool has_address;
    uint64_t address;     /* where it is in memory */
    const char *location; /* "fbreg-16 @0x16f0ffc83", "x19", "const"; NULL = none */
    struct report_variable *fields;
    size_t n_fields, n_fields_cut; /* cut: left out because of a limit */
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
    struct report_variable *variables; /* of this function or inlined call, inner scopes first */
    size_t n_variables, n_variables_cut;
    enum report_availability availability; /* AVAILABLE, or why the whole list is missing */
};

struct report_frame {
    uint64_t addr;        /* as the report has it */
    uint64_t lookup_addr; /* set by resolve */
    enum report_adjust adjust;
    enum report_frame_status status;
    enum report_trust trust;
    int image; /* number in images, -1 = in none; set by resolve unless the format gave it */
    bool has_image_offset;
    uint64_t image_offset;  /* of addr from the image's load address */
    uint64_t lookup_offset; /* of lookup_addr, if has_image_offset; set by resolve */
    /* Names that the report brought itself, innermost first, source "client"; resolve shows them
     * where no symbol file has a better one. `function` as the report spells it, mangled or not. */
    struct report_symbol *client;
    size_t n_client;
    bool has_client_start;
    uint64_t client_start; /* where the function starts, as the client says; also without a name */
    uint32_t samples;      /* how often a sampled tree saw this frame; 0 = no such count */
    bool in_app;
    const char *rule; /* of grouping, that used or skipped it; NULL = it was not looked at */
    bool is_anchor;   /* decides which issue the report belongs to */
    struct report_symbol *symbols; /* innermost first */
    size_t n_symbols;
};

/* A general register. The number is the processor's (report_cpu(), base/arch/registers.h). */
struct report_register {
    uint64_t value;
    int number;       /* FZ_NO_REGISTER: the table has no such register, only `name` is known */
    const char *name; /* as the report spells it; NULL = as the table does */
};

/* A vector register, or the low bytes of one. Until report_number_registers() only `name` says which
 * it is; after it, `name` is NULL and a thread has one for each index, in ascending order. */
struct report_vector {
    const char *name;
    uint8_t bytes[16]; /* little-endian */
    uint8_t index;     /* of base/arch/vectors.h */
    uint8_t size;      /* how many of the low bytes are known: 4, 8 or 16 */
};

struct report_memory {
    uint64_t addr;
    struct fz_span bytes;
    uint64_t size; /* 0 = that of bytes; in a stored report the bytes of larger ones are left out */
    const char *why; /* what led to it, as the client says: "register", "stack", "data" */
    bool truncated;  /* the client captured less than there was */
};

struct report_thread {
    int64_t index;
    const char *name, *queue, *state; /* state: "TH_STATE_RUNNING"..., as the report spells it */
    bool crashed;
    uint32_t samples; /* of a sampled tree: how often this stack was seen; 0 = no such count */
    struct report_register *registers;
    size_t n_registers;
    struct report_vector *vectors;
    size_t n_vectors;
    struct report_frame *frames;   /* newest first */
    size_t n_frames, n_frames_cut; /* cut: left out because of the limit */
    bool frames_truncated;         /* the client's own chain ended at its limit */
    struct report_memory stack;    /* empty if not captured */
    const char *notable_json;      /* what was found at its registers and on its stack, JSON */
};

enum report_image_state {
    REPORT_IMAGE_UNUSED,
    REPORT_IMAGE_FOUND,
    REPORT_IMAGE_MISSING,
    REPORT_IMAGE_FAILED
};

/* A symbol file that named something in an image. */
struct report_symbol_file {
    const char *kind, *name,
        *sha256; /* "dsym", "binary"; file name; of the slice. NULL = unknown */
};

struct report_image {
    struct fz_uuid uuid;
    bool has_uuid;
    const char *name, *path, *arch;
    const char *bundle_id, *version; /* as the report spells them: "1.2", "1.2 (34)" */
    uint64_t addr, size; /* size 0 = unknown: reaches to the next image; with addr 0 that is
                                        unknown as well, and no address is in it */
    enum report_image_state state;
    bool is_damaged;   /* a stored file of it is not what it was; the state is failed */
    bool wants_better; /* found, but with a symbol table only, or with names that are hidden */
    struct report_symbol_file *files; /* that gave names, the best first; set by resolve */
    size_t n_files;
};

struct report_crash {
    int64_t thread; /* index of the crashed thread, -1 = unknown */
    /* "SIGSEGV"; "EXC_BAD_ACCESS"; "KERN_INVALID_ADDRESS"; name of the language exception; its
     * reason, or what the process said as it ended. */
    const char *signal, *mach, *code, *exception, *reason;
    const char
        *exception_mangled; /* of a type's name, as it came; NULL = the same; set by resolve */
    bool has_address;
    uint64_t address;
    const char *signal_code; /* "SEGV_MAPERR" */
    const char *subtype;     /* as Apple words it: "KERN_INVALID_ADDRESS at 0x10" */
    uint64_t *mach_codes;    /* code, subcode... */
    size_t n_mach_codes;
    const char *termination; /* "SPRINGBOARD 0x8badf00d ...", on one line */
    const char *diagnosis;   /* what the reporter takes for the cause, for people */
    const char **messages;   /* application-specific information, one text per message */
    size_t n_messages;
};

/* The process; all of it may be unknown. */
struct report_process {
    const char *name, *path, *parent;
    int64_t pid, parent_pid; /* 0 = unknown */
    int64_t launched_ms;     /* 0 = unknown */
};

/* How the client captured the process; all of it may be unknown. */
struct report_capture {
    const char *client; /* "framezero 1.0", "KSCrash 3.0.0" */
    const char *way;    /* "signal", "mach", "corpse", "exception"..., as the client says */
    const char *privacy;
    bool handler_crashed;         /* while it captured: parts may be missing */
    const char *const *truncated; /* what its limits cut: "threads", "memory"... */
    size_t n_truncated;
};

/* A file that came with the report. It stays in the report's raw body. */
struct report_attachment {
    const char *name, *type, *kind; /* file name; content type; what the client calls it */
    uint64_t offset, size;          /* of the bytes within the raw body as it is stored */
};

/* What grouping made of the report; server/group sets it. A stored report has number, title and rules
 * as well: the API knows them. */
struct report_issue {
    int64_t number; /* 0 = unknown */
    const char *title, *rules;
    const char *hash;    /* of the key, 16 hex digits; NULL = not grouped */
    const char *variant; /* 16 hex digits */
    const char *label;   /* what the variant is: "SIGSEGV, null pointer, line 42" */
    const char **key;    /* the key in words, the most important first */
    size_t n_key;
    const struct report_symbol *anchor; /* what the key names; NULL = none, or read from JSON */
};

struct report {
    const char *id; /* as the client spelt it; NULL = none */
    /* Of one start of the app, so that a crash that arrives in two ways is counted once; and of the
     * session within it. As the client spells them. */
    const char *run_id, *session_id;
    const char *format;   /* "framezero", ... */
    const char *kind;     /* "crash", "hang", "cpu", "disk_write", "launch", "memory", "error",
                             "message"; NULL = crash */
    int64_t timestamp_ms; /* 0 = unknown */
    const char *app_id, *app_name, *app_version, *app_build;
    const char *environment; /* "production", "testflight", ... as the client says */
    const char *os_name, *os_version, *os_build;
    const char *device_model;
    const char *arch;
    enum fz_arch_cpu cpu; /* whose numbers the registers have; report_cpu() */
    struct report_process process;
    struct report_capture capture;
    struct report_crash crash;
    struct report_thread *threads;
    size_t n_threads;
    /* Where the uncaught exception was thrown (lastExceptionBacktrace): newest first. Every frame
     * is a return address, REPORT_ADJUST_AUTO and _RETURN mean the same here. */
    struct report_frame *exception_frames;
    size_t n_exception_frames, n_exception_frames_cut;
    struct report_issue issue;
    struct report_image *images;
    size_t n_images;
    struct report_memory *memory;
    size_t n_memory;
    const char *user_json, *tags_json, *breadcrumbs_json,
        *extra_json; /* JSON texts kept as they came, NULL = none */
    /* How many places of which kind have a mark, {"email": 2}; NULL = none. server/scrub sets it. */
    const char *scrubbed_json;
    struct report_attachment *attachments;
    size_t n_attachments;
    const char **notes; /* what was odd, and repaired or left out; shown in the report */
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

/* ---- registers.c ----------------------------------------------------------------------------- */

/* The processor: `cpu` if it is set, else by the report's arch or the first image's. */
enum fz_arch_cpu report_cpu(const struct report *report);
/* Give registers that came by name their numbers, once all else is known, and set `cpu`: that of the
 * architecture, or of the names themselves if they are another processor's. Vectors are sorted and
 * merged; one whose name the processor does not have becomes a register with that name, if its value
 * has 64 bits at most, and is dropped with a note otherwise. False when memory is out. */
bool report_number_registers(struct report *report, struct fz_arena *arena);
/* As the report spells it, else as the table does. Never NULL. */
const char *report_register_name(const struct report *report, const struct report_register *reg);
/* NULL if the thread, or the processor, has none with the role. */
const struct report_register *report_find_register(const struct report *report,
                                                   const struct report_thread *thread,
                                                   enum fz_arch_register_role role);
/* "v8", "d8" if 8 bytes of it are known, "xmm3"; "" if the processor has no such register. */
enum { REPORT_VECTOR_NAME = 8 };
void report_vector_name(enum fz_arch_cpu cpu, const struct report_vector *vector,
                        char ret[REPORT_VECTOR_NAME]);
/* Does any processor have a vector register of this name? */
bool report_is_vector_name(const char *name);
/* "0x" and up to 32 hexadecimal digits, the lowest byte last in the text and first in `ret`. */
bool report_vector_parse(struct fz_span text, uint8_t ret[16]);
/* The low 64 bits; the others are 0. */
void report_vector_set(uint64_t value, uint8_t ret[16]);

/* ---- summary.c ------------------------------------------------------------------------------- */

/* The release of the app: "com.acme.shop@4.2+4201", as much of it as is known; NULL without a version.
 * False when memory is out. */
bool report_release(const struct report *report, struct fz_arena *arena, const char **ret);

/* ---- report.c -------------------------------------------------------------------------------- */

/* One client symbol for a frame: `function` (NULL or "" adds nothing), file and line may be
 * unknown. Inlined calls first, the function that has its own frame last; false when memory is out.
 */
bool report_add_client_symbol(struct report_frame *frame, struct fz_arena *arena,
                              const struct report_symbol *symbol);

/* The executable's name by that of an image of its own: "Shop" for "Shop" and for Xcode's
 * "Shop.debug.dylib", which holds the code of a debug build; NULL for its "__preview.dylib". False
 * when memory is out. */
bool report_executable_name(const char *image_name, struct fz_arena *arena, const char **ret);

/* The crashed thread: crash.thread, else the first marked one, else the first. NULL without
 * threads. */
struct report_thread *report_crashed_thread(const struct report *report);

/*
 * Did the run of the app end with what this report is about? Several such reports of one run are
 * one crash (storage counts one of them); a run may have any number of the others.
 *
 * True for crashes, for an app that was ended for its memory, and for anything else that says why
 * the process ended (crash.termination): a hang that the watchdog ended, a limit of CPU time. A hang
 * that passed, a profile, a slow launch, an error that was handled and a message do not end a run.
 */
bool report_ends_run(const struct report *report);

/*
 * "symbolicated": every frame in an image has a name, and there is such a frame; "partial": some
 * have one; "unsymbolicated": no frame has a name.
 *
 * The frames of all threads and of the exception backtrace count. A frame lacks its name no matter
 * why: no symbol file (the system's own images too), a broken one, or one without a symbol there. A
 * frame outside all images does not count: no upload could name it.
 */
enum report_status { REPORT_UNSYMBOLICATED, REPORT_PARTIAL, REPORT_SYMBOLICATED };
enum report_status report_status(const struct report *report);

/* Their names in the JSON; NULL for REPORT_FRAME_UNRESOLVED. */
extern const char *const report_status_names[REPORT_SYMBOLICATED + 1];
extern const char *const report_frame_status_names[REPORT_FRAME_MALFORMED_SYMBOL_FILE + 1];
extern const char *const report_trust_names[REPORT_TRUST_LINK_REGISTER + 1];
extern const char *const report_variable_kind_names[REPORT_VARIABLE_THIS + 1];
extern const char *const report_availability_names[REPORT_VALUE_LIMIT + 1];
extern const char *const report_image_state_names[REPORT_IMAGE_FAILED + 1];

#endif
