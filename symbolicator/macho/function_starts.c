/*
 * LC_FUNCTION_STARTS: where functions begin, even in stripped files.
 *
 * A run of ULEB128 numbers: the first is the distance of the first function from __TEXT's address,
 * each further one the distance from the function before; 0 ends the run (the rest is padding).
 * On 32-bit ARM bit 0 of the sum says Thumb.
 *
 *   90 20 | 10 | 00     with __TEXT at 0x100000000: functions at 0x100001010 and 0x100001020
 */
#include "symbolicator/macho/macho.h"

#include "base/reader.h"

/* At most this many: each number ends with one byte whose top bit is clear. */
static size_t
count_ends(struct fz_span bytes)
{
    size_t n = 0;
    for (size_t i = 0; i < bytes.len; i++)
        n += !(bytes.data[i] & 0x80);
    return n;
}

enum fz_code
sym_macho_function_starts(const struct sym_macho *macho, struct fz_arena *arena, uint64_t **ret,
                          size_t *ret_n, struct sym_problems *problems, struct fz_error *err)
{
    size_t room = count_ends(macho->function_starts);
    uint64_t *starts = fz_arena_array(arena, room, sizeof(*starts));
    if (!starts)
        return fz_arena_fail(arena, err);
    struct fz_reader r = fz_reader_make(macho->function_starts, "function starts");
    bool has_thumb = fz_arch_has_thumb(macho->cputype);
    uint64_t at = macho->text_vmaddr;
    size_t n = 0;
    while (n < room && fz_read_left(&r) > 0) {
        uint64_t delta = fz_read_uleb(&r);
        if (r.failed || delta == 0)
            break;
        if (__builtin_add_overflow(at, delta, &at)) {
            sym_problem_add(problems, SYM_PROBLEM_BAD_FUNCTION_STARTS,
                            "function starts: number %zu leaves the address space", n);
            break;
        }
        uint64_t start = has_thumb ? at & ~UINT64_C(1) : at;
        if (n == 0 || start != starts[n - 1])
            starts[n++] = start;
    }
    if (r.failed)
        sym_problem_add(problems, SYM_PROBLEM_BAD_FUNCTION_STARTS,
                        "function starts: a number at byte %zu has no end", r.bad_offset);
    *ret = starts;
    *ret_n = n;
    return FZ_OK;
}
