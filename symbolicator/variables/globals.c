/*
 * Globals that a function uses: a look at its code.
 *
 * arm64: "adrp x8, page" gives a page, and one of the next instructions that use x8 adds the offset
 * in it: add with an immediate, or a load or store. x86_64: an operand with ModRM mod 0 and r/m 5 is
 * four bytes relative to the end of the instruction, which is 0, 1, 2 or 4 bytes of an immediate
 * further on. Bytes that look like it by chance do not lead to a variable of the unit.
 */
#include "symbolicator/variables/globals.h"

#include <stdlib.h>

#include "symbolicator/macho/macho.h"
#include "symbolicator/variables/container.h"
#include "symbolicator/variables/locate.h"
#include "symbolicator/variables/type.h"

enum { CODE_MAX = 256 * 1024, ADDRESSES_MAX = 512, WINDOW = 16, VARIABLE_SIZE_MAX = 1 << 16 };

struct addresses {
    uint64_t list[ADDRESSES_MAX];
    size_t n;
};

static void
add_address(struct addresses *addresses, uint64_t addr)
{
    if (addresses->n < ADDRESSES_MAX)
        addresses->list[addresses->n++] = addr;
}

static uint32_t
word_at(struct fz_span code, size_t at)
{
    return (uint32_t)code.data[at] | (uint32_t)code.data[at + 1] << 8 |
           (uint32_t)code.data[at + 2] << 16 | (uint32_t)code.data[at + 3] << 24;
}

/* The offset that an instruction adds to a register to make an address; false: it does not. */
static bool
arm64_offset(uint32_t word, unsigned reg, uint64_t *ret)
{
    if ((word >> 5 & 31) != reg)
        return false;
    uint64_t imm = word >> 10 & 0xfff;
    if ((word & 0xff800000) == 0x91000000) { /* add (immediate), 64 bits */
        *ret = word & 0x400000 ? imm << 12 : imm;
        return true;
    }
    /* Load or store with an unsigned offset, of which opc and V make 16 bytes. */
    if ((word & 0x3b000000) == 0x39000000) {
        unsigned scale = word >> 30;
        if ((word & 0x04800000) == 0x04800000 && scale == 0)
            scale = 4;
        *ret = imm << scale;
        return true;
    }
    return false;
}

static void
read_arm64(struct fz_span code, uint64_t low, struct addresses *addresses)
{
    for (size_t at = 0; at + 4 <= code.len; at += 4) {
        uint32_t word = word_at(code, at);
        if ((word & 0x9f000000) != 0x90000000)
            continue;
        uint64_t imm = (uint64_t)(word >> 29 & 3) | (uint64_t)(word >> 5 & 0x7ffff) << 2;
        imm = (imm ^ (UINT64_C(1) << 20)) - (UINT64_C(1) << 20);
        uint64_t page = ((low + at) & ~UINT64_C(0xfff)) + (imm << 12), offset;
        for (size_t i = at + 4; i + 4 <= code.len && i <= at + 4 * WINDOW; i += 4) {
            if (arm64_offset(word_at(code, i), word & 31, &offset))
                add_address(addresses, page + offset);
        }
    }
    /* "adr" alone reaches a megabyte. */
    for (size_t at = 0; at + 4 <= code.len; at += 4) {
        uint32_t word = word_at(code, at);
        uint64_t imm = (uint64_t)(word >> 29 & 3) | (uint64_t)(word >> 5 & 0x7ffff) << 2;
        if ((word & 0x9f000000) == 0x10000000)
            add_address(addresses, low + at + ((imm ^ (UINT64_C(1) << 20)) - (UINT64_C(1) << 20)));
    }
}

static void
read_x86_64(struct fz_span code, uint64_t low, struct addresses *addresses)
{
    static const uint8_t after[] = {0, 1, 2, 4};
    for (size_t at = 0; at + 5 <= code.len; at++) {
        if ((code.data[at] & 0xc7) != 0x05)
            continue;
        uint64_t offset = word_at(code, at + 1);
        offset = (offset ^ UINT64_C(0x80000000)) - UINT64_C(0x80000000);
        for (size_t i = 0; i < sizeof(after); i++)
            add_address(addresses, low + at + 5 + after[i] + offset);
    }
}

struct code_range {
    const struct sym_macho *binary;
    enum fz_arch_cpu cpu;
    struct addresses *addresses;
};

static bool
read_range(void *user, uint64_t low, uint64_t high)
{
    const struct code_range *range = user;
    for (size_t i = 0; i < range->binary->n_sections; i++) {
        const struct sym_section *section = &range->binary->sections[i];
        struct fz_span code;
        if (low < section->addr || high - low > CODE_MAX ||
            !fz_span_sub(section->bytes, low - section->addr, high - low, &code))
            continue;
        if (range->cpu == FZ_CPU_ARM64)
            read_arm64(code, low, range->addresses);
        else if (range->cpu == FZ_CPU_X86_64)
            read_x86_64(code, low, range->addresses);
        return true;
    }
    return true;
}

static int
compare_address(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

struct variable {
    uint64_t addr, die;
};

struct variables_statics {
    struct variable *list; /* ascending by address */
    size_t n;
};

static int
compare_variable(const void *a, const void *b)
{
    const struct variable *x = a, *y = b;
    if (x->addr != y->addr)
        return x->addr < y->addr ? -1 : 1;
    return x->die < y->die ? -1 : x->die > y->die;
}

/* The unit's own variables that have an address, located once for all frames in it: after a link
 * with LTO they are those of the whole program. */
static const struct variables_statics *
statics_of(struct variables_image *image, const struct sym_dwarf_unit *unit)
{
    struct sym_variables *variables = image->variables;
    struct variables_unit *more = variables_image_unit(image, unit);
    const uint64_t *offsets;
    if (more->statics)
        return more->statics;
    more->statics = fz_arena_alloc(&variables->cache, sizeof(*more->statics));
    size_t n = more->statics ? variables_container_variables(image, unit, &offsets) : 0;
    struct variable *list = n ? fz_arena_array(&variables->cache, n, sizeof(*list)) : NULL;
    uint64_t dies = variables->dies_left;
    /* What a frame may look at does not pay for the whole unit. */
    variables->dies_left = VARIABLES_DIES_MAX;
    for (size_t i = 0; list && i < n; i++) {
        struct variables_die at;
        struct variable *one = &list[more->statics->n];
        one->die = offsets[i];
        if (variables_die_at(image, offsets[i], &at) && variables_locate_static(&at, &one->addr))
            more->statics->n++;
    }
    variables->dies_left = dies;
    if (list && more->statics->n > 1)
        qsort(list, more->statics->n, sizeof(*list), compare_variable);
    if (more->statics)
        more->statics->list = list;
    return more->statics;
}

/* The end of the variables that begin at or before an address: the last ones of them are nearest. */
static size_t
find_end(const struct variables_statics *statics, uint64_t addr)
{
    size_t low = 0, high = statics->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (statics->list[middle].addr <= addr)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool
is_inside(struct variables_image *image, const struct variable *variable, uint64_t addr)
{
    struct variables_die at;
    uint64_t distance = addr - variable->addr;
    /* Types are read only of variables that may be meant. */
    if (distance >= VARIABLE_SIZE_MAX || !variables_die_at(image, variable->die, &at) ||
        variables_die_string_deep(&at, AT_NAME).len == 0)
        return false;
    uint64_t size = variables_type_of(&at)->size;
    return distance < (size ? size : 1);
}

/* The variables in which an address is, as a member or an element of them maybe; each once. */
static size_t
find_used(struct variables_image *image, const struct variables_statics *statics,
          const struct addresses *addresses, uint64_t ret[ADDRESSES_MAX])
{
    size_t n = 0, done = 0;
    for (size_t i = 0; i < addresses->n; i++) {
        size_t end = find_end(statics, addresses->list[i]), at = end;
        /* What is too far for one address is too far for the next. */
        if (end == done)
            continue;
        done = end;
        for (; at > 0 && n < ADDRESSES_MAX &&
               statics->list[at - 1].addr == statics->list[end - 1].addr;
             at--) {
            if (is_inside(image, &statics->list[at - 1], addresses->list[i]))
                ret[n++] = statics->list[at - 1].die;
        }
    }
    return n;
}

void
variables_globals_find(struct variables_frame *frame, struct variables_globals *ret)
{
    struct variables_image *image = frame->image;
    struct addresses addresses = {.n = 0};
    struct code_range range = {.binary = image->files->binary,
                               .cpu = sym_process_cpu(frame->variables->process),
                               .addresses = &addresses};
    uint64_t used[ADDRESSES_MAX];
    ret->n = 0;
    if (!range.binary)
        return;
    variables_die_ranges(&frame->function, read_range, &range);
    if (addresses.n == 0)
        return;
    qsort(addresses.list, addresses.n, sizeof(addresses.list[0]), compare_address);
    const struct variables_statics *statics = statics_of(image, frame->function.unit);
    size_t n = statics ? find_used(image, statics, &addresses, used) : 0;
    if (n > 1)
        qsort(used, n, sizeof(used[0]), compare_address); /* as they were declared */
    for (size_t i = 0; i < n && ret->n < VARIABLES_GLOBALS_MAX; i++) {
        if (variables_die_at(image, used[i], &ret->list[ret->n]))
            ret->n++;
    }
}
