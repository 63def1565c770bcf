/* Stands for UIKit and Foundation: the run loop that calls the app, and a collection that throws. */
#include <stddef.h>

#define NOINLINE __attribute__((noinline, visibility("default")))
void objc_exception_throw(void *) __attribute__((noreturn));
volatile int kit_depth;

typedef int (*kit_action)(void);

NOINLINE int
__CFRUNLOOP_IS_SERVICING_THE_MAIN_DISPATCH_QUEUE__(kit_action action)
{
    kit_depth += action();
    return kit_depth;
}

NOINLINE int
CFRunLoopRunSpecific(kit_action action)
{
    kit_depth += __CFRUNLOOP_IS_SERVICING_THE_MAIN_DISPATCH_QUEUE__(action);
    return kit_depth;
}

NOINLINE int
UIApplicationMain(int argc, char **argv, kit_action action)
{
    (void)argc, (void)argv;
    kit_depth += CFRunLoopRunSpecific(action);
    return kit_depth;
}

NOINLINE void *object_at(void *self, void *selector,
                         unsigned long index) __asm__("-[__NSArrayM objectAtIndex:]");
void *
object_at(void *self, void *selector, unsigned long index)
{
    (void)self, (void)selector, (void)index;
    objc_exception_throw(0);
}

NOINLINE void *
kit_object_at(void *array, unsigned long index)
{
    kit_depth++;
    void *found = object_at(array, 0, index);
    kit_depth++;
    return found;
}

NOINLINE void not_recognized(void *self) __asm__("-[NSObject(NSObject) doesNotRecognizeSelector:]");
void
not_recognized(void *self)
{
    objc_exception_throw(self);
}

NOINLINE void
___forwarding___(void *self)
{
    kit_depth++;
    not_recognized(self);
    kit_depth++;
}

NOINLINE void
_CF_forwarding_prep_0(void *self)
{
    ___forwarding___(self);
    kit_depth++;
}

NOINLINE void
sort_objects(int (*compare)(void *)) __asm__("-[NSArray sortedArrayUsingComparator:]");
void
sort_objects(int (*compare)(void *))
{
    kit_depth += compare(0);
}

NOINLINE void
kit_sort(int (*compare)(void *))
{
    sort_objects(compare);
    kit_depth++;
}

void *_NSConcreteStackBlock[32];
void *_NSConcreteGlobalBlock[32];

NOINLINE void
_Block_object_assign(void *to, const void *object, int flags)
{
    (void)flags;
    *(const void **)to = object;
}

NOINLINE void
_Block_object_dispose(const void *object, int flags)
{
    (void)object, (void)flags;
}
