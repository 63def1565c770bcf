/* A shop whose catalogue does not have what the customer asks for. */
#include "cart.h"

static const shop::item catalogue[] = {{"tea", 250}, {"cup", 800}};

static const shop::item *
find(int number)
{
    return number < 2 ? &catalogue[number] : nullptr;
}

__attribute__((noinline)) static int
checkout(int n_wanted)
{
    shop::cart cart;
    for (int i = 0; i < n_wanted; i++) {
        cart.add(find(i));
    }
    return cart.total() + 499; /* and the parcel */
}

int
main(int argc, char **argv)
{
    (void)argv;
    return checkout(argc + 2) > 0 ? 0 : 1;
}
