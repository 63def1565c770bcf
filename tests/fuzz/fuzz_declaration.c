/* Any texts as linkage name and readable name: the declaration has a limit and is UTF-8, and going
 * through again does not fail. */
#include "symbolicator/demangle/declaration.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum { ARENA_MAX = 64 * 1024 };

static struct sym_declaration
find(const char *linkage, const char *readable, struct fz_arena *arena)
{
    struct sym_declaration found = {.name = NULL};
    if (sym_demangle_declaration(linkage, readable, 0, arena, &found, NULL) != FZ_OK)
        __builtin_trap(); /* the arena is large enough for four results */
    if (strlen(found.name) > SYM_DECLARATION_MAX || strlen(found.module) > SYM_DECLARATION_MAX ||
        strlen(found.removed) > SYM_DECLARATION_MAX)
        __builtin_trap();
    if (!fz_text_is_utf8(fz_span_cstr(found.name)))
        __builtin_trap();
    return found;
}

/* The first byte says how the rest is used: up to a line feed, the linkage name. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(ARENA_MAX);
    char *text = malloc(size);
    if (!text)
        return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    char *readable = strchr(text, '\n');
    if (readable)
        *readable++ = '\0';
    struct sym_declaration found =
        data[0] & 1 ? find(NULL, text, &arena) : find(text, readable, &arena);
    find(NULL, found.name, &arena);
    free(text);
    return 0;
}
