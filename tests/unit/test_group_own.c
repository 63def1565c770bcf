/* Which images are the app's own code. */
#include "server/group/group.h"

#include <stdarg.h>
#include <stdlib.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/attr.h"
#include "server/report/report.h"

static void
test_in_app(void **state)
{
    static const struct {
        const char *path;
        int image;
        bool want;
    } cases[] = {
        {"/private/var/containers/Bundle/Application/1/Shop.app/Shop", 0, true},
        {"/private/var/containers/Bundle/Application/1/Shop.app/Frameworks/Kit.framework/Kit", 1,
         true},
        {"/usr/local/bin/tool", 0, true},
        {"/usr/local/lib/libother.dylib", 1, false},
        {"/System/Library/Frameworks/UIKit.framework/UIKit", 1, false},
        {"/usr/lib/libc++.1.dylib", 1, false},
        {"/Applications/Xcode.app/Contents/x/RuntimeRoot/usr/lib/libobjc.A.dylib", 1, false},
        {"/private/var/containers/Bundle/Application/1/Shop.app/Frameworks/libswiftCore.dylib", 1,
         false},
        {"/private/var/containers/Bundle/Application/1/Shop.app/PlugIns/W.appex/W", 1, true},
        {"/Applications/Shop.app/Contents/XPCServices/Sync.xpc/Contents/MacOS/Sync", 1, true},
        {"/Applications/Xcode.app/Contents/Developer/Platforms/x/XCTest.framework/XCTest", 1,
         false},
        {"/Users/a/Library/Developer/CoreSimulator/Devices/1/data/Containers/Bundle/Application/2/"
         "Shop.app/Frameworks/Kit.framework/Kit",
         1, true},
        {"/Users/a/Library/Developer/Xcode/DerivedData/Shop/Build/Products/Debug/tool", 0, true},
        {"/private/preboot/Cryptexes/OS/System/Library/Frameworks/WebKit.framework/WebKit", 1,
         false},
        {NULL, 0, true},
        {NULL, 1, false},
    };
    (void)state;
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct report_image images[2] = {{.addr = 0x1000}, {.addr = 0x5000}};
        images[cases[i].image].path = cases[i].path;
        struct report report = {.process.name = "Shop", .images = images, .n_images = 2};
        if (group_origin_is_own(group_image_origin(&report, (size_t)cases[i].image)) !=
            cases[i].want)
            fail_msg("%s", cases[i].path ? cases[i].path : "(none)");
    }
}

/* Formats that give names only, and a process whose file is not the first image. */
static void
test_in_app_names(void **state)
{
    static const struct {
        const char *process, *path, *app; /* what the report says of the process and app */
        const char *names[2], *second;    /* the images; the path of the second */
        bool want[2];
    } cases[] = {
        {NULL, NULL, NULL, {"CoreFoundation", "Shop"}, NULL, {false, true}},
        {NULL, NULL, NULL, {"Cart", "Shop"}, NULL, {true, true}},
        {NULL, NULL, NULL, {"libsystem_kernel.dylib", "dyld"}, NULL, {false, false}},
        {NULL, NULL, NULL, {"com.apple.AppKit", "com.acme.shop"}, NULL, {false, true}},
        {NULL, NULL, "Shop", {"UIKitCore", "Shop"}, NULL, {false, true}},
        {NULL, NULL, "Shop", {"Unknown", "Shop.debug.dylib"}, NULL, {true, true}},
        {"Shop", NULL, NULL, {"UIKitCore", "SomeKit"}, NULL, {false, false}},
        {"tool", "/opt/tool", NULL, {"libobjc.A.dylib", "tool"}, "/opt/tool", {false, true}},
        {"tool", NULL, NULL, {"libobjc.A.dylib", "tool"}, "/opt/bin/tool", {false, true}},
        {"libfoo", NULL, NULL, {"Shop", "libfoo"}, "/usr/lib/libfoo", {true, false}},
    };
    (void)state;
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct report_image images[2] = {{.name = cases[i].names[0]},
                                         {.name = cases[i].names[1], .path = cases[i].second}};
        struct report report = {.process = {.name = cases[i].process, .path = cases[i].path},
                                .app_name = cases[i].app,
                                .images = images,
                                .n_images = 2};
        for (size_t k = 0; k < 2; k++) {
            if (group_origin_is_own(group_image_origin(&report, k)) != cases[i].want[k])
                fail_msg("case %zu: %s", i, cases[i].names[k]);
        }
    }
}

/* Without paths: the system's images have no dSYM that was uploaded. */
static void
test_dsym(void **state)
{
    struct report_symbol_file dsym = {.kind = "dsym"}, binary = {.kind = "binary"};
    static const struct {
        const char *name;
        bool has_dsym, want;
    } cases[] = {{"Kit", true, true}, {"Kit", false, false}, {"UIKitCore", true, false}};
    (void)state;
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct report_image images[2] = {
            {.name = "Shop"},
            {.name = cases[i].name, .files = cases[i].has_dsym ? &dsym : &binary, .n_files = 1}};
        struct report report = {.app_name = "Shop", .images = images, .n_images = 2};
        assert_int_equal(group_origin_is_own(group_image_origin(&report, 1)), cases[i].want);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_app),
        cmocka_unit_test(test_in_app_names),
        cmocka_unit_test(test_dsym),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
