/*
 * Many facts, counted by two threads: store_tally_facts().
 *
 * The caller's thread reads; each batch goes to the other one if that has few to do, and is counted here if not. Each has counts
 * of its own, which are added at the end. Private to storage.
 */
#ifndef STORE_TALLY_SHARE_H
#define STORE_TALLY_SHARE_H

#include "storage/store_tally.h"

/* From so many facts on a list is counted by two threads, even on one core; 0 = the default. */
void store_set_share_from(struct store *store, uint64_t facts);

#endif
