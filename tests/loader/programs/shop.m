/* Objective-C: instance and class methods, a block, an exception that no one catches. */
#include "app.h"

void *volatile app_hidden;
void objc_exception_throw(id exception) __attribute__((noreturn));

@interface NSObject {
    Class isa;
}
+ (id)alloc;
- (id)init;
@end

@interface Text : NSObject {
    const char *_bytes;
}
- (const char *)UTF8String;
+ (Text *)with:(const char *)bytes;
@end
@implementation Text
- (const char *)UTF8String
{
    return _bytes;
}
+ (Text *)with:(const char *)bytes
{
    Text *text = [[Text alloc] init];
    text->_bytes = bytes;
    return text;
}
@end

@interface Failure : NSObject
- (Text *)name;
- (Text *)reason;
- (id)callStackReturnAddresses;
@end
@implementation Failure
- (Text *)name
{
    return [Text with:"NSRangeException"];
}
- (Text *)reason
{
    return [Text with:"index 7 beyond bounds [0 .. 2] \"\xff\""];
}
- (id)callStackReturnAddresses
{
    return 0;
}
@end

@interface Cart : NSObject {
    int _count;
    double _total;
}
- (int)pay:(int)amount into:(int *)where;
@end
@implementation Cart
- (id)init
{
    _count = 3;
    _total = 12.5;
    return self;
}
- (int)pay:(int)amount into:(int *)where
{
    int rest = (int)_total - amount + _count;
    printf("T -[Cart pay:into:] amount %d\nT -[Cart pay:into:] rest %d\n", amount, rest);
    *where = rest;
    return AFTER(rest);
}
+ (int)checkout:(Cart *)cart
{
    return AFTER([cart pay:5 into:(int *)app_hidden]);
}
@end

int
main(int argc, char **argv)
{
    int code = app_start(argc, argv);
    if (code)
        return code;
    Cart *cart = [[Cart alloc] init];
    if (!strcmp(argv[2], "exception")) {
        CHAIN("* main");
        objc_exception_throw([[Failure alloc] init]);
    }
    CHAIN("-[Cart pay:into:] +[Cart checkout:] main");
    return AFTER([Cart checkout:cart]) & 1;
}
