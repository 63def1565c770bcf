/* Threads of Apple's crash text: headings, frames, registers. */
#include "server/ingest/text/text.h"
#include "server/ingest/text/thrown.h"

enum { REGISTERS_MAX = 256 };

/* The last thread with this number, if it may still be the one that is written about. */
static struct ingest_text_thread *
find_thread(struct ingest_text *c, int64_t index)
{
    for (size_t i = c->n_threads; i-- > 0;) {
        if (c->threads[i].thread.index == index)
            return &c->threads[i];
    }
    return NULL;
}

struct ingest_text_thread *
ingest_text_add_thread(struct ingest_text *c, int64_t index, bool crashed)
{
    bool wanted = crashed || index == c->b->report->crash.thread;
    if (c->n_threads == c->b->limits->threads) {
        c->n_threads_cut++;
        if (!wanted || c->n_threads == 0)
            return NULL;
        c->n_threads--;
    }
    c->threads =
        ingest_text_grow(c->b, c->threads, c->n_threads, &c->room_threads, sizeof(*c->threads));
    if (!c->threads)
        return NULL;
    struct ingest_text_thread *thread = &c->threads[c->n_threads++];
    *thread = (struct ingest_text_thread){.thread.index = index};
    return thread;
}

/* "name  Dispatch queue: q", in this order, either may be missing. */
static void
take_names(struct ingest_text *c, struct fz_span text)
{
    static const char key[] = "Dispatch queue:";
    (void)ingest_text_take_samples(&text, &c->thread->thread.samples);
    size_t at = fz_text_find(text, key);
    struct fz_span name = fz_text_trim(fz_span_until(text, at));
    if (at != SIZE_MAX) {
        const char *queue =
            ingest_text_copy(c->b, fz_text_trim(fz_span_from(text, at + strlen(key))));
        if (queue)
            c->thread->thread.queue = queue;
    }
    const char *copy = ingest_text_copy(c->b, name);
    if (copy)
        c->thread->thread.name = copy;
}

/* What stands behind "Thread 3": the part before the colon, and what follows it. */
static bool
split_heading(struct fz_span rest, struct fz_span *ret_word, struct fz_span *ret_text)
{
    size_t colon = fz_text_find(rest, ":");
    if (colon == SIZE_MAX)
        return false;
    *ret_word = fz_text_trim(fz_span_until(rest, colon));
    struct fz_span text = fz_span_from(rest, colon + 1);
    if (fz_span_begins(text, ":"))
        text = fz_span_from(text, 1);
    *ret_text = fz_text_trim(text);
    return true;
}

static bool
is_one_of(struct fz_span word, const char *const *words)
{
    for (; *words; words++) {
        if (fz_span_is(word, *words))
            return true;
    }
    return false;
}

bool
ingest_text_take_thread(struct ingest_text *c, struct fz_span line, bool *ret_registers)
{
    static const char *const crashed_words[] = {"Crashed",   "crashed",    "Highlighted",
                                                "Triggered", "Attributed", NULL};
    struct fz_span word, text, rest = line;
    uint64_t number;
    *ret_registers = false;
    if (fz_span_begins(rest, "Unknown thread crashed with") ||
        fz_span_begins(rest, "Thread Unknown crashed with")) {
        *ret_registers = true;
        return true; /* no thread to give them to: the lines behind are those of the last one */
    }
    if (!fz_span_begins(rest, "Thread "))
        return false;
    rest = fz_text_trim(fz_span_from(rest, 7));
    if (!ingest_text_take_decimal(&rest, &number) || number > INT32_MAX ||
        !split_heading(rest, &word, &text))
        return false;
    bool crashed = is_one_of(word, crashed_words), names = fz_span_is(word, "name");
    *ret_registers = fz_span_begins(word, "crashed with") || fz_span_begins(word, "Crashed with") ||
                     fz_span_begins(word, "thread state");
    if (!crashed && !names && !*ret_registers && word.len)
        return false;
    struct ingest_text_thread *thread = find_thread(c, (int64_t)number);
    /* A thread has a line for its name, then one for its frames, then one for its registers. */
    bool is_new = !thread || (!*ret_registers && (thread->stack.n || names));
    c->thread = is_new ? ingest_text_add_thread(c, (int64_t)number, crashed) : thread;
    if (!c->thread)
        return true;
    c->thread->thread.crashed = c->thread->thread.crashed || crashed;
    if (!*ret_registers)
        take_names(c, text);
    return true;
}

static void
add_register(struct ingest_text *c, struct fz_span name, uint64_t value)
{
    struct report_thread *thread = &c->thread->thread;
    if (thread->n_registers == REGISTERS_MAX)
        return;
    thread->registers = ingest_text_grow(c->b, thread->registers, thread->n_registers,
                                         &c->thread->room_registers, sizeof(*thread->registers));
    const char *copy = ingest_text_copy(c->b, name);
    if (thread->registers && copy)
        thread->registers[thread->n_registers++] = (struct report_register){copy, value};
}

bool
ingest_text_take_registers(struct ingest_text *c, struct fz_span line)
{
    size_t n = 0;
    struct fz_span rest = line;
    while (rest.len) {
        struct fz_span before = rest, name = ingest_text_word(&rest);
        uint64_t value;
        bool is_register = name.len > 1 && name.len < 16 && fz_span_ends(name, ":") &&
                           ingest_text_take_hex(&rest, &value);
        if (!is_register) {
            /* "esr: 0x92000006 (Data Abort) byte read Translation fault" */
            if (n && c->thread)
                ingest_text_add_extra(c, fz_span_cstr("Thread State"), line);
            else if (n == 0)
                return false;
            return before.len < line.len;
        }
        if (c->thread)
            add_register(c, fz_span_until(name, name.len - 1), value);
        n++;
        rest = fz_text_trim(rest);
    }
    return n > 0;
}

/* The images of the first two frames, as the lines spelt them. */
static void
first_images(const struct ingest_text *c, const struct ingest_text_stack *stack,
             struct fz_span ret[2])
{
    for (size_t i = 0; i < 2; i++) {
        int hint = i < stack->n ? stack->frames[i].image : -1;
        ret[i] = hint >= 0 ? c->hints.items[hint].name : (struct fz_span){NULL, 0};
    }
}

/* Where an exception was caught as it was thrown, its thread has no exact pc at all. */
static void
settle_throw(struct ingest_text *c, struct ingest_text_thread *thread)
{
    struct fz_span images[2];
    first_images(c, &thread->stack, images);
    if (thread->thread.crashed && thread->stack.n &&
        ingest_text_is_throw_stack(thread->stack.frames, thread->stack.n, images))
        thread->stack.frames[0].adjust = REPORT_ADJUST_RETURN;
}

void
ingest_text_settle_threads(struct ingest_text *c)
{
    struct report *r = c->b->report;
    struct ingest_text_stack *exception = c->exception.n ? &c->exception : &c->backtrace;
    const struct ingest_text_thread *marked = NULL;
    if (c->b->failed)
        return;
    r->threads = ingest_alloc(c->b, c->n_threads, sizeof(*r->threads));
    for (size_t i = 0; i < c->n_threads && r->threads; i++) {
        struct ingest_text_thread *thread = &c->threads[i];
        if (thread->thread.crashed && !marked)
            marked = thread;
    }
    /* The heading stands with the frames and registers, so it is believed before the head. */
    if (marked && r->crash.thread >= 0 && r->crash.thread != marked->thread.index)
        report_note(r, c->b->arena,
                    "the head says that thread %lld crashed, its heading thread %lld",
                    (long long)r->crash.thread, (long long)marked->thread.index);
    if (marked)
        r->crash.thread = marked->thread.index;
    for (size_t i = 0; i < c->n_threads && r->threads; i++) {
        struct ingest_text_thread *thread = &c->threads[i];
        thread->thread.crashed = thread->thread.index == r->crash.thread;
        settle_throw(c, thread);
        thread->thread.frames = thread->stack.frames;
        thread->thread.n_frames = thread->stack.n;
        thread->thread.n_frames_cut = thread->stack.n_cut;
        r->threads[r->n_threads++] = thread->thread;
    }
    r->exception_frames = exception->frames;
    r->n_exception_frames = exception->n;
    r->n_exception_frames_cut = exception->n_cut;
    if (c->n_threads_cut)
        report_note(r, c->b->arena, "threads: %zu, of which %zu are kept",
                    c->n_threads + c->n_threads_cut, c->n_threads);
    if (r->n_threads == 0)
        report_note(r, c->b->arena, "no thread in the text");
    ingest_mark_crashed(r);
}
