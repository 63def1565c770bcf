/*
 * What the demangler's object file asks of a C++ runtime, so that none is linked: libc++abi's own
 * would bring an unwinder, and so the C library that it was built for.
 *
 * The demangler throws nothing, catches nothing and asks no object for its type. It was compiled so
 * that an exception would end the process; one that came from nowhere gives up the name instead.
 */
#include "symbolicator/demangle/cxx/cxx.h"

FZ_NORETURN void
fz_cxa_resume(void *exception FZ_UNUSED)
{
    fz_cxa_abort();
}

FZ_NORETURN void
fz_cxa_begin_catch(void *exception FZ_UNUSED)
{
    fz_cxa_abort();
}

FZ_NORETURN void
fz_cxa_personality(void)
{
    fz_cxa_abort();
}

/* The classes of std::type_info: only their addresses are in the demangler's tables. */
const void *const fz_cxa_class_type_info[4], *const fz_cxa_si_class_type_info[4];
