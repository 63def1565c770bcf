/*
 * The messages between a parent and its child, on one SOCK_SEQPACKET socket.
 *
 * One packet is one message: a byte with its kind, then the fields below; integers little-endian,
 * text = u32 length and that many bytes of UTF-8. A packet is at most PROTO_PACKET_MAX bytes; what
 * is longer (reports, results, symbol files) is in files whose descriptors travel with the
 * packet. Descriptors only ever travel from the worker to the child: a child that has been taken
 * over names files by the number under which it got them, and can make the worker read nothing
 * else.
 *
 *   kind          from    fields                                           descriptors
 *   START         worker  u32 PROTO_VERSION, u32 size of struct limits,
 *                         u8 role, struct limits as it is in memory
 *   READY         child   struct proto_level (level.h): it is restricted
 *                         and takes requests
 *   SYMBOLICATE   worker  text id, text project, i64 received_ms,          report, result
 *                         text path prefixes to cut, one a line,
 *                         u8 whether names are learned, u8 whether
 *                         values are shown, text entries that allow
 *                         them, text entries that redact them, text
 *                         reader of the report (ingest_parse_as()),
 *                         text rules of grouping, u8 whether texts are
 *                         scrubbed, text rules of that, u64 number of
 *                         the claim: until it changes, answers to
 *                         INDEX hold
 *   GROUP         worker  text rules of grouping                           a report that was
 *                                                                          symbolicated, result
 *   READ_SYMBOLS  worker  text file name                                   upload; a BCSymbolMap
 *                                                                          for all of it, or none
 *   INDEX         child   16 bytes UUID of an image, u8 rank
 *   INDEX_IS      worker  u8 state, 32 bytes SHA-256 of the index,         after INDEX_GET the
 *                         u8 kind (proto_slice_kind, 0 = none), text       index
 *                         name and SHA-256 of the symbol file; after
 *                         INDEX_GET only the state
 *   INDEX_GET     child   (the index that was named last)
 *   LEARNED       child   16 bytes UUID of an image, u32 how many
 *                         offsets of addresses in it, u32 each
 *   LEARNED_IS    worker  u32 how many of the offsets it answers; for
 *                         each of those that has a name u32 which
 *                         offset, u32 offset of the start, text name
 *   SYMBOLS       child   16 bytes UUID of an image, u8 proto_slice_kind:
 *                         DSYM (any file with DWARF) or BINARY
 *   SYMBOLS_ARE   worker  32 bytes SHA-256 of the slice, or nothing        the slice
 *   INTAKE        server  a body that a client sent: intake.h                the body, if it is long
 *   FILE          child   (a new, empty, writable file)
 *   FILE_IS       worker  u8 code, u32 number                              the file, if code is 0
 *   SLICE         child   struct proto_slice
 *   DONE          child   SYMBOLICATE: u64 JSON bytes, u64 info bytes,
 *                         u64 bytes of the body without captured
 *                         memory (0: it has none): how the result
 *                         file is filled
 *                         GROUP: u64 bytes of the issue in the file
 *                         READ_SYMBOLS: list of problems of the upload
 *                         as a whole
 *                         INTAKE: intake.h
 *   FAILED        child   u8 enum fz_code, i64 offset, text
 *
 * The struct limits needs no encoding: both programs are built together, and a child that was not
 * built with its parent ends with PROTO_EXIT_VERSION before it is ready.
 */
#ifndef PROTOCOL_H
#define PROTOCOL_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/columns.h"
#include "base/error.h"
#include "base/reader.h"
#include "base/uuid.h"
#include "symbolicator/symbolicator.h"

enum {
    PROTO_VERSION = 7,      /* changes with any message or with struct limits */
    PROTO_EXIT_VERSION = 3, /* exit code of a child that is of another version */
    PROTO_FD = 3,           /* the child's end of the socket */
    PROTO_PACKET_MAX = 128 * 1024,
    PROTO_FDS_MAX = 2,
    PROTO_TEXT_MAX = 4096, /* of one text in a message from the child */
    PROTO_NAME_MAX = 1024,
    PROTO_PREFIXES_MAX = 32 * 1024,
    PROTO_REDACT_MAX = 33 * 1024,  /* 256 entries of 128 bytes, one a line */
    PROTO_RULES_MAX = 16 * 1024,   /* rules of grouping, one a line */
    PROTO_STACK_MAX = 256 * 1024,  /* a normalised stack: group_stack_encode() */
    PROTO_HASH = 32,               /* bytes of a SHA-256 */
    PROTO_LEARNED_MAX = 4096,      /* names that one report brings */
    PROTO_REACH_MAX = 256 * 1024,  /* a function is hardly longer; a false one would reach far */
    PROTO_ASK_MAX = 256,           /* offsets of one question for learned names */
    PROTO_SYMBOLS_CPU_FACTOR = 10, /* a symbol file gets so many times the CPU time of a report */
    PROTO_LIFE_CPU_JOBS = 10, /* a child that stays has the CPU time of ten jobs for its life */
};

enum proto_kind {
    PROTO_START = 1,
    PROTO_READY,
    PROTO_SYMBOLICATE,
    PROTO_GROUP,
    PROTO_READ_SYMBOLS,
    PROTO_INDEX,
    PROTO_INDEX_IS,
    PROTO_INDEX_GET,
    PROTO_LEARNED,
    PROTO_LEARNED_IS,
    PROTO_SYMBOLS,
    PROTO_SYMBOLS_ARE,
    PROTO_FILE,
    PROTO_FILE_IS,
    PROTO_SLICE,
    PROTO_INTAKE,
    PROTO_DONE,
    PROTO_FAILED,
    PROTO_KINDS
};

enum proto_role { PROTO_ROLE_REPORTS = 1, PROTO_ROLE_SYMBOLS, PROTO_ROLE_INTAKE };
enum proto_index_state { PROTO_INDEX_FOUND = 1, PROTO_INDEX_MISSING, PROTO_INDEX_FAILED };

/* One received packet. The body is borrowed until the next receive; the descriptors are owned by
 * the receiver. */
struct proto_inbox {
    uint8_t *bytes; /* PROTO_PACKET_MAX; made by proto_inbox_init */
    enum proto_kind kind;
    struct fz_span body;
    int fds[PROTO_FDS_MAX];
    size_t n_fds;
};
FZ_MUST_CHECK enum fz_code proto_inbox_init(struct proto_inbox *inbox, struct fz_error *err);
void proto_inbox_deinit(struct proto_inbox *inbox); /* closes descriptors that were left */

/* The descriptor number i of the packet, owned by the caller; -1 if there is none. */
int proto_take_fd(struct proto_inbox *inbox, size_t i);

/* One packet to send. */
struct proto_packet {
    enum proto_kind kind;
    struct fz_span body;
    const int *fds;
    size_t n_fds;
};
/* Send it; waits up to timeout_ms (-1 = for ever) while the peer does not read. NOT_FOUND: the peer has closed;
 * UNAVAILABLE: the time is over; LIMIT: too long. */
FZ_MUST_CHECK enum fz_code proto_send_until(int sock, int64_t timeout_ms,
                                            const struct proto_packet *packet,
                                            struct fz_error *err);
/* The same, for ever. */
FZ_MUST_CHECK enum fz_code proto_send(int sock, enum proto_kind kind, struct fz_span body,
                                      const int *fds, size_t n_fds, struct fz_error *err);

/*
 * Wait up to timeout_ms (-1 = for ever) for one packet. Descriptors that came with an earlier one
 * and were not taken are closed.
 *
 * NOT_FOUND: the peer has closed. UNAVAILABLE: the time is over. MALFORMED: not a message of this
 * protocol, or it carries descriptors and `takes_fds` is false.
 */
FZ_MUST_CHECK enum fz_code proto_receive(int sock, int64_t timeout_ms, bool takes_fds,
                                         struct proto_inbox *inbox, struct fz_error *err);

/* Fields. */
void proto_put_u8(struct fz_buffer *out, uint8_t value);
void proto_put_u32(struct fz_buffer *out, uint32_t value);
void proto_put_u64(struct fz_buffer *out, uint64_t value);
/* NULL is kept apart from "" by the length 0xffffffff. Longer texts are cut at a character; bytes
 * that are not UTF-8 become '?'. */
void proto_put_text(struct fz_buffer *out, const char *text, size_t max);
/* A text of at most `max` bytes, valid UTF-8 without NUL, in the arena. Anything else fails the
 * reader. NULL stays NULL. */
const char *proto_get_text(struct fz_reader *in, size_t max, struct fz_arena *arena);

enum proto_slice_kind {
    PROTO_SLICE_DSYM = 1,
    PROTO_SLICE_BINARY,
    /* What belongs to a slice, without architecture ("") and index: a map, with its own UUID; and
     * the image's UUID with map_uuid. */
    PROTO_SLICE_BCSYMBOLMAP,
    PROTO_SLICE_UUIDMAP,
    PROTO_SLICE_KINDS
};

/* One slice that a child has read out of an upload. */
struct proto_slice {
    struct fz_uuid uuid;
    enum proto_slice_kind kind;
    const char *arch, *name;
    uint32_t file;  /* number of the file that holds the slice's bytes */
    bool has_index; /* false: nothing in it can be used; the problems say why */
    uint32_t index_file;
    uint32_t index_version;
    bool has_map;            /* its names are hidden, or it is a UUIDMAP */
    struct fz_uuid map_uuid; /* the BCSymbolMap that has them */
    bool map_applied;        /* and the index has its names */
    struct sym_features features;
    struct sym_problems problems;
};
void proto_slice_encode(const struct proto_slice *slice, struct fz_buffer *out);
/* MALFORMED: anything that a child in order would not send. */
FZ_MUST_CHECK enum fz_code proto_slice_decode(struct fz_span body, struct fz_arena *arena,
                                              struct proto_slice *ret, struct fz_error *err);

void proto_problems_encode(const struct sym_problems *problems, struct fz_buffer *out);
FZ_MUST_CHECK enum fz_code proto_problems_decode(struct fz_span body, struct fz_arena *arena,
                                                 struct sym_problems *ret, struct fz_error *err);

/* An image of a report; each UUID once. */
struct proto_image {
    struct fz_uuid uuid;
    const char *name, *arch; /* NULL = unknown */
    bool is_waiting;         /* its symbol file was missing, broken or without DWARF */
    bool is_damaged;         /* an index of it is not what was stored; the worker looks itself */
};

/* The name of a system's function that a report brought. */
struct proto_learned {
    struct fz_uuid uuid;   /* of the image */
    uint32_t start, reach; /* offset from its load address; largest distance from there */
    const char *name;
};

/* What grouping made of a report; the worker makes the key again from the stack. */
struct proto_issue {
    struct fz_span stack; /* as group_stack_encode() writes it; a reader's is in the arena */
    uint8_t key[PROTO_HASH], variant[PROTO_HASH];
    bool is_placeholder;
    const char *title, *label; /* of the issue; of the variant */
};

/* By itself, for GROUP. */
void proto_issue_encode(const struct proto_issue *issue, struct fz_buffer *out);
FZ_MUST_CHECK enum fz_code proto_issue_decode(struct fz_span body, struct fz_arena *arena,
                                              struct proto_issue *ret, struct fz_error *err);

enum proto_status { PROTO_SYMBOLICATED = 1, PROTO_PARTIAL, PROTO_UNSYMBOLICATED, PROTO_STATUSES };

/* What the worker has to know of a symbolicated report besides its JSON. */
struct proto_info {
    enum proto_status status;
    const char *format;
    int64_t timestamp_ms;
    union fz_value *values; /* of the columns for lists */
    struct proto_image *images;
    size_t n_images;
    struct proto_learned *learned; /* sorted by UUID and start, each once */
    size_t n_learned;
    struct proto_issue issue;
    /* For /metrics; n_frames_named counts those that are learned, too. */
    uint64_t n_frames_named, n_frames_unnamed, n_frames_learned, n_cache_hits, n_cache_misses;
};
/* `columns` says what the values are; both sides have the same. */
void proto_info_encode(const struct proto_info *info, const struct fz_columns *columns,
                       struct fz_buffer *out);
/* MALFORMED as above, also for more than max_images images or PROTO_LEARNED_MAX names. */
FZ_MUST_CHECK enum fz_code proto_info_decode(struct fz_span body, const struct fz_columns *columns,
                                             size_t max_images, struct fz_arena *arena,
                                             struct proto_info *ret, struct fz_error *err);

/* LEARNED and its answer. */
void proto_learned_ask_encode(const struct fz_uuid *uuid, const uint32_t *offsets, size_t n,
                              struct fz_buffer *out);
/* MALFORMED: no offset, or more than PROTO_ASK_MAX. */
FZ_MUST_CHECK enum fz_code proto_learned_ask_decode(struct fz_span body, struct fz_arena *arena,
                                                    struct fz_uuid *ret_uuid,
                                                    uint32_t **ret_offsets, size_t *ret_n,
                                                    struct fz_error *err);
/* As many of the n answers (at least one) as a packet holds. */
void proto_learned_answer_encode(const struct proto_learned *found, size_t n,
                                 struct fz_buffer *out);
/* Fills name (NULL = none known) and start of the first *ret_n_done of n, one at least. */
FZ_MUST_CHECK enum fz_code proto_learned_answer_decode(struct fz_span body, size_t n,
                                                       struct fz_arena *arena,
                                                       struct proto_learned *ret,
                                                       size_t *ret_n_done, struct fz_error *err);

#endif
