/*
 * Constants of the Mach-O format (loader.h, fat.h, nlist.h), private to symbolicator/macho.
 */
#ifndef SYM_MACHO_FORMAT_H
#define SYM_MACHO_FORMAT_H

#include "base/span.h"

/* As read little-endian; CIGAM is the other byte order. */
static const uint32_t MACHO_MAGIC_32 = 0xfeedface, MACHO_CIGAM_32 = 0xcefaedfe;
static const uint32_t MACHO_MAGIC_64 = 0xfeedfacf, MACHO_CIGAM_64 = 0xcffaedfe;
/* As read big-endian. */
static const uint32_t MACHO_FAT_MAGIC = 0xcafebabe, MACHO_FAT_CIGAM = 0xbebafeca;
static const uint32_t MACHO_FAT_MAGIC_64 = 0xcafebabf, MACHO_FAT_CIGAM_64 = 0xbfbafeca;

enum {
    MACHO_HEADER_32_SIZE = 28,
    MACHO_HEADER_64_SIZE = 32,
    MACHO_SECTION_32_SIZE = 68,
    MACHO_SECTION_64_SIZE = 80,
    MACHO_NLIST_32_SIZE = 12,
    MACHO_NLIST_64_SIZE = 16,
    MACHO_COMMANDS_MAX = 16384,
};

/* File types. */
enum { MACHO_OBJECT = 1, MACHO_EXECUTE = 2, MACHO_STUB_DYLIB = 9, MACHO_DSYM = 10 };

/* Of the header's flags: the image was taken from a dyld shared cache. */
static const uint32_t MACHO_DYLIB_IN_CACHE = 0x80000000;

/* Load commands; the top bit (LC_REQ_DYLD) is cleared before they are compared. */
enum {
    MACHO_LC_SEGMENT = 0x1,
    MACHO_LC_SYMTAB = 0x2,
    MACHO_LC_SEGMENT_64 = 0x19,
    MACHO_LC_UUID = 0x1b,
    MACHO_LC_ENCRYPTION_INFO = 0x21,
    MACHO_LC_DYLD_INFO = 0x22,
    MACHO_LC_FUNCTION_STARTS = 0x26,
    MACHO_LC_ENCRYPTION_INFO_64 = 0x2c,
    MACHO_LC_DYLD_EXPORTS_TRIE = 0x33,
};

/* Section flags: the type in the low byte, attributes above. */
enum {
    MACHO_SECTION_TYPE = 0xff,
    MACHO_S_ZEROFILL = 0x1,
    MACHO_S_GB_ZEROFILL = 0xc,
    MACHO_S_THREAD_LOCAL_ZEROFILL = 0x12,
};
static const uint32_t MACHO_S_ATTR_CODE = 0x80000400; /* PURE_ and SOME_INSTRUCTIONS */

/* nlist: n_type and n_desc. */
enum {
    MACHO_N_STAB = 0xe0,
    MACHO_N_TYPE = 0x0e,
    MACHO_N_SECT = 0x0e,
    MACHO_N_EXT = 0x01,
    MACHO_N_ARM_THUMB_DEF = 0x0008,
};

/* The width and byte order of a thin header; false (outputs untouched) if it is not one. */
bool macho_read_magic(struct fz_span bytes, bool *ret_is_64, bool *ret_big_endian);

/* True for a Java class, which begins like a fat Mach-O. */
bool macho_is_java_class(struct fz_span file);

#endif
