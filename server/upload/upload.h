/*
 * What an upload of symbol files gave: the answer to who sent it, as a type and as JSON.
 *
 * The worker makes it, storage keeps it as the JSON that is written here, and the API and other clients' protocols read
 * it back. The JSON is that of "POST /api/v1/symbols" in docs/api/symbols-post.md, so that what older versions stored stays
 * readable.
 */
#ifndef UPLOAD_H
#define UPLOAD_H

#include "base/arena.h"
#include "base/error.h"
#include "base/json/write.h"
#include "base/uuid.h"
#include "storage/store.h"
#include "symbolicator/symbolicator.h"

/* One word on a symbol file, for build scripts and for people who read their logs. */
enum upload_verdict {
    UPLOAD_NOT_JUDGED, /* by a program of before there were verdicts */
    UPLOAD_OK,
    UPLOAD_TRUNCATED,
    UPLOAD_UNUSABLE,
    UPLOAD_NOT_LINKED,
    UPLOAD_ENCRYPTED,
    UPLOAD_HIDDEN_NAMES,
    UPLOAD_NO_DWARF,
    UPLOAD_NO_LINES,
    UPLOAD_SYMBOLS_ONLY,
    UPLOAD_MAP /* a symbol map, or what says which one an image has */
};

struct upload_problem {
    const char *kind, *text;
    uint64_t count;
};
struct upload_problems {
    const struct upload_problem *list;
    size_t n;
};

struct upload_file {
    struct fz_uuid uuid;
    enum store_symbol_kind kind;
    const char *arch, *name; /* arch "" for a map */
    uint64_t size;
    bool is_new; /* not known before */
    struct sym_features features;
    struct upload_problems problems;
    enum upload_verdict verdict;
    bool wants_binary; /* a dSYM that is OK, but whose binary would give more values of variables */
};

struct upload_result {
    struct upload_file *files;
    size_t n_files;
    struct upload_problems problems; /* of the upload as a whole */
    uint64_t n_unblocked;            /* reports that are done again because of it */
};

/* `key` as in base/json/write.h. */
void upload_features_write(struct json_write *w, const char *key, const struct sym_features *f);
void upload_problems_write(struct json_write *w, const char *key,
                           const struct upload_problems *problems);
void upload_result_write(struct json_write *w, const char *key, const struct upload_result *result);

/* Read what upload_result_write() made; all of it is in the arena. `json` NULL (the upload is not
 * done) gives an empty result. INTERNAL: it is not such a text. */
FZ_MUST_CHECK enum fz_code upload_result_read(const char *json, struct fz_arena *arena,
                                              struct upload_result *ret, struct fz_error *err);

#endif
