/*
 * The header and load commands of one slice (Mach-O loader.h).
 *
 *   header      magic cputype cpusubtype filetype ncmds sizeofcmds flags [reserved]; 28 or 32 bytes
 *   command     cmd cmdsize, then the command's own fields; cmdsize bytes
 *   LC_SEGMENT  name[16] vmaddr vmsize fileoff filesize maxprot initprot nsects flags; addresses
 *               have 4 or 8 bytes
 *   section     name[16] segment[16] addr size offset align reloff nreloc flags r1 r2 [r3]
 *
 * Which section bytes are really there. A dSYM repeats the load commands of the binary, but of its
 * contents it carries only __DWARF, __LINKEDIT and sometimes __eh_frame: the other segments have
 * filesize 0 and their sections offset 0, which would point at the header. So a section has bytes
 * only if it is within the file range of its segment. (Real dSYMs: __TEXT fileoff 8192 filesize
 * 56 with __eh_frame at 8192; __text offset 0.)
 */
#include "symbolicator/macho/macho.h"

#include <stdio.h>

#include "base/reader.h"
#include "symbolicator/macho/format.h"

struct command {
    uint32_t cmd;
    size_t offset;       /* within the slice, for messages */
    struct fz_span body; /* after cmd and cmdsize */
};

struct walk {
    struct fz_reader r; /* over the load commands only */
    uint32_t left;
    bool is_second; /* the first pass has reported what is wrong */
};

struct layout {
    struct sym_macho *macho;
    struct sym_problems *problems;
    size_t room_segments, room_sections;
    uint64_t crypt_offset, crypt_size; /* of the slice's bytes; size 0 = nothing is encrypted */
};

static bool
next_command(struct walk *walk, struct sym_problems *problems, struct command *ret)
{
    if (walk->left == 0)
        return false;
    walk->left--;
    size_t offset = (size_t)walk->r.base + walk->r.pos;
    uint32_t cmd = fz_read_u32(&walk->r);
    uint32_t size = fz_read_u32(&walk->r);
    struct fz_span body = {NULL, 0};
    /* A size below that of the two fields would never advance. */
    if (size >= 8)
        body = fz_read_bytes(&walk->r, size - 8);
    if (walk->r.failed || size < 8) {
        if (!walk->is_second)
            sym_problem_add(problems, SYM_PROBLEM_BAD_LOAD_COMMAND,
                            "load command %#x at byte %zu: %u bytes do not fit; it and the %u "
                            "after it are not read",
                            cmd, offset, size, walk->left);
        walk->left = 0;
        return false;
    }
    /* The top bit, LC_REQ_DYLD, only makes dyld refuse commands that it does not know. */
    *ret = (struct command){cmd & 0x7fffffff, offset, body};
    return true;
}

static struct fz_reader
body_reader(const struct sym_macho *macho, const struct command *command)
{
    struct fz_reader r = fz_reader_make(command->body, "load command");
    r.big_endian = macho->big_endian;
    r.base = command->offset + 8;
    return r;
}

/* `len` bytes at `offset` of the slice, cut to what is there; a problem if that is less. */
static struct fz_span
slice_part(const struct layout *layout, uint64_t offset, uint64_t len, const char *what)
{
    struct fz_span bytes = layout->macho->bytes, part = {NULL, 0};
    if (len == 0 || fz_span_sub(bytes, offset, len, &part))
        return part;
    if (layout->macho->flags & MACHO_DYLIB_IN_CACHE) {
        /* Offsets are those of the cache's file: this file has something else there. */
        sym_problem_add(layout->problems, SYM_PROBLEM_SHARED_CACHE,
                        "%s: %llu bytes at %llu are in the shared cache that this image was taken "
                        "from",
                        what, (unsigned long long)len, (unsigned long long)offset);
        return part;
    }
    sym_problem_add(layout->problems, SYM_PROBLEM_TRUNCATED,
                    "%s: %llu bytes at %llu, but the slice has %zu; was it copied whole?", what,
                    (unsigned long long)len, (unsigned long long)offset, bytes.len);
    if (offset < bytes.len)
        fz_ignore(fz_span_sub(bytes, offset, bytes.len - offset, &part)); /* checked above */
    return part;
}

static void
read_name(struct fz_reader *r, char ret[17])
{
    /* A name of 16 bytes has no NUL. */
    struct fz_span name = fz_read_bytes(r, 16);
    memset(ret, 0, 17);
    if (name.len)
        memcpy(ret, name.data, name.len);
}

static bool
is_zero_fill(uint32_t flags)
{
    uint32_t type = flags & MACHO_SECTION_TYPE;
    return type == MACHO_S_ZEROFILL || type == MACHO_S_GB_ZEROFILL ||
           type == MACHO_S_THREAD_LOCAL_ZEROFILL;
}

static struct fz_span
section_bytes(const struct layout *layout, const struct sym_segment *segment,
              const struct sym_section *section, uint64_t offset)
{
    static const struct fz_span none = {NULL, 0};
    if (section->size == 0 || segment->filesize == 0 || is_zero_fill(section->flags))
        return none;
    uint64_t segment_end, end;
    if (__builtin_add_overflow(segment->fileoff, segment->filesize, &segment_end))
        return none; /* reported with the segment */
    /* The field has 32 bits; in a dSYM above 4 GiB it has wrapped, so the address
     * gives the offset. */
    if (segment_end > UINT32_MAX && section->addr >= segment->vmaddr)
        offset = segment->fileoff + (section->addr - segment->vmaddr);
    if (offset == 0 && layout->macho->filetype != MACHO_OBJECT)
        return none;
    if (offset < segment->fileoff || __builtin_add_overflow(offset, section->size, &end) ||
        end > segment_end) {
        /* A dSYM repeats the load commands of all other segments without their contents. */
        if (layout->macho->filetype != MACHO_DSYM || strcmp(segment->name, "__DWARF") == 0)
            sym_problem_add(layout->problems, SYM_PROBLEM_BAD_SECTION,
                            "section %s,%s: %llu bytes at %llu are outside its segment",
                            section->segment, section->name, (unsigned long long)section->size,
                            (unsigned long long)offset);
        return none;
    }
    char what[64];
    snprintf(what, sizeof(what), "section %s,%s", section->segment, section->name);
    return slice_part(layout, offset, section->size, what);
}

static void
read_sections(struct layout *layout, const struct sym_segment *segment, struct fz_reader *r,
              uint32_t n, bool is_64)
{
    struct sym_macho *macho = layout->macho;
    size_t record = is_64 ? MACHO_SECTION_64_SIZE : MACHO_SECTION_32_SIZE;
    if (n > fz_read_left(r) / record) {
        sym_problem_add(layout->problems, SYM_PROBLEM_BAD_SEGMENT,
                        "segment %s at byte %llu: %u sections do not fit into its command",
                        segment->name, (unsigned long long)r->base, n);
        /* The sections that are there are still of use. */
        n = (uint32_t)(fz_read_left(r) / record);
    }
    for (uint32_t i = 0; i < n && macho->n_sections < layout->room_sections; i++) {
        struct sym_section *section = &macho->sections[macho->n_sections++];
        read_name(r, section->name);
        read_name(r, section->segment);
        section->addr = fz_read_uint(r, is_64 ? 8 : 4);
        section->size = fz_read_uint(r, is_64 ? 8 : 4);
        uint64_t offset = fz_read_u32(r);
        fz_read_skip(r, 12); /* align, reloff, nreloc */
        section->flags = fz_read_u32(r);
        fz_read_skip(r, is_64 ? 12 : 8);
        uint64_t end;
        if (__builtin_add_overflow(section->addr, section->size, &end))
            sym_problem_add(layout->problems, SYM_PROBLEM_BAD_SECTION,
                            "section %s,%s: its addresses wrap around", section->segment,
                            section->name);
        section->bytes = section_bytes(layout, segment, section, offset);
    }
}

static void
read_segment(struct layout *layout, const struct command *command, bool is_64)
{
    struct sym_macho *macho = layout->macho;
    struct fz_reader r = body_reader(macho, command);
    struct sym_segment segment = {0};
    unsigned size = is_64 ? 8 : 4;
    read_name(&r, segment.name);
    segment.vmaddr = fz_read_uint(&r, size);
    segment.vmsize = fz_read_uint(&r, size);
    segment.fileoff = fz_read_uint(&r, size);
    segment.filesize = fz_read_uint(&r, size);
    fz_read_skip(&r, 4);
    segment.initprot = fz_read_u32(&r);
    uint32_t n_sections = fz_read_u32(&r);
    fz_read_skip(&r, 4);
    if (r.failed || macho->n_segments == layout->room_segments) {
        sym_problem_add(layout->problems, SYM_PROBLEM_BAD_LOAD_COMMAND,
                        "segment command at byte %zu: too small", command->offset);
        return;
    }
    uint64_t end;
    if (__builtin_add_overflow(segment.vmaddr, segment.vmsize, &end) ||
        __builtin_add_overflow(segment.fileoff, segment.filesize, &end))
        sym_problem_add(layout->problems, SYM_PROBLEM_BAD_SEGMENT,
                        "segment %s: its range wraps around", segment.name);
    else
        /* For the problem that it reports; sections are read on their own. */
        slice_part(layout, segment.fileoff, segment.filesize, segment.name);
    macho->segments[macho->n_segments++] = segment;
    /* Addresses in reports are relative to where this segment is loaded. */
    if (strcmp(segment.name, "__TEXT") == 0) {
        macho->text_vmaddr = segment.vmaddr;
        macho->text_vmsize = segment.vmsize;
    }
    read_sections(layout, &segment, &r, n_sections, is_64);
}

static void
read_symtab(struct layout *layout, struct fz_reader *r)
{
    struct sym_macho *macho = layout->macho;
    uint32_t symbols_offset = fz_read_u32(r);
    uint32_t n_symbols = fz_read_u32(r);
    uint32_t strings_offset = fz_read_u32(r);
    uint32_t strings_size = fz_read_u32(r);
    if (r->failed)
        return;
    size_t record = macho->is_64 ? MACHO_NLIST_64_SIZE : MACHO_NLIST_32_SIZE;
    macho->symbol_table =
        slice_part(layout, symbols_offset, (uint64_t)n_symbols * record, "symbol table");
    macho->string_table = slice_part(layout, strings_offset, strings_size, "string table");
    /* Of a table that is cut off the whole records are read. */
    macho->n_symbols = (uint32_t)(macho->symbol_table.len / record);
}

static struct fz_span
read_link_edit(const struct layout *layout, struct fz_reader *r, const char *what)
{
    uint32_t offset = fz_read_u32(r);
    uint32_t size = fz_read_u32(r);
    return r->failed ? (struct fz_span){NULL, 0} : slice_part(layout, offset, size, what);
}

static void
read_uuid(struct layout *layout, struct fz_reader *r)
{
    struct sym_macho *macho = layout->macho;
    struct fz_span uuid = fz_read_bytes(r, sizeof(macho->uuid.bytes));
    if (r->failed)
        return;
    if (macho->has_uuid)
        sym_problem_add(layout->problems, SYM_PROBLEM_BAD_LOAD_COMMAND,
                        "a second UUID is not read");
    else
        memcpy(macho->uuid.bytes, uuid.data, uuid.len);
    macho->has_uuid = true;
}

static void
read_encryption(struct layout *layout, struct fz_reader *r)
{
    uint32_t offset = fz_read_u32(r);
    uint32_t size = fz_read_u32(r);
    /* cryptid 0: the range is the one to encrypt, but its bytes are plain. */
    if (fz_read_u32(r) == 0 || r->failed)
        return;
    layout->macho->is_encrypted = true;
    layout->crypt_offset = offset;
    layout->crypt_size = size;
}

static void
read_command(struct layout *layout, const struct command *command)
{
    struct sym_macho *macho = layout->macho;
    struct fz_reader r = body_reader(macho, command);
    switch (command->cmd) {
    case MACHO_LC_SEGMENT:
    case MACHO_LC_SEGMENT_64:
        read_segment(layout, command, command->cmd == MACHO_LC_SEGMENT_64);
        return;
    case MACHO_LC_SYMTAB:
        read_symtab(layout, &r);
        break;
    case MACHO_LC_UUID:
        read_uuid(layout, &r);
        break;
    case MACHO_LC_FUNCTION_STARTS:
        macho->function_starts = read_link_edit(layout, &r, "function starts");
        break;
    case MACHO_LC_DYLD_EXPORTS_TRIE:
        macho->exports_trie = read_link_edit(layout, &r, "exports");
        break;
    case MACHO_LC_DYLD_INFO:
        fz_read_skip(&r, 32); /* rebase, bind, weak and lazy bind */
        macho->exports_trie = read_link_edit(layout, &r, "exports");
        break;
    case MACHO_LC_ENCRYPTION_INFO:
    case MACHO_LC_ENCRYPTION_INFO_64:
        read_encryption(layout, &r);
        break;
    default:
        return;
    }
    if (r.failed)
        sym_problem_add(layout->problems, SYM_PROBLEM_BAD_LOAD_COMMAND,
                        "load command %#x at byte %zu: too small", command->cmd, command->offset);
}

/* Encrypted bytes are neither code nor strings, so no reader gets them. */
static void
drop_encrypted(const struct layout *layout)
{
    struct sym_macho *macho = layout->macho;
    if (layout->crypt_size == 0)
        return;
    uint64_t crypt_end = layout->crypt_offset + layout->crypt_size; /* sum of two 32-bit fields */
    for (size_t i = 0; i < macho->n_sections; i++) {
        struct fz_span *bytes = &macho->sections[i].bytes;
        if (bytes->len == 0)
            continue;
        uint64_t offset = (uint64_t)(bytes->data - macho->bytes.data);
        /* Also where only a part is encrypted: a reader could not see which. */
        if (offset < crypt_end && layout->crypt_offset < offset + bytes->len)
            *bytes = (struct fz_span){NULL, 0};
    }
}

/* How many segments and sections there can be, for one allocation of each. The section counts are
 * bounded by the bytes of their commands. */
static void
count_room(struct layout *layout, struct walk walk)
{
    struct command command;
    while (next_command(&walk, layout->problems, &command)) {
        if (command.cmd != MACHO_LC_SEGMENT && command.cmd != MACHO_LC_SEGMENT_64)
            continue;
        layout->room_segments++;
        /* The smaller record gives the larger number, which is enough for both. */
        layout->room_sections += command.body.len / MACHO_SECTION_32_SIZE;
    }
}

static enum fz_code
read_header(struct fz_span slice, struct sym_macho *macho, struct walk *ret_walk,
            struct sym_problems *problems, struct fz_error *err)
{
    if (!macho_read_magic(slice, &macho->is_64, &macho->big_endian))
        return fz_fail(err, FZ_E_UNSUPPORTED, "not a Mach-O slice but %s",
                       sym_macho_looks_like(slice));
    struct fz_reader r = fz_reader_make(slice, "macho header");
    r.big_endian = macho->big_endian;
    fz_read_skip(&r, 4);
    macho->cputype = fz_read_u32(&r);
    macho->cpusubtype = fz_read_u32(&r);
    macho->filetype = fz_read_u32(&r);
    uint32_t n_commands = fz_read_u32(&r);
    uint32_t commands_size = fz_read_u32(&r);
    macho->flags = fz_read_u32(&r);
    /* The reserved field of the 64-bit header. */
    fz_read_skip(&r, macho->is_64 ? 4 : 0);
    enum fz_code code = fz_read_done(&r, err);
    if (code != FZ_OK)
        return code;
    macho->bytes = slice;
    /* Real files have up to a few hundred. */
    if (n_commands > MACHO_COMMANDS_MAX) {
        sym_problem_add(problems, SYM_PROBLEM_BAD_LOAD_COMMAND,
                        "%u load commands, only %d are read", n_commands, MACHO_COMMANDS_MAX);
        n_commands = MACHO_COMMANDS_MAX;
    }
    if (commands_size > fz_read_left(&r)) {
        sym_problem_add(problems, SYM_PROBLEM_TRUNCATED,
                        "load commands: %u bytes, but the slice ends after %zu; was it copied "
                        "whole?",
                        commands_size, fz_read_left(&r));
        commands_size = (uint32_t)fz_read_left(&r);
    }
    size_t header = r.pos;
    *ret_walk = (struct walk){.r = fz_reader_make(fz_read_bytes(&r, commands_size), "macho"),
                              .left = n_commands};
    ret_walk->r.big_endian = macho->big_endian;
    ret_walk->r.base = header;
    return FZ_OK;
}

enum fz_code
sym_macho_open(struct fz_span slice, struct fz_arena *arena, struct sym_macho *ret,
               struct sym_problems *problems, struct fz_error *err)
{
    struct sym_macho macho = {0};
    struct walk walk = {.left = 0};
    enum fz_code code = read_header(slice, &macho, &walk, problems, err);
    if (code != FZ_OK)
        return code;
    struct layout layout = {.macho = &macho, .problems = problems};
    /* A copy of the walk: the second pass begins where the first one did. */
    count_room(&layout, walk);
    macho.segments = fz_arena_array(arena, layout.room_segments, sizeof(*macho.segments));
    macho.sections = fz_arena_array(arena, layout.room_sections, sizeof(*macho.sections));
    if (!macho.segments || !macho.sections)
        return fz_arena_fail(arena, err);
    size_t n_read = 0;
    bool has_commands = walk.left > 0;
    struct command command;
    walk.is_second = true;
    for (; next_command(&walk, problems, &command); n_read++)
        read_command(&layout, &command);
    /* Nothing of the slice is known then but its architecture. */
    if (has_commands && n_read == 0)
        return fz_fail_at(err, FZ_E_MALFORMED, walk.r.base, "macho: no load command can be read");
    drop_encrypted(&layout);
    *ret = macho;
    return FZ_OK;
}

const struct sym_section *
sym_macho_section(const struct sym_macho *macho, const char *segment, const char *name)
{
    for (size_t i = 0; i < macho->n_sections; i++) {
        const struct sym_section *section = &macho->sections[i];
        /* The fields have 16 bytes; longer names are cut in the file. */
        if (strncmp(section->segment, segment, 16) == 0 && strncmp(section->name, name, 16) == 0)
            return section;
    }
    return NULL;
}

bool
sym_macho_is_dsym(const struct sym_macho *macho)
{
    return macho->filetype == MACHO_DSYM;
}
