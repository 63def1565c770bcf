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
add_unknown(struct plcrash *p, const struct protobuf_field *field, const char *where)
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
        ingest_json_set_base64(&p->b, unknown, key, field->bytes);
}

static void
note_type(struct plcrash *p, const char *where, const char *name, const char *what)
{
    ingest_note(&p->b, "%s%s%s: %s", where, *name && *where ? "." : "", name, what);
}

static const char *
text_of(struct plcrash *p, const struct protobuf_field *field, const char *where, const char *name)
{
    if (!field->is_bytes)
        note_type(p, where, name, "not a text");
    else if (field->cut) /* a part of a name is misleading */
        note_type(p, where, name, "cut off, left out");
    if (!field->is_bytes || field->cut || without_end(field->bytes).len == 0)
        return NULL;
    return ingest_clean_text(&p->b, without_end(field->bytes));
}

static bool
read_uuid(struct plcrash *p, const struct protobuf_field *field, const char *where,
          const struct plcrash_row *row)
{
    if (!field->is_bytes || field->bytes.len != sizeof(row->uuid->bytes)) {
        note_type(p, where, row->name, "not 16 bytes");
        return false;
    }
    memcpy(row->uuid->bytes, field->bytes.data, sizeof(row->uuid->bytes));
    return !fz_uuid_is_nil(row->uuid); /* writers without a UUID write zeros */
}

static bool
read_number(struct plcrash *p, const struct protobuf_field *field, const char *where,
            const struct plcrash_row *row)
{
    /* A field of another type than in crash_report.proto: another writer's dialect, or damage. */
    if (field->is_bytes)
        note_type(p, where, row->name, "not a number");
    else
        *row->value = field->value;
    return !field->is_bytes;
}

static void
read_field(struct plcrash *p, const struct protobuf_field *field, const char *where,
           const struct plcrash_row *row)
{
    bool has = false;
    if (row->text)
        *row->text = text_of(p, field, where, row->name);
    else if (row->value)
        has = read_number(p, field, where, row);
    else if (row->uuid)
        has = read_uuid(p, field, where, row);
    else if (row->read) {
        char at[INGEST_WHERE];
        snprintf(at, sizeof(at), "%s%s%s", where, *where ? "." : "", row->name);
        /* Messages are named by their path in notes: "signal.mach_exception". */
        row->read(p, field, at, row->target);
    }
    if (row->has)
        *row->has = has;
}

void
plcrash_rows(struct plcrash *p, struct protobuf message, const char *where,
             const struct plcrash_row *rows, size_t n)
{
    struct protobuf_field field;
    while (!p->b.failed && protobuf_next(&message, &field)) {
        size_t i = 0;
        /* At most ten rows: a search costs less than a table for each message. */
        while (i < n && rows[i].number != field.number)
            i++;
        if (i < n)
            read_field(p, &field, where, &rows[i]);
        else
            add_unknown(p, &field, where);
    }
    note_fault(p, &message, where);
}

void
plcrash_message(struct plcrash *p, const struct protobuf_field *field, const char *where,
                const struct plcrash_row *rows, size_t n)
{
    if (!field->is_bytes)
        note_type(p, where, "", "a number in place of a message");
    else
        plcrash_rows(p, protobuf_inner(field), where, rows, n);
}

void
plcrash_read_cpu(struct plcrash *p, const struct protobuf_field *field, const char *where,
                 void *target)
{
    struct plcrash_cpu *cpu = target;
    const struct plcrash_row rows[] = {
        {1, "encoding", .value = &cpu->encoding},
        {2, "type", .value = &cpu->type},
        {3, "subtype", .value = &cpu->subtype},
    };
    plcrash_message(p, field, where, rows, FZ_ARRAY_LEN(rows));
}

const char *
plcrash_cpu_name(const struct plcrash_cpu *cpu)
{
    enum { ENCODING_MACH = 1 }; /* type and subtype are those of Mach-O */
    /* Writers sign-extend the 32 bits in some reports: the low half is what counts. */
    return cpu->encoding == ENCODING_MACH
               ? fz_arch_known_name((uint32_t)cpu->type, (uint32_t)cpu->subtype)
               : NULL;
}
