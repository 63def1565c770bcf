/*
 * A program of all the ways in which a compiler makes and leaves frames. It imports nothing, so it
 * runs in an emulator without a system; trace.c stops it at every instruction.
 */
typedef unsigned long size_t;
typedef unsigned long long u64;

struct big {
    long a[10];
};

volatile long sink;
volatile double dsink;
static volatile long zero;

#define NOINLINE __attribute__((noinline))

void *memset(void *to, int value, size_t n);
void *memcpy(void *to, const void *from, size_t n);

NOINLINE void *
memset(void *to, int value, size_t n)
{
    volatile char *p = to;
    while (n--)
        *p++ = (char)value;
    return to;
}

NOINLINE void *
memcpy(void *to, const void *from, size_t n)
{
    volatile char *p = to;
    const char *q = from;
    while (n--)
        *p++ = *q++;
    return to;
}

NOINLINE long
leaf(long a, long b)
{
    return a * 3 + b;
}

NOINLINE long
leaf_with_locals(long a)
{
    volatile long x[4];
    x[0] = a;
    x[1] = x[0] + 1;
    x[3] = x[1] * 2;
    return x[3];
}

NOINLINE void
empty(void)
{
}

NOINLINE long
recurse(int depth, long sum)
{
    if (depth == 0)
        return leaf(sum, 1);
    long r = recurse(depth - 1, sum + depth);
    return r + depth;
}

static inline __attribute__((always_inline)) long
inlined(long x)
{
    long y = leaf(x, 2);
    return y + leaf(y, 3);
}

NOINLINE long
many_saved(long a, long b, long c, long d)
{
    long r[6];
    r[0] = leaf(a, b);
    r[1] = leaf(b, c);
    r[2] = leaf(c, d);
    r[3] = leaf(d, a);
    r[4] = leaf(a, c);
    r[5] = leaf(b, d);
    return r[0] + r[1] * a + r[2] * b + r[3] * c + r[4] * d + r[5];
}

NOINLINE double
doubles(double a, double b, double c)
{
    double x = a * b, y = b * c, z = c * a;
    dsink = (double)leaf((long)x, (long)y);
    double w = x + y * z;
    sink = leaf((long)z, (long)w);
    return x + y + z + w + dsink;
}

NOINLINE long
fill(struct big *big, long n)
{
    for (int i = 0; i < 10; i += 3)
        big->a[i] = n + i;
    return big->a[3];
}

NOINLINE long
large_frame(long n)
{
    struct big list[64];
    long r = fill(&list[0], n);
    r += fill(&list[63], r);
    return r + list[63].a[6];
}

NOINLINE long
huge_frame(long n)
{
    volatile char bytes[70000];
    bytes[n] = (char)n;
    return bytes[n] + leaf(n, bytes[n]);
}

NOINLINE long
with_alloca(int n)
{
    long *p = __builtin_alloca((size_t)n * 8);
    for (int i = 0; i < n; i++)
        p[i] = leaf(i, n);
    return p[n - 1] + leaf_with_locals(p[0]);
}

NOINLINE long
with_vla_loop(int n)
{
    long sum = 0;
    for (int i = 1; i < n; i++) {
        long list[i + 1];
        list[i] = leaf(i, sum);
        sum += list[i];
    }
    return sum;
}

NOINLINE long
aligned(long n)
{
    long list[8] __attribute__((aligned(64)));
    list[n & 7] = n;
    sink = leaf(n, (long)((u64)list & 63));
    return list[n & 7];
}

NOINLINE long
early_return(long *p, long n)
{
    if (!p)
        return -1;
    long r = leaf(*p, n);
    for (long i = 0; i < n; i++)
        r += leaf(r, i) ^ *p;
    *p = r;
    return r;
}

NOINLINE long
switch_table(int n, long x)
{
    switch (n) {
    case 0:
        return leaf(x, 1) + 4;
    case 1:
        x = leaf(x, 2) * 7;
        break;
    case 2:
        x = leaf_with_locals(x);
        break;
    case 3:
        empty();
        break;
    case 4:
        return x;
    case 5:
        x ^= leaf(3, x);
        break;
    case 6:
        x += leaf(4, leaf(x, x));
        break;
    default:
        x = 5;
    }
    return leaf(x, n) + 1;
}

NOINLINE long
tail(long a)
{
    if (a > 10)
        return leaf(a, 4);
    return recurse(2, a);
}

NOINLINE struct big
by_value(struct big in, long n)
{
    in.a[n] = leaf(in.a[0], n);
    return in;
}

NOINLINE long
many_arguments(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j)
{
    return leaf(a + b + c, d + e + f) + leaf(g + h, i + j);
}

NOINLINE long
variadic(int n, ...)
{
    __builtin_va_list list;
    long sum = 0;
    __builtin_va_start(list, n);
    for (int i = 0; i < n; i++)
        sum += __builtin_va_arg(list, long);
    __builtin_va_end(list);
    return leaf(sum, n);
}

typedef long (*function)(long, long);

NOINLINE long
through_pointer(function f, long a)
{
    long r = f(a, 1);
    return r + f(r, 2);
}

NOINLINE long
both_branches(long a)
{
    long r;
    if (a & 1) {
        r = leaf(a, 5);
        if (r & zero)
            __builtin_trap();
    } else {
        r = leaf_with_locals(a);
    }
    for (int i = 0; i < 2; i++)
        r += inlined(r);
    return r;
}

int
main(void)
{
    struct big big;
    memset(&big, 0, 12);
    fill(&big, 3);
    sink = leaf(1, 2);
    empty();
    sink = recurse(4, 0);
    sink = many_saved(1, 2, 3, 4);
    dsink = doubles(1.5, 2.5, 3.5);
    sink = large_frame(7);
    sink = huge_frame(9);
    sink = with_alloca(3);
    sink = with_vla_loop(3);
    sink = aligned(5);
    long n = 2;
    sink = early_return(0, 1);
    sink = early_return(&n, 2);
    for (int i = 0; i < 8; i++)
        sink += switch_table(i, i + 1);
    sink = tail(3);
    sink = tail(20);
    big = by_value(big, 3);
    sink = many_arguments(1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
    sink = variadic(3, 1L, 2L, 3L);
    sink = through_pointer(leaf, 6);
    sink = both_branches(3);
    sink = both_branches(4);
    return (int)big.a[3];
}
