/* The definitions for parts.cpp. */
extern "C" {
#include "truth.h"
void *malloc(unsigned long);
}
#include "parts.h"

struct item {
    int number;
    unsigned flag : 1, level : 5;
    const char *label;
};
namespace shop {
enum class State : unsigned char { Open = 3, Closed = 9 };
struct Order::Line {
    double price;
    short count;
};
struct Order::Impl {
    State state;
    struct item item;
};
Order::Order(int id) : id_(id)
{
    impl_ = (Impl *)malloc(sizeof(Impl));
    line_ = (Line *)malloc(sizeof(Line));
    impl_->state = State::Closed;
    impl_->item.number = 40 + id;
    impl_->item.flag = 1;
    impl_->item.level = 17;
    impl_->item.label = "label";
    line_->price = 2.75;
    line_->count = -3;
}
NOINLINE Order *
order_make(int id)
{
    Order *order = (Order *)malloc(sizeof(Order));
    *order = Order(id);
    return order;
}
NOINLINE const Order::Line &
order_line(Order *order)
{
    return *order->line_;
}
NOINLINE State
order_state(Order *order)
{
    return order->impl_->state;
}
NOINLINE struct item *
order_item(Order *order)
{
    return &order->impl_->item;
}
NOINLINE void
order_print(Order *order)
{
    T("main", "state", "Closed (%d)", (int)order->impl_->state);
    T("main", "item.*.number", "%d", order->impl_->item.number);
    T("main", "item.*.flag", "%d", (int)order->impl_->item.flag);
    T("main", "item.*.level", "%d", (int)order->impl_->item.level);
    T("main", "order.*.id_", "%d", order->id_);
    T("main", "line.price", "%g", order->line_->price);
    T("main", "line.count", "%d", order->line_->count);
    T("crash", "line.price", "%g", order->line_->price);
    T("crash", "line.count", "%d", order->line_->count);
    T("crash", "state", "Closed (%d)", (int)order->impl_->state);
    T("crash", "order.*.id_", "%d", order->id_);
}
} // namespace shop
