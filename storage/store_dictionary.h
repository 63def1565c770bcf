/*
 * Dictionaries of zstd: what the reports of one project and format have in common, trained from reports that are stored.
 *
 * A frame that needs one carries its id (RFC 8878, 3.1.1.1.3), so frames with and without, and of all versions, stay readable.
 * Each connection keeps a few of them in memory; that set alone may be used by several threads at once. Private to storage,
 * except for the training, which one worker at a time does.
 */
#ifndef STORE_DICTIONARY_H
#define STORE_DICTIONARY_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/span.h"

struct store;
struct store_packer;
struct store_dictionary;   /* one of them, counted */
struct store_dictionaries; /* those in memory */

enum store_dictionary_what { STORE_DICTIONARY_BODY = 1, STORE_DICTIONARY_RESULT = 2 };

/* How large one is at most (its row has a tenth of that, compressed), how many a connection keeps that writes with them, or only
 * reads, of which a server has dozens, and for how long it goes on with the newest version that it knows. */
enum {
    STORE_DICTIONARY_BYTES = 512 * 1024,
    STORE_DICTIONARIES_KEPT = 24,
    STORE_DICTIONARIES_READ = 6,
    STORE_DICTIONARY_LOOK_MS = 10 * 1000
};

/* From its bytes, which are copied. MALFORMED: zstd does not take it. */
FZ_MUST_CHECK enum fz_code
store_dictionary_make(struct fz_span content, struct store_dictionary **ret, struct fz_error *err);
uint32_t store_dictionary_id(const struct store_dictionary *dictionary);
/* One user more. */
void store_dictionary_retain(struct store_dictionary *dictionary);
/* One user less; the last one ends it. NULL: nothing. */
void store_dictionary_release(struct store_dictionary *dictionary);
void store_dictionary_releasep(struct store_dictionary **dictionary);

struct store_dictionaries *store_dictionaries_create(void);
void store_dictionaries_destroy(struct store_dictionaries *set);

/* What belongs to a project: format and what. */
struct store_dictionary_key {
    int64_t project_id;
    const char *format;
    enum store_dictionary_what what;
};
/* The newest version, which the caller releases; NULL if there is none, or it cannot be had: then one writes without. */
struct store_dictionary *store_dictionary_newest(struct store *store,
                                                 const struct store_dictionary_key *key);
/* The same of what is in memory, without a look into the database; from any thread. */
struct store_dictionary *store_dictionary_peek(struct store_dictionaries *set,
                                               const struct store_dictionary_key *key);

/* As store_pack(), with a dictionary (NULL = without). */
FZ_MUST_CHECK enum fz_code store_pack_with(struct fz_span bytes,
                                           struct store_dictionary *dictionary,
                                           struct store_packer **packer, void **ret,
                                           size_t *ret_len, struct fz_error *err);
/* As store_unpack(), of a frame that needs this dictionary. INTERNAL: it needs another one, or one of both is damaged. */
FZ_MUST_CHECK enum fz_code store_unpack_with(struct fz_span packed,
                                             struct store_dictionary *dictionary,
                                             struct fz_arena *arena, struct fz_span *ret,
                                             struct fz_error *err);

/* A frame of a report's body or result, with whatever dictionary it names. INTERNAL: it, or its dictionary, is damaged or gone. */
FZ_MUST_CHECK enum fz_code store_unpack_frame(struct store *store, struct fz_span packed,
                                              struct fz_arena *arena, struct fz_span *ret,
                                              struct fz_error *err);
struct sql_rows;
/* The same of a column of the current row. Closes the rows. */
FZ_MUST_CHECK enum fz_code store_unpack_column(struct store *store, struct sql_rows *rows,
                                               int column, struct fz_arena *arena,
                                               struct fz_span *ret, struct fz_error *err);

/* ---- training ---- */

/* Pieces of the samples that at least STORE_DICTIONARY_SHARED of them have, one after the other, each sample's in the place of the
 * sample itself: `lens` become those of what is left. What fewer have is of single people, and no dictionary gets it. */
enum { STORE_DICTIONARY_SHARED = 3 };
FZ_MUST_CHECK enum fz_code store_dictionary_share(struct fz_buffer *samples, size_t *lens, size_t n,
                                                  struct fz_error *err);

/* Of samples that store_dictionary_share() has left, their number: a dictionary of at most STORE_DICTIONARY_BYTES at `content`. Its
 * length; 0 = they do not make one. */
size_t store_dictionary_choose(const struct fz_buffer *samples, const size_t *lens, size_t n,
                               uint8_t *content);

/* As its row has it: compressed; *ret is malloc'ed, owned by the caller. */
FZ_MUST_CHECK enum fz_code store_dictionary_pack(struct fz_span content, void **ret,
                                                 size_t *ret_len, struct fz_error *err);

struct store_dictionary_step {
    int64_t after;                   /* the next project is beyond this one; 0 at first */
    bool is_done;                    /* there is no further project */
    bool is_made;                    /* a dictionary was: of */
    struct store_dictionary_key key; /* in the arena */
    int64_t version;
    size_t n_samples, len;
};
/* Look at the next project, and train one dictionary that is due, for at most a second or so of CPU time. The caller has the
 * duty (store_outbox.h), or two may train the same. */
FZ_MUST_CHECK enum fz_code store_dictionary_train(struct store *store, struct fz_arena *arena,
                                                  struct store_dictionary_step *step,
                                                  struct fz_error *err);

#endif
