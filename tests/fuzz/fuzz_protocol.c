/*
 * The messages of a child to its worker and of a worker to its child: any bytes are possible. The first byte says which: below
 * FIRST_NEWER its rest by 7, from there on each of its own.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/protocol/intake.h"
#include "server/protocol/level.h"
#include "server/report/columns.h"

enum { FIRST_NEWER = 0xe0, ISSUE = FIRST_NEWER, LEVEL, PACKETS };

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

/* One packet as it is, with so many descriptors, from the peer. */
static bool
send_packet(int sock, struct fz_span bytes, size_t n_fds)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int) * 8)];
    } space = {.bytes = {0}};
    struct iovec part = {.iov_base = (void *)(uintptr_t)bytes.data, .iov_len = bytes.len};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (n_fds) {
        message.msg_control = space.bytes;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
        struct cmsghdr *fds = CMSG_FIRSTHDR(&message);
        fds->cmsg_level = SOL_SOCKET;
        fds->cmsg_type = SCM_RIGHTS;
        fds->cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
        for (size_t i = 0; i < n_fds; i++)
            memcpy(CMSG_DATA(fds) + i * sizeof(int), &sock, sizeof(sock));
    }
    return sendmsg(sock, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

/* Packets over a pair of sockets, each begun with how many descriptors it carries, whether they are wanted (8) and its
 * length of two bytes. None of the descriptors stays open. */
static void
check_packets(struct fz_span in)
{
    struct fz_error err;
    struct proto_inbox inbox;
    int pair[2], first = dup(STDERR_FILENO);
    close(first);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0 ||
        proto_inbox_init(&inbox, &err) != FZ_OK)
        abort();
    while (in.len >= 3) {
        size_t len = in.data[1] | (size_t)in.data[2] << 8, n_fds = in.data[0] & 7;
        bool takes_fds = in.data[0] & 8;
        struct fz_span body =
            fz_span_until(fz_span_from(in, 3), len < in.len - 3 ? len : in.len - 3);
        in = fz_span_from(in, 3 + body.len);
        if (!body.len || !send_packet(pair[0], body, n_fds))
            continue;
        enum fz_code code = proto_receive(pair[1], 1000, takes_fds, &inbox, &err);
        if (code != FZ_OK && code != FZ_E_MALFORMED)
            abort();
        if (code == FZ_OK && (inbox.body.len != body.len - 1 || inbox.n_fds > PROTO_FDS_MAX ||
                              (!takes_fds && inbox.n_fds)))
            abort();
        int taken = code == FZ_OK ? proto_take_fd(&inbox, 0) : -1;
        if (taken >= 0)
            close(taken);
    }
    proto_inbox_deinit(&inbox);
    close(pair[0]);
    close(pair[1]);
    int last = dup(STDERR_FILENO);
    close(last);
    if (last != first)
        abort();
}

/* False: the first byte is of an older message. */
static bool
check_newer(uint8_t which, struct fz_span body, struct fz_arena *arena, struct fz_buffer *again)
{
    struct proto_issue issue;
    struct proto_level level;
    struct fz_error err;
    if (which == ISSUE && proto_issue_decode(body, arena, &issue, &err) == FZ_OK)
        proto_issue_encode(&issue, again);
    if (which == LEVEL && proto_level_decode(body, &level, &err) == FZ_OK &&
        !*proto_level_word(&level))
        abort();
    if (which == PACKETS)
        check_packets(body);
    return which >= FIRST_NEWER;
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
    switch (check_newer(data[0], body, &arena, &again) ? FIRST_NEWER : data[0] % 7) {
    case FIRST_NEWER:
        break;
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
    if (again.len > 0 && (data[0] >= FIRST_NEWER || data[0] % 7 != 0) &&
        !fz_span_equal(fz_buffer_span(&again), body))
        abort(); /* a slice's flags byte may hold bits that mean nothing */
    fz_buffer_deinit(&again);
    fz_arena_deinit(&arena);
    return 0;
}
