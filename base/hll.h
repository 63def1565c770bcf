/*
 * HyperLogLog: how many different things there were, in at most 4 KiB, from a hash of each.
 *
 * 2^12 registers: the standard error is 1.6 %, and that of small counts is smaller. Two counters can be merged: users
 * of each day into users of a month. Nothing of what was counted can be read from a counter. The same hash counts once.
 *
 * Estimation is Ertl's improved one ("New cardinality estimation algorithms for HyperLogLog sketches", 2017), which needs neither
 * tables nor a second method for small counts.
 */
#ifndef FZ_HLL_H
#define FZ_HLL_H

#include "base/buffer.h"

enum {
    FZ_HLL_BITS = 12,
    FZ_HLL_REGISTERS = 1 << FZ_HLL_BITS,
    FZ_HLL_BYTES_MAX = FZ_HLL_REGISTERS + 1 /* of an encoded one */
};

/* Zeros: nothing was counted. */
struct fz_hll {
    uint8_t registers[FZ_HLL_REGISTERS];
};

/* The hash of a thing, from its bytes or from its number. Stored counters depend on both. */
uint64_t fz_hll_hash(struct fz_span thing);
uint64_t fz_hll_hash_number(int64_t number);

/* Returns whether that changed the counter. */
bool fz_hll_add(struct fz_hll *hll, uint64_t hash);
void fz_hll_merge(struct fz_hll *into, const struct fz_hll *from);
/* About how many different hashes were added. */
uint64_t fz_hll_count(const struct fz_hll *hll);

/* A few bytes for each register while few are set, about 2 KiB later. */
void fz_hll_encode(const struct fz_hll *hll, struct fz_buffer *out);
/* Merge an encoded one into `into`; no bytes are an empty one. MALFORMED: it is not one, and `into` is as it was. */
FZ_MUST_CHECK enum fz_code fz_hll_merge_encoded(struct fz_hll *into, struct fz_span bytes,
                                                struct fz_error *err);

#endif
