#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/file.h"
#include "base/text.h"
#include "base/time.h"
#include "server/report/columns.h"
#include "server/worker/damage.h"
#include "server/worker/job.h"
#include "storage/store_learned.h"

enum {
    SLICE_RANKS_MAX = 16, /* files of one UUID that are looked through for a kind */
    PROJECT_BYTES = 1024 * 1024
};
/* The file of a larger report or result is not kept. */
enum { FILE_KEPT = 1024 * 1024 };

/* The index that the child was offered last: it can fetch no other. */
struct answers {
    struct worker *worker;
    const struct store_job *job;
    char index_sha256[FZ_SHA256_TEXT]; /* "" = none */
};

/* INDEX: which index is the best for this image now, or the next best? */
static enum fz_code
answer_index(void *user, struct child_process *child, struct fz_error *err)
{
    struct answers *a = user;
    struct fz_uuid uuid;
    if (child->inbox.body.len != sizeof(uuid.bytes) + 1)
        return child_process_violation(child, err);
    /* 16 bytes and the rank; the length was checked above. */
    memcpy(uuid.bytes, child->inbox.body.data, sizeof(uuid.bytes));
    unsigned rank = child->inbox.body.data[sizeof(uuid.bytes)];
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(1024 * 1024);
    struct store_symbol symbol = {.name = NULL};
    bool failed = false;
    const struct store_symbol_key key = {a->job->project_id, uuid, rank};
    enum fz_code code = store_symbol_find(a->worker->store, &key, &arena, &symbol, &failed, err);
    if (code != FZ_OK && code != FZ_E_NOT_FOUND)
        return code;
    /* One that failed counts only where none is ready. */
    uint8_t state = failed && rank == 0 ? PROTO_INDEX_FAILED : PROTO_INDEX_MISSING;
    uint8_t hash[FZ_SHA256_LEN] = {0};
    /* Whatever was offered before can no longer be fetched. */
    a->index_sha256[0] = '\0';
    if (code == FZ_OK && symbol.index_sha256 && strlen(symbol.index_sha256) == FZ_SHA256_TEXT - 1 &&
        fz_text_unhex(fz_span_cstr(symbol.index_sha256), hash)) {
        state = PROTO_INDEX_FOUND;
        memcpy(a->index_sha256, symbol.index_sha256, FZ_SHA256_TEXT);
    }
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer body = fz_buffer_make(0);
    proto_put_u8(&body, state);
    fz_buffer_append(&body, hash, sizeof(hash));
    bool is_dsym = symbol.kind == STORE_SYMBOL_DSYM; /* no other kinds but binaries have an index */
    proto_put_u8(&body, !symbol.file_sha256 ? 0 : is_dsym ? PROTO_SLICE_DSYM : PROTO_SLICE_BINARY);
    proto_put_text(&body, symbol.name, PROTO_TEXT_MAX);
    proto_put_text(&body, symbol.file_sha256, PROTO_TEXT_MAX);
    return child_process_send(child, PROTO_INDEX_IS, &body, NULL, 0, err);
}

/* INDEX_GET: the descriptor of the index that was named last. */
static enum fz_code
answer_index_get(void *user, struct child_process *child, struct fz_error *err)
{
    struct answers *a = user;
    /* Only after INDEX: a child that was taken over cannot fetch the indexes of other projects. */
    if (!a->index_sha256[0])
        return child_process_violation(child, err);
    FZ_CLEANUP(fz_closep) int fd = -1;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer body = fz_buffer_make(0);
    /* A blob may be deleted between the two questions. */
    enum fz_code code = blob_get_fd(a->worker->blobs, a->index_sha256, &fd, err);
    if (code != FZ_OK && code != FZ_E_NOT_FOUND)
        return code;
    if (code == FZ_OK)
        worker_file_handed(a->worker, a->index_sha256);
    proto_put_u8(&body, code == FZ_OK ? PROTO_INDEX_FOUND : PROTO_INDEX_FAILED);
    return child_process_send(child, PROTO_INDEX_IS, &body, &fd, fd >= 0 ? 1 : 0, err);
}

/* The best file with DWARF, or the best binary, of the image; NOT_FOUND: there is none. */
static enum fz_code
find_slice(const struct answers *a, const struct fz_uuid *uuid, enum proto_slice_kind kind,
           struct fz_arena *arena, struct store_symbol *ret, struct fz_error *err)
{
    for (unsigned rank = 0; rank < SLICE_RANKS_MAX; rank++) {
        const struct store_symbol_key key = {a->job->project_id, *uuid, rank};
        enum fz_code code = store_symbol_find(a->worker->store, &key, arena, ret, NULL, err);
        if (code != FZ_OK)
            return code;
        /* A program that was never stripped has its DWARF itself and is both. */
        if (ret->state == STORE_SYMBOL_READY &&
            (kind == PROTO_SLICE_DSYM ? ret->has_dwarf : ret->kind == STORE_SYMBOL_BINARY))
            return FZ_OK;
    }
    return fz_fail(err, FZ_E_NOT_FOUND, "no such symbol file");
}

/* SYMBOLS: the dSYM or the binary of an image, of the job's project only. */
static enum fz_code
answer_symbols(void *user, struct child_process *child, struct fz_error *err)
{
    struct answers *a = user;
    struct fz_uuid uuid;
    struct fz_reader in = fz_reader_make(child->inbox.body, "question");
    struct fz_span bytes = fz_read_bytes(&in, sizeof(uuid.bytes));
    uint8_t kind = fz_read_u8(&in);
    if (in.failed || (kind != PROTO_SLICE_DSYM && kind != PROTO_SLICE_BINARY))
        return child_process_violation(child, err);
    memcpy(uuid.bytes, bytes.data, sizeof(uuid.bytes));
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(1024 * 1024);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer body = fz_buffer_make(0);
    FZ_CLEANUP(fz_closep) int fd = -1;
    struct store_symbol symbol = {.name = NULL};
    uint8_t hash[FZ_SHA256_LEN];
    enum fz_code code = find_slice(a, &uuid, (enum proto_slice_kind)kind, &arena, &symbol, err);
    if (code == FZ_OK && symbol.file_sha256 && strlen(symbol.file_sha256) == FZ_SHA256_TEXT - 1 &&
        fz_text_unhex(fz_span_cstr(symbol.file_sha256), hash))
        code = blob_get_fd(a->worker->blobs, symbol.file_sha256, &fd, err);
    if (code != FZ_OK && code != FZ_E_NOT_FOUND)
        return code;
    if (fd >= 0) {
        worker_file_handed(a->worker, symbol.file_sha256);
        fz_buffer_append(&body, hash, sizeof(hash));
    }
    return child_process_send(child, PROTO_SYMBOLS_ARE, &body, &fd, fd >= 0 ? 1 : 0, err);
}

/* LEARNED: names that other reports brought for an image. */
static enum fz_code
answer_learned(void *user, struct child_process *child, struct fz_error *err)
{
    struct answers *a = user;
    enum worker_learned mode = a->worker->config->learned;
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(4 * 1024 * 1024);
    struct fz_uuid uuid;
    uint32_t *offsets;
    size_t n;
    enum fz_code code =
        proto_learned_ask_decode(child->inbox.body, &arena, &uuid, &offsets, &n, err);
    /* With the feature off, the request says that it must not ask. */
    if (code == FZ_E_MALFORMED || mode == WORKER_LEARNED_OFF)
        return child_process_violation(child, err);
    if (code != FZ_OK)
        return code;
    _Static_assert((int)PROTO_ASK_MAX == (int)STORE_LEARNED_ASK, "one question, one query");
    struct store_learned found[PROTO_ASK_MAX];
    const struct store_learned_question question = {uuid, offsets, n};
    /* Project 0 has the names that all projects share. */
    const int64_t project_id = mode == WORKER_LEARNED_SHARED ? 0 : a->job->project_id;
    code = store_learned_find(a->worker->store, project_id, &question, &arena, found, err);
    if (code != FZ_OK)
        return code;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer body = fz_buffer_make(0);
    struct proto_learned names[PROTO_ASK_MAX];
    for (size_t i = 0; i < n; i++)
        names[i] = (struct proto_learned){.start = found[i].start, .name = found[i].name};
    proto_learned_answer_encode(names, n, &body);
    return child_process_send(child, PROTO_LEARNED_IS, &body, NULL, 0, err);
}

/* Only the outer form of the JSON: code that uses more than its text parses it again. */
static bool
is_object(struct fz_span json)
{
    return json.len >= 2 && json.data[0] == '{' && json.data[json.len - 1] == '}' &&
           !memchr(json.data, 0, json.len) && fz_text_is_utf8(json);
}

static enum fz_code
read_result(struct worker *w, int result_fd, int64_t rules_version, struct job_made *made,
            struct proto_info *ret_info, struct fz_error *err)
{
    const struct limits *limits = w->config->limits;
    struct store_report_done *done = &made->done;
    struct fz_arena *arena = &made->arena;
    struct fz_reader in = fz_reader_make(w->child.inbox.body, "result");
    uint64_t json_len = fz_read_u64(&in), info_len = fz_read_u64(&in);
    uint64_t stripped_len = fz_read_u64(&in);
    /* Checked before the arena allocates: the child may claim any length. */
    if (in.failed || json_len > limits->report_memory || info_len > limits->report_memory ||
        stripped_len > limits->report_inflated_bytes)
        return child_process_violation(&w->child, err);
    struct fz_span info;
    enum fz_code code = children_file_read(result_fd, 0, json_len, arena, &done->result, err);
    if (code == FZ_OK)
        code = children_file_read(result_fd, json_len, info_len, arena, &info, err);
    if (code == FZ_OK)
        code = proto_info_decode(info, &report_columns, limits->images, arena, ret_info, err);
    if (code == FZ_OK)
        code = job_grouping(&ret_info->issue, rules_version, arena, &done->grouping, err);
    if (code == FZ_OK && stripped_len)
        code = children_file_read(result_fd, json_len + info_len, stripped_len, arena,
                                  &done->stripped, err);
    /* Stored and sent to clients as it is, so at least its outer form must hold. */
    if (code == FZ_OK && !is_object(done->result))
        code = fz_fail(err, FZ_E_MALFORMED, "the result is not a JSON object");
    if (code == FZ_E_MALFORMED)
        return child_process_violation(&w->child, err);
    return code;
}

/* ---- files that are kept --------------------------------------------------------------------- */

static void
drop_file(struct worker_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    *file = (struct worker_file){.fd = -1};
}

void
job_files_drop(struct worker *w)
{
    drop_file(&w->report);
    drop_file(&w->result);
}

/*
 * A file for the child that runs, at its start. It is kept for the child's next report: to make the pages of one anew for each,
 * and to give them back, took an eighth of a child's time for a report of 120 KB. What an earlier report left in it is of the same
 * project, and is read only by a child's word.
 */
static enum fz_code
ready_file(const struct worker *w, struct worker_file *file, struct fz_error *err)
{
    if (file->pid != w->child.pid || file->project_id != w->child.project_id)
        drop_file(file);
    if (file->fd >= 0)
        return lseek(file->fd, 0, SEEK_SET) == 0
                   ? FZ_OK
                   : fz_fail_errno(err, "cannot go to the start of a memory file");
    enum fz_code code = children_file_make((struct fz_span){NULL, 0}, &file->fd, err);
    file->pid = w->child.pid;
    file->project_id = w->child.project_id;
    return code;
}

/* The report's bytes in w->report, which is as long as they are. */
static enum fz_code
fill_report(struct worker *w, struct fz_span raw, struct fz_error *err)
{
    enum fz_code code = ready_file(w, &w->report, err);
    if (code == FZ_OK)
        code = fz_file_write_fd(w->report.fd, raw, err);
    if (code == FZ_OK && ftruncate(w->report.fd, (off_t)raw.len) != 0)
        return fz_fail_errno(err, "cannot cut a memory file");
    return code;
}

/* ---- the project ----------------------------------------------------------------------------- */

void
job_project_drop(struct worker *w)
{
    fz_arena_deinit(&w->project.arena);
    w->project.id = 0;
}

/* Read once for all reports of a claim: what changes in it later counts for reports that are claimed later. */
static enum fz_code
find_project(struct worker *w, int64_t id, struct fz_error *err)
{
    if (w->project.id == id)
        return FZ_OK;
    job_project_drop(w);
    w->project.arena = fz_arena_make(PROJECT_BYTES);
    enum fz_code code = store_project_by_id(w->store, id, &w->project.arena, &w->project.row, err);
    w->project.id = code == FZ_OK ? id : 0;
    return code;
}

/* ---- the child ------------------------------------------------------------------------------- */

/* The report's bytes in w->report, and what else storage says of it; ret->bytes is NULL. */
static enum fz_code
fetch_report(struct worker *w, const struct store_job *job, struct store_full_body *ret,
             struct fz_error *err)
{
    const struct limits *limits = w->config->limits;
    /* Not in the arena of the result, which waits for those of other reports. */
    FZ_CLEANUP(fz_arena_deinit)
    struct fz_arena arena = fz_arena_make(limits->report_inflated_bytes + limits->report_memory);
    enum fz_code code =
        store_report_full_body(w->store, job->project_id, job->subject, &arena, ret, err);
    if (code == FZ_OK)
        code = fill_report(w, ret->bytes, err);
    ret->bytes = (struct fz_span){NULL, 0};
    return code;
}

/* Hand the report to the child. */
static enum fz_code
send_report(struct worker *w, const struct store_job *job, int64_t *ret_rules_version,
            struct fz_error *err)
{
    struct store_full_body raw;
    enum fz_code code = find_project(w, job->project_id, err);
    if (code == FZ_OK)
        code = fetch_report(w, job, &raw, err);
    if (code != FZ_OK)
        return code;
    struct store_project project = w->project.row;
    /* What is 0 in memory that was removed is not a value. */
    if (raw.memory == STORE_MEMORY_REMOVED)
        project.privacy.values = false;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer body = fz_buffer_make(0);
    /* The order of child_symbolicate() in server/child/report.c. */
    proto_put_text(&body, job->subject, PROTO_TEXT_MAX);
    proto_put_text(&body, project.name, PROTO_TEXT_MAX);
    proto_put_u64(&body, (uint64_t)raw.received_ms);
    proto_put_text(&body, project.cut_prefixes, PROTO_PREFIXES_MAX);
    proto_put_u8(&body, w->config->learned != WORKER_LEARNED_OFF);
    proto_put_u8(&body, project.privacy.values);
    proto_put_text(&body, project.privacy.redact_allow, PROTO_REDACT_MAX);
    proto_put_text(&body, project.privacy.redact_deny, PROTO_REDACT_MAX);
    proto_put_text(&body, *job->reader ? job->reader : NULL, PROTO_TEXT_MAX);
    proto_put_text(&body, project.rules, PROTO_RULES_MAX);
    proto_put_u8(&body, project.scrub.is_on);
    proto_put_text(&body, project.scrub.rules, PROTO_REDACT_MAX);
    proto_put_u64(&body, w->n_claims);
    *ret_rules_version = project.rules_version;
    const int fds[PROTO_FDS_MAX] = {w->report.fd, w->result.fd};
    return child_process_send(&w->child, PROTO_SYMBOLICATE, &body, fds, 2, err);
}

static void
count(struct worker *w, const struct proto_info *info)
{
    struct metrics *m = w->config->metrics;
    /* The child is not trusted, so its counts are bounded: it cannot spoil the sums. */
    uint64_t max = (uint64_t)w->config->limits->threads * w->config->limits->frames;
    if (!m || info->n_frames_named > max || info->n_frames_unnamed > max ||
        info->n_frames_learned > max || info->n_cache_hits > max || info->n_cache_misses > max)
        return;
    m->frames_symbolicated += info->n_frames_named;
    m->frames_unnamed += info->n_frames_unnamed;
    m->frames_learned += info->n_frames_learned;
    m->index_cache_hits += info->n_cache_hits;
    m->index_cache_misses += info->n_cache_misses;
}

/* The child's info in storage's types. Both sides have their own, so that neither can change the
 * other's by accident. */
static enum fz_code
copy_info(struct worker *w, int64_t project_id, const struct proto_info *info,
          struct fz_arena *arena, struct store_report_done *done, struct fz_error *err)
{
    static const enum store_report_status statuses[PROTO_STATUSES] = {
        [PROTO_SYMBOLICATED] = STORE_REPORT_SYMBOLICATED,
        [PROTO_PARTIAL] = STORE_REPORT_PARTIAL,
        [PROTO_UNSYMBOLICATED] = STORE_REPORT_UNSYMBOLICATED};
    struct store_image_wait *waits = fz_arena_array(arena, info->n_images, sizeof(*waits));
    struct store_image *images = fz_arena_array(arena, info->n_images, sizeof(*images));
    struct store_learned *learned = fz_arena_array(arena, info->n_learned, sizeof(*learned));
    if (!waits || !images || !learned)
        return fz_arena_fail(arena, err);
    unsigned n_checks = 0;
    for (size_t i = 0; i < info->n_images; i++) {
        const struct proto_image *from = &info->images[i];
        images[i] = (struct store_image){from->uuid, from->name};
        if (from->is_damaged)
            worker_image_damaged(w, project_id, &from->uuid, &n_checks);
        if (from->is_waiting)
            waits[done->n_waits++] = (struct store_image_wait){from->uuid, from->name, from->arch};
    }
    /* In order and each once, which the decoder has checked and storage relies on. */
    for (size_t i = 0; i < info->n_learned; i++)
        learned[i] = (struct store_learned){info->learned[i].uuid, info->learned[i].start,
                                            info->learned[i].reach, info->learned[i].name};
    done->status = statuses[info->status];
    done->format = info->format;
    done->timestamp_ms = info->timestamp_ms;
    done->values = info->values;
    done->waits = waits;
    done->images = images;
    done->n_images = info->n_images;
    /* A child that was taken over may send names that no one asked for. */
    if (w->config->learned != WORKER_LEARNED_OFF) {
        done->learned = learned;
        done->n_learned = info->n_learned;
        done->learned_shared = w->config->learned == WORKER_LEARNED_SHARED;
    }
    return FZ_OK;
}

static enum fz_code
run(struct worker *w, struct job_end *end, struct job_made *made, struct fz_error *err)
{
    static const struct child_process_answer kinds[] = {{PROTO_INDEX, answer_index},
                                                        {PROTO_INDEX_GET, answer_index_get},
                                                        {PROTO_LEARNED, answer_learned},
                                                        {PROTO_SYMBOLS, answer_symbols},
                                                        {0}};
    const struct store_job *job = &end->job;
    const struct child_process_plan plan = {.role = PROTO_ROLE_REPORTS,
                                            .project_id = job->project_id,
                                            .requests_max = JOB_CHILD_REPORTS,
                                            .limits = w->config->limits,
                                            .metrics = w->config->metrics,
                                            .backoff = &w->backoff};
    struct answers answers = {.worker = w, .job = job};
    struct proto_info info;
    int64_t rules_version = 0;
    enum fz_code code = child_process_ensure(&w->child, &plan, err);
    if (code == FZ_OK)
        code = ready_file(w, &w->result, err);
    if (code != FZ_OK)
        return code;
    /* From here on the time counts, also that of sending the report. */
    child_process_begin(&w->child, w->config->limits->child_wall_s);
    code = send_report(w, job, &rules_version, err);
    if (code == FZ_OK)
        code = child_process_converse(&w->child, kinds, &answers, err);
    if (code == FZ_OK)
        code = read_result(w, w->result.fd, rules_version, made, &info, err);
    if (code != FZ_OK || made->done.result.len + made->done.stripped.len > FILE_KEPT ||
        lseek(w->report.fd, 0, SEEK_END) > FILE_KEPT)
        job_files_drop(w);
    if (code == FZ_OK)
        code = copy_info(w, job->project_id, &info, &made->arena, &made->done, err);
    if (code != FZ_OK)
        return code;
    end->made.status = store_report_status_name(made->done.status);
    count(w, &info);
    return FZ_OK;
}

static void
made_deinit(struct job_made *made)
{
    fz_arena_deinit(&made->arena);
}

enum fz_code
job_report(struct worker *worker, struct job_end *end, struct fz_error *err)
{
    const struct limits *limits = worker->config->limits;
    FZ_CLEANUP(made_deinit) struct job_made made = {.made_ms = 0};
    /* The body without memory, the result and its lists. */
    fz_arena_init(&made.arena, limits->report_inflated_bytes + 2 * limits->report_memory);
    worker->child.died = false;
    enum fz_code code = run(worker, end, &made, err);
    end->died = code != FZ_OK && worker->child.died;
    /* Not the report's fault: it is tried again with what is left of the file, or with the one that is built anew. */
    if (end->died && worker->child.end_signal == SIGBUS && worker_files_damaged(worker)) {
        end->died = false;
        code = fz_fail(err, FZ_E_UNAVAILABLE,
                       "a stored file was damaged while it was read, see the log");
    }
    if (code != FZ_OK)
        return code;
    made.end = *end;
    made.made_ms = fz_time_monotonic_ms();
    worker->made[worker->n_made++] = made;
    made.arena = fz_arena_make(0); /* it went along */
    return FZ_OK;
}
