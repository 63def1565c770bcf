/* Bugs in C. */
#include "app.h"

void *volatile app_hidden;
volatile int app_zero;
int zip_inflate(const int *from);
int zip_each(int (*visit)(const int *), const int *item);
int chart_scale(const int *values, int n);
int other_start(void);

struct item {
    int id, price;
    struct item *next;
    const char *name;
    int (*draw)(struct item *);
};

/* ---- pointers ---- */

static int
null_direct(void)
{
    struct item *item = HIDDEN(struct item);
    return item->price;
}

static int
node_value(const struct item *item)
{
    return item->price * 3;
}

static int
parse_node(const struct item *item, int depth)
{
    return depth == 0 ? node_value(item) + 1 : node_value(item) + depth;
}

static int
load_tree(void)
{
    return AFTER(parse_node(HIDDEN(struct item), app_zero));
}

NOINLINE static int
name_length(const struct item *item)
{
    int n = 0;
    for (const char *c = item->name; c[n]; n++)
        continue;
    return n;
}

static int
menu_first(void)
{
    return AFTER(name_length(HIDDEN(struct item)) + 1);
}

static int
menu_second(void)
{
    return AFTER(name_length(HIDDEN(struct item)) + 2);
}

/* One function, two bugs. */
NOINLINE static int
settle(struct item *item, int mode)
{
    if (mode == 1)
        return AFTER(item->price);
    if (mode == 2)
        item->next->price = 4;
    return AFTER(mode);
}

static int
settle_price(void)
{
    return AFTER(settle(HIDDEN(struct item), 1 + app_zero));
}

static int
settle_next(void)
{
    struct item item = {1, 2, HIDDEN(struct item), "", NULL};
    return AFTER(settle(&item, 2 + app_zero));
}

NOINLINE static int
draw_item(struct item *item)
{
    return AFTER(item->draw(item));
}

static int
draw_freed(void)
{
    struct item item = {1, 2, NULL, "",
                        (int (*)(struct item *))(0x5a5a5a5a0ul + (unsigned)app_zero)};
    return AFTER(draw_item(&item));
}

NOINLINE static int
draw_missing(void)
{
    struct item item = {1, 2, NULL, "", (int (*)(struct item *))app_hidden};
    return AFTER(item.draw(&item));
}

__attribute__((noinline)) static int
peek(const int *where)
{
    return where[2];
}

static int
peek_far(void)
{
    return AFTER(peek(HIDDEN(int)));
}

static int
write_title(char *to)
{
    memcpy(to, "a title", 8);
    return AFTER(to[1]);
}

static int
copy_title(void)
{
    return AFTER(write_title(HIDDEN(char)));
}

static int
measure_title(void)
{
    return AFTER((int)strlen(HIDDEN(char)));
}

/* ---- recursion ---- */

NOINLINE static int
descend(struct item *item, int depth)
{
    volatile int here[20];
    here[depth & 15] = depth;
    return AFTER(descend(item, depth + 1) + here[3]);
}

static int
overflow_direct(void)
{
    return AFTER(descend(NULL, 0));
}

static int layout_view(int depth);

NOINLINE static int
layout_children(int depth)
{
    volatile int here[30];
    here[depth & 15] = depth;
    return AFTER(layout_view(depth + 1) + here[2]);
}

NOINLINE static int
layout_view(int depth)
{
    volatile int here[10];
    here[depth & 7] = depth;
    return AFTER(layout_children(depth + 1) + here[2]);
}

static int
overflow_mutual(void)
{
    return AFTER(layout_view(0));
}

static int
overflow_mutual_other_way(void)
{
    return AFTER(layout_children(1));
}

NOINLINE static int
hash_leaf(volatile int *at)
{
    volatile int local[40];
    local[*at & 15] = 3;
    return AFTER(local[2]);
}

NOINLINE static int
walk_tree(int depth)
{
    volatile int here[12];
    here[depth & 7] = depth;
    return AFTER(hash_leaf(&here[depth & 7]) + walk_tree(depth + 1));
}

static int
overflow_with_leaf(void)
{
    return AFTER(walk_tree(0));
}

static int compare_deep(const void *a, const void *b);

NOINLINE static int
sort_level(int depth)
{
    int items[2] = {depth, depth + 1};
    qsort(items, 2, sizeof(int), compare_deep);
    return AFTER(items[0]);
}

static int
compare_deep(const void *a, const void *b)
{
    return AFTER(sort_level(*(const int *)a) + *(const int *)b);
}

static int
overflow_through_sort(void)
{
    return AFTER(sort_level(0));
}

/* ---- ends that are meant ---- */

static int
abort_here(void)
{
    if (app_zero == 0)
        abort();
    return 1;
}

/* The call is the last instruction: it returns to where the next function begins. */
NOINLINE __attribute__((noreturn)) static void
give_up(void)
{
    abort();
}

static int
last_call(void)
{
    give_up();
}

static int
check_order(void)
{
    if (app_zero == 0)
        __assert_rtn("check_order", "c.c", 12, "order");
    return 2;
}

static int
check_stock(void)
{
    if (!app_hidden)
        __assert_rtn("check_stock", "c.c", 20, "stock");
    return 3;
}

/* What is unlikely is split off by some builds. */
NOINLINE static int
open_database(int flags)
{
    int sum = flags;
    for (int i = 0; i < flags + 3; i++)
        sum += i * flags;
    if (__builtin_expect(sum >= 0, 0)) {
        app_zero = 0;
        int code = sum * 3 + flags;
        *HIDDEN(int) = code;
        abort();
    }
    return AFTER(sum);
}

static int
unlikely_part(void)
{
    return AFTER(open_database(app_zero));
}

INLINE int
checked_divide(int a, int b)
{
    if (b == 0)
        __builtin_trap();
    return a / b;
}

NOINLINE static int
average(int sum, int n)
{
    return AFTER(checked_divide(sum, n));
}

static int
divide(void)
{
    return AFTER(average(7, app_zero));
}

/* ---- broken stacks ---- */

NOINLINE static int
smash(int value)
{
    void *volatile *frame = (void *volatile *)__builtin_frame_address(0);
    frame[0] = (void *)0x10;
    frame[1] = (void *)(0x6b6b6b60ul + (unsigned)value);
    return AFTER(value);
}

static int
smashed(void)
{
    return AFTER(smash(app_zero));
}

/* ---- calls of others ---- */

static int
compare_names(const void *a, const void *b)
{
    const struct item *const *first = a;
    (void)b;
    return AFTER((*first)->id);
}

static int
sort_names(void)
{
    struct item *items[2] = {HIDDEN(struct item), HIDDEN(struct item)};
    qsort(items, 2, sizeof(items[0]), compare_names);
    return AFTER(1);
}

static void
finish_upload(void *argument)
{
    struct item *item = argument;
    item->price = 4 + app_zero;
}

static int
upload(void)
{
    system_call(finish_upload, HIDDEN(void));
    return AFTER(1);
}

NOINLINE static int
load_archive(const int *from)
{
    return AFTER(zip_inflate(from));
}

static int
load_theme(const int *from)
{
    return AFTER(zip_inflate(from) + 7);
}

static int
vendored_archive(void)
{
    return AFTER(load_archive(HIDDEN(int)));
}

static int
vendored_theme(void)
{
    return AFTER(load_theme(HIDDEN(int)));
}

static int
vendored_package(void)
{
    return AFTER(chart_scale(HIDDEN(int), 3));
}

static int
visit_entry(const int *entry)
{
    return AFTER(entry[1]);
}

static int
vendored_calls_back(void)
{
    return AFTER(zip_each(visit_entry, HIDDEN(int)));
}

/* ---- calls that are jumps ---- */

NOINLINE static int
last_of_tail(struct item *item)
{
    item->id++;
    return item->price;
}

NOINLINE static int
middle_of_tail(struct item *item)
{
    return last_of_tail(item);
}

static int
tail(void)
{
    return middle_of_tail(HIDDEN(struct item));
}

/* ---- helpers ---- */

NOINLINE static int
log_value(const char *format, const struct item *item)
{
    return AFTER(format[0] + item->id);
}

static int
log_from_cart(void)
{
    return AFTER(log_value("%d", HIDDEN(struct item)));
}

static int
log_from_menu(void)
{
    return AFTER(log_value("%x", HIDDEN(struct item)) + 1);
}

/* ---- hangs ---- */

NOINLINE static int
lock_cache(void)
{
    pthread_mutex_lock(app_hidden);
    return AFTER(1);
}

NOINLINE static int
tap_save(void)
{
    return AFTER(lock_cache() + 1);
}

NOINLINE static int
tap_reload(void)
{
    return AFTER(lock_cache() + 2);
}

/* ---- one name, two functions ---- */

static int
prepare(const int *from)
{
    return AFTER(from[1]);
}

static int
start(void)
{
    return AFTER(prepare(HIDDEN(int)));
}

/* clang-format off */
static app_action
pick(const char *way)
{
    WAY(null_direct) WAY(load_tree) WAY(menu_first) WAY(menu_second) WAY(settle_price) WAY(settle_next)
    WAY(draw_freed) WAY(draw_missing) WAY(peek_far) WAY(copy_title) WAY(measure_title) WAY(overflow_direct)
    WAY(overflow_mutual) WAY(overflow_mutual_other_way) WAY(overflow_with_leaf) WAY(overflow_through_sort)
    WAY(abort_here) WAY(last_call) WAY(check_order) WAY(check_stock) WAY(unlikely_part) WAY(divide)
    WAY(smashed) WAY(sort_names) WAY(upload) WAY(vendored_archive) WAY(vendored_theme) WAY(vendored_package)
    WAY(vendored_calls_back) WAY(tail) WAY(log_from_cart) WAY(log_from_menu) WAY(tap_save) WAY(tap_reload)
    WAY(start) WAY(other_start)
    return NULL;
}
/* clang-format on */

int
main(int argc, char **argv)
{
    return argc > 1 ? UIApplicationMain(argc, argv, pick(argv[1])) : 1;
}
