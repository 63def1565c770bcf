/* Variables that others change through their address: in optimised code the DWARF may still have their first value. */
extern "C" {
#include "truth.h"
}

struct Holder {
    int *to;
    int extra;
};

template <class F> NOINLINE static int
apply(F work, int n)
{
    int r = work(n);
    ESCAPE(&r);
    return r;
}

NOINLINE static void
poke(Holder *holder)
{
    *holder->to += 100;
    ESCAPE(holder->to);
}

NOINLINE static int
crash(volatile int *where, int code)
{
    int mark = code;
    ESCAPE(&mark);
    T("crash", "code", "%d", code);
    *where = mark;
    return mark;
}

NOINLINE static int
by_reference(int a, int b)
{
    int base = a * 7;
    int counted = base;
    auto add = [&counted, b](int x) NOINLINE {
        counted += x;
        ESCAPE(&counted);
        return x + b;
    };
    int got = apply(add, 4);
    T("by_reference", "a", "%d", a);
    T("by_reference", "base", "%d", base);
    T("by_reference", "counted", "%d", counted);
    T("by_reference", "got", "%d", got);
    int r = crash(nullptr, got);
    ESCAPE(&base);
    return r + base;
}

/* What the lambda captured is passed in a register, which is gone. */
NOINLINE static int
captured(int a)
{
    int seen = 0;
    auto add = [&](int x) {
        seen += x;
        return x * 2;
    };
    int got = apply(add, 5) + apply(add, 10);
    T("captured", "seen", "%d", seen);
    T("captured", "got", "%d", got);
    int r = by_reference(a, got);
    ESCAPE(&got);
    return r + seen;
}

NOINLINE static int
constant(int a)
{
    int target = 9;
    Holder holder = {&target, a};
    poke(&holder);
    T("constant", "target", "%d", target);
    T("constant", "holder.extra", "%d", holder.extra);
    return captured(a + 1) + holder.extra;
}

NOINLINE static int
in_register(int a)
{
    int keep = a * 3;
    int target = keep;
    Holder holder = {&target, a};
    poke(&holder);
    T("in_register", "target", "%d", target);
    T("in_register", "keep", "%d", keep);
    int r = constant(keep);
    return r + keep;
}

/* No one changes these: they have no mark. */
NOINLINE static int
unchanged(int a)
{
    int seven = 7, kept = a * 5;
    T("unchanged", "seven", "%d", seven);
    T("unchanged", "kept", "%d", kept);
    int r = in_register(a + seven);
    return r + kept;
}

NOINLINE static int
parameter(int p, const char *text)
{
    auto add = [&](int x) NOINLINE {
        p += x;
        ESCAPE(&p);
        return x;
    };
    int got = apply(add, 50);
    T("parameter", "p", "%d", p);
    int r = unchanged(got);
    ESCAPE(text);
    return r;
}

int
main(int argc, char **)
{
    int r = parameter(argc + 4, "text");
    ESCAPE(&r);
    return r;
}
