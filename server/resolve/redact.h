/*
 * Redaction: which variables do not get their values, before anything is stored.
 *
 * A variable is redacted by a word of its name, by a word of its type's name, or by its text.
 * docs/privacy.md has the rules for people.
 */
#ifndef RESOLVE_REDACT_H
#define RESOLVE_REDACT_H

#include <stdbool.h>

#include "server/report/report.h"

/* Of the project: entries, one a line; NULL = none. An entry is "NAME", "type:TYPE",
 * "function:FUNCTION" or "image:IMAGE"; '*' is any text, case does not count. */
struct resolve_redact_rules {
    const char *allow; /* not redacted, whatever the defaults say */
    const char *deny;  /* redacted; wins over `allow` */
};

/* What is asked about; NULL = unknown. */
struct resolve_redact_subject {
    const char *name, *type, *function, *image;
};

/* What the rules say without a look at the value. */
enum resolve_redact_verdict {
    RESOLVE_REDACT_BY_VALUE, /* scrub_find_in_value() decides */
    RESOLVE_REDACT_NEVER,    /* an entry allows it */
    RESOLVE_REDACT_ALWAYS,
};
enum resolve_redact_verdict resolve_redact_judge(const struct resolve_redact_rules *rules,
                                                 const struct resolve_redact_subject *subject);

/* Redact variables and their fields in place: those that must not be shown keep name, type and
 * address, and have the availability `redacted`. `function` and `image` of the scope, NULL =
 * unknown. Returns how many variables have something hidden. */
size_t resolve_redact(struct report_variable *variables, size_t n,
                      const struct resolve_redact_rules *rules, const char *function,
                      const char *image);

/* The entries of notable_json (KSCrash's "notable_addresses") whose text looks like a secret are left
 * out; new texts are in the arena. LIMIT, NO_MEMORY: the arena. */
FZ_MUST_CHECK enum fz_code resolve_redact_notable(struct report *report, struct fz_arena *arena,
                                                  struct fz_error *err);

#endif
