/*
 * One field is a key and a value: key = number << 3 | wire type, as a varint.
 *
 *   08 96 01          field 1, varint 150
 *   12 03 61 62 63    field 2, 3 bytes "abc"
 *   1d 01 00 00 00    field 3, 32 bits 1
 */
#include "server/ingest/plcrash/protobuf.h"

enum wire { VARINT = 0, BITS64 = 1, BYTES = 2, GROUP = 3, GROUP_END = 4, BITS32 = 5 };

enum { VARINT_MAX = 10, FIELD_MAX = (1 << 29) - 1 };

struct protobuf
protobuf_start(struct fz_span bytes, uint64_t offset)
{
    struct protobuf message = {.reader = fz_reader_make(bytes, "protobuf")};
    message.reader.base = offset;
    return message;
}

struct protobuf
protobuf_inner(const struct protobuf_field *field)
{
    struct protobuf message = protobuf_start(field->bytes, field->offset);
    message.cut = field->cut;
    return message;
}

static uint64_t
offset_of(const struct protobuf *message)
{
    return message->reader.base + message->reader.pos;
}

static bool
stop(struct protobuf *message, uint64_t at, const char *fault)
{
    /* In a message that is cut, a broken last field follows from the cut. */
    if (!message->fault) {
        message->fault = message->cut ? "cut off" : fault;
        message->fault_at = at;
    }
    message->reader.pos = message->reader.len;
    return false;
}

/* At most 10 bytes, as in the specification; fz_read_uleb() accepts more. */
static bool
read_varint(struct protobuf *message, uint64_t *ret)
{
    struct fz_reader *r = &message->reader;
    uint64_t at = offset_of(message), value = 0;
    for (unsigned i = 0; i < VARINT_MAX; i++) {
        if (fz_read_left(r) == 0)
            return stop(message, at, "cut off within a number");
        uint8_t byte = fz_read_u8(r);
        /* The 10th byte has room for one bit of the 64. */
        value |= i < 9 ? (uint64_t)(byte & 0x7f) << (7 * i) : (uint64_t)(byte & 1) << 63;
        if (!(byte & 0x80)) {
            *ret = value;
            return true;
        }
    }
    return stop(message, at, "a number of more than 10 bytes");
}

static bool
read_fixed(struct protobuf *message, unsigned size, uint64_t *ret)
{
    if (fz_read_left(&message->reader) < size)
        return stop(message, offset_of(message), "cut off within a number");
    *ret = fz_read_uint(&message->reader, size);
    return true;
}

static bool
read_bytes(struct protobuf *message, struct protobuf_field *ret)
{
    uint64_t len;
    if (!read_varint(message, &len))
        return false;
    size_t left = fz_read_left(&message->reader);
    ret->is_bytes = true;
    ret->offset = offset_of(message);
    ret->cut = len > left;
    ret->bytes = fz_read_bytes(&message->reader, ret->cut ? left : len);
    if (ret->cut)
        /* What is there is used: a file that was cut has all fields before the cut. */
        message->cut = true;
    return true;
}

/* The value after a key; false where it cannot be read. */
static bool
read_value(struct protobuf *message, enum wire wire, struct protobuf_field *ret)
{
    switch (wire) {
    case VARINT:
        return read_varint(message, &ret->value);
    case BITS64:
        return read_fixed(message, 8, &ret->value);
    case BITS32:
        return read_fixed(message, 4, &ret->value);
    case BYTES:
        return read_bytes(message, ret);
    /* The caller has handled them: none gets here with a valid key. */
    case GROUP:
    case GROUP_END:
        break;
    }
    return stop(message, offset_of(message), "an unknown wire type");
}

static bool
read_key(struct protobuf *message, uint32_t *ret_number, enum wire *ret_wire)
{
    uint64_t at = offset_of(message), key;
    if (!read_varint(message, &key))
        return false;
    /* Number 0 and wire types above 5 do not exist: from here on the bytes are something else. */
    if (key >> 3 == 0 || key >> 3 > FIELD_MAX || (key & 7) > BITS32)
        return stop(message, at, "not the key of a field");
    *ret_number = (uint32_t)(key >> 3);
    *ret_wire = (enum wire)(key & 7);
    return true;
}

bool
protobuf_next(struct protobuf *message, struct protobuf_field *ret)
{
    unsigned groups = 0;
    while (fz_read_left(&message->reader) > 0) {
        struct protobuf_field field = {0};
        enum wire wire = VARINT;
        uint64_t at = offset_of(message);
        /* Fields of two bytes are the cheapest way to make a reader slow: 32 MiB took
         * 11 s. */
        if (message->n_fields++ == PROTOBUF_FIELDS_MAX)
            return stop(message, at, "more fields than any message has");
        if (!read_key(message, &field.number, &wire))
            return false;
        /* The fields inside belong to no message that a report has. */
        if (wire == GROUP) {
            if (++groups > PROTOBUF_GROUPS_MAX)
                return stop(message, at, "groups nested too deeply");
            continue;
        }
        if (wire == GROUP_END) {
            if (groups-- == 0)
                return stop(message, at, "the end of a group without its start");
            continue;
        }
        field.offset = offset_of(message);
        if (!read_value(message, wire, &field))
            return false;
        if (groups == 0) {
            *ret = field;
            return true;
        }
    }
    if (groups || message->cut)
        return stop(message, offset_of(message), "cut off within a group");
    return false;
}

bool
protobuf_packed(const struct protobuf_field *field, size_t *at, uint64_t *ret)
{
    if (!field->is_bytes) {
        if ((*at)++ > 0)
            return false;
        *ret = field->value;
        return true;
    }
    if (*at >= field->bytes.len)
        return false;
    struct protobuf numbers = protobuf_inner(field);
    /* A view, not a list: nothing is allocated for a count that the input controls. */
    fz_read_skip(&numbers.reader, *at);
    if (!read_varint(&numbers, ret))
        return false;
    *at = numbers.reader.pos;
    return true;
}
