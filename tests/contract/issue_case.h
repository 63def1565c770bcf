/*
 * What the tests of issues have in common: reports by short names of what they say of their issue,
 * and the recount of all numbers.
 */
#ifndef ISSUE_CASE_H
#define ISSUE_CASE_H

#include "contract.h"
#include "storage/store_issues.h"

/* What a report says of its issue, by short names. */
struct contract_group {
    const char *stack, *key, *variant, *user, *version;
    bool is_placeholder;
    int64_t rules_version;
    const char *build, *device; /* NULL = "7", "iPhone15,2" */
    const char *run;            /* that ended with it; NULL = none */
    const char *functions[6];   /* none = "checkout(int)", "main" */
};

struct store_grouping contract_grouping(const struct contract_group *g);
const union fz_value *contract_group_values(struct contract *c, const struct contract_group *g);
enum fz_code contract_group_finish(struct contract *c, const struct store_job *job,
                                   const struct contract_group *g);
/* Store and finish a report; its id (arena). */
const char *contract_group_add(struct contract *c, const struct contract_group *g);
/* Have it done again. */
void contract_group_again(struct contract *c, const char *id, const struct contract_group *g);
/* The issue that a report belongs to. */
int64_t contract_number_of(struct contract *c, const char *id);
struct store_issue contract_issue(struct contract *c, int64_t number);
/* The number that a query answers with. */
int64_t contract_count(struct contract *c, const char *query);
/* Every count is that of the facts. */
void contract_recount(struct contract *c);

#endif
