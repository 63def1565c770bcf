#include "server/resolve/types.h"

#include <ctype.h>
#include <string.h>

#include "base/buffer.h"
#include "base/text.h"
#include "symbolicator/symbolicator.h"

enum { TYPE_BYTES = 64 * 1024 };

static const char typeinfo[] = "typeinfo for ";

/*
 * Could typeid().name() of C++ have given this? Most exceptions of other languages are words, and
 * some of them would pass: "i" is int and a name that a minifier gives.
 *
 *   16kaboom_exception   N4Shop5ErrorE   St13runtime_error   a length in it
 *   Ss  PSs                                                  a substitution
 *   PKc                                                      a pointer, what throw "text" gives
 */
static bool
may_be_cxx_type(const char *name)
{
    /* Pointers, references and const, by the Itanium ABI. */
    size_t at = strspn(name, "PRKO");
    if (strpbrk(name, " .:<>()[]"))
        return false;
    if (strpbrk(name, "0123456789"))
        return isdigit((unsigned char)name[at]) || strchr("NSPRKOFAMIT", name[at]) != NULL;
    if (at > 0 && name[0] != 'K')
        return strlen(name + at) == 1 || (name[at] == 'S' && strlen(name + at) == 2);
    return name[0] == 'S' && strlen(name) == 2;
}

static bool
is_swift_type(const char *name)
{
    return fz_text_has_prefix(name, "_Tt") || fz_text_has_prefix(name, "$s") ||
           fz_text_has_prefix(name, "_$s");
}

/* The readable type in `out`; false if the name is not mangled. */
static bool
read_type(const char *name, struct fz_buffer *out)
{
    if (is_swift_type(name))
        return sym_demangle(name, false, NULL, out);
    if (fz_text_has_prefix(name, "_ZTS") || fz_text_has_prefix(name, "_ZTI"))
        /* typeid().name() lacks the prefix, the symbols of type names have it. */
        name += 4;
    else if (!may_be_cxx_type(name))
        return false;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer symbol = fz_buffer_make(TYPE_BYTES);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(TYPE_BYTES);
    /* The demangler reads symbols, not bare types: the name of the type's own symbol is one. */
    fz_buffer_printf(&symbol, "_ZTI%s", name);
    if (symbol.failed || !sym_demangle(fz_buffer_cstr(&symbol), false, NULL, &text) ||
        text.failed || !fz_text_has_prefix(fz_buffer_cstr(&text), typeinfo))
        return false;
    fz_buffer_text(out, fz_buffer_cstr(&text) + sizeof(typeinfo) - 1);
    return true;
}

enum fz_code
resolve_exception_type(struct report *report, struct fz_arena *arena, struct fz_error *err)
{
    struct report_crash *crash = &report->crash;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer type = fz_buffer_make(TYPE_BYTES);
    if (!crash->exception || crash->exception_mangled || !read_type(crash->exception, &type) ||
        type.failed)
        return FZ_OK;
    const char *readable = fz_text_clean_utf8(arena, fz_buffer_span(&type));
    if (!readable)
        return fz_arena_fail(arena, err);
    crash->exception_mangled = crash->exception;
    crash->exception = readable;
    return FZ_OK;
}
