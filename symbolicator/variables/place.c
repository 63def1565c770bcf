/*
 * Reading values where they are.
 *
 * Memory is read through the process, which knows what was captured. Bytes that were put together
 * carry a mask of known bits, since the optimiser keeps some fields of a structure and drops
 * others.
 */
#include "symbolicator/variables/place.h"

struct variables_place
variables_place_none(enum sym_availability why)
{
    return (struct variables_place){.none = why};
}

struct variables_place
variables_place_memory(uint64_t address)
{
    return (struct variables_place){.is_memory = true, .address = address};
}

struct variables_place
variables_place_bytes(const uint8_t *bytes, size_t n)
{
    return (struct variables_place){.bytes = bytes, .n = n};
}

struct variables_place
variables_place_at(const struct variables_place *place, uint64_t offset)
{
    struct variables_place part = *place;
    part.text = NULL;
    if (part.is_memory) {
        part.address += offset;
    } else if (part.bytes) {
        if (offset >= part.n)
            return variables_place_none(SYM_VALUE_OPTIMIZED_OUT);
        part.bytes += offset;
        part.known = part.known ? part.known + offset : NULL;
        part.why = part.why ? part.why + offset : NULL;
        part.n -= (size_t)offset;
    }
    return part;
}

/* The reason why the bits of `mask` of a byte are not known; AVAILABLE if they are. */
static enum sym_availability
byte_state(const struct variables_place *place, uint64_t offset, unsigned mask)
{
    if (offset >= place->n)
        return SYM_VALUE_OPTIMIZED_OUT;
    if (!place->known || (place->known[offset] & mask) == mask)
        return SYM_VALUE_AVAILABLE;
    return (enum sym_availability)place->why[offset];
}

enum sym_availability
variables_place_read(const struct sym_variables *variables, const struct variables_place *place,
                     uint64_t offset, size_t n, void *to)
{
    if (place->is_memory) {
        uint64_t address;
        return !__builtin_add_overflow(place->address, offset, &address) &&
                       sym_process_read(variables->process, address, to, n)
                   ? SYM_VALUE_AVAILABLE
                   : SYM_VALUE_MEMORY_NOT_CAPTURED;
    }
    if (!place->bytes)
        return place->none;
    for (size_t i = 0; i < n; i++) {
        enum sym_availability why = byte_state(place, offset + i, 0xff);
        if (why != SYM_VALUE_AVAILABLE)
            return why;
    }
    if (n)
        memcpy(to, place->bytes + offset, n);
    return SYM_VALUE_AVAILABLE;
}

enum sym_availability
variables_place_uint(const struct sym_variables *variables, const struct variables_place *place,
                     uint64_t offset, unsigned size, uint64_t *ret)
{
    uint8_t bytes[8];
    if (size == 0 || size > sizeof(bytes))
        return SYM_VALUE_UNSUPPORTED;
    enum sym_availability why = variables_place_read(variables, place, offset, size, bytes);
    if (why != SYM_VALUE_AVAILABLE)
        return why;
    uint64_t value = 0;
    for (unsigned i = size; i-- > 0;)
        value = value << 8 | bytes[i];
    *ret = value;
    return SYM_VALUE_AVAILABLE;
}

enum sym_availability
variables_place_bits(const struct sym_variables *variables, const struct variables_place *place,
                     uint64_t offset, unsigned n, uint64_t *ret)
{
    uint64_t value = 0;
    if (n == 0 || n > 64)
        return SYM_VALUE_UNSUPPORTED;
    for (unsigned done = 0; done < n;) {
        uint64_t at = (offset + done) / 8;
        unsigned shift = (unsigned)((offset + done) % 8), take = 8 - shift;
        if (take > n - done)
            take = n - done;
        unsigned mask = ((1u << take) - 1) << shift;
        uint8_t byte;
        enum sym_availability why;
        if (place->is_memory || !place->bytes) {
            why = variables_place_read(variables, place, at, 1, &byte);
        } else {
            why = byte_state(place, at, mask);
            byte = why == SYM_VALUE_AVAILABLE ? place->bytes[at] : 0;
        }
        if (why != SYM_VALUE_AVAILABLE)
            return why;
        value |= (uint64_t)((byte & mask) >> shift) << done;
        done += take;
    }
    *ret = value;
    return SYM_VALUE_AVAILABLE;
}

bool
variables_pieces_make(struct sym_variables *variables, uint64_t n, struct variables_pieces *ret)
{
    *ret = (struct variables_pieces){.variables = variables};
    if (n > VARIABLES_VALUE_BYTES_MAX)
        return false;
    uint8_t *memory = fz_arena_array(variables->arena, 3, (size_t)n + 1);
    if (!memory) {
        variables->no_memory = true;
        return false;
    }
    ret->bytes = memory;
    ret->known = memory + n;
    ret->why = memory + 2 * n;
    ret->n = (size_t)n;
    if (n)
        memset(ret->why, SYM_VALUE_OPTIMIZED_OUT, (size_t)n);
    return true;
}

void
variables_pieces_add(struct variables_pieces *pieces, const struct variables_place *from,
                     uint64_t offset, uint64_t n_bits)
{
    uint64_t done = 0, room = (uint64_t)pieces->n * 8;
    uint64_t n = pieces->bits >= room           ? 0
                 : n_bits > room - pieces->bits ? room - pieces->bits
                                                : n_bits;
    while (done < n) {
        uint64_t to = pieces->bits + done, value = 0;
        unsigned shift = (unsigned)(to % 8), take = 8 - shift;
        if (take > n - done)
            take = (unsigned)(n - done);
        enum sym_availability why =
            variables_place_bits(pieces->variables, from, offset + done, take, &value);
        unsigned mask = ((1u << take) - 1) << shift;
        if (why == SYM_VALUE_AVAILABLE) {
            pieces->bytes[to / 8] |= (uint8_t)(value << shift);
            pieces->known[to / 8] |= (uint8_t)mask;
        } else {
            pieces->why[to / 8] = (uint8_t)why;
        }
        done += take;
    }
    /* More than the value has is kept in count only: later pieces add nothing. */
    pieces->bits = n_bits > UINT64_MAX - pieces->bits ? UINT64_MAX : pieces->bits + n_bits;
}

struct variables_place
variables_pieces_done(const struct variables_pieces *pieces)
{
    return (struct variables_place){
        .bytes = pieces->bytes, .known = pieces->known, .why = pieces->why, .n = pieces->n};
}
