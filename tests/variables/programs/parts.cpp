/* Types that this unit declares and parts_part.cpp defines: classes, nested ones, enumerations, members and bases. */
extern "C" {
#include "truth.h"
}
#include "parts.h"

NOINLINE static int
crash(volatile int *where, shop::Order *order, const shop::Order::Line &line, shop::State state)
{
    int local = 4;
    ESCAPE(&local);
    ESCAPE(order);
    T("crash", "local", "%d", local);
    *where = local;
    return local + (int)state + (&line != nullptr);
}

int
main(int argc, char **)
{
    shop::Order *order = shop::order_make(argc);
    const shop::Order::Line &line = shop::order_line(order);
    shop::State state = shop::order_state(order);
    struct item *item = shop::order_item(order);
    ESCAPE(&order);
    ESCAPE(&state);
    ESCAPE(&item);
    shop::order_print(order);
    int r = crash(nullptr, order, line, state);
    ESCAPE(order);
    return r + (item != nullptr);
}
