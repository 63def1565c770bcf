// The type and what() of an uncaught C++ exception, in std::terminate(), where the throwing frames are still on the stack.
// An app without C++ may leave this file out together with its call in install.c.
#include <cstdlib>
#include <cxxabi.h>
#include <exception>
#include <typeinfo>

#include "../include/framezero.h"

extern "C" void framezero_terminate_install(void);

static std::terminate_handler previous;

static void
on_terminate()
{
    const std::type_info *type = abi::__cxa_current_exception_type();
    if (type) {
        int status = -1;
        char *readable = abi::__cxa_demangle(type->name(), nullptr, nullptr, &status);
        const char *name = status == 0 && readable ? readable : type->name();
        framezero_note_exception(name, nullptr, nullptr, 0);
        try {
            throw;
        } catch (const std::exception &exception) {
            framezero_note_exception(name, exception.what(), nullptr, 0);
        } catch (...) {
            // An Objective-C exception, too: the previous handler calls the one of exceptions.c, which knows more.
        }
    }
    if (previous)
        previous();
    std::abort();
}

void
framezero_terminate_install(void)
{
    previous = std::set_terminate(on_terminate);
}
