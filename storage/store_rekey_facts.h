/*
 * What belongs to stacks follows them to their new keys. Private to storage.
 */
#ifndef STORE_REKEY_FACTS_H
#define STORE_REKEY_FACTS_H

#include "storage/store_rekey.h"

/* An issue as it is before anything is changed, and those that redirect to it; once for each version
 * of the rules. */
FZ_MUST_CHECK enum fz_code store_rekey_remember(struct store_rekey *r, int64_t issue_id,
                                                struct fz_error *err);
/* It redirected to another one, and has reports of its own again. */
FZ_MUST_CHECK enum fz_code store_rekey_revive(struct store_rekey *r, int64_t issue_id,
                                              struct fz_error *err);

/* Variants, facts, and all that is counted by variant, once stacks.key_id are the new ones. */
FZ_MUST_CHECK enum fz_code store_rekey_facts(struct store_rekey *r, struct fz_error *err);

#endif
