/*
 * Lists of issues and the details of one, with numbers that are those of the reports that meet a query.
 *
 * A report that is the same crash as another one of its run is not counted; one that was deleted still is. Issues that were merged
 * into another are never listed. `status` is that of the newest result. Conventions as in store_issues.h.
 */
#ifndef STORE_ISSUE_LIST_H
#define STORE_ISSUE_LIST_H

#include "storage/store_issues.h"
#include "storage/store_query.h"

enum { STORE_TREND = 28 /* parts of a range of time */ };

struct store_trend {
    int64_t start_ms, step_ms; /* of each part */
};

enum store_issue_sort {
    STORE_ISSUES_BY_USERS, /* of the newest two versions, then of all */
    STORE_ISSUES_BY_REPORTS,
    STORE_ISSUES_BY_LAST_SEEN,
    STORE_ISSUES_BY_FIRST_SEEN,
    STORE_ISSUES_BY_TREND /* reports in the newer half of the trend less those in the older one */
};
struct store_issue_search {
    const struct store_query *query;
    enum store_issue_sort sort; /* the largest or newest first */
};

struct store_listed_issue {
    /* Its reports, users, times and versions are those of the reports that meet the query. */
    struct store_issue issue;
    uint32_t trend[STORE_TREND];
};
struct store_issue_page {
    struct store_listed_issue *issues;
    size_t n;
    struct store_trend trend;
};
/* At most 1000. Without a range of time the trend is that of the last four weeks. MALFORMED: the cursor. LIMIT: too many values,
 * or too many users to count. */
FZ_MUST_CHECK enum fz_code store_issue_list(struct store *store, int64_t project_id,
                                            const struct store_issue_search *search,
                                            struct store_page *page, struct fz_arena *arena,
                                            struct store_issue_page *ret, struct fz_error *err);

/* ---- one issue ---- */

struct store_share {
    const char *text, *detail; /* "4.2" and "4201", "iOS" and "18.1"; "" = unknown */
    uint64_t n;
};
/* Of what the reports are: the most frequent texts, and how many others there are. */
enum { STORE_SHARES = 20 };
enum store_distribution {
    STORE_BY_VERSION,
    STORE_BY_OS,
    STORE_BY_DEVICE,
    STORE_BY_ARCH,
    STORE_BY_ENVIRONMENT,
    STORE_DISTRIBUTIONS
};
struct store_shares {
    struct store_share list[STORE_SHARES];
    size_t n;
    uint64_t n_others; /* reports with another text */
    uint64_t n_texts;  /* different texts, all of them */
};

struct store_variant {
    int64_t number;
    char sha256[FZ_SHA256_TEXT];
    const char *label;
    uint64_t n_reports;
    int64_t first_ms, last_ms; /* 0 = no report meets the query */
};

struct store_issue_details {
    struct store_listed_issue listed;
    struct store_trend trend;
    struct store_shares shares[STORE_DISTRIBUTIONS];
    struct store_variant *variants; /* the most frequent ones */
    size_t n_variants, n_all_variants;
    char newest[STORE_ID_TEXT]; /* of the reports that are there; "" = none */
    char best[STORE_ID_TEXT];   /* the newest of those that are best named */
};
/* The conditions about issues do not count: it is this one. NOT_FOUND. */
FZ_MUST_CHECK enum fz_code store_issue_details(struct store *store, int64_t project_id,
                                               int64_t number, const struct store_query *query,
                                               struct fz_arena *arena,
                                               struct store_issue_details *ret,
                                               struct fz_error *err);
/* All of its variants, or STORE_ISSUE_VARIANTS of them; the most frequent first. */
enum { STORE_ISSUE_VARIANTS = 1000 };
struct store_variants {
    struct store_variant *list;
    size_t n;
};
FZ_MUST_CHECK enum fz_code store_issue_variant_list(struct store *store, int64_t project_id,
                                                    int64_t number, const struct store_query *query,
                                                    struct fz_arena *arena,
                                                    struct store_variants *ret,
                                                    struct fz_error *err);

/* ---- what there is to select by ---- */

struct store_value_search {
    enum store_field field;
    const char *tag;    /* of STORE_FIELD_TAG; NULL: names of tags */
    const char *prefix; /* in either case; "" = any */
    size_t limit;
};
struct store_value {
    const char *text;
    uint64_t n; /* reports of all time; 0 = not counted */
};
/* The values of a field that begin with the prefix: the most frequent first if they are counted, versions the newest first.
 * MALFORMED: the field has no values that are kept. */
FZ_MUST_CHECK enum fz_code store_values(struct store *store, int64_t project_id,
                                        const struct store_value_search *search,
                                        struct fz_arena *arena, struct store_value **ret,
                                        size_t *ret_n, struct fz_error *err);

#endif
