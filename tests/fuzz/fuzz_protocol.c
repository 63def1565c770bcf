/* The messages of a child to its worker: any bytes are possible. */
#include <stdlib.h>

#include "server/protocol/intake.h"
#include "server/report/columns.h"

/* Everything that an item names is inside its body. */
static void
check_intake(const struct proto_intake *intake, uint64_t body_len, uint64_t made_len)
{
    for (size_t i = 0; i < intake->n_items; i++) {
        const struct proto_item *item = &intake->items[i];
        uint64_t room = item->is_made ? made_len : body_len;
        if (item->offset > room || item->len > room - item->offset)
            abort();
        if (item->code == FZ_OK && (!item->format || !item->reader))
            abort();
        for (size_t k = 0; k < item->n_pieces; k++) {
            const struct proto_piece *piece = &item->pieces[k];
            if (!piece->text && (piece->offset > room || piece->len > room - piece->offset))
                abort();
        }
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct fz_arena arena;
    struct proto_slice slice;
    struct proto_intake intake;
    struct proto_intake_request request;
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
    switch (data[0] % 7) {
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
    case 5: /* flags may hold bits that mean nothing */
        if (proto_intake_decode(body, 4096, 64, &arena, &intake, &err) == FZ_OK)
            check_intake(&intake, 4096, 64);
        break;
    case 6:
        if (proto_intake_request_decode(body, &arena, &request, &err) == FZ_OK &&
            request.body.len && request.body.len != request.len)
            abort();
        break;
    default:
        if (proto_problems_decode(body, &arena, &problems, &err) == FZ_OK)
            proto_problems_encode(&problems, &again);
        break;
    }
    if (again.len > 0 && data[0] % 7 != 0 && !fz_span_equal(fz_buffer_span(&again), body))
        abort(); /* a slice's flags byte may hold bits that mean nothing */
    fz_buffer_deinit(&again);
    fz_arena_deinit(&arena);
    return 0;
}
