/* lldb's `bt`: threads are numbered from 1, inlined calls are frames of their own. */
#include "server/ingest/text/stack.h"

static struct fz_span
without_star(struct fz_span line)
{
    line = fz_text_trim(line);
    return fz_span_begins(line, "*") ? fz_text_trim(fz_span_from(line, 1)) : line;
}

/* Cut the values of arguments off: "f(int)(x=21, y=0x10)", "f(x=21)". */
static struct fz_span
without_values(struct fz_span name)
{
    size_t open = ingest_text_last_group(name);
    bool has_values =
        open != SIZE_MAX && open > 0 && fz_text_contains(fz_span_from(name, open), "=");
    return has_values ? fz_span_until(name, open) : name;
}

bool
ingest_text_lldb_frame(struct fz_span line, struct ingest_text_frame *ret)
{
    static const char inlined[] = " [inlined] ";
    struct ingest_text_frame frame = {.has_index = true};
    line = without_star(line);
    if (!fz_span_begins(line, "frame #"))
        return false;
    line = fz_span_from(line, 7);
    if (!ingest_text_cut_decimal(&line, &frame.index) || !fz_span_begins(line, ":"))
        return false;
    line = fz_text_trim(fz_span_from(line, 1));
    if (!ingest_text_cut_hex(&line, &frame.addr))
        return false;
    line = fz_text_trim(line);
    size_t tick = fz_text_find(line, "`");
    if (tick != SIZE_MAX)
        frame.image = fz_text_trim(fz_span_until(line, tick));
    struct fz_span text =
        tick == SIZE_MAX ? (struct fz_span){NULL, 0} : fz_span_from(line, tick + 1);
    struct ingest_text_symbol place = {.line = 0};
    for (int i = 0; i < 2; i++) { /* "[opt] [inlined]" after the place */
        size_t open = fz_text_find_last(text, " [");
        if (open != SIZE_MAX && fz_span_ends(text, "]") &&
            !fz_text_contains(fz_span_from(text, open), ":"))
            text = fz_text_trim(fz_span_until(text, open));
    }
    size_t at = fz_text_find_last(text, " at ");
    if (at != SIZE_MAX && ingest_text_place_parse(fz_text_trim(fz_span_from(text, at + 4)), &place))
        text = fz_text_trim(fz_span_until(text, at));
    size_t inner = fz_text_find_last(text, inlined);
    /* lldb writes "outer [inlined] inner": the frame is the inner call. */
    if (inner != SIZE_MAX)
        text = fz_span_from(text, inner + strlen(inlined));
    frame.symbol = ingest_text_symbol_parse(text, frame.image, frame.addr);
    /* Values of one run would make each report's function another one. */
    frame.symbol.name = without_values(frame.symbol.name);
    if (fz_span_begins(frame.symbol.name, "___lldb_unnamed_symbol"))
        /* lldb's own word for a function without a symbol. */
        frame.symbol.name = (struct fz_span){NULL, 0};
    frame.symbol.inlined = inner != SIZE_MAX;
    frame.symbol.file = place.file;
    frame.symbol.line = place.line;
    frame.symbol.column = place.column;
    *ret = frame;
    return true;
}

/* The number after "address=" or another key. */
static bool
number_of(struct fz_span reason, const char *key, uint64_t *ret)
{
    struct fz_span number = ingest_text_after(reason, key, NULL);
    return ingest_text_cut_hex(&number, ret) || ingest_text_cut_decimal(&number, ret);
}

/* "(code=1, address=0x10)", "(code=1, subcode=0x1)", "(code=EXC_I386_GPFLT)" */
static void
read_codes(struct ingest_text *c, struct fz_span reason)
{
    static const char key[] = "(code=";
    struct report_crash *crash = &c->b->report->crash;
    uint64_t codes[2];
    size_t at = fz_text_find(reason, key), len = 0;
    if (at == SIZE_MAX)
        return;
    /* lldb names the codes that it knows: "code=EXC_I386_GPFLT". */
    if (!number_of(reason, key, &codes[0])) {
        struct fz_span word = fz_span_from(reason, at + strlen(key));
        while (len < word.len && word.data[len] != ',' && word.data[len] != ')')
            len++;
        crash->code = ingest_text(c->b, fz_text_trim(fz_span_until(word, len)));
        return;
    }
    bool has_second =
        number_of(reason, " subcode=", &codes[1]) || number_of(reason, " address=", &codes[1]);
    ingest_set_mach_codes(c->b, codes, has_second ? 2 : 1);
}

/* "EXC_BAD_ACCESS (code=1, address=0x10)", "signal SIGABRT", "breakpoint 1.1" */
static void
read_reason(struct ingest_text *c, struct fz_span reason)
{
    struct report_crash *crash = &c->b->report->crash;
    struct fz_span rest = reason, word = ingest_text_word(&rest);
    uint64_t addr;
    if (fz_span_begins(word, "EXC_")) {
        crash->mach = ingest_text(c->b, word);
        read_codes(c, reason);
    } else if (fz_span_is(word, "signal")) {
        crash->signal = ingest_text(c->b, ingest_text_word(&rest));
    }
    if (number_of(reason, "address=", &addr)) {
        crash->has_address = true;
        crash->address = addr;
    }
    if (!crash->diagnosis)
        crash->diagnosis = ingest_text(c->b, reason);
}

bool
ingest_text_read_lldb_thread(struct ingest_text *c, struct fz_span line)
{
    static const char key[] = "stop reason = ";
    uint64_t number;
    bool selected = fz_span_begins(fz_text_trim(line), "*");
    struct fz_span rest = without_star(line);
    if (!fz_span_begins(rest, "thread #"))
        return false;
    rest = fz_span_from(rest, 8);
    if (!ingest_text_cut_decimal(&rest, &number) || number > INT32_MAX ||
        !(rest.len == 0 || rest.data[0] == ',' || rest.data[0] == ':'))
        return false;
    /* lldb marks the selected thread with '*', which is where it stopped. */
    bool crashed = selected && c->b->report->crash.thread < 0;
    if (!ingest_text_add_thread(c, (int64_t)number, crashed))
        return true;
    c->thread->crashed = crashed;
    if (crashed)
        c->b->report->crash.thread = (int64_t)number;
    c->thread->name = ingest_text(c->b, ingest_text_after(rest, "name = '", "'"));
    c->thread->queue = ingest_text(c->b, ingest_text_after(rest, "queue = '", "'"));
    size_t at = fz_text_find(rest, key);
    if (crashed && at != SIZE_MAX)
        read_reason(c, fz_span_from(rest, at + strlen(key)));
    return true;
}
