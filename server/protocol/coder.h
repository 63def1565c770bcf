/*
 * The fields of a message in both directions: one function for each struct names its fields once, and either writes or
 * reads them.
 *
 * Private to this folder. Reading trusts nothing: what a child in order would not send fails the reader, and that stays.
 * Writing does not change a value.
 */
#ifndef PROTOCOL_CODER_H
#define PROTOCOL_CODER_H

#include "server/protocol/protocol.h"

struct proto_coder {
    struct fz_buffer *out; /* NULL: it reads */
    struct fz_reader in;
    struct fz_arena *arena; /* of what is read */
    bool is_out_of_memory;
    void *context; /* what the functions of a message need to check a record */
};

struct proto_coder proto_writer(struct fz_buffer *out);
struct proto_coder proto_reader(struct fz_span bytes, const char *what, struct fz_arena *arena);
/* MALFORMED: a field failed, or bytes are left. NO_MEMORY, LIMIT: the arena's. */
FZ_MUST_CHECK enum fz_code proto_reader_done(const struct proto_coder *c, struct fz_error *err);
/* Fails the reader unless it holds. */
void proto_expect(struct proto_coder *c, bool holds);

void proto_u32(struct proto_coder *c, uint32_t *value);
void proto_u64(struct proto_coder *c, uint64_t *value);
void proto_i64(struct proto_coder *c, int64_t *value);
void proto_flag(struct proto_coder *c, bool *value);
void proto_uuid(struct proto_coder *c, struct fz_uuid *value);
/* As proto_put_text() and proto_get_text(). */
void proto_text(struct proto_coder *c, const char **value, size_t max);
/* A text that must not be NULL. */
void proto_name(struct proto_coder *c, const char **value, size_t max);
/* Bytes of a fixed number, and of any number up to `max`; the latter, read, are in the arena. */
void proto_bytes(struct proto_coder *c, uint8_t *bytes, size_t n);
void proto_blob(struct proto_coder *c, struct fz_span *value, size_t max);
/* A value of an enum from `first` to below `end`: one byte. */
unsigned proto_choice(struct proto_coder *c, unsigned value, unsigned first, unsigned end);

struct proto_list {
    size_t max;    /* records */
    size_t record; /* bytes of the shortest record in a message */
    size_t size;   /* of the struct */
    void (*fields)(struct proto_coder *c, void *record);
};
/* The list itself; read, it is in the arena. */
void *proto_records(struct proto_coder *c, const struct proto_list *list, void *records, size_t *n);

#endif
