/* Any text as a Rust name, in each style: results have a limit and are UTF-8, and a refused name
 * leaves no text. */
#include "symbolicator/demangle/rust/rust.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "symbolicator/demangle/language.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    char *name = malloc(size + 2);
    struct fz_buffer out;
    if (!name)
        return 0;
    /* Half of the inputs get the prefix of v0, so that the fuzzer need not find it. */
    const char *prefix = data[0] & 4 ? "_R" : "";
    size_t prefix_len = strlen(prefix);
    memcpy(name, prefix, prefix_len);
    memcpy(name + prefix_len, data + 1, size - 1);
    name[prefix_len + size - 1] = '\0';
    fz_buffer_init(&out, 0);
    bool done = sym_demangle_rust_style(name, (enum sym_rust_style)(data[0] % 3), &out);
    if (done ? out.len == 0 || out.len > DEMANGLE_TEXT_MAX : out.len != 0)
        __builtin_trap();
    if (!fz_text_is_utf8(fz_buffer_span(&out)))
        __builtin_trap();
    fz_buffer_deinit(&out);
    free(name);
    return 0;
}
