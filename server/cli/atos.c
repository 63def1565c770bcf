#include "server/cli/atos.h"

#include <limits.h>

#include "base/text.h"
#include "symbolicator/symbolicator.h"

bool
atos_parse(const char *text, uint64_t *ret)
{
    /* A leading 0 means hex, as in the zero-padded addresses of reports. */
    bool is_decimal = text[0] != '0' && text[0] != '\0';
    for (const char *p = text; *p && is_decimal; p++)
        is_decimal = *p >= '0' && *p <= '9';
    return is_decimal ? fz_text_u64(fz_span_cstr(text), ret)
                      : fz_text_hex_u64(fz_span_cstr(text), ret);
}

/* The address as it is in the symbol file. */
static uint64_t
file_address(const struct sym_index *index, uint64_t addr, const struct atos_options *options)
{
    struct sym_index_info info;
    /* The vmaddr of __TEXT: 4 GiB in programs of 64 bits, 0 in libraries. */
    sym_index_info(index, &info);
    if (options->has_load)
        /* Unsigned: an address below the load address wraps around and is found nowhere. */
        return addr - options->load + info.text_vmaddr;
    if (options->has_slide)
        return addr - options->slide;
    return options->is_offset ? addr + info.text_vmaddr : addr;
}

/* The name of one frame with the place of one: `offset` into the function if it has no file. */
static void
append_frame(const struct sym_frame *named, const struct sym_frame *place, const char *image,
             uint64_t offset, const struct atos_options *options, struct fz_buffer *out)
{
    /* atos leaves the names of blocks as the compiler made them. */
    static const struct sym_demangle_options names = {.keep_blocks = true};
    bool is_symbol = named->source != SYM_SOURCE_DWARF;
    fz_ignore(sym_demangle(named->name, is_symbol, &names, out)); /* or as it was */
    fz_buffer_printf(out, " (in %s)", image);
    if (place->file[0] == '\0') {
        fz_buffer_printf(out, " + %llu", (unsigned long long)offset);
        return;
    }
    char path[PATH_MAX];
    sym_frame_path(place, path, sizeof(path));
    fz_buffer_printf(out, " (%s:%u)", options->full_path ? path : fz_text_base_name(path),
                     place->line);
}

void
atos_line(const struct sym_index *index, const char *image, const char *word,
          const struct atos_options *options, struct fz_buffer *out)
{
    struct sym_frame frames[SYM_FRAMES_MAX];
    uint64_t addr = 0;
    size_t n = 0;
    if (atos_parse(word, &addr)) {
        addr = file_address(index, addr, options);
        n = sym_index_lookup(index, addr, frames, SYM_FRAMES_MAX);
    }
    /* Function starts alone give a place, but no name. */
    if (n == 0 || frames[n - 1].name[0] == '\0') {
        fz_buffer_text(out, word);
        fz_buffer_char(out, '\n');
        return;
    }
    /* Inlined calls have no start of their own. */
    uint64_t offset = addr - frames[n - 1].function_start;
    if (!options->inlines) {
        /* As atos does: the function that has the frame, at the place of the code itself, even if
         * that was inlined from another file. */
        append_frame(&frames[n - 1], &frames[0], image, offset, options, out);
        fz_buffer_char(out, '\n');
        return;
    }
    for (size_t i = 0; i < n; i++) {
        append_frame(&frames[i], &frames[i], image, offset, options, out);
        if (i + 1 < n)
            fz_buffer_text(out, options->delimiter ? options->delimiter : "\n");
    }
    fz_buffer_char(out, '\n');
}
