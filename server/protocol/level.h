/*
 * What a child has locked itself in with: the mechanisms that the kernel allowed. Part of READY.
 *
 * A child without one of them works all the same; the others hold. docs/security.md says what each one is for.
 */
#ifndef PROTOCOL_LEVEL_H
#define PROTOCOL_LEVEL_H

#include "base/buffer.h"
#include "base/reader.h"

enum proto_mechanism {
    PROTO_LOCK_LANDLOCK,   /* no file by name, no TCP port */
    PROTO_LOCK_SECCOMP,    /* a list of system calls; any other ends the child */
    PROTO_LOCK_USER,       /* not root */
    PROTO_LOCK_USER_NS,    /* and has no capability outside of its namespace */
    PROTO_LOCK_NET_NS,     /* a network without a device */
    PROTO_LOCK_PID_NS,     /* it cannot start a process, as its namespace has ended */
    PROTO_LOCK_IPC_NS,     /* no shared memory, queues and semaphores of others */
    PROTO_LOCK_UTS_NS,     /* cannot change the host's name */
    PROTO_LOCK_MOUNT_NS,   /* cannot change what others see mounted */
    PROTO_LOCK_EMPTY_ROOT, /* its root folder is empty and belongs to nothing */
    PROTO_LOCK_PROCESSES,  /* RLIMIT_NPROC is 0 */
    PROTO_LOCK_OOM,        /* the first to be killed when the machine has no memory left */
    PROTO_LOCKS
};

struct proto_level {
    uint32_t locks; /* a bit for each enum proto_mechanism */
    uint8_t landlock_abi;
};

bool proto_level_has(const struct proto_level *level, enum proto_mechanism lock);
/* The name in the log and in /healthz. */
const char *proto_level_name(enum proto_mechanism lock);
/* "full", "partial" or "none". */
const char *proto_level_word(const struct proto_level *level);
/* The names of those that are there, or of those that are not, with a comma between them. */
void proto_level_list(const struct proto_level *level, bool there, struct fz_buffer *out);

void proto_level_encode(const struct proto_level *level, struct fz_buffer *out);
FZ_MUST_CHECK enum fz_code proto_level_decode(struct fz_span body, struct proto_level *ret,
                                              struct fz_error *err);

#endif
