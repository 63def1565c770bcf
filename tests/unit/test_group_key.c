/* Keys: one row for each way to choose them; two rows with the same label are the same issue. */
#include "group_case.h"

#define FRAMES(...)       \
    (const char *const[]) \
    {                     \
        __VA_ARGS__, NULL \
    }
#define BASE "UIKitCore|UIApplicationMain", "Shop|main|/src/main.m:9", "dyld|start"

static const struct {
    const char *label; /* of the issue */
    const char *how;   /* the first word of the key, up to its anchor */
    const char *const *frames;
    const char *kind, *exception, *reason, *termination, *rules;
    bool is_exception, is_placeholder;
} cases[] = {
    /* The first own frame, with inlined calls expanded. */
    {"total", "first own frame: Cart_total",
     .frames = FRAMES("Shop|Cart_total|/src/Cart.c:12", "Shop|Cart_run", BASE)},
    {"total", "first own frame: Cart_total",
     .frames = FRAMES("libobjc.A.dylib|objc_msgSend",
                      "Shop|Cart_total|/src/Cart.c:12;Cart_run|/src/Cart.c:30", BASE)},
    {"total", "first own frame: Cart_total",
     .frames = FRAMES("libsystem_kernel.dylib|__pthread_kill", "libsystem_pthread.dylib",
                      "libsystem_c.dylib|abort", "Shop|Cart_total|/other/Cart.c:77", BASE)},
    {"run", "first own frame: Cart_run",
     .frames = FRAMES("UIKitCore", "Shop|Cart_run|/src/Cart.c:12", BASE)},
    /* A framework of the bundle is own, too. */
    {"kit", "first own frame: Kit_load", .frames = FRAMES("Kit|Kit_load", "Shop|Cart_run", BASE)},
    /* Without a path, its functions' files show that it is not the system's. */
    {"bare", "first own frame: Bare_load",
     .frames = FRAMES("Bare|Bare_load|Bare.m:3", "Shop|Cart_run", BASE)},
    {"run", "first own frame: Cart_run", .frames = FRAMES("Bare|Bare_load", "Shop|Cart_run", BASE)},
    /* Reporters, linked in or frameworks, and the runtime. */
    {"run", "first own frame: Cart_run",
     .frames = FRAMES("libobjc.A.dylib|object_isClass", "Shop|kscrashsentry_report",
                      "Bugsnag|anything", "Bugsnag", "Shop|Cart_run", BASE)},
    {"main", "first own frame: main",
     .frames = FRAMES("GraphicsServices|GSEventRun", "UIKitCore|UIApplicationMain", "Shop|main",
                      "dyld|start")},
    /* The class is part of the key; general names of exceptions say nothing. */
    {"range", "first own frame: Cart_total", .frames = FRAMES("Shop|Cart_total", BASE),
     .exception = "NSRangeException"},
    {"total", "first own frame: Cart_total", .frames = FRAMES("Shop|Cart_total", BASE),
     .exception = "NSException"},
    {"total", "first own frame: Cart_total", .frames = FRAMES("Shop|Cart_total", BASE),
     .exception = "EXC_BAD_ACCESS"},
    /* The type of a C++ exception is not: many formats lack it. */
    {"total", "first own frame: Cart_total", .frames = FRAMES("Shop|Cart_total", BASE),
     .exception = "shop::Failure"},
    {"total", "first own frame: Cart_total",
     .frames = FRAMES("libc++abi.dylib|__cxa_throw", "Shop|Cart_total", BASE),
     .exception = "Failure"},
    {"total", "first own frame: Cart_total", .frames = FRAMES("Shop|Cart_total", BASE),
     .exception = "failure*"},
    {"range", "first own frame: Cart_total",
     .frames = FRAMES("libc++abi.dylib|__cxa_throw", "libobjc.A.dylib|objc_exception_throw",
                      "Shop|Cart_total", BASE),
     .exception = "NSRangeException"},
    {"error type", "first own frame: Cart_total", .frames = FRAMES("Shop|Cart_total", BASE),
     .kind = "error", .exception = "shop::Failure"},
    /* Bugsnag's form of a Swift trap. */
    {"index", "first own frame: Cart_total", .frames = FRAMES("Shop|Cart_total", BASE),
     .exception = "Fatal error", .reason = "Index out of range"},
    {"index", "first own frame: Cart_total", .frames = FRAMES("Shop|Cart_total", BASE),
     .reason = "Swift/Array.swift:345: Fatal error: Index out of range: file Swift/Array.swift, "
               "line 345"},
    {"index", "first own frame: Cart_total",
     .frames = FRAMES("Shop|Swift runtime failure: Index out of "
                      "range|<compiler-generated>:0;Cart_total|/src/C.swift:3",
                      BASE)},
    {"nil", "first own frame: Cart_total", .frames = FRAMES("Shop|Cart_total", BASE),
     .reason = "Fatal error: Unexpectedly found nil while unwrapping an Optional value"},
    {"total", "first own frame: Cart_total", .frames = FRAMES("Shop|Cart_total", BASE),
     .reason = "Fatal error: no cart 17"},
    /* Code of others in the app's own image. */
    {"total", "first own frame: Cart_total",
     .frames =
         FRAMES("Shop|AFNetworking_load|/b/Pods/AFNetworking/AF.m:3", "Shop|Cart_total", BASE)},
    {"total", "first own frame: Cart_total",
     .frames = FRAMES(
         "Shop|ns_vec|/SDKs/iPhoneOS.sdk/usr/include/c++/v1/vector:3;Cart_total|/src/a.cpp:2",
         BASE)},
    {"total", "first own frame: Cart_total",
     .frames = FRAMES(
         "Shop|$s9Alamofire7SessionC4loadyyF|/b/SourcePackages/checkouts/Alamofire/a.swift:3",
         "Shop|$s9Alamofire7SessionC3runyyF", "Shop|Cart_total", BASE)},
    /* Hangs: the outermost own frame below the thread's base. */
    {"hang run", "outermost own frame of the hang: Cart_run",
     .frames =
         FRAMES("libsystem_kernel.dylib|mach_msg_trap", "Shop|Cart_total", "Shop|Cart_run", BASE),
     .kind = "hang"},
    {"hang run", "outermost own frame of the hang: Cart_run",
     .frames = FRAMES("Shop|Cart_other", "Shop|Cart_more", "Shop|Cart_run", BASE), .kind = "hang"},
    {"watchdog run", "outermost own frame of the hang: Cart_run",
     .frames = FRAMES("Shop|Cart_other", "Shop|Cart_run", BASE), .kind = "hang",
     .termination = "FRONTBOARD 2343432205 <RBSTerminateContext| domain:10 code:0x8BADF00D>"},
    {"watchdog run", "outermost own frame of the hang: Cart_run",
     .frames = FRAMES("Shop|Cart_total", "Shop|Cart_run", BASE), .kind = "hang",
     .termination = "Namespace SPRINGBOARD, Code 0x8badf00d"},
    /* Terminations by a signal are the signal. */
    {"total", "first own frame: Cart_total", .frames = FRAMES("Shop|Cart_total", BASE),
     .termination = "Namespace SIGNAL, Code 11 Segmentation fault: 11"},
    {"locked", "no stack: no stack", .frames = NULL, .termination = "RUNNINGBOARD 0xdead10cc"},
    {"dyld", "no stack: Library not loaded: @rpath/Kit", .frames = NULL,
     .termination = "DYLD 1 Library missing", .reason = "Library not loaded: @rpath/Kit"},
    /* No own frame: the first that says something; an exception's message, too. */
    {"table", "no own frame; first frame that says something: -[UITableView reload]",
     .frames = FRAMES("libobjc.A.dylib|objc_msgSend", "UIKitCore|-[UITableView reload]", BASE)},
    {"table 1", "no own frame; first frame that says something: -[UITableView reload]",
     .frames =
         FRAMES("CoreFoundation|__exceptionPreprocess", "libobjc.A.dylib|objc_exception_throw",
                "UIKitCore|-[UITableView reload]", BASE),
     .exception = "NSInternalInconsistencyException", .reason = "row 7 of section 3",
     .is_exception = true},
    {"table 1", "no own frame; first frame that says something: -[UITableView reload]",
     .frames =
         FRAMES("CoreFoundation|__exceptionPreprocess", "libobjc.A.dylib|objc_exception_throw",
                "UIKitCore|-[UITableView reload]", BASE),
     .exception = "NSInternalInconsistencyException", .reason = "row 21 of section 0",
     .is_exception = true},
    {"table 2", "no own frame; first frame that says something: -[UITableView reload]",
     .frames =
         FRAMES("CoreFoundation|__exceptionPreprocess", "libobjc.A.dylib|objc_exception_throw",
                "UIKitCore|-[UITableView reload]", BASE),
     .exception = "NSInternalInconsistencyException", .reason = "no cell", .is_exception = true},
    /* The app's main() only where nothing else is. */
    {"main", "first own frame: main", .frames = FRAMES("Shop|main|/src/main.m:9", "dyld|start")},
    {"main", "first own frame: main",
     .frames = FRAMES("libsystem_kernel.dylib|mach_msg_trap", "CoreFoundation|CFRunLoopRunSpecific",
                      BASE)},
    /* No names: a place. With a dSYM that lacks it, the next frame. */
    {"place", "no name yet; place of the first frame that counts: Extra + 0x1010",
     .frames = FRAMES("libobjc.A.dylib|objc_msgSend", "Extra", "Shop|Cart_run", BASE),
     .is_placeholder = true, .rules = "own image Extra"},
    {"place", "no name yet; place of the first frame that counts: Extra + 0x1010",
     .frames = FRAMES("libobjc.A.dylib|objc_retain", "Extra|__hidden#12_", "Shop|Cart_run", BASE),
     .is_placeholder = true, .rules = "own image Extra"},
    {"place", "no name yet; place of the first frame that counts: Extra + 0x1010",
     .frames = FRAMES("libobjc.A.dylib|objc_retain", "Extra|_hidden#3_", "Shop|Cart_run", BASE),
     .is_placeholder = true, .rules = "own image Extra"},
    {"run", "first own frame: Cart_run", .frames = FRAMES("Shop", "Shop|Cart_run", BASE)},
    /* Smashed: frames that say nothing, and no base. */
    {"smashed", "no frame says anything: smashed stack",
     .frames = FRAMES("libsystem_c.dylib|__memset_chk")},
    {"smashed", "no frame says anything: smashed stack", .frames = FRAMES("?")},
    {"smashed", "no frame says anything: smashed stack",
     .frames = FRAMES("libsystem_platform.dylib", "?", "?")},
    {"none", "no stack: no stack", .frames = NULL},
    {"memory", "no stack: no stack", .frames = NULL, .kind = "memory"},
    {"lost", "no stack: cart # is gone", .frames = NULL, .kind = "message",
     .reason = "cart 12 is gone"},
    {"lost", "no stack: cart # is gone", .frames = NULL, .kind = "message",
     .reason = "cart 7 is gone"},
    /* A jump to nowhere: its caller. */
    {"run", "first own frame: Cart_run", .frames = FRAMES("?", "Shop|Cart_run", BASE)},
};
/* Rows with the same label have the same key, others another. */
static void
test_keys(void **state)
{
    enum { N = FZ_ARRAY_LEN(cases) };
    static struct group_case c;
    static uint8_t hashes[N][FZ_SHA256_BYTES];
    (void)state;
    for (size_t i = 0; i < N; i++) {
        struct group_result result;
        case_init(&c);
        case_add_all(&c, cases[i].frames);
        c.report.kind = cases[i].kind;
        c.report.crash.exception = cases[i].exception;
        c.report.crash.reason = cases[i].reason;
        c.report.crash.termination = cases[i].termination;
        if (cases[i].is_exception) {
            c.report.exception_frames = c.frames;
            c.report.n_exception_frames = c.thread.n_frames;
            c.thread.n_frames = 0;
        }
        case_group(&c, cases[i].rules, &result);
        if (strcmp(result.key.words[0], cases[i].how) != 0 ||
            result.key.is_placeholder != cases[i].is_placeholder)
            fail_msg("row %zu, %s: %s", i, cases[i].label, result.key.words[0]);
        memcpy(hashes[i], result.key.hash, sizeof(hashes[i]));
        for (size_t k = 0; k < i; k++) {
            bool same = memcmp(hashes[i], hashes[k], sizeof(hashes[i])) == 0;
            if (same != (strcmp(cases[i].label, cases[k].label) == 0))
                fail_msg("rows %zu and %zu: %s, %s", k, i, cases[k].label, cases[i].label);
        }
        case_deinit(&c);
    }
}

/* What a list and a page show. */
static void
test_texts(void **state)
{
    static struct group_case c;
    struct group_result result;
    (void)state;
    case_init(&c);
    case_add_all(&c, FRAMES("libobjc.A.dylib|objc_msgSend", "UIKitCore|-[UIView layout]",
                            "Shop|Cart_total|/src/Cart.c:12", BASE));
    c.report.crash = (struct report_crash){.signal = "SIGSEGV",
                                           .mach = "EXC_BAD_ACCESS",
                                           .code = "KERN_INVALID_ADDRESS",
                                           .has_address = true,
                                           .address = 0x10};
    case_group(&c, NULL, &result);
    assert_string_equal(result.key.title, "Cart_total");
    assert_string_equal(result.variant.label, "SIGSEGV, null pointer, line 12");
    assert_int_equal(result.key.n_words, 4);
    assert_string_equal(result.key.words[1], "class: crash");
    assert_string_equal(result.key.words[2], "backtrace: of the crashed thread");
    assert_string_equal(result.key.words[3],
                        "skipped: objc_msgSend (memory), -[UIView layout] (system image)");
    assert_string_equal(c.frames[0].rule, "memory");
    assert_string_equal(c.frames[2].rule, "executable");
    assert_true(c.frames[2].is_anchor && c.frames[2].in_app && !c.frames[1].in_app);
    assert_string_equal(c.report.issue.variant ? c.report.issue.anchor->function : "",
                        "Cart_total");
    case_deinit(&c);
}

/* What a list and a message show is one line without anything that moves or hides the rest of it. */
static void
test_one_line(void **state)
{
    static struct group_case c;
    struct group_result result;
    (void)state;
    case_init(&c);
    case_add_all(&c,
                 FRAMES("Shop|pay\x1b[2J\n\xe2\x80\xae\xe2\x81\xa6lla\xc2\x85\xef\xbb\xbf\x7f"));
    c.report.crash = (struct report_crash){.signal = "SIG\rX", .reason = "a\xe2\x80\xa8\xc2\x9f b"};
    case_group(&c, NULL, &result);
    assert_string_equal(result.key.title, "pay [2J   lla");
    assert_string_equal(result.key.words[0], "first own frame: pay [2J   lla");
    assert_string_equal(result.variant.label, "SIG X: a   b");
    case_deinit(&c);
    case_init(&c);
    case_add_all(&c, FRAMES("Shop| \t "));
    case_group(&c, NULL, &result);
    assert_string_equal(result.key.title, "(no title)");
    case_deinit(&c);
}

/* A type that resolve has made readable is one of C++, also where no frame has a name. */
static void
test_mangled_type(void **state)
{
    static struct group_case c;
    struct group_result results[2];
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        case_init(&c);
        case_add(&c, "Shop|Cart_total");
        c.report.crash.exception = i ? "Failure" : NULL;
        c.report.crash.exception_mangled = i ? "7Failure" : NULL;
        case_group(&c, NULL, &results[i]);
        assert_string_equal(results[i].variant.label, i ? "Failure" : "unknown");
        case_deinit(&c);
    }
    assert_memory_equal(results[0].key.hash, results[1].key.hash, FZ_SHA256_BYTES);
}

/* Two bugs in one function: another line or another message, the same key. */
static void
test_variants(void **state)
{
    static const struct {
        const char *frame, *reason, *signal;
        const char *exception;
        int variant;
    } rows[] = {
        {"Shop|Cart_total|/src/Cart.c:12", "index 7 beyond bounds [0 .. 3]", "SIGABRT", NULL, 0},
        {"Shop|Cart_total|/src/Cart.c:12", "index 12 beyond bounds [0 .. 1]", "SIGABRT", NULL, 0},
        {"Shop|Cart_total|/src/Cart.c:14", "index 7 beyond bounds [0 .. 3]", "SIGABRT", NULL, 1},
        {"Shop|Cart_total|/src/Cart.c:12", "object cannot be nil", "SIGABRT", NULL, 2},
        {"Shop|Cart_total|/src/Cart.c:12", "object cannot be nil", "SIGTRAP", NULL, 3},
        {"Shop|Cart_total|/src/Cart.c:12", NULL, "SIGABRT", "shop::Failure", 4},
        {"Shop|Cart_total|/src/Cart.c:12", NULL, "SIGABRT", "shop::Missing", 5}};
    static struct group_case c;
    struct group_result results[FZ_ARRAY_LEN(rows)];
    (void)state;
    for (size_t i = 0; i < FZ_ARRAY_LEN(rows); i++) {
        case_init(&c);
        case_add(&c, rows[i].frame);
        c.report.crash.reason = rows[i].reason;
        c.report.crash.signal = rows[i].signal;
        c.report.crash.exception = rows[i].exception;
        case_group(&c, NULL, &results[i]);
        for (size_t k = 0; k < i; k++) {
            assert_memory_equal(results[i].key.hash, results[k].key.hash, FZ_SHA256_BYTES);
            assert_int_equal(
                memcmp(results[i].variant.hash, results[k].variant.hash, FZ_SHA256_BYTES) == 0,
                rows[i].variant == rows[k].variant);
        }
        case_deinit(&c);
    }
}

/* ---- recursion ---- */

/* `lead` frames, then the names of `cycle` again and again from its frame `start` on. */
static void
make_recursion(struct group_case *c, const char *lead, const char *const *cycle, size_t start,
               size_t n)
{
    size_t period = 0;
    while (cycle[period])
        period++;
    case_init(c);
    if (lead)
        case_add(c, lead);
    for (size_t i = 0; i < n; i++)
        case_add(c, cycle[(start + i) % period]);
    case_add_all(c, FRAMES("Shop|Cart_run", BASE));
}

static void
test_recursion(void **state)
{
    static const char *const abc[] = {"Shop|a", "Shop|b", "UIKitCore|-[UIView layout]", "Shop|c",
                                      NULL};
    /* As a client sends it that has no names of the system. */
    static const char *const nameless[] = {"Shop|a", "Shop|b", "UIKitCore", "Shop|c", NULL};
    static const char *const acb[] = {"Shop|a", "Shop|c", "Shop|b", NULL};
    static const char *const alone[] = {"Shop|a", NULL};
    static const struct {
        const char *lead, *const *cycle;
        size_t start, n;
        const char *want;
    } rows[] = {
        {NULL, abc, 0, 90, "recursion that does not end: a, b, c"},
        {NULL, abc, 1, 90, "recursion that does not end: a, b, c"},
        {"libsystem_malloc.dylib|malloc", abc, 2, 91, "recursion that does not end: a, b, c"},
        {"Shop|leaf", abc, 3, 77, "recursion that does not end: a, b, c"},
        {"Shop|leaf", abc, 3, 480, "recursion that does not end: a, b, c"},
        {"UIKitCore", nameless, 1, 90, "recursion that does not end: a, b, c"},
        {NULL, acb, 0, 90, "recursion that does not end: a, c, b"},
        {"Shop|leaf", alone, 0, 40, "recursion that does not end: a"},
        {NULL, alone, 0, 3, "first own frame: a"}, /* as many programs do */
        {"Shop|leaf", abc, 0, 8, "first own frame: leaf"},
    };
    static struct group_case c;
    struct group_result results[FZ_ARRAY_LEN(rows)];
    (void)state;
    for (size_t i = 0; i < FZ_ARRAY_LEN(rows); i++) {
        make_recursion(&c, rows[i].lead, rows[i].cycle, rows[i].start, rows[i].n);
        case_group(&c, NULL, &results[i]);
        if (strcmp(results[i].key.words[0], rows[i].want) != 0)
            fail_msg("row %zu: %s", i, results[i].key.words[0]);
        case_deinit(&c);
    }
    for (size_t i = 1; i < 6; i++)
        assert_memory_equal(results[i].key.hash, results[0].key.hash, FZ_SHA256_BYTES);
    assert_memory_not_equal(results[6].key.hash, results[0].key.hash, FZ_SHA256_BYTES);
    /* A client that kept three frames of it says the same. */
    assert_memory_equal(results[8].key.hash, results[7].key.hash, FZ_SHA256_BYTES);
}

/* Hangs need the oldest frames, also of the longest stacks. */
static void
test_long_stack(void **state)
{
    static struct group_case c;
    struct group_result result;
    (void)state;
    case_init(&c);
    for (size_t i = 0; i < 500; i++) {
        char text[64];
        snprintf(text, sizeof(text), "UIKitCore|-[UIView layout%zu]", i);
        case_add(&c, text);
    }
    case_add_all(&c, FRAMES("Shop|Cart_run", BASE));
    c.report.kind = "hang";
    case_group(&c, NULL, &result);
    assert_string_equal(result.key.anchor, "Cart_run");
    assert_int_equal(result.stack.n_frames, GROUP_FRAMES_MAX);
    assert_int_equal(result.stack.n_cut, 504 - GROUP_FRAMES_MAX);
    assert_string_equal(c.frames[500].rule, "executable");
    case_deinit(&c);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys),         cmocka_unit_test(test_texts),
        cmocka_unit_test(test_variants),     cmocka_unit_test(test_recursion),
        cmocka_unit_test(test_long_stack),   cmocka_unit_test(test_one_line),
        cmocka_unit_test(test_mangled_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
