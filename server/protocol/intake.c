/* INTAKE and its answer: see intake.h. */
#include "server/protocol/intake.h"

#include <string.h>

#include "server/protocol/coder.h"

enum { HEAD_ROOM = 512, PIECE_TEXT_MAX = 16 * 1024 };

/* ---- the request --------------------------------------------------------------------------- */

static void
code_request(struct proto_coder *c, struct proto_intake_request *request)
{
    request->kind = (enum proto_intake_kind)proto_choice(c, request->kind, PROTO_INTAKE_REPORTS,
                                                         PROTO_INTAKE_KINDS);
    proto_flag(c, &request->was_packed);
    proto_text(c, &request->boundary, PROTO_WORD_MAX * 2);
    proto_u64(c, &request->len);
}

void
proto_intake_request_encode(const struct proto_intake_request *request, struct fz_span body,
                            bool *ret_fits, struct fz_buffer *out)
{
    struct proto_coder c = proto_writer(out);
    struct proto_intake_request copy = *request;
    copy.len = body.len;
    code_request(&c, &copy);
    /* Most bodies are some 17 KB: in the packet they save a memory file for each report. */
    *ret_fits = body.len <= PROTO_PACKET_MAX - HEAD_ROOM;
    if (*ret_fits)
        fz_buffer_append(out, body.data, body.len);
}

enum fz_code
proto_intake_request_decode(struct fz_span message, struct fz_arena *arena,
                            struct proto_intake_request *ret, struct fz_error *err)
{
    struct proto_coder c = proto_reader(message, "intake", arena);
    struct proto_intake_request request = {.len = 0};
    code_request(&c, &request);
    /* Without bytes here the body is in the file that came with the message. */
    if (fz_read_left(&c.in) > 0)
        request.body = fz_read_bytes(&c.in, fz_read_left(&c.in));
    /* A part of a body would be checked as if it were the whole. */
    proto_expect(&c, !request.body.len || request.body.len == request.len);
    enum fz_code code = proto_reader_done(&c, err);
    if (code == FZ_OK)
        *ret = request;
    return code;
}

/* ---- the answer ---------------------------------------------------------------------------- */

/* What offsets may name, for the checks. */
struct places {
    uint64_t body_len, made_len;
    uint64_t item_room; /* of the two, that which has the current item's body */
};

static void
code_range(struct proto_coder *c, uint64_t *offset, uint64_t *len)
{
    const struct places *places = c->context;
    proto_u64(c, offset);
    proto_u64(c, len);
    /* The server cuts the report out of the body by these, so they must be inside it. */
    proto_expect(c, *offset <= places->item_room && *len <= places->item_room - *offset);
}

/* "" or 32 hex digits. */
static void
code_id(struct proto_coder *c, char id[FZ_UUID_TEXT])
{
    /* Ids are compared and stored as text; only this form is an id in the API. */
    const char *text = id;
    proto_name(c, &text, FZ_UUID_TEXT - 1);
    if (c->out || c->in.failed)
        return;
    size_t len = strlen(text);
    proto_expect(c,
                 strspn(text, "0123456789abcdef") == len && (len == 0 || len == FZ_UUID_TEXT - 1));
    memcpy(id, text, len + 1);
}

/* The name of a format or reader. It goes into the database and into answers. */
static void
code_word(struct proto_coder *c, const char **word)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_/";
    proto_name(c, word, PROTO_WORD_MAX);
    proto_expect(c, *word && **word && strspn(*word, letters) == strlen(*word));
}

static void
code_piece(struct proto_coder *c, void *record)
{
    struct proto_piece *piece = record;
    proto_text(c, &piece->text, PIECE_TEXT_MAX);
    /* A piece of the body travels as its place: bodies are large, and the server has them. */
    if (!piece->text)
        code_range(c, &piece->offset, &piece->len);
}

static void
code_rejection(struct proto_coder *c, struct proto_item *item)
{
    /* A child judges its input only: whether the server is well is not for it to say. */
    proto_expect(c, item->code == FZ_E_MALFORMED || item->code == FZ_E_UNSUPPORTED ||
                        item->code == FZ_E_LIMIT);
    proto_name(c, &item->text, PROTO_TEXT_MAX);
    proto_i64(c, &item->err_offset);
    proto_expect(c, item->text && *item->text && item->err_offset >= -1);
}

static void
code_item(struct proto_coder *c, void *record)
{
    static const struct proto_list pieces = {.max = PROTO_PIECES_MAX,
                                             .record = sizeof(uint32_t),
                                             .size = sizeof(struct proto_piece),
                                             .fields = code_piece};
    struct proto_item *item = record;
    struct places *places = c->context;
    proto_flag(c, &item->is_made);
    /* Offsets of a body that the child made count in the child's file. */
    places->item_room = item->is_made ? places->made_len : places->body_len;
    code_range(c, &item->offset, &item->len);
    item->code = (enum fz_code)proto_choice(c, item->code, FZ_OK, UINT8_MAX);
    if (item->code != FZ_OK) {
        code_rejection(c, item);
        return;
    }
    code_word(c, &item->format);
    code_word(c, &item->reader);
    code_id(c, item->id);
    item->pieces = proto_records(c, &pieces, item->pieces, &item->n_pieces);
}

static void
code_session(struct proto_coder *c, void *record)
{
    struct proto_session *session = record;
    code_id(c, session->sid);
    proto_text(c, &session->release, PROTO_TEXT_MAX);
    proto_text(c, &session->environment, PROTO_TEXT_MAX);
    proto_text(c, &session->user, PROTO_TEXT_MAX);
    proto_i64(c, &session->started_ms);
    session->outcome = (uint8_t)proto_choice(c, session->outcome, 0, PROTO_OUTCOMES);
    for (size_t i = 0; i < PROTO_OUTCOMES; i++)
        proto_u32(c, &session->n[i]);
}

static void
code_discarded(struct proto_coder *c, void *record)
{
    struct proto_discarded *discarded = record;
    proto_name(c, &discarded->reason, PROTO_TEXT_MAX);
    proto_text(c, &discarded->category, PROTO_TEXT_MAX);
    proto_u32(c, &discarded->n);
}

static void
code_intake(struct proto_coder *c, struct proto_intake *intake)
{
    static const struct proto_list items = {.max = PROTO_ITEMS_MAX,
                                            .record = 3 * sizeof(uint64_t),
                                            .size = sizeof(struct proto_item),
                                            .fields = code_item},
                                   sessions = {.max = PROTO_COUNTED_MAX,
                                               .record = 4 * sizeof(uint32_t),
                                               .size = sizeof(struct proto_session),
                                               .fields = code_session},
                                   discarded = {.max = PROTO_COUNTED_MAX,
                                                .record = 3 * sizeof(uint32_t),
                                                .size = sizeof(struct proto_discarded),
                                                .fields = code_discarded};
    proto_u64(c, &intake->n_cut);
    intake->items = proto_records(c, &items, intake->items, &intake->n_items);
    proto_flag(c, &intake->has_report);
    proto_flag(c, &intake->has_counted);
    proto_flag(c, &intake->has_sessions);
    code_id(c, intake->id);
    intake->sessions = proto_records(c, &sessions, intake->sessions, &intake->n_sessions);
    intake->discarded = proto_records(c, &discarded, intake->discarded, &intake->n_discarded);
}

void
proto_intake_encode(const struct proto_intake *intake, struct fz_buffer *out)
{
    struct places places = {0};
    struct proto_coder c = proto_writer(out);
    struct proto_intake copy = *intake;
    c.context = &places;
    code_intake(&c, &copy);
}

enum fz_code
proto_intake_decode(struct fz_span bytes, uint64_t body_len, uint64_t made_len,
                    struct fz_arena *arena, struct proto_intake *ret, struct fz_error *err)
{
    struct places places = {.body_len = body_len, .made_len = made_len};
    struct proto_coder c = proto_reader(bytes, "intake", arena);
    struct proto_intake intake = {.n_cut = 0};
    c.context = &places;
    code_intake(&c, &intake);
    enum fz_code code = proto_reader_done(&c, err);
    if (code == FZ_OK)
        *ret = intake;
    return code;
}
