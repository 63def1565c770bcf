#!/usr/bin/env python3
"""Writes the Objective-C sources of the small and the many stage: make_sources.py small|many FOLDER [UNITS].

No SDK is needed: the few runtime types that they use are declared here. What matters to a symbol index is
there as in an app: methods, categories, blocks, accessors, static functions, inlining several levels deep,
and types that fill .debug_info without ever having code.
"""
import pathlib
import random
import sys

SEED = 20  # the same sources on each machine
HEADER = """#pragma once
typedef signed char BOOL;
typedef unsigned long NSUInteger;
typedef struct objc_class *Class;
typedef struct objc_object { Class isa; } *id;
typedef struct objc_selector *SEL;
__attribute__((objc_root_class)) @interface NSObject { Class isa; }
+ (id)alloc;
- (id)init;
@end
typedef struct { double x, y, width, height; } Box;
typedef enum { StateIdle, StateBusy, StateDone } State;
typedef union { long number; double real; void *pointer; } Value;
typedef struct item { struct item *next; Value value; State state : 2; unsigned flags : 6; char tag[12]; } Item;
typedef void (^Visitor)(Item *item, NSUInteger at, BOOL *stop);
extern long observe(long value);
extern void *keep(void *pointer);
#define INLINE static inline __attribute__((always_inline))
INLINE long bound(long v, long low, long high)
{
    if (v < low)
        return low;
    return v > high ? high : v;
}
INLINE long fold(long seed, long count)
{
    long sum = bound(seed, -count, count);
    for (long i = 0; i < (count & 15); i++)
        sum = sum * 33 + observe(bound(i, seed, sum));
    return sum;
}
INLINE double surface(Box box)
{
    if (box.width < 0 || box.height < 0)
        observe(fold(1, 3));
    return box.width * box.height;
}
INLINE Item *find(Item *list, long number)
{
    while (list && list->value.number != number) {
        keep(list);
        list = list->next;
    }
    return list;
}
INLINE long count_busy(Item *list)
{
    long n = 0;
    for (Item *at = find(list, 0); at; at = at->next)
        n += at->state == StateBusy ? fold(at->flags, n) : 1;
    return n;
}
"""


def functions(name, rng):
    """A static function and the one that calls it."""
    return f"""
static long step_{name}(Item *list, long seed)
{{
    Item *hit = find(list, seed + {rng.randrange(100)});
    if (!hit)
        return fold(seed, {rng.randrange(3, 90)});
    for (long i = 0; i < {rng.randrange(2, 30)}; i++) {{
        Box box = {{i, seed, seed - i, hit->value.real}};
        observe((long)surface(box) + i);
    }}
    return hit->value.number;
}}
long run_{name}(Item *list, long seed, Value value)
{{
    switch (value.number) {{
    case {rng.randrange(1000, 2000)}:
        return step_{name}(list, seed);
    case {rng.randrange(1000)}:
        keep(value.pointer);
        return count_busy(list);
    default:
        return bound(seed, {rng.randrange(9)}, step_{name}(list->next, seed + 1));
    }}
}}
"""


def hash_function(name, rng):
    return f"""
unsigned digest_{name}(const unsigned char *bytes, NSUInteger count)
{{
    unsigned state = {rng.randrange(1 << 20)};
    for (NSUInteger i = 0; i < count; i++) {{
        state = (state << {rng.randrange(3, 9)}) ^ bytes[i];
        if ((state & 0x3f) == {rng.randrange(64)})
            observe(fold(state, (long)i));
    }}
    return state;
}}
"""


def klass(name, rng):
    """A class with accessors, a method that takes a block, and one that gives it."""
    return f"""
@interface {name} : NSObject {{
    Box _box;
    Item *_items;
    id _owner;
}}
@property (nonatomic) long total;
@property (nonatomic) State state;
+ (id)shared;
- (long)add:(long)amount from:(id)source;
- (BOOL)accepts:(id)candidate limit:(NSUInteger)limit;
- (void)visit:(Visitor)visitor;
@end
@implementation {name}
+ (id)shared
{{
    static id one;
    if (!one)
        one = [[{name} alloc] init];
    return one;
}}
- (long)add:(long)amount from:(id)source
{{
    long sum = fold(amount, self.total + {rng.randrange(50)});
    Item *hit = find(_items, sum);
    if (hit)
        sum += hit->value.number;
    else
        keep(source);
    return bound(sum, {rng.randrange(9)}, self.total) + (long)surface(_box);
}}
- (BOOL)accepts:(id)candidate limit:(NSUInteger)limit
{{
    for (NSUInteger i = 0; i < limit; i++) {{
        if (fold((long)i, count_busy(_items)) == {rng.randrange(500)})
            return 1;
        keep(candidate);
    }}
    return surface(_box) > {rng.randrange(900)}.5;
}}
- (void)visit:(Visitor)visitor
{{
    BOOL stop = 0;
    NSUInteger at = 0;
    for (Item *item = _items; item && !stop; item = item->next)
        visitor(item, at++, &stop);
}}
- (void)recount
{{
    __block long sum = 0;
    [self visit:^(Item *item, NSUInteger at, BOOL *stop) {{
      sum += fold(item->value.number, (long)at);
      if (sum > {rng.randrange(100, 10000)})
          *stop = 1;
    }}];
    self.total = sum;
}}
@end
@interface {name} (Checks)
- (long)check;
@end
@implementation {name} (Checks)
- (long)check
{{
    return [self accepts:_owner limit:{rng.randrange(2, 40)}] ? count_busy(_items) : self.total;
}}
@end
"""


def small(folder, n_classes):
    rng = random.Random(SEED)
    parts = ['#include "app.h"\n']
    for i in range(n_classes):
        parts.append(klass(f"Panel{i}", rng))
    parts.append("int main(int argc, char **argv)\n{\n    long sum = argc;\n")
    for i in range(n_classes):
        parts.append(f"    sum += [(Panel{i} *)[Panel{i} shared] add:sum from:(id)0];\n")
    parts.append("    return (int)observe(sum);\n}\n")
    (folder / "app.m").write_text("".join(parts))


def many(folder, n_units):
    rng = random.Random(SEED)
    for unit in range(n_units):
        parts = ['#include "app.h"\n']
        for k in range(rng.randrange(2, 8)):
            make = rng.choice((functions, hash_function, klass, klass))
            parts.append(make(f"Part{unit}x{k}", rng))
        (folder / f"unit{unit}.m").write_text("".join(parts))


def main():
    stage, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "app.h").write_text(HEADER)
    if stage == "small":
        small(folder, int(sys.argv[3]) if len(sys.argv) > 3 else 260)
    else:
        many(folder, int(sys.argv[3]) if len(sys.argv) > 3 else 2000)


if __name__ == "__main__":
    main()
