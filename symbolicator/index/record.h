/*
 * How RECORDS of the index file holds a record, both ways side by side.
 *
 * Two bytes say what follows and how many bytes each number has, so that reading one takes a load
 * and a mask: the lengths of LEB128 numbers change from record to record, and finding their ends
 * was two fifths of a lookup's instructions.
 *
 *   bit 0     inlined call           bit 1     has file and base line of its rows
 *   a call    2-3 distance back to the caller, 4-5 name, 6-7 call line: bytes - 1
 *             8 call column: bytes - 1        9-10 call file: bytes; 0 = its caller's file
 *   function  2-3 enum sym_source    4-5 name: bytes - 1
 *             6-7 start - base, 9-10 size: 1, 2, 4 or 8 bytes
 *   both      11-12 file, 13-14 base line: bytes - 1; not there without bit 1
 *
 * The numbers follow in this order. A call comes after its caller. A function that comes from DWARF
 * ends with the offset of its DIE in .debug_info, in as many bytes as index_die_len() says: what
 * needs it is not a lookup, so it costs lookups nothing.
 */
#ifndef INDEX_RECORD_H
#define INDEX_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "symbolicator/index/format.h"
#include "symbolicator/symbolicator.h"

enum {
    RECORD_INLINED = 1,
    RECORD_ROWS = 2,
    RECORD_SOURCE = 2, /* the first bit of each field */
    RECORD_DISTANCE = 2,
    RECORD_NAME = 4,
    RECORD_START = 6,
    RECORD_CALL_LINE = 6,
    RECORD_CALL_COLUMN = 8,
    RECORD_SIZE = 9,
    RECORD_CALL_FILE = 9,
    RECORD_FILE = 11,
    RECORD_BASE_LINE = 13,
    RECORD_BYTES_MAX = INDEX_RECORDS_SPARE, /* a record and what is read after it are less */
    RECORD_FILES_MAX = 1 << 24,             /* numbers of files have at most 3 bytes */
};

struct index_record {
    bool is_inlined, has_rows;
    bool has_call_file;     /* it is not the caller's */
    enum sym_source source; /* of an inlined call always DWARF */
    uint32_t name, file, base_line;
    uint32_t caller; /* place of an inlined call's caller */
    uint32_t call_file, call_line, call_column;
    uint64_t start, size; /* of a function; start counts from the base */
    uint32_t die;         /* of a function, written with die_len bytes; not decoded */
    uint8_t die_len;
};

/* The bytes of a DIE's offset where .debug_info has this size; 0: DIEs are not kept. */
static inline unsigned
index_die_len(uint64_t info_size)
{
    if (info_size == 0 || info_size > UINT32_MAX)
        return 0;
    return (39 - (unsigned)__builtin_clz((uint32_t)info_size)) / 8;
}

/* Writes 4 bytes of which the first ones count. */
static inline uint8_t *
index_record_put(uint8_t *at, uint32_t value, unsigned field, unsigned *head)
{
    unsigned len = (39 - (unsigned)__builtin_clz(value | 1)) / 8;
    *head |= (len - 1) << field;
    store32(at, value);
    return at + len;
}

static inline uint8_t *
index_record_put_long(uint8_t *at, uint64_t value, unsigned field, unsigned *head)
{
    unsigned code = value > UINT32_MAX ? 3 : value > UINT16_MAX ? 2 : value > UINT8_MAX;
    *head |= code << field;
    store64(at, value);
    return at + (1u << code);
}

/* Write the record for `place` to `at`, where RECORD_BYTES_MAX bytes are free; returns its end. */
static inline uint8_t *
index_record_encode(const struct index_record *r, uint32_t place, uint8_t *at)
{
    unsigned head = (r->is_inlined ? RECORD_INLINED : 0) | (r->has_rows ? RECORD_ROWS : 0);
    uint8_t *start = at;
    at += 2;
    if (r->is_inlined) {
        at = index_record_put(at, place - r->caller, RECORD_DISTANCE, &head);
        at = index_record_put(at, r->name, RECORD_NAME, &head);
        at = index_record_put(at, r->call_line, RECORD_CALL_LINE, &head);
        at = index_record_put(at, r->call_column & UINT16_MAX, RECORD_CALL_COLUMN, &head);
        if (r->has_call_file) {
            at = index_record_put(at, r->call_file, RECORD_CALL_FILE, &head);
            head += 1u << RECORD_CALL_FILE;
        }
    } else {
        head |= (unsigned)r->source << RECORD_SOURCE;
        at = index_record_put(at, r->name, RECORD_NAME, &head);
        at = index_record_put_long(at, r->start, RECORD_START, &head);
        at = index_record_put_long(at, r->size, RECORD_SIZE, &head);
    }
    if (r->has_rows) {
        at = index_record_put(at, r->file, RECORD_FILE, &head);
        at = index_record_put(at, r->base_line, RECORD_BASE_LINE, &head);
    }
    store32(at, r->die);
    at += r->die_len;
    start[0] = (uint8_t)head;
    start[1] = (uint8_t)(head >> 8);
    return at;
}

static FZ_INLINE uint32_t
index_record_get_bytes(const uint8_t **at, unsigned len)
{
    uint32_t value = load32(*at) & (uint32_t) ~(UINT64_MAX << 8 * len);
    *at += len;
    return value;
}

static FZ_INLINE uint32_t
index_record_get(const uint8_t **at, unsigned head, unsigned field)
{
    return index_record_get_bytes(at, (head >> field & 3) + 1);
}

static FZ_INLINE uint64_t
index_record_get_long(const uint8_t **at, unsigned head, unsigned field)
{
    unsigned len = 1u << (head >> field & 3);
    uint64_t value = load64(*at) & UINT64_MAX >> (64 - 8 * len);
    *at += len;
    return value;
}

/* Read the record of `place` from `at`, where RECORD_BYTES_MAX bytes can be read. False if it is a
 * call that does not come after its caller, so a chain cannot be circular. */
static FZ_INLINE bool
index_record_decode(const uint8_t *at, uint32_t place, struct index_record *ret)
{
    unsigned head = at[0] | (unsigned)at[1] << 8;
    at += 2;
    *ret =
        (struct index_record){.is_inlined = head & RECORD_INLINED, .has_rows = head & RECORD_ROWS};
    if (ret->is_inlined) {
        uint32_t distance = index_record_get(&at, head, RECORD_DISTANCE);
        ret->caller = place - distance;
        ret->name = index_record_get(&at, head, RECORD_NAME);
        ret->call_line = index_record_get(&at, head, RECORD_CALL_LINE);
        ret->call_column = index_record_get_bytes(&at, (head >> RECORD_CALL_COLUMN & 1) + 1);
        ret->has_call_file = head >> RECORD_CALL_FILE & 3;
        ret->call_file = index_record_get_bytes(&at, head >> RECORD_CALL_FILE & 3);
        ret->source = SYM_SOURCE_DWARF;
        if (distance == 0 || distance >= place)
            return false;
    } else {
        ret->source = (enum sym_source)(head >> RECORD_SOURCE & 3);
        ret->name = index_record_get(&at, head, RECORD_NAME);
        ret->start = index_record_get_long(&at, head, RECORD_START);
        ret->size = index_record_get_long(&at, head, RECORD_SIZE);
    }
    if (ret->has_rows) {
        ret->file = index_record_get(&at, head, RECORD_FILE);
        ret->base_line = index_record_get(&at, head, RECORD_BASE_LINE);
    }
    return true;
}

/* The DIE at the end of a function's record, of `len` bytes. */
static inline uint32_t
index_record_die(const uint8_t *at, unsigned len)
{
    unsigned head = at[0] | (unsigned)at[1] << 8;
    at += 2 + 1 + (head >> RECORD_NAME & 3) + (1u << (head >> RECORD_START & 3)) +
          (1u << (head >> RECORD_SIZE & 3));
    if (head & RECORD_ROWS)
        at += 2 + (head >> RECORD_FILE & 3) + (head >> RECORD_BASE_LINE & 3);
    return index_record_get_bytes(&at, len);
}

#endif
