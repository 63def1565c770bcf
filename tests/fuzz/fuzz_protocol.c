/* The messages of a child to its worker: any bytes are possible. */
#include <stdlib.h>

#include "server/protocol/protocol.h"
#include "server/report/columns.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct fz_arena arena;
    struct proto_slice slice;
    struct proto_info info;
    struct sym_problems problems;
    struct fz_uuid uuid;
    struct proto_learned found[PROTO_ASK_MAX];
    uint32_t *offsets;
    size_t n;
    struct fz_error err;
    struct fz_span body = fz_span_make(size > 1 ? data + 1 : NULL, size - 1);
    struct fz_buffer again;
    fz_buffer_init(&again, 0);
    fz_arena_init(&arena, 4 * 1024 * 1024);
    /* A decoded message must be the same after encoding and decoding. */
    switch (data[0] % 5) {
    case 0:
        if (proto_slice_decode(body, &arena, &slice, &err) == FZ_OK)
            proto_slice_encode(&slice, &again);
        break;
    case 1:
        if (proto_info_decode(body, &report_columns, 64, &arena, &info, &err) == FZ_OK)
            proto_info_encode(&info, &report_columns, &again);
        break;
    case 3:
        if (proto_learned_ask_decode(body, &arena, &uuid, &offsets, &n, &err) == FZ_OK)
            proto_learned_ask_encode(&uuid, offsets, n, &again);
        break;
    case 4: /* names may come in any order and twice */
        if (proto_learned_answer_decode(body, PROTO_ASK_MAX, &arena, found, &n, &err) == FZ_OK &&
            (n == 0 || n > PROTO_ASK_MAX))
            abort();
        break;
    default:
        if (proto_problems_decode(body, &arena, &problems, &err) == FZ_OK)
            proto_problems_encode(&problems, &again);
        break;
    }
    if (again.len > 0 && data[0] % 5 != 0 && !fz_span_equal(fz_buffer_span(&again), body))
        abort(); /* a slice's flags byte may hold bits that mean nothing */
    fz_buffer_deinit(&again);
    fz_arena_deinit(&arena);
    return 0;
}
