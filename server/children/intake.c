#include "server/children/intake.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/attr.h"
#include "base/file.h"
#include "base/log.h"
#include "base/time.h"
#include "server/children/level.h"
#include "server/children/process.h"

enum {
    POOL_MAX = 16,          /* as many as threads handle requests */
    CHILD_REQUESTS = 10000, /* a child is replaced after so many */
    WALL_S = 10,            /* a client waits for the answer */
    AGAIN_WITHIN_MS = 1000,
    QUOTED = 400
};

struct intake_child {
    struct child_process process;
    uint64_t used; /* when it was given back: a number that grows */
    bool is_busy;
};

struct children_intake {
    const struct limits *limits;
    struct metrics *metrics;
    struct child_process_backoff backoff;
    pthread_mutex_t lock;
    pthread_cond_t wake;                    /* a child was given back */
    struct intake_child children[POOL_MAX]; /* those that are not busy: guarded by lock */
    uint64_t n_used;
    bool has_level;
    struct proto_level level; /* of any child */
};

/* Requests are taken without a child, too: the next one may start. */
static void
probe(struct children_intake *pool)
{
    struct fz_error err;
    char quoted[QUOTED];
    pool->has_level = children_level_probe(pool->limits, &pool->level, &err) == FZ_OK;
    if (pool->has_level)
        children_level_log(&pool->level);
    else
        fz_log(FZ_LOG_WARN, "sandbox", "level=unknown error=%s",
               fz_log_quote(err.text, quoted, sizeof(quoted)));
}

bool
children_intake_level(const struct children_intake *pool, struct proto_level *ret)
{
    *ret = pool->level;
    return pool->has_level;
}

enum fz_code
children_intake_create(const struct limits *limits, struct metrics *metrics,
                       struct children_intake **ret, struct fz_error *err)
{
    struct children_intake *pool = calloc(1, sizeof(*pool));
    if (!pool)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    pool->limits = limits;
    pool->metrics = metrics;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
    for (size_t i = 0; i < POOL_MAX; i++)
        pool->children[i].process.sock = -1;
    probe(pool);
    *ret = pool;
    return FZ_OK;
}

void
children_intake_destroy(struct children_intake *pool)
{
    if (!pool)
        return;
    for (size_t i = 0; i < POOL_MAX; i++)
        child_process_stop(&pool->children[i].process);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

/* ---- which child --------------------------------------------------------------------------- */

/* The better of two children that are free: one of the project, then one that does not run, then
 * the one that was used least recently. Of the project's, the one used last: its pages are warm, and
 * the others become free for other projects. */
static bool
is_better(const struct intake_child *a, const struct intake_child *b, int64_t project_id)
{
    /* A child that runs has the project's pages in memory; another one is to be started first. */
    bool runs_a = child_process_runs(&a->process), runs_b = child_process_runs(&b->process);
    bool is_a = runs_a && a->process.project_id == project_id,
         is_b = runs_b && b->process.project_id == project_id;
    if (is_a != is_b)
        return is_a;
    if (is_a)
        return a->used > b->used;
    return runs_a != runs_b ? !runs_a : a->used < b->used;
}

static struct intake_child *
claim_child(struct children_intake *pool, int64_t project_id)
{
    struct intake_child *best = NULL;
    pthread_mutex_lock(&pool->lock);
    while (!best) {
        for (size_t i = 0; i < POOL_MAX; i++) {
            struct intake_child *child = &pool->children[i];
            if (!child->is_busy && (!best || is_better(child, best, project_id)))
                best = child;
        }
        if (!best)
            pthread_cond_wait(&pool->wake, &pool->lock);
    }
    best->is_busy = true;
    pthread_mutex_unlock(&pool->lock);
    return best;
}

static void
give_back(struct children_intake *pool, struct intake_child *child)
{
    pthread_mutex_lock(&pool->lock);
    child->is_busy = false;
    /* A counter, not the time: two in one millisecond keep their order. */
    child->used = ++pool->n_used;
    pthread_cond_signal(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
}

/* ---- one request --------------------------------------------------------------------------- */

static enum fz_code
send_body(struct child_process *process, const struct proto_intake_request *request,
          struct fz_span body, struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer message = fz_buffer_make(PROTO_PACKET_MAX);
    FZ_CLEANUP(fz_closep) int fd = -1;
    bool fits;
    proto_intake_request_encode(request, body, &fits, &message);
    enum fz_code code = fits ? FZ_OK : children_file_make(body, &fd, err);
    return code == FZ_OK
               ? child_process_send(process, PROTO_INTAKE, &message, &fd, fits ? 0 : 1, err)
               : code;
}

/* FILE: the child has more to say than a packet holds. Once. */
static enum fz_code
send_file(void *user, struct child_process *process, struct fz_error *err)
{
    int *file_fd = user;
    if (*file_fd >= 0)
        return child_process_violation(process, err);
    enum fz_code code = children_file_make((struct fz_span){NULL, 0}, file_fd, err);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer body = fz_buffer_make(0);
    proto_put_u8(&body, FZ_OK);
    proto_put_u32(&body, 0);
    return code == FZ_OK ? child_process_send(process, PROTO_FILE_IS, &body, file_fd, 1, err)
                         : code;
}

static enum fz_code
read_answer(const struct children_intake *pool, struct child_process *process, int file_fd,
            uint64_t body_len, struct fz_arena *arena, struct children_result *ret,
            struct fz_error *err)
{
    struct fz_reader in = fz_reader_make(process->inbox.body, "answer");
    uint64_t file_len = fz_read_u64(&in), made_len = fz_read_u64(&in);
    struct fz_span file = {NULL, 0}, info = {NULL, 0};
    enum fz_code code = FZ_OK;
    /* The child is not trusted: it may claim any length, and a file that it never got. */
    if (in.failed || made_len > file_len || file_len > pool->limits->report_memory ||
        (file_len > 0) != (file_fd >= 0))
        return child_process_violation(process, err);
    if (file_len > 0)
        code = children_file_read(file_fd, 0, file_len, arena, &file, err);
    else
        info = fz_read_bytes(&in, fz_read_left(&in));
    /* First the bodies that the child made, then what it found. */
    if (code == FZ_OK && file_len > made_len &&
        !fz_span_sub(file, made_len, file_len - made_len, &info))
        return child_process_violation(process, err);
    if (code == FZ_OK && made_len > 0 && !fz_span_sub(file, 0, made_len, &ret->made))
        return child_process_violation(process, err);
    if (code == FZ_OK)
        code = proto_intake_decode(info, body_len, made_len, arena, &ret->found, err);
    /* A body can be malformed, an answer cannot: then the child is not what it was. */
    return code == FZ_E_MALFORMED ? child_process_violation(process, err) : code;
}

/* One attempt in a child that runs. */
static enum fz_code
ask(const struct children_intake *pool, struct child_process *process,
    const struct proto_intake_request *request, struct fz_span body, struct fz_arena *arena,
    struct children_result *ret, struct fz_error *err)
{
    static const struct child_process_answer answers[] = {{PROTO_FILE, send_file}, {0}};
    FZ_CLEANUP(fz_closep) int file_fd = -1;
    /* A limit for jobs, which no client waits for; here a client does. */
    unsigned wall_s = pool->limits->child_wall_s;
    child_process_begin(process, wall_s < WALL_S ? wall_s : WALL_S);
    enum fz_code code = send_body(process, request, body, err);
    if (code != FZ_OK)
        child_process_stop(process); /* it may have got a part of the request */
    else
        code = child_process_converse(process, answers, &file_fd, err);
    return code == FZ_OK ? read_answer(pool, process, file_fd, body.len, arena, ret, err) : code;
}

static void
note_death(const struct children_intake *pool, int64_t project_id, size_t len,
           const struct fz_error *err)
{
    char quoted[QUOTED];
    if (pool->metrics)
        pool->metrics->child_deaths++;
    fz_log(FZ_LOG_WARN, "intake child died", "project=%lld bytes=%zu error=%s",
           (long long)project_id, len, fz_log_quote(err->text, quoted, sizeof(quoted)));
}

/* A child that died at once may have been killed from outside, or before it got the body, so a fresh
 * one is tried. A body that kills that one too, or that took its time, is left to the worker's
 * child. */
enum fz_code
children_intake_read(struct children_intake *pool, int64_t project_id,
                     const struct proto_intake_request *request, struct fz_span body,
                     struct fz_arena *arena, struct children_result *ret, struct fz_error *err)
{
    struct intake_child *child = claim_child(pool, project_id);
    const struct child_process_plan plan = {.role = PROTO_ROLE_INTAKE,
                                            .project_id = project_id,
                                            .requests_max = CHILD_REQUESTS,
                                            .limits = pool->limits,
                                            .metrics = pool->metrics,
                                            .backoff = &pool->backoff};
    enum fz_code code = FZ_OK;
    *ret = (struct children_result){.is_unchecked = false};
    for (int i = 0; i < 2; i++) {
        /* From the start of the attempt: a body that takes its time is not given twice as much. */
        int64_t began_ms = fz_time_monotonic_ms();
        code = child_process_ensure(&child->process, &plan, err);
        if (code != FZ_OK)
            break;
        code = ask(pool, &child->process, request, body, arena, ret, err);
        /* A rejection is an answer, too; only a death is tried again. */
        if (code == FZ_OK || !(child->process.died || child->process.was_killed))
            break;
        note_death(pool, project_id, body.len, err);
        if (i == 1 || fz_time_monotonic_ms() - began_ms > AGAIN_WITHIN_MS) {
            *ret = (struct children_result){.is_unchecked = true};
            code = FZ_OK;
            break;
        }
    }
    give_back(pool, child);
    return code;
}

struct fz_span
children_item_body(const struct children_result *result, const struct proto_item *item,
                   struct fz_span body)
{
    struct fz_span bytes = {NULL, 0};
    /* Its range was checked when it was decoded. */
    (void)fz_span_sub(item->is_made ? result->made : body, item->offset, item->len, &bytes);
    return bytes;
}
