/* What holds for every format: white space around short texts, names of codes, terminations, banners. */
#include "server/ingest/common/normalise.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/attr.h"
#include "server/ingest/ingest.h"

static struct fz_arena arena;

static int
set_up(void **state)
{
    (void)state;
    fz_arena_init(&arena, 16 << 20);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    fz_arena_deinit(&arena);
    return 0;
}

static struct report
parse(const char *text)
{
    struct limits limits = limits_default();
    struct report report;
    struct fz_error err;
    if (ingest_parse(fz_span_cstr(text), &limits, &arena, &report, &err) != FZ_OK)
        fail_msg("%s: %s", err.text, text);
    return report;
}

static void
assert_text(const char *what, const char *got, const char *want)
{
    if (want ? !got || strcmp(got, want) != 0 : got != NULL)
        fail_msg("%s: %s, wanted is %s", what, got ? got : "-", want ? want : "-");
}

#define IPS(exception, more)                                                                   \
    "{\"bug_type\":\"309\",\"name\":\"Shop\"}\n{\"procName\":\"Shop\",\"cpuType\":\"ARM-64\"," \
    "\"exception\":" exception ",\"threads\":[{\"triggered\":true,\"frames\":[]}],"            \
    "\"usedImages\":[]" more "}"
#define METRICKIT(meta)                                                                        \
    "{\"timeStampEnd\":\"2026-01-02 00:00:00 +0000\",\"crashDiagnostics\":[{"                  \
    "\"callStackTree\":{\"callStacks\":[{\"threadAttributed\":true,\"callStackRootFrames\":[{" \
    "\"binaryUUID\":\"4C4C445B-5555-3144-A129-88BEB9D5EB60\",\"binaryName\":\"Shop\","         \
    "\"address\":4362092648,\"offsetIntoBinaryTextSegment\":16488}]}]},"                       \
    "\"diagnosticMetaData\":" meta "}]}"
#define TEXT(head, more)                                                              \
    "Process: Shop [1]\nCode Type: ARM-64\n" head "\nTriggered by Thread: 0\n\n" more \
    "Thread 0 Crashed:\n0   Shop  0x0000000104004068 0x104000000 + 16488\n"

/* The name of the first code, wherever a format has numbers only. */
static void
test_codes(void **state)
{
    (void)state;
    static const struct {
        const char *text, *code, *kind;
    } cases[] = {
        {IPS("{\"type\":\"EXC_BREAKPOINT\",\"rawCodes\":[1,4294967296]}", ""), "EXC_ARM_BREAKPOINT",
         NULL},
        {IPS("{\"type\":\"EXC_BAD_ACCESS\",\"rawCodes\":[2,16]}", ""), "KERN_PROTECTION_FAILURE",
         NULL},
        {IPS("{\"type\":\"EXC_BAD_ACCESS\",\"codes\":\"0x0000000000000101, 0x11\"}", ""),
         "EXC_ARM_DA_ALIGN", NULL},
        {IPS("{\"type\":\"EXC_BAD_ACCESS\",\"rawCodes\":[1,16],\"subtype\":\"KERN_NO_ACCESS at "
             "0x10\"}",
             ""),
         "KERN_NO_ACCESS", NULL},
        {IPS("{\"type\":\"EXC_CRASH\",\"rawCodes\":[0,0]}", ""), NULL, NULL},
        {IPS("{\"type\":\"EXC_RESOURCE\",\"rawCodes\":[2882303761517117440,1]}", ""), "CPU_FATAL",
         "cpu"},
        {IPS("{\"type\":\"EXC_RESOURCE\",\"rawCodes\":[7205759403792793600,1]}", ""), "MEMORY",
         "memory"},
        {IPS("{\"type\":\"EXC_RESOURCE\",\"rawCodes\":[9511602413006487552,1]}", ""), "IO",
         "disk_write"},
        {IPS("{\"type\":\"EXC_GUARD\",\"rawCodes\":[4611686022722355203,1]}", ""), "GUARD_TYPE_FD",
         NULL},
        {IPS("{\"type\":\"EXC_GUARD\",\"rawCodes\":[\"0x2000000100000203\",1]}", ""),
         "GUARD_TYPE_MACH_PORT", NULL},
        {TEXT("Exception Type: EXC_BREAKPOINT (SIGTRAP)\nException Codes: 0x1, 0x104004068", ""),
         "EXC_ARM_BREAKPOINT", NULL},
        {TEXT("Exception Type: EXC_RESOURCE\nException Subtype: WAKEUPS", ""), NULL, "cpu"},
        {METRICKIT("{\"exceptionType\":12,\"exceptionCode\":4611686022722355203}"), "GUARD_TYPE_FD",
         NULL},
        {METRICKIT("{\"exceptionType\":6,\"exceptionCode\":1,\"platformArchitecture\":\"x86_64\"}"),
         "EXC_I386_SGL", NULL},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct report r = parse(cases[i].text);
        assert_text(cases[i].text, r.crash.code, cases[i].code);
        assert_text(cases[i].text, r.kind, cases[i].kind);
    }
}

/* Apple's codes of terminations in each spelling and format. */
static void
test_terminations(void **state)
{
    (void)state;
    static const struct {
        const char *text, *kind, *diagnosis;
    } cases[] = {
        {METRICKIT("{\"exceptionType\":10,\"terminationReason\":\"Namespace FRONTBOARD, Code "
                   "0x8badf00d\"}"),
         "hang", "0x8badf00d: the app did not answer in time and was ended by a watchdog"},
        {METRICKIT("{\"terminationReason\":\"FRONTBOARD 2343432205 <RBSTerminateContext| domain:10 "
                   "code:0x8BADF00D explanation:scene-update watchdog transgression\"}"),
         "hang", "0x8badf00d: the app did not answer in time and was ended by a watchdog"},
        {METRICKIT("{\"terminationReason\":\"Namespace SPRINGBOARD, Code dead10cc\"}"), NULL,
         "0xdead10cc: the app held a file lock or a database lock while it was suspended"},
        {METRICKIT("{\"terminationReason\":\"Namespace SIGNAL, Code 0xb\"}"), NULL, NULL},
        {METRICKIT("{\"terminationReason\":\"x8badf00d 10x8badf00d 23434322059\"}"), NULL, NULL},
        {IPS("{\"type\":\"EXC_CRASH\"}",
             ",\"termination\":{\"namespace\":\"RUNNINGBOARD\",\"code\":3735883980}"),
         NULL, "0xdead10cc: the app held a file lock or a database lock while it was suspended"},
        {IPS("{\"type\":\"EXC_CRASH\"}",
             ",\"termination\":{\"namespace\":\"CAROUSEL\",\"code\":3306925313}"),
         "cpu", "0xc51bad01: a task in the background used too much CPU time"},
        {TEXT(
             "Exception Type: EXC_CRASH (SIGKILL)\nTermination Reason: Namespace SPRINGBOARD, Code "
             "0xc00010ff",
             ""),
         "cpu", "0xc00010ff: the system ended the app because the device was too hot"},
        {TEXT("Exception Type:  00000020\nException Codes: 0x000000008badf00d", ""), "hang",
         "0x8badf00d: the app did not answer in time and was ended by a watchdog"},
        {TEXT("Exception Type: EXC_CRASH (SIGKILL)\nTermination Reason: FRONTBOARD 0xdeadfa11", ""),
         "hang", "0xdeadfa11: the user forced the app to quit"},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct report r = parse(cases[i].text);
        assert_text(cases[i].text, r.kind, cases[i].kind);
        assert_text(cases[i].text, r.crash.diagnosis, cases[i].diagnosis);
    }
    static const uint64_t known[] = {0x8badf00d, 0xdead10cc, 0xc00010ff, 0xbaaaaaad, 0xbad22222,
                                     0xdeadfa11, 0xbaddd15c, 0xc51bad01, 0xc51bad02, 0xc51bad03};
    for (size_t i = 0; i < FZ_ARRAY_LEN(known); i++) {
        char body[1024];
        snprintf(body, sizeof(body), METRICKIT("{\"terminationReason\":\"Code 0x%08llx\"}"),
                 (unsigned long long)known[i]);
        struct report r = parse(body);
        if (!r.crash.diagnosis)
            fail_msg("0x%llx is not known", (unsigned long long)known[i]);
    }
}

/* Lines about the simulator or the dynamic linker are messages, and no reason. */
static void
test_banners(void **state)
{
    (void)state;
    static const char simulator[] =
        "CoreSimulator 857.14 - Device: iPhone 14 (1) - Runtime: iOS 16.2";
    static const struct {
        const char *text, *reason;
        size_t n_messages;
    } cases[] = {
        {TEXT("Exception Type: EXC_CRASH",
              "Application Specific Information:\nCoreSimulator 857.14 - Device: iPhone 14 (1) - "
              "Runtime: iOS 16.2\n\n"),
         NULL, 1},
        {TEXT("Exception Type: EXC_CRASH",
              "Application Specific Information:\nCoreSimulator 857.14 - Device: iPhone 14 (1) - "
              "Runtime: iOS 16.2\nthe real one\n\n"),
         "the real one", 2},
        {TEXT("Exception Type: EXC_CRASH",
              "Application Specific Information:\ndyld: launch, loading dependent libraries\n\n"),
         NULL, 1},
        {TEXT("Exception Type: EXC_CRASH",
              "Application Specific Information:\niPhone Simulator 463.9.41, iPhone OS 6.1 (iPhone "
              "Retina/10B141)\nabort() called\n\n"),
         NULL, 2},
        {TEXT("Exception Type: EXC_CRASH",
              "Dyld Error Message:\nLibrary not loaded: @rpath/Kit.framework/Kit\n\n"),
         "Library not loaded: @rpath/Kit.framework/Kit", 1},
        {IPS("{\"type\":\"EXC_CRASH\"}",
             ",\"asi\":{\"dyld\":[\"dyld2 mode\"],\"libsystem_c.dylib\":[\"abort() called\"]}"),
         NULL, 2},
        {IPS("{\"type\":\"EXC_CRASH\"}",
             ",\"asi\":{\"CoreSimulator\":[\"CoreSimulator 857.14 - Device: x\\n\"],"
             "\"libswiftCore.dylib\":[\"Fatal error: none\"]}"),
         "Fatal error: none", 2},
        {"{\"framezero\":1,\"addresses\":[\"0x10\"],\"crash\":{\"reason\":\"CoreSimulator 857.14 - "
         "Device: iPhone 14 (1) - Runtime: iOS 16.2\"}}",
         NULL, 1},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct report r = parse(cases[i].text);
        assert_text(cases[i].text, r.crash.reason, cases[i].reason);
        assert_int_equal(r.crash.n_messages, cases[i].n_messages);
    }
    assert_text("kept", parse(cases[7].text).crash.messages[0], simulator);
}

static void
test_white_space(void **state)
{
    (void)state;
    struct report r = parse(
        "{\"event_id\":\"0192f0c47a117c3e8f00000000000001\",\"platform\":\"cocoa\",\"environment\":"
        "\"  \",\"contexts\":{\"os\":{\"name\":\" iOS\",\"version\":\"18.1\\n\",\"build\":\"22B83 "
        "\"},\"device\":{\"model\":\"\\tiPhone15,2\\r\\n\"},\"app\":{\"app_name\":\"Shop     \"}},"
        "\"exception\":{\"values\":[{\"type\":\"Broken\\n\",\"value\":\" two\\n lines\\n\","
        "\"mechanism\":{\"type\":\"x\"}}]}}");
    assert_text("name", r.os_name, "iOS");
    assert_text("version", r.os_version, "18.1");
    assert_text("build", r.os_build, "22B83");
    assert_text("model", r.device_model, "iPhone15,2");
    assert_text("app", r.app_name, "Shop");
    assert_text("environment", r.environment, NULL);
    assert_text("exception", r.crash.exception, "Broken");
    assert_text("reason", r.crash.reason, " two\n lines"); /* the app's own text, but for its end */
}

/* One name for one system; an app is called as its executable. */
static void
test_names(void **state)
{
    (void)state;
    static const struct {
        const char *json, *os, *app;
    } cases[] = {
        {"{\"report\":{\"version\":\"3\"},\"system\":{\"system_name\":\"Mac OS "
         "X\"},\"crash\":{\"error\":{}}}",
         "macOS", NULL},
        {"{\"report\":{\"version\":\"3\"},\"system\":{\"system_name\":\"iPhone OS\","
         "\"process_name\":\"AVeryLongNameOf\",\"CFBundleExecutablePath\":"
         "\"/var/X.app/AVeryLongNameOfAnApp\"},\"crash\":{\"error\":{}}}",
         "iOS", "AVeryLongNameOfAnApp"},
        {"{\"report\":{\"version\":\"3\"},\"system\":{\"system_name\":\"tvOS\","
         "\"process_name\":\"Shop\",\"CFBundleExecutablePath\":\"/var/X.app/"
         "Other\"},\"crash\":{\"error\":{}}}",
         "tvOS", "Shop"},
        {"{\"report\":{\"version\":\"3\"},\"system\":{\"CFBundleName\":\"Store\","
         "\"process_name\":\"Shop\"},\"crash\":{\"error\":{}}}",
         NULL, "Store"},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct report r = parse(cases[i].json);
        assert_text(cases[i].json, r.os_name, cases[i].os);
        assert_text(cases[i].json, r.app_name, cases[i].app);
    }
}

/* Mach-O's names of processors. */
static void
test_arch(void **state)
{
    (void)state;
    static const struct {
        const char *word, *addr, *arch;
    } cases[] = {
        {"x86", "0x100000000", "x86_64"}, {"x86", "0x1000", "i386"},
        {"X86-64", "0x1000", "x86_64"},   {"aarch64", "0x1000", "arm64"},
        {"arm64e", "0x1000", "arm64e"},   {"armv7s", "0x1000", "armv7s"},
        {"ARM64", "0x1000", "arm64"},     {"riscv", "0x1000", "riscv"},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        char text[256];
        snprintf(
            text, sizeof(text),
            "{\"framezero\":1,\"arch\":\"%s\",\"addresses\":[\"0x1010\"],\"images\":[{\"name\":"
            "\"Shop\",\"address\":\"%s\"}]}",
            cases[i].word, cases[i].addr);
        assert_text(cases[i].word, parse(text).arch, cases[i].arch);
    }
}

/* A report that names no process: the app's executable among its images. */
static void
test_process(void **state)
{
    (void)state;
    static const struct {
        const char *path, *process;
    } cases[] = {
        {"/var/Demo.app/Demo", "Demo"},
        {"/Applications/Demo.app/Contents/MacOS/Demo Main", "Demo Main"},
        {"/var/Demo.app/PlugIns/Today.appex/Today", "Today"},
        {"/var/Demo.app/Demo.debug.dylib", NULL},
        {"/var/Demo.app/Frameworks/Kit.framework/Kit", NULL},
        {"/usr/lib/libobjc.A.dylib", NULL},
        {"Demo", NULL},
        {"/.app/", NULL},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        char text[512];
        snprintf(
            text, sizeof(text),
            "{\"framezero\":1,\"addresses\":[\"0x1010\"],\"images\":[{\"path\":\"/usr/lib/dyld\","
            "\"address\":\"0x9000\"},{\"path\":\"%s\",\"address\":\"0x1000\"}]}",
            cases[i].path);
        struct report r = parse(text);
        assert_text(cases[i].path, r.process.name, cases[i].process);
        assert_text(cases[i].path, r.app_name, cases[i].process);
    }
}

/* What was thrown, as Apple and the SDKs word it. */
static void
test_thrown(void **state)
{
    (void)state;
    static const struct {
        const char *message, *exception, *reason;
    } cases[] = {
        {"*** Terminating app due to uncaught exception 'NSRangeException', reason: 'it's \"7\"'",
         "NSRangeException", "it's \"7\""},
        {"*** Terminating app due to uncaught exception \"kaboom_exception*\", reason: \"it's 7\"",
         "kaboom_exception*", "it's 7"},
        {"Application threw exception NSGenericException: SCREAM: 7", "NSGenericException",
         "SCREAM: 7"},
        {"Application threw exception while it slept: 7", NULL,
         "Application threw exception while it slept: 7"},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        char text[512];
        snprintf(text, sizeof(text),
                 TEXT("Exception Type: EXC_CRASH", "Application Specific Information:\n%s\n\n"),
                 cases[i].message);
        struct report r = parse(text);
        assert_text(cases[i].message, r.crash.exception, cases[i].exception);
        assert_text(cases[i].message, r.crash.reason, cases[i].reason);
        assert_int_equal(r.crash.n_messages, 1);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_codes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_terminations, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_banners, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_arch, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_process, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_thrown, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_white_space, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
