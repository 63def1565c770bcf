/*
 * What a file looks like by its first bytes: for messages about files that are not Mach-O, and to
 * find archives.
 *
 * A Java class begins with 0xcafebabe like a fat Mach-O, and has its version where the number of
 * slices is: minor:2 major:2, major >= 43.
 */
#include "symbolicator/symbolicator.h"

#include "base/reader.h"
#include "symbolicator/macho/format.h"

enum { JAVA_MAJOR_MIN = 43 };

static const struct look {
    size_t at, len;
    const char *bytes;
    enum sym_archive_kind archive;
    const char *what;
} looks[] = {
    {0, 4,
     "\x7f"
     "ELF",
     SYM_ARCHIVE_NONE, "an ELF file"},
    {0, 4, "PK\x03\x04", SYM_ARCHIVE_ZIP, "a zip archive"},
    {0, 4, "PK\x05\x06", SYM_ARCHIVE_EMPTY_ZIP, "an empty zip archive"},
    {0, 2, "\x1f\x8b", SYM_ARCHIVE_GZIP, "a gzip file"},
    {0, 3, "BZh", SYM_ARCHIVE_BZIP2, "a bzip2 file"},
    {0, 5,
     "\xfd"
     "7zXZ",
     SYM_ARCHIVE_XZ, "an xz file"},
    {0, 4, "\x28\xb5\x2f\xfd", SYM_ARCHIVE_ZSTD, "a zstd file"},
    {0, 8, "!<arch>\n", SYM_ARCHIVE_NONE,
     "a static archive (.a); give the linked binary or its dSYM"},
    {0, 8, "!<thin>\n", SYM_ARCHIVE_NONE,
     "a thin static archive (.a); give the linked binary or its dSYM"},
    {0, 4, "BC\xc0\xde", SYM_ARCHIVE_NONE, "LLVM bitcode"},
    {0, 4, "\xde\xc0\x17\x0b", SYM_ARCHIVE_NONE, "wrapped LLVM bitcode"},
    {0, 4, "MDMP", SYM_ARCHIVE_NONE, "a minidump"},
    {0, 2, "MZ", SYM_ARCHIVE_NONE, "a Windows program"},
    {0, 6, "bplist", SYM_ARCHIVE_NONE, "a binary property list"},
    {0, 4, "xar!", SYM_ARCHIVE_NONE, "a xar package"},
    {0, 15, "SQLite format 3", SYM_ARCHIVE_NONE, "an SQLite database"},
    {0, 7, "MODULE ", SYM_ARCHIVE_NONE, "a Breakpad symbol file"},
    {0, 9, "--- !tapi", SYM_ARCHIVE_NONE, "a text stub (.tbd)"},
    {0, 5, "<?xml", SYM_ARCHIVE_NONE, "an XML file"},
    {0, 4, "\x00\x05\x16\x07", SYM_ARCHIVE_NONE, "an AppleDouble file (._*), not the file itself"},
    {0, 6, "dyld_v", SYM_ARCHIVE_NONE, "a dyld shared cache"},
    {257, 5, "ustar", SYM_ARCHIVE_TAR, "a tar archive"},
};

static bool
is_text(struct fz_span bytes)
{
    size_t n = bytes.len < 512 ? bytes.len : 512;
    for (size_t i = 0; i < n; i++) {
        /* UTF-8 counts as text, so bytes above ASCII are accepted. */
        if (bytes.data[i] < 0x20 && (bytes.data[i] < '\t' || bytes.data[i] > '\r'))
            return false;
    }
    return true;
}

static const struct look *
find_look(struct fz_span file)
{
    struct fz_span part;
    for (size_t i = 0; i < FZ_ARRAY_LEN(looks); i++) {
        if (fz_span_sub(file, looks[i].at, looks[i].len, &part) &&
            memcmp(part.data, looks[i].bytes, part.len) == 0)
            return &looks[i];
    }
    return NULL;
}

bool
macho_is_java_class(struct fz_span file)
{
    struct fz_reader r = fz_reader_make(file, "file");
    r.big_endian = true;
    uint32_t magic = fz_read_u32(&r);
    fz_read_skip(&r, 2);
    uint16_t major = fz_read_u16(&r);
    return !r.failed && magic == MACHO_FAT_MAGIC && major >= JAVA_MAJOR_MIN;
}

const char *
sym_macho_looks_like(struct fz_span file)
{
    const struct look *look = find_look(file);
    /* First, because no rule matches it and "text" would be misleading. */
    if (file.len == 0)
        return "an empty file";
    if (look)
        return look->what;
    if (macho_is_java_class(file))
        return "a Java class";
    return is_text(file) ? "text" : "an unknown binary format";
}

enum sym_archive_kind
sym_archive_kind(struct fz_span file)
{
    const struct look *look = find_look(file);
    return look ? look->archive : SYM_ARCHIVE_NONE;
}
