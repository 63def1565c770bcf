/* Names written into a report as it came: what changes, and that nothing else does. */
#include "server/report/annotate.h"

#include <stdarg.h>
#include <stdlib.h>

#include <setjmp.h>

#include <cmocka.h>

static struct report_symbol in_place[] = {{.function = "inner(int)",
                                           .file = "/src/work.c",
                                           .line = 2,
                                           .inlined = true,
                                           .source = "dwarf"},
                                          {.function = "work_step",
                                           .file = "/src/work.c",
                                           .line = 5,
                                           .has_offset = true,
                                           .offset = 8,
                                           .source = "dwarf"}};
static struct report_symbol exported[] = {
    {.function = "exported", .has_offset = true, .offset = 4, .source = "symtab"}};
static struct report_symbol client[] = {
    {.function = "client", .has_offset = true, .offset = 1, .source = "client"}};
static struct report_symbol hostile[] = {
    {.function = "a\nThread 9:\x1b[1m\"", .has_offset = true, .source = "symtab"}};

static struct report_frame first[] = {
    {.addr = 0x1010,
     .image = 0,
     .has_image_offset = true,
     .image_offset = 0x10,
     .symbols = in_place,
     .n_symbols = 2},
    {.addr = 0x1020,
     .image = 0,
     .has_image_offset = true,
     .image_offset = 0x20,
     .symbols = exported,
     .n_symbols = 1},
    {.addr = 0x1020,
     .image = 0,
     .has_image_offset = true,
     .image_offset = 0x20,
     .symbols = client,
     .n_symbols = 1},
    {.addr = 0x9000, .image = -1},
    {.addr = 0x1040,
     .image = 0,
     .has_image_offset = true,
     .image_offset = 0x40,
     .symbols = hostile,
     .n_symbols = 1},
};
static struct report_frame second[] = {
    {.addr = 0x1010,
     .image = 0,
     .has_image_offset = true,
     .image_offset = 0x10,
     .symbols = exported,
     .n_symbols = 1},
};
static struct report_frame thrown[] = {
    {.addr = 0x9000, .image = -1},
    {.addr = 0x1010,
     .image = 0,
     .has_image_offset = true,
     .image_offset = 0x10,
     .symbols = in_place,
     .n_symbols = 2},
};
static struct report_thread threads[] = {{.index = 0, .frames = first, .n_frames = 5},
                                         {.index = 7, .frames = second, .n_frames = 1}};
static struct report_image images[] = {{.name = "Shop", .addr = 0x1000, .size = 0x1000}};

static struct report
make_report(const char *format)
{
    return (struct report){.format = format,
                           .crash.thread = 0,
                           .threads = threads,
                           .n_threads = 2,
                           .exception_frames = thrown,
                           .n_exception_frames = 2,
                           .images = images,
                           .n_images = 1};
}

struct text_case {
    const char *in, *want;
};

static void
check(const char *format, enum report_form form, const struct text_case *cases, size_t n)
{
    static const struct report_envelope envelope = {.id = NULL};
    for (size_t i = 0; i < n; i++) {
        struct report report = make_report(format);
        struct fz_buffer out;
        bool kept;
        fz_buffer_init(&out, 0);
        assert_int_equal(
            report_write(&report, &envelope, fz_span_cstr(cases[i].in), form, &out, &kept, NULL),
            FZ_OK);
        if (cases[i].want)
            assert_string_equal(fz_buffer_cstr(&out), cases[i].want);
        assert_true(kept == (cases[i].want != NULL));
        fz_buffer_deinit(&out);
    }
}

#define STEP " inner(int) + 0 (work.c:2) [inlined]"
#define OUTER " work_step + 8 (work.c:5)"

static void
test_crash(void **state)
{
    (void)state;
    static const struct text_case cases[] = {
        /* Two names for the first frame; line ends, blanks, what comes before and after stay. */
        {"Hello,\r\nThread 0 Crashed:\r\n0   Shop   0x1010 0x1000 + 16  \r\n"
         "1   Shop   0x1020 Shop + 32\r\n\r\nBinary Images:\r\n0x1010 - 0x2000 Shop\x80\r\nbye",
         "Hello,\r\nThread 0 Crashed:\r\n0   Shop   0x1010" STEP "\r\n0   Shop   0x1010" OUTER
         "\r\n1   Shop   0x1020 exported + 4\r\n\r\nBinary Images:\r\n"
         "0x1010 - 0x2000 Shop\x80\r\nbye"},
        /* By the heading of its thread, not by the address alone. */
        {"Thread 7:\n0   Shop   0x1010 0x1000 + 16\n\nThread 0:\n0   Shop   0x1010 0x1000 + 16",
         "Thread 7:\n0   Shop   0x1010 exported + 4\n\nThread 0:\n0   Shop   0x1010" STEP
         "\n0   Shop   0x1010" OUTER},
        {"Thread 7 name:  x\nThread 7:\n0 Shop 0x1010 0x1000 + 16\n",
         "Thread 7 name:  x\nThread 7:\n0 Shop 0x1010 exported + 4\n"},
        {"Thread 7:: name\n0 Shop 0x1010 0x1000 + 16\nThread 7 crashed with X:\n"
         "0 Shop 0x1010 0x1000 + 16\n",
         "Thread 7:: name\n0 Shop 0x1010 exported + 4\nThread 7 crashed with X:\n"
         "0 Shop 0x1010 0x1000 + 16\n"},
        /* Lines may end with CR alone, and blanks may be no-break spaces. The last line has the
         * end of the others. */
        {"Thread 7:\r0 Shop 0x1010 0x1000 + 16\r\rThread 0:\r0 Shop 0x1010 0x1000 + 16",
         "Thread 7:\r0 Shop 0x1010 exported + 4\r\rThread 0:\r0 Shop 0x1010" STEP
         "\r0 Shop 0x1010" OUTER},
        {"Thread 0:\r\n0 Shop 0x1010 0x1000 + 16",
         "Thread 0:\r\n0 Shop 0x1010" STEP "\r\n0 Shop 0x1010" OUTER},
        {"Thread 7:\n0\xc2\xa0Shop \xc2\xa0 0x1010\xc2\xa0"
         "0x1000 + 16\n",
         "Thread 7:\n0\xc2\xa0Shop \xc2\xa0 0x1010 exported + 4\n"},
        /* Mail. */
        {"> Thread 7:\n> 0 Shop 0x1010 0x1000 + 16\n",
         "> Thread 7:\n> 0 Shop 0x1010 exported + 4\n"},
        /* A name that came stays, unless a symbol file knows the line. */
        {"Thread 0:\n0 Shop 0x1010 old + 3\n1 Shop 0x1020 old + 3\n2 Shop 0x1020 client + 1\n",
         "Thread 0:\n0 Shop 0x1010" STEP "\n0 Shop 0x1010" OUTER
         "\n1 Shop 0x1020 old + 3\n2 Shop 0x1020 client + 1\n"},
        {"Thread 0:\n0 Shop 0x1010 old + 3 (old.c:7)\n",
         "Thread 0:\n0 Shop 0x1010 old + 3 (old.c:7)\n"},
        {"Thread 0:\n0 Shop 0x1010 <redacted> + 3\n",
         "Thread 0:\n0 Shop 0x1010" STEP "\n0 Shop 0x1010" OUTER "\n"},
        /* Lines of inlined calls that came are of one frame. */
        {"Thread 0:\n0 Shop 0x1010 a + 0 [inlined]\n1 Shop 0x1010 b + 3\n2 Shop 0x1020 0x1000 + "
         "32\n",
         "Thread 0:\n1 Shop 0x1010" STEP "\n1 Shop 0x1010" OUTER "\n2 Shop 0x1020 exported + 4\n"},
        {"Thread 0:\n0 Shop 0x1010 a (x.c:1) [inlined]\n1 Shop 0x1010 b (x.c:3)\n",
         "Thread 0:\n0 Shop 0x1010 a (x.c:1) [inlined]\n1 Shop 0x1010 b (x.c:3)\n"},
        {"Thread 0:\n0 Shop 0x1010 a + 0 [inlined]\n",
         "Thread 0:\n0 Shop 0x1010 a + 0 [inlined]\n"},
        /* No frame, and lines that only look like one. */
        {"Thread 0:\n0 Shop 0x1010\n12 is no frame\n0x1010 0x1010\n1 Shop 0x10200x 0x1000 + 1\n",
         "Thread 0:\n0 Shop 0x1010" STEP "\n0 Shop 0x1010" OUTER
         "\n12 is no frame\n0x1010 0x1010\n1 Shop 0x10200x 0x1000 + 1\n"},
        /* What a name holds forges no line. */
        {"Thread 0:\n4 Shop 0x1040 0x1000 + 64\n",
         "Thread 0:\n4 Shop 0x1040 a?Thread 9:?[1m\" + 0\n"},
        /* The addresses of an exception. */
        {"Last Exception Backtrace:\n(0x9000 0x1010)\nThread 3:\n",
         "Last Exception Backtrace:\n0   ???                           \t0x0000000000009000 ???\n"
         "1   Shop                          \t0x0000000000001010" STEP
         "\n1   Shop                          \t0x0000000000001010" OUTER "\nThread 3:\n"},
        {"Last Exception Backtrace:\n0 ??? 0x9000 0x0 + 1\n1 Shop 0x1010 0x1000 + 16\n",
         "Last Exception Backtrace:\n0 ??? 0x9000 0x0 + 1\n1 Shop 0x1010" STEP
         "\n1 Shop 0x1010" OUTER "\n"},
        /* Nothing of it found: the report is rendered. */
        {"Thread 0:\n0 Shop 0x7777 0x1000 + 16\n", NULL},
        {"", NULL},
    };
    check("crash", REPORT_FORM_CRASH, cases, FZ_ARRAY_LEN(cases));
    static const struct text_case others[] = {{"Thread 0:\n0 Shop 0x1010 0x1000 + 16\n", NULL}};
    check("kscrash", REPORT_FORM_CRASH, others, 1);
    check("crash", REPORT_FORM_IPS, others, 1);
    check("crash", REPORT_FORM_JSON, others, 1);
}

#define BSB                                                                         \
    "Shop 0x1010 Shop + 16\nShop 0x1020 Shop + 32\nShop 0x1020 x\n? 0x9000 y + 1\n" \
    "Shop 0x1040 y (x.c:1)\n"
#define BSB_NAMED                            \
    "Shop 0x1010" STEP "\nShop 0x1010" OUTER \
    "\nShop 0x1020 exported + 4\nShop 0x1020 x\n? 0x9000 y + 1\nShop 0x1040 y (x.c:1)\n"

/* A text of frames alone is kept if all of them are found in it. */
static void
test_plain(void **state)
{
    (void)state;
    static const struct text_case cases[] = {
        {"0 Shop 0x1010 Shop + 16\n1 Shop 0x1020 Shop + 32\n2 Shop 0x1020 x + 1\n3 ? 0x9000 y + 1\n"
         "4 Shop 0x1040 Shop + 1\n\n0 Shop 0x1010 Shop + 16\n0 ? 0x9000 a\n1 Shop 0x1010 Shop + 16",
         "0 Shop 0x1010" STEP "\n0 Shop 0x1010" OUTER
         "\n1 Shop 0x1020 exported + 4\n2 Shop 0x1020 x + 1\n3 ? 0x9000 y + 1\n"
         "4 Shop 0x1040 a?Thread 9:?[1m\" + 0\n\n0 Shop 0x1010 exported + 4\n0 ? 0x9000 a\n"
         "1 Shop 0x1010" STEP "\n1 Shop 0x1010" OUTER},
        {"0 Shop 0x1010 Shop + 16\n", NULL},
        /* Lines without numbers; one with another address does not belong to them. */
        {"Shop 0x7777 x\n" BSB "Shop 0x1010 Shop + 16\n? 0x9000 a\nShop 0x1010 Shop + 16\n",
         "Shop 0x7777 x\n" BSB_NAMED "Shop 0x1010 exported + 4\n? 0x9000 a\nShop 0x1010" STEP
         "\nShop 0x1010" OUTER "\n"},
        /* The items of an array, on one line each and all on one. */
        {"[\n  \"0 Shop 0x1010 Shop + 16\",\n  \"1 Shop 0x1020 Shop + 32\",\n  \"2 Shop 0x1020 "
         "x\",\n  \"3 ? 0x9000 y\",\n  \"4 Shop 0x1040 y (x.c:1)\",\n  \"0 Shop 0x1010 y + 1\",\n"
         "  \"0 ? 0x9000 a\",\n  \"1 Shop 0x1010 Shop + 16\"\n]\n",
         "[\n  \"0 Shop 0x1010" STEP "\",\n  \"0 Shop 0x1010" OUTER
         "\",\n  \"1 Shop 0x1020 exported + 4\",\n  \"2 Shop 0x1020 "
         "x\",\n  \"3 ? 0x9000 y\",\n  \"4 Shop 0x1040 y (x.c:1)\",\n  \"0 Shop 0x1010 y + 1\",\n"
         "  \"0 ? 0x9000 a\",\n  \"1 Shop 0x1010" STEP "\",\n  \"1 Shop 0x1010" OUTER "\"\n]\n"},
        {"[\"0 Shop 0x1010 Shop + 16\", \"1 Shop 0x1020 Shop + 32\", \"2 Shop 0x1020 "
         "x\", \"3 ? 0x9000 y\", \"4 Shop 0x1040 y (x.c:1)\", \"0 Shop 0x1010 y + 1\", "
         "\"0 ? 0x9000 a\", \"1 Shop 0x1010 Shop + 16\"]\n",
         "[\"0 Shop 0x1010" STEP "\", \"0 Shop 0x1010" OUTER
         "\", \"1 Shop 0x1020 exported + 4\", \"2 Shop 0x1020 "
         "x\", \"3 ? 0x9000 y\", \"4 Shop 0x1040 y (x.c:1)\", \"0 Shop 0x1010 y + 1\", "
         "\"0 ? 0x9000 a\", \"1 Shop 0x1010" STEP "\", \"1 Shop 0x1010" OUTER "\"]\n"},
        /* lldb. */
        {"* thread #1\n  * frame #0: 0x1010 Shop`___lldb_unnamed_symbol1 + 4\n"
         "    frame #1: 0x1020 Shop\n    frame #2: 0x1020 Shop`x\n    frame #3: 0x9000 ?`y\n"
         "    frame #4: 0x1040 Shop`y at x.c:1:2 [opt]\n  thread #2\n    frame #0: 0x1010 Shop`z\n"
         "0 ? 0x9000 a\n1 Shop 0x1010 a [inlined] (x.c:1)\n",
         "* thread #1\n  * frame #0: 0x1010 Shop`work_step [inlined] inner(int) at work.c:2\n"
         "  * frame #0: 0x1010 Shop`work_step + 8 at work.c:5\n"
         "    frame #1: 0x1020 Shop`exported + 4\n    frame #2: 0x1020 Shop`x\n"
         "    frame #3: 0x9000 ?`y\n"
         "    frame #4: 0x1040 Shop`y at x.c:1:2 [opt]\n  thread #2\n    frame #0: 0x1010 Shop`z\n"
         "0 ? 0x9000 a\n1 Shop 0x1010 a [inlined] (x.c:1)\n"},
        /* Addresses alone become lines. */
        {"*** First throw call stack:\n(0x1010 0x1020 0x1020 0x9000 0x1040)\n"
         "0 Shop 0x1010 z\n0 ? 0x9000 a\n1 Shop 0x1010 z (x.c:1)\n",
         "*** First throw call stack:\n0   Shop                          \t0x0000000000001010" STEP
         "\n0   Shop                          \t0x0000000000001010" OUTER
         "\n1   Shop                          \t0x0000000000001020 exported + 4"
         "\n2   Shop                          \t0x0000000000001020 client + 1"
         "\n3   ???                           \t0x0000000000009000 ???"
         "\n4   Shop                          \t0x0000000000001040 a?Thread 9:?[1m\" + 0\n"
         "0 Shop 0x1010 z\n0 ? 0x9000 a\n1 Shop 0x1010 z (x.c:1)\n"},
    };
    check("text", REPORT_FORM_CRASH, cases, FZ_ARRAY_LEN(cases));
}

#define INNER                                                                            \
    "{\"imageOffset\":16,\"symbol\":\"inner(int)\",\"symbolLocation\":0,\"sourceFile\":" \
    "\"work.c\",\"sourceLine\":2,\"imageIndex\":0,\"inline\":true}"
#define OWN \
    ",\"symbol\":\"work_step\",\"symbolLocation\":8,\"sourceFile\":\"work.c\",\"sourceLine\":5"

static void
test_ips(void **state)
{
    (void)state;
    static const struct text_case cases[] = {
        /* Behind the last member; a call that is inlined before it, indented as it is. */
        {"{\"bug_type\":\"309\"}\n{ \"x\" : [1, 2],\"threads\" : [{\"frames\":[\n"
         "  {\"imageOffset\":16, \"imageIndex\":0 },\n  {\"imageIndex\":0,\"imageOffset\":32}]}],\n"
         "\"usedImages\":[] , \"odd\":\"\\u0000\" }\r\n trailing",
         "{\"bug_type\":\"309\"}\n{ \"x\" : [1, 2],\"threads\" : [{\"frames\":[\n"
         "  " INNER ",\n  {\"imageOffset\":16, \"imageIndex\":0" OWN
         " },\n  {\"imageIndex\":0,\"imageOffset\":32,\"symbol\":\"exported\","
         "\"symbolLocation\":4}]}],\n"
         "\"usedImages\":[] , \"odd\":\"\\u0000\" }\r\n trailing"},
        /* In the place of an empty or a worse name; a better one stays. */
        {"{\"usedImages\":[],\"threads\":[{\"frames\":[{\"symbol\":\"\",\"imageOffset\":16,"
         "\"imageIndex\":0},{\"imageOffset\":32,\"symbol\":\"old\",\"imageIndex\":0}]}]}",
         "{\"usedImages\":[],\"threads\":[{\"frames\":[" INNER
         ",{\"symbol\":\"work_step\",\"imageOffset\":16,\"imageIndex\":0,\"symbolLocation\":8,"
         "\"sourceFile\":\"work.c\",\"sourceLine\":5},"
         "{\"imageOffset\":32,\"symbol\":\"old\",\"imageIndex\":0}]}]}"},
        {"{\"usedImages\":[],\"threads\":[{\"frames\":[{\"imageOffset\":16,\"imageIndex\":0,"
         "\"symbol\":\"a\",\"sourceFile\":\"x.c\",\"sourceLine\":1}]}]}",
         "{\"usedImages\":[],\"threads\":[{\"frames\":[{\"imageOffset\":16,\"imageIndex\":0,"
         "\"symbol\":\"a\",\"sourceFile\":\"x.c\",\"sourceLine\":1}]}]}"},
        /* Objects of inlined calls that came are of one frame. */
        {"{\"usedImages\":[],\"threads\":[{\"frames\":[{\"imageOffset\":16,\"imageIndex\":0,"
         "\"symbol\":\"a\",\"inline\":true},{\"imageOffset\":16,\"imageIndex\":0,"
         "\"symbol\":\"b\"},{\"imageOffset\":32,\"imageIndex\":0}]}]}",
         "{\"usedImages\":[],\"threads\":[{\"frames\":[" INNER
         ",{\"imageOffset\":16,\"imageIndex\":0,\"symbol\":\"work_step\",\"symbolLocation\":8,"
         "\"sourceFile\":\"work.c\",\"sourceLine\":5},{\"imageOffset\":32,\"imageIndex\":0,"
         "\"symbol\":\"exported\",\"symbolLocation\":4}]}]}"},
        /* Behind a text. The list of the exception too. */
        {"Full "
         "Report\n\n{\"bug_type\":\"309\"}\n{\"lastExceptionBacktrace\":[{\"imageOffset\":36864,"
         "\"imageIndex\":1},{\"imageOffset\":16,\"imageIndex\":0}],\"threads\":[],"
         "\"usedImages\":[]}",
         "{\"bug_type\":\"309\"}\n{\"lastExceptionBacktrace\":[{\"imageOffset\":36864,"
         "\"imageIndex\":1}," INNER ",{\"imageOffset\":16,\"imageIndex\":0" OWN
         "}],\"threads\":[],\"usedImages\":[]}"},
        /* A member without a value. */
        {"{\"usedImages\":[],\"threads\":[{\"frames\":[{\"imageOffset\":16,\"imageIndex\": },"
         "{\"imageOffset\":32}]}]}",
         "{\"usedImages\":[],\"threads\":[{\"frames\":[{\"imageOffset\":16,\"imageIndex\": },"
         "{\"imageOffset\":32,\"symbol\":\"exported\",\"symbolLocation\":4}]}]}"},
        /* Cut inside a frame: what is whole gets its names. */
        {"{\"usedImages\":[],\"threads\":[{\"frames\":[{\"imageOffset\":32,\"imageIndex\":0},{\"im",
         NULL},
        {"{\"usedImages\":[],\"threads\":[]}", NULL},
        {"no object", NULL},
    };
    check("ips", REPORT_FORM_IPS, cases, FZ_ARRAY_LEN(cases));
}

/* UTF-16, as an editor of Windows saves it, becomes UTF-8. */
static void
test_utf16(void **state)
{
    (void)state;
    static const char text[] = "Thread 7:\n0 Shop 0x1010 0x1000 + 16\n";
    static const struct report_envelope envelope = {.id = NULL};
    for (int big = 0; big < 2; big++) {
        uint8_t raw[2 * sizeof(text) + 4] = {big ? 0xfe : 0xff, big ? 0xff : 0xfe};
        size_t len = 2;
        for (size_t i = 0; text[i]; i++) {
            raw[len++] = big ? 0 : (uint8_t)text[i];
            raw[len++] = big ? (uint8_t)text[i] : 0;
        }
        raw[len++] = big ? 0x20 : 0xac; /* the euro sign */
        raw[len++] = big ? 0xac : 0x20;
        struct report report = make_report("crash");
        struct fz_buffer out;
        bool kept;
        fz_buffer_init(&out, 0);
        assert_int_equal(report_write(&report, &envelope, fz_span_make(raw, len), REPORT_FORM_CRASH,
                                      &out, &kept, NULL),
                         FZ_OK);
        assert_true(kept);
        assert_string_equal(fz_buffer_cstr(&out),
                            "Thread 7:\n0 Shop 0x1010 exported + 4\n\xe2\x82\xac");
        fz_buffer_deinit(&out);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crash),
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_ips),
        cmocka_unit_test(test_utf16),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
