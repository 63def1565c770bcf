/* C: all kinds of types, parameters in registers and on the stack, recursion, inlined calls, a callback. */
#include "truth.h"

enum kind { KIND_USER = 1, KIND_ADMIN = 7, KIND_NONE = -1 };
enum access { ACCESS_READ = 1, ACCESS_WRITE = 2, ACCESS_RUN = 4 };
typedef unsigned char byte;
typedef long long wide;
struct flags {
    unsigned a : 3;
    int b : 5;
    unsigned c : 9;
    enum kind kind : 8;
    _Bool d : 1;
};
union number {
    int i;
    float f;
    byte bytes[4];
};
struct item {
    double price;
    int count;
    const char *name;
    struct flags flags;
    union number number;
    char tag[6];
    struct {
        short x, y;
    };
};
struct node {
    int value;
    struct node *next;
};
typedef int (*callback_fn)(int, void *);
typedef float vec4 __attribute__((ext_vector_type(4)));
struct pair {
    long first, second;
};

static int static_count = 41;
int global_table[3] = {10, 20, 30};
const char *const global_name = "global";
static struct item global_item = {1.25, 3,     "static item", {1, -2, 3, KIND_ADMIN, 1},
                                  {42}, "tag", {{5, 6}}};

NOINLINE static int
crash(volatile int *where, int code)
{
    int local = code * 2;
    ESCAPE(&local);
    T("crash", "code", "%d", code);
    T("crash", "local", "%d", local);
    *where = local;
    return local;
}

NOINLINE static int
recurse(int depth, struct node *list, long total)
{
    struct node here = {depth * 100, list};
    static int calls;
    calls++;
    int result;
    T("recurse", "depth", "%d", depth);
    T("recurse", "total", "%ld", total);
    T("recurse", "here.value", "%d", here.value);
    if (depth == 0) {
        T("recurse", "calls", "%d", calls);
        result = crash((volatile int *)0, (int)total);
    } else {
        result = recurse(depth - 1, &here, total + here.value);
    }
    static_count += result;
    ESCAPE(&here);
    return result + here.value;
}

static inline __attribute__((always_inline)) int
inlined(int a, int b)
{
    int sum = a + b;
    struct node start = {sum, 0};
    ESCAPE(&start);
    T("inlined", "a", "%d", a);
    T("inlined", "b", "%d", b);
    T("inlined", "sum", "%d", sum);
    T("inlined", "start.value", "%d", start.value);
    int got = recurse(2, &start, sum);
    return got + a;
}

NOINLINE static int
called_back(int event, void *context)
{
    struct item *item = context;
    int scaled = event * item->count;
    global_table[1] += scaled;
    T("called_back", "event", "%d", event);
    T("called_back", "scaled", "%d", scaled);
    T("called_back", "item.*.price", "%g", item->price);
    T("called_back", "item.*.count", "%d", item->count);
    int r = inlined(scaled, item->number.i);
    ESCAPE(item);
    return r + global_item.count;
}

NOINLINE static int
many(int a, long b, short c, char d, byte e, float f, double g, unsigned h, wide i, struct pair j,
     int k, double l)
{
    struct item item = {l * 2,       (int)b,  "an item", {5, -7, 300, KIND_USER, 1},
                        {.f = 1.5f}, "abcde", {{-3, 4}}};
    enum access access = ACCESS_READ | ACCESS_RUN;
    callback_fn callback = called_back;
    ESCAPE(&item);
    item.number.i = 77;
    T("many", "a", "%d", a);
    T("many", "b", "%ld", b);
    T("many", "c", "%d", c);
    T("many", "d", "'%c'", d);
    T("many", "e", "%d", e);
    T("many", "f", "%g", (double)f);
    T("many", "g", "%g", g);
    T("many", "h", "%u", h);
    T("many", "i", "%lld", i);
    T("many", "j.first", "%ld", j.first);
    T("many", "j.second", "%ld", j.second);
    T("many", "k", "%d", k);
    T("many", "l", "%g", l);
    T("many", "item.price", "%g", item.price);
    T("many", "item.count", "%d", item.count);
    T("many", "item.flags.a", "%d", item.flags.a);
    T("many", "item.flags.b", "%d", item.flags.b);
    T("many", "item.flags.c", "%d", item.flags.c);
    T("many", "item.flags.kind", "%s (%d)", "KIND_USER", item.flags.kind);
    T("many", "item.flags.d", "%s", item.flags.d ? "true" : "false");
    T("many", "item.number.i", "%d", item.number.i);
    T("many", "item.tag", "\"%s\"", item.tag);
    T("many", "item.x", "%d", item.x);
    T("many", "item.y", "%d", item.y);
    T("many", "access", "%s (%d)", "ACCESS_READ | ACCESS_RUN", access);
    int r = callback(a, &item);
    ESCAPE(&item);
    return r + k + (int)g + (int)access + (int)j.first;
}

NOINLINE static long
scalars(int seed)
{
    __int128 huge = (__int128)seed << 70;
    long double extended = seed + 0.5L;
    _Complex double complex = seed + 2.0i;
    _Bool yes = seed > 0;
    unsigned short ushort = (unsigned short)(seed * 7001);
    vec4 vector = {1, 2.5f, (float)seed, -4};
    int matrix[2][3] = {{1, 2, 3}, {4, 5, seed}};
    char text[] = "text with \"quotes\"\n";
    byte raw[4] = {1, 2, 0xff, (byte)seed};
    enum kind none = seed > 100 ? KIND_USER : KIND_NONE;
    double weights[4] = {0.5, 1.0 / 3, seed * 1.5, -1e100};
    volatile long vol = seed * 3L;
    unsigned int wchar = 0x20ac;
    ESCAPE(&huge);
    ESCAPE(&extended);
    ESCAPE(&complex);
    ESCAPE(&vector);
    ESCAPE(matrix);
    ESCAPE(text);
    ESCAPE(raw);
    ESCAPE(weights);
    T("scalars", "seed", "%d", seed);
    T("scalars", "yes", "%s", yes ? "true" : "false");
    T("scalars", "ushort", "%d", ushort);
    T("scalars", "matrix[1][2]", "%d", matrix[1][2]);
    T("scalars", "matrix[0][1]", "%d", matrix[0][1]);
    T("scalars", "raw[2]", "%d", raw[2]);
    T("scalars", "raw[3]", "%d", raw[3]);
    T("scalars", "weights[2]", "%g", weights[2]);
    T("scalars", "weights[0]", "%g", weights[0]);
    T("scalars", "vol", "%ld", vol);
    T("scalars", "vector[1]", "%g", (double)vector[1]);
    T("scalars", "vector[2]", "%g", (double)vector[2]);
    T("scalars", "none", "%s (%d)", "KIND_NONE", none);
    T("scalars", "extended", "%g", (double)extended);
    T("scalars", "complex", "%g + %gi", __real__ complex, __imag__ complex);
    T("scalars", "huge", "%s", "7083549724304467820544");
    T("scalars", "text", "%s", "\"text with \\\"quotes\\\"\\n\"");
    struct pair pair = {seed, -seed};
    OPAQUE(seed);
    long r = many(seed, seed * 10L, (short)-seed, 'q', 200, 0.25f, seed / 4.0, 4000000000u,
                  -1LL << 40, pair, 11, 9.5);
    return r + (long)yes + ushort + vol + (long)wchar + none;
}

int
main(int argc, char **argv)
{
    int start = argc + 5;
    OPAQUE(start);
    T("main", "start", "%d", start);
    const char *name = argv[0] ? global_name : 0;
    ESCAPE(name);
    long r = scalars(start);
    return (int)r + (name != 0);
}
