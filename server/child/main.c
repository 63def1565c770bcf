/* framezero-child: the program that parses untrusted bytes. Only framezero starts it. */
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json/pool.h"
#include "base/json/scan.h"
#include "server/child/parts.h"
#include "server/sandbox/sandbox.h"

/* FZ_OK once the worker has said what this child is for. */
static enum fz_code
read_start(struct child *child, struct fz_error *err)
{
    enum fz_code code = proto_receive(PROTO_FD, -1, true, &child->inbox, err);
    if (code != FZ_OK)
        return code;
    struct fz_reader in = fz_reader_make(child->inbox.body, "start");
    /* Read before anything else: the rest is laid out as this version has it. */
    if (fz_read_u32(&in) != PROTO_VERSION || fz_read_u32(&in) != sizeof(child->limits))
        return fz_fail(err, FZ_E_CONFLICT, "framezero is of another version");
    uint8_t role = fz_read_u8(&in);
    struct fz_span limits = fz_read_bytes(&in, sizeof(child->limits));
    if (child->inbox.kind != PROTO_START || in.failed || role < PROTO_ROLE_REPORTS ||
        role > PROTO_ROLE_INTAKE)
        return fz_fail(err, FZ_E_MALFORMED, "no start message");
    child->role = (enum proto_role)role;
    /* As it is in the memory of a program of the same build; hence the size above. */
    memcpy(&child->limits, limits.data, sizeof(child->limits));
    return FZ_OK;
}

static enum fz_code
send_ready(struct child *child, const struct proto_level *level, struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer body = fz_buffer_make(0);
    proto_level_encode(level, &body);
    return child_send(child, PROTO_READY, &body, err);
}

static void
send_failure(struct child *child, const struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer body = fz_buffer_make(0);
    /* The memory that a child may take is a limit on the input, not a shortage of the machine. */
    enum fz_code code = err->code == FZ_E_NO_MEMORY ? FZ_E_LIMIT : err->code;
    proto_put_u8(&body, (uint8_t)code);
    proto_put_u64(&body, (uint64_t)err->offset);
    proto_put_text(&body,
                   err->code == FZ_E_NO_MEMORY ? "reading it takes more memory than its limit"
                                               : err->text,
                   sizeof(err->text));
    if (child_send(child, PROTO_FAILED, &body, NULL) != FZ_OK)
        child->hung_up = true;
}

/* One request; false after the last one. */
static bool
serve_one(struct child *child)
{
    struct fz_error err = {.code = FZ_OK, .offset = -1};
    if (proto_receive(PROTO_FD, -1, true, &child->inbox, &err) != FZ_OK)
        return false;
    /* Before the request is looked at: each gets CPU seconds of its own. */
    sandbox_begin_job(child->role, &child->limits);
    enum fz_code code;
    json_pool_start();
    if (child->inbox.kind == PROTO_SYMBOLICATE && child->role == PROTO_ROLE_REPORTS)
        code = child_symbolicate(child, &err);
    else if (child->inbox.kind == PROTO_GROUP && child->role == PROTO_ROLE_REPORTS)
        code = child_group(child, &err);
    else if (child->inbox.kind == PROTO_READ_SYMBOLS && child->role == PROTO_ROLE_SYMBOLS)
        code = child_read_symbols(child, &err);
    else if (child->inbox.kind == PROTO_INTAKE && child->role == PROTO_ROLE_INTAKE)
        code = child_intake(child, &err);
    else
        return false;
    json_pool_end();
    /* After a hang-up no one reads it; the loop ends and so does the process. */
    if (code != FZ_OK && !child->hung_up) {
        err.code = code;
        send_failure(child, &err);
    }
    /* Only between jobs: while a report is resolved, its images hold pointers to open indexes. */
    child_cache_trim(child->cache);
    child_slices_trim(child->slices);
    return !child->hung_up;
}

int
main(void)
{
    struct child child = {.hung_up = false};
    struct sandbox_plan plan = {.limits = &child.limits};
    struct proto_level level;
    struct fz_error err;
    struct stat st;
    /* A user who finds the program and starts it gets a sentence, not a child that waits. */
    if (fstat(PROTO_FD, &st) != 0 || !S_ISSOCK(st.st_mode)) {
        fprintf(stderr, "framezero-child: only framezero starts this program\n");
        return 2;
    }
    /* Names in archives are UTF-8; libarchive converts by the locale. Without that locale they
     * stay bytes.
     */
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        setlocale(LC_CTYPE, "C");
    json_seed();
    json_pool_install();
    enum fz_code code = proto_inbox_init(&child.inbox, &err);
    if (code == FZ_OK)
        code = read_start(&child, &err);
    plan.role = child.role;
    if (code == FZ_OK)
        code = sandbox_enter(&plan, &level, &err);
    if (code == FZ_OK)
        code = child_cache_create(&child.cache, &err);
    if (code == FZ_OK)
        code = child_slices_create(&child.slices, &err);
    if (code == FZ_OK)
        /* Only now: a parent counts a child that ends before this as one that does not start. */
        code = send_ready(&child, &level, &err);
    while (code == FZ_OK && serve_one(&child))
        continue;
    child_slices_destroy(child.slices);
    child_cache_destroy(child.cache);
    proto_inbox_deinit(&child.inbox);
    return code == FZ_OK ? 0 : code == FZ_E_CONFLICT ? PROTO_EXIT_VERSION : 1;
}
