/*
 * A PLCrashReporter report while it is read: fields of messages (fields.c), and its parts, for
 * plcrash.c. Private to this folder.
 */
#ifndef INGEST_PLCRASH_H
#define INGEST_PLCRASH_H

#include "server/ingest/common/json_member.h"
#include "server/ingest/plcrash/protobuf.h"

/* SystemInfo.architecture, used before version 1.1 of the format; 6 = other fields have it. */
enum { PLCRASH_ARCH_UNKNOWN = 6 };

/* A processor as images and machine_info describe it. */
struct plcrash_cpu {
    bool is_mach; /* type and subtype are those of Mach-O */
    uint64_t type, subtype;
};

struct plcrash {
    struct ingest_builder b;
    json_t *extra;              /* owned: what the model has no member for */
    struct fz_span body;        /* after the file's header */
    uint64_t offset;            /* of `body` in the file */
    size_t n_unknown;           /* unknown fields so far */
    uint64_t legacy_arch;       /* SystemInfo.architecture */
    struct plcrash_cpu machine; /* machine_info.processor */
    uint64_t mach_type;         /* signal.mach_exception.type, if has_mach */
    bool has_mach, cut_noted;
};

/* Take one field of a message into `target`; false if its number is unknown. */
typedef bool (*plcrash_field_fn)(struct plcrash *p, const struct protobuf_field *field,
                                 const char *where, void *target);

/* Take all fields of a message. Unknown ones go into extra, a fault is noted. */
void plcrash_each(struct plcrash *p, struct protobuf message, const char *where,
                  plcrash_field_fn take, void *target);
/* The same for a message in a field; a number in its place is noted. */
void plcrash_message(struct plcrash *p, const struct protobuf_field *field, const char *where,
                     plcrash_field_fn take, void *target);

/* A field's value; noted (and false or NULL) where it has another type, or its end is missing. */
bool plcrash_number(struct plcrash *p, const struct protobuf_field *field, const char *where,
                    const char *name, uint64_t *ret);
const char *plcrash_text(struct plcrash *p, const struct protobuf_field *field, const char *where,
                         const char *name);
bool plcrash_uuid(struct plcrash *p, const struct protobuf_field *field, const char *where,
                  struct fz_uuid *ret);
bool plcrash_cpu_field(struct plcrash *p, const struct protobuf_field *field, const char *where,
                       void *target);

/* Put bytes in base64 into an object of extra. */
void plcrash_set_bytes(struct plcrash *p, json_t *object, const char *key, struct fz_span bytes);

/* The name of a processor, NULL if it has none. */
const char *plcrash_cpu_name(const struct plcrash_cpu *cpu);

/* origin.c: each takes a field of its message; target is the report, for a process its
 * report_process. */
bool plcrash_system(struct plcrash *p, const struct protobuf_field *field, const char *where,
                    void *target);
bool plcrash_application(struct plcrash *p, const struct protobuf_field *field, const char *where,
                         void *target);
bool plcrash_process(struct plcrash *p, const struct protobuf_field *field, const char *where,
                     void *target);
bool plcrash_machine(struct plcrash *p, const struct protobuf_field *field, const char *where,
                     void *target);
bool plcrash_report_info(struct plcrash *p, const struct protobuf_field *field, const char *where,
                         void *target);

/* threads.c: the frames in fields `number` of `message`. */
struct ingest_stack plcrash_stack(struct plcrash *p, struct protobuf message, uint32_t number,
                                  const char *where);
void plcrash_threads(struct plcrash *p);
void plcrash_images(struct plcrash *p);

#endif
