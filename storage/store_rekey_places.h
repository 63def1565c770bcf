/*
 * Which variants go where when stacks get other keys: decided here, carried out by
 * store_rekey_facts.c. Private to storage.
 *
 * A variant is a row with a number, which facts and counts refer to, at a place: a key and the hash
 * of what differs. Of all reports that come to a place, those of the row that brings the most keep
 * its number, and the row itself moves there; only the others are rewritten:
 *
 *   before                            after                  what happens
 *   key A  x: 900                     key B  x: 967          the row of A goes to B; the 7 and the 60
 *   key B  x: 7                       key C  x: 40           become its reports
 *   key C  x: 100, of which 60 to B   key A  x: 0            the 40 keep the row of C
 *
 * So a key that goes to a new one as a whole, which is what most rules do, rewrites no fact, and a
 * stack with nearly all reports of its key rewrites those of the others. A place keeps its issue and
 * does not vanish, so what was split off is known when rules are taken back: one that is left without
 * a row gets a new one.
 */
#ifndef STORE_REKEY_PLACES_H
#define STORE_REKEY_PLACES_H

#include "storage/store_rekey.h"

enum { STORE_REKEY_HASH = FZ_SHA256_LEN };
#define STORE_REKEY_NONE SIZE_MAX

struct store_rekey_place {
    int64_t key_id, key_issue_id, issue_id;
    uint8_t sha256[STORE_REKEY_HASH];
    size_t before, after; /* the row that is here; NONE: a new one is needed */
    size_t like;          /* a row with its label */
    int64_t id;           /* of the row that is here afterwards */
    int64_t n_counted;    /* that it has afterwards */
    size_t share;         /* that came last, index + 1 */
};
struct store_rekey_row {
    int64_t id, n_reports;
    size_t before, after; /* where it is; NONE: it is not needed any more */
    size_t n_parts;
    bool is_parted; /* its pieces are known */
};
/* A key that stacks leave or come to. */
struct store_rekey_touched {
    int64_t key_id;
    int64_t to; /* where its stacks go; private to store_rekey_places.c */
};
/* Reports of a row that go to a place. */
struct store_rekey_share {
    size_t row, place;
    int64_t n_facts, n_counted;
};
/* Those of one stack, of a row whose stacks part. */
struct store_rekey_piece {
    int64_t stack_key, n_facts;
    size_t row, place;
};

struct store_rekey_moving {
    struct store_rekey *r;
    struct store_rekey_place *places;
    size_t n_places, places_room;
    size_t *slots; /* of a hash table of places, index + 1 */
    size_t n_slots;
    struct store_rekey_row *rows;
    size_t n_rows, rows_room;
    struct store_rekey_share *shares; /* the largest first */
    size_t n_shares, shares_room;
    struct store_rekey_piece *pieces;
    size_t n_pieces, pieces_room;
    int64_t *whole; /* issues that go to one other with all their reports, sorted */
    size_t n_whole;
    struct store_rekey_touched *touched; /* by number */
    size_t n_touched;
};

/* Find out all of it. Memory is the arena's of moving->r. */
FZ_MUST_CHECK enum fz_code store_rekey_places(struct store_rekey_moving *moving,
                                              struct fz_error *err);

#endif
