struct item;
namespace shop
{
enum class State : unsigned char;
class Order
{
  public:
    struct Line;

  private:
    Order(int id);
    friend Order *order_make(int);
    friend const Line &order_line(Order *);
    friend State order_state(Order *);
    friend struct item *order_item(Order *);
    friend void order_print(Order *);
    struct Impl;
    int id_;
    Impl *impl_;
    Line *line_;
};
Order *order_make(int id);
const Order::Line &order_line(Order *order);
State order_state(Order *order);
struct item *order_item(Order *order);
void order_print(Order *order);
} // namespace shop
