/* Objective-C: self, _cmd, ivars, BOOL, blocks, constant strings, dynamic classes. */
#include "truth.h"

#if defined(__arm64__)
typedef _Bool BOOL;
#else
typedef signed char BOOL;
#endif
#define YES ((BOOL)1)
#define NO ((BOOL)0)
__attribute__((objc_root_class)) @interface NSObject {
    Class isa;
}
+ (id)alloc;
- (id)init;
@end
@interface NSString : NSObject
@end
@interface NSConstantString : NSString {
    char *bytes;
    unsigned long length;
}
@end
extern void *_NSConcreteStackBlock[32], *_NSConcreteGlobalBlock[32];
void *_NSConcreteStackBlock[32], *_NSConcreteGlobalBlock[32];
long __CFConstantStringClassReference[8];
/* The runtime of blocks is not there; these blocks never leave the stack. */
void _Block_object_assign(void *to, const void *from, int flags) {}
void _Block_object_dispose(const void *object, int flags) {}

@interface Shape : NSObject {
  @public
    int sides;
    double area;
    Shape *next;
    BOOL visible;
}
- (int)scaleBy:(int)factor always:(BOOL)always;
@end
@interface Square : Shape {
  @public
    long edge;
    const char *label;
    NSString *title;
}
- (long)grow:(long)by;
@end

typedef int (^work)(int);

NOINLINE static int
crash(volatile int *where, id object, work block)
{
    int local = 3;
    ESCAPE(&local);
    ESCAPE(&object);
    ESCAPE(&block);
    T("crash", "local", "%d", local);
    *where = local;
    return block(local);
}

@implementation Shape
- (int)scaleBy:(int)factor always:(BOOL)always {
    int product = sides * factor;
    long captured = 1234;
    __block int counter = 55;
    work block = ^(int more) {
      counter += more;
      T("block", "more", "%d", more);
      int inside = more + (int)captured;
      T("block", "inside", "%d", inside);
      T("block", "captured", "%ld", captured);
      T("block", "counter", "%d", counter);
      ESCAPE(&inside);
      int got = crash((volatile int *)0, self, (work)0);
      return got + inside + counter;
    };
    ESCAPE(&block);
    T("scaleBy", "product", "%d", product);
    T("scaleBy", "factor", "%d", factor);
    T("scaleBy", "captured", "%ld", captured);
    T("scaleBy", "always", "%s", always ? "YES" : "NO");
    T("scaleBy", "_cmd", "@selector(%s)", "scaleBy:always:");
    T("scaleBy", "self.*.sides", "%d", sides);
    T("scaleBy", "self.*.area", "%g", area);
    T("scaleBy", "self.*.visible", "%s", visible ? "YES" : "NO");
    int r = block(product);
    ESCAPE(self);
    return r + (int)captured;
}
@end

@implementation Square
- (long)grow:(long)by {
    NSString *constant = @"constant";
    id other = self;
    Class class = 0;
    edge += by;
    ESCAPE(&constant);
    ESCAPE(&other);
    ESCAPE(&class);
    T("grow", "by", "%ld", by);
    T("grow", "self.*.edge", "%ld", edge);
    T("grow", "self.*.Shape.sides", "%d", sides);
    T("grow", "_cmd", "@selector(%s)", "grow:");
    long r = [self scaleBy:4 always:YES];
    ESCAPE(other);
    return r + by;
}
@end

int
main(int argc, char **argv)
{
    Square *square = [[Square alloc] init];
    square->sides = 4;
    square->area = 6.25;
    square->visible = YES;
    square->edge = 1000 + argc;
    square->label = "a label";
    square->title = @"a title";
    ESCAPE(square);
    long r = [square grow:argc + 1];
    return (int)r;
}
