/* The containers of libc++, built with its own headers: both layouts of std::string. */
#include <stdio.h>
#include <wchar.h>
#include <stdlib.h>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>
#include <__memory/unique_ptr.h>

extern "C" {
#include "truth.h"
}

/* The parts of libc++ that are in its library. */
template class std::basic_string<char>;
namespace std {
inline namespace __1 {
void __libcpp_verbose_abort(const char *, ...) { for (;;); }
} // namespace __1
} // namespace std
void operator delete(void *, unsigned long, std::align_val_t) noexcept {}
void *operator new(unsigned long n, std::align_val_t) { return malloc(n); }
void operator delete(void *, std::align_val_t) noexcept {}

struct Item {
    int id;
    std::string name;
};

NOINLINE static int
crash(const std::string &text, volatile int *where)
{
    ESCAPE(&text);
    T("crash", "text", "\"%s\"", text.c_str());
    *where = (int)text.size();
    return 1;
}

int
main(int argc, char **)
{
    std::string small = "short", empty;
    std::string large = "a string that is longer than twenty-two bytes";
    std::vector<int> numbers;
    numbers.push_back(1);
    numbers.push_back(22);
    numbers.push_back(argc + 2);
    std::vector<std::string> names;
    names.push_back("one");
    names.push_back("two");
    std::optional<int> some = 7, none;
    std::unique_ptr<Item> item(new Item{5, "item"});
    std::string_view view = large;
    view = view.substr(2, 6);
    std::vector<Item> items;
    ESCAPE(&small);
    ESCAPE(&empty);
    ESCAPE(&large);
    ESCAPE(&numbers);
    ESCAPE(&names);
    ESCAPE(&some);
    ESCAPE(&none);
    ESCAPE(&item);
    ESCAPE(&view);
    ESCAPE(&items);
    T("main", "small", "\"%s\"", small.c_str());
    T("main", "empty", "\"%s\"", empty.c_str());
    T("main", "large", "\"%s\"", large.c_str());
    T("main", "numbers", "size=%zu", numbers.size());
    T("main", "numbers[2]", "%d", numbers[2]);
    T("main", "names[1]", "\"%s\"", names[1].c_str());
    T("main", "some", "%d", *some);
    T("main", "none", "%s", "nullopt");
    T("main", "item.*.id", "%d", item->id);
    T("main", "item.*.name", "\"%s\"", item->name.c_str());
    T("main", "view", "\"%s\"", "string");
    T("main", "items", "size=%zu", items.size());
    return crash(large, nullptr) + argc;
}
