#include "memory.h"

#include "record.h"

#include <string.h>

enum { AREA_STEPS = 64, BEFORE = 16, LEAST = 64 };
static const uint64_t FIRST_PAGES = 0x4000; /* never mapped on any of Apple's 64-bit systems */

bool
framezero_memory_read(mach_port_t task, uint64_t addr, void *to, size_t size)
{
    vm_size_t got = 0;
    if (addr < FIRST_PAGES || addr > UINTPTR_MAX || size > UINTPTR_MAX - addr)
        return false;
    kern_return_t code =
        vm_read_overwrite(task, (vm_address_t)addr, size, (vm_address_t)(uintptr_t)to, &got);
    return code == KERN_SUCCESS && got == size;
}

size_t
framezero_memory_read_some(mach_port_t task, uint64_t addr, void *to, size_t size)
{
    size_t done = 0;
    if (framezero_memory_read(task, addr, to, size))
        return size;
    while (done < size && addr + done >= addr) {
        size_t in_page = FRAMEZERO_PAGE - (size_t)((addr + done) % FRAMEZERO_PAGE);
        size_t n = size - done < in_page ? size - done : in_page;
        if (!framezero_memory_read(task, addr + done, (uint8_t *)to + done, n))
            break;
        done += n;
    }
    return done;
}

void
framezero_memory_read_text(mach_port_t task, uint64_t addr, char *to, size_t size)
{
    size_t n = framezero_memory_read_some(task, addr, to, size - 1);
    to[n] = '\0';
}

bool
framezero_memory_read_pointer(mach_port_t task, uint64_t addr, uint64_t *ret)
{
    uintptr_t value;
    if (!framezero_memory_read(task, addr, &value, sizeof(value)))
        return false;
    *ret = value;
    return true;
}

/* One mapping, submaps entered. *ret_tag says what it is used for (VM_MEMORY_STACK and so on). */
static bool
region_at(mach_port_t task, uint64_t addr, struct framezero_area *ret, unsigned *ret_tag,
          bool *ret_readable)
{
    vm_region_submap_short_info_data_64_t info;
    vm_address_t at = (vm_address_t)addr;
    vm_size_t size = 0;
    natural_t depth = 0;
    if (addr > UINTPTR_MAX)
        return false;
    for (int i = 0; i < AREA_STEPS; i++) {
        mach_msg_type_number_t count = VM_REGION_SUBMAP_SHORT_INFO_COUNT_64;
        if (vm_region_recurse_64(task, &at, &size, &depth, (vm_region_recurse_info_t)&info,
                                 &count) != KERN_SUCCESS ||
            size == 0 || size > UINTPTR_MAX - at)
            return false;
        if (!info.is_submap) {
            *ret = (struct framezero_area){at, (uint64_t)at + size};
            *ret_tag = info.user_tag;
            *ret_readable = (info.protection & VM_PROT_READ) != 0;
            return true;
        }
        depth++;
    }
    return false;
}

bool
framezero_memory_area(mach_port_t task, uint64_t addr, struct framezero_area *ret)
{
    struct framezero_area next;
    unsigned tag = 0, next_tag;
    bool is_readable = false;
    for (int i = 0; i < AREA_STEPS && !is_readable; i++) {
        if (!region_at(task, addr, ret, &tag, &is_readable))
            return false;
        addr = ret->high;
    }
    if (!is_readable)
        return false;
    /* A stack may consist of several mappings. */
    for (int i = 0; i < AREA_STEPS; i++) {
        if (!region_at(task, ret->high, &next, &next_tag, &is_readable) || next.low != ret->high ||
            next_tag != tag || !is_readable)
            break;
        ret->high = next.high;
    }
    return true;
}

/* ---- regions ---------------------------------------------------------------------------------- */

void
framezero_regions_add(struct framezero_regions *regions, mach_port_t task, uint64_t pointer,
                      enum framezero_why why)
{
    FRAMEZERO_WORK static uint8_t scratch[FRAMEZERO_REGION_BYTES];
    uint64_t low = pointer & FRAMEZERO_ADDRESS_MASK & ~(uint64_t)(BEFORE - 1);
    uint64_t high = low + FRAMEZERO_REGION_BYTES;
    unsigned at = 0;
    if (low < FIRST_PAGES)
        return;
    if (regions->n == FRAMEZERO_REGIONS) {
        regions->is_full = true;
        return;
    }
    while (at < regions->n && regions->list[at].addr + regions->list[at].size <= low)
        at++;
    if (at < regions->n && regions->list[at].addr <= low) {
        const struct framezero_region *there = &regions->list[at];
        if (there->addr + there->size - low >= LEAST)
            return;
        low = there->addr + there->size;
        at++;
    }
    if (at < regions->n && regions->list[at].addr < high)
        high = regions->list[at].addr;
    if (high <= low)
        return;
    size_t size = framezero_memory_read_some(task, low, scratch, (size_t)(high - low));
    if (size == 0)
        return;
    memmove(&regions->list[at + 1], &regions->list[at],
            (regions->n - at) * sizeof(regions->list[0]));
    regions->list[at] = (struct framezero_region){low, (uint32_t)size, why};
    regions->n++;
}
