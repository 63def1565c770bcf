/*
 * C++ names through the Itanium demangler of libc++abi, kept within bounds.
 *
 * That demangler trusts its input: it recurses as deep as the name nests, its output doubles with
 * every nested substitution (335 bytes of `S_IS0_S0_E` expand to 2^32 names), and it aborts when
 * memory is exhausted. Symbol files are untrusted, so:
 *
 *  - its object file is linked with malloc, realloc, free and abort renamed to those of runtime.c
 *    (cmake/FzDemangle.cmake). They allocate from an arena with a limit, and leave by longjmp()
 * when
 *    it is exhausted. The frames that this skips own nothing outside the arena. Where there is no
 *    such object file (macOS), system.c calls the system's demangler, which has no limit.
 *  - recursion was measured over all productions of the grammar at up to 560 bytes of stack for one
 *    byte of name (a run of 'Z'). Names up to DIRECT_MAX bytes, and longer ones if the caller
 *    has STACK_PER_BYTE bytes of stack for each byte, are demangled on the caller's stack; others
 *    on a thread with a stack of that size.
 */
#include "symbolicator/demangle/cxx/cxx.h"

#include <pthread.h>
#include <string.h>
#include <sys/resource.h>

#include "symbolicator/demangle/language.h"

enum { DIRECT_MAX = 256, STACK_PER_BYTE = 1024, STACK_MIN = 256 * 1024 };
enum { STACK_STEP = 64 * 1024 }; /* a multiple of every page size: macOS refuses others */
enum { ROOM_MAX = 8 * 1024 * 1024 };
enum { MEMORY_PER_BYTE = 1024, MEMORY_MIN = 1024 * 1024 };

struct run {
    struct sym_cxa_run memory;
    const char *name;
    const char *text; /* in the arena; NULL if the name is not mangled, or too large */
};

static void *
run_demangler(void *user)
{
    struct run *run = user;
    /* The allocation functions find the run by thread. */
    sym_cxa_enter(&run->memory);
    if (setjmp(run->memory.out_of_bounds) == 0) {
        int status = 0;
        run->text = sym_cxa_demangle(run->name, NULL, NULL, &status);
    } else {
        /* What the demangler allocated is in the arena, which the caller frees. */
        run->text = NULL;
    }
    sym_cxa_enter(NULL);
    return NULL;
}

/* False if no thread can be created; the name then stays mangled. */
static bool
run_on_thread(struct run *run, size_t name_len)
{
    pthread_attr_t attributes;
    pthread_t thread;
    if (pthread_attr_init(&attributes) != 0)
        return false;
    /* Nearly twice the measured need: another build of libc++abi may have larger frames. */
    size_t stack = STACK_MIN + name_len * STACK_PER_BYTE;
    stack = (stack + STACK_STEP - 1) / STACK_STEP * STACK_STEP;
    /* A thread rather than a larger stack for all: nearly no name needs it. */
    bool started = pthread_attr_setstacksize(&attributes, stack) == 0 &&
                   pthread_create(&thread, &attributes, run_demangler, run) == 0;
    pthread_attr_destroy(&attributes);
    return started && pthread_join(thread, NULL) == 0;
}

size_t
sym_demangle_stack_room(void)
{
    /* The stack grows up to the limit at the start of the process. Callers need the other half. */
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) != 0)
        return 0;
    return limit.rlim_cur < ROOM_MAX ? (size_t)limit.rlim_cur / 2 : ROOM_MAX / 2;
}

bool
sym_demangle_cxx(const char *name, const struct sym_demangle_options *options,
                 struct fz_buffer *out)
{
    struct run
        run; /* not initialised as a whole: clearing its scratch costs more than most names */
    /* The memory sanitizer does not see what the demangler writes. */
    if (FZ_IS_WATCHED)
        memset(&run.memory, 0, sizeof(run.memory));
    run.memory.scratch_used = 0;
    run.name = name;
    run.text = NULL;
    size_t len = strlen(name);
    fz_arena_init(&run.memory.arena, MEMORY_MIN + len * MEMORY_PER_BYTE);
    if (len <= DIRECT_MAX || len < options->stack_room / STACK_PER_BYTE)
        run_demangler(&run);
    else if (!run_on_thread(&run, len))
        run.text = NULL;
    struct fz_span text = fz_span_cstr(run.text);
    /* Substitutions can expand to megabytes that no list could show. */
    bool done = text.len > 0 && text.len <= DEMANGLE_TEXT_MAX;
    if (done && options->simplified)
        sym_demangle_cxx_simplify(text, out);
    else if (done)
        fz_buffer_append(out, text.data, text.len);
    fz_arena_deinit(&run.memory.arena);
    return done;
}
