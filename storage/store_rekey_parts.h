/*
 * Facts of variants whose stacks part, and what is counted of them, moved together: the cost is in proportion to the facts, however
 * many variants they go to. Private to storage.
 */
#ifndef STORE_REKEY_PARTS_H
#define STORE_REKEY_PARTS_H

#include "storage/store_rekey_places.h"

/* Once places have their ids and moving->whole is known. Counts of 0 remain. */
FZ_MUST_CHECK enum fz_code store_rekey_parts(struct store_rekey_moving *moving,
                                             struct fz_error *err);
/* Do all reports of this issue go to one other? */
bool store_rekey_is_whole(const struct store_rekey_moving *moving, int64_t issue_id);

#endif
