/* INTAKE and its answer: see intake.h. The decoder of the answer takes what a child says, which may
 * have been taken over. */
#include "server/protocol/intake.h"

#include <string.h>

enum { HEAD_ROOM = 512, PIECE_TEXT_MAX = 16 * 1024 };

/* ---- the request --------------------------------------------------------------------------- */

void
proto_intake_request_encode(const struct proto_intake_request *request, struct fz_span body,
                            bool *ret_fits, struct fz_buffer *out)
{
    *ret_fits = body.len <= PROTO_PACKET_MAX - HEAD_ROOM;
    proto_put_u8(out, (uint8_t)request->kind);
    proto_put_u8(out, request->was_packed);
    proto_put_text(out, request->boundary, PROTO_WORD_MAX * 2);
    proto_put_u64(out, body.len);
    if (*ret_fits)
        fz_buffer_append(out, body.data, body.len);
}

enum fz_code
proto_intake_request_decode(struct fz_span message, struct fz_arena *arena,
                            struct proto_intake_request *ret, struct fz_error *err)
{
    struct fz_reader in = fz_reader_make(message, "intake");
    struct proto_intake_request request = {.kind = (enum proto_intake_kind)fz_read_u8(&in)};
    request.was_packed = fz_read_u8(&in) != 0;
    request.boundary = proto_get_text(&in, PROTO_WORD_MAX * 2, arena);
    request.len = fz_read_u64(&in);
    if (fz_read_left(&in) > 0)
        request.body = fz_read_bytes(&in, fz_read_left(&in));
    enum fz_code code = fz_read_done(&in, err);
    if (code == FZ_OK &&
        (request.kind < PROTO_INTAKE_REPORTS || request.kind > PROTO_INTAKE_MINIDUMP))
        return fz_fail(err, FZ_E_MALFORMED, "intake: unknown kind %d", (int)request.kind);
    if (code == FZ_OK && request.body.len && request.body.len != request.len)
        return fz_fail(err, FZ_E_MALFORMED, "intake: %zu of %llu bytes", request.body.len,
                       (unsigned long long)request.len);
    if (code == FZ_OK)
        *ret = request;
    return code;
}

/* ---- the answer, encoded ------------------------------------------------------------------- */

static void
put_piece(const struct proto_piece *piece, struct fz_buffer *out)
{
    proto_put_text(out, piece->text, PIECE_TEXT_MAX);
    if (piece->text)
        return;
    proto_put_u64(out, piece->offset);
    proto_put_u64(out, piece->len);
}

static void
put_item(const struct proto_item *item, struct fz_buffer *out)
{
    proto_put_u8(out, item->is_made);
    proto_put_u64(out, item->offset);
    proto_put_u64(out, item->len);
    proto_put_u8(out, (uint8_t)item->code);
    if (item->code != FZ_OK) {
        proto_put_text(out, item->text, PROTO_TEXT_MAX);
        proto_put_u64(out, (uint64_t)item->err_offset);
        return;
    }
    proto_put_text(out, item->format, PROTO_WORD_MAX);
    proto_put_text(out, item->reader, PROTO_WORD_MAX);
    proto_put_text(out, item->id, sizeof(item->id));
    proto_put_u32(out, (uint32_t)item->n_pieces);
    for (size_t i = 0; i < item->n_pieces; i++)
        put_piece(&item->pieces[i], out);
}

static void
put_session(const struct proto_session *session, struct fz_buffer *out)
{
    proto_put_text(out, session->sid, sizeof(session->sid));
    proto_put_text(out, session->release, PROTO_TEXT_MAX);
    proto_put_text(out, session->environment, PROTO_TEXT_MAX);
    proto_put_u64(out, (uint64_t)session->started_ms);
    proto_put_u8(out, session->outcome);
    for (size_t i = 0; i < PROTO_OUTCOMES; i++)
        proto_put_u32(out, session->n[i]);
}

enum { HAS_REPORT = 1, HAS_COUNTED = 2, HAS_SESSIONS = 4 }; /* bits of the byte of flags */

void
proto_intake_encode(const struct proto_intake *intake, struct fz_buffer *out)
{
    proto_put_u64(out, intake->n_cut);
    proto_put_u32(out, (uint32_t)intake->n_items);
    for (size_t i = 0; i < intake->n_items; i++)
        put_item(&intake->items[i], out);
    proto_put_u8(out, (uint8_t)((intake->has_report ? HAS_REPORT : 0) |
                                (intake->has_counted ? HAS_COUNTED : 0) |
                                (intake->has_sessions ? HAS_SESSIONS : 0)));
    proto_put_text(out, intake->id, sizeof(intake->id));
    proto_put_u32(out, (uint32_t)intake->n_sessions);
    for (size_t i = 0; i < intake->n_sessions; i++)
        put_session(&intake->sessions[i], out);
    proto_put_u32(out, (uint32_t)intake->n_discarded);
    for (size_t i = 0; i < intake->n_discarded; i++) {
        proto_put_text(out, intake->discarded[i].reason, PROTO_TEXT_MAX);
        proto_put_text(out, intake->discarded[i].category, PROTO_TEXT_MAX);
        proto_put_u32(out, intake->discarded[i].n);
    }
}

/* ---- the answer, decoded ------------------------------------------------------------------- */

struct decoding {
    struct fz_reader in;
    struct fz_arena *arena;
    uint64_t body_len, made_len;
    bool is_out; /* of memory */
};

/* A list of at most `max` records of at least `record` bytes each; NULL fails the reader. */
static void *
get_list(struct decoding *d, size_t max, size_t record, size_t size, size_t *ret_n)
{
    uint32_t n = fz_read_u32(&d->in);
    *ret_n = 0;
    if (d->in.failed || n > max || !fz_read_fits(&d->in, n, record)) {
        d->in.failed = true;
        return NULL;
    }
    void *list = fz_arena_array(d->arena, n, size);
    d->is_out = d->is_out || !list;
    d->in.failed = d->in.failed || !list;
    *ret_n = list ? n : 0;
    return list;
}

static void
get_range(struct decoding *d, uint64_t room, uint64_t *ret_offset, uint64_t *ret_len)
{
    *ret_offset = fz_read_u64(&d->in);
    *ret_len = fz_read_u64(&d->in);
    if (*ret_offset > room || *ret_len > room - *ret_offset)
        d->in.failed = true;
}

/* "" or 32 hex digits. */
static void
get_id(struct decoding *d, char ret[FZ_UUID_TEXT])
{
    const char *text = proto_get_text(&d->in, FZ_UUID_TEXT - 1, d->arena);
    size_t len = text ? strlen(text) : 0;
    bool is_id =
        text && strspn(text, "0123456789abcdef") == len && (len == 0 || len == FZ_UUID_TEXT - 1);
    if (is_id)
        memcpy(ret, text, len + 1);
    else
        d->in.failed = true;
}

/* The name of a format or reader. It goes into the database and into answers. */
static const char *
get_word(struct decoding *d)
{
    const char *text = proto_get_text(&d->in, PROTO_WORD_MAX, d->arena);
    if (!text || !*text || strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_/") != strlen(text))
        d->in.failed = true;
    return text;
}

static void
get_pieces(struct decoding *d, struct proto_item *item)
{
    struct proto_piece *pieces =
        get_list(d, PROTO_PIECES_MAX, sizeof(uint32_t), sizeof(*pieces), &item->n_pieces);
    uint64_t room = item->is_made ? d->made_len : d->body_len;
    for (size_t i = 0; i < item->n_pieces && !d->in.failed; i++) {
        pieces[i].text = proto_get_text(&d->in, PIECE_TEXT_MAX, d->arena);
        if (!pieces[i].text && !d->in.failed)
            get_range(d, room, &pieces[i].offset, &pieces[i].len);
    }
    item->pieces = pieces;
}

static void
get_item(struct decoding *d, struct proto_item *item)
{
    item->is_made = fz_read_u8(&d->in) != 0;
    get_range(d, item->is_made ? d->made_len : d->body_len, &item->offset, &item->len);
    uint8_t code = fz_read_u8(&d->in);
    item->code = (enum fz_code)code;
    if (code == FZ_OK) {
        item->format = get_word(d);
        item->reader = get_word(d);
        get_id(d, item->id);
        get_pieces(d, item);
        return;
    }
    /* A child judges its input only: whether the server is well is not for it to say. */
    if (code != FZ_E_MALFORMED && code != FZ_E_UNSUPPORTED && code != FZ_E_LIMIT)
        d->in.failed = true;
    item->text = proto_get_text(&d->in, PROTO_TEXT_MAX, d->arena);
    item->err_offset = (int64_t)fz_read_u64(&d->in);
    if (!item->text || !*item->text || item->err_offset < -1)
        d->in.failed = true;
}

static void
get_session(struct decoding *d, struct proto_session *session)
{
    get_id(d, session->sid);
    session->release = proto_get_text(&d->in, PROTO_TEXT_MAX, d->arena);
    session->environment = proto_get_text(&d->in, PROTO_TEXT_MAX, d->arena);
    session->started_ms = (int64_t)fz_read_u64(&d->in);
    session->outcome = fz_read_u8(&d->in);
    for (size_t i = 0; i < PROTO_OUTCOMES; i++)
        session->n[i] = fz_read_u32(&d->in);
    if (session->outcome >= PROTO_OUTCOMES)
        d->in.failed = true;
}

static void
get_envelope(struct decoding *d, struct proto_intake *ret)
{
    uint8_t flags = fz_read_u8(&d->in);
    ret->has_report = (flags & HAS_REPORT) != 0;
    ret->has_counted = (flags & HAS_COUNTED) != 0;
    ret->has_sessions = (flags & HAS_SESSIONS) != 0;
    get_id(d, ret->id);
    struct proto_session *sessions =
        get_list(d, PROTO_COUNTED_MAX, 4 * sizeof(uint32_t), sizeof(*sessions), &ret->n_sessions);
    for (size_t i = 0; i < ret->n_sessions && !d->in.failed; i++)
        get_session(d, &sessions[i]);
    struct proto_discarded *discarded =
        get_list(d, PROTO_COUNTED_MAX, 3 * sizeof(uint32_t), sizeof(*discarded), &ret->n_discarded);
    for (size_t i = 0; i < ret->n_discarded && !d->in.failed; i++) {
        discarded[i].reason = proto_get_text(&d->in, PROTO_TEXT_MAX, d->arena);
        discarded[i].category = proto_get_text(&d->in, PROTO_TEXT_MAX, d->arena);
        discarded[i].n = fz_read_u32(&d->in);
        d->in.failed = d->in.failed || !discarded[i].reason;
    }
    ret->sessions = sessions;
    ret->discarded = discarded;
}

enum fz_code
proto_intake_decode(struct fz_span bytes, uint64_t body_len, uint64_t made_len,
                    struct fz_arena *arena, struct proto_intake *ret, struct fz_error *err)
{
    struct decoding d = {.in = fz_reader_make(bytes, "intake"),
                         .arena = arena,
                         .body_len = body_len,
                         .made_len = made_len};
    struct proto_intake intake = {.n_cut = fz_read_u64(&d.in)};
    struct proto_item *items =
        get_list(&d, PROTO_ITEMS_MAX, 3 * sizeof(uint64_t), sizeof(*items), &intake.n_items);
    for (size_t i = 0; i < intake.n_items && !d.in.failed; i++)
        get_item(&d, &items[i]);
    intake.items = items;
    if (!d.in.failed)
        get_envelope(&d, &intake);
    if (d.is_out)
        return fz_arena_fail(arena, err);
    if (!d.in.failed && fz_read_left(&d.in) > 0)
        return fz_fail_at(err, FZ_E_MALFORMED, d.in.pos, "intake: %zu bytes too many",
                          fz_read_left(&d.in));
    enum fz_code code = fz_read_done(&d.in, err);
    if (code == FZ_OK)
        *ret = intake;
    return code;
}
