#include "server/child/parts.h"

#include <locale.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/child/child.h"
#include "server/child/sandbox.h"

enum fz_code
child_tell(struct child *child, enum proto_kind kind, struct fz_span body, struct fz_error *err)
{
    enum fz_code code = proto_send(PROTO_FD, kind, body, NULL, 0, err);
    child->hung_up = child->hung_up || code == FZ_E_NOT_FOUND;
    /* NOT_FOUND means "no symbol file" to callers, so a hang-up must not look like it. */
    return code == FZ_E_NOT_FOUND ? fz_fail(err, FZ_E_INTERNAL, "the worker has gone") : code;
}

enum fz_code
child_ask(struct child *child, enum proto_kind kind, struct fz_span body, enum proto_kind answer,
          struct fz_error *err)
{
    enum fz_code code = child_tell(child, kind, body, err);
    if (code != FZ_OK)
        return code;
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
    struct fz_span nothing = {NULL, 0};
    enum fz_code code = child_ask(child, PROTO_FILE, nothing, PROTO_FILE_IS, err);
    if (code != FZ_OK)
        return code;
    struct fz_reader in = fz_reader_make(child->inbox.body, "answer");
    uint8_t refusal = fz_read_u8(&in);
    uint32_t number = fz_read_u32(&in);
    if (refusal == FZ_E_LIMIT)
        return fz_fail(err, FZ_E_LIMIT, "the upload holds more files than its limit");
    int fd = proto_take_fd(&child->inbox, 0);
    if (refusal || in.failed || fd < 0)
        return fz_fail(err, FZ_E_UNAVAILABLE, "no room for another file");
    *ret_fd = fd;
    *ret_number = number;
    return FZ_OK;
}

/* FZ_OK once the worker has said what this child is for. */
static enum fz_code
take_start(struct child *child, struct fz_error *err)
{
    enum fz_code code = proto_receive(PROTO_FD, -1, true, &child->inbox, err);
    if (code != FZ_OK)
        return code;
    struct fz_reader in = fz_reader_make(child->inbox.body, "start");
    uint8_t role = fz_read_u8(&in);
    struct fz_span limits = fz_read_bytes(&in, sizeof(child->limits));
    if (child->inbox.kind != PROTO_START || in.failed ||
        (role != PROTO_ROLE_REPORTS && role != PROTO_ROLE_SYMBOLS))
        return fz_fail(err, FZ_E_MALFORMED, "no start message");
    child->role = (enum proto_role)role;
    memcpy(&child->limits, limits.data, sizeof(child->limits));
    return FZ_OK;
}

static void
tell_failure(struct child *child, const struct fz_error *err)
{
    struct fz_buffer body;
    fz_buffer_init(&body, 0);
    /* The memory that a child may take is a limit on the input, not a shortage of the machine. */
    enum fz_code code = err->code == FZ_E_NO_MEMORY ? FZ_E_LIMIT : err->code;
    proto_put_u8(&body, (uint8_t)code);
    proto_put_u64(&body, (uint64_t)err->offset);
    proto_put_text(&body,
                   err->code == FZ_E_NO_MEMORY ? "reading it takes more memory than its limit"
                                               : err->text,
                   sizeof(err->text));
    if (!body.failed && child_tell(child, PROTO_FAILED, fz_buffer_span(&body), NULL) != FZ_OK)
        child->hung_up = true;
    child->hung_up = child->hung_up || body.failed;
    fz_buffer_deinit(&body);
}

/* One request; false when there will be no more. */
static bool
serve_one(struct child *child)
{
    struct fz_error err = {.code = FZ_OK, .offset = -1};
    if (proto_receive(PROTO_FD, -1, true, &child->inbox, &err) != FZ_OK)
        return false;
    child_sandbox_begin_job(child->role, &child->limits);
    enum fz_code code;
    if (child->inbox.kind == PROTO_SYMBOLICATE && child->role == PROTO_ROLE_REPORTS)
        code = child_symbolicate(child, &err);
    else if (child->inbox.kind == PROTO_READ_SYMBOLS && child->role == PROTO_ROLE_SYMBOLS)
        code = child_read_symbols(child, &err);
    else
        return false;
    if (code != FZ_OK && !child->hung_up) {
        err.code = code;
        tell_failure(child, &err);
    }
    child_cache_trim(child->cache);
    return !child->hung_up;
}

int
child_main(void)
{
    struct child child = {.hung_up = false};
    struct fz_error err;
    struct stat st;
    if (fstat(PROTO_FD, &st) != 0 || !S_ISSOCK(st.st_mode)) {
        fprintf(stderr, "framezero child: is started by a worker, not by hand\n");
        return 2;
    }
    /* Names in archives are UTF-8; libarchive converts by the locale. Without it they stay bytes.
     */
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        setlocale(LC_CTYPE, "C");
    bool ok = proto_inbox_init(&child.inbox, &err) == FZ_OK && take_start(&child, &err) == FZ_OK &&
              child_sandbox_enter(child.role, &child.limits, &err) == FZ_OK &&
              child_cache_create(&child.cache, &err) == FZ_OK;
    while (ok && serve_one(&child))
        continue;
    child_cache_destroy(child.cache);
    proto_inbox_deinit(&child.inbox);
    return ok ? 0 : 1;
}
