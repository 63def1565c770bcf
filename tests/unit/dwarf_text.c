#include "tests/unit/dwarf_text.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

enum { OPEN_MAX = 8, S_CODE = 0x400 };

static void
put_int(struct fz_buffer *out, bool big_endian, unsigned len, uint64_t value)
{
    for (unsigned i = 0; i < len; i++)
        fz_buffer_char(out, (char)(value >> 8 * (big_endian ? len - 1 - i : i)));
}

static void
put_uleb(struct fz_buffer *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        fz_buffer_char(out, (char)(value | 0x80));
    fz_buffer_char(out, (char)value);
}

static void
put_sleb(struct fz_buffer *out, int64_t value)
{
    for (; value < -64 || value > 63; value = value / 128 - (value % 128 < 0))
        fz_buffer_char(out, (char)((uint64_t)value | 0x80));
    fz_buffer_char(out, (char)((uint64_t)value & 0x7f));
}

void
dwarf_text_write(const char *text, bool big_endian, struct fz_buffer *out)
{
    size_t open[OPEN_MAX], n_open = 0;
    unsigned sizes[OPEN_MAX];
    for (const char *p = text; *p;) {
        char *end = NULL;
        if (isspace((unsigned char)*p)) {
            p++;
        } else if (*p == '{' || *p == '[' || *p == '(') {
            assert(n_open < OPEN_MAX);
            if (*p == '[')
                put_int(out, big_endian, 4, 0xffffffff);
            sizes[n_open] = *p == '{' ? 4 : 8;
            open[n_open] = out->len;
            put_int(out, big_endian, sizes[n_open++], 0);
            p++;
        } else if (*p == '}' || *p == ']' || *p == ')') {
            assert(n_open > 0);
            size_t at = open[--n_open], size = sizes[n_open], len = out->len - at - size;
            for (unsigned i = 0; i < size; i++)
                out->data[at + i] = (char)(len >> 8 * (big_endian ? size - 1 - i : i));
            p++;
        } else if (*p == '\'') {
            for (p++; *p != '\''; p++) {
                assert(*p);
                fz_buffer_char(out, *p);
            }
            fz_buffer_char(out, 0);
            p++;
        } else if (*p == 'u') {
            put_uleb(out, strtoull(p + 1, &end, 10));
            p = end;
        } else if (*p == 's') {
            put_sleb(out, strtoll(p + 1, &end, 10));
            p = end;
        } else {
            uint64_t value = strtoull(p, &end, 16);
            unsigned len = 1;
            assert(end > p);
            if (*end == ':') {
                len = (unsigned)value;
                value = strtoull(end + 1, &end, 16);
            }
            put_int(out, big_endian, len, value);
            p = end;
        }
    }
    assert(n_open == 0 && !out->failed);
}

void
dwarf_sample_init(struct dwarf_sample *s, const struct dwarf_text *text)
{
    const struct {
        const char *name, *text;
    } all[DWARF_TEXT_SECTIONS] = {
        {"__debug_info", text->info},         {"__debug_abbrev", text->abbrev},
        {"__debug_line", text->line},         {"__debug_ranges", text->ranges},
        {"__debug_rnglists", text->rnglists}, {"__debug_str", text->str},
        {"__debug_line_str", text->line_str}, {"__debug_str_offs", text->str_offsets},
        {"__debug_addr", text->addr},         {"__debug_types", text->types},
        {"__debug_loc", text->loc},           {"__debug_loclists", text->loclists},
    };
    *s = (struct dwarf_sample){.sections = {{.segment = "__TEXT",
                                             .name = "__text",
                                             .addr = 0x1000,
                                             .size = 0xff000,
                                             .flags = S_CODE}}};
    size_t n = 1;
    for (size_t i = 0; i < DWARF_TEXT_SECTIONS; i++) {
        fz_buffer_init(&s->bytes[i], 0);
        if (!all[i].text)
            continue;
        dwarf_text_write(all[i].text, text->big_endian, &s->bytes[i]);
        struct sym_section *section = &s->sections[n++];
        snprintf(section->segment, sizeof(section->segment), "__DWARF");
        snprintf(section->name, sizeof(section->name), "%s", all[i].name);
        section->bytes = fz_buffer_span(&s->bytes[i]);
    }
    s->macho = (struct sym_macho){.cputype = FZ_ARCH_ARM64,
                                  .is_64 = true,
                                  .big_endian = text->big_endian,
                                  .sections = s->sections,
                                  .n_sections = n};
}

void
dwarf_sample_deinit(struct dwarf_sample *s)
{
    for (size_t i = 0; i < DWARF_TEXT_SECTIONS; i++)
        fz_buffer_deinit(&s->bytes[i]);
}
