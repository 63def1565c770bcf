#include "run.h"

#include "../include/framezero.h"

#include <dlfcn.h>
#include <string.h>

/*
 * Name and reason of an exception that no one catches. They are noted while the thread is still healthy; the report is
 * written when abort() follows, and carries them.
 *
 * Foundation and the Objective-C runtime are looked up by name: an app without them does not link them because of this
 * file, which therefore needs no Objective-C.
 */
typedef void (*handler_fn)(void *exception);
typedef void (*set_handler_fn)(handler_fn handler);
typedef handler_fn (*get_handler_fn)(void);
typedef void *(*selector_fn)(const char *name);

static handler_fn previous;
static void *message_send;
static selector_fn selector;

void
framezero_note_exception(const char *name, const char *reason, const uint64_t *addresses,
                         size_t n_addresses)
{
    struct framezero_exception *to = &framezero_own_record.exception;
    size_t n = n_addresses < FRAMEZERO_THROW_MAX ? n_addresses : FRAMEZERO_THROW_MAX;
    /* Texts are cut where a UTF-8 sequence may end up open; the writer repairs that. */
    to->name[0] = to->reason[0] = '\0';
    if (name)
        strlcpy(to->name, name, sizeof(to->name));
    if (reason)
        strlcpy(to->reason, reason, sizeof(to->reason));
    if (n)
        memcpy(to->addresses, addresses, n * sizeof(*addresses));
    to->n_addresses = (uint32_t)n;
    to->is_set = 1;
}

/* ---- Objective-C -------------------------------------------------------------------------------- */

static void *
send(void *object, const char *name)
{
    return object ? ((void *(*)(void *, void *))message_send)(object, selector(name)) : NULL;
}

static const char *
text_of(void *string)
{
    return send(string, "UTF8String");
}

static void
on_exception(void *exception)
{
    uint64_t addresses[FRAMEZERO_THROW_MAX];
    void *stack = send(exception, "callStackReturnAddresses");
    size_t n = (size_t)(uintptr_t)send(stack, "count");
    n = n < FRAMEZERO_THROW_MAX ? n : FRAMEZERO_THROW_MAX;
    for (size_t i = 0; i < n; i++) {
        void *number =
            ((void *(*)(void *, void *, size_t))message_send)(stack, selector("objectAtIndex:"), i);
        addresses[i] = (uint64_t)(uintptr_t)send(number, "unsignedLongValue");
    }
    framezero_note_exception(text_of(send(exception, "name")), text_of(send(exception, "reason")),
                             addresses, n);
    if (previous)
        previous(exception);
}

void
framezero_exceptions_install(void)
{
    get_handler_fn get = (get_handler_fn)dlsym(RTLD_DEFAULT, "NSGetUncaughtExceptionHandler");
    set_handler_fn set = (set_handler_fn)dlsym(RTLD_DEFAULT, "NSSetUncaughtExceptionHandler");
    message_send = dlsym(RTLD_DEFAULT, "objc_msgSend");
    selector = (selector_fn)dlsym(RTLD_DEFAULT, "sel_registerName");
    if (!get || !set || !message_send || !selector)
        return;
    previous = get();
    set(on_exception);
}
