/*
 * The system's own C++ demangler, where that of libc++abi.a cannot be taken apart: see cxx.c.
 *
 * Its memory is the C library's, and nothing bounds it: a name that was made to expand to gigabytes
 * does. Only the command line is built so (cmake/FzDemangle.cmake); its files are the user's own.
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
