#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/file.h"
#include "base/text.h"
#include "server/worker/job.h"
#include "server/worker/verdict.h"

/* A file that the child was handed, by its number. */
struct handed_file {
    int fd;
    bool used; /* a slice claims it */
};

struct upload {
    struct worker *worker;
    struct verdict *verdicts;   /* one a symbol that is registered */
    struct child_process child; /* a fresh one for each upload */
    struct fz_arena *arena;
    struct handed_file *files;
    size_t n_files, max_files;
    struct proto_slice *slices;
    size_t n_slices;
    struct sym_problems problems; /* of the upload as a whole */
};

/* Renew the leases, and see that the child does not fill the disk: what it writes is bounded by
 * what an archive may unpack to, and as much again for the indexes. */
static enum fz_code
tick(void *user, struct fz_error *err)
{
    struct upload *u = user;
    uint64_t sum = 0, max = u->worker->config->limits->archive_bytes;
    for (size_t i = 0; i < u->n_files; i++) {
        struct stat st;
        if (fstat(u->files[i].fd, &st) == 0)
            sum += (uint64_t)st.st_blocks * 512; /* holes cost nothing */
    }
    if (sum / 2 > max)
        return fz_fail(err, FZ_E_LIMIT, "reading it wrote more than twice %llu bytes",
                       (unsigned long long)max);
    return job_beat(u->worker, err);
}

/* FILE: a new file for the child to write to. */
static enum fz_code
answer_file(struct upload *u, struct fz_error *err)
{
    uint8_t refusal = FZ_OK;
    int fd = -1;
    if (u->n_files == u->max_files) {
        refusal = FZ_E_LIMIT;
    } else {
        enum fz_code code = blob_temp(u->worker->blobs, &fd, err);
        if (code != FZ_OK)
            return code;
        u->files[u->n_files] = (struct handed_file){.fd = fd};
    }
    struct fz_buffer body;
    fz_buffer_init(&body, 0);
    proto_put_u8(&body, refusal);
    proto_put_u32(&body, (uint32_t)u->n_files);
    if (fd >= 0)
        u->n_files++;
    enum fz_code code = fz_buffer_done(&body, err);
    if (code == FZ_OK)
        code = child_process_send(&u->child, PROTO_FILE_IS, fz_buffer_span(&body), &fd,
                                  fd >= 0 ? 1 : 0, err);
    fz_buffer_deinit(&body);
    return code;
}

static bool
claim_file(struct upload *u, uint32_t number)
{
    if (number >= u->n_files || u->files[number].used)
        return false;
    u->files[number].used = true;
    return true;
}

/* SLICE: remembered until the child is gone; only then nobody else can write to its files. */
static enum fz_code
take_slice(struct upload *u, struct fz_error *err)
{
    if (u->n_slices == u->worker->config->limits->slices)
        return job_child_violation(&u->child, err);
    struct proto_slice *slice = &u->slices[u->n_slices];
    enum fz_code code = proto_slice_decode(u->child.inbox.body, u->arena, slice, err);
    if (code != FZ_OK || !claim_file(u, slice->file) ||
        (slice->has_index && !claim_file(u, slice->index_file)))
        return job_child_violation(&u->child, err);
    u->n_slices++;
    return FZ_OK;
}

static enum fz_code
converse(struct upload *u, struct fz_error *err)
{
    for (;;) {
        enum fz_code code = child_process_next(&u->child, err);
        if (code != FZ_OK)
            return code;
        if (u->child.inbox.kind == PROTO_FAILED)
            return job_child_failure(&u->child, err);
        if (u->child.inbox.kind == PROTO_DONE) {
            code = proto_problems_decode(u->child.inbox.body, u->arena, &u->problems, err);
            return code == FZ_OK ? FZ_OK : job_child_violation(&u->child, err);
        }
        if (u->child.inbox.kind == PROTO_FILE)
            code = answer_file(u, err);
        else if (u->child.inbox.kind == PROTO_SLICE)
            code = take_slice(u, err);
        else
            code = job_child_violation(&u->child, err);
        if (code != FZ_OK)
            return code;
    }
}

static void
append_features(const struct sym_features *f, struct fz_buffer *out)
{
    fz_buffer_printf(out, "{\"symtab\":%s,\"function_starts\":%s,\"dwarf\":%s,\"lines\":%s,",
                     f->symtab ? "true" : "false", f->function_starts ? "true" : "false",
                     f->dwarf ? "true" : "false", f->lines ? "true" : "false");
    fz_buffer_printf(out, "\"inlines\":%s,\"variables\":%s,\"unwind\":%s",
                     f->inlines ? "true" : "false", f->variables ? "true" : "false",
                     f->unwind ? "true" : "false");
    if (f->dwarf)
        fz_buffer_printf(out, ",\"dwarf_min\":%u,\"dwarf_max\":%u", f->dwarf_min, f->dwarf_max);
    fz_buffer_printf(out, ",\"symbols\":%llu,\"functions\":%llu,\"units\":%llu}",
                     (unsigned long long)f->n_symbols, (unsigned long long)f->n_functions,
                     (unsigned long long)f->n_units);
}

static void
append_problems(const struct sym_problems *problems, struct fz_buffer *out)
{
    fz_buffer_char(out, '[');
    for (size_t i = 0; i < problems->n; i++) {
        const struct sym_problem *p = &problems->list[i];
        fz_buffer_text(out, i ? ",{\"kind\":" : "{\"kind\":");
        fz_text_json_append(out, fz_span_cstr(p->kind));
        fz_buffer_text(out, ",\"text\":");
        fz_text_json_append(out, fz_span_cstr(p->text));
        fz_buffer_printf(out, ",\"count\":%llu}", (unsigned long long)p->count);
    }
    fz_buffer_char(out, ']');
}

static const char *
keep(struct upload *u, struct fz_buffer *text)
{
    const char *kept = text->failed ? NULL : fz_arena_text(u->arena, fz_buffer_span(text));
    fz_buffer_clear(text);
    return kept;
}

static bool
is_cut(const struct proto_slice *slice)
{
    for (size_t i = 0; i < slice->problems.n; i++) {
        if (strcmp(slice->problems.list[i].kind, "truncated") == 0)
            return true;
    }
    return false;
}

/* A symbol map or what tells of one: it has no index of its own. */
static bool
is_map(const struct proto_slice *slice)
{
    return slice->kind == PROTO_SLICE_BCSYMBOLMAP || slice->kind == PROTO_SLICE_UUIDMAP;
}

static enum store_symbol_kind
kind_of(enum proto_slice_kind kind)
{
    switch (kind) {
    case PROTO_SLICE_DSYM:
        return STORE_SYMBOL_DSYM;
    case PROTO_SLICE_BCSYMBOLMAP:
        return STORE_SYMBOL_BCSYMBOLMAP;
    case PROTO_SLICE_UUIDMAP:
        return STORE_SYMBOL_UUIDMAP;
    case PROTO_SLICE_BINARY:
    case PROTO_SLICE_KINDS:
        break;
    }
    return STORE_SYMBOL_BINARY;
}

/* Blobs first, rows after them: a row names only what is durable. */
static enum fz_code
store_slice(struct upload *u, const struct proto_slice *slice, struct store_symbol *ret,
            struct fz_error *err)
{
    char sha[2][FZ_SHA256_TEXT] = {"", ""};
    uint64_t size = 0, index_size = 0;
    struct blob_store *blobs = u->worker->blobs;
    enum fz_code code = job_beat(u->worker, err);
    if (code == FZ_OK)
        code = blob_put_fd(blobs, u->files[slice->file].fd, sha[0], &size, err);
    if (code == FZ_OK && slice->has_index)
        code = blob_put_fd(blobs, u->files[slice->index_file].fd, sha[1], &index_size, err);
    if (code != FZ_OK)
        return code;
    struct fz_buffer text;
    fz_buffer_init(&text, PROTO_PACKET_MAX * 4);
    append_features(&slice->features, &text);
    const char *features = keep(u, &text);
    append_problems(&slice->problems, &text);
    const char *problems = keep(u, &text);
    fz_buffer_deinit(&text);
    *ret = (struct store_symbol){
        .uuid = slice->uuid,
        .arch = slice->arch,
        .kind = kind_of(slice->kind),
        .name = slice->name,
        .size = size,
        .state = slice->has_index || is_map(slice) ? STORE_SYMBOL_READY : STORE_SYMBOL_FAILED,
        .has_map = slice->has_map,
        .map_uuid = slice->map_uuid,
        .map_applied = slice->map_applied,
        .file_sha256 = fz_arena_strdup(u->arena, sha[0]),
        .index_sha256 = slice->has_index ? fz_arena_strdup(u->arena, sha[1]) : NULL,
        .index_version = slice->has_index ? slice->index_version : 0,
        .features_json = features,
        .problems_json = problems,
        /* What storage prefers: a file that was cut must not win against a whole one. */
        .has_dwarf = slice->features.dwarf && !is_cut(slice),
    };
    if (!features || !problems || !ret->file_sha256 || (slice->has_index && !ret->index_sha256))
        return fz_arena_fail(u->arena, err);
    return FZ_OK;
}

/* The same slice may lie in an archive twice: as the binary in a bundle and beside it. */
static bool
is_stored(const struct store_symbol *symbols, size_t n, const struct store_symbol *symbol)
{
    for (size_t i = 0; i < n; i++) {
        if (fz_uuid_equal(&symbols[i].uuid, &symbol->uuid) &&
            strcmp(symbols[i].file_sha256, symbol->file_sha256) == 0)
            return true;
    }
    return false;
}

static void
append_verdict(const struct verdict *verdict, struct fz_buffer *out)
{
    fz_buffer_printf(out, ",\"verdict\":{\"code\":\"%s\"", verdict->code);
    if (verdict->retry)
        fz_buffer_text(out, ",\"retry\":true");
    if (verdict->todo) {
        fz_buffer_text(out, ",\"todo\":");
        fz_text_json_append(out, fz_span_cstr(verdict->todo));
    }
    fz_buffer_char(out, '}');
}

/* The answer to the upload, made once the counts are known. */
static const char *
make_result(void *user, const struct store_symbol *symbols, size_t n, uint64_t n_unblocked,
            struct fz_arena *arena)
{
    struct upload *u = user;
    struct fz_buffer out;
    fz_buffer_init(&out, 0);
    fz_buffer_text(&out, "{\"files\":[");
    for (size_t i = 0; i < n; i++) {
        const struct store_symbol *s = &symbols[i];
        char uuid[FZ_UUID_TEXT];
        fz_uuid_format(&s->uuid, uuid);
        fz_buffer_printf(&out, "%s{\"uuid\":\"%s\",\"arch\":\"%s\",\"kind\":\"%s\",\"name\":",
                         i ? "," : "", uuid, s->arch, store_symbol_kind_name(s->kind));
        fz_text_json_append(&out, fz_span_cstr(s->name));
        fz_buffer_printf(&out, ",\"size\":%llu,\"status\":\"%s\",\"features\":",
                         (unsigned long long)s->size, s->is_new ? "new" : "known");
        fz_buffer_text(&out, s->features_json);
        fz_buffer_text(&out, ",\"problems\":");
        fz_buffer_text(&out, s->problems_json);
        append_verdict(&u->verdicts[i], &out);
        fz_buffer_char(&out, '}');
    }
    fz_buffer_text(&out, "],");
    if (u->problems.n) {
        fz_buffer_text(&out, "\"problems\":");
        append_problems(&u->problems, &out);
        fz_buffer_char(&out, ',');
    }
    fz_buffer_printf(&out, "\"unblocked_reports\":%llu}", (unsigned long long)n_unblocked);
    const char *kept = out.failed ? NULL : fz_arena_text(arena, fz_buffer_span(&out));
    fz_buffer_deinit(&out);
    return kept;
}

static enum fz_code
finish(struct upload *u, const struct store_job *job, struct job_result *ret, struct fz_error *err)
{
    struct store_symbol *symbols = fz_arena_array(u->arena, u->n_slices, sizeof(*symbols));
    u->verdicts = fz_arena_array(u->arena, u->n_slices, sizeof(*u->verdicts));
    if (!symbols || !u->verdicts)
        return fz_arena_fail(u->arena, err);
    size_t n = 0;
    for (size_t i = 0; i < u->n_slices; i++) {
        enum fz_code code = store_slice(u, &u->slices[i], &symbols[n], err);
        if (code != FZ_OK)
            return code;
        u->verdicts[n] = verdict_of(&u->slices[i]);
        if (!is_stored(symbols, n, &symbols[n]))
            n++;
    }
    ret->n_files = n;
    return store_job_finish_upload(u->worker->store, job, symbols, n, make_result, u, u->arena,
                                   &ret->n_unblocked, err);
}

static enum fz_code
send_upload(struct upload *u, const struct store_job *job, struct fz_error *err)
{
    struct store_upload row;
    FZ_CLEANUP(fz_closep) int fd = -1;
    FZ_CLEANUP(fz_closep) int map_fd = -1;
    enum fz_code code =
        store_upload_get(u->worker->store, job->project_id, job->subject, u->arena, &row, err);
    if (code == FZ_OK) {
        code = blob_get_fd(u->worker->blobs, row.blob_sha256, &fd, err);
        if (code == FZ_E_NOT_FOUND)
            code = fz_fail(err, FZ_E_INTERNAL, "the upload is not in the blob store any more");
    }
    if (code == FZ_OK && row.map_sha256) {
        code = blob_get_fd(u->worker->blobs, row.map_sha256, &map_fd, err);
        if (code == FZ_E_NOT_FOUND)
            code = FZ_OK; /* built without it, as if it had not come */
    }
    if (code != FZ_OK)
        return code;
    struct fz_buffer body;
    fz_buffer_init(&body, 0);
    proto_put_text(&body, row.name ? row.name : "", PROTO_NAME_MAX);
    code = fz_buffer_done(&body, err);
    const int fds[] = {fd, map_fd};
    if (code == FZ_OK)
        code = child_process_send(&u->child, PROTO_READ_SYMBOLS, fz_buffer_span(&body), fds,
                                  map_fd >= 0 ? 2 : 1, err);
    fz_buffer_deinit(&body);
    return code;
}

static enum fz_code
run(struct upload *u, const struct store_job *job, struct job_result *ret, struct fz_error *err)
{
    const struct limits *limits = u->worker->config->limits;
    /* Two for each slice, and one in which the child unpacks members that give none. */
    u->max_files = 2 * limits->slices + 1;
    u->files = fz_arena_array(u->arena, u->max_files, sizeof(*u->files));
    u->slices = fz_arena_array(u->arena, limits->slices, sizeof(*u->slices));
    if (!u->files || !u->slices)
        return fz_arena_fail(u->arena, err);
    enum fz_code code = child_process_start(&u->child, PROTO_ROLE_SYMBOLS, limits, err);
    if (code != FZ_OK)
        return code;
    if (u->worker->config->metrics)
        u->worker->config->metrics->child_starts++;
    child_process_begin(&u->child, limits->child_wall_s * JOB_SYMBOLS_WALL_FACTOR);
    code = send_upload(u, job, err);
    if (code == FZ_OK)
        code = converse(u, err);
    child_process_stop(&u->child);
    return code == FZ_OK ? finish(u, job, ret, err) : code;
}

enum fz_code
job_upload(struct worker *worker, const struct store_job *job, struct job_result *ret,
           bool *ret_died, struct fz_error *err)
{
    struct fz_arena arena;
    fz_arena_init(&arena, worker->config->limits->report_memory);
    struct upload u = {.worker = worker, .arena = &arena, .child = {.sock = -1}};
    u.child.tick = tick;
    u.child.tick_user = &u;
    *ret = (struct job_result){.status = ""};
    enum fz_code code = run(&u, job, ret, err);
    *ret_died = code != FZ_OK && u.child.died;
    child_process_stop(&u.child);
    for (size_t i = 0; i < u.n_files; i++)
        fz_closep(&u.files[i].fd);
    fz_arena_deinit(&arena);
    return code;
}
