#include <stddef.h>

#include "loader.h"

const struct loader_symbol loader_symbols_messages[] = {{NULL, NULL}};

bool
loader_exception_raise(struct loader_thread *thread, int type, const uint64_t codes[2])
{
    (void)thread, (void)type, (void)codes;
    return false;
}
