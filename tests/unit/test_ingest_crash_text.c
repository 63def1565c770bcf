#include "tests/unit/check_body.h"
#include "tests/unit/ingest_case.h"

#include <stdio.h>

static struct report
parse(const char *text)
{
    return parse_as(fz_span_cstr(text), "crash");
}

/* NULL and a text alike. */
static void
assert_text(const char *got, const char *want, const char *where)
{
    if ((got == NULL) != (want == NULL) || (got && strcmp(got, want) != 0))
        fail_msg("%s: got %s, want %s", where, got ? got : "nothing", want ? want : "nothing");
}

static const struct {
    const char *rest; /* after "0   Demo   0x104004068 " */
    const char *function, *file;
    uint32_t line, column;
    int64_t offset; /* -1: none */
    uint64_t load;  /* 0: not given */
} frames[] = {
    {"0x104000000 + 16488", NULL, NULL, 0, 0, -1, 0x104000000},
    {"0x104000000 + 0x4068", NULL, NULL, 0, 0, -1, 0x104000000},
    {"0x104000000 + 16487", NULL, NULL, 0, 0, -1, 0}, /* the sum is another address */
    {"0x0 + 4362092648", NULL, NULL, 0, 0, -1, 0},
    {"0x104000000 + 16488 (work_step + 8)", "work_step", NULL, 0, 0, 8, 0x104000000},
    {"0x104000000 + 16488 (f(int) + 8)", "f(int)", NULL, 0, 0, 8, 0x104000000},
    {"work_step + 8", "work_step", NULL, 0, 0, 8, 0},
    {"work_step + 8 (work.c:5)", "work_step", "work.c", 5, 0, 8, 0},
    {"work_step (in Demo) (work.c:5)", "work_step", "work.c", 5, 0, -1, 0},
    {"work_step (in My Demo) + 8", "work_step", NULL, 0, 0, 8, 0},
    {"work_step (my work.c:5:9)", "work_step", "my work.c", 5, 9, -1, 0},
    {"-[A(B) c:d:] + 12", "-[A(B) c:d:]", NULL, 0, 0, 12, 0},
    {"A::f(int, char (*)(long)) const + 4", "A::f(int, char (*)(long)) const", NULL, 0, 0, 4, 0},
    {"closure #1 in A.b(_:) (a.swift:0)", "closure #1 in A.b(_:)", "a.swift", 0, 0, -1, 0},
    {"operator+ + 8", "operator+", NULL, 0, 0, 8, 0},
    {"a + b", "a + b", NULL, 0, 0, -1, 0},
    {"start", "start", NULL, 0, 0, -1, 0},
    {"Demo + 16488", NULL, NULL, 0, 0, -1, 0x104000000},
    {"_mh_execute_header + 16488", NULL, NULL, 0, 0, -1, 0x104000000},
    {"<redacted> + 40", NULL, NULL, 0, 0, -1, 0},
    {"???", NULL, NULL, 0, 0, -1, 0},
    {"0x104004068", NULL, NULL, 0, 0, -1, 0},
    {"", NULL, NULL, 0, 0, -1, 0},
    {"_Z1fi [inlined] (work.c:2)", "_Z1fi", "work.c", 2, 0, -1, 0},
};

static void
test_frames(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
        char text[256];
        snprintf(text, sizeof(text), "Thread 0 Crashed:\n0   Demo  \t0x0000000104004068 %s\n",
                 frames[i].rest);
        struct report r = parse(text);
        assert_int_equal(r.n_threads, 1);
        assert_int_equal(r.threads[0].n_frames, 1);
        const struct report_frame *frame = &r.threads[0].frames[0];
        const struct report_symbol *symbol = frame->n_client ? &frame->client[0] : NULL;
        assert_true(frame->addr == 0x104004068);
        assert_text(symbol ? symbol->function : NULL, frames[i].function, frames[i].rest);
        assert_text(symbol ? symbol->file : NULL, frames[i].file, frames[i].rest);
        assert_int_equal(symbol ? symbol->line : 0, frames[i].line);
        assert_int_equal(symbol ? symbol->column : 0, frames[i].column);
        assert_int_equal(frame->has_client_start, frames[i].offset >= 0);
        if (frames[i].offset >= 0)
            assert_true(frame->client_start == frame->addr - (uint64_t)frames[i].offset);
        uint64_t load = r.n_images ? r.images[0].addr : 0;
        if (load != frames[i].load)
            fail_msg("%s: load address 0x%llx", frames[i].rest, (unsigned long long)load);
    }
}

static const struct {
    const char *line;
    uint64_t addr, size;
    const char *name, *bundle_id, *version, *arch, *path;
    bool has_uuid;
} images[] = {
    {"0x104000000 - 0x10400bfff Demo arm64  <4c4c445b55553144a12988beb9d5eb60> /a/Demo",
     0x104000000, 0xc000, "Demo", NULL, NULL, "arm64", "/a/Demo", true},
    {"  0x1000 -     0x1fff +My Demo armv7s  <4c4c445b55553144a12988beb9d5eb60> /a b/My Demo",
     0x1000, 0x1000, "My Demo", NULL, NULL, "armv7s", "/a b/My Demo", true},
    {"0x1000 - 0x1fff +com.a.demo (1.2) <4C4C445B-5555-3144-A129-88BEB9D5EB60> /a/Demo", 0x1000,
     0x1000, "Demo", "com.a.demo", "1.2", NULL, "/a/Demo", true},
    {"0x1000 - 0x1fff com.a.demo 1.2 (34) <4C4C445B-5555-3144-A129-88BEB9D5EB60> /a/Demo", 0x1000,
     0x1000, "Demo", "com.a.demo", "1.2 (34)", NULL, "/a/Demo", true},
    {"0x1000 - 0x1fff +Demo x86_64 (4.9 - 1.0) <4c4c445b55553144a12988beb9d5eb60> /a/Demo", 0x1000,
     0x1000, "Demo", NULL, "4.9 - 1.0", "x86_64", "/a/Demo", true},
    {"0x1000 - 0x1fff dyld (*) <4c4c445b55553144a12988beb9d5eb60> /usr/lib/dyld", 0x1000, 0x1000,
     "dyld", NULL, NULL, NULL, "/usr/lib/dyld", true},
    {"0x1000 - 0x1fff ??? arm64 <00000000000000000000000000000000> ???", 0x1000, 0x1000, NULL, NULL,
     NULL, "arm64", NULL, false},
    {"0x1000 - 0x1fff Demo arm64 /a/Demo", 0x1000, 0x1000, "Demo", NULL, NULL, "arm64", "/a/Demo",
     false},
    {"*0xffffff8000200000 - ??? kernel (7195.0) <4C4C445B-5555-3144-A129-88BEB9D5EB60> /S/kernel",
     0xffffff8000200000, 0, "kernel", NULL, "7195.0", NULL, "/S/kernel", true},
    {"0x2000 - 0x1fff Demo arm64  <4c4c445b55553144a12988beb9d5eb60> /a/Demo", 0x2000, 0, "Demo",
     NULL, NULL, "arm64", "/a/Demo", true},
    {"0x1 - 0xffffffffffffffff Demo", 0x1, UINT64_MAX, "Demo", NULL, NULL, NULL, NULL, false},
};

static void
test_images(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(images) / sizeof(images[0]); i++) {
        char text[256];
        snprintf(text, sizeof(text), "Thread 0:\n0 Demo 0x1 f + 1\n\nBinary Images:\n%s\n",
                 images[i].line);
        struct report r = parse(text);
        assert_true(r.n_images >= 1);
        const struct report_image *image = &r.images[0];
        if (image->addr != images[i].addr || image->size != images[i].size)
            fail_msg("%s: 0x%llx, %llu", images[i].line, (unsigned long long)image->addr,
                     (unsigned long long)image->size);
        assert_text(image->name, images[i].name, images[i].line);
        assert_text(image->bundle_id, images[i].bundle_id, images[i].line);
        assert_text(image->version, images[i].version, images[i].line);
        assert_text(image->arch, images[i].arch, images[i].line);
        assert_text(image->path, images[i].path, images[i].line);
        assert_int_equal(image->has_uuid, images[i].has_uuid);
    }
}

/* What the head says of the crash, by the words of each writer. */
static const struct {
    const char *text;
    const char *mach, *signal, *code, *signal_code, *exception;
    bool has_address;
    uint64_t address;
    size_t n_codes;
} heads[] = {
    {"Exception Type:  EXC_BAD_ACCESS (SIGSEGV)\nException Codes: 0x1, 0x10\n", "EXC_BAD_ACCESS",
     "SIGSEGV", "KERN_INVALID_ADDRESS", NULL, NULL, true, 0x10, 2},
    {"Exception Type: EXC_BAD_ACCESS (SIGBUS)\n"
     "Exception Subtype: KERN_PROTECTION_FAILURE at 0x20\nException Codes: 0x2, 0x20\n",
     "EXC_BAD_ACCESS", "SIGBUS", "KERN_PROTECTION_FAILURE", NULL, NULL, true, 0x20, 2},
    {"Exception Type:  SIGSEGV\nException Codes: SEGV_MAPERR at 0x88\n", NULL, "SIGSEGV", NULL,
     "SEGV_MAPERR", NULL, true, 0x88, 0},
    {"Exception Type:  SIGABRT\nException Codes: #0 at 0x1ae2e5ec4\n", NULL, "SIGABRT", NULL, "#0",
     NULL, true, 0x1ae2e5ec4, 0},
    {"Exception Type:  EXC_CRASH (SIGABRT)\nException Codes: 0x00000000 at 0x00000000\n",
     "EXC_CRASH", "SIGABRT", NULL, NULL, NULL, false, 0, 1},
    {"Exception Type:  EXC_CRASH (SIGKILL - CODESIGNING)\nException Codes: 0x0, 0x0\n", "EXC_CRASH",
     "SIGKILL", NULL, NULL, NULL, false, 0, 2},
    {"Exception Type:  EXC_BREAKPOINT (SIGTRAP)\nApplication Specific Information:\n"
     "terminating with uncaught exception of type std::runtime_error: no file\n",
     "EXC_BREAKPOINT", "SIGTRAP", NULL, NULL, "std::runtime_error", false, 0, 0},
};

static void
test_heads(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        struct report_crash crash = parse(heads[i].text).crash;
        assert_text(crash.mach, heads[i].mach, heads[i].text);
        assert_text(crash.signal, heads[i].signal, heads[i].text);
        assert_text(crash.code, heads[i].code, heads[i].text);
        assert_text(crash.signal_code, heads[i].signal_code, heads[i].text);
        assert_text(crash.exception, heads[i].exception, heads[i].text);
        assert_int_equal(crash.has_address, heads[i].has_address);
        assert_true(crash.address == heads[i].address);
        assert_int_equal(crash.n_mach_codes, heads[i].n_codes);
    }
}

static const struct {
    const char *version, *code_type, *os, *want_version, *want_build;
} versions[] = {
    {"1.2 (34)", "ARM-64 (Native)", "iPhone OS 17.2 (21C62)", "1.2", "34"},
    {"34 (1.2)", "ARM-64 (Native)", "iPhone OS 17.2 (21C62)", "1.2", "34"},
    {"3.5.5.2 (3.5.5)", "ARM-64 (Native)", "iPhone OS 10.1.1 (14B100)", "3.5.5", "3.5.5.2"},
    {"3.5.5 (3.5.5.2)", "ARM-64", "iPhone OS 10.1.1 (14B100)", "3.5.5", "3.5.5.2"},
    {"2.1 (1.9)", "X86-64 (Native)", "Mac OS X 10.13 (17A365)", "2.1", "1.9"},
    {"512", "X86-64", "Mac OS X 10.8.5 (12F45)", NULL, "512"},
    {"4.21.1", "X86-64", "macOS 11.0", "4.21.1", NULL},
    {"???", "X86", "macOS 11.0", NULL, NULL},
    {"(7)", "X86", "macOS 11.0", NULL, "7"},
};

static void
test_versions(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
        char text[256];
        snprintf(text, sizeof(text), "Version: %s\nCode Type: %s\nOS Version: %s\nThread 0:\n",
                 versions[i].version, versions[i].code_type, versions[i].os);
        struct report r = parse(text);
        assert_text(r.app_version, versions[i].want_version, versions[i].version);
        assert_text(r.app_build, versions[i].want_build, versions[i].version);
    }
}

/* Newest first; frame 0 by the rule, so exact; a first frame with another number is not; a
 * stack that begins with a throw has no exact frame; the exception's own are in their own list. */
static void
test_order(void **state)
{
    (void)state;
    struct report r =
        parse("Triggered by Thread:  1\n\nLast Exception Backtrace:\n"
              "0   CoreFoundation 0x10 __exceptionPreprocess + 1\n1 Demo 0x11 f + 1\n\n"
              "Thread 0:\n2 Demo 0x20 f + 1\n3 Demo 0x21 g + 1\n\n"
              "Thread 1 Crashed:\n0 libsystem_kernel.dylib 0x30 __pthread_kill + 8\n"
              "1 Demo 0x31 main + 1\n");
    assert_int_equal(r.n_exception_frames, 2);
    assert_true(r.exception_frames[0].addr == 0x10 && r.exception_frames[1].addr == 0x11);
    assert_int_equal(r.n_threads, 2);
    assert_int_equal(r.crash.thread, 1);
    assert_false(r.threads[0].crashed);
    assert_true(r.threads[1].crashed);
    assert_int_equal(r.threads[0].frames[0].adjust, REPORT_ADJUST_RETURN);
    assert_int_equal(r.threads[0].frames[1].adjust, REPORT_ADJUST_AUTO);
    assert_true(r.threads[1].frames[0].addr == 0x30);
    assert_int_equal(r.threads[1].frames[0].adjust, REPORT_ADJUST_AUTO);
    r = parse("Thread 0 Crashed:\n0 CoreFoundation 0x1 0x1 + 0 (__exceptionPreprocess + 1)\n"
              "1 Demo 0x11 f + 1\n");
    assert_int_equal(r.threads[0].frames[0].adjust, REPORT_ADJUST_RETURN);
    assert_int_equal(r.threads[0].frames[1].adjust, REPORT_ADJUST_AUTO);
    r = parse("Thread 0 Crashed:\n0 CoreFoundation 0x2000 0x1000 + 4096\n"
              "1 libobjc.A.dylib 0x9000 0x8000 + 4096\n");
    assert_int_equal(r.threads[0].frames[0].adjust, REPORT_ADJUST_RETURN);
}

static void
test_inlined(void **state)
{
    (void)state;
    struct report r = parse("Thread 0 Crashed:\n0 Demo 0x40 a [inlined] (w.c:1)\n"
                            "1 Demo 0x40 b [inlined] + 4 (w.c:2)\n2 Demo 0x40 c + 8 (w.c:3)\n"
                            "3 Demo 0x40 c + 8 (w.c:3)\n");
    assert_int_equal(r.threads[0].n_frames, 2);
    const struct report_frame *frame = &r.threads[0].frames[0];
    assert_int_equal(frame->n_client, 3);
    assert_string_equal(frame->client[0].function, "a");
    assert_string_equal(frame->client[1].function, "b");
    assert_string_equal(frame->client[2].function, "c");
    assert_true(frame->client[1].inlined && !frame->client[2].inlined);
    assert_true(frame->client_start == 0x38);
    assert_int_equal(frame->adjust, REPORT_ADJUST_AUTO);
}

static void
test_headings(void **state)
{
    (void)state;
    struct report r = parse("Thread 0 name:  Dispatch queue: q 0\nThread 0 Crashed:\n0 D 0x1 f\n"
                            "Thread 1:: Worker  Dispatch queue: q1\n0 D 0x1 f\n"
                            "Thread 2 name:  two\nThread 2:\n"
                            "Thread 3 Crashed: three\n0 D 0x1 f\n"
                            "Thread 2 crashed with ARM Thread State (64-bit):\n x0: 0x1 x1: 0x2\n");
    assert_int_equal(r.n_threads, 4);
    assert_string_equal(r.threads[0].queue, "q 0");
    assert_null(r.threads[0].name);
    assert_string_equal(r.threads[1].name, "Worker");
    assert_string_equal(r.threads[1].queue, "q1");
    assert_string_equal(r.threads[2].name, "two");
    assert_int_equal(r.threads[2].n_registers, 2);
    assert_string_equal(r.threads[3].name, "three");
}

static void
test_limits(void **state)
{
    (void)state;
    limits.threads = 2;
    limits.frames = 2;
    limits.images = 1;
    struct report r = parse("Thread 0:\n0 D 0x1 f\n1 D 0x2 f\n2 D 0x3 f\nThread 1:\nThread 2:\n"
                            "Thread 3 Crashed:\n0 D 0x9 f\nThread 4:\nBinary Images:\n"
                            "0x1 - 0x1 a\n0x2 - 0x2 b\n");
    assert_int_equal(r.n_threads, 2);
    assert_int_equal(r.threads[0].n_frames, 2);
    assert_int_equal(r.threads[0].n_frames_cut, 1);
    assert_int_equal(r.threads[1].index, 3);
    assert_true(r.threads[1].crashed);
    assert_int_equal(r.n_images, 1);
    assert_string_equal(r.notes[0], "threads: 5, of which 2 are kept");
    assert_string_equal(r.notes[1], "images: 2, of which 1 are kept");
}

static void
test_no_report(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "Thread\n", "Thread safety: none\n",
                                        "Process: x\nPath: y\n",
                                        "Dear all,\n\nVersion: 3\nDate/Time: now\n"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const char *format = ingest_detect(fz_span_cstr(texts[i]));
        if (format)
            fail_msg("\"%s\" was taken for %s", texts[i], format);
    }
}

static void
test_id(void **state)
{
    (void)state;
    const char *format;
    char id[FZ_UUID_TEXT] = "";
    struct fz_error err;
    struct fz_span body =
        fz_span_cstr("> Incident Identifier: 5C2A7E10-9B1D-4E43-8F57-0D6A1B2C3D4E\r\n"
                     "> Thread 0 Crashed:\r\n");
    assert_int_equal(check_body(body, &limits, &format, id, &err), FZ_OK);
    assert_string_equal(format, "crash");
    assert_string_equal(id, "5c2a7e109b1d4e438f570d6a1b2c3d4e");
}

static void
test_several(void **state)
{
    (void)state;
    struct ingest_item *items;
    struct fz_error err;
    size_t n, n_cut;
    struct fz_span body = fz_span_cstr(
        "Hi\nIncident Identifier: 5C2A7E10-9B1D-4E43-8F57-0D6A1B2C3D4E\nProcess: A [1]\nThread 0:\n"
        "0 A 0x1 f + 1\nBinary Images:\n0x1 - 0x2 A\n\n> Process: B [2]\n> Code Type: X86\n"
        "> Thread 0:\n> 0 B 0x2 g + 1\n> Binary Images:\n> 0x1 - 0x2 B\n");
    assert_int_equal(ingest_split(body, &limits, &arena, &items, &n, &n_cut, &err), FZ_OK);
    assert_int_equal(n, 2);
    assert_string_equal(items[0].id, "5c2a7e109b1d4e438f570d6a1b2c3d4e");
    assert_int_equal(items[1].code, FZ_OK);
    static const char *const names[] = {"A", "B"};
    for (size_t i = 0; i < 2; i++) {
        struct report r;
        assert_int_equal(ingest_parse(items[i].body, &limits, &arena, &r, &err), FZ_OK);
        assert_string_equal(r.process.name, names[i]);
        assert_int_equal(r.n_threads, 1);
        assert_int_equal(r.n_images, 1);
    }
    body = fz_span_cstr("Incident Identifier: a\nProcess: A [1]\nThread 0:\n0 A 0x1 f + 1\n");
    assert_int_equal(ingest_split(body, &limits, &arena, &items, &n, &n_cut, &err), FZ_OK);
    assert_int_equal(n, 1);
}

/* What Apple writes right below the table of memory, without a blank line, is not part of it. */
static void
test_below_regions(void **state)
{
    (void)state;
    struct report r =
        parse("Incident Identifier: a\nProcess: Demo [1]\n"
              "Exception Type:  EXC_CRASH (SIGKILL)\n"
              "VM Region Info: 0 is not in any region.\n"
              "      REGION TYPE    START - END\n--->  \n      Name: x  1-2\n"
              "Exception Note:  EXC_CORPSE_NOTIFY\n"
              "Termination Reason: FRONTBOARD 2343432205 \n"
              "<RBSTerminateContext| domain:10 code:0x8BADF00D explanation:slow\n"
              "ProcessState: Running\nCPU: (\n\"Elapsed: 3\",\n) reportType:CrashLog>\n"
              "Terminating Process: exc handler [1]\n\nTriggered by Thread:  0\n\n"
              "Thread 0 Crashed:\n0 Demo 0x104004068 f + 8\n\nkernel messages:\na\n\nEOF\n");
    assert_string_equal(r.crash.termination,
                        "FRONTBOARD 2343432205 <RBSTerminateContext| domain:10 code:0x8BADF00D "
                        "explanation:slow ProcessState: Running CPU: ( \"Elapsed: 3\", ) "
                        "reportType:CrashLog>");
    assert_string_equal(r.kind, "hang");
    assert_int_equal(r.crash.thread, 0);
    assert_string_equal(r.extra_json,
                        "{\"VM Region Info\":\"0 is not in any region.\\n"
                        "      REGION TYPE    START - END\\n--->\\n      Name: x  1-2\","
                        "\"Exception Note\":\"EXC_CORPSE_NOTIFY\","
                        "\"Terminating Process\":\"exc handler [1]\",\"kernel messages\":\"a\"}");
}

/* Whichever allocation fails, the parse says so and no more. */
static void
test_out_of_memory(void **state)
{
    (void)state;
    static const char text[] =
        "Incident Identifier: a\nProcess: Demo [1]\nVersion: 1.2 (34)\nCode Type: ARM-64\nModel: "
        "a, b\n"
        "OS Version: iPhone OS 17.2 (21C62)\nException Type: EXC_CRASH (SIGABRT)\n"
        "Exception Codes: 0x0, 0x0\nTermination Reason: SIGNAL 6\nRole: x\nRole: y\n"
        "Application Specific Information:\n"
        "*** Terminating app due to uncaught exception 'E', reason: 'why'\nabort() called\n\n"
        "Last Exception Backtrace:\n(0x1 0x2)\n\nThread 0 name: n\nThread 0 Crashed:\n"
        "0 Demo 0x104004068 work_step + 8 (work.c:5)\n1 Kit 0x3010 0x3000 + 16\n2 X 0x9 f\n\xff\n"
        "Thread 0 crashed with ARM Thread State:\n x0: 0x1 esr: 0x2 (why)\n\nBinary Images:\n"
        "0x104000000 - 0x10400bfff a.Demo arm64 (1) <4c4c445b55553144a12988beb9d5eb60> /v/Demo\n"
        "Stack Dump (0x10-0x12):\n\nAABB\n\nNotable Addresses:\n{\"a\":{\"b\":1}}\n";
    fail_each_allocation(fz_span_cstr(text));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_frames, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_images, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_heads, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_versions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_inlined, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_headings, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_below_regions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_limits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_report, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_id, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_several, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_out_of_memory, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
