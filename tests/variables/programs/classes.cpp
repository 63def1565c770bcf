/* C++: this, members, bases, virtual bases, references, templates, namespaces, lambdas, member pointers. */
extern "C" {
#include "truth.h"
}

namespace shop {
enum class Color : unsigned char { Red = 1, Green = 2, Blue = 4 };
struct Named {
    virtual ~Named();
    virtual int id() const { return number; }
    int number = 5;
};
Named::~Named() {}
struct Left : virtual Named {
    int left = 11;
};
struct Right : virtual Named {
    int right = 22;
};
struct Both : Left, Right {
    int own = 33;
    int id() const override { return own; }
};
template <class T, int N> struct Box {
    T items[N];
    T total;
    NOINLINE T sum(int factor) const;
};
struct Point {
    double x, y;
};
class Account {
  public:
    Account(int id, double amount) : id_(id), amount_(amount) {}
    NOINLINE int withdraw(double by, const Point &where, char16_t sign);

  private:
    int id_;
    double amount_;
    Color color_ = Color::Blue;
    unsigned locked_ : 1 = 1;
    unsigned level_ : 4 = 9;
    static int count;
};
int Account::count = 77;
static int deepest = 3;
} // namespace shop

NOINLINE static int
crash(volatile int *where, const shop::Both &both, shop::Point &&moved)
{
    int id = both.id();
    T("crash", "id", "%d", id);
    T("crash", "moved.x", "%g", moved.x);
    T("crash", "moved.y", "%g", moved.y);
    T("crash", "both.own", "%d", both.own);
    ESCAPE(&id);
    *where = id;
    return id;
}

int
shop::Account::withdraw(double by, const Point &where, char16_t sign)
{
    char32_t wide = U'\u20ac';
    bool enough = amount_ >= by;
    double left = amount_ - by;
    int captured = id_ * 2;
    ESCAPE(&left);
    T("withdraw", "by", "%g", by);
    T("withdraw", "where.x", "%g", where.x);
    T("withdraw", "where.y", "%g", where.y);
    T("withdraw", "sign", "u'%s'", "A");
    T("withdraw", "wide", "U'%s'", "\xe2\x82\xac");
    T("withdraw", "enough", "%s", enough ? "true" : "false");
    T("withdraw", "left", "%g", left);
    T("withdraw", "captured", "%d", captured);
    T("withdraw", "this.*.id_", "%d", id_);
    T("withdraw", "this.*.amount_", "%g", amount_);
    T("withdraw", "this.*.color_", "Blue (%d)", (int)color_);
    T("withdraw", "this.*.locked_", "%d", (int)locked_);
    T("withdraw", "this.*.level_", "%d", (int)level_);
    auto add = [&captured, left](int more) NOINLINE {
        int sum = captured + more;
        T("operator()", "more", "%d", more);
        T("operator()", "sum", "%d", sum);
        T("operator()", "this.*.left", "%g", left);
        Both both;
        both.own = sum;
        ESCAPE(&both);
        Point moved{1.5, left};
        return crash((volatile int *)nullptr, both, static_cast<Point &&>(moved));
    };
    int got = add(7);
    count += got + (int)wide + (sign != 0);
    ESCAPE(this);
    return enough ? got : 0;
}

template <class T, int N> T
shop::Box<T, N>::sum(int factor) const
{
    T all = 0;
    for (int i = 0; i < N; i++)
        all += items[i] * factor;
    T("sum", "factor", "%d", factor);
    T("sum", "all", "%ld", (long)all);
    T("sum", "this.*.total", "%ld", (long)this->total);
    T("sum", "this.*.items[1]", "%ld", (long)items[1]);
    Account account(12, 100.5);
    Point where{3.25, -4};
    int (Account::*method)(double, const Point &, char16_t) = &Account::withdraw;
    double Point::*member = &Point::y;
    ESCAPE(&account);
    ESCAPE(&method);
    ESCAPE(&member);
    T("sum", "member", "offset %d", 8);
    T("sum", "where.y", "%g", where.y);
    int got = account.withdraw(20.25, where, u'A');
    ESCAPE(&account);
    return all + got + deepest;
}

int
main(int argc, char **)
{
    shop::Box<long, 3> box = {{1, 2, argc}, 99};
    ESCAPE(&box);
    T("main", "box.total", "%ld", box.total);
    T("main", "box.items[2]", "%ld", box.items[2]);
    return (int)box.sum(argc + 2);
}
