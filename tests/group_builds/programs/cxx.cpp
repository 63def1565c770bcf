/* Bugs in C++. */
#include "app.h"
#include <vector>

void *volatile app_hidden;
volatile int app_zero;
void *operator new(size_t size);
void operator delete(void *at) noexcept;
void operator delete(void *at, size_t) noexcept;

namespace shop {

struct Item {
    int id = 1, price = 2;
    Item *next = nullptr;
    int total() const;
    int total(int count) const;
};

class Shape {
public:
    virtual int area() const = 0;
    virtual int draw(int) { return 1; }
    virtual ~Shape() {}
};

class Named {
public:
    virtual int name() const { return 3; }
    virtual ~Named() {}
};

class Square : public Shape, public Named {
    int *side_;

public:
    explicit Square(int *side) : side_(side) {}
    int area() const override { return AFTER(*side_ * *side_); }
    int name() const override { return AFTER(side_[1]); }
};

int
Item::total() const
{
    return AFTER(price * id);
}

int
Item::total(int count) const
{
    return AFTER(price * count);
}

static int
method_of_null()
{
    return AFTER(HIDDEN(Item)->total());
}

static int
virtual_of_null()
{
    return AFTER(HIDDEN(Shape)->area());
}

NOINLINE static int
area_of(const Shape &shape)
{
    return AFTER(shape.area());
}

static int
virtual_method()
{
    Square square(HIDDEN(int));
    return AFTER(area_of(square));
}

NOINLINE static int
name_of(const Named &named)
{
    return AFTER(named.name());
}

static int
virtual_thunk()
{
    Square square(HIDDEN(int));
    return AFTER(name_of(square));
}

/* ---- pure virtual ---- */

class Early {
public:
    int state;
    Early() : state(AFTER(prepare())) {}
    NOINLINE int prepare() { return AFTER(run()); }
    virtual int run() = 0;
};

class Late : public Early {
public:
    int run() override { return AFTER(1); }
};

static int
pure_virtual()
{
    Late late;
    return AFTER(late.state);
}

/* ---- templates ---- */

template <class T> class Box {
    T *content_;

public:
    explicit Box(T *content) : content_(content) {}
    NOINLINE T &get() { return AFTER(content_ == nullptr) ? *content_ = T(), *content_ : *content_; }
    T swap(T with)
    {
        T old = *content_;
        *content_ = with;
        return old;
    }
};

static int
box_of_int()
{
    return AFTER(Box<int>(HIDDEN(int)).get());
}

static int
box_of_item()
{
    return AFTER(Box<Item>(HIDDEN(Item)).get().id);
}

static int
box_swap()
{
    return AFTER(Box<long>(HIDDEN(long)).swap(4) != 0);
}

/* ---- lambdas ---- */

template <class F>
NOINLINE int
apply(F call, int n)
{
    return AFTER(call(n) + 1);
}

static int
checkout()
{
    int *where = HIDDEN(int);
    auto pay = [where](int amount) { return AFTER(where[amount]); };
    return AFTER(apply(pay, 3));
}

static int
checkout_each()
{
    Item items[2];
    std::vector<Item> all(items, 2);
    int sum = 0, *where = HIDDEN(int);
    std::for_each(all.begin(), all.end(), [&sum, where](Item &item) { sum += where[item.id]; });
    return AFTER(sum);
}

static int
checkout_generic()
{
    auto add = [](auto a, auto *b) { return AFTER(a + *b); };
    return AFTER(add(2, HIDDEN(int)));
}

NOINLINE static int
call_function(const std::function<int(int)> &call)
{
    return AFTER(call(2));
}

static int
checkout_function()
{
    int *where = HIDDEN(int);
    auto pay = [where](int amount) { return AFTER(where[amount]); };
    std::__function::__func<decltype(pay), int, int> holder(pay);
    return AFTER(call_function(std::function<int(int)>(&holder)));
}

static int
sort_items()
{
    Item *items[2] = {HIDDEN(Item), HIDDEN(Item)};
    qsort(items, 2, sizeof(items[0]), [](const void *a, const void *) {
        return AFTER((*static_cast<Item *const *>(a))->price);
    });
    return AFTER(1);
}

struct Adder {
    int *to;
    int operator()(int n) const { return AFTER(*to + n); }
};

static int
functor()
{
    return AFTER(apply(Adder{HIDDEN(int)}, 4));
}

/* ---- standard containers ---- */

static int
read_prices()
{
    std::vector<Item> items(HIDDEN(Item), 0);
    return AFTER(items[3].price);
}

static int
read_checked()
{
    std::vector<Item> items(HIDDEN(Item), 0);
    return AFTER(items.at(3).price);
}

static int
read_owner()
{
    std::unique_ptr<Item> item(HIDDEN(Item));
    return AFTER(item->price);
}

static int
read_next_owner()
{
    std::unique_ptr<Item> item(HIDDEN(Item));
    return AFTER((*item).id);
}

/* ---- construction ---- */

class Session {
    int *state_;

public:
    explicit Session(int *state) : state_(state) { *state_ = 4; }
    ~Session() { app_zero = 0; }
};

class Base {
public:
    virtual int value() { return 1; }
    virtual ~Base() { app_zero = 0; }
};

class Derived : public virtual Base {
public:
    int *owned;
    Derived() : owned(HIDDEN(int)) {}
    ~Derived() override { *owned = 3; }
};

static int
construct()
{
    Session session(HIDDEN(int));
    return AFTER(1);
}

static int
destroy()
{
    Derived derived;
    return AFTER(derived.value());
}

static int
destroy_deleted()
{
    Base *base = new Derived;
    delete base;
    return AFTER(1);
}

/* ---- operators ---- */

struct Stream {
    int *to;
    Stream &operator<<(int n);
    explicit operator bool() const { return *to != app_zero; }
};

NOINLINE Stream &
Stream::operator<<(int n)
{
    *to = n;
    return *this;
}

static int
shift()
{
    Stream stream{HIDDEN(int)};
    stream << 3;
    return AFTER(1);
}

static int
convert()
{
    Stream stream{HIDDEN(int)};
    return AFTER(stream ? 1 : 2);
}

/* ---- exceptions ---- */

struct Failure {
    int code;
};

struct Missing {
    int code;
};

class Parser {
public:
    NOINLINE int parse(int n)
    {
        if (n == app_zero)
            throw Failure{n};
        return n;
    }
    int open(int n)
    {
        if (n == app_zero)
            throw Missing{n};
        return n;
    }
};

static int
throw_parse()
{
    Parser parser;
    return AFTER(parser.parse(0));
}

static int
throw_open()
{
    Parser parser;
    return AFTER(parser.open(0));
}

/* ---- recursion ---- */

struct Visitor {
    virtual int visit(int depth);
    NOINLINE int enter(int depth)
    {
        volatile int here[20];
        here[depth & 7] = depth;
        return AFTER(visit(depth + 1) + here[2]);
    }
};

int
Visitor::visit(int depth)
{
    return AFTER(enter(depth) + 1);
}

static int
overflow_virtual()
{
    Visitor visitor;
    return AFTER(visitor.visit(0));
}

static int
overflow_lambda()
{
    int *where = HIDDEN(int);
    auto walk = [where](auto self, int depth) -> int {
        volatile int here[20];
        here[depth & 7] = depth;
        return AFTER(self(self, depth + 1) + here[3]);
    };
    return AFTER(walk(walk, 0));
}

/* ---- coroutines ---- */

struct Task {
    struct promise_type {
        Task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() {}
    };
    std::coroutine_handle<promise_type> handle;
};

static Task
fetch(int *to)
{
    co_await std::suspend_always{};
    *to = 4;
}

static int
resume_coroutine()
{
    Task task = fetch(HIDDEN(int));
    task.handle.resume();
    task.handle.resume();
    return AFTER(1);
}

/* ---- the rest ---- */

namespace {
struct Hidden {
    static int read(const int *from) { return AFTER(*from); }
};
} // namespace

static int
anonymous()
{
    return AFTER(Hidden::read(HIDDEN(int)));
}

static int
local_class()
{
    struct Row {
        int *cells;
        int width() const { return AFTER(*cells); }
    };
    return AFTER(Row{HIDDEN(int)}.width());
}

static int
first_overload()
{
    return AFTER(HIDDEN(Item)->total(3));
}

/* The same class name in two namespaces. */
namespace net {
struct Item {
    int id;
    int check() const { return AFTER(id); }
};
} // namespace net
namespace disk {
struct Item {
    int id;
    int check() const { return AFTER(id); }
};
} // namespace disk

static int
check_net()
{
    return AFTER(HIDDEN(net::Item)->check());
}

static int
check_disk()
{
    return AFTER(HIDDEN(disk::Item)->check());
}

static int
lazy_value()
{
    static int *value = HIDDEN(int);
    static const int read = *value + 1;
    return AFTER(read);
}

/* clang-format off */
static app_action
pick(const char *way)
{
    WAY(method_of_null) WAY(virtual_of_null) WAY(virtual_method) WAY(virtual_thunk) WAY(pure_virtual)
    WAY(box_of_int) WAY(box_of_item) WAY(box_swap) WAY(checkout) WAY(checkout_each) WAY(checkout_generic)
    WAY(checkout_function) WAY(sort_items) WAY(functor) WAY(read_prices) WAY(read_checked) WAY(read_owner)
    WAY(read_next_owner) WAY(construct) WAY(destroy) WAY(destroy_deleted) WAY(shift) WAY(convert)
    WAY(throw_parse) WAY(throw_open) WAY(overflow_virtual) WAY(overflow_lambda) WAY(resume_coroutine)
    WAY(anonymous) WAY(local_class) WAY(first_overload) WAY(check_net) WAY(check_disk) WAY(lazy_value)
    return nullptr;
}
/* clang-format on */

} // namespace shop

extern "C" int
main(int argc, char **argv)
{
    return argc > 1 ? UIApplicationMain(argc, argv, shop::pick(argv[1])) : 1;
}
