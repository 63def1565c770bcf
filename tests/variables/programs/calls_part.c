/* The functions of calls.c that end in a tail call to another unit, and two that call each other. */
#include "truth.h"

int calls_last(int depth, int sum, const char *text);
int calls_end(int n);
int calls_even(int n, int step);

NOINLINE static int
calls_odd(int n, int step)
{
    return n == 0 ? -1 : calls_even(n - 1, step + 1);
}

NOINLINE int
calls_even(int n, int step)
{
    T("calls_even", "n", "%d", n);
    T("calls_even", "step", "%d", step);
    if (n <= 0) {
        int r = calls_end(7);
        ESCAPE(&r);
        return r;
    }
    return calls_odd(n - 1, step + 1);
}

NOINLINE int
calls_part(int a, int b, const char *text)
{
    int t = a * b;
    ESCAPE(text);
    T("calls_part", "t", "%d", t);
    return calls_last(3, t, 0);
}
