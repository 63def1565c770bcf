/*
 * Reports in: find the format of a body by its content, and convert it to the report model.
 *
 * Each format is a folder and a row in the table of ingest.c. Foreign bytes: runs only in a child
 * process, or in a command-line tool on the user's own file.
 */
#ifndef INGEST_H
#define INGEST_H

#include "base/arena.h"
#include "base/error.h"
#include "server/process/limits.h"
#include "server/report/report.h"

/* The name of the format that the bytes look like ("framezero", ...), NULL if they look like none.
 * Cheap: looks at the first kilobytes and does not validate. Static string. */
const char *ingest_detect(struct fz_span body);

/* Room for a reader: the rows of the table that read a body, from the outside in ("kscrash",
 * "multipart/2/minidump": part 2 of a form). */
enum { INGEST_READER_TEXT = 64 };

/* One report of a body, as it is to be stored and parsed. */
struct ingest_item {
    struct fz_span body;             /* borrowed from the input, or in the arena */
    const char *format;              /* static; NULL if code is not FZ_OK */
    char reader[INGEST_READER_TEXT]; /* what was detected, for ingest_parse_as() */
    char id[FZ_UUID_TEXT];           /* the report's own id, "" without one */
    enum fz_code code;               /* of the check of its outer form */
    struct fz_error err;             /* the error, if code is not FZ_OK */
    /* The framing of an envelope and of a form, where it was read. */
    const struct sentry_items *envelope;
    const struct fz_form_part *parts;
    size_t n_parts;
};

enum { INGEST_ITEMS_MAX = 256 };

/*
 * The reports in one body, each with the check of its outer form: UNSUPPORTED: no known format
 * (empty, not JSON at all, JSON that is not a report), the message says what was looked for;
 * MALFORMED: broken at err.offset.
 *
 * Most bodies are one report; an array of KSCrash reports, a MetricKit payload with several
 * diagnostics, a multipart form are taken apart, so that each report is stored and processed by
 * itself, and one that is broken costs only itself.
 *
 * FZ_OK: at least one item's code is FZ_OK. Else the error of the first item. *ret_n_cut counts
 * reports beyond INGEST_ITEMS_MAX, which are left out.
 */
FZ_MUST_CHECK enum fz_code ingest_split(struct fz_span body, const struct limits *limits,
                                        struct fz_arena *arena, struct ingest_item **ret,
                                        size_t *ret_n, size_t *ret_n_cut, struct fz_error *err);

/*
 * Convert one report: a body that ingest_split() gave. What is readable is kept; what is not is
 * named in report->notes. MALFORMED, UNSUPPORTED: nothing of it is a report; LIMIT: the arena's cap.
 */
FZ_MUST_CHECK enum fz_code ingest_parse(struct fz_span body, const struct limits *limits,
                                        struct fz_arena *arena, struct report *ret,
                                        struct fz_error *err);
/* The same without detection, for a body whose item had this reader. NULL, or a reader of another
 * version of this program: the format is detected. */
FZ_MUST_CHECK enum fz_code ingest_parse_as(struct fz_span body, const char *reader,
                                           const struct limits *limits, struct fz_arena *arena,
                                           struct report *ret, struct fz_error *err);

/* ---- captured memory ------------------------------------------------------------------------ */

/*
 * The body without captured memory, in the arena; empty if it has none. `report` is what
 * ingest_parse_as() made of it with this reader, before ingest_drop_memory().
 *
 * It has the length of the body, and parses to the same report, but for the memory: on stacks only
 * words stay that lead into an image or onto a stack, so that they can still be unwound. Where the
 * memory in a body cannot be found, "{}" takes the place of the body. LIMIT, NO_MEMORY: the arena.
 */
FZ_MUST_CHECK enum fz_code ingest_strip(struct fz_span body, const char *reader,
                                        const struct limits *limits, const struct report *report,
                                        struct fz_arena *arena, struct fz_span *ret,
                                        struct fz_error *err);
/* Leave the bytes of memory out of the report, and unless `keeps_notable` also what a client read out
 * of memory; where it was and how much stays. */
void ingest_drop_memory(struct report *report, bool keeps_notable);

/* ---- taking bodies in ---------------------------------------------------------------------- */

/* What kind of body a client sent, by the path that it used. */
enum ingest_kind {
    INGEST_REPORTS,  /* any format, any number of reports */
    INGEST_ENVELOPE, /* a Sentry envelope: maybe a report, maybe sessions */
    INGEST_EVENT,    /* one Sentry event: JSON, whatever its keys are */
    INGEST_MINIDUMP, /* a form with a minidump, and maybe the fields of an event */
};

struct ingest_request {
    enum ingest_kind kind;
    struct fz_span body;
    const char *boundary; /* INGEST_MINIDUMP: of the form */
    bool was_packed;      /* INGEST_MINIDUMP: the dump was compressed in its part */
};

/* What bodies have beside reports, and is counted: runs of the app, and events that were not sent. */
enum ingest_outcome {
    INGEST_HEALTHY,
    INGEST_ERRORED,
    INGEST_ABNORMAL,
    INGEST_CRASHED,
    INGEST_OUTCOMES
};
struct ingest_session { /* one run of the app, or many with `n` */
    char sid[FZ_UUID_TEXT];
    const char *release, *environment; /* NULL = not given */
    const char *user;                  /* who ran it, or on which device; NULL = not given */
    int64_t started_ms;                /* 0 = not given */
    enum ingest_outcome outcome;       /* of one run */
    uint32_t n[INGEST_OUTCOMES];       /* of many, whose sid is "" */
};
struct ingest_discarded { /* events that an SDK threw away */
    const char *reason, *category;
    uint32_t n;
};

enum { INGEST_COUNTED_MAX = 100 };
struct ingest_counted {
    char id[FZ_UUID_TEXT]; /* of an envelope's header; "" without one */
    /* Of an envelope by the headers of its items, also if what they say cannot be read. */
    bool has_report, has_counted, has_sessions;
    struct ingest_session sessions[INGEST_COUNTED_MAX];
    struct ingest_discarded discarded[INGEST_COUNTED_MAX];
    size_t n_sessions, n_discarded;
};

struct ingest_intake {
    struct ingest_item *items; /* the bodies are in the request's or in the arena */
    size_t n, n_cut;
    /* Of INGEST_ENVELOPE, and of bodies with run summaries (KSCrash), which are not items; else NULL. */
    struct ingest_counted *counted;
};

/*
 * Detect, check and split a body that a client sent. FZ_OK: the result has at least one item, which
 * may be a bad one, or something that is counted, or is an envelope without a report. Else the body
 * is rejected as a whole.
 */
FZ_MUST_CHECK enum fz_code ingest_intake(const struct ingest_request *request,
                                         const struct limits *limits, struct fz_arena *arena,
                                         struct ingest_intake *ret, struct fz_error *err);

/*
 * The parts of an item's body that a client repeats unchanged when it sends the report again (not
 * an envelope's sent_at, not a form's boundary), in the arena. None: all of its bytes.
 */
FZ_MUST_CHECK enum fz_code ingest_identity(const struct ingest_item *item, struct fz_arena *arena,
                                           struct fz_span **ret, size_t *ret_n,
                                           struct fz_error *err);

#endif
