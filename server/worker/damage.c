#include "server/worker/damage.h"

#include <stdio.h>
#include <string.h>

#include "base/attr.h"
#include "base/list.h"
#include "base/log.h"
#include "base/random.h"
#include "server/upload/upload.h"

enum { RANKS_MAX = 3 };

/* Log it, and do what can be done without the client. `code` is the result of blob_check(). */
static void
repair(struct worker *w, const char *sha256, enum fz_code code)
{
    struct upload_problem problem = {"corrupt", "The stored file is damaged. Upload it again.", 1};
    const struct upload_problems problems = {&problem, 1};
    struct fz_error err;
    uint64_t n_files = 0, n_indexes = 0;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer json = fz_buffer_make(0);
    struct json_write out = json_write_start(&json);
    upload_problems_write(&out, NULL, &problems);
    enum fz_code done = fz_buffer_done(&json, &err);
    if (done == FZ_OK)
        done = store_symbol_damaged(w->store, sha256, fz_buffer_cstr(&json), &n_files, &err);
    if (done == FZ_OK)
        done = store_symbol_rebuild_index(w->store, sha256, &n_indexes, &err);
    if (done != FZ_OK)
        job_warn("a damaged file cannot be repaired", &err);
    /* It may have the damaged file mapped, which the repair replaces. */
    child_process_stop(&w->child);
    fz_log(FZ_LOG_ERROR, code == FZ_E_NOT_FOUND ? "stored file is gone" : "stored file is damaged",
           "sha256=%s symbol_files=%llu indexes_to_rebuild=%llu todo=%s", sha256,
           (unsigned long long)n_files, (unsigned long long)n_indexes,
           n_files ? "\"upload the symbol file again, check the disk\"" : "\"check the disk\"");
}

/* A file that cannot be read for another reason may be readable later. */
static bool
is_damage(enum fz_code code)
{
    return code == FZ_E_MALFORMED || code == FZ_E_NOT_FOUND;
}

void
worker_image_damaged(struct worker *w, int64_t project_id, const struct fz_uuid *uuid,
                     unsigned *n_checks)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(1024 * 1024);
    enum fz_code code = FZ_OK;
    for (unsigned rank = 0; code == FZ_OK && rank < RANKS_MAX; rank++) {
        const struct store_symbol_key key = {project_id, *uuid, rank};
        struct store_symbol symbol;
        if (*n_checks >= WORKER_CHECKS_MAX)
            return;
        code = store_symbol_find(w->store, &key, &arena, &symbol, NULL, NULL);
        if (code != FZ_OK || !symbol.index_sha256)
            continue;
        ++*n_checks;
        enum fz_code state = blob_check(w->blobs, symbol.index_sha256, NULL, NULL);
        if (is_damage(state))
            repair(w, symbol.index_sha256, state);
    }
}

void
worker_file_handed(struct worker *w, const char *sha256)
{
    struct worker_handed *handed = &w->handed;
    if (handed->pid != w->child.pid)
        *handed = (struct worker_handed){.pid = w->child.pid};
    size_t n = handed->n < WORKER_HANDED ? handed->n : WORKER_HANDED;
    for (size_t i = 0; i < n; i++) {
        if (strcmp(handed->names[i], sha256) == 0)
            return;
    }
    memcpy(handed->names[handed->n++ % WORKER_HANDED], sha256, FZ_SHA256_TEXT);
}

bool
worker_files_damaged(struct worker *w)
{
    size_t n = w->handed.n < WORKER_HANDED ? w->handed.n : WORKER_HANDED;
    bool ret = false;
    for (size_t i = 0; i < n; i++) {
        enum fz_code state = blob_check(w->blobs, w->handed.names[i], NULL, NULL);
        if (is_damage(state))
            repair(w, w->handed.names[i], state);
        ret = ret || (state != FZ_OK && state != FZ_E_NO_MEMORY);
    }
    return ret;
}

enum fz_code
worker_upload_check(struct worker *w, const struct store_upload *upload, struct fz_error *err)
{
    enum fz_code code = blob_check(w->blobs, upload->blob_sha256, NULL, err);
    if (!is_damage(code))
        return code;
    repair(w, upload->blob_sha256, code);
    return fz_fail(err, FZ_E_MALFORMED, "the stored file is damaged or gone; upload it again");
}

/* ---- reading all files in turn ---- */

static enum fz_code
on_file(void *user, const char *sha256, struct fz_error *err)
{
    struct worker_verify *v = user;
    char(*names)[FZ_SHA256_TEXT] =
        fz_list_grow(NULL, v->names, &v->room, v->n + 1, sizeof(v->names[0]));
    if (!names)
        return fz_budget_fail(NULL, err);
    v->names = names;
    memcpy(v->names[v->n++], sha256, FZ_SHA256_TEXT);
    return FZ_OK;
}

void
worker_verify(struct worker *w, int64_t now)
{
    const struct limits *limits = w->config->limits;
    struct worker_verify *v = &w->verify;
    struct fz_error err;
    if (v->n > 0) {
        /* One file at each call, since jobs wait for it. */
        const char *sha256 = v->names[--v->n];
        enum fz_code code = blob_check(w->blobs, sha256, NULL, NULL);
        if (code == FZ_E_MALFORMED) /* one that is gone was deleted since it was listed */
            repair(w, sha256, code);
        return;
    }
    if (v->listed_ms != 0 && now - v->listed_ms < (int64_t)limits->verify_s * 1000)
        return;
    if (blob_is_guarded(w->blobs))
        return;
    /* A server that is started often must not read the same folder each time. */
    if (v->listed_ms == 0) {
        uint8_t random;
        fz_random(&random, sizeof(random));
        snprintf(v->place.folder, sizeof(v->place.folder), "%02x", random);
    }
    v->listed_ms = now;
    if (blob_list_old(w->blobs, &v->place, (int64_t)limits->orphan_s * 1000, on_file, v, &err) !=
        FZ_OK)
        job_warn("stored files cannot be listed", &err);
}
