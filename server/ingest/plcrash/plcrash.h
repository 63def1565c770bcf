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
    uint64_t encoding, type, subtype;
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

/* Read the value of a field, mostly a message; `where` names it in notes. */
typedef void (*plcrash_read_fn)(struct plcrash *p, const struct protobuf_field *field,
                                const char *where, void *target);

/* A known field of a message, and where its value goes: the one pointer that is set. With none the
 * field is read elsewhere. */
struct plcrash_row {
    uint32_t number;
    const char *name; /* for notes */
    const char **text;
    uint64_t *value;
    struct fz_uuid *uuid;
    bool *has; /* with value or uuid: that it could be read */
    plcrash_read_fn read;
    void *target; /* for `read` */
};

/* Read all fields of a message. Unknown ones go into extra; values of another type, and a fault, are
 * noted. */
void plcrash_rows(struct plcrash *p, struct protobuf message, const char *where,
                  const struct plcrash_row *rows, size_t n);
/* The same for a message in a field; a number in its place is noted. */
void plcrash_message(struct plcrash *p, const struct protobuf_field *field, const char *where,
                     const struct plcrash_row *rows, size_t n);

/* A plcrash_read_fn; target is a struct plcrash_cpu. */
void plcrash_read_cpu(struct plcrash *p, const struct protobuf_field *field, const char *where,
                      void *target);
/* The name of a processor, NULL if it has none. */
const char *plcrash_cpu_name(const struct plcrash_cpu *cpu);

/* origin.c: each is a plcrash_read_fn for its message, without a target. */
void plcrash_system(struct plcrash *p, const struct protobuf_field *field, const char *where,
                    void *target);
void plcrash_application(struct plcrash *p, const struct protobuf_field *field, const char *where,
                         void *target);
void plcrash_process(struct plcrash *p, const struct protobuf_field *field, const char *where,
                     void *target);
void plcrash_machine(struct plcrash *p, const struct protobuf_field *field, const char *where,
                     void *target);
void plcrash_report_info(struct plcrash *p, const struct protobuf_field *field, const char *where,
                         void *target);

/* threads.c: the frames in fields `number` of `message`. */
struct ingest_stack plcrash_stack(struct plcrash *p, struct protobuf message, uint32_t number,
                                  const char *where);
void plcrash_threads(struct plcrash *p);
void plcrash_images(struct plcrash *p);

#endif
