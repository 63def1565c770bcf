#include "app.h"

#include <pthread.h>
#include <unistd.h>

void *volatile app_hidden;
int lib_apply(int (*callback)(void *), void *argument);
int lib_poke(int *where, int value);
void lib_say(const char *message);

enum kind { KIND_BOOK = 3, KIND_FOOD = 7 };
struct item {
    int id;
    double price;
    struct item *next;
    enum kind kind;
    unsigned count : 5;
    char name[16];
};

static int served = 40;

static struct item *
make_items(void)
{
    struct item *first = malloc(sizeof(*first)), *second = malloc(sizeof(*second));
    *first = (struct item){7, 9.5, second, KIND_FOOD, 3, "apple"};
    *second = (struct item){8, 1.25, NULL, KIND_BOOK, 19, "atlas"};
    return first;
}

/* ---- the ways --------------------------------------------------------------------------------- */

NOINLINE static int
leaf(const struct item *item, int *where)
{
    int twice = item->id * 2;
    *where = twice;
    return twice;
}

NOINLINE static int
calls_leaf(const struct item *item, int *where)
{
    int id = item->id;
    TRUTH("id", "%d", id);
    CHAIN("leaf calls_leaf main");
    return AFTER(leaf(item, where) + id);
}

NOINLINE static int
recurse(const struct item *item, int depth, int *where)
{
    int local = depth * 10 + item->id;
    if (depth == 0) {
        TRUTH("depth", "%d", depth);
        TRUTH("local", "%d", local);
        served++;
        *where = local;
    }
    return AFTER(depth == 0 ? local : recurse(item, depth - 1, where) + local);
}

INLINE int
innermost(int *where, int value)
{
    int squared = value * value;
    TRUTH("squared", "%d", squared);
    *where = squared;
    return squared;
}

INLINE int
middle(int *where, int value)
{
    int next = value + 1;
    return innermost(where, next) + next;
}

NOINLINE static int
inlines(int *where, int value)
{
    TRUTH("value", "%d", value);
    CHAIN("innermost middle inlines main");
    return AFTER(middle(where, value));
}

NOINLINE static int
callback(void *argument)
{
    int *where = argument;
    int seen = served;
    TRUTH("seen", "%d", seen);
    *where = seen;
    return AFTER(seen);
}

NOINLINE static int
through_library(int *where)
{
    CHAIN("callback ? through_library main");
    return AFTER(lib_apply(callback, where));
}

NOINLINE static int
in_library(int *where)
{
    int value = served + 2;
    TRUTH("value", "%d", value);
    CHAIN("? in_library main");
    return AFTER(lib_poke(where, value) + value);
}

NOINLINE static int
overflow(int depth)
{
    volatile char big[400];
    big[depth % 400] = (char)depth;
    return AFTER(overflow(depth + 1) + big[depth % 400]);
}

NOINLINE static int
jump_to_null(int argument)
{
    int (*volatile function)(int) = (int (*)(int))app_hidden;
    CHAIN("? jump_to_null main");
    return AFTER(function(argument) + argument);
}

NOINLINE static int
smashed(int *where)
{
    CHAIN("smashed main");
#if defined(__x86_64__)
    __asm__ volatile("movq $0x1234, %%rbp\n\tmovl $1, (%0)" : : "r"(where) : "memory");
#else
    __asm__ volatile("mov x29, #0x1234\n\tstr wzr, [%0]" : : "r"(where) : "memory");
#endif
    return AFTER(1);
}

NOINLINE static int
last_of_tail(int *where)
{
    *where = 5;
    return AFTER(*where);
}

NOINLINE static int
tail(int *where)
{
    served++;
    return last_of_tail(where);
}

static void
on_user_signal(int number)
{
    int seen = number;
    TRUTH("seen", "%d", seen);
    int *where = app_hidden;
    *where = seen;
    AFTER(seen);
}

NOINLINE static int
in_handler(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof(action));
    action.sa_handler = on_user_signal;
    sigaction(30, &action, NULL);
    CHAIN("on_user_signal * in_handler main");
    return AFTER(raise(30));
}

NOINLINE static int
aborts(void)
{
    int left = served;
    TRUTH("left", "%d", left);
    CHAIN("* aborts main");
    if (left)
        abort();
    return left;
}

static void *
thread_main(void *argument)
{
    pthread_setname_np("second");
    *(int *)argument = 1;
    return argument;
}

NOINLINE static int
on_thread(void *where)
{
    pthread_t thread;
    CHAIN("thread_main");
    pthread_create(&thread, NULL, thread_main, where);
    pthread_join(thread, NULL);
    return AFTER(1);
}

NOINLINE static int
hangs(void)
{
    CHAIN("* hangs main");
    framezero_beat();
    for (int i = 0; i < 15; i++)
        usleep(100000);
    return AFTER(1);
}

static void *
racing(void *argument)
{
    *(int *)argument = 1;
    return argument;
}

/* Two threads crash at the same time. */
NOINLINE static int
race(void *where)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, racing, where);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    return AFTER(1);
}

static void *
sleeping(void *argument)
{
    for (;;)
        usleep(100000);
    return argument;
}

NOINLINE static int
crowd(int *where)
{
    pthread_t thread;
    for (int i = 0; i < 299; i++)
        pthread_create(&thread, NULL, sleeping, NULL);
    usleep(200000);
    CHAIN("crowd main");
    *where = 1;
    return AFTER(1);
}

int
main(int argc, char **argv)
{
    struct item *items = make_items();
    int code = app_start(argc, argv);
    if (code)
        return code;
    int *nowhere = (int *)app_hidden;
    const char *way = argv[2];
    int result = 0;
    if (!strcmp(way, "leaf"))
        result = calls_leaf(items, nowhere);
    if (!strcmp(way, "recursion")) {
        CHAIN("recurse recurse recurse recurse main");
        result = recurse(items, 3, nowhere);
    }
    if (!strcmp(way, "inlines"))
        result = inlines(nowhere, argc + 6);
    if (!strcmp(way, "callback"))
        result = through_library(nowhere);
    if (!strcmp(way, "library"))
        result = in_library(nowhere);
    if (!strcmp(way, "overflow")) {
        CHAIN("overflow overflow overflow overflow overflow");
        result = overflow(1);
    }
    if (!strcmp(way, "null"))
        result = jump_to_null(argc);
    if (!strcmp(way, "smashed"))
        result = smashed(nowhere);
    if (!strcmp(way, "tail")) {
        CHAIN("last_of_tail main");
        result = AFTER(tail(nowhere));
    }
    if (!strcmp(way, "handler"))
        result = in_handler();
    if (!strcmp(way, "abort"))
        result = aborts();
    if (!strcmp(way, "says")) {
        lib_say("Fatal error: Index out of range");
        result = aborts();
    }
    if (!strcmp(way, "thread"))
        result = on_thread(nowhere);
    if (!strcmp(way, "hang"))
        result = hangs();
    if (!strcmp(way, "race"))
        result = race(nowhere);
    if (!strcmp(way, "crowd"))
        result = crowd(nowhere);
    return AFTER(result) & 1;
}
