/*
 * Rules of grouping in the cases of the contract: pairs of a stack and its key in place of rules.
 */
#ifndef RULES_CASE_H
#define RULES_CASE_H

#include "issue_case.h"

#include "storage/store_rules.h"

extern const char rules_by[]; /* who does it */

/* Rules as pairs of a stack and its key, ended by NULL; a stack that is not named has its own text as its key. */
enum fz_code rules_key_of(void *user, struct fz_span stack, struct store_stack_key *ret,
                          struct fz_error *err);
/* The version of the project's rules. */
int64_t rules_now(struct contract *c);
struct store_rules_change rules_change(struct contract *c, const char *const *pairs,
                                       const char *text);
/* Try them, apply them, and count all again. */
struct store_rules_effect rules_apply(struct contract *c, const char *const *pairs,
                                      const char *text);
/* `pairs` are the rules from before. */
void rules_undo(struct contract *c, const char *const *pairs);
/* A report; its id. */
const char *rules_add(struct contract *c, const char *stack, const char *key, const char *variant,
                      const char *user);

#endif
