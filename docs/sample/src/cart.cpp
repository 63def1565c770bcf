#include "cart.h"

namespace shop
{

__attribute__((noinline)) void
cart::add(const item *what)
{
    items_[n_items_] = what;
    n_items_ = n_items_ + 1;
}

__attribute__((noinline)) int
cart::total() const
{
    int sum = 0;
    for (int i = 0; i < n_items_; i++) {
        sum += price_of(items_[i]);
    }
    return sum;
}

} // namespace shop
