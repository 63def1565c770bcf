#include "server/cli/lookup_stream.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "server/cli/lookup_print.h"
#include "symbolicator/symbolicator.h"

enum {
    INPUT_ROOM = 256 * 1024,
    BATCH_BYTES = 4096,               /* some hundred lines; their answers stay in the L2 cache */
    CROWD_BYTES = 8 * BATCH_BYTES,    /* where that much is waiting, more threads begin */
    WRITE_BYTES = 1024 * 1024,        /* an answer that grows so large is written before its end */
    STACK_BYTES = 4 * 1024 * 1024,    /* of a thread */
    STACK_ROOM = STACK_BYTES / 4 * 3, /* of it, for the demangler */
    LINE_SHOWN = 80,
    ANSWERS_MAX = 16, /* that wait for one that takes longer */
};

struct stream {
    const struct sym_index *index;
    struct lookup_pieces *pieces;
    struct lookup_stream_options options;
    int in_fd, out_fd;

    pthread_mutex_t input; /* guards what follows */
    char *text;            /* INPUT_ROOM bytes, of which begin to end are waiting */
    size_t begin, end;
    bool is_end, in_long_line;
    uint64_t n_taken; /* batches */

    pthread_mutex_t output; /* guards what follows */
    pthread_cond_t progress;
    uint64_t n_written; /* batches */
    bool is_writing;    /* a thread does, and goes on with what becomes ready */
    struct {
        struct fz_buffer text;
        bool is_ready;
    } answers[ANSWERS_MAX];               /* of batch n_written and the following ones, by number */
    struct fz_buffer spares[ANSWERS_MAX]; /* written and empty; the last one is the warmest */
    size_t n_spares;
    size_t n_bad;
    struct fz_error err;
};

/* What one thread works on. */
struct batch {
    uint64_t number;
    size_t len, skip; /* the first bytes are the rest of a line that was reported already */
    char text[BATCH_BYTES];
};

/* ---- input ------------------------------------------------------------------------------- */

static bool
is_blank(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

enum lookup_line
lookup_line_take(struct fz_span *text, uint64_t *ret_addr, struct fz_span *ret_line)
{
    if (text->len == 0)
        return LOOKUP_LINE_END;
    const uint8_t *newline = memchr(text->data, '\n', text->len);
    struct fz_span line =
        fz_span_make(text->data, newline ? (size_t)(newline - text->data) : text->len);
    size_t used = line.len + (newline ? 1 : 0);
    *text = fz_span_make(text->data + used, text->len - used);
    while (line.len && is_blank(line.data[line.len - 1]))
        line.len--;
    while (line.len && is_blank(line.data[0]))
        line = fz_span_make(line.data + 1, line.len - 1);
    *ret_line = line;
    return fz_text_hex_u64(line, ret_addr) ? LOOKUP_LINE_ADDRESS : LOOKUP_LINE_BAD;
}

/* The length of the whole lines that begin the bytes; 0 if none ends there. */
static size_t
whole_lines(const char *text, size_t len)
{
    while (len > 0 && text[len - 1] != '\n')
        len--;
    return len;
}

/* Read until there is a whole line, the end, or as much as a batch holds. */
static enum fz_code
fill(struct stream *stream, struct fz_error *err)
{
    /* The unfinished line goes to the front, so that there is always room for a batch. */
    memmove(stream->text, stream->text + stream->begin, stream->end - stream->begin);
    stream->end -= stream->begin;
    stream->begin = 0;
    while (stream->end < BATCH_BYTES) {
        ssize_t n = read(stream->in_fd, stream->text + stream->end, INPUT_ROOM - stream->end);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fz_fail_errno(err, "cannot read the addresses");
        stream->end += (size_t)n;
        /* A terminal may go on after an end of input; one is enough here. */
        stream->is_end = n == 0;
        if (n == 0 || memchr(stream->text + stream->end - n, '\n', (size_t)n))
            break;
    }
    return FZ_OK;
}

/* The next lines; len 0 at the end. Of a line that is longer than a batch the first part is one. */
static enum fz_code
take_batch(struct stream *stream, struct batch *batch, size_t *ret_waiting, struct fz_error *err)
{
    size_t waiting = stream->end - stream->begin;
    size_t len = waiting < BATCH_BYTES ? waiting : BATCH_BYTES;
    size_t whole = whole_lines(stream->text + stream->begin, len);
    if (whole == 0 && waiting < BATCH_BYTES && !stream->is_end) {
        enum fz_code code = fill(stream, err);
        if (code != FZ_OK)
            return code;
        waiting = stream->end;
        len = waiting < BATCH_BYTES ? waiting : BATCH_BYTES;
        whole = whole_lines(stream->text, len);
    }
    /* Lines end at the end of a batch, so that each thread has whole ones. */
    batch->len = whole ? whole : len;
    batch->number = stream->n_taken++;
    memcpy(batch->text, stream->text + stream->begin, batch->len);
    batch->skip = 0;
    if (stream->in_long_line) {
        const char *newline = memchr(batch->text, '\n', batch->len);
        batch->skip = newline ? (size_t)(newline - batch->text) + 1 : batch->len;
    }
    stream->in_long_line = whole == 0 && len == BATCH_BYTES;
    stream->begin += batch->len;
    *ret_waiting = waiting - batch->len;
    return FZ_OK;
}

/* ---- output ------------------------------------------------------------------------------ */

static bool
has_failed(struct stream *stream)
{
    pthread_mutex_lock(&stream->output);
    bool ret = stream->err.code != FZ_OK;
    pthread_mutex_unlock(&stream->output);
    return ret;
}

static void
set_failed(struct stream *stream, const struct fz_error *err)
{
    pthread_mutex_lock(&stream->output);
    /* The first failure is the cause; the others follow from it. */
    if (stream->err.code == FZ_OK)
        stream->err = *err;
    pthread_mutex_unlock(&stream->output);
}

static void
write_text(struct stream *stream, struct fz_buffer *text)
{
    struct fz_error err;
    enum fz_code code = fz_buffer_done(text, &err);
    if (code == FZ_OK)
        code = fz_file_write_fd(stream->out_fd, fz_buffer_span(text), &err);
    fz_buffer_clear(text);
    if (code != FZ_OK)
        set_failed(stream, &err);
}

/* Hand the batch's answer over; it is written by whoever writes when its turn has come. Its
 * buffer is empty then. */
static void
deliver(struct stream *stream, const struct batch *batch, struct fz_buffer *text)
{
    pthread_mutex_lock(&stream->output);
    /* Without a limit the other threads would fill memory with answers that cannot be written while
     * one batch takes long. */
    while (batch->number - stream->n_written >= ANSWERS_MAX)
        pthread_cond_wait(&stream->progress, &stream->output);
    stream->answers[batch->number % ANSWERS_MAX].text = *text;
    stream->answers[batch->number % ANSWERS_MAX].is_ready = true;
    while (!stream->is_writing && stream->answers[stream->n_written % ANSWERS_MAX].is_ready) {
        size_t at = stream->n_written % ANSWERS_MAX;
        stream->is_writing = true;
        pthread_mutex_unlock(&stream->output);
        /* Without the lock: writing may wait for the reader, and others deliver meanwhile. */
        write_text(stream, &stream->answers[at].text);
        pthread_mutex_lock(&stream->output);
        stream->is_writing = false;
        stream->spares[stream->n_spares++] = stream->answers[at].text;
        stream->answers[at].is_ready = false;
        stream->n_written++;
        /* All of them: which batch is next only its thread knows. */
        pthread_cond_broadcast(&stream->progress);
    }
    if (stream->n_spares)
        *text = stream->spares[--stream->n_spares];
    else
        fz_buffer_init(text, 0);
    pthread_mutex_unlock(&stream->output);
}

/* Write the first part of a batch's answer, which has grown large, as soon as it is its turn. */
static void
write_part(struct stream *stream, const struct batch *batch, struct fz_buffer *text)
{
    pthread_mutex_lock(&stream->output);
    /* Waits for its turn: parts of two answers must not mix. */
    while (stream->n_written != batch->number)
        pthread_cond_wait(&stream->progress, &stream->output);
    pthread_mutex_unlock(
        &stream->output); /* no other thread writes until this batch is delivered */
    write_text(stream, text);
}

/* ---- threads ----------------------------------------------------------------------------- */

static void
report_bad_line(struct stream *stream, struct fz_span line)
{
    fprintf(stderr, "framezero lookup: not an address: %.*s\n",
            (int)(line.len < LINE_SHOWN ? line.len : LINE_SHOWN), (const char *)line.data);
    pthread_mutex_lock(&stream->output);
    stream->n_bad++;
    pthread_mutex_unlock(&stream->output);
}

static void
answer(struct stream *stream, const struct batch *batch, struct lookup_printer *printer,
       struct fz_buffer *out)
{
    struct fz_span text = fz_span_make(batch->text + batch->skip, batch->len - batch->skip), line;
    uint64_t addrs[SYM_LOOKUPS_MAX];
    size_t n = 0;
    enum lookup_line kind;
    do {
        kind = lookup_line_take(&text, &addrs[n], &line);
        if (kind == LOOKUP_LINE_BAD)
            report_bad_line(stream, line);
        n += kind == LOOKUP_LINE_ADDRESS;
        if (n == SYM_LOOKUPS_MAX || kind == LOOKUP_LINE_END) {
            lookup_print(printer, addrs, n, out);
            n = 0;
        }
        /* One address may have dozens of inlined calls, so an answer has no other limit. */
        if (out->len >= WRITE_BYTES)
            write_part(stream, batch, out);
    } while (kind != LOOKUP_LINE_END);
    deliver(stream, batch, out);
}

struct helpers {
    pthread_t *threads;
    unsigned n;
};

static void *work(void *user);

/* As many threads more as are allowed; fewer where there can be no more. */
static void
start_helpers(struct stream *stream, struct helpers *helpers)
{
    pthread_attr_t attributes;
    unsigned n = stream->options.n_threads - 1;
    helpers->threads = calloc(n, sizeof(*helpers->threads));
    if (!helpers->threads || pthread_attr_init(&attributes) != 0)
        return;
    /* The demangler recurses, and systems other than glibc's give threads little stack. */
    if (pthread_attr_setstacksize(&attributes, STACK_BYTES) == 0)
        while (helpers->n < n &&
               pthread_create(&helpers->threads[helpers->n], &attributes, work, stream) == 0)
            helpers->n++;
    pthread_attr_destroy(&attributes);
}

/* With the threads to start where there is enough to do; NULL for one of those threads. */
static void
work_until_end(struct stream *stream, struct helpers *helpers)
{
    struct batch batch;
    struct fz_error err;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    size_t room = helpers ? sym_demangle_stack_room() : STACK_ROOM;
    struct lookup_printer *printer =
        lookup_printer_create(stream->index, stream->pieces, stream->options.is_json, room);
    enum fz_code code = printer ? FZ_OK : fz_fail(&err, FZ_E_NO_MEMORY, "out of memory");
    while (code == FZ_OK && !has_failed(stream)) {
        size_t waiting;
        pthread_mutex_lock(&stream->input);
        code = take_batch(stream, &batch, &waiting, &err);
        /* Taking lines is quick; looking them up goes on without the lock. */
        pthread_mutex_unlock(&stream->input);
        if (code != FZ_OK || batch.len == 0)
            break;
        /* Threads cost more than they save on a short list, or with a program that asks for one
         * address at a time. */
        if (helpers && !helpers->threads && stream->options.n_threads > 1 && waiting >= CROWD_BYTES)
            start_helpers(stream, helpers);
        answer(stream, &batch, printer, &out);
    }
    if (code != FZ_OK)
        set_failed(stream, &err);
    lookup_printer_destroy(printer);
}

static void *
work(void *user)
{
    work_until_end(user, NULL);
    return NULL;
}

enum fz_code
lookup_stream(const struct sym_index *index, const struct lookup_stream_options *options, int in_fd,
              int out_fd, size_t *ret_n_bad, struct fz_error *err)
{
    struct stream stream = {
        .index = index,
        .options = *options,
        .in_fd = in_fd,
        .out_fd = out_fd,
        .progress = PTHREAD_COND_INITIALIZER,
        .input = PTHREAD_MUTEX_INITIALIZER,
        .output = PTHREAD_MUTEX_INITIALIZER,
    };
    struct helpers helpers = {0};
    stream.text = malloc(INPUT_ROOM);
    stream.pieces = lookup_pieces_create();
    if (!stream.text || !stream.pieces) {
        free(stream.text);
        lookup_pieces_destroy(stream.pieces);
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    }
    work_until_end(&stream, &helpers);
    for (unsigned i = 0; i < helpers.n; i++)
        /* They have written everything when they end, and no buffer is in use any more. */
        pthread_join(helpers.threads[i], NULL);
    free(helpers.threads);
    while (stream.n_spares)
        fz_buffer_deinit(&stream.spares[--stream.n_spares]);
    free(stream.text);
    lookup_pieces_destroy(stream.pieces);
    if (stream.err.code != FZ_OK) {
        if (err)
            *err = stream.err;
        return stream.err.code;
    }
    *ret_n_bad = stream.n_bad;
    return FZ_OK;
}
