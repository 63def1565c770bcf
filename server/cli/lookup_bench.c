#include "server/cli/lookup_bench.h"

#include <stdio.h>
#include <time.h>

#include "base/buffer.h"
#include "base/file.h"
#include "server/cli/lookup_stream.h"

enum { BENCH_INPUT_MAX = 1 << 30, BENCH_FRAMES = 2 * SYM_FRAMES_MAX };

/* CPU time of this thread in ns. */
static double
cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* As a list is worked on: see sym_index_lookup_many(). Returns how many addresses were looked up.
 */
static size_t
look_up_some(const struct sym_index *index, const uint64_t *addrs, size_t n,
             struct sym_frame *frames, unsigned *touched)
{
    /* On the stack: an allocation would be measured too. */
    size_t n_frames[SYM_LOOKUPS_MAX], total = 0;
    size_t done = sym_index_lookup_many(index, addrs, n, frames, BENCH_FRAMES, n_frames);
    for (size_t i = 0; i < done; i++)
        total += n_frames[i];
    for (size_t i = 0; i < total; i++)
        *touched += (unsigned char)frames[i].name[0] + (unsigned char)frames[i].file[0];
    return done;
}

static size_t
look_up_one(const struct sym_index *index, const uint64_t *addrs, struct sym_frame *frames,
            unsigned *touched)
{
    size_t n = sym_index_lookup(index, *addrs, frames, SYM_FRAMES_MAX);
    for (size_t i = 0; i < n; i++)
        *touched += (unsigned char)frames[i].name[0] + (unsigned char)frames[i].file[0];
    return 1;
}

/* Look all addresses up again and again, touching names and files, n times in all. */
static enum fz_code
bench(const struct sym_index *index, const struct fz_buffer *addresses, uint64_t n,
      struct fz_error *err)
{
    struct sym_frame frames[BENCH_FRAMES];
    const uint64_t *addrs = (const uint64_t *)(const void *)addresses->data;
    size_t n_addrs = addresses->len / sizeof(*addrs), at = 0;
    double ns[2];
    unsigned touched = 0;
    if (n_addrs == 0)
        return fz_fail(err, FZ_E_MALFORMED, "--bench needs addresses on standard input");
    for (int alone = 0; alone < 2; alone++) {
        /* CPU time, not the clock: what other processes do does not count. */
        double begin = cpu_ns();
        uint64_t done = 0;
        for (size_t some; done < n; done += some) {
            some = alone ? look_up_one(index, addrs + at, frames, &touched)
                         : look_up_some(index, addrs + at, n_addrs - at, frames, &touched);
            /* From the start again: a list is usually shorter than N. */
            at = at + some == n_addrs ? 0 : at + some;
        }
        ns[alone] = done ? (cpu_ns() - begin) / (double)done : 0;
    }
    printf("%.1f ns per lookup, %.1f ns one by one\n", ns[0], ns[1]);
    /* That `touched` is used keeps the compiler from dropping the reads that are measured. */
    if (touched == 0 && n)
        return fz_fail(err, FZ_E_NOT_FOUND, "--bench: no address has a name");
    return FZ_OK;
}

/* The addresses that standard input holds, one after the other. */
static enum fz_code
read_addresses(struct fz_buffer *ret, struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    enum fz_code code = fz_file_read("-", BENCH_INPUT_MAX, &text, err);
    struct fz_span left = fz_buffer_span(&text), line;
    enum lookup_line kind;
    uint64_t addr;
    while (code == FZ_OK && (kind = lookup_line_take(&left, &addr, &line)) != LOOKUP_LINE_END) {
        if (kind == LOOKUP_LINE_ADDRESS)
            fz_buffer_append(ret, &addr, sizeof(addr));
        else
            code = fz_fail(err, FZ_E_MALFORMED, "'%.*s' is not a hex address",
                           (int)(line.len < 80 ? line.len : 80), (const char *)line.data);
    }
    return code == FZ_OK ? fz_buffer_done(ret, err) : code;
}

enum fz_code
lookup_bench(const struct sym_index *index, uint64_t n, struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer addresses = fz_buffer_make(0);
    enum fz_code code = read_addresses(&addresses, err);
    return code == FZ_OK ? bench(index, &addresses, n, err) : code;
}
