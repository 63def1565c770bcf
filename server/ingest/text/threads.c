/* Threads of Apple's crash text: headings, frames, registers. */
#include "server/ingest/text/text.h"
#include "server/ingest/text/thrown.h"

/* The last thread with this number: a heading of registers follows the frames of its thread. */
static struct report_thread *
find_thread(struct ingest_text *c, int64_t index)
{
    struct report *r = c->b->report;
    for (size_t i = r->n_threads; i-- > 0;) {
        if (r->threads[i].index == index)
            return &r->threads[i];
    }
    return NULL;
}

struct report_thread *
ingest_text_add_thread(struct ingest_text *c, int64_t index, bool crashed)
{
    struct report *r = c->b->report;
    bool wanted = crashed || index == r->crash.thread;
    c->stack = (struct ingest_stack){.n = 0};
    c->thread = ingest_add_thread(c->b);
    /* Beyond the limit the crashed thread replaces the last one. */
    if (!c->thread && wanted && r->n_threads) {
        c->thread = &r->threads[r->n_threads - 1];
        /* A crash without its crashed thread is worth nothing. */
        *c->thread = (struct report_thread){.n_frames = 0};
    }
    if (c->thread)
        c->thread->index = index;
    return c->thread;
}

int64_t
ingest_text_thread_count(const struct ingest_text *c)
{
    return (int64_t)(c->b->report->n_threads + c->b->n_threads_cut);
}

void
ingest_text_add_frame(struct ingest_text *c, const struct ingest_text_frame *frame)
{
    if (!c->thread)
        return;
    ingest_text_stack_add(c->b, &c->stack, frame, &c->hints);
    ingest_set_stack(c->thread, &c->stack);
}

/* "name  Dispatch queue: q", in this order, either may be missing. */
static void
read_names(struct ingest_text *c, struct fz_span text)
{
    static const char key[] = "Dispatch queue:";
    (void)ingest_text_cut_samples(&text, &c->thread->samples);
    size_t at = fz_text_find(text, key);
    struct fz_span name = fz_text_trim(fz_span_until(text, at));
    if (at != SIZE_MAX) {
        const char *queue = ingest_text(c->b, fz_text_trim(fz_span_from(text, at + strlen(key))));
        /* A second heading of the thread may lack what the first one had. */
        if (queue)
            c->thread->queue = queue;
    }
    const char *copy = ingest_text(c->b, name);
    if (copy)
        c->thread->name = copy;
}

/* What follows "Thread 3": the part before the colon, and the part after it. */
static bool
split_heading(struct fz_span rest, struct fz_span *ret_word, struct fz_span *ret_text)
{
    size_t colon = fz_text_find(rest, ":");
    if (colon == SIZE_MAX)
        return false;
    *ret_word = fz_text_trim(fz_span_until(rest, colon));
    struct fz_span text = fz_span_from(rest, colon + 1);
    /* macOS writes "::" before the name. */
    if (fz_span_begins(text, ":"))
        text = fz_span_from(text, 1);
    *ret_text = fz_text_trim(text);
    return true;
}

bool
ingest_text_read_thread(struct ingest_text *c, struct fz_span line, bool *ret_registers)
{
    static const char *const crashed_words[] = {"Crashed",   "crashed",    "Highlighted",
                                                "Triggered", "Attributed", NULL};
    struct fz_span word, text, rest = line;
    uint64_t number;
    *ret_registers = false;
    if (fz_span_begins(rest, "Unknown thread crashed with") ||
        fz_span_begins(rest, "Thread Unknown crashed with")) {
        *ret_registers = true;
        return true; /* of no other thread, so the registers belong to the current one */
    }
    if (!fz_span_begins(rest, "Thread "))
        return false;
    rest = fz_text_trim(fz_span_from(rest, 7));
    if (!ingest_text_cut_decimal(&rest, &number) || number > INT32_MAX ||
        !split_heading(rest, &word, &text))
        return false;
    bool crashed = ingest_is_one_of(word, crashed_words), names = fz_span_is(word, "name");
    *ret_registers = fz_span_begins(word, "crashed with") || fz_span_begins(word, "Crashed with") ||
                     fz_span_begins(word, "thread state");
    /* "Thread 3 is waiting: ..." is a line of a message. */
    if (!crashed && !names && !*ret_registers && word.len)
        return false;
    struct report_thread *thread = find_thread(c, (int64_t)number);
    /* A thread has up to three headings: for its name, its frames and its registers. A heading of
     * the same number after the frames is another thread, for instance of a second report. */
    bool is_new = !thread || (!*ret_registers && (thread->n_frames || names));
    c->stack = (struct ingest_stack){.n = 0};
    c->thread = is_new ? ingest_text_add_thread(c, (int64_t)number, crashed) : thread;
    if (!c->thread)
        return true;
    c->thread->crashed = c->thread->crashed || crashed;
    if (!*ret_registers)
        read_names(c, text);
    return true;
}

bool
ingest_text_read_registers(struct ingest_text *c, struct fz_span line)
{
    size_t n = 0;
    struct fz_span rest = line;
    while (rest.len) {
        struct fz_span before = rest, name = ingest_text_word(&rest);
        uint64_t value;
        bool is_register = name.len > 1 && name.len < 16 && fz_span_ends(name, ":") &&
                           ingest_text_cut_hex(&rest, &value);
        if (!is_register) {
            /* "esr: 0x92000006 (Data Abort) byte read Translation fault" */
            if (n && c->thread)
                ingest_text_add_extra(c, fz_span_cstr("Thread State"), line);
            else if (n == 0)
                return false;
            return before.len < line.len;
        }
        if (c->thread)
            ingest_add_register(c->b, c->thread, fz_span_until(name, name.len - 1), value);
        n++;
        rest = fz_text_trim(rest);
    }
    return n > 0;
}

/* Where the reporter ran inside the throw, the thread's first address is a return address too. */
static void
settle_throw(struct ingest_text *c, struct report_thread *thread)
{
    struct fz_span images[2]; /* of the first two frames, as the lines spelt them */
    for (size_t i = 0; i < 2; i++) {
        int hint = i < thread->n_frames ? thread->frames[i].image : -1;
        images[i] = hint >= 0 ? c->hints.items[hint].name : (struct fz_span){NULL, 0};
    }
    if (thread->crashed && ingest_text_is_throw_stack(thread->frames, thread->n_frames, images))
        ingest_first_is_return(thread->frames, thread->n_frames);
}

void
ingest_text_settle_threads(struct ingest_text *c)
{
    struct report *r = c->b->report;
    const struct report_thread *marked = NULL;
    if (c->b->failed) /* lists may be incomplete */
        return;
    for (size_t i = 0; i < r->n_threads && !marked; i++)
        marked = r->threads[i].crashed ? &r->threads[i] : NULL;
    /* Reporters mix up the number in the head; the heading is next to the frames that it marks. */
    if (marked && r->crash.thread >= 0 && r->crash.thread != marked->index)
        ingest_note(c->b, "thread %lld crashed by the head, %lld by the threads' headings",
                    (long long)r->crash.thread, (long long)marked->index);
    if (marked)
        r->crash.thread = marked->index;
    for (size_t i = 0; i < r->n_threads; i++) {
        r->threads[i].crashed = r->threads[i].index == r->crash.thread;
        settle_throw(c, &r->threads[i]);
    }
    /* Apple's backtrace of the exception is exact; the other one is the app's own print of it. */
    ingest_set_exception_stack(r, c->exception.n ? &c->exception : &c->backtrace);
    if (r->n_threads == 0)
        ingest_note(c->b, "no thread in the text");
}
