/*
 * Scrubbing: personal data and secrets in texts of reports, replaced by marks before anything is stored.
 *
 *   "no route to anna@example.com, token=f3Zk"  →  "no route to [email], token=[secret]"
 *
 * What is recognised are forms (an e-mail address, the number of a card) and names (the value of a member
 * "password"). Each has a kind; a project turns kinds off and on and adds patterns of its own.
 * Pure; the time is linear in the text. docs/privacy.md describes kinds and rules for people.
 */
#ifndef SCRUB_H
#define SCRUB_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"

struct report;

enum scrub_kind {
    SCRUB_SECRET, /* by its name: "password=…", a member "api_key" */
    SCRUB_TOKEN,  /* by its form */
    SCRUB_CARD,   /* of payment */
    SCRUB_IBAN,
    SCRUB_EMAIL,
    SCRUB_PHONE,
    SCRUB_USER,    /* a name: in a path, of the report's user */
    SCRUB_DEVICE,  /* "Anna's iPhone" */
    SCRUB_IP,      /* of the report's user, or by its name */
    SCRUB_USER_ID, /* of the report's user; off by default */
    SCRUB_CUSTOM,  /* a pattern of the project */
    SCRUB_KINDS
};
/* "secret"... A mark is the name in brackets. */
extern const char *const scrub_kind_names[SCRUB_KINDS];

/* ---- rules (rules.c) ------------------------------------------------------------------------- */

enum { SCRUB_RULES_MAX = 64, SCRUB_RULE_BYTES = 200, SCRUB_RULES_BYTES = 13 * 1024 };

struct scrub_rules {
    unsigned kinds;                          /* 1 << enum scrub_kind */
    const struct fz_span *text, *key, *keep; /* patterns */
    size_t n_text, n_key, n_keep;
};

/* All kinds but SCRUB_USER_ID, no patterns. */
struct scrub_rules scrub_rules_default(void);
/*
 * The rules of a project, one a line, besides the defaults; NULL or "" adds none. Patterns are borrowed from `text`.
 *
 *   off:KIND, on:KIND   the kind by its name
 *   text:PATTERN        what it matches in texts is masked; '*' is up to 64 characters of a word
 *   key:PATTERN         values of members whose name it matches; '*' is any text, case does not count
 *   keep:PATTERN        values of such members stay, whatever else says
 *
 * MALFORMED: the message names the line. NO_MEMORY, LIMIT: the arena's.
 */
FZ_MUST_CHECK enum fz_code scrub_rules_parse(const char *text, struct fz_arena *arena,
                                             struct scrub_rules *ret, struct fz_error *err);

/* ---- texts (text.c) and JSON (json.c) -------------------------------------------------------- */

/* A text or a value that has something masked, before and after; for previews. */
typedef void (*scrub_seen_fn)(void *user, struct fz_span before, struct fz_span after);

/* What was masked, by kind, and whether memory was enough. */
struct scrub {
    const struct scrub_rules *rules;
    struct fz_arena *arena;
    size_t n[SCRUB_KINDS];
    scrub_seen_fn seen; /* NULL = no one looks */
    void *user;
    bool failed; /* the arena's memory is out; texts are not complete */
};
struct scrub scrub_make(const struct scrub_rules *rules, struct fz_arena *arena);
size_t scrub_count(const struct scrub *scrub);

/* `text` itself if nothing of it is masked, else a copy in the arena. NULL stays NULL. */
const char *scrub_text(struct scrub *scrub, const char *text);
/* The same for a path: where the system keeps its files nothing is looked for. */
const char *scrub_path(struct scrub *scrub, const char *path);

/* What the members at the top are: of anything, or of the report's user. With PSEUDONYM, what stands for the
 * user gets a mark of its own, so that users are still kept apart: "[email:1f3a9c02]". */
enum scrub_top { SCRUB_TOP_ANY, SCRUB_TOP_USER, SCRUB_TOP_PSEUDONYM };
/* The same for a text that is JSON. Values deeper than 128 levels are left out. */
const char *scrub_json(struct scrub *scrub, const char *json, enum scrub_top top);

/* ---- reports (report.c) ---------------------------------------------------------------------- */

/* All texts of a parsed report in place, before anything is made of them; sets report->scrubbed_json.
 * NO_MEMORY, LIMIT: the arena's. */
FZ_MUST_CHECK enum fz_code scrub_report(struct report *report, const struct scrub_rules *rules,
                                        struct fz_arena *arena, struct fz_error *err);

#endif
