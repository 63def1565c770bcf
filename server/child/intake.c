/* INTAKE: a body that a client sent → the reports in it, checked, and what is counted. */
#include <string.h>

#include "base/file.h"
#include "server/child/parts.h"
#include "server/ingest/ingest.h"
#include "server/protocol/intake.h"

/* One body. */
struct answer {
    struct child *child;
    struct fz_arena *arena;
    struct fz_span body;    /* the request's */
    struct fz_buffer *made; /* what is not in the body, in the order of the file */
};

static bool
is_inside(struct fz_span bytes, struct fz_span body)
{
    /* As numbers: to compare pointers into different objects is undefined in C. */
    uintptr_t start = (uintptr_t)body.data, at = (uintptr_t)bytes.data;
    return body.data && bytes.data && at >= start && at - start <= body.len &&
           bytes.len <= body.len - (at - start);
}

/* A text is sent as it is: only what is in the item's own body has an offset. */
static enum fz_code
copy_piece(const struct answer *a, const struct proto_item *item, struct fz_span item_body,
           struct fz_span bytes, struct proto_piece *ret, struct fz_error *err)
{
    if (bytes.len && is_inside(bytes, item_body)) {
        /* Relative to the request's body, which is all that the server can look at. */
        ret->offset = item->offset + (uint64_t)(bytes.data - item_body.data);
        ret->len = bytes.len;
        return FZ_OK;
    }
    ret->text = fz_arena_text(a->arena, bytes);
    return ret->text ? FZ_OK : fz_arena_fail(a->arena, err);
}

static enum fz_code
copy_identity(const struct answer *a, const struct ingest_item *from, struct proto_item *to,
              struct fz_error *err)
{
    struct fz_span *found = NULL;
    enum fz_code code = ingest_identity(from, a->arena, &found, &to->n_pieces, err);
    if (code != FZ_OK || to->n_pieces == 0)
        return code;
    struct proto_piece *pieces = fz_arena_array(a->arena, to->n_pieces, sizeof(*pieces));
    if (!pieces)
        return fz_arena_fail(a->arena, err);
    for (size_t i = 0; code == FZ_OK && i < to->n_pieces; i++)
        code = copy_piece(a, to, from->body, found[i], &pieces[i], err);
    to->pieces = pieces;
    return code;
}

static enum fz_code
copy_item(struct answer *a, const struct ingest_item *from, struct proto_item *to,
          struct fz_error *err)
{
    *to = (struct proto_item){.code = from->code, .len = from->body.len};
    if (from->code != FZ_OK) {
        to->len = 0; /* the bytes of what is rejected are not needed */
        to->code = from->code == FZ_E_NO_MEMORY ? FZ_E_LIMIT : from->code;
        to->text = from->err.text;
        to->err_offset = from->err.offset;
        return FZ_OK;
    }
    /* A body that was inflated or taken out of an encoding is not in the request's bytes. */
    to->is_made = !is_inside(from->body, a->body);
    to->offset = to->is_made ? a->made->len : (uint64_t)(from->body.data - a->body.data);
    if (to->is_made)
        fz_buffer_append(a->made, from->body.data, from->body.len);
    to->format = from->format;
    to->reader = from->reader;
    memcpy(to->id, from->id, sizeof(to->id));
    return copy_identity(a, from, to, err);
}

static enum fz_code
copy_counted(const struct ingest_counted *from, struct fz_arena *arena, struct proto_intake *to,
             struct fz_error *err)
{
    struct proto_session *sessions = fz_arena_array(arena, from->n_sessions, sizeof(*sessions));
    struct proto_discarded *discarded =
        fz_arena_array(arena, from->n_discarded, sizeof(*discarded));
    if (!sessions || !discarded)
        return fz_arena_fail(arena, err);
    /* Copied: ingest and protocol must not know each other's types (ARCHITECTURE.md). */
    for (size_t i = 0; i < from->n_sessions; i++) {
        const struct ingest_session *one = &from->sessions[i];
        sessions[i] = (struct proto_session){.release = one->release,
                                             .environment = one->environment,
                                             .user = one->user,
                                             .started_ms = one->started_ms,
                                             .outcome = (uint8_t)one->outcome};
        memcpy(sessions[i].sid, one->sid, sizeof(one->sid));
        memcpy(sessions[i].n, one->n, sizeof(one->n));
    }
    for (size_t i = 0; i < from->n_discarded; i++) {
        const struct ingest_discarded *one = &from->discarded[i];
        discarded[i] = (struct proto_discarded){one->reason, one->category, one->n};
    }
    to->has_report = from->has_report;
    to->has_counted = from->has_counted;
    to->has_sessions = from->has_sessions;
    memcpy(to->id, from->id, sizeof(to->id));
    to->sessions = sessions;
    to->n_sessions = from->n_sessions;
    to->discarded = discarded;
    to->n_discarded = from->n_discarded;
    return FZ_OK;
}

/* A short answer travels in the packet. A long one, and bodies that were made, travel in a file. */
static enum fz_code
send_answer(struct answer *a, const struct proto_intake *intake, struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer info = fz_buffer_make(PROTO_INTAKE_MAX);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer body = fz_buffer_make(0);
    FZ_CLEANUP(fz_closep) int fd = -1;
    uint64_t made_len = a->made->len, file_len = 0;
    uint32_t number;
    /* Encoded first: its length decides where it goes. */
    proto_intake_encode(intake, &info);
    enum fz_code code = fz_buffer_done(&info, err);
    if (code == FZ_OK && (made_len > 0 || info.len > PROTO_PACKET_MAX / 2)) {
        /* After the bodies, whose offsets count from the start of the file. */
        fz_buffer_append(a->made, info.data, info.len);
        file_len = a->made->len;
        code = fz_buffer_done(a->made, err);
        if (code == FZ_OK)
            code = child_new_file(a->child, &fd, &number, err);
        if (code == FZ_OK)
            code = fz_file_write_fd(fd, fz_buffer_span(a->made), err);
    }
    proto_put_u64(&body, file_len);
    proto_put_u64(&body, made_len);
    if (file_len == 0)
        fz_buffer_append(&body, info.data, info.len);
    return code == FZ_OK ? child_send(a->child, PROTO_DONE, &body, err) : code;
}

static enum fz_code
answer(struct answer *a, const struct ingest_intake *found, struct fz_error *err)
{
    struct proto_intake intake = {.n_items = found->n, .n_cut = found->n_cut};
    struct proto_item *items = fz_arena_array(a->arena, found->n, sizeof(*items));
    enum fz_code code = items ? FZ_OK : fz_arena_fail(a->arena, err);
    for (size_t i = 0; code == FZ_OK && i < found->n; i++)
        code = copy_item(a, &found->items[i], &items[i], err);
    intake.items = items;
    /* Nothing in most bodies. */
    if (code == FZ_OK && found->counted)
        code = copy_counted(found->counted, a->arena, &intake, err);
    return code != FZ_OK ? code : send_answer(a, &intake, err);
}

enum fz_code
child_intake(struct child *child, struct fz_error *err)
{
    static const enum ingest_kind kinds[] = {
        [PROTO_INTAKE_REPORTS] = INGEST_REPORTS,
        [PROTO_INTAKE_ENVELOPE] = INGEST_ENVELOPE,
        [PROTO_INTAKE_EVENT] = INGEST_EVENT,
        [PROTO_INTAKE_MINIDUMP] = INGEST_MINIDUMP,
    };
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(child->limits.report_memory);
    FZ_CLEANUP(fz_buffer_deinit)
    struct fz_buffer made = fz_buffer_make(child->limits.report_memory);
    FZ_CLEANUP(fz_closep) int fd = proto_take_fd(&child->inbox, 0);
    FZ_CLEANUP(fz_map_close) struct fz_map map = {.bytes = {NULL, 0}};
    struct proto_intake_request request;
    struct ingest_intake found;
    enum fz_code code = proto_intake_request_decode(child->inbox.body, &arena, &request, err);
    if (code != FZ_OK)
        return code;
    struct answer a = {.child = child, .arena = &arena, .body = request.body, .made = &made};
    if (fd >= 0) {
        code = fz_map_open_fd(fd, &map, err);
        a.body = map.bytes;
    }
    const struct ingest_request ask = {.kind = kinds[request.kind],
                                       .body = a.body,
                                       .boundary = request.boundary,
                                       .was_packed = request.was_packed};
    if (code == FZ_OK)
        code = ingest_intake(&ask, &child->limits, &arena, &found, err);
    if (code == FZ_OK)
        code = answer(&a, &found, err);
    return code;
}
