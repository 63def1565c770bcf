#include "tests/unit/macho_writer.h"

#include <assert.h>

/* Header, then commands, then what they point to in the order: sections, symbols, strings, function
 * starts. One pass measures (positions), one writes. */
struct layout {
    size_t sections[WRITER_MAX], symbols, strings, strings_size, starts, end;
};

struct macho_writer
macho_writer_make(void)
{
    return (struct macho_writer){.is_64 = true, .cputype = 0x0100000c, .filetype = 10};
}

void
macho_writer_section(struct macho_writer *w, const char *segment, const char *name, uint64_t addr,
                     uint32_t flags, struct fz_span bytes)
{
    assert(w->n_sections < WRITER_MAX);
    w->sections[w->n_sections++] =
        (struct writer_section){segment, name, addr, bytes.len, flags, bytes};
}

void
macho_writer_symbol(struct macho_writer *w, const char *name, uint8_t type, uint8_t section,
                    uint16_t desc, uint64_t value)
{
    assert(w->n_symbols < WRITER_MAX);
    w->symbols[w->n_symbols++] = (struct writer_symbol){name, type, section, desc, value};
}

void
macho_write_int(struct fz_buffer *out, bool big_endian, unsigned len, uint64_t value)
{
    for (unsigned i = 0; i < len; i++)
        fz_buffer_char(out, (char)(uint8_t)(value >> (8 * (big_endian ? len - 1 - i : i))));
}

static void
put_name(struct fz_buffer *out, const char *name)
{
    char padded[17] = {0};
    strncpy(padded, name, 16);
    fz_buffer_append(out, padded, 16);
}

/* The sections from `first` on that share its segment. */
static size_t
segment_end(const struct macho_writer *w, size_t first)
{
    size_t end = first;
    while (end < w->n_sections &&
           (w->one_segment || strcmp(w->sections[end].segment, w->sections[first].segment) == 0))
        end++;
    return end;
}

static size_t
commands_size(const struct macho_writer *w, uint32_t *ret_n)
{
    size_t size = 0;
    *ret_n = 0;
    for (size_t i = 0; i < w->n_sections; i = segment_end(w, i)) {
        size += (w->is_64 ? 72u : 56u) + (segment_end(w, i) - i) * (w->is_64 ? 80u : 68u);
        (*ret_n)++;
    }
    size += (w->uuid ? 24u : 0u) + (w->n_symbols ? 24u : 0u) + (w->function_starts.len ? 16u : 0u) +
            (w->crypt_id ? (w->is_64 ? 24u : 20u) : 0u);
    *ret_n += (w->uuid ? 1u : 0u) + (w->n_symbols ? 1u : 0u) + (w->function_starts.len ? 1u : 0u) +
              (w->crypt_id ? 1u : 0u);
    return size;
}

static struct layout
measure(const struct macho_writer *w)
{
    struct layout at = {.strings_size = 1};
    uint32_t n;
    at.end = (w->is_64 ? 32u : 28u) + commands_size(w, &n);
    for (size_t i = 0; i < w->n_sections; i++) {
        at.sections[i] = at.end;
        at.end += w->sections[i].bytes.len;
    }
    at.symbols = at.end;
    at.end += w->n_symbols * (w->is_64 ? 16u : 12u);
    at.strings = at.end;
    for (size_t i = 0; i < w->n_symbols; i++)
        at.strings_size += strlen(w->symbols[i].name) + 1;
    at.end += w->n_symbols ? at.strings_size : 0;
    at.starts = at.end;
    return at;
}

static void
put_segment(const struct macho_writer *w, const struct layout *at, size_t first,
            struct fz_buffer *out)
{
    bool big = w->big_endian;
    size_t end = segment_end(w, first), filesize = 0;
    unsigned word = w->is_64 ? 8 : 4;
    uint64_t low = UINT64_MAX, high = 0;
    for (size_t i = first; i < end; i++) {
        const struct writer_section *section = &w->sections[i];
        filesize += section->bytes.len;
        low = section->addr < low ? section->addr : low;
        high = section->addr + section->size > high ? section->addr + section->size : high;
    }
    macho_write_int(out, big, 4, w->is_64 ? 0x19 : 0x1);
    macho_write_int(out, big, 4, (w->is_64 ? 72u : 56u) + (end - first) * (w->is_64 ? 80u : 68u));
    put_name(out, w->one_segment ? "" : w->sections[first].segment);
    macho_write_int(out, big, word, low);
    macho_write_int(out, big, word, high - low);
    macho_write_int(out, big, word, filesize ? at->sections[first] : 0);
    macho_write_int(out, big, word, filesize);
    macho_write_int(out, big, 4, 7); /* maxprot */
    macho_write_int(out, big, 4, 5); /* initprot */
    macho_write_int(out, big, 4, end - first);
    macho_write_int(out, big, 4, 0);
    for (size_t i = first; i < end; i++) {
        const struct writer_section *section = &w->sections[i];
        put_name(out, section->name);
        put_name(out, section->segment);
        macho_write_int(out, big, word, section->addr);
        macho_write_int(out, big, word, section->size);
        macho_write_int(out, big, 4, section->bytes.len ? at->sections[i] : 0);
        macho_write_int(out, big, 4, 0);
        macho_write_int(out, big, 4, 0);
        macho_write_int(out, big, 4, 0);
        macho_write_int(out, big, 4, section->flags);
        macho_write_int(out, big, 8, 0);
        macho_write_int(out, big, w->is_64 ? 4 : 0, 0);
    }
}

static void
put_symbols(const struct macho_writer *w, struct fz_buffer *out)
{
    size_t name_at = 1;
    for (size_t i = 0; i < w->n_symbols; i++) {
        const struct writer_symbol *symbol = &w->symbols[i];
        macho_write_int(out, w->big_endian, 4, name_at);
        macho_write_int(out, w->big_endian, 1, symbol->type);
        macho_write_int(out, w->big_endian, 1, symbol->section);
        macho_write_int(out, w->big_endian, 2, symbol->desc);
        macho_write_int(out, w->big_endian, w->is_64 ? 8 : 4, symbol->value);
        name_at += strlen(symbol->name) + 1;
    }
    if (w->n_symbols)
        fz_buffer_char(out, '\0');
    for (size_t i = 0; i < w->n_symbols; i++)
        fz_buffer_append(out, w->symbols[i].name, strlen(w->symbols[i].name) + 1);
}

static void
put_command(const struct macho_writer *w, struct fz_buffer *out, const uint64_t *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        macho_write_int(out, w->big_endian, 4, words[i]);
}

void
macho_write(const struct macho_writer *w, struct fz_buffer *out)
{
    struct layout at = measure(w);
    uint32_t n_commands;
    size_t size = commands_size(w, &n_commands);
    put_command(w, out,
                (uint64_t[]){w->is_64 ? 0xfeedfacf : 0xfeedface, w->cputype, w->cpusubtype,
                             w->filetype, n_commands, size, w->flags, 0},
                w->is_64 ? 8 : 7);
    for (size_t i = 0; i < w->n_sections; i = segment_end(w, i))
        put_segment(w, &at, i, out);
    if (w->uuid) {
        put_command(w, out, (uint64_t[]){0x1b, 24}, 2);
        fz_buffer_append(out, w->uuid, 16);
    }
    if (w->n_symbols)
        put_command(w, out,
                    (uint64_t[]){0x2, 24, at.symbols + w->symbols_moved, w->n_symbols,
                                 at.strings + w->symbols_moved, at.strings_size},
                    6);
    if (w->function_starts.len)
        put_command(w, out, (uint64_t[]){0x26, 16, at.starts, w->function_starts.len}, 4);
    if (w->crypt_id)
        put_command(w, out,
                    (uint64_t[]){w->is_64 ? 0x2c : 0x21, w->is_64 ? 24 : 20, w->crypt_offset,
                                 w->crypt_size, w->crypt_id, 0},
                    w->is_64 ? 6 : 5);
    for (size_t i = 0; i < w->n_sections; i++)
        fz_buffer_append(out, w->sections[i].bytes.data, w->sections[i].bytes.len);
    put_symbols(w, out);
    fz_buffer_append(out, w->function_starts.data, w->function_starts.len);
}

void
macho_write_fat(const struct fat_part *parts, size_t n, bool is_64, struct fz_buffer *out)
{
    unsigned word = is_64 ? 8 : 4;
    size_t at = 8 + n * (is_64 ? 32u : 20u);
    macho_write_int(out, true, 4, is_64 ? 0xcafebabf : 0xcafebabe);
    macho_write_int(out, true, 4, n);
    for (size_t i = 0; i < n; i++) {
        at = (at + 15) & ~(size_t)15;
        macho_write_int(out, true, 4, parts[i].cputype);
        macho_write_int(out, true, 4, parts[i].cpusubtype);
        macho_write_int(out, true, word, at);
        macho_write_int(out, true, word, parts[i].bytes.len);
        macho_write_int(out, true, 4, 4);
        macho_write_int(out, true, is_64 ? 4 : 0, 0);
        at += parts[i].bytes.len;
    }
    for (size_t i = 0; i < n; i++) {
        while (out->len % 16)
            fz_buffer_char(out, '\0');
        fz_buffer_append(out, parts[i].bytes.data, parts[i].bytes.len);
    }
}
