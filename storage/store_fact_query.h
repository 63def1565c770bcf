/*
 * Conditions over facts: each is resolved to numbers of terms, stacks or variants, and those become one query over narrow rows.
 * Private to storage.
 *
 *   store_fact_query_make()    resolve the conditions, choose what to read the facts by
 *   store_fact_query_from()    append "FROM facts f ... WHERE ..." to a query
 *
 * What a report says that is in no fact (its format, its images...) is looked up in its row; a report that was deleted says
 * nothing there.
 */
#ifndef STORE_FACT_QUERY_H
#define STORE_FACT_QUERY_H

#include "storage/store_condition.h"
#include "storage/store_issues.h"
#include "storage/store_terms.h"

/* ---- terms (store_term_find.c) ---- */

enum { STORE_PART_TEXT = 1, STORE_PART_DETAIL = 2, STORE_PART_BOTH = 4 /* "iOS 18.1" */ };
struct store_term_place {
    enum store_term term;
    unsigned parts; /* of the term that the condition is about */
};
/* The project's terms for which the condition holds, without its negation; sorted. */
FZ_MUST_CHECK enum fz_code store_terms_find(struct store *store, int64_t project_id,
                                            const struct store_term_place *place,
                                            const struct store_condition *condition,
                                            struct fz_arena *arena, struct store_ids *ret,
                                            struct fz_error *err);
/* The same of all fields that are searched by parts, at once: the index of parts is as slow for one. *ret_found = false: there is
 * no such index, or a value is too short for it. */
FZ_MUST_CHECK enum fz_code store_terms_find_all(struct store *store, int64_t project_id,
                                                const struct store_condition *condition,
                                                struct fz_arena *arena,
                                                struct store_ids ret[STORE_TERMS], bool *ret_found,
                                                struct fz_error *err);
/* The stacks that have one of these functions or files; sorted. */
FZ_MUST_CHECK enum fz_code store_stacks_find(struct store *store, const struct store_ids *terms,
                                             struct fz_arena *arena, struct store_ids *ret,
                                             struct fz_error *err);

/* The texts of these terms, in the order of `ids`; "" for one that is not there. */
struct store_term_text {
    const char *text, *detail;
};
FZ_MUST_CHECK enum fz_code store_term_texts(struct store *store, const struct store_ids *ids,
                                            struct fz_arena *arena, struct store_term_text **ret,
                                            struct fz_error *err);

/* ---- facts ---- */

enum { STORE_FACT_PARTS = 8 /* that one condition is about */ };

enum store_fact_part_kind {
    STORE_FACTS_IDS,    /* a column is one of the ids */
    STORE_FACTS_STACKS, /* the ids are terms of stacks */
    STORE_FACTS_TAGS,   /* the ids are terms of tags */
    STORE_FACTS_KNOWN,  /* a column has a term at all */
    STORE_FACTS_TEXT, /* a text of the report's row; of sealed days a column has the ids, of which there may be none, or the range */
    STORE_FACTS_ROW   /* a condition about the report's row */
};

struct store_fact_part {
    enum store_fact_part_kind kind;
    const char *column;
    bool has_index;
    struct store_ids ids;
    struct store_ids stacks; /* STORE_FACTS_STACKS: those that have the terms */
    bool is_range;           /* STORE_FACTS_TEXT: the column is one of these, instead of the ids */
    int64_t least, most;
};

struct store_fact_condition {
    struct store_fact_part parts[STORE_FACT_PARTS]; /* one of them must hold */
    size_t n;
    bool is_negated;
    const struct store_condition *source;
    const struct store_ids *found; /* of terms, by field; NULL: each is looked up by itself */
};

struct store_fact_query {
    struct store *store;
    int64_t project_id;
    int64_t since_ms, until_ms; /* of the conditions, too; 0 = no limit */
    bool is_empty;              /* no fact meets the conditions */
    bool needs_reports;         /* a condition looks at the report's row, "r" */
    bool has_texts;             /* the same, but in sealed days */
    bool for_reports;           /* only facts of reports that are there */
    struct store_fact_condition *conditions;
    size_t n, room;
    const struct store_fact_part *driver; /* whose index is read; NULL = the time */
    struct fz_arena *arena;
};

/*
 * Resolve the conditions about reports, and those about issues if `for_reports`. Then only reports that are there are found, and
 * their present status counts; else facts of deleted ones, too.
 */
FZ_MUST_CHECK enum fz_code store_fact_query_make(struct store *store, int64_t project_id,
                                                 const struct store_query *query, bool for_reports,
                                                 struct fz_arena *arena,
                                                 struct store_fact_query *ret,
                                                 struct fz_error *err);
/* Only facts of these variants. Before store_fact_query_plan(). */
FZ_MUST_CHECK enum fz_code store_fact_query_variants(struct store_fact_query *facts,
                                                     const struct store_ids *variants,
                                                     struct fz_error *err);
/* Only facts of these versions. Before store_fact_query_plan(). */
FZ_MUST_CHECK enum fz_code store_fact_query_versions(struct store_fact_query *facts,
                                                     const struct store_ids *versions,
                                                     struct fz_error *err);
/* Resolve a condition about the row of a report, to->source (store_fact_row.c). */
FZ_MUST_CHECK enum fz_code store_fact_query_row(struct store_fact_query *facts,
                                                struct store_fact_condition *to,
                                                struct fz_error *err);
/* An index with fewer facts is better than a range of time. */
enum { STORE_FACTS_PROBED = 4000 };
/* Choose the index: by how many facts each condition leaves. */
FZ_MUST_CHECK enum fz_code store_fact_query_plan(struct store_fact_query *facts,
                                                 struct fz_error *err);
/* Append "FROM facts f ... WHERE ..." with all conditions. */
void store_fact_query_from(const struct store_fact_query *facts, struct store_sql *q);
/* Do facts say something of this field, or of the issue? */
bool store_field_is_fact(enum store_field field);
/* Is there a condition, or a range of time? */
bool store_fact_query_has_any(const struct store_fact_query *facts);

/* ---- issues (store_issue_set.c) ---- */

/* Append a condition about issues "i", with its negation. */
void store_issue_condition(struct store_sql *q, const struct store_condition *condition,
                           int64_t now_ms);
/* Is one of the conditions about issues? */
bool store_query_is_of_issues(const struct store_query *query);
/* The variants of the issues for which the conditions about issues hold. */
FZ_MUST_CHECK enum fz_code store_issue_variants(struct store *store, int64_t project_id,
                                                const struct store_query *query,
                                                struct fz_arena *arena, struct store_ids *ret,
                                                struct fz_error *err);
/* The variants of issues with these parts in their titles. */
FZ_MUST_CHECK enum fz_code store_title_variants(struct store *store, int64_t project_id,
                                                const struct store_condition *condition,
                                                struct fz_arena *arena, struct store_ids *ret,
                                                struct fz_error *err);

/* As store_issue_get(), for all of these numbers, which are sorted: one for each, in their order. */
FZ_MUST_CHECK enum fz_code store_issues_get(struct store *store, int64_t project_id,
                                            const struct store_ids *numbers, struct fz_arena *arena,
                                            struct store_issue **ret, struct fz_error *err);

/* ---- rows of reports (store_report_row.c) ---- */

/* Append "FROM report_ids k WHERE ..." with a condition about ids, without its negation; $1 is the project. False: it is not about
 * whole ids or their beginnings, and nothing was appended. */
bool store_report_ids(struct store_sql *q, const struct store_condition *condition);

/* The same for a condition about images: "FROM image_set_items m WHERE ...". */
void store_report_image_sets(struct store_sql *q, const struct store_condition *condition);

/* Append a condition about the columns of a report's row, `alias` "r." or "", with its negation. Not about issues, and not a
 * comparison of versions. */
void store_report_condition(struct store_sql *q, const struct store_condition *condition,
                            const char *alias);

#endif
