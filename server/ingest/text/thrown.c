#include "server/ingest/text/thrown.h"

#include "base/text.h"

/* What follows `key` in quotes, 'single' as Apple writes them or "double"; without a closing quote
 * it is the rest of the text. */
static struct fz_span
quoted_after(struct fz_span text, const char *key, const char **ret_quote)
{
    static const char *const ends[] = {"'\n", "\"\n"}, *const quotes[] = {"'", "\""};
    struct fz_span rest = ingest_text_after(text, key, NULL);
    for (size_t i = 0; i < FZ_ARRAY_LEN(quotes); i++) {
        if (!fz_span_begins(rest, quotes[i]))
            continue;
        rest = fz_span_from(rest, 1);
        /* The quote at the end of a line: a reason can have quotes of its own. */
        size_t end = fz_text_find(rest, ends[i]);
        *ret_quote = quotes[i];
        return fz_span_until(rest, end == SIZE_MAX ? fz_text_find_last(rest, quotes[i]) : end);
    }
    return (struct fz_span){NULL, 0};
}

/* KSCrash: "Application threw exception NSRangeException: index 7". */
static bool
read_threw(struct ingest_builder *b, struct fz_span text)
{
    static const char key[] = "Application threw exception ";
    struct report_crash *crash = &b->report->crash;
    size_t colon = fz_text_find(text, ": ");
    if (!fz_span_begins(text, key) || colon == SIZE_MAX || crash->exception)
        return false;
    struct fz_span name = fz_span_between(text, strlen(key), colon);
    /* Names of exceptions are one word; a sentence is the app's own message. */
    if (!name.len || fz_text_contains(name, " "))
        return false;
    crash->exception = ingest_text(b, name);
    if (!crash->reason)
        crash->reason = ingest_text(b, fz_text_trim(fz_span_from(text, colon + 2)));
    return true;
}

/* "terminating with uncaught exception of type X: what" */
static bool
read_typed(struct ingest_builder *b, struct fz_span text)
{
    struct report_crash *crash = &b->report->crash;
    static const char key[] = "uncaught exception of type ";
    size_t at = fz_text_find(text, key);
    if (at == SIZE_MAX)
        return false;
    struct fz_span rest = fz_span_from(text, at + strlen(key));
    rest = fz_text_trim(fz_span_until(rest, fz_text_find(rest, "\n")));
    size_t colon = fz_text_find(rest, ": ");
    struct fz_span type = fz_text_trim(fz_span_until(rest, colon));
    /* Of an Objective-C exception this is only the class; its name is in another line. */
    bool is_class_only = fz_span_is(type, "NSException") && crash->exception;
    if (!crash->exception && !is_class_only)
        /* C++ exceptions have no other name than their type. */
        crash->exception = ingest_text(b, type);
    if (colon != SIZE_MAX && !crash->reason)
        crash->reason = ingest_text(b, fz_text_trim(fz_span_from(rest, colon + 2)));
    return true;
}

bool
ingest_text_read_thrown(struct ingest_builder *b, struct fz_span text)
{
    struct report_crash *crash = &b->report->crash;
    const char *quote = "'";
    struct fz_span reason = quoted_after(text, ", reason: ", &quote);
    struct fz_span name = quoted_after(text, "uncaught exception ", &quote);
    /* The name ends at the first quote; a reason may contain quotes, so it ends at the last one. */
    name = fz_span_until(name, fz_text_find(name, quote));
    bool thrown = name.len > 0;
    if (thrown && !crash->exception)
        crash->exception = ingest_text(b, fz_text_trim(name));
    if (thrown && reason.len && !crash->reason)
        crash->reason = ingest_text(b, fz_text_trim(reason));
    if (read_typed(b, text) || read_threw(b, text))
        thrown = true;
    if (thrown || crash->reason)
        return thrown;
    static const char *const errors[] = {
        "Fatal error: ", "Assertion failed: ", "Precondition failed"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(errors) && !crash->reason; i++) {
        size_t at = fz_text_find(text, errors[i]);
        if (at == SIZE_MAX)
            continue;
        struct fz_span rest = fz_span_from(text, at);
        crash->reason = ingest_text(b, fz_text_trim(fz_span_until(rest, fz_text_find(rest, "\n"))));
    }
    return false;
}

bool
ingest_text_is_throw_stack(const struct report_frame *frames, size_t n,
                           const struct fz_span images[2])
{
    static const char *const throwers[] = {"__exceptionPreprocess", "objc_exception_throw",
                                           "__cxa_throw", "+[NSException raise:format:]", NULL};
    if (n == 0)
        return false;
    if (frames[0].n_client &&
        ingest_is_one_of(fz_span_cstr(frames[0].client[0].function), throwers))
        return true;
    /* Without names the two images are enough: __exceptionPreprocess in CoreFoundation calls
     * objc_exception_throw. */
    bool foundation = fz_span_is(images[0], "CoreFoundation") ||
                      fz_span_is(images[0], "com.apple.CoreFoundation");
    return frames[0].n_client == 0 && foundation && fz_span_is(images[1], "libobjc.A.dylib");
}
