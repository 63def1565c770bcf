/* An upload of symbols that is an archive, or says so. */
#include <stdlib.h>

#include "base/attr.h"
#include "symbolicator/symbolicator.h"

static uint64_t n_bytes;

static enum fz_code
begin(void *user FZ_UNUSED, const char *name, struct fz_error *err FZ_UNUSED)
{
    if (!name)
        abort();
    return FZ_OK;
}

static enum fz_code
take(void *user, uint64_t offset, struct fz_span bytes, struct fz_error *err FZ_UNUSED)
{
    const struct sym_archive_limits *limits = user;
    n_bytes += bytes.len;
    if (offset > limits->member_bytes || bytes.len > limits->member_bytes - offset ||
        n_bytes > limits->bytes)
        abort();
    return FZ_OK;
}

static enum fz_code
end(void *user FZ_UNUSED, enum sym_member_state state FZ_UNUSED, struct fz_error *err FZ_UNUSED)
{
    return FZ_OK;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sym_archive_limits limits = {
        .member_bytes = 256 * 1024, .bytes = 1024 * 1024, .entries = 50, .ratio = 200};
    struct sym_archive_sink sink = {.wants = sym_archive_wants_symbols,
                                    .begin = begin,
                                    .write = take,
                                    .end = end,
                                    .user = &limits};
    struct sym_archive_summary summary;
    struct sym_problems problems = {.n = 0};
    struct fz_error err;
    n_bytes = 0;
    if (sym_archive_walk(fz_span_make(data, size), &limits, &sink, &summary, &problems, &err) ==
            FZ_OK &&
        summary.n_entries > limits.entries)
        abort();
    return 0;
}
