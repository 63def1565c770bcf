/* Fields of a PLCrashReporter message: values of the expected type, and those that are unknown. */
#include "server/ingest/plcrash/plcrash.h"

#include <stdio.h>

#include "base/arch/arch.h"
#include "base/text.h"

enum { UNKNOWN_MAX = 64 }; /* unknown fields that are kept */

static void
note_fault(struct plcrash *p, const struct protobuf *message, const char *where)
{
    if (!message->fault)
        return;
    /* All messages around the cut end with it; one note is enough. */
    if (message->cut && p->cut_noted)
        return;
    p->cut_noted = p->cut_noted || message->cut;
    ingest_note(&p->b, "%s%s%s at byte %llu%s", where, *where ? ": " : "", message->fault,
                (unsigned long long)message->fault_at,
                message->cut ? "" : ", the rest of the message is left out");
}

void
plcrash_set_bytes(struct plcrash *p, json_t *object, const char *key, struct fz_span bytes)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer base64 = fz_buffer_make(0);
    fz_text_base64_append(&base64, bytes);
    p->b.failed = p->b.failed || base64.failed;
    ingest_json_set(&p->b, object, key, json_string(fz_buffer_cstr(&base64)));
}

/* Some SDKs write the NUL that ends a C string, too, or the rest of a fixed buffer. */
static struct fz_span
without_end(struct fz_span text)
{
    while (text.len && text.data[text.len - 1] == '\0')
        text.len--;
    return text;
}

/* A reporter's own additions: kept under the number of their field. */
static void
keep_unknown(struct plcrash *p, const struct protobuf_field *field, const char *where)
{
    struct fz_span text = without_end(field->bytes);
    char key[INGEST_WHERE + 16];
    json_t *unknown =
        p->n_unknown < UNKNOWN_MAX ? ingest_json_object(&p->b, p->extra, "unknown_fields") : NULL;
    if (p->n_unknown++ == UNKNOWN_MAX)
        ingest_note(&p->b, "unknown fields: more than %d, not all are kept", UNKNOWN_MAX);
    if (!unknown)
        return;
    snprintf(key, sizeof(key), "%s%s%u", where, *where ? "." : "", field->number);
    if (!field->is_bytes && field->value > INT64_MAX) /* jansson has no larger integers */
        ingest_json_set(&p->b, unknown, key,
                        json_sprintf("%llu", (unsigned long long)field->value));
    else if (!field->is_bytes)
        ingest_json_set(&p->b, unknown, key, json_integer((json_int_t)field->value));
    else if (text.len && fz_text_is_utf8(text) && !memchr(text.data, 0, text.len))
        ingest_json_set(&p->b, unknown, key, json_stringn((const char *)text.data, text.len));
    else
        plcrash_set_bytes(p, unknown, key, field->bytes);
}

void
plcrash_each(struct plcrash *p, struct protobuf message, const char *where, plcrash_field_fn take,
             void *target)
{
    struct protobuf_field field;
    while (!p->b.failed && protobuf_next(&message, &field)) {
        if (!take(p, &field, where, target))
            keep_unknown(p, &field, where);
    }
    note_fault(p, &message, where);
}

static void
note_type(struct plcrash *p, const char *where, const char *name, const char *what)
{
    ingest_note(&p->b, "%s%s%s: %s", where, name && *where ? "." : "", name ? name : "", what);
}

void
plcrash_message(struct plcrash *p, const struct protobuf_field *field, const char *where,
                plcrash_field_fn take, void *target)
{
    if (!field->is_bytes)
        note_type(p, where, NULL, "a number in place of a message");
    else
        plcrash_each(p, protobuf_inner(field), where, take, target);
}

bool
plcrash_number(struct plcrash *p, const struct protobuf_field *field, const char *where,
               const char *name, uint64_t *ret)
{
    if (field->is_bytes) {
        note_type(p, where, name, "not a number");
        return false;
    }
    *ret = field->value;
    return true;
}

const char *
plcrash_text(struct plcrash *p, const struct protobuf_field *field, const char *where,
             const char *name)
{
    if (!field->is_bytes)
        note_type(p, where, name, "not a text");
    else if (field->cut) /* a part of a name is misleading */
        note_type(p, where, name, "cut off, left out");
    if (!field->is_bytes || field->cut || without_end(field->bytes).len == 0)
        return NULL;
    const char *text = fz_text_clean_utf8(p->b.arena, without_end(field->bytes));
    p->b.failed = p->b.failed || !text;
    return text;
}

bool
plcrash_uuid(struct plcrash *p, const struct protobuf_field *field, const char *where,
             struct fz_uuid *ret)
{
    if (!field->is_bytes || field->bytes.len != sizeof(ret->bytes)) {
        note_type(p, where, "uuid", "not 16 bytes");
        return false;
    }
    memcpy(ret->bytes, field->bytes.data, sizeof(ret->bytes));
    return !fz_uuid_is_nil(ret); /* writers without a UUID write zeros */
}

bool
plcrash_cpu_field(struct plcrash *p, const struct protobuf_field *field, const char *where,
                  void *target)
{
    enum { ENCODING_MACH = 1 };
    struct plcrash_cpu *cpu = target;
    uint64_t encoding = 0;
    switch (field->number) {
    case 1:
        cpu->is_mach =
            plcrash_number(p, field, where, "encoding", &encoding) && encoding == ENCODING_MACH;
        return true;
    case 2:
        plcrash_number(p, field, where, "type", &cpu->type);
        return true;
    case 3:
        plcrash_number(p, field, where, "subtype", &cpu->subtype);
        return true;
    default:
        return false;
    }
}

const char *
plcrash_cpu_name(const struct plcrash_cpu *cpu)
{
    /* Writers sign-extend the 32 bits in some reports: the low half is what counts. */
    return cpu->is_mach ? fz_arch_known_name((uint32_t)cpu->type, (uint32_t)cpu->subtype) : NULL;
}
