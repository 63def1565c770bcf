/* Questions to the worker: one packet each way, and no other work in between. */
#include <string.h>

#include "base/attr.h"
#include "server/child/parts.h"

enum fz_code
child_send(struct child *child, enum proto_kind kind, const struct fz_buffer *body,
           struct fz_error *err)
{
    enum fz_code code = body ? fz_buffer_done(body, err) : FZ_OK;
    struct fz_span bytes = body ? fz_buffer_span(body) : (struct fz_span){NULL, 0};
    if (code == FZ_OK)
        code = proto_send(PROTO_FD, kind, bytes, NULL, 0, err);
    child->hung_up = child->hung_up || code == FZ_E_NOT_FOUND;
    /* NOT_FOUND means "no symbol file" to callers, so a hang-up must not look like it. */
    return code == FZ_E_NOT_FOUND
               ? fz_fail(err, FZ_E_INTERNAL, "the worker has closed the connection")
               : code;
}

enum fz_code
child_ask(struct child *child, enum proto_kind kind, const struct fz_buffer *body,
          enum proto_kind answer, struct fz_error *err)
{
    enum fz_code code = child_send(child, kind, body, err);
    if (code != FZ_OK)
        return code;
    /* Without a deadline of its own: the worker ends a child whose time is over. */
    code = proto_receive(PROTO_FD, -1, true, &child->inbox, err);
    if (code != FZ_OK || child->inbox.kind != answer) {
        child->hung_up = true;
        return fz_fail(err, FZ_E_INTERNAL, "the worker does not answer");
    }
    return FZ_OK;
}

enum fz_code
child_new_file(struct child *child, int *ret_fd, uint32_t *ret_number, struct fz_error *err)
{
    enum fz_code code = child_ask(child, PROTO_FILE, NULL, PROTO_FILE_IS, err);
    if (code != FZ_OK)
        return code;
    struct fz_reader in = fz_reader_make(child->inbox.body, "answer");
    uint8_t refusal = fz_read_u8(&in);
    uint32_t number = fz_read_u32(&in);
    /* The user can do something about this one; any other failure is the server's. */
    if (refusal == FZ_E_LIMIT)
        return fz_fail(err, FZ_E_LIMIT, "the upload holds more files than its limit");
    int fd = proto_take_fd(&child->inbox, 0);
    if (refusal || in.failed || fd < 0)
        return fz_fail(err, FZ_E_UNAVAILABLE, "no room for another file");
    *ret_fd = fd;
    *ret_number = number;
    return FZ_OK;
}

enum fz_code
child_learned_find(void *user, const struct report_image *image, const uint32_t *offsets, size_t n,
                   struct resolve_learned *ret, struct fz_error *err)
{
    struct child *child = user;
    struct proto_learned found[PROTO_ASK_MAX];
    /* One answer may cover only the first of the offsets: names are long and a packet is not. */
    for (size_t i = 0, n_done; i < n; i += n_done) {
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer body = fz_buffer_make(0);
        size_t n_asked = n - i < PROTO_ASK_MAX ? n - i : PROTO_ASK_MAX;
        proto_learned_ask_encode(&image->uuid, offsets + i, n_asked, &body);
        enum fz_code code = child_ask(child, PROTO_LEARNED, &body, PROTO_LEARNED_IS, err);
        if (code == FZ_OK)
            code = proto_learned_answer_decode(child->inbox.body, n_asked, child->arena, found,
                                               &n_done, err);
        if (code != FZ_OK)
            return code;
        for (size_t k = 0; k < n_done; k++)
            ret[i + k] = (struct resolve_learned){found[k].name, found[k].start};
    }
    return FZ_OK;
}
