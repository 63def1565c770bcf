/*
 * A minidump while it is read: its outer form (streams.c) and its parts (one file each), for
 * minidump.c. Private to this folder.
 *
 * Source: Breakpad's minidump_format.h and minidump_cpu_*.h, Crashpad's minidump_extensions.h,
 * Microsoft's minidumpapiset.h. Offsets in a dump ("RVA") count from its start.
 */
#ifndef INGEST_MINIDUMP_H
#define INGEST_MINIDUMP_H

#include "base/arch/vectors.h"
#include "base/reader.h"
#include "server/ingest/common/json_member.h"

enum minidump_stream {
    MINIDUMP_THREAD_LIST = 3,
    MINIDUMP_MODULE_LIST = 4,
    MINIDUMP_MEMORY_LIST = 5,
    MINIDUMP_EXCEPTION = 6,
    MINIDUMP_SYSTEM_INFO = 7,
    MINIDUMP_MEMORY64_LIST = 9,
    MINIDUMP_COMMENT_A = 10,
    MINIDUMP_COMMENT_W = 11,
    MINIDUMP_MISC_INFO = 15,
    MINIDUMP_THREAD_NAMES = 24,
    MINIDUMP_CRASHPAD_INFO = 0x43500001,
    MINIDUMP_BREAKPAD_INFO = 0x47670001,
    MINIDUMP_MAC_CRASH_INFO = 0x4d7a0001, /* Mozilla's: the __crash_info sections */
};

/* Values of MINIDUMP_SYSTEM_INFO.PlatformId. */
enum { MINIDUMP_MACOS = 0x8101, MINIDUMP_IOS = 0x8102 };

enum { MINIDUMP_PATH_UNITS = 1024, MINIDUMP_TEXT_UNITS = 8192, MINIDUMP_TEXT_BUDGET = 1 << 20 };

/* Bytes of the dump. */
struct minidump_place {
    uint32_t size, offset;
};

struct minidump_thread {
    struct report_thread *report;
    struct minidump_place context, stack;
    uint64_t stack_addr;
    bool has_context;
};

struct minidump {
    struct ingest_builder b;
    json_t *extra, *tags; /* owned */
    struct fz_span body;
    bool big_endian;
    uint32_t n_streams, directory; /* their number, and the offset of their list */
    enum fz_arch_cpu cpu;
    bool is_ios, has_crashpad;
    struct minidump_thread *threads; /* as many as report->threads, in the same order */
    struct minidump_thread *listed;  /* has an exception's calls for a stack; NULL = none has */
    size_t text_left;                /* bytes of annotations that may still be kept */
};

/* streams.c: the outer form. */

/* Read the header and the directory into *ret. MALFORMED: not a minidump; UNSUPPORTED: of another
 * system than macOS and iOS. */
FZ_MUST_CHECK enum fz_code minidump_open(struct fz_span body, struct minidump *ret,
                                         struct fz_error *err);
/* Crashpad's id of the report; false without one. */
bool minidump_report_id(const struct minidump *m, struct fz_uuid *ret);

/* A reader of `place`, shorter where the dump ends before it. */
struct fz_reader minidump_reader(const struct minidump *m, struct minidump_place place);
struct minidump_place minidump_read_place(struct fz_reader *r);
/* A reader of the directory, for minidump_next_stream(); that is false at the end. */
struct fz_reader minidump_directory(const struct minidump *m);
bool minidump_next_stream(struct fz_reader *directory, uint32_t *ret_type,
                          struct minidump_place *ret);
/* The first stream of that type; its size is 0 if there is none. */
struct minidump_place minidump_find(const struct minidump *m, uint32_t type);
/* A reader of the stream's entries, after their count. *ret_n is the number of entries of `size`
 * bytes that the dump holds, with a note if it announces more. */
struct fz_reader minidump_list(struct minidump *m, uint32_t type, const char *what, size_t size,
                               size_t *ret_n);
/* MINIDUMP_STRING (UTF-16) at an offset, at most `max` units; NULL if it is empty or outside the
 * dump. */
const char *minidump_utf16(struct minidump *m, uint64_t offset, size_t max);
/* A GUID: three little-endian numbers and 8 bytes make the UUID that people write. */
struct fz_uuid minidump_guid(struct fz_reader *r);

/* The parts, one file each, in the order in which they are called. */
void minidump_modules(struct minidump *m);
void minidump_crashpad(struct minidump *m);
void minidump_crash_info(struct minidump *m); /* crashpad.c */
void minidump_threads(struct minidump *m);    /* without their memory */
void minidump_exception(struct minidump *m);  /* sets which thread crashed */
void minidump_memory(struct minidump *m);     /* threads.c: the crashed thread's stack first */
void minidump_calls(struct minidump *m);      /* exception.c: the frames of m->listed */

/* context.c: the registers into the thread; false if the context cannot be read. */
bool minidump_context(struct minidump *m, struct minidump_place place, struct minidump_thread *ret);
/* The register with the role, 0 if the thread or its processor has none. */
uint64_t minidump_register(const struct minidump *m, const struct minidump_thread *thread,
                           enum fz_arch_register_role role);

#endif
