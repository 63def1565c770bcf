/*
 * Grouping: which reports show the same bug.
 *
 *   report ──group_stack_make()──► normalised stack ──group_key()──► key ─┬─ issue = its hash
 *                                        │                  ▲            └─ words: why
 *                                        └─ stored once     rules
 *
 * The *key* is class + anchor. The class is the kind of crash with the name of the language
 * exception (not the type of a C++ one), the kind of a Swift trap, or the code that ended the process; the anchor is the
 * declaration of the first frame of the app's own code. What changes between builds, devices and
 * runs (signal, line, message, addresses) makes *variants* of an issue: group_variant().
 *
 * A stack has all that a key can depend on, so keys can be made again under other rules without the
 * report. Pure: no state, no input or output. docs/grouping.md describes keys and rules for users.
 */
#ifndef GROUP_H
#define GROUP_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/sha256.h"
#include "base/uuid.h"

struct report;
struct report_symbol;

enum {
    GROUP_FRAMES_MAX = 256,         /* of a stack; of longer ones the newest and the oldest */
    GROUP_TEXT_MAX = 1024,          /* bytes of a name or path */
    GROUP_MESSAGE_MAX = 256,        /* of a parameterised message */
    GROUP_STACK_BYTES = 256 * 1024, /* of an encoded stack */
    GROUP_RULES_BYTES = 16 * 1024,  /* of the text of a project's rules */
    GROUP_RULES_MAX = 256,          /* rules in it */
    GROUP_LABEL_MAX = 400,          /* of a variant's label */
    GROUP_SHARED_MAX = 16,          /* functions that are named as shared by two stacks */
};

/* ---- the normalised stack (stack.c) ---------------------------------------------------------- */

/* Where an image comes from, by its path or, without one, by its name. */
enum group_origin {
    GROUP_ORIGIN_OTHER, /* neither: a library in /usr/local */
    GROUP_ORIGIN_EXECUTABLE,
    GROUP_ORIGIN_BUNDLE, /* in the app's bundle */
    GROUP_ORIGIN_NAMED,  /* no path, but named as the app, or its dSYM was uploaded */
    GROUP_ORIGIN_SYSTEM,
    GROUP_ORIGINS
};

struct group_image {
    const char *name, *path; /* the path from the app's folder on; NULL = unknown */
    enum group_origin origin;
};

/* Which of a report's backtraces it is. */
enum group_source { GROUP_SOURCE_NONE, GROUP_SOURCE_THREAD, GROUP_SOURCE_EXCEPTION, GROUP_SOURCES };

/* A frame, or an inlined call of one: innermost first. */
struct group_frame {
    const char *name;   /* declaration; NULL = no name */
    const char *module; /* Swift's; NULL = unknown */
    const char *file;   /* source path, without the names of users; NULL = unknown */
    int image;          /* in images, -1 = in none */
    bool is_inlined;
    bool is_artificial;  /* code of no declaration: outlined, metadata */
    bool awaits_symbols; /* without a name: a symbol file could bring it */
    /* Without a name, where it can come to count: which code it is. */
    bool has_place;
    struct fz_uuid uuid;
    uint64_t offset;
    /* Not part of the stack's identity, and absent from one that was decoded. */
    size_t number; /* in the report's backtrace */
    uint32_t line;
    const struct report_symbol *symbol;
};

struct group_stack {
    /* The class. `kind` is never NULL. */
    const char *kind;        /* "crash", "hang", "memory"... */
    const char *exception;   /* of the language; NULL = none, or a name that says nothing */
    const char *trap;        /* Swift: "index out of range"...; NULL = none known */
    const char *termination; /* "0x8badf00d", "DYLD 1"; NULL = none, or a signal */
    const char *message;     /* parameterised; only where a key may need it, else NULL */
    const char *fingerprint; /* as the client sent it: JSON strings, one a line; NULL = none */
    enum group_source source;
    const char *app; /* names of the executable and the app, for modules; NULL = unknown */
    struct group_image *images;
    size_t n_images;
    struct group_frame *frames;
    size_t n_frames;
    size_t n_cut; /* frames left out between the newest and the oldest; 0 in a decoded stack */
};

/* Of a resolved report; texts are in the arena or the report. NO_MEMORY, LIMIT: the arena's. */
FZ_MUST_CHECK enum fz_code group_stack_make(const struct report *report, struct fz_arena *arena,
                                            struct group_stack *ret, struct fz_error *err);

/* ---- its stored form (codec.c) ---------------------------------------------------------------- */

/* The same stack gives the same bytes, so that each distinct one is stored once. At most
 * GROUP_STACK_BYTES, else the buffer fails. */
void group_stack_encode(const struct group_stack *stack, struct fz_buffer *out);
/* Of untrusted bytes. MALFORMED: not what group_stack_encode() writes, or of a version that this
 * program does not know. NO_MEMORY, LIMIT: the arena's. */
FZ_MUST_CHECK enum fz_code group_stack_decode(struct fz_span bytes, struct fz_arena *arena,
                                              struct group_stack *ret, struct fz_error *err);

/* ---- rules (rules.c, builtin.c) --------------------------------------------------------------- */

enum group_effect { GROUP_OWN, GROUP_NOT_OWN, GROUP_SKIP, GROUP_BY };
enum group_subject { GROUP_IMAGE, GROUP_PATH, GROUP_MODULE, GROUP_FUNCTION };

struct group_rule {
    enum group_effect effect;
    enum group_subject subject;
    const char *pattern; /* * and ? as in file names, but * also matches a slash */
    const char *name;    /* as reports show it: "project rule, line 3" */
};

struct group_rules {
    struct group_rule *list; /* of the project; the last one that matches decides */
    size_t n;
    bool use_fingerprint;
    char version[32]; /* "apple-1", or "apple-1+9f86d081" with the hash of the project's text */
};

/* The built-in rules alone. */
struct group_rules group_rules_builtin(void);
/*
 * The built-in rules and those of a project's text, in the arena; an empty text has none.
 *
 * MALFORMED: the message names line and column, err->offset is the byte. LIMIT: the text or the
 * number of rules, or the arena. NO_MEMORY.
 */
FZ_MUST_CHECK enum fz_code group_rules_parse(struct fz_span text, struct fz_arena *arena,
                                             struct group_rules *ret, struct fz_error *err);

/* ---- the key (key.c) -------------------------------------------------------------------------- */

enum group_how {
    GROUP_BY_OWN_FRAME,
    GROUP_BY_OUTERMOST,   /* of a hang */
    GROUP_BY_RECURSION,   /* the cycle of own functions that repeats */
    GROUP_BY_RULE,        /* a project's rule: group-by */
    GROUP_BY_FINGERPRINT, /* the client's, as a project's rule allows */
    GROUP_BY_SYSTEM,      /* no own frame: the first one that says something */
    GROUP_BY_PLACE,       /* no name yet: UUID and offset; a placeholder */
    GROUP_BY_SMASHED,     /* the stack has no frame that says anything */
    GROUP_BY_NO_STACK,
};

/* What was made of a frame of the stack. `rule` is never NULL. */
enum group_use { GROUP_USE_CONTEXT, GROUP_USE_SKIPPED, GROUP_USE_ANCHOR };
struct group_verdict {
    bool is_own;
    enum group_use use;
    const char *rule; /* that used or skipped it, or decided whose code it is */
};

struct group_key {
    uint8_t hash[FZ_SHA256_BYTES];
    enum group_how how;
    bool is_placeholder;          /* the issue takes the real key once names are known */
    const char *class_text;       /* "crash", "NSRangeException", "hang 0x8badf00d" */
    const char *anchor;           /* for people: "CartView.checkout(items:)" */
    const char *title;            /* of the issue, one line */
    int anchor_frame;             /* in the stack's frames, -1 = none */
    struct group_verdict *frames; /* one for each frame of the stack */
    const char **words;           /* why: "first own frame: checkout(int)", ... */
    size_t n_words;
};

/* Texts are in the arena, the stack or the rules. NO_MEMORY, LIMIT: the arena's. */
FZ_MUST_CHECK enum fz_code group_key(const struct group_stack *stack,
                                     const struct group_rules *rules, struct fz_arena *arena,
                                     struct group_key *ret, struct fz_error *err);

/* ---- variants (variant.c) --------------------------------------------------------------------- */

struct group_variant {
    uint8_t hash[FZ_SHA256_BYTES]; /* of the label: the same under any key */
    const char *label;             /* "SIGSEGV, null pointer, line 42: index # beyond bounds" */
};
FZ_MUST_CHECK enum fz_code group_variant(const struct report *report,
                                         const struct group_stack *stack,
                                         const struct group_key *key, struct fz_arena *arena,
                                         struct group_variant *ret, struct fz_error *err);

/* A message without what changes from run to run: numbers, addresses, UUIDs, quoted texts... At most
 * GROUP_MESSAGE_MAX bytes; NULL when memory is out. */
const char *group_message(const char *text, struct fz_arena *arena);

/* ---- similarity (similarity.c) ---------------------------------------------------------------- */

/* In how many of all stacks a function occurs. */
typedef uint64_t (*group_frequency_fn)(void *user, const char *function);
struct group_similarity {
    double alpha, beta, gamma;
    group_frequency_fn frequency; /* NULL: every function is as rare as the others */
    void *user;
    uint64_t n_stacks;
};
/* The values that proposals are made with; the caller sets frequency, user and n_stacks. */
struct group_similarity group_similarity_default(void);

/* The functions of a stack with their weights, so that it is compared with many. */
struct group_weighed; /* opaque */
/* In the arena, with names of the stack; NULL if that is out of memory. */
const struct group_weighed *group_similarity_weigh(const struct group_similarity *with,
                                                   const struct group_stack *stack,
                                                   struct fz_arena *arena);
/* FaST, in [-1, 1]: 1 for stacks of the same functions in the same places. */
double group_similarity(const struct group_similarity *with, const struct group_weighed *a,
                        const struct group_weighed *b);
/* The functions of both, those that weigh most first, at most `max` of them. Returns how many there
 * are. */
size_t group_similarity_shared(const struct group_weighed *a, const struct group_weighed *b,
                               const char **ret, size_t max);

/* ---- the app's own code (own.c) --------------------------------------------------------------- */

/*
 * Where images[number] comes from. By its path where it has one: the system's folders; then the
 * bundle of an app, the process's own file, or the first of all images. Formats that give names
 * only (MetricKit, plain stacks) say less: there it is the image that is named as the process or
 * the app, or whose dSYM gave names; if none is named so, the first one, and if the report names
 * neither, every image whose name is not one of the system's.
 */
enum group_origin group_image_origin(const struct report *report, size_t number);
/* Is code of an image from there the app's own, as far as the image decides? */
bool group_origin_is_own(enum group_origin origin);

/* ---- all of it for one report (annotate.c) ---------------------------------------------------- */

struct group_result {
    struct group_stack stack;
    struct group_key key;
    struct group_variant variant;
};
/* Stack, key and variant of a resolved report; sets in_app of all its frames, the rules of the
 * frames that were looked at, and its issue. */
FZ_MUST_CHECK enum fz_code group_report(struct report *report, const struct group_rules *rules,
                                        struct fz_arena *arena, struct group_result *ret,
                                        struct fz_error *err);

#endif
