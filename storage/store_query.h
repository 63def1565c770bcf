/*
 * The conditions of lists, searches and filters of alerts, and what each of them means.
 *
 * server/query makes them of a text (docs/query.md), storage evaluates them as SQL and query_matches() in memory. All follow
 * these rules:
 *
 * A condition is about one field. It holds if one of its values holds for one of the texts that the report or issue has for the
 * field; an unknown text (NULL, "") does not count. is_negated: it holds if that is not so, which includes that there is no text.
 *
 *   STORE_OP_EQUAL      the same bytes
 *   STORE_OP_ANY_CASE   the same after A to Z became a to z; other letters remain (SQLite: lower(x); PostgreSQL:
 *                       lower(x COLLATE "C"))
 *   STORE_OP_WILDCARD   as ANY_CASE, and any text may precede the value (any_before) or follow it (any_after); the value
 *                       itself has no wildcards. A value with neither is compared as with ANY_CASE
 *   STORE_OP_CONTAINS   as ANY_CASE, anywhere in the text
 *   STORE_OP_LESS ...   by the type of the field, see enum store_field_type; has one value
 *   STORE_OP_PRESENT    there is a text; has no values
 *
 * Conditions about reports must hold for one report, all of them together. A list of reports also looks at the issue of each; a
 * list of issues has those that meet the conditions about issues and have at least one report that meets the others, and its
 * numbers count these reports.
 */
#ifndef STORE_QUERY_H
#define STORE_QUERY_H

#include "base/span.h"

enum {
    STORE_QUERY_CONDITIONS = 32,
    STORE_QUERY_VALUES = 32,      /* of one condition */
    STORE_QUERY_ALL_VALUES = 256, /* of all conditions */
    STORE_QUERY_TEXT = 4096,      /* bytes of a query's text, and so of all its values */
    STORE_QUERY_PART_MIN = 3,     /* characters of a part to search for (STORE_FIELD_TYPE_PART) */
    STORE_QUERY_NEW_MS = 7 * 86400000 /* "is:new": first seen at most so long before now_ms */
};

/* In the order of the table, which the documentation has too. */
enum store_field {
    STORE_FIELD_VERSION,
    STORE_FIELD_BUILD,
    STORE_FIELD_RELEASE,
    STORE_FIELD_OS,
    STORE_FIELD_OS_VERSION,
    STORE_FIELD_OS_BUILD,
    STORE_FIELD_DEVICE,
    STORE_FIELD_ARCH,
    STORE_FIELD_ENVIRONMENT,
    STORE_FIELD_APP,
    STORE_FIELD_STATUS,
    STORE_FIELD_KIND,
    STORE_FIELD_FORMAT,
    STORE_FIELD_EXCEPTION,
    STORE_FIELD_SIGNAL,
    STORE_FIELD_MACH,
    STORE_FIELD_CODE,
    STORE_FIELD_FUNCTION,
    STORE_FIELD_FILE,
    STORE_FIELD_REASON,
    STORE_FIELD_TEXT,
    STORE_FIELD_USER,
    STORE_FIELD_TAG,
    STORE_FIELD_RUN,
    STORE_FIELD_IMAGE,
    STORE_FIELD_UUID,
    STORE_FIELD_ID,
    STORE_FIELD_RECEIVED,
    STORE_FIELD_CRASHED,
    STORE_FIELD_VARIANT,
    STORE_FIELD_ISSUE,
    STORE_FIELD_IS,
    STORE_FIELD_ASSIGNEE,
    STORE_FIELD_FIRST_SEEN,
    STORE_FIELD_LAST_SEEN,
    STORE_FIELD_INTRODUCED,
    STORE_FIELD_FIXED,
    STORE_FIELDS
};

enum store_field_type {
    STORE_FIELD_TYPE_NAME, /* a text to select by */
    /* A text to select by; comparisons are of versions. K = fz_version_key(value, NULL), E = its fz_version_key_end(), V = the
     * key of the text: LESS is V < K, AT_MOST V < E, GREATER V >= E, AT_LEAST V >= K. They hold for texts that are ordered only:
     * V >= FZ_VERSION_KEY_FIRST. V may also be the key of version and build. */
    STORE_FIELD_TYPE_VERSION,
    /* A text to select by; comparisons are of fz_version_key(NULL, text), as a whole. */
    STORE_FIELD_TYPE_BUILD,
    /* The texts are the name, the version, and both with a space between them ("iOS", "18.1", "iOS 18.1"); comparisons are of
     * the version, as above. */
    STORE_FIELD_TYPE_OS,
    STORE_FIELD_TYPE_PART, /* a text to search in; a part has STORE_QUERY_PART_MIN characters or more */
    STORE_FIELD_TYPE_CHOICE, /* one of `choices`; value->number is its place in them, from 0 */
    STORE_FIELD_TYPE_UUID,   /* 32 lower-case hex digits; with WILDCARD, the first of them */
    STORE_FIELD_TYPE_NUMBER, /* value->number, 1 or more */
    STORE_FIELD_TYPE_TIME, /* value->number: Unix milliseconds, 1 or more; an unknown time meets no comparison */
    STORE_FIELD_TYPE_TAG /* the value of the tag condition->name; names are compared as with ANY_CASE */
};

enum store_op {
    STORE_OP_EQUAL,
    STORE_OP_ANY_CASE,
    STORE_OP_WILDCARD,
    STORE_OP_CONTAINS,
    STORE_OP_LESS,
    STORE_OP_AT_MOST,
    STORE_OP_GREATER,
    STORE_OP_AT_LEAST,
    STORE_OP_PRESENT
};

/* The places of the choices of STORE_FIELD_IS. An issue may be several of them. */
enum store_is {
    STORE_IS_OPEN,
    STORE_IS_RESOLVED,
    STORE_IS_IGNORED,
    STORE_IS_REGRESSED,  /* open again, after it was resolved */
    STORE_IS_NEW,        /* open, and first seen at most STORE_QUERY_NEW_MS ago */
    STORE_IS_UNASSIGNED, /* no assignee */
    STORE_IS_PLACEHOLDER /* waits for names */
};

struct store_query_value {
    const char *text;           /* UTF-8 without NUL, never empty; NULL for numbers and times */
    int64_t number;             /* of choices, numbers, times */
    bool any_before, any_after; /* with STORE_OP_WILDCARD */
};

struct store_condition {
    enum store_field field;
    enum store_op op;
    bool is_negated;
    const char *name;                       /* of the tag; NULL for other fields */
    const struct store_query_value *values; /* one of them must hold */
    size_t n_values;                        /* 0 with STORE_OP_PRESENT, 1 with comparisons */
};

/* Reports for which all conditions hold, received in a time range. Texts are the maker's (an arena's). */
struct store_query {
    const struct store_condition *conditions;
    size_t n;
    int64_t since_ms, until_ms; /* received at or after, before; 0 = no limit */
    int64_t now_ms;             /* when it was asked */
};

/* A row of the table of fields. */
struct store_field_row {
    const char *name;  /* as a key of the query language */
    const char *alias; /* another one; NULL = none */
    enum store_field_type type;
    enum store_op plain; /* of "key:value" */
    unsigned ops;        /* all that are allowed: 1 << enum store_op */
    bool is_of_issue;    /* a property of the issue, not of each report */
    bool is_searched;    /* its texts are those of STORE_FIELD_TEXT, too */
    const char *choices; /* "open, resolved"; NULL = any value */
    const char *help;    /* one line */
};

/* The row of a field; static. */
const struct store_field_row *store_field_row(enum store_field field);
/* The field with this name or alias, in either case; STORE_FIELDS = none has it. */
enum store_field store_field_find(struct fz_span name);
bool store_field_allows(enum store_field field, enum store_op op);

#endif
