/* Any text as a name: results have a limit, and refused names are returned unchanged. */
#include "symbolicator/symbolicator.h"

#include <stdlib.h>
#include <string.h>

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct sym_demangle_options options = {.simplified = data[0] & 1};
    bool is_macho_symbol = data[0] & 2;
    char *name = malloc(size);
    struct fz_buffer out;
    if (!name)
        return 0;
    memcpy(name, data + 1, size - 1);
    name[size - 1] = '\0';
    fz_buffer_init(&out, 0);
    bool done = sym_demangle(name, is_macho_symbol, &options, &out);
    const char *plain = name + (is_macho_symbol && name[0] == '_');
    if (!done && strcmp(fz_buffer_cstr(&out), plain) != 0)
        __builtin_trap();
    if (done && out.len > 128 * 1024)
        __builtin_trap();
    fz_buffer_deinit(&out);
    free(name);
    return 0;
}
