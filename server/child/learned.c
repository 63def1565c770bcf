/* LEARNED: ask the worker for names that other reports told. */
#include <string.h>

#include "base/attr.h"
#include "server/child/parts.h"

/* One packet each way; *ret_n_done: how many of the offsets it settled. */
static enum fz_code
ask_some(struct child *child, const struct fz_uuid *uuid, const uint32_t *offsets, size_t n,
         struct fz_arena *arena, struct resolve_learned *ret, size_t *ret_n_done,
         struct fz_error *err)
{
    struct proto_learned found[PROTO_ASK_MAX];
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer body = fz_buffer_make(0);
    proto_learned_ask_encode(uuid, offsets, n, &body);
    enum fz_code code = fz_buffer_done(&body, err);
    if (code == FZ_OK)
        code = child_ask(child, PROTO_LEARNED, fz_buffer_span(&body), PROTO_LEARNED_IS, err);
    if (code == FZ_OK)
        code = proto_learned_answer_decode(child->inbox.body, n, arena, found, ret_n_done, err);
    if (code != FZ_OK)
        return code;
    for (size_t i = 0; i < *ret_n_done; i++)
        ret[i] = (struct resolve_learned){found[i].name, found[i].start};
    return FZ_OK;
}

enum fz_code
child_learned_find(struct child *child, const struct fz_uuid *uuid, const uint32_t *offsets,
                   size_t n, struct fz_arena *arena, struct resolve_learned *ret,
                   struct fz_error *err)
{
    for (size_t i = 0, n_done; i < n; i += n_done) {
        size_t n_asked = n - i < PROTO_ASK_MAX ? n - i : PROTO_ASK_MAX;
        enum fz_code code =
            ask_some(child, uuid, offsets + i, n_asked, arena, ret + i, &n_done, err);
        if (code != FZ_OK)
            return code;
    }
    return FZ_OK;
}
