#include "server/ingest/text_thrown.h"

#include "base/text.h"

/* What stands in quotes behind `key`; without a closing quote, the rest. */
static struct fz_span
quoted_behind(struct fz_span text, const char *key)
{
    size_t at = text_find(text, key);
    if (at == SIZE_MAX)
        return (struct fz_span){NULL, 0};
    struct fz_span rest = text_from(text, at + strlen(key));
    size_t end = text_find(rest, "'\n");
    if (end == SIZE_MAX)
        end = text_find_last(rest, "'");
    return text_until(rest, end);
}

/* "terminating with uncaught exception of type X: what" */
static bool
take_typed(struct ingest_take *t, struct fz_span text)
{
    struct report_crash *crash = &t->report->crash;
    static const char key[] = "uncaught exception of type ";
    size_t at = text_find(text, key);
    if (at == SIZE_MAX)
        return false;
    struct fz_span rest = text_from(text, at + strlen(key));
    rest = text_trim(text_until(rest, text_find(rest, "\n")));
    size_t colon = text_find(rest, ": ");
    struct fz_span type = text_trim(text_until(rest, colon));
    /* Of an Objective-C exception only the class is told here; its name is said elsewhere. */
    bool is_class_only = fz_span_is(type, "NSException") && crash->exception;
    if (!crash->exception && !is_class_only)
        crash->exception = text_keep(t, type);
    if (colon != SIZE_MAX && !crash->reason)
        crash->reason = text_keep(t, text_trim(text_from(rest, colon + 2)));
    return true;
}

bool
text_take_thrown(struct ingest_take *t, struct fz_span text)
{
    struct report_crash *crash = &t->report->crash;
    struct fz_span name = quoted_behind(text, "uncaught exception '");
    /* The name ends at the first quote, the reason at the last one of its line. */
    name = text_until(name, text_find(name, "'"));
    struct fz_span reason = quoted_behind(text, ", reason: '");
    bool thrown = name.len > 0;
    if (thrown && !crash->exception)
        crash->exception = text_keep(t, text_trim(name));
    if (thrown && reason.len && !crash->reason)
        crash->reason = text_keep(t, text_trim(reason));
    if (take_typed(t, text))
        thrown = true;
    if (thrown || crash->reason)
        return thrown;
    static const char *const errors[] = {
        "Fatal error: ", "Assertion failed: ", "Precondition failed"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(errors) && !crash->reason; i++) {
        size_t at = text_find(text, errors[i]);
        if (at == SIZE_MAX)
            continue;
        struct fz_span rest = text_from(text, at);
        crash->reason = text_keep(t, text_trim(text_until(rest, text_find(rest, "\n"))));
    }
    return false;
}

bool
text_is_throw_stack(const struct report_frame *frames, size_t n, const struct fz_span images[2])
{
    static const char *const throwers[] = {"__exceptionPreprocess", "objc_exception_throw",
                                           "__cxa_throw", "+[NSException raise:format:]"};
    if (n == 0)
        return false;
    for (size_t i = 0; i < FZ_ARRAY_LEN(throwers) && frames[0].n_client; i++) {
        if (strcmp(frames[0].client[0].function, throwers[i]) == 0)
            return true;
    }
    bool foundation = fz_span_is(images[0], "CoreFoundation") ||
                      fz_span_is(images[0], "com.apple.CoreFoundation");
    return frames[0].n_client == 0 && foundation && fz_span_is(images[1], "libobjc.A.dylib");
}
