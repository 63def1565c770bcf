#include "server/protocol/level.h"

#include "server/protocol/protocol.h"

static const char *const names[PROTO_LOCKS] = {
    [PROTO_LOCK_LANDLOCK] = "landlock",        [PROTO_LOCK_SECCOMP] = "seccomp",
    [PROTO_LOCK_USER] = "unprivileged_user",   [PROTO_LOCK_USER_NS] = "user_namespace",
    [PROTO_LOCK_NET_NS] = "network_namespace", [PROTO_LOCK_PID_NS] = "pid_namespace",
    [PROTO_LOCK_IPC_NS] = "ipc_namespace",     [PROTO_LOCK_UTS_NS] = "uts_namespace",
    [PROTO_LOCK_MOUNT_NS] = "mount_namespace", [PROTO_LOCK_EMPTY_ROOT] = "empty_root",
    [PROTO_LOCK_PROCESSES] = "process_limit",  [PROTO_LOCK_OOM] = "killed_first",
};

static const uint32_t all = ((uint32_t)1 << PROTO_LOCKS) - 1;

bool
proto_level_has(const struct proto_level *level, enum proto_mechanism lock)
{
    return (level->locks >> lock & 1) != 0;
}

const char *
proto_level_name(enum proto_mechanism lock)
{
    return names[lock];
}

const char *
proto_level_word(const struct proto_level *level)
{
    return level->locks == all ? "full" : level->locks == 0 ? "none" : "partial";
}

void
proto_level_list(const struct proto_level *level, bool there, struct fz_buffer *out)
{
    size_t n = 0;
    for (int lock = 0; lock < PROTO_LOCKS; lock++) {
        if (proto_level_has(level, (enum proto_mechanism)lock) != there)
            continue;
        fz_buffer_text(out, n++ > 0 ? "," : "");
        fz_buffer_text(out, names[lock]);
    }
}

void
proto_level_encode(const struct proto_level *level, struct fz_buffer *out)
{
    proto_put_u32(out, level->locks);
    proto_put_u8(out, level->landlock_abi);
}

enum fz_code
proto_level_decode(struct fz_span body, struct proto_level *ret, struct fz_error *err)
{
    struct fz_reader in = fz_reader_make(body, "ready");
    struct proto_level level = {.locks = fz_read_u32(&in)};
    level.landlock_abi = fz_read_u8(&in);
    /* A bit without a name would be one that no one could read in the log. */
    if (in.failed || level.locks > all)
        return fz_fail(err, FZ_E_MALFORMED, "not a level of the sandbox");
    *ret = level;
    return FZ_OK;
}
