#include "symbolicator/macho/symbol_map.h"

#include <string.h>

#include "base/platform.h"
#include "base/text.h"
#include "symbolicator/macho/macho.h"

static const char MAGIC[] = "BCSymbolMap Version:";
static const char HIDDEN[] = "hidden#";
enum { UNDERSCORES_MAX = 3, DIGITS_MAX = 9, PLIST_MAX = 64 * 1024 };

bool
sym_symbol_map_has_magic(struct fz_span file)
{
    struct fz_span head;
    return fz_span_sub(file, 0, sizeof(MAGIC) - 1, &head) && fz_span_is(head, MAGIC);
}

static bool
is_blank(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static struct fz_span
trim(struct fz_span text)
{
    while (text.len && is_blank(text.data[0]))
        text = fz_span_make(text.data + 1, text.len - 1);
    while (text.len && is_blank(text.data[text.len - 1]))
        text.len--;
    return text;
}

/* Take the line before the next newline off `rest`. */
static struct fz_span
next_line(struct fz_span *rest)
{
    struct fz_span line = *rest;
    const uint8_t *end = rest->len ? memchr(rest->data, '\n', rest->len) : NULL;
    if (!end) {
        *rest = (struct fz_span){NULL, 0};
    } else {
        line.len = (size_t)(end - rest->data);
        *rest = fz_span_make(end + 1, rest->len - line.len - 1);
    }
    /* Maps that went through Windows tools. */
    if (line.len && line.data[line.len - 1] == '\r')
        line.len--;
    return line;
}

static size_t
count_lines(struct fz_span rest)
{
    size_t n = 0;
    for (; rest.len > 0; n++)
        next_line(&rest);
    return n;
}

enum fz_code
sym_symbol_map_read(struct fz_span file, struct fz_arena *arena, struct sym_symbol_map *ret,
                    struct fz_error *err)
{
    if (!sym_symbol_map_has_magic(file))
        return fz_fail(err, FZ_E_UNSUPPORTED, "not a BCSymbolMap");
    if (file.len >= UINT32_MAX / 2) /* an offset may count each byte twice */
        return fz_fail(err, FZ_E_LIMIT, "a BCSymbolMap of %zu bytes", file.len);
    struct fz_span version = trim(next_line(&file));
    version = trim(fz_span_make(version.data + sizeof(MAGIC) - 1, version.len - sizeof(MAGIC) + 1));
    bool is_first = fz_span_is(version, "1.0");
    if (!is_first && !fz_span_is(version, "2.0"))
        return fz_fail(err, FZ_E_UNSUPPORTED, "a BCSymbolMap of version %.*s; 1.0 and 2.0 are read",
                       version.len < 16 ? (int)version.len : 16, (const char *)version.data);
    struct sym_symbol_map map = {.n = count_lines(file), .adds_underscore = is_first};
    /* A name may get an underscore before and a NUL after it. */
    char *text = fz_arena_alloc(arena, file.len + 2 * map.n + 1);
    uint32_t *names = fz_arena_array(arena, map.n, sizeof(*names));
    if (!text || !names)
        return fz_arena_fail(arena, err);
    size_t at = 0;
    for (size_t i = 0; i < map.n; i++) {
        struct fz_span line = next_line(&file);
        /* The compiler's mark for "not to be changed any more", of Objective-C names. */
        bool is_final = line.len && line.data[0] == 1;
        if (is_final)
            line = fz_span_make(line.data + 1, line.len - 1);
        /* Version 1.0 lists names without the underscore of Mach-O: it is kept in front of the
         * name, for those who need it. */
        if (is_first)
            text[at++] = is_final ? '\0' : '_';
        names[i] = (uint32_t)at;
        if (line.len)
            memcpy(text + at, line.data, line.len);
        at += line.len + 1; /* the arena's bytes are zero */
    }
    map.text = text;
    map.names = names;
    *ret = map;
    return FZ_OK;
}

/* What follows "hidden#"; *ret_underscores before it. Empty if the name is not hidden. */
static struct fz_span
hidden_number(struct fz_span name, size_t *ret_underscores)
{
    struct fz_span head;
    size_t n = 0, prefix = sizeof(HIDDEN) - 1;
    while (n < name.len && n < UNDERSCORES_MAX && name.data[n] == '_')
        n++;
    *ret_underscores = n;
    if (n == 0 || !fz_span_sub(name, n, prefix, &head) || !fz_span_is(head, HIDDEN) ||
        name.len == n + prefix)
        return (struct fz_span){NULL, 0};
    return fz_span_make(name.data + n + prefix, name.len - n - prefix);
}

bool
sym_symbol_map_is_hidden(struct fz_span name)
{
    size_t n_underscores;
    struct fz_span number = hidden_number(name, &n_underscores);
    return number.len > 0 && number.data[0] >= '0' && number.data[0] <= '9';
}

bool
sym_macho_has_hidden_names(const struct sym_macho *macho)
{
    static const char mark[] = "_hidden#";
    const struct sym_section *strings = sym_macho_section(macho, "__DWARF", "__debug_str");
    const struct fz_span places[] = {macho->string_table,
                                     strings ? strings->bytes : (struct fz_span){NULL, 0}};
    /* The string tables hold the names of symbols and of DWARF: no table of symbols is read for
     * this. */
    for (size_t i = 0; i < FZ_ARRAY_LEN(places); i++) {
        if (fz_platform_find(places[i].data, places[i].len, mark, sizeof(mark) - 1))
            return true;
    }
    return false;
}

struct fz_span
sym_symbol_map_name(const struct sym_symbol_map *map, struct fz_span name)
{
    size_t n_underscores, n_digits = 0;
    uint64_t line = 0;
    if (!map)
        return name;
    struct fz_span number = hidden_number(name, &n_underscores);
    /* Nine digits cannot overflow, and no map has so many lines. */
    for (; n_digits < number.len && n_digits <= DIGITS_MAX; n_digits++) {
        uint8_t c = number.data[n_digits];
        if (c < '0' || c > '9')
            break;
        line = line * 10 + (c - '0');
    }
    if (n_digits == 0 || n_digits > DIGITS_MAX || line >= map->n ||
        (n_digits < number.len && number.data[n_digits] != '_'))
        return name;
    const char *found = map->text + map->names[line];
    /* An empty line is a name that the map leaves hidden. */
    if (*found == '\0')
        return name;
    if (map->adds_underscore && n_underscores == UNDERSCORES_MAX && found[-1] == '_')
        found--;
    return fz_span_cstr(found);
}

bool
sym_symbol_map_path_uuid(const char *path, const char *suffix, struct fz_uuid *ret)
{
    struct fz_span name = fz_span_cstr(fz_text_base_name(path)), end;
    size_t len = strlen(suffix);
    if (name.len <= len || !fz_span_sub(name, name.len - len, len, &end) ||
        !fz_span_is(end, suffix))
        return false;
    return fz_uuid_parse(fz_span_make(name.data, name.len - len), ret);
}

/* The bytes after `text`; empty if it does not occur. */
static struct fz_span
bytes_after(struct fz_span bytes, const char *text)
{
    size_t len = strlen(text);
    for (size_t i = 0; i + len <= bytes.len; i++) {
        if (memcmp(bytes.data + i, text, len) == 0)
            return fz_span_make(bytes.data + i + len, bytes.len - i - len);
    }
    return (struct fz_span){NULL, 0};
}

bool
sym_symbol_map_original(struct fz_span plist, struct fz_uuid *ret)
{
    static const char STRING[] = "<string>";
    struct fz_span head;
    /* Real ones have a few hundred bytes; others need not be searched. */
    if (plist.len > PLIST_MAX)
        return false;
    struct fz_span value = trim(bytes_after(plist, "<key>DBGOriginalUUID</key>"));
    if (!fz_span_sub(value, 0, sizeof(STRING) - 1, &head) || !fz_span_is(head, STRING))
        return false;
    value = fz_span_make(value.data + head.len, value.len - head.len);
    /* No XML parser for one value that Xcode writes in one form. */
    const uint8_t *end = value.len ? memchr(value.data, '<', value.len) : NULL;
    return end && fz_uuid_parse(trim(fz_span_make(value.data, (size_t)(end - value.data))), ret);
}
