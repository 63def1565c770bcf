/*
 * C++ text as a person would write it:
 *
 *   std::__1::vector<int, std::__1::allocator<int>>                              std::vector<int>
 *   std::__1::basic_string<char, std::__1::char_traits<char>, ...allocator<char>>  std::string
 *
 * Inline namespaces of the standard libraries and template arguments that are the default of their
 * parameter are left out. Each pass reads the text once and counts brackets, without recursion.
 */
#include "symbolicator/demangle/language.h"

#include "base/text.h"

static const char *const inline_namespaces[] = {"std::__1::", "std::__cxx11::", "std::__ndk1::"};

/* As they are without inline namespaces. */
static const char *const defaults[] = {
    ", std::allocator<", ", std::char_traits<", ", std::default_delete<",
    ", std::less<",      ", std::hash<",        ", std::equal_to<",
};

static const struct {
    const char *text, *name;
} aliases[] = {
    {"std::basic_string<char>", "std::string"},
    {"std::basic_string<wchar_t>", "std::wstring"},
    {"std::basic_string_view<char>", "std::string_view"},
    {"std::basic_ostream<char>", "std::ostream"},
    {"std::basic_istream<char>", "std::istream"},
};

static bool
starts(struct fz_span text, size_t at, const char *with)
{
    size_t len = strlen(with);
    return len <= text.len - at && memcmp(text.data + at, with, len) == 0;
}

static void
drop_inline_namespaces(struct fz_span text, struct fz_buffer *out)
{
    for (size_t i = 0; i < text.len;) {
        size_t skip = 0;
        for (size_t k = 0; k < FZ_ARRAY_LEN(inline_namespaces) && !skip; k++) {
            if (starts(text, i, inline_namespaces[k]))
                skip = strlen(inline_namespaces[k]);
        }
        /* The outer namespace stays: "std::__1::" becomes "std::". */
        if (skip)
            fz_buffer_text(out, "std::");
        else
            fz_buffer_char(out, (char)text.data[i]);
        i += skip ? skip : 1;
    }
}

/* One past the bracket that closes the one before `at`; 0 if it is not closed. */
static size_t
after_bracket(struct fz_span text, size_t at)
{
    for (size_t depth = 1; at < text.len; at++) {
        if (text.data[at] == '<')
            depth++;
        /* "->" of a trailing return type does not close anything. */
        else if (text.data[at] == '>' && at > 0 && text.data[at - 1] != '-' && --depth == 0)
            return at + 1;
    }
    return 0;
}

static void
drop_defaults(struct fz_span text, struct fz_buffer *out)
{
    for (size_t i = 0; i < text.len;) {
        size_t end = 0;
        /* All of them begin with a comma, which one comparison rules out for most bytes. */
        for (size_t k = 0; k < FZ_ARRAY_LEN(defaults) && text.data[i] == ',' && !end; k++) {
            if (starts(text, i, defaults[k]))
                end = after_bracket(text, i + strlen(defaults[k]));
        }
        /* Only a whole argument goes: it ends the list, or another one follows. */
        if (end && end < text.len && text.data[end] == ' ' && starts(text, end, " >"))
            end++;
        if (end && end < text.len && (text.data[end] == '>' || text.data[end] == ',')) {
            i = end;
            continue;
        }
        fz_buffer_char(out, (char)text.data[i++]);
    }
}

void
sym_demangle_cxx_simplify(struct fz_span text, struct fz_buffer *out)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer plain = fz_buffer_make(DEMANGLE_TEXT_MAX);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer bare = fz_buffer_make(DEMANGLE_TEXT_MAX);
    /* First, because defaults and aliases are spelled without inline namespaces. */
    drop_inline_namespaces(text, &plain);
    drop_defaults(fz_buffer_span(&plain), &bare);
    struct fz_span rest = fz_buffer_span(&bare);
    for (size_t i = 0; i < rest.len;) {
        size_t k = 0;
        while (k < FZ_ARRAY_LEN(aliases) && !starts(rest, i, aliases[k].text))
            k++;
        if (k < FZ_ARRAY_LEN(aliases)) {
            fz_buffer_text(out, aliases[k].name);
            i += strlen(aliases[k].text);
        } else {
            fz_buffer_char(out, (char)rest.data[i++]);
        }
    }
}
