/* The definitions for opaque.m; ivars that no header has, some of them bit-fields. */
#include "truth.h"
#include "opaque.h"
void *malloc(unsigned long);

@interface Hidden : NSObject {
  @public
    int secret;
    double ratio;
}
@end
@implementation Hidden
@end

@implementation Known {
    long inner;
    unsigned low : 3;
    int high : 7;
    unsigned is_on : 1;
}
- (void)fill:(long)value {
    inner = value;
    low = 5;
    high = -2;
    is_on = 1;
}
@end

struct handle {
    int number;
    char name[8];
};

NOINLINE Hidden *
hidden_make(int number)
{
    Hidden *hidden = [[Hidden alloc] init];
    hidden->secret = number;
    hidden->ratio = 1.25;
    return hidden;
}

NOINLINE struct handle *
handle_make(int number)
{
    struct handle *handle = malloc(sizeof(*handle));
    handle->number = number;
    handle->name[0] = 'h';
    handle->name[1] = 0;
    return handle;
}
