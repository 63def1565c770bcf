/* Bugs in Objective-C. */
#include "app.h"

void *volatile app_hidden;
volatile int app_zero;
void objc_exception_throw(id) __attribute__((noreturn));
void *kit_object_at(void *array, unsigned long index);
void kit_sort(int (*compare)(void *));
void _CF_forwarding_prep_0(void *);

@interface NSObject {
    Class isa;
}
+ (id)alloc;
- (id)init;
@end

@interface Cart : NSObject {
    int *_items;
}
- (int)add:(int)count;
- (int)total;
- (int)checkout;
- (int)checkoutNested;
- (int)pick:(unsigned long)index;
- (int)pickLast;
- (int)fail;
- (int)forward;
- (int)walk:(int)depth;
- (int)upload;
- (int)upload:(int)count;
- (int)sort;
- (int)sync;
- (int)label __attribute__((objc_direct));
- (id)initWithItems:(int *)items;
+ (int)shared;
@end

static Cart *cart;
static int call_block(int (^block)(int));
/* Without a message: the loader's objc_msgSend has no frame that is known. */
int walk_on(Cart *self, void *selector, int depth) __asm__("-[Cart walk:]");

@implementation Cart
- (id)init
{
    _items = HIDDEN(int);
    return self;
}
- (id)initWithItems:(int *)items
{
    _items = items;
    *_items = 3;
    return self;
}
- (int)add:(int)count
{
    _items[count] = 4;
    return AFTER(count);
}
- (int)total
{
    int sum = 0;
    for (int i = 0; i < 3 + app_zero; i++)
        sum += _items[i];
    return AFTER(sum);
}
- (int)checkout
{
    int *items = _items;
    return AFTER(call_block(^(int n) {
        return AFTER(items[n]);
    }));
}
- (int)checkoutNested
{
    int *items = _items;
    return AFTER(call_block(^(int n) {
        return AFTER(call_block(^(int k) {
                         return AFTER(items[n + k]);
                     }) +
                     n);
    }));
}
- (int)pick:(unsigned long)index
{
    return AFTER(kit_object_at(_items, index) != 0);
}
- (int)pickLast
{
    return AFTER(kit_object_at(_items, 99) != 0);
}
- (int)fail
{
    if (app_zero == 0)
        objc_exception_throw((id)self);
    return 1;
}
- (int)forward
{
    _CF_forwarding_prep_0(_items);
    return AFTER(1);
}
- (int)walk:(int)depth
{
    volatile int here[20];
    here[depth & 7] = depth;
    return AFTER(call_block(^(int n) {
                     return AFTER(walk_on(self, 0, depth + n));
                 }) +
                 here[3]);
}
static void
finish(void *argument)
{
    ((int (^)(int))argument)(3);
    app_zero = 0;
}
- (int)upload
{
    int *items = _items;
    int (^block)(int) = ^(int n) {
        items[n] = 4;
        return AFTER(n);
    };
    system_call(finish, (void *)block);
    return AFTER(1);
}
- (int)upload:(int)count
{
    _items[count + 7] = 4;
    return AFTER(count);
}
static int
compare(void *item)
{
    return AFTER(*(int *)item);
}
- (int)sort
{
    kit_sort(compare);
    return AFTER(1);
}
- (int)sync
{
    pthread_mutex_lock(_items);
    return AFTER(1);
}
- (int)label __attribute__((objc_direct))
{
    return AFTER(_items[5]);
}
+ (int)shared
{
    return AFTER(*HIDDEN(int));
}
@end

/* Categories are merged by the runtime, which the loader has not: their methods are called directly. */
@interface Cart (Discounts)
- (int)discount;
@end
@implementation Cart (Discounts)
- (int)discount
{
    return AFTER(HIDDEN(int)[2]);
}
@end
int discount(Cart *self, void *selector) __asm__("-[Cart(Discounts) discount]");

@interface Menu : NSObject
- (int)total;
@end
@implementation Menu
- (int)total
{
    return AFTER(HIDDEN(int)[7]);
}
@end

NOINLINE static int
call_block(int (^block)(int))
{
    return AFTER(block(2) + 1);
}

static int m_add(void) { return AFTER([cart add:2]); }
static int m_total(void) { return AFTER([cart total]); }
static int m_checkout(void) { return AFTER([cart checkout]); }
static int m_nested(void) { return AFTER([cart checkoutNested]); }
static int m_pick(void) { return AFTER([cart pick:7]); }
static int m_pick_last(void) { return AFTER([cart pickLast]); }
static int m_fail(void) { return AFTER([cart fail]); }
static int m_forward(void) { return AFTER([cart forward]); }
static int m_walk(void) { return AFTER(walk_on(cart, 0, 0)); }
static int m_upload(void) { return AFTER([cart upload]); }
static int m_upload_count(void) { return AFTER([cart upload:1]); }
static int m_sort(void) { return AFTER([cart sort]); }

static int m_sync(void) { return AFTER([cart sync]); }
static int m_label(void) { return AFTER([cart label]); }
static int m_shared(void) { return AFTER([Cart shared]); }
static int m_init(void) { return AFTER([[Cart alloc] initWithItems:HIDDEN(int)] != 0); }
static int m_discount(void) { return AFTER(discount(cart, 0)); }
static int m_menu(void) { return AFTER([[[Menu alloc] init] total]); }

static int
c_block(void)
{
    int *where = HIDDEN(int);
    return AFTER(call_block(^(int n) {
        return AFTER(where[n]);
    }));
}

/* clang-format off */
static app_action
pick(const char *way)
{
    WAY(m_add) WAY(m_total) WAY(m_checkout) WAY(m_nested) WAY(m_pick) WAY(m_pick_last) WAY(m_fail)
    WAY(m_forward) WAY(m_walk) WAY(m_upload) WAY(m_upload_count) WAY(m_sort) WAY(m_sync) WAY(m_label)
    WAY(m_shared) WAY(m_init) WAY(m_discount) WAY(m_menu) WAY(c_block)
    return NULL;
}
/* clang-format on */

int
main(int argc, char **argv)
{
    cart = [[Cart alloc] init];
    return argc > 1 ? UIApplicationMain(argc, argv, pick(argv[1])) : 1;
}
