// C++: methods, a template, references, a lambda, an inlined method.
#include "app.h"

void *volatile app_hidden;

namespace shapes
{

struct point {
    int x, y;
};

class shape
{
  public:
    explicit shape(int sides) : sides_(sides) {}
    virtual ~shape() = default;
    virtual int area(const point &corner, int *where) const = 0;

  protected:
    int sides_;
};

class square : public shape
{
  public:
    explicit square(int side) : shape(4), side_(side) {}
    NOINLINE int area(const point &corner, int *where) const override
    {
        int scaled = scale(corner.x, where);
        return AFTER(scaled * side_);
    }

  private:
    __attribute__((always_inline)) int scale(int factor, int *where) const
    {
        int result = factor * side_ + sides_;
        printf("T square::scale factor %d\nT square::scale result %d\n", factor, result);
        *where = result;
        return result;
    }
    int side_;
};

template <typename T>
NOINLINE T
sum(const shape &shape, const T &first, int *where)
{
    point corner{static_cast<int>(first), 2};
    printf("T sum first %d\n", static_cast<int>(first));
    auto add = [&corner, where, &shape](int n) NOINLINE {
        corner.y += n;
        return AFTER(shape.area(corner, where) + corner.y);
    };
    return AFTER(add(3) + corner.x);
}

} // namespace shapes

struct out_of_stock {
    int id;
};

int
main(int argc, char **argv)
{
    int code = app_start(argc, argv);
    if (code)
        return code;
    if (!strcmp(argv[2], "exception")) {
        CHAIN("* main");
        throw out_of_stock{7};
    }
    shapes::square square(argc + 2);
    CHAIN("square::scale square::area operator() sum main");
    return AFTER(shapes::sum<long>(square, 5L, static_cast<int *>(app_hidden))) & 1;
}
