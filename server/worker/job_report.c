#define _GNU_SOURCE /* memfd_create */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/file.h"
#include "base/text.h"
#include "server/report/columns.h"
#include "server/worker/job.h"
#include "storage/store_learned.h"

/* The index that the child was offered last: it can fetch no other. */
struct answers {
    struct worker *worker;
    const struct store_job *job;
    char index_sha256[FZ_SHA256_TEXT]; /* "" = none */
};

static enum fz_code
make_memfd(const char *name, struct fz_span content, int *ret_fd, struct fz_error *err)
{
    FZ_CLEANUP(fz_closep) int fd = memfd_create(name, MFD_CLOEXEC);
    if (fd < 0)
        return fz_fail_errno(err, "cannot make a memory file");
    enum fz_code code = fz_file_write_fd(fd, content, err);
    if (code != FZ_OK)
        return code;
    *ret_fd = fd;
    fd = -1;
    return FZ_OK;
}

/* INDEX: which index is the best for this image now, or the next best? */
static enum fz_code
answer_index(struct answers *a, struct child_process *child, struct fz_error *err)
{
    struct fz_uuid uuid;
    if (child->inbox.body.len != sizeof(uuid.bytes) + 1)
        return child_process_violation(child, err);
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
    a->index_sha256[0] = '\0';
    if (code == FZ_OK && symbol.index_sha256 && strlen(symbol.index_sha256) == FZ_SHA256_TEXT - 1 &&
        fz_text_unhex(fz_span_cstr(symbol.index_sha256), hash)) {
        state = PROTO_INDEX_FOUND;
        memcpy(a->index_sha256, symbol.index_sha256, FZ_SHA256_TEXT);
    }
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer body = fz_buffer_make(0);
    proto_put_u8(&body, state);
    fz_buffer_append(&body, hash, sizeof(hash));
    proto_put_text(&body, symbol.file_sha256 ? store_symbol_kind_name(symbol.kind) : NULL,
                   PROTO_TEXT_MAX);
    proto_put_text(&body, symbol.name, PROTO_TEXT_MAX);
    proto_put_text(&body, symbol.file_sha256, PROTO_TEXT_MAX);
    code = fz_buffer_done(&body, err);
    if (code != FZ_OK)
        return code;
    return child_process_send(child, PROTO_INDEX_IS, fz_buffer_span(&body), NULL, 0, err);
}

/* INDEX_GET: the descriptor of the index that was named last. */
static enum fz_code
answer_index_get(struct answers *a, struct child_process *child, struct fz_error *err)
{
    if (!a->index_sha256[0])
        return child_process_violation(child, err);
    FZ_CLEANUP(fz_closep) int fd = -1;
    uint8_t answer[1 + FZ_SHA256_LEN] = {PROTO_INDEX_FAILED};
    enum fz_code code = blob_get_fd(a->worker->blobs, a->index_sha256, &fd, err);
    if (code == FZ_OK)
        answer[0] = PROTO_INDEX_FOUND;
    else if (code != FZ_E_NOT_FOUND)
        return code;
    return child_process_send(child, PROTO_INDEX_IS, fz_span_make(answer, sizeof(answer)), &fd,
                              fd >= 0 ? 1 : 0, err);
}

/* LEARNED: names that other reports brought for an image. */
static enum fz_code
answer_learned(struct answers *a, struct child_process *child, struct fz_error *err)
{
    enum worker_learned mode = a->worker->config->learned;
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(4 * 1024 * 1024);
    struct fz_uuid uuid;
    uint32_t *offsets;
    size_t n;
    enum fz_code code =
        proto_learned_ask_decode(child->inbox.body, &arena, &uuid, &offsets, &n, err);
    if (code == FZ_E_MALFORMED || mode == WORKER_LEARNED_OFF)
        return child_process_violation(child, err);
    if (code != FZ_OK)
        return code;
    _Static_assert((int)PROTO_ASK_MAX == (int)STORE_LEARNED_ASK, "one question, one query");
    struct store_learned found[PROTO_ASK_MAX];
    const struct store_learned_question question = {uuid, offsets, n};
    const int64_t project_id = mode == WORKER_LEARNED_SHARED ? 0 : a->job->project_id;
    code = store_learned_find(a->worker->store, project_id, &question, &arena, found, err);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer body = fz_buffer_make(0);
    if (code == FZ_OK) {
        struct proto_learned names[PROTO_ASK_MAX];
        for (size_t i = 0; i < n; i++)
            names[i] = (struct proto_learned){.start = found[i].start, .name = found[i].name};
        proto_learned_answer_encode(names, n, &body);
        code = fz_buffer_done(&body, err);
    }
    if (code != FZ_OK)
        return code;
    return child_process_send(child, PROTO_LEARNED_IS, fz_buffer_span(&body), NULL, 0, err);
}

/* Answer the child's questions until it is done or fails. FZ_OK: child->inbox holds DONE. */
static enum fz_code
converse(struct answers *a, struct child_process *child, struct fz_error *err)
{
    for (;;) {
        enum fz_code code = child_process_next(child, err);
        if (code != FZ_OK)
            return code;
        if (child->inbox.kind == PROTO_DONE)
            return FZ_OK;
        if (child->inbox.kind == PROTO_FAILED)
            return child_process_failure(child, err);
        if (child->inbox.kind == PROTO_INDEX)
            code = answer_index(a, child, err);
        else if (child->inbox.kind == PROTO_INDEX_GET)
            code = answer_index_get(a, child, err);
        else if (child->inbox.kind == PROTO_LEARNED)
            code = answer_learned(a, child, err);
        else
            code = child_process_violation(child, err);
        if (code != FZ_OK) {
            child_process_stop(child); /* it waits for an answer that does not come */
            return code;
        }
    }
}

/* Read, not mapped: the child could truncate a mapped file, and the worker would get SIGBUS. */
static enum fz_code
read_result(int fd, uint64_t offset, uint64_t len, struct fz_arena *arena, struct fz_span *ret,
            struct fz_error *err)
{
    uint8_t *bytes = fz_arena_alloc(arena, (size_t)len);
    if (!bytes)
        return fz_arena_fail(arena, err);
    uint64_t done = 0;
    while (done < len) {
        ssize_t n = pread(fd, bytes + done, (size_t)(len - done), (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return fz_fail(err, FZ_E_MALFORMED, "the result ends after %llu of %llu bytes",
                           (unsigned long long)done, (unsigned long long)len);
        done += (uint64_t)n;
    }
    *ret = fz_span_make(bytes, (size_t)len);
    return FZ_OK;
}

/* Only the outer form of the JSON: code that uses more than its text parses it again. */
static bool
is_object(struct fz_span json)
{
    return json.len >= 2 && json.data[0] == '{' && json.data[json.len - 1] == '}' &&
           !memchr(json.data, 0, json.len) && fz_text_is_utf8(json);
}

static enum fz_code
take_result(struct worker *w, int result_fd, struct fz_arena *arena, struct proto_info *ret_info,
            struct fz_span *ret_json, struct fz_error *err)
{
    const struct limits *limits = w->config->limits;
    struct fz_reader in = fz_reader_make(w->child.inbox.body, "result");
    uint64_t json_len = fz_read_u64(&in), info_len = fz_read_u64(&in);
    if (in.failed || json_len > limits->report_memory || info_len > limits->report_memory)
        return child_process_violation(&w->child, err);
    struct fz_span info;
    enum fz_code code = read_result(result_fd, 0, json_len, arena, ret_json, err);
    if (code == FZ_OK)
        code = read_result(result_fd, json_len, info_len, arena, &info, err);
    if (code == FZ_OK)
        code = proto_info_decode(info, &report_columns, limits->images, arena, ret_info, err);
    if (code == FZ_OK && !is_object(*ret_json))
        code = fz_fail(err, FZ_E_MALFORMED, "the result is not a JSON object");
    if (code == FZ_E_MALFORMED)
        return child_process_violation(&w->child, err);
    return code;
}

static enum fz_code
ensure_child(struct worker *w, int64_t project_id, struct fz_error *err)
{
    if (child_process_runs(&w->child) && w->child_project == project_id &&
        w->child_jobs < JOB_CHILD_REPORTS)
        return FZ_OK;
    child_process_stop(&w->child);
    w->child.tick = job_beat;
    w->child.tick_user = w;
    enum fz_code code = child_process_start(&w->child, PROTO_ROLE_REPORTS, w->config->limits, err);
    if (code != FZ_OK)
        return code;
    w->child_project = project_id;
    w->child_jobs = 0;
    if (w->config->metrics)
        w->config->metrics->child_starts++;
    return FZ_OK;
}

/* Hand the report to the child. */
static enum fz_code
send_report(struct worker *w, const struct store_job *job, int result_fd, struct fz_arena *arena,
            struct fz_error *err)
{
    struct store_report row;
    struct store_project project;
    struct fz_span raw;
    enum fz_code code = store_project_by_id(w->store, job->project_id, arena, &project, err);
    if (code == FZ_OK)
        code = store_report_get(w->store, job->project_id, job->subject, arena, &row, err);
    if (code == FZ_OK)
        code = store_report_body(w->store, job->project_id, job->subject, arena, &raw, err);
    FZ_CLEANUP(fz_closep) int report_fd = -1;
    if (code == FZ_OK)
        code = make_memfd("report", raw, &report_fd, err);
    if (code != FZ_OK)
        return code;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer body = fz_buffer_make(0);
    proto_put_text(&body, job->subject, PROTO_TEXT_MAX);
    proto_put_text(&body, project.name, PROTO_TEXT_MAX);
    proto_put_u64(&body, (uint64_t)row.received_ms);
    proto_put_text(&body, project.cut_prefixes, PROTO_PREFIXES_MAX);
    proto_put_u8(&body, w->config->learned != WORKER_LEARNED_OFF);
    proto_put_text(&body, *job->reader ? job->reader : NULL, PROTO_TEXT_MAX);
    int fds[PROTO_FDS_MAX] = {report_fd, result_fd};
    code = fz_buffer_done(&body, err);
    if (code == FZ_OK)
        code = child_process_send(&w->child, PROTO_SYMBOLICATE, fz_buffer_span(&body), fds, 2, err);
    return code;
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

static enum store_report_status
status_of(enum proto_status status)
{
    switch (status) {
    case PROTO_SYMBOLICATED:
        return STORE_REPORT_SYMBOLICATED;
    case PROTO_PARTIAL:
        return STORE_REPORT_PARTIAL;
    case PROTO_UNSYMBOLICATED:
        break;
    }
    return STORE_REPORT_UNSYMBOLICATED;
}

/* The child's info in storage's types. Both sides have their own, so that neither can change the
 * other's by accident. */
static enum fz_code
take_info(const struct worker *w, const struct proto_info *info, struct fz_arena *arena,
          struct store_report_done *done, struct fz_error *err)
{
    struct store_image_wait *waits = fz_arena_array(arena, info->n_waits, sizeof(*waits));
    struct store_image *images = fz_arena_array(arena, info->n_images, sizeof(*images));
    struct store_learned *learned = fz_arena_array(arena, info->n_learned, sizeof(*learned));
    if (!waits || !images || !learned)
        return fz_arena_fail(arena, err);
    for (size_t i = 0; i < info->n_waits; i++)
        waits[i] = (struct store_image_wait){info->waits[i].uuid, info->waits[i].name,
                                             info->waits[i].arch};
    for (size_t i = 0; i < info->n_images; i++)
        images[i] = (struct store_image){info->images[i].uuid, info->images[i].name};
    for (size_t i = 0; i < info->n_learned; i++)
        learned[i] = (struct store_learned){info->learned[i].uuid, info->learned[i].start,
                                            info->learned[i].reach, info->learned[i].name};
    done->status = status_of(info->status);
    done->format = info->format;
    done->timestamp_ms = info->timestamp_ms;
    done->values = info->values;
    done->waits = waits;
    done->n_waits = info->n_waits;
    done->images = images;
    done->n_images = info->n_images;
    if (w->config->learned != WORKER_LEARNED_OFF) {
        done->learned = learned;
        done->n_learned = info->n_learned;
        done->learned_shared = w->config->learned == WORKER_LEARNED_SHARED;
    }
    return FZ_OK;
}

static enum fz_code
run(struct worker *w, const struct store_job *job, struct fz_arena *arena, struct job_result *ret,
    struct fz_error *err)
{
    FZ_CLEANUP(fz_closep) int result_fd = -1;
    struct answers answers = {.worker = w, .job = job};
    struct store_report_done done = {.n_waits = 0};
    struct proto_info info;
    enum fz_code code = make_memfd("result", (struct fz_span){NULL, 0}, &result_fd, err);
    if (code == FZ_OK)
        code = ensure_child(w, job->project_id, err);
    if (code != FZ_OK)
        return code;
    child_process_begin(&w->child, w->config->limits->child_wall_s);
    code = send_report(w, job, result_fd, arena, err);
    if (code == FZ_OK) {
        w->child_jobs++;
        code = converse(&answers, &w->child, err);
    }
    if (code == FZ_OK)
        code = take_result(w, result_fd, arena, &info, &done.result, err);
    if (code != FZ_OK)
        return code;
    code = take_info(w, &info, arena, &done, err);
    if (code != FZ_OK)
        return code;
    ret->status = store_report_status_name(done.status);
    count(w, &info);
    return store_job_finish_report(w->store, job, &done, err);
}

enum fz_code
job_report(struct worker *worker, const struct store_job *job, struct job_result *ret,
           bool *ret_died, struct fz_error *err)
{
    /* The body, the result and its lists. */
    FZ_CLEANUP(fz_arena_deinit)
    struct fz_arena arena = fz_arena_make(worker->config->limits->report_inflated_bytes +
                                          2 * worker->config->limits->report_memory);
    *ret = (struct job_result){.status = ""};
    worker->child.died = false;
    enum fz_code code = run(worker, job, &arena, ret, err);
    *ret_died = code != FZ_OK && worker->child.died;
    return code;
}
