/* Tail calls, whose functions leave the stack, and arrays of variable length. */
#include "truth.h"

int calls_part(int a, int b, const char *text);
int calls_even(int n, int step);

NOINLINE int
calls_crash(volatile int *where, int code, long wide)
{
    int local = code * 2;
    ESCAPE(&local);
    T("calls_crash", "local", "%d", local);
    T("calls_crash", "code", "%d", code);
    *where = local;
    return local + (int)wide;
}

/* Reached by one tail call: what it was passed is in the DWARF of the function that is gone. */
NOINLINE int
calls_last(int depth, int sum, const char *text)
{
    int twice = sum * 2;
    ESCAPE(text);
    T("calls_last", "depth", "%d", depth);
    T("calls_last", "sum", "%d", sum);
    T("calls_last", "text", "%s", "0x0");
    if (depth > 1)
        return calls_last(depth - 1, twice, text) + twice;
    return calls_even(6, twice) + twice;
}

/* Reached by two ways. */
NOINLINE static int
either(int which, int value)
{
    int mine = value + which;
    ESCAPE(&mine);
    T("either", "which", "%d", which);
    T("either", "value", "%d", value);
    return calls_crash((volatile int *)0, mine, 1L << 40) + 1;
}

NOINLINE static int
choose(int which)
{
    return which > 3 ? either(1, 10) : either(2, 20);
}

NOINLINE int
calls_end(int n)
{
    T("calls_end", "n", "%d", n);
    int r = choose(n);
    ESCAPE(&r);
    return r + 1;
}

NOINLINE static int
length(int n)
{
    int row[n], table[2][n];
    for (int i = 0; i < n; i++) {
        row[i] = i * i;
        table[0][i] = i;
        table[1][i] = -i;
    }
    ESCAPE(row);
    ESCAPE(table);
    T("length", "n", "%d", n);
    T("length", "row[3]", "%d", row[3]);
    T("length", "table[1][2]", "%d", table[1][2]);
    int r = calls_part(n, 2, "text");
    ESCAPE(row);
    ESCAPE(table);
    return r;
}

int
main(int argc, char **argv)
{
    int r = length(argc + 5);
    ESCAPE(&r);
    return r;
}
