#define _GNU_SOURCE /* MSG_CMSG_CLOEXEC */
#include "server/protocol/protocol.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/text.h"
#include "base/time.h"

union fd_space { /* aligned as the kernel wants it */
    struct cmsghdr header;
    char bytes[CMSG_SPACE(PROTO_FDS_MAX * sizeof(int))];
};

enum fz_code
proto_inbox_init(struct proto_inbox *inbox, struct fz_error *err)
{
    *inbox = (struct proto_inbox){.bytes = malloc(PROTO_PACKET_MAX)};
    if (!inbox->bytes)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    return FZ_OK;
}

static void
close_fds(struct proto_inbox *inbox)
{
    for (size_t i = 0; i < inbox->n_fds; i++) {
        /* Those that were taken are -1. */
        if (inbox->fds[i] >= 0)
            close(inbox->fds[i]);
    }
    inbox->n_fds = 0;
}

void
proto_inbox_deinit(struct proto_inbox *inbox)
{
    if (!inbox)
        return;
    close_fds(inbox);
    free(inbox->bytes);
    inbox->bytes = NULL;
}

int
proto_take_fd(struct proto_inbox *inbox, size_t i)
{
    if (i >= inbox->n_fds)
        return -1;
    int fd = inbox->fds[i];
    inbox->fds[i] = -1;
    return fd;
}

/* FZ_OK when `events` (POLLIN, POLLOUT) are possible. */
static enum fz_code
wait_for(int sock, short events, int64_t timeout_ms, struct fz_error *err)
{
    /* Against a fixed end: signals interrupt poll(), and each would start the time anew. */
    int64_t end = timeout_ms < 0 ? INT64_MAX : fz_time_monotonic_ms() + timeout_ms;
    for (;;) {
        int64_t left = timeout_ms < 0 ? -1 : end - fz_time_monotonic_ms();
        if (timeout_ms >= 0 && left < 0)
            left = 0;
        struct pollfd wait = {.fd = sock, .events = events};
        /* poll() takes an int of milliseconds; the loop waits for the rest. */
        int n = poll(&wait, 1, left > 1000000 ? 1000000 : (int)left);
        if (n > 0)
            return FZ_OK;
        if (n < 0 && errno != EINTR)
            return fz_fail_errno(err, "cannot wait for a message");
        if (timeout_ms >= 0 && fz_time_monotonic_ms() >= end)
            return fz_fail(err, FZ_E_UNAVAILABLE, "no answer in time");
    }
}

enum fz_code
proto_send_until(int sock, int64_t timeout_ms, const struct proto_packet *packet,
                 struct fz_error *err)
{
    const struct fz_span body = packet->body;
    size_t n_fds = packet->n_fds;
    if (body.len + 1 > PROTO_PACKET_MAX || n_fds > PROTO_FDS_MAX)
        return fz_fail(err, FZ_E_LIMIT, "message of %zu bytes is too long", body.len);
    uint8_t first = (uint8_t)packet->kind;
    struct iovec parts[2] = {{.iov_base = &first, .iov_len = 1},
                             {.iov_base = (void *)(uintptr_t)body.data, .iov_len = body.len}};
    union fd_space space = {.bytes = {0}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = body.len ? 2 : 1};
    if (n_fds) {
        message.msg_control = space.bytes;
        message.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
        memcpy(CMSG_DATA(header), packet->fds, n_fds * sizeof(int));
    }
    /* Against a fixed end, as in wait_for(): another thread may take the room that it found. */
    int64_t end = timeout_ms < 0 ? INT64_MAX : fz_time_monotonic_ms() + timeout_ms;
    ssize_t sent;
    while ((sent = sendmsg(sock, &message, MSG_NOSIGNAL | MSG_DONTWAIT)) < 0 &&
           (errno == EINTR || errno == EAGAIN)) {
        int64_t left = timeout_ms < 0 ? -1 : end - fz_time_monotonic_ms();
        enum fz_code code = wait_for(sock, POLLOUT, timeout_ms >= 0 && left < 0 ? 0 : left, err);
        if (code != FZ_OK)
            return code;
    }
    /* Its own code: the caller then looks for the reason in how the other process ended. */
    if (sent < 0 && (errno == EPIPE || errno == ECONNRESET))
        return fz_fail(err, FZ_E_NOT_FOUND, "the other process has closed the connection");
    return sent < 0 ? fz_fail_errno(err, "cannot send a message") : FZ_OK;
}

enum fz_code
proto_send(int sock, enum proto_kind kind, struct fz_span body, const int *fds, size_t n_fds,
           struct fz_error *err)
{
    const struct proto_packet packet = {kind, body, fds, n_fds};
    return proto_send_until(sock, -1, &packet, err);
}

/* Take the descriptors over before anything else is judged, so that none leaks. */
static void
collect_fds(struct msghdr *message, struct proto_inbox *inbox)
{
    for (struct cmsghdr *h = CMSG_FIRSTHDR(message); h; h = CMSG_NXTHDR(message, h)) {
        /* Credentials would come the same way. */
        if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
            continue;
        /* What does not fit stays open in neither process: the kernel has counted it as truncated.
         * */
        size_t n = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < n && inbox->n_fds < PROTO_FDS_MAX; i++) {
            memcpy(&inbox->fds[inbox->n_fds], CMSG_DATA(h) + i * sizeof(int), sizeof(int));
            inbox->n_fds++;
        }
    }
}

enum fz_code
proto_receive(int sock, int64_t timeout_ms, bool takes_fds, struct proto_inbox *inbox,
              struct fz_error *err)
{
    close_fds(inbox);
    enum fz_code code = wait_for(sock, POLLIN, timeout_ms, err);
    if (code != FZ_OK)
        return code;
    struct iovec part = {.iov_base = inbox->bytes, .iov_len = PROTO_PACKET_MAX};
    union fd_space space = {.bytes = {0}};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    /* Without room for them the kernel drops descriptors and says so. */
    if (takes_fds) {
        message.msg_control = space.bytes;
        message.msg_controllen = sizeof(space.bytes);
    }
    ssize_t got;
    do
        got = recvmsg(sock, &message, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    /* No message of this protocol is empty, so 0 bytes mean that the peer has closed. */
    if (got == 0 || (got < 0 && errno == ECONNRESET))
        return fz_fail(err, FZ_E_NOT_FOUND, "the other process has closed the connection");
    if (got < 0)
        return fz_fail_errno(err, "cannot receive a message");
    if (takes_fds)
        collect_fds(&message, inbox);
    /* The kernel drops the rest of a packet that is longer than the room for it. */
    if (message.msg_flags & MSG_TRUNC)
        return fz_fail(err, FZ_E_MALFORMED, "a message is longer than %d bytes", PROTO_PACKET_MAX);
    if (message.msg_flags & MSG_CTRUNC)
        return fz_fail(err, FZ_E_MALFORMED,
                       "a message carries descriptors that were not asked for");
    if (inbox->bytes[0] == 0 || inbox->bytes[0] >= PROTO_KINDS)
        return fz_fail(err, FZ_E_MALFORMED, "unknown message %u", inbox->bytes[0]);
    inbox->kind = (enum proto_kind)inbox->bytes[0];
    inbox->body = fz_span_make(inbox->bytes + 1, (size_t)got - 1);
    return FZ_OK;
}
