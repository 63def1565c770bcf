/*
 * INTAKE and its answer: what a child finds in a body that a client sent.
 *
 *   INTAKE  u8 kind (proto_intake_kind), u8 whether a dump was compressed, text boundary of the form
 *           or NULL, u64 length of the body; the body, or the descriptor of a sealed file with it
 *   DONE    u64 bytes in the file that the child got (FILE), 0 without one; u64 of those that are
 *           bodies the child made, from the start; then struct proto_intake: after them in the file,
 *           or here if there is no file
 */
#ifndef PROTOCOL_INTAKE_H
#define PROTOCOL_INTAKE_H

#include "server/protocol/protocol.h"

enum {
    PROTO_ITEMS_MAX = 256,
    PROTO_PIECES_MAX = 1024, /* of one item */
    PROTO_COUNTED_MAX = 100,
    PROTO_WORD_MAX = 63, /* a format, a reader */
    PROTO_OUTCOMES = 4,
    PROTO_INTAKE_MAX = 64 * 1024 * 1024 /* an encoded struct proto_intake */
};

/* What kind of body it is, by the path it came by. */
enum proto_intake_kind {
    PROTO_INTAKE_REPORTS = 1,
    PROTO_INTAKE_ENVELOPE,
    PROTO_INTAKE_EVENT,
    PROTO_INTAKE_MINIDUMP,
    PROTO_INTAKE_KINDS
};

struct proto_intake_request {
    enum proto_intake_kind kind;
    bool was_packed;
    const char *boundary; /* NULL = none */
    uint64_t len;         /* of the body */
    struct fz_span body;  /* empty: it is in a file, unless len is 0 */
};

/* A part of what makes a report the same as another: bytes of the body, or a text. */
struct proto_piece {
    const char *text; /* NULL: of the body */
    uint64_t offset, len;
};

struct proto_item {
    bool is_made;         /* the child made its body: offset counts in the file */
    uint64_t offset, len; /* of its body in the request's */
    enum fz_code code;
    const char *format, *reader; /* code FZ_OK: words of small letters, digits, '_' and '/' */
    char id[FZ_UUID_TEXT];
    const char *text; /* else: why it is not a report */
    int64_t err_offset;
    struct proto_piece *pieces; /* none: all of its body */
    size_t n_pieces;
};

struct proto_session {
    char sid[FZ_UUID_TEXT]; /* "" with counts */
    const char *release, *environment, *user;
    int64_t started_ms;
    uint8_t outcome; /* below PROTO_OUTCOMES, as the next: healthy, errored, abnormal, crashed */
    uint32_t n[PROTO_OUTCOMES];
};
struct proto_discarded {
    const char *reason, *category;
    uint32_t n;
};

struct proto_intake {
    struct proto_item *items;
    size_t n_items;
    uint64_t n_cut;
    bool has_report, has_counted, has_sessions; /* an envelope, as struct ingest_counted has it */
    char id[FZ_UUID_TEXT];                      /* of the envelope */
    struct proto_session *sessions;
    size_t n_sessions;
    struct proto_discarded *discarded;
    size_t n_discarded;
};

/* With the body itself, if it fits into the packet: then *ret_fits is set. */
void proto_intake_request_encode(const struct proto_intake_request *request, struct fz_span body,
                                 bool *ret_fits, struct fz_buffer *out);
FZ_MUST_CHECK enum fz_code proto_intake_request_decode(struct fz_span message,
                                                       struct fz_arena *arena,
                                                       struct proto_intake_request *ret,
                                                       struct fz_error *err);

void proto_intake_encode(const struct proto_intake *intake, struct fz_buffer *out);
/* MALFORMED: anything that a sound child would not say of a body of body_len bytes, with made_len
 * bytes of its own. */
FZ_MUST_CHECK enum fz_code proto_intake_decode(struct fz_span bytes, uint64_t body_len,
                                               uint64_t made_len, struct fz_arena *arena,
                                               struct proto_intake *ret, struct fz_error *err);

#endif
