/* LEARNED and LEARNED_IS: see protocol.h. */
#include <string.h>

#include "server/protocol/coder.h"

enum { ANSWER_BYTES = PROTO_PACKET_MAX - 1 }; /* what the kind leaves of a packet */

static void
read_offset(struct proto_coder *c, void *record)
{
    proto_u32(c, record);
}

void
proto_learned_ask_encode(const struct fz_uuid *uuid, const uint32_t *offsets, size_t n,
                         struct fz_buffer *out)
{
    fz_buffer_append(out, uuid->bytes, sizeof(uuid->bytes));
    proto_put_u32(out, (uint32_t)n);
    for (size_t i = 0; i < n; i++)
        proto_put_u32(out, offsets[i]);
}

enum fz_code
proto_learned_ask_decode(struct fz_span body, struct fz_arena *arena, struct fz_uuid *ret_uuid,
                         uint32_t **ret_offsets, size_t *ret_n, struct fz_error *err)
{
    static const struct proto_list offsets = {
        .max = PROTO_ASK_MAX, .record = 4, .size = sizeof(uint32_t), .fields = read_offset};
    struct proto_coder c = proto_reader(body, "question for names", arena);
    proto_uuid(&c, ret_uuid);
    *ret_offsets = proto_records(&c, &offsets, NULL, ret_n);
    proto_expect(&c, *ret_n > 0);
    return proto_reader_done(&c, err);
}

void
proto_learned_answer_encode(const struct proto_learned *found, size_t n, struct fz_buffer *out)
{
    static const size_t largest = 4 + 4 + 4 + PROTO_NAME_MAX;
    /* The largest record is assumed, since a packet that is too long is an error of the program. */
    size_t n_done = 0, used = 4;
    for (; n_done < n && used + largest <= ANSWER_BYTES; n_done++) {
        size_t len = found[n_done].name ? strlen(found[n_done].name) : 0;
        if (found[n_done].name)
            used += 4 + 4 + 4 + (len < PROTO_NAME_MAX ? len : PROTO_NAME_MAX);
    }
    proto_put_u32(out, (uint32_t)n_done);
    for (size_t i = 0; i < n_done; i++) {
        /* Most offsets have no name, so a record has its number and others are left out. */
        if (!found[i].name)
            continue;
        proto_put_u32(out, (uint32_t)i);
        proto_put_u32(out, found[i].start);
        proto_put_text(out, found[i].name, PROTO_NAME_MAX);
    }
}

enum fz_code
proto_learned_answer_decode(struct fz_span body, size_t n, struct fz_arena *arena,
                            struct proto_learned *ret, size_t *ret_n_done, struct fz_error *err)
{
    struct fz_reader in = fz_reader_make(body, "learned names");
    size_t n_done = fz_read_u32(&in);
    /* An answer for no offset at all would be asked for again without end. */
    if (in.failed || n_done == 0 || n_done > n)
        return fz_fail(err, FZ_E_MALFORMED, "learned names: for %zu of %zu offsets", n_done, n);
    for (size_t i = 0; i < n_done; i++)
        ret[i].name = NULL;
    while (!in.failed && fz_read_left(&in) > 0) {
        uint32_t which = fz_read_u32(&in), start = fz_read_u32(&in);
        const char *name = proto_get_text(&in, PROTO_NAME_MAX, arena);
        /* It is the index of a list on the caller's stack. */
        if (!name || which >= n_done)
            return fz_fail(err, FZ_E_MALFORMED, "learned names: one that was not asked for");
        ret[which].start = start;
        ret[which].name = name;
    }
    enum fz_code code = fz_read_done(&in, err);
    if (code == FZ_OK)
        *ret_n_done = n_done;
    return code;
}
