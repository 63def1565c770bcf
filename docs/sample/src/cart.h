#ifndef DEMO_CART_H
#define DEMO_CART_H

namespace shop
{

struct item {
    const char *name;
    int price_cents;
};

/* Small enough that the optimiser puts it into its callers; the report still tells its name. */
inline int
price_of(const item *what)
{
    return what->price_cents; /* crashes here: what is null */
}

class cart
{
  public:
    void add(const item *what);
    int total() const;

  private:
    const item *items_[8] = {};
    int n_items_ = 0;
};

} // namespace shop

#endif
