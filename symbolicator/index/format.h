/*
 * The symbol index file, version 4. Everything is little-endian; sections start on multiples of 8.
 *
 *   offset  size
 *        0     8  magic "FZSYMIDX"
 *        8     4  version
 *       12     4  check of the header with this field as 0 (index_check())
 *       16     8  size of the file
 *       24    16  UUID
 *       40     4  flags: 1 = has a UUID, 2 = 32-bit ARM (bit 0 of an address does not count)
 *       44     4  cputype          48  4  cpusubtype
 *       52     1  unit_shift       53  1  page_shift      54  2  0
 *       56     8  text_vmaddr      64  8  text_vmsize
 *       72     8  base: function starts are relative to it
 *       80    64  counts: functions, inlines, ranges, symbols, lines, units, bad units, bad line
 *                 programs, 8 bytes each
 *      144     4  lowest DWARF version     148  4  highest
 *      152  9*16  sections: offset and size, 8 bytes each, in the order of enum index_section
 *      296     8  size of the .debug_info in which the records' DIEs are; 0 = they have none
 *
 * The address space is cut into pages of 1 << page_shift bytes (at most 256 units of 1 <<
 * unit_shift, the largest power of two that divides all addresses in the file). A page says for
 * each of its units which record and line it belongs to. A lookup is: region, page, row, record,
 * and up the records.
 *
 *   REGIONS   24 each, ascending: start, size (8 each; multiples of a page), first page (4), 1 if
 *             all its pages are that one (4). Addresses in no region have no names.
 *   PAGES     4 each: where the page's rows are in ROWS; 0 = nothing there.
 *   ROWS      per page (8 bytes of it never used; 16 spare bytes at the end):
 *               1  number of rows - 1          1  number of palette entries - 1
 *               1  bits of a palette index     1  bits of a line      1  bits of a column
 *               1  bits of a palette entry     4  lowest record in the palette
 *               n-1  first unit of rows 1..n-1, ascending; row 0 starts at unit 0
 *             then a string of bits, lowest first: the palette (0 = no record, else record - lowest
 *             + 1), then per row palette index, line code, column. Line code 0 is line 0, any other
 *             is line - (base line of the record) + 1.
 *   RECORDS   a function or an inlined call with the file of its rows (64 spare bytes at the end),
 *             see index/record.h:
 *               function: head, name, start - base, size, [file, base line], [DIE]
 *               inlined:  head, distance back to the caller, name, call line, call column,
 *                         [call file], [file, base line]
 *             Record 0 is a single byte that means none.
 *   FILES     8 each: directory and name in STRINGS; file 0 means no file.
 *   STRINGS   NUL-terminated; string 0 is empty; the last byte is 0.
 *   ALIASES   12 each, ascending by address: address - base (8), name (4).
 *   CALLS     12 each, ascending by address: return address - base (8), name (4) of the function
 *             that the call before it names in DWARF. Only of calls to functions that share their
 *             code with others: which of them was meant.
 *   CHECKS    4 for each 16 KiB of the file after the header, up to this section. A block is
 *             checked when a lookup first touches it, so that opening costs the same for any size;
 *             a block that fails has no names.
 *
 * Example: f() of /src/work.c, line 1, is at 0x4000 to 0x4010 of an arm64 file; at 0x4008 g() of
 * line 7 is inlined from line 2, column 10; line 3 follows at 0x400c; all rows are of column 3.
 * unit_shift 2, page_shift 9, base 0x4000; .debug_info has 0x60 bytes, f's DIE is at 0x1c. The
 * sections:
 *
 *   REGIONS   0x4000, 0x200, page 0, 0              PAGES   1
 *   ROWS      00 (place 0 means no row), then at 1:
 *             03 02  02 02 02 04  01 00 00 00    4 rows, 3 in the palette; widths; record 1 is
 *                                                the lowest
 *             02 03 04                           rows 1 to 3 begin at units 2, 3, 4
 *             91 40 d7 bc 00                     bits: palette 1, 9, 0 (records 1, 9, none),
 *                                                rows (0, 1, 3) (1, 1, 3) (0, 3, 3) (2, 0, 0)
 *   RECORDS   00, at 1 f: 02 00 0d 00 10 01 01 1c  head, name 13, start, size, file 1, base line 1,
 *                                                DIE
 *             at 9 g: 03 00 08 0f 02 0a 01 07    head, caller 8 bytes back, name 15, line 2,
 *                                                column 10, (file of the call: its caller's),
 *                                                file 1, base line 7
 *   FILES     0 0, 1 6                           STRINGS  "", "/src", "work.c", "f", "g"
 *
 * 0x4008 is unit 2 of its page: row 1, record 9, line 7 + 1 - 1; its caller is record 1 at line 2.
 */
#ifndef INDEX_FORMAT_H
#define INDEX_FORMAT_H

#include "base/span.h"

enum {
    INDEX_VERSION = 4,
    INDEX_FLAG_UUID = 1,
    INDEX_FLAG_THUMB = 2,
    INDEX_COUNTS = 80,
    INDEX_SECTIONS = 152,
    INDEX_INFO_SIZE = 296,
    INDEX_HEADER = 304,
    INDEX_REGION = 24,
    INDEX_FILE = 8,
    INDEX_ALIAS = 12,  /* and a call */
    INDEX_UNITS = 256, /* of a page, at most: their numbers are bytes */
    INDEX_PAGE_HEADER = 10,
    INDEX_ROWS_SPARE = 16,
    INDEX_RECORDS_SPARE = 64,
    INDEX_BLOCK_SHIFT = 14,
    INDEX_ROW_BITS_MAX = 56,
};

static const char INDEX_MAGIC[8] = {'F', 'Z', 'S', 'Y', 'M', 'I', 'D', 'X'};

enum index_section {
    INDEX_REGIONS,
    INDEX_PAGES,
    INDEX_ROWS,
    INDEX_RECORDS,
    INDEX_FILES,
    INDEX_STRINGS,
    INDEX_ALIASES,
    INDEX_CALLS,
    INDEX_CHECKS,
    INDEX_N_SECTIONS,
};

static inline uint32_t
load32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t
load64(const uint8_t *p)
{
    return (uint64_t)load32(p) | (uint64_t)load32(p + 4) << 32;
}

static inline void
store32(uint8_t *p, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(value >> (8 * i));
}

static inline void
store64(uint8_t *p, uint64_t value)
{
    store32(p, (uint32_t)value);
    store32(p + 4, (uint32_t)(value >> 32));
}

static inline uint64_t
index_check_step(uint64_t state, uint64_t word)
{
    state = (state ^ word) * 0x9e3779b97f4a7c15u;
    return state ^ state >> 29;
}

/* Each step is a bijection of the state, so one changed word always changes the result before it is
 * folded; four lanes, since a step waits for the one before. For faults of disks and copies, not
 * against attackers. */
static inline uint32_t
index_check(const uint8_t *data, size_t len)
{
    uint64_t a = len, b = 1, c = 2, d = 3;
    for (; len >= 32; data += 32, len -= 32) {
        a = index_check_step(a, load64(data));
        b = index_check_step(b, load64(data + 8));
        c = index_check_step(c, load64(data + 16));
        d = index_check_step(d, load64(data + 24));
    }
    for (; len > 0; data++, len--)
        a = index_check_step(a, *data);
    uint64_t state = index_check_step(index_check_step(index_check_step(a, b), c), d);
    return (uint32_t)(state ^ state >> 32);
}

#endif
