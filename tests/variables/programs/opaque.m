/* Classes and structures that this unit declares or knows in part: opaque_part.m implements and defines them. */
#include "truth.h"
#include "opaque.h"

@class Hidden;
struct handle;
Hidden *hidden_make(int number);
struct handle *handle_make(int number);

NOINLINE static int
crash(volatile int *where, Hidden *hidden, Known *known, id any, struct handle *handle)
{
    int local = 6;
    ESCAPE(&local);
    ESCAPE(&hidden);
    ESCAPE(&known);
    ESCAPE(&any);
    ESCAPE(&handle);
    T("crash", "local", "%d", local);
    T("crash", "hidden.*.secret", "%d", 71);
    T("crash", "hidden.*.ratio", "%g", 1.25);
    T("crash", "known.*.shown", "%d", 81);
    T("crash", "known.*.inner", "%ld", 91L);
    T("crash", "known.*.low", "%d", 5);
    T("crash", "known.*.high", "%d", -2);
    T("crash", "known.*.is_on", "%d", 1);
    T("crash", "any.*.secret", "%d", 71);
    T("crash", "handle.*.number", "%d", 61);
    *where = local;
    return local;
}

int
main(int argc, char **argv)
{
    Hidden *hidden = hidden_make(70 + argc);
    Known *known = [[Known alloc] init];
    struct handle *handle = handle_make(60 + argc);
    known->shown = 80 + argc;
    [known fill:90 + argc];
    ESCAPE(hidden);
    ESCAPE(known);
    ESCAPE(handle);
    return crash((volatile int *)0, hidden, known, (id)hidden, handle);
}
