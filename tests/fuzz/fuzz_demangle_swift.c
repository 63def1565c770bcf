/* Any text as a Swift name, in both forms: results have a limit, and refused names are returned
 * unchanged. */
#include "symbolicator/symbolicator.h"

#include <stdlib.h>
#include <string.h>

static void
demangle(const char *name, bool simplified)
{
    struct sym_demangle_options options = {.simplified = simplified};
    struct fz_buffer out;
    fz_buffer_init(&out, 0);
    bool done = sym_demangle(name, false, &options, &out);
    if (!done && strcmp(fz_buffer_cstr(&out), name) != 0)
        __builtin_trap();
    if (done && out.len > 64 * 1024)
        __builtin_trap();
    fz_buffer_deinit(&out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const prefixes[] = {"", "$s", "_T0", "_T", "_TtX", "@__swiftmacro_"};
    size_t prefix = size > 0 ? data[0] % (sizeof(prefixes) / sizeof(prefixes[0])) : 0;
    size_t len = strlen(prefixes[prefix]);
    char *name = size > 0 ? malloc(len + size) : NULL;
    if (!name)
        return 0;
    memcpy(name, prefixes[prefix], len);
    memcpy(name + len, data + 1, size - 1);
    name[len + size - 1] = '\0';
    if (strncmp(name, "_Z", 2) != 0) {
        demangle(name, false);
        demangle(name, true);
    }
    free(name);
    return 0;
}
