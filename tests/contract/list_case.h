/*
 * Random reports, and random queries over them with query_matches() as the judge of lists.
 */
#ifndef LIST_CASE_H
#define LIST_CASE_H

#include "contract.h"
#include "server/query/query.h"

enum { LIST_CASE_REPORTS = 160, LIST_CASE_FACTS = 56 };

/* 2026-11-23T03:00:00Z */
extern const int64_t list_case_now;

/* What was stored of a report, as facts of a query. */
struct list_case {
    char id[STORE_ID_TEXT];
    int64_t received_ms, crashed_ms, issue, variant, order;
    const char *user, *version, *os_name, *os_version;
    struct query_fact facts[LIST_CASE_FACTS];
    size_t n;
    size_t n_row; /* the first ones are also there if the report is deleted */
    bool is_grouped, is_deleted;
};

/* What queries are put together from. */
extern const char *const list_case_words[];
extern const size_t list_case_n_words;

void list_case_seed(uint32_t start);
/* A random number below n. */
uint32_t list_case_pick(uint32_t n);
/* LIST_CASE_REPORTS reports of some 30 days, a few of them deleted; arena. */
struct list_case *list_case_make(struct contract *c);
void list_case_delete(struct contract *c, struct list_case *one);
/* Lists of reports and issues, pages of issues and counts of random queries are what they must be. */
void list_case_check(struct contract *c, struct list_case *all, int n_queries);

#endif
