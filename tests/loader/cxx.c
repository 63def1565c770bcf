#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "loader.h"

/*
 * As much of libc++abi as classes with virtual functions need, and exceptions that no one catches: a throw calls the
 * terminate handler, where the thrown type is known. Nothing is ever caught here: there is no unwinder in the program.
 */
static void (*terminate_handler)(void);
static void *thrown_type;
static uint64_t type_info_table[8];

static void
end(void)
{
    ((void (*)(void))loader_resolve("_abort"))();
}

static void *
set_terminate(void (*handler)(void))
{
    void *old = (void *)terminate_handler;
    terminate_handler = handler;
    return old;
}

static void
throw_object(void *object, void *type, void *destroy)
{
    (void)object, (void)destroy;
    thrown_type = type;
    if (terminate_handler)
        terminate_handler();
    end();
}

static void *
current_type(void)
{
    return thrown_type;
}

static char *
demangle(const char *name, char *buffer, size_t *size, int *status)
{
    (void)name, (void)buffer, (void)size;
    *status = -1;
    return NULL;
}

static void
missing(void)
{
    fprintf(stderr, "loader: a pure virtual function or a landing pad was called\n");
    _Exit(122);
}

const struct loader_symbol loader_symbols_cxx[] = {
    {"__ZSt13set_terminatePFvvE", set_terminate},
    {"___cxa_allocate_exception", malloc},
    {"___cxa_throw", throw_object},
    {"___cxa_rethrow", end},
    {"___cxa_current_exception_type", current_type},
    {"___cxa_demangle", demangle},
    {"___cxa_begin_catch", missing},
    {"___cxa_end_catch", missing},
    {"___cxa_pure_virtual", missing},
    {"___gxx_personality_v0", missing},
    {"__Unwind_Resume", missing},
    {"__ZSt9terminatev", end},
    {"__ZTISt9exception", type_info_table},
    {"__ZTVN10__cxxabiv117__class_type_infoE", type_info_table},
    {"__ZTVN10__cxxabiv120__si_class_type_infoE", type_info_table},
    {NULL, NULL},
};
