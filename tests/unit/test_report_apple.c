/* Apple's text in detail: messages, registers. */
#include "server/report/render.h"

#include <stdarg.h>
#include <stdlib.h>

#include <setjmp.h>

#include <cmocka.h>

static const struct report_envelope none = {.id = NULL};

/* Texts that could be taken for another part of the report are indented. */
static void
test_crash_messages(void **state)
{
    (void)state;
    static const char *lines[] = {"first\nThread 9 Crashed:\n0   Evil",
                                  "Thread 1 Crashed:", "0   Evil \t0x1000 f", "Binary Images:"};
    struct report report = {.crash = {.thread = -1, .messages = lines, .n_messages = 4}};
    struct fz_buffer out;
    fz_buffer_init(&out, 0);
    assert_int_equal(report_render_crash(&report, &none, &out, NULL), FZ_OK);
    assert_string_equal(fz_buffer_cstr(&out),
                        "\nReport Version:      104\n\n\nApplication Specific Information:\n"
                        "first\n    Thread 9 Crashed:\n    0   Evil\n    Thread 1 Crashed:\n"
                        "    0   Evil ?0x1000 f\n    Binary Images:\n\n\nBinary Images:\n\nEOF\n");
    fz_buffer_deinit(&out);
}

/* What an exception said is not repeated when a message has it already. */
static void
test_thrown(void **state)
{
    (void)state;
    static const char *said[] = {"*** Terminating app due to uncaught exception 'E', reason: 'r'"};
    static const char *other[] = {"abort() called"};
    static const struct {
        const char *exception, *reason, **messages;
        const char *want;
    } cases[] = {
        {"E", "r", said, "*** Terminating app due to uncaught exception 'E', reason: 'r'\n"},
        {"E", "r", other,
         "*** Terminating app due to uncaught exception 'E', reason: 'r'\nabort() called\n"},
        {"E", NULL, other, "*** Terminating app due to uncaught exception 'E'\nabort() called\n"},
        {NULL, "abort() called", other, "abort() called\n"},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct report report = {.crash = {.thread = -1,
                                          .mach = "EXC_CRASH",
                                          .exception = cases[i].exception,
                                          .reason = cases[i].reason,
                                          .messages = cases[i].messages,
                                          .n_messages = 1}};
        struct fz_buffer out;
        fz_buffer_init(&out, 0);
        assert_int_equal(report_render_crash(&report, &none, &out, NULL), FZ_OK);
        const char *text = strstr(fz_buffer_cstr(&out), "Information:\n");
        assert_non_null(text);
        assert_memory_equal(text + 13, cases[i].want, strlen(cases[i].want));
        fz_buffer_deinit(&out);
    }
}

/* The registers in Apple's order, whatever the report's; others after them. */
static void
test_registers(void **state)
{
    (void)state;
    static const struct {
        const char *arch;
        const char *names[9];
        const char *notable, *want;
    } cases[] = {
        {"arm64e",
         {"pc", "cpsr", "x30", "x29", "x28", "far", "esr", "x0", "odd"},
         "{\"esr\":{\"description\":\" (Data Abort) byte read\"}}",
         "ARM Thread State (64-bit):\n"
         "    x0: 0x0000000000000008\n"
         "   x28: 0x0000000000000005   fp: 0x0000000000000004   lr: 0x0000000000000003\n"
         "    pc: 0x0000000000000001 cpsr: 0x00000002\n"
         "   far: 0x0000000000000006  esr: 0x00000007  (Data Abort) byte read\n"
         "   odd: 0x0000000000000009\n\n"},
        {"x86_64",
         {"rip", "rflags", "rax", "rbx", "cs", "cr2", "r15"},
         NULL,
         "X86 Thread State (64-bit):\n"
         "  rax: 0x0000000000000003  rbx: 0x0000000000000004\n"
         "  r15: 0x0000000000000007\n"
         "  rip: 0x0000000000000001  rfl: 0x0000000000000002  cr2: 0x0000000000000006\n"
         "   cs: 0x0000000000000005\n\n"},
        {"armv7",
         {"pc", "lr", "sp", "ip", "r0", "cpsr"},
         NULL,
         "ARM Thread State (32-bit):\n"
         "    r0: 0x00000005\n"
         "    ip: 0x00000004    sp: 0x00000003      lr: 0x00000002      pc: 0x00000001\n"
         "  cpsr: 0x00000006\n\n"},
        {"i386",
         {"eip", "eax"},
         NULL,
         "X86 Thread State (32-bit):\n  eax: 0x00000002\n  eip: 0x00000001\n\n"},
        {NULL, /* from the names */
         {"pc", "x1", "x0"},
         NULL,
         "ARM Thread State (64-bit):\n"
         "    x0: 0x0000000000000003   x1: 0x0000000000000002\n"
         "    pc: 0x0000000000000001\n\n"},
        {NULL,
         {"eax", "eip"},
         NULL,
         "X86 Thread State (32-bit):\n  eax: 0x00000001\n  eip: 0x00000002\n\n"},
        {"x86_64",
         {"rip", "cpu", "err", "trap"},
         "{\"trap\":{\"description\":\"(no mapping for user data write)\"}}",
         "X86 Thread State (64-bit):\n"
         "  rip: 0x0000000000000001\n"
         "  \nLogical CPU:     2\n"
         "Error Code:      0x00000003 (no mapping for user data write)\n"
         "Trap Number:     4\n\n\n"},
        {"x86_64", /* under Rosetta there may be no pc */
         {"rax", "rflags", "rosetta.tmp0", "rosetta.tmp1", "rosetta.tmp2"},
         NULL,
         "X86 Thread State (64-bit):\n"
         "  rax: 0x0000000000000001\n"
         "  rip: <unavailable>       rfl: 0x0000000000000002\n"
         " tmp0: 0x0000000000000003 tmp1: 0x0000000000000004 tmp2: 0x0000000000000005\n\n\n"},
        {"mips",
         {"a", "b", "c", "d", "e"},
         NULL,
         "Thread State:\n"
         "     a: 0x0000000000000001    b: 0x0000000000000002    c: 0x0000000000000003"
         "    d: 0x0000000000000004\n     e: 0x0000000000000005\n\n"},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct report_register registers[9];
        struct report_thread thread = {.registers = registers, .notable_json = cases[i].notable};
        while (thread.n_registers < 9 && cases[i].names[thread.n_registers]) {
            size_t k = thread.n_registers++;
            registers[k] = (struct report_register){k + 1, FZ_NO_REGISTER, cases[i].names[k]};
        }
        struct report report = {
            .arch = cases[i].arch, .crash.thread = 0, .threads = &thread, .n_threads = 1};
        assert_true(report_number_registers(&report, NULL));
        struct fz_buffer out;
        fz_buffer_init(&out, 0);
        assert_int_equal(report_render_crash(&report, &none, &out, NULL), FZ_OK);
        char *text = strstr(fz_buffer_cstr(&out), "crashed with ");
        assert_non_null(text);
        strstr(text, "Binary")[0] = '\0';
        assert_string_equal(text + 13, cases[i].want);
        fz_buffer_deinit(&out);
    }
}

/* "termination" out of the model's one line. */
static void
test_termination(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"SIGNAL 6 Abort trap: 6",
         "{\"code\":6,\"namespace\":\"SIGNAL\",\"indicator\":\"Abort trap: 6\"}"},
        {"FRONTBOARD 0x8badf00d; late; by 5 s",
         "{\"code\":2343432205,\"namespace\":\"FRONTBOARD\",\"indicator\":\"late; by 5 s\"}"},
        {"Namespace SIGNAL, Code 0xb", "{\"code\":11,\"namespace\":\"SIGNAL\"}"},
        {"Namespace SIGNAL", "{\"indicator\":\"Namespace SIGNAL\"}"},
        {"JETSAM per-process-limit", "{\"indicator\":\"JETSAM per-process-limit\"}"},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct report report = {.crash = {.thread = -1, .termination = cases[i].text}};
        struct fz_buffer out;
        fz_buffer_init(&out, 0);
        assert_int_equal(report_render_ips(&report, &none, &out, NULL), FZ_OK);
        const char *text = strstr(fz_buffer_cstr(&out), "\"termination\":");
        assert_non_null(text);
        assert_memory_equal(text + 14, cases[i].want, strlen(cases[i].want));
        fz_buffer_deinit(&out);
    }
}

/* A process that lived on did not crash, whichever thread is to be looked at. */
static void
test_kind(void **state)
{
    (void)state;
    static const struct {
        const char *kind;
        int64_t thread;
        const char *os, *signal;
        const char *want, *want_none;
    } cases[] = {
        {"hang", -1, "iOS", NULL, "Event:           hang\n", "rashed"},
        {"hang", 0, "iOS", "SIGKILL", "Thread 0 Crashed:\n", "Highlighted"},
        {"hang", 0, "iOS", NULL, "Highlighted by Thread:  0\n", "rashed"},
        {"error", 0, "iOS", "SIGTRAP", "Highlighted by Thread:  0\n", "rashed"},
        {"cpu", 0, "macOS", NULL, "Highlighted by Thread:  0\n", "rashed"},
        {"memory", 0, "iOS", NULL, "Highlighted by Thread:  0\n", "rashed"},
        {"memory", 0, "iOS", "SIGKILL", "Thread 0 Crashed:\n", "Highlighted"},
        {NULL, -1, "iOS", NULL, "Triggered by Thread:  0\n\nThread 0 Crashed:\n", "Highlighted"},
        {"launch", 0, "macOS", NULL, "Crashed Thread:        0\n", "Triggered"},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct report_register pc = {1, FZ_NO_REGISTER, "pc"};
        struct report_thread thread = {.index = 0, .registers = &pc, .n_registers = 1};
        struct report report = {.kind = cases[i].kind,
                                .os_name = cases[i].os,
                                .crash = {.thread = cases[i].thread, .signal = cases[i].signal},
                                .threads = &thread,
                                .n_threads = 1};
        struct fz_buffer out;
        fz_buffer_init(&out, 0);
        assert_int_equal(report_render_crash(&report, &none, &out, NULL), FZ_OK);
        assert_non_null(strstr(fz_buffer_cstr(&out), cases[i].want));
        assert_null(strstr(fz_buffer_cstr(&out), cases[i].want_none));
        fz_buffer_clear(&out);
        assert_int_equal(report_render_ips(&report, &none, &out, NULL), FZ_OK);
        bool triggered = strstr(fz_buffer_cstr(&out), "triggered") != NULL;
        assert_true(triggered == (!cases[i].kind || cases[i].thread >= 0));
        fz_buffer_deinit(&out);
    }
}

/* The offset of an address with Thumb's bit counts that bit, as the address beside it does. */
static void
test_thumb(void **state)
{
    (void)state;
    struct report_frame stack[] = {
        {.addr = 0x91d01, .image = 0, .has_image_offset = true, .image_offset = 0x1d00},
        {.addr = 0x91e4c, .image = 0, .has_image_offset = true, .image_offset = 0x1e4c},
        /* An address that is signed. */
        {.addr = 0xff00000000091e4c, .image = 0, .has_image_offset = true, .image_offset = 0x1e4c}};
    struct report_thread one = {.frames = stack, .n_frames = 3};
    struct report_image app = {.name = "Shop", .arch = "armv7", .addr = 0x90000, .size = 0x9000};
    const struct report report = {
        .threads = &one, .n_threads = 1, .images = &app, .n_images = 1, .crash.thread = -1};
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    assert_int_equal(report_render_crash(&report, &none, &out, NULL), FZ_OK);
    assert_non_null(strstr(fz_buffer_cstr(&out), " 0x91d01 0x90000 + 7425\n"));
    assert_non_null(strstr(fz_buffer_cstr(&out), " 0x91e4c 0x90000 + 7756\n"));
    assert_non_null(strstr(fz_buffer_cstr(&out), "91e4c 0x90000 + 7756\n2 "));
    assert_non_null(strstr(fz_buffer_cstr(&out), "0xff00000000091e4c 0x90000 + 7756\n"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crash_messages), cmocka_unit_test(test_thrown),
        cmocka_unit_test(test_registers),      cmocka_unit_test(test_termination),
        cmocka_unit_test(test_kind),           cmocka_unit_test(test_thumb),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
