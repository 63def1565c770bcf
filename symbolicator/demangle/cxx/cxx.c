/*
 * C++ names through the Itanium demangler of libc++abi, kept within bounds.
 *
 * That demangler trusts its input: it recurses as deep as the name nests, its output doubles with
 * every nested substitution (335 bytes of `S_IS0_S0_E` stand for 2^32 names), and where memory ends
 * it aborts. Symbol files are foreign, so:
 *
 *  - its object file is linked with malloc, realloc, free and abort renamed to the functions below
 *    (cmake/FzDemangle.cmake). They take from an arena with a cap, and leave by longjmp() when that
 *    is spent. The frames they leave own nothing that is not in the arena. Where there is no such
 *    object file (macOS), cxx_system.c calls the system's, which has no cap.
 *  - recursion was measured over all productions of the grammar at up to 560 bytes of stack for one
 *    byte of name (a run of 'Z'). Names up to DIRECT_MAX, or longer if the caller tells that it has
 *    STACK_PER_BYTE for each byte, are demangled on the caller's stack; others on a thread whose
 *    stack has as much.
 */
#include "symbolicator/demangle/language.h"

#include <pthread.h>
#include <setjmp.h>
#include <sys/resource.h>

#include "base/arena.h"
#include "symbolicator/demangle/cxx/cxx.h"

enum { DIRECT_MAX = 256, STACK_PER_BYTE = 1024, STACK_MIN = 256 * 1024 };
enum { STACK_STEP = 64 * 1024 }; /* a multiple of any page: macOS refuses other sizes */
enum { ROOM_MAX = 8 * 1024 * 1024 };
enum { MEMORY_PER_BYTE = 1024, MEMORY_MIN = 1024 * 1024, BLOCK_HEAD = 16 };
/* The output doubles as it grows, and a name of the longest kind has a pointer for each byte. */
enum { BLOCK_MAX = 2 * 8 * DEMANGLE_NAME_MAX };

/* Enough for nearly every name, so that the arena's first block need not be made and cleared. */
enum { SCRATCH_BYTES = 16 * 1024 };

struct run {
    _Alignas(BLOCK_HEAD) char scratch[SCRATCH_BYTES];
    size_t scratch_used;
    const char *name;
    struct fz_arena arena;
    jmp_buf out_of_bounds;
    const char *text; /* in the arena; NULL if it is no mangled name or too much */
};

/* The renamed functions get no argument that could carry the run. */
static _Thread_local struct run *current_run;

FZ_NORETURN void
fz_cxa_abort(void)
{
    longjmp(current_run->out_of_bounds, 1);
}

FZ_NORETURN void
fz_cxa_terminate(void)
{
    fz_cxa_abort();
}

FZ_NORETURN void
fz_cxa_abort_message(const char *fmt, ...)
{
    (void)fmt;
    fz_cxa_abort();
}

/* Each block is preceded by its size, for realloc. */
void *
fz_cxa_malloc(size_t size)
{
    if (size > SIZE_MAX - BLOCK_HEAD)
        fz_cxa_abort();
    struct run *run = current_run;
    size_t need = (size + 2 * BLOCK_HEAD - 1) & ~(size_t)(BLOCK_HEAD - 1);
    char *block;
    if (need >= size && need <= SCRATCH_BYTES - run->scratch_used) {
        block = run->scratch + run->scratch_used;
        run->scratch_used += need;
    } else {
        block = fz_arena_alloc(&run->arena, size + BLOCK_HEAD);
    }
    if (!block)
        fz_cxa_abort();
    memcpy(block, &size, sizeof(size));
    return block + BLOCK_HEAD;
}

void *
fz_cxa_realloc(void *block, size_t size)
{
    size_t old_size = 0;
    if (block)
        memcpy(&old_size, (char *)block - BLOCK_HEAD, sizeof(old_size));
    if (size > BLOCK_MAX)
        fz_cxa_abort();
    void *grown = fz_cxa_malloc(size);
    if (block)
        memcpy(grown, block, old_size < size ? old_size : size);
    return grown;
}

void
fz_cxa_free(void *block)
{
    (void)block; /* the arena frees all at once */
}

void
fz_cxa_delete(void *block, size_t size)
{
    (void)block;
    (void)size;
}

static void *
run_demangler(void *user)
{
    struct run *run = user;
    current_run = run;
    if (setjmp(run->out_of_bounds) == 0) {
        int status = 0;
        run->text = fz_cxa_demangle(run->name, NULL, NULL, &status);
    } else {
        run->text = NULL;
    }
    current_run = NULL;
    return NULL;
}

/* False if there can be no such thread here; the name then stays as it was. */
static bool
run_on_thread(struct run *run, size_t name_len)
{
    pthread_attr_t attributes;
    pthread_t thread;
    if (pthread_attr_init(&attributes) != 0)
        return false;
    size_t stack = STACK_MIN + name_len * STACK_PER_BYTE;
    stack = (stack + STACK_STEP - 1) / STACK_STEP * STACK_STEP;
    bool started = pthread_attr_setstacksize(&attributes, stack) == 0 &&
                   pthread_create(&thread, &attributes, run_demangler, run) == 0;
    pthread_attr_destroy(&attributes);
    return started && pthread_join(thread, NULL) == 0;
}

size_t
sym_demangle_stack_room(void)
{
    /* It grows up to the limit as it was when the process began; half of it is left to others. */
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) != 0)
        return 0;
    return limit.rlim_cur < ROOM_MAX ? (size_t)limit.rlim_cur / 2 : ROOM_MAX / 2;
}

bool
demangle_cxx(const char *name, const struct sym_demangle_options *options, struct fz_buffer *out)
{
    struct run run; /* not initialised as a whole: its scratch would be cleared each time */
    run.scratch_used = 0;
    run.name = name;
    run.text = NULL;
    size_t len = strlen(name);
    fz_arena_init(&run.arena, MEMORY_MIN + len * MEMORY_PER_BYTE);
    if (len <= DIRECT_MAX || len < options->stack_room / STACK_PER_BYTE)
        run_demangler(&run);
    else if (!run_on_thread(&run, len))
        run.text = NULL;
    struct fz_span text = fz_span_cstr(run.text);
    bool done = text.len > 0 && text.len <= DEMANGLE_TEXT_MAX;
    if (done && options->simplified)
        demangle_cxx_simplify(text, out);
    else if (done)
        fz_buffer_append(out, text.data, text.len);
    fz_arena_deinit(&run.arena);
    return done;
}
