/*
 * Memory of a task through its port, never through a pointer: a wild address is a read that fails.
 *
 * Also which memory a report takes along: up to 64 regions that registers and stack words point to.
 */
#ifndef FRAMEZERO_MEMORY_H
#define FRAMEZERO_MEMORY_H

#include <mach/mach.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    FRAMEZERO_REGIONS = 64,
    FRAMEZERO_REGION_BYTES = 256, /* after a pointer */
    FRAMEZERO_PAGE = 4096,        /* the smallest page; stepping by it is right everywhere */
};

/* A pointer without a signature, a tag or the bits of Swift's async frames. */
static const uint64_t FRAMEZERO_ADDRESS_MASK = 0x00007fffffffffffull;

/* All or nothing. */
bool framezero_memory_read(mach_port_t task, uint64_t addr, void *to, size_t size);
/* As far as it is readable; the number of bytes. */
size_t framezero_memory_read_some(mach_port_t task, uint64_t addr, void *to, size_t size);
/* A text of at most size - 1 bytes; what is longer or not readable is cut. */
void framezero_memory_read_text(mach_port_t task, uint64_t addr, char *to, size_t size);
bool framezero_memory_read_pointer(mach_port_t task, uint64_t addr, uint64_t *ret);

/* The readable memory at `addr` or the next after it, with what adjoins it under the same tag. */
struct framezero_area {
    uint64_t low, high;
};
bool framezero_memory_area(mach_port_t task, uint64_t addr, struct framezero_area *ret);

enum framezero_why { FRAMEZERO_BY_REGISTER, FRAMEZERO_BY_STACK, FRAMEZERO_BY_MEMORY };

/* Sorted by address; regions do not overlap. */
struct framezero_regions {
    unsigned n;
    bool is_full; /* something may be left out */
    struct framezero_region {
        uint64_t addr;
        uint32_t size;
        enum framezero_why why;
    } list[FRAMEZERO_REGIONS];
};

/* Take along what `pointer` points to, if that is readable and not there already. */
void framezero_regions_add(struct framezero_regions *regions, mach_port_t task, uint64_t pointer,
                           enum framezero_why why);

#endif
