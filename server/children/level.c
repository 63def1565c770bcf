#include "server/children/level.h"

#include "base/attr.h"
#include "base/log.h"
#include "server/children/process.h"

enum { READY_S = 10 };

enum fz_code
children_level_probe(const struct limits *limits, struct proto_level *ret, struct fz_error *err)
{
    struct child_process child = {.sock = -1};
    /* The locks are the same for all roles; this one does not wait for other processes. */
    enum fz_code code = child_process_start(&child, PROTO_ROLE_INTAKE, limits, err);
    if (code == FZ_OK) {
        child_process_begin(&child, READY_S);
        code = child_process_ready(&child, err);
    }
    if (code == FZ_OK)
        *ret = child.level;
    child_process_stop(&child);
    return code;
}

/* What a child that was taken over can still name: files, the network, other processes. */
static bool
is_locked_in(const struct proto_level *level)
{
    return proto_level_has(level, PROTO_LOCK_SECCOMP) &&
           (proto_level_has(level, PROTO_LOCK_LANDLOCK) ||
            proto_level_has(level, PROTO_LOCK_EMPTY_ROOT));
}

void
children_level_log(const struct proto_level *level)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer active = fz_buffer_make(0);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer absent = fz_buffer_make(0);
    proto_level_list(level, true, &active);
    proto_level_list(level, false, &absent);
    /* A build with a sanitizer is without them on purpose. */
    bool warns = !FZ_IS_WATCHED && !is_locked_in(level);
    fz_log(warns ? FZ_LOG_WARN : FZ_LOG_INFO, "sandbox",
           "level=%s landlock_abi=%u active=%s absent=%s%s", proto_level_word(level),
           level->landlock_abi, active.len ? fz_buffer_cstr(&active) : "-",
           absent.len ? fz_buffer_cstr(&absent) : "-",
           warns ? " help=\"docs/security.md, section Levels\"" : "");
}
