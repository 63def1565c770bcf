/*
 * Bugs as Swift's compiler makes them: C functions with the names of Swift ones. With optimisation the names are those that its
 * optimiser makes (specialised, merged, split at awaits), and traps have inlined pseudo functions; without it they call
 * the runtime.
 */
#include "app.h"

void *volatile app_hidden;
volatile int app_zero;

#ifdef __OPTIMIZE__
#define SWIFT(debug, release) __asm__("_" release)
#else
#define SWIFT(debug, release) __asm__("_" debug)
#endif
#define NAMED(name) __asm__("_" name)
#define KEEP __attribute__((noinline, used))

void completeTaskWithClosure(void (*work)(void *), void *argument);
void swift_retain(void *object);
void swift_failure(const char *text)
    NAMED("$ss17_assertionFailure__4file4line5flagss5NeverOs12StaticStringV_SSAHSus6UInt32VtF")
        __attribute__((noreturn));

/* A way, and the function that crashes in it. */
#define READS(way, function, names)                  \
    KEEP static int function(const int *from) names; \
    static int function(const int *from)             \
    {                                                \
        return AFTER(from[1]);                       \
    }                                                \
    static int way(void)                             \
    {                                                \
        return AFTER(function(HIDDEN(int)));         \
    }

/* What a failed check is: a pseudo function that is inlined, or a call of the runtime. */
INLINE void trap_nil(void) __asm__(
    "Swift runtime failure: Unexpectedly found nil while unwrapping an Optional value");
INLINE void
trap_nil(void)
{
    __builtin_trap();
}
INLINE void trap_index(void) __asm__("Swift runtime failure: Index out of range");
INLINE void
trap_index(void)
{
    __builtin_trap();
}
INLINE void trap_overflow(void) __asm__("Swift runtime failure: arithmetic overflow");
INLINE void
trap_overflow(void)
{
    __builtin_trap();
}
#ifdef __OPTIMIZE__
#define FAILED_NIL() trap_nil()
#define FAILED_INDEX() trap_index()
#else
#define FAILED_NIL() swift_failure("Unexpectedly found nil while unwrapping an Optional value")
#define FAILED_INDEX() swift_failure("Index out of range")
#endif

/* ---- traps ---- */

KEEP static int total(int *items) NAMED("$s4Shop4CartC5totalSiyF");
static int
total(int *items)
{
    if (!items)
        FAILED_NIL();
    return AFTER(*items);
}
static int
nil_unwrapped(void)
{
    return AFTER(total(HIDDEN(int)));
}

KEEP static int item_at(int n) SWIFT("$s4Shop4CartC4itemyS2iF", "$s4Shop4CartC4itemyS2iFTf4nd_n");
static int
item_at(int n)
{
    if (n >= app_zero)
        FAILED_INDEX();
    return AFTER(n);
}
static int
index_range(void)
{
    return AFTER(item_at(4));
}

/* The same function, and another trap: another issue. */
KEEP static int item_nil(int *from) NAMED("$s4Shop4CartC5totalSiyF.1");
static int
item_nil(int *from)
{
    if (!from)
        FAILED_INDEX();
    return AFTER(*from);
}
static int
other_trap(void)
{
    return AFTER(item_nil(HIDDEN(int)));
}

/* Overflow traps without a call of the runtime in any build. */
KEEP static int sum(int a) NAMED("$s4Shop4CartC3sumyS2iF");
static int
sum(int a)
{
    if (a > app_zero)
        trap_overflow();
    return AFTER(a);
}
static int
overflow_trap(void)
{
    return AFTER(sum(4));
}

/* A subscript of the standard library that is specialised in the app, or inlined. */
#ifdef __OPTIMIZE__
INLINE
#else
KEEP static
#endif
int check_subscript(int n)
    SWIFT("$sSa15_checkSubscript_20wasNativeTypeCheckeds16_DependenceTokenVSi_SbtFSi_Tg5",
          "$sSa15_checkSubscript_20wasNativeTypeCheckeds16_DependenceTokenVSi_SbtF");
#ifdef __OPTIMIZE__
INLINE
#else
static
#endif
int
check_subscript(int n)
{
    if (n >= app_zero)
        FAILED_INDEX();
    return AFTER(n);
}
KEEP static int first_line(int n) NAMED("$s4Shop4MenuV9firstLineSiyF");
static int
first_line(int n)
{
    return AFTER(check_subscript(n));
}
static int
subscript_of_array(void)
{
    return AFTER(first_line(3));
}

KEEP static int fatal(int n) NAMED("$s4Shop4MenuV4stopyySiF");
static int
fatal(int n)
{
    if (n > app_zero)
        swift_failure("the menu is empty");
    return AFTER(n);
}
static int
fatal_error(void)
{
    return AFTER(fatal(3));
}

/* ---- closures and thunks ---- */

KEEP static int closure(int *to)
    SWIFT("$s4Shop4CartC8checkoutyyFySiXEfU_", "$s4Shop4CartC8checkoutyyFySiXEfU_Tf4nd_n");
static int
closure(int *to)
{
    *to = 4;
    return AFTER(1);
}
KEEP static int forwarder(int *to) NAMED("$s4Shop4CartC8checkoutyyFySiXEfU_TA");
static int
forwarder(int *to)
{
    return AFTER(closure(to));
}
KEEP static int reabstraction(int *to) NAMED("$sSiIegd_SiIegr_TR");
static int
reabstraction(int *to)
{
    return AFTER(forwarder(to));
}
KEEP static int checkout_caller(int *to) NAMED("$s4Shop4CartC8checkoutyyF");
static int
checkout_caller(int *to)
{
    return AFTER(reabstraction(to));
}
static int
crash_in_closure(void)
{
    return AFTER(checkout_caller(HIDDEN(int)));
}

KEEP static int nested(int *to) NAMED("$s4Shop4MenuV5printyyFySiXEfU_ySSXEfU0_");
static int
nested(int *to)
{
    return AFTER(*to);
}
static int
nested_closure(void)
{
    return AFTER(nested(HIDDEN(int)));
}

/* The numbers of closures change with edits. */
KEEP static int numbered(int *to)
    SWIFT("$s4Shop4MenuV5closeyyFySiXEfU_", "$s4Shop4MenuV5closeyyFySiXEfU3_");
static int
numbered(int *to)
{
    return AFTER(*to);
}
static int
numbered_closure(void)
{
    return AFTER(numbered(HIDDEN(int)));
}

/* ---- async ---- */

KEEP static void resume_load(void *to)
    SWIFT("$s4Shop5StoreC4loadyyYaFTY1_", "$s4Shop5StoreC4loadyyYaFTQ0_");
static void
resume_load(void *to)
{
    *(int *)to = 4;
    app_zero = 0;
}
static int
async_resume(void)
{
    completeTaskWithClosure(resume_load, HIDDEN(void));
    return AFTER(1);
}

KEEP static void entry_load(void *to)
    SWIFT("$s4Shop5StoreC4saveyyYaF", "$s4Shop5StoreC4saveyyYaFTY0_");
static void
entry_load(void *to)
{
    *(int *)to = 4;
    app_zero = 0;
}
static int
async_entry(void)
{
    completeTaskWithClosure(entry_load, HIDDEN(void));
    return AFTER(1);
}

KEEP static void task_body(void *to)
    SWIFT("$s4Shop5StoreC5startyyFyyYaYbcfU_TY1_", "$s4Shop5StoreC5startyyFyyYaYbcfU_TATQ0_");
static void
task_body(void *to)
{
    *(int *)to = 4;
    app_zero = 0;
}
static int
async_closure(void)
{
    completeTaskWithClosure(task_body, HIDDEN(void));
    return AFTER(1);
}

KEEP static void actor_bump(void *to)
    SWIFT("$s4Shop7CounterC4bumpyyYaFTY0_", "$s4Shop7CounterC4bumpyyYaFTf4d_nTY0_");
static void
actor_bump(void *to)
{
    *(int *)to = 4;
    app_zero = 0;
}
static int
actor_method(void)
{
    completeTaskWithClosure(actor_bump, HIDDEN(void));
    return AFTER(1);
}

/* ---- generics and specialisation ---- */

READS(generic, cache_get,
      SWIFT("$s4Shop5CacheC3get3keyxSgSS_tF", "$s4Shop5CacheC3get3keyxSgSS_tFSi_Tg5"))

READS(extension_of_array, second_of, SWIFT("$sSa4ShopE6secondxyF", "$sSa4ShopE6secondxyFSi_Tg5"))

READS(merged_getter, merged, SWIFT("$s4Shop4MenuV5widthSivg", "$s4Shop4MenuV5widthSivgTm"))

READS(private_function, private_secret,
      SWIFT("$s4Shop4MenuV6secret33_0123456789ABCDEF0123456789ABCDEFLLSiyF",
            "$s4Shop4MenuV6secret33_FEDCBA9876543210FEDCBA9876543210LLSiyF"))

/* ---- kinds of functions ---- */

KEEP static int pay(int *to)
    SWIFT("$s4Shop4CartC3pay6amountySi_tF", "$s4Shop4CartC3pay6amountySi_tFTf4nd_n");
static int
pay(int *to)
{
    *to = 4;
    return AFTER(2);
}
KEEP static int pay_witness(int *to) NAMED("$s4Shop4CartCAA7PayableA2aDP3pay6amountySi_tFTW");
static int
pay_witness(int *to)
{
    return AFTER(pay(to));
}
static int
witness(void)
{
    return AFTER(pay_witness(HIDDEN(int)));
}

/* The witness has the whole function inlined. */
KEEP static int refund(int *to)
    SWIFT("$s4Shop4CartC6refundyySiF", "$s4Shop4CartCAA7PayableA2aDP6refundyySiFTW");
static int
refund(int *to)
{
    *to = 4;
    return AFTER(2);
}
static int
witness_inlined(void)
{
    return AFTER(refund(HIDDEN(int)));
}

READS(default_value, default_argument, NAMED("$s4Shop4CartC3addyySiFfA_"))

READS(property_wrapper, wrapper, NAMED("$s4Shop8SettingsV5themeSSvpfP"))

READS(did_set, observer, NAMED("$s4Shop4CartC5countSivW"))

READS(setter, set_count, NAMED("$s4Shop4CartC5countSivs"))

READS(initialiser, make_cart, SWIFT("$s4Shop4CartC4sizeACSi_tcfc", "$s4Shop4CartC4sizeACSi_tcfC"))

READS(deinitialiser, end_cart, SWIFT("$s4Shop4CartCfd", "$s4Shop4CartCfD"))

KEEP static int shared_once(int *from) NAMED("$s4Shop4CartC6shared_WZ");
static int
shared_once(int *from)
{
    return AFTER(*from);
}
KEEP static int shared(int *from) NAMED("$s4Shop4CartC6sharedACvau");
static int
shared(int *from)
{
    return AFTER(shared_once(from));
}
static int
one_time(void)
{
    return AFTER(shared(HIDDEN(int)));
}

READS(objc_entry, refresh, SWIFT("$s4Shop4MenuC7refreshyyF", "$s4Shop4MenuC7refreshyyFTo"))

READS(local_function, inner_function, NAMED("$s4Shop4CartC8checkoutyyF5innerL_yyF"))

READS(defer_block, deferred, NAMED("$s4Shop4CartC6finishyyF6$deferL_yyF"))

READS(subscript, cell, NAMED("$s4Shop4GridVyS2icig"))

/* ---- what the compiler made is at the top ---- */

KEEP static int outlined(void *from) NAMED("$s4Shop4ItemVWOc");
static int
outlined(void *from)
{
    swift_retain(from);
    return AFTER(1);
}
KEEP static int copy_items(void *from) NAMED("$s4Shop4CartC9copyItemsyyF");
static int
copy_items(void *from)
{
    return AFTER(outlined(from));
}
static int
outlined_copy(void)
{
    return AFTER(copy_items(HIDDEN(void)));
}

KEEP static int destroy_object(void *from) NAMED("objectdestroy.4Tm");
static int
destroy_object(void *from)
{
    swift_retain(from);
    return AFTER(1);
}
KEEP static int drop_items(void *from) NAMED("$s4Shop4CartC9dropItemsyyF");
static int
drop_items(void *from)
{
    return AFTER(destroy_object(from));
}
static int
destroyed(void)
{
    return AFTER(drop_items(HIDDEN(void)));
}

/* ---- recursion ---- */

KEEP static int walk(int depth) SWIFT("$s4Shop4TreeC4walkyySiF", "$s4Shop4TreeC4walkyySiFTf4nd_n");
KEEP static int walk_closure(int depth) NAMED("$s4Shop4TreeC4walkyySiFySiXEfU_");
static int
walk_closure(int depth)
{
    volatile int here[20];
    here[depth & 7] = depth;
    return AFTER(walk(depth + 1) + here[3]);
}
static int
walk(int depth)
{
    return AFTER(walk_closure(depth) + 1);
}
static int
overflow_closure(void)
{
    return AFTER(walk(1));
}

/* ---- code of others ---- */

int chart_draw(const int *values) NAMED("$s5Chart8RendererV4drawyySiF");
KEEP static int show_chart(const int *values) NAMED("$s4Shop9StatsViewV4showyyF");
static int
show_chart(const int *values)
{
    return AFTER(chart_draw(values));
}
static int
vendored_package(void)
{
    return AFTER(show_chart(HIDDEN(int)));
}
KEEP static int show_trend(const int *values) NAMED("$s4Shop9TrendViewV4showyyF");
static int
show_trend(const int *values)
{
    return AFTER(chart_draw(values));
}
static int
vendored_package_again(void)
{
    return AFTER(show_trend(HIDDEN(int)));
}

/* clang-format off */
static app_action
pick(const char *way)
{
    WAY(nil_unwrapped) WAY(index_range) WAY(other_trap) WAY(overflow_trap) WAY(subscript_of_array)
    WAY(fatal_error) WAY(crash_in_closure) WAY(nested_closure) WAY(numbered_closure) WAY(async_resume)
    WAY(async_entry) WAY(async_closure) WAY(actor_method) WAY(generic) WAY(extension_of_array)
    WAY(merged_getter) WAY(private_function) WAY(witness) WAY(witness_inlined) WAY(default_value)
    WAY(property_wrapper) WAY(did_set) WAY(setter) WAY(initialiser) WAY(deinitialiser) WAY(one_time)
    WAY(objc_entry) WAY(local_function) WAY(defer_block) WAY(subscript) WAY(outlined_copy) WAY(destroyed)
    WAY(overflow_closure) WAY(vendored_package) WAY(vendored_package_again)
    return NULL;
}
/* clang-format on */

/* What @main makes. */
KEEP static int run(int argc, char **argv) NAMED("$s4Shop0A3AppV5$mainyyFZ");
static int
run(int argc, char **argv)
{
    return AFTER(UIApplicationMain(argc, argv, pick(argv[1])));
}

int
main(int argc, char **argv)
{
    return argc > 1 ? AFTER(run(argc, argv)) : 1;
}
