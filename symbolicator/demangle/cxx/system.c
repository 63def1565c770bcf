/*
 * The system's own C++ demangler, for builds that cannot take it out of libc++abi.a: see cxx.c. A
 * file of its own because only those builds compile it (cmake/FzDemangle.cmake).
 *
 * Its memory has no limit: a hostile name expands to gigabytes. Only the command line is built this
 * way; its files are the user's own.
 */
#include <stdlib.h>
#include <string.h>

#include "symbolicator/demangle/cxx/cxx.h"
#include "symbolicator/demangle/language.h"

char *__cxa_demangle(const char *name, char *buffer, size_t *len, int *status);

char *
sym_cxa_demangle(const char *name, char *buffer FZ_UNUSED, size_t *len FZ_UNUSED, int *status)
{
    char *text = __cxa_demangle(name, NULL, NULL, status);
    if (!text)
        return NULL;
    size_t size = strlen(text) + 1;
    char *copy = size <= DEMANGLE_TEXT_MAX ? sym_cxa_malloc(size) : NULL;
    if (copy)
        memcpy(copy, text, size);
    free(text);
    return copy;
}
