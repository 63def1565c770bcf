/* Chains of threads with captured memory: unwound, and compared with the frames that the client
 * sent. The stacks are hand-made records of frame pointers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/attr.h"
#include "server/resolve/stack.h"
#include "tests/unit/tiny_macho.h"

enum {
    IMAGE = 0x10000000,
    STACK = 0x20000000,
    PC = IMAGE + 0x100,
    LR = IMAGE + 0x208, /* of a call that has returned */
    A = IMAGE + 0x304,
    B = IMAGE + 0x404,
    C = IMAGE + 0x504,
    D = IMAGE + 0x604,
    FRAMES_MAX = 8,
};

/* Two records: the function at PC was called before A, and that before B. */
static const uint64_t words[] = {0, 0, 0, 0, STACK + 0x40, A, 0, 0, 0, B};

struct fixture {
    struct fz_arena arena;
    struct report report;
    struct report_thread thread;
    struct report_image image;
    struct report_register registers[4];
    struct report_frame frames[FRAMES_MAX];
    struct fz_buffer file;
    struct sym_macho binary;
    bool has_binary;
};

static enum fz_code
files(void *user, size_t image FZ_UNUSED, struct sym_process_files *ret, struct fz_error *err)
{
    struct fixture *f = user;
    if (!f->has_binary)
        return fz_fail(err, FZ_E_NOT_FOUND, "none");
    ret->binary = &f->binary;
    return FZ_OK;
}

static void
make_binary(struct fixture *f)
{
    static const struct tiny_symbol symbols[] = {{IMAGE + 0x80, "_first"}};
    struct tiny_macho tiny = {.cputype = FZ_ARCH_ARM64,
                              .uuid = {{1}},
                              .text_vmaddr = IMAGE,
                              .text_size = 0x1000,
                              .symbols = symbols,
                              .n_symbols = 1};
    struct fz_error err;
    tiny_macho_write(&tiny, &f->file);
    if (sym_macho_open(fz_buffer_span(&f->file), &f->arena, &f->binary, NULL, &err) != FZ_OK)
        fail_msg("%s", err.text);
}

static void
set_up(struct fixture *f)
{
    *f =
        (struct fixture){.image = {.name = "Shop", .addr = IMAGE, .size = 0x1000, .arch = "arm64"}};
    fz_arena_init(&f->arena, 128 * 1024 * 1024);
    fz_buffer_init(&f->file, 0);
    make_binary(f);
    const struct report_register registers[] = {{.number = FZ_ARM64_PC, .value = PC},
                                                {.number = FZ_ARM64_LR, .value = LR},
                                                {.number = FZ_ARM64_SP, .value = STACK},
                                                {.number = FZ_ARM64_FP, .value = STACK + 0x20}};
    memcpy(f->registers, registers, sizeof(registers));
    f->thread = (struct report_thread){
        .registers = f->registers,
        .n_registers = FZ_ARRAY_LEN(registers),
        .crashed = true,
        .frames = f->frames,
        .stack = {.addr = STACK,
                  .bytes = fz_span_make((const uint8_t *)(const void *)words, sizeof(words))}};
    f->report = (struct report){.arch = "arm64",
                                .cpu = FZ_CPU_ARM64,
                                .threads = &f->thread,
                                .n_threads = 1,
                                .images = &f->image,
                                .n_images = 1,
                                .crash = {.thread = -1}};
}

static void
tear_down(struct fixture *f)
{
    fz_buffer_deinit(&f->file);
    fz_arena_deinit(&f->arena);
}

struct chain_case {
    const char *name;
    uint64_t client[FRAMES_MAX]; /* up to the first 0 */
    bool has_binary, is_adjusted;
    uint64_t want[FRAMES_MAX];
    const char *trusts; /* c, f, l, g: one letter a frame */
    const char *note;   /* NULL = none */
};

static const struct chain_case chain_cases[] = {
    {"no frames", {0}, false, false, {PC, A, B}, "cff", NULL},
    {"the same frames", {PC, A, B}, false, false, {PC, A, B}, "cff", NULL},
    {"more frames than memory", {PC, A, B, C, D}, false, false, {PC, A, B, C, D}, "cffgg", NULL},
    {"fewer frames than memory",
     {PC, A},
     false,
     false,
     {PC, A, B},
     "cff",
     "thread 0: from frame 2 on, 1 frames that the client skipped are added from the unwound "
     "stack"},
    {"a skipped caller",
     {PC, B, C},
     false,
     false,
     {PC, A, B, C},
     "cffg",
     "thread 0: from frame 1 on, 1 frames that the client skipped are added from the unwound "
     "stack"},
    {"lr of a call that has returned, frames known",
     {PC, LR, A, B},
     true,
     false,
     {PC, A, B},
     "cff",
     "thread 0: from frame 1 on, 1 frame of the client are left out: the unwound stack does not "
     "have them"},
    {"lr that may be the caller, no files",
     {PC, LR, A, B},
     false,
     false,
     {PC, LR, A, B},
     "cgff",
     NULL},
    {"lr repeated, no files",
     {PC, A, A, B},
     false,
     false,
     {PC, A, B},
     "cff",
     "thread 0: from frame 2 on, 1 frame of the client are left out: the unwound stack does not "
     "have them"},
    {"signed addresses",
     {PC, A | UINT64_C(0x2a5f000000000000), B},
     false,
     false,
     {PC, A | UINT64_C(0x2a5f000000000000), B},
     "cff",
     NULL},
    {"addresses of the calls", {PC, A - 4, B - 4}, false, true, {PC, A - 4, B - 4}, "cff", NULL},
    {"another moment",
     {C, D},
     false,
     false,
     {C, D},
     "gg",
     "thread 0: the frames of the client do not begin at the pc; they are shown as they came"},
    {"damaged frames of the client, frames known",
     {PC, LR, C, D},
     true,
     false,
     {PC, A, B},
     "cff",
     "thread 0: from frame 1 on, 3 frames of the client differ from the unwound stack and are "
     "replaced by 2"},
};

static char
letter_of(enum report_trust trust)
{
    static const char letters[] = {[REPORT_TRUST_GIVEN] = 'g',
                                   [REPORT_TRUST_CONTEXT] = 'c',
                                   [REPORT_TRUST_FRAME_POINTER] = 'f',
                                   [REPORT_TRUST_LINK_REGISTER] = 'l'};
    return letters[trust];
}

static void
check_chain(const struct chain_case *c)
{
    struct fixture f;
    struct fz_error err;
    struct resolve_stacks stacks = resolve_stacks_make();
    set_up(&f);
    f.has_binary = c->has_binary;
    for (; c->client[f.thread.n_frames]; f.thread.n_frames++)
        f.frames[f.thread.n_frames] = (struct report_frame){
            .addr = c->client[f.thread.n_frames],
            .image = -1,
            .adjust =
                c->is_adjusted && f.thread.n_frames ? REPORT_ADJUST_EXACT : REPORT_ADJUST_AUTO};
    if (resolve_stacks_unwind(&stacks, &f.report, files, &f, &f.arena, &err) != FZ_OK)
        fail_msg("%s: %s", c->name, err.text);
    size_t n = strlen(c->trusts);
    if (f.thread.n_frames != n)
        fail_msg("%s: %zu frames, not %zu", c->name, f.thread.n_frames, n);
    for (size_t i = 0; i < n; i++) {
        const struct report_frame *frame = &f.thread.frames[i];
        if (frame->addr != c->want[i] || letter_of(frame->trust) != c->trusts[i])
            fail_msg("%s: frame %zu is 0x%llx %c", c->name, i, (unsigned long long)frame->addr,
                     letter_of(frame->trust));
    }
    const char *note = f.report.n_notes ? f.report.notes[0] : NULL;
    if ((note == NULL) != (c->note == NULL) || (note && strcmp(note, c->note) != 0))
        fail_msg("%s: note '%s'", c->name, note ? note : "");
    resolve_stacks_deinit(&stacks);
    tear_down(&f);
}

static void
chains_are_merged(void **state FZ_UNUSED)
{
    for (size_t i = 0; i < FZ_ARRAY_LEN(chain_cases); i++)
        check_chain(&chain_cases[i]);
}

/* Without memory nothing is unwound and nothing is asked for. */
static void
no_memory_leaves_frames(void **state FZ_UNUSED)
{
    struct fixture f;
    struct fz_error err;
    struct resolve_stacks stacks = resolve_stacks_make();
    set_up(&f);
    f.thread.stack.bytes.len = 0;
    assert_int_equal(resolve_stacks_unwind(&stacks, &f.report, files, &f, &f.arena, &err), FZ_OK);
    assert_null(stacks.process);
    assert_int_equal(f.thread.n_frames, 0);
    resolve_stacks_deinit(&stacks);
    tear_down(&f);
}

/* What a minidump has in place of a thread after an exception: a list of calls, and no stack. */
static void
no_sp_leaves_frames(void **state FZ_UNUSED)
{
    struct fixture f;
    struct fz_error err;
    struct resolve_stacks stacks = resolve_stacks_make();
    struct report_memory memory = {.addr = STACK, .bytes = fz_span_make(words, sizeof(words))};
    set_up(&f);
    f.thread.n_registers = 2; /* pc and lr */
    f.thread.stack.bytes.len = 0;
    f.report.memory = &memory;
    f.report.n_memory = 1;
    assert_int_equal(resolve_stacks_unwind(&stacks, &f.report, files, &f, &f.arena, &err), FZ_OK);
    assert_null(stacks.process);
    assert_int_equal(f.thread.n_frames, 0);
    resolve_stacks_deinit(&stacks);
    tear_down(&f);
}

/* A client says that the stack went on: then older calls are missing, which only a note can say. */
static void
cut_stacks_are_noted(void **state FZ_UNUSED)
{
    static const struct {
        const char *name;
        uint64_t fp, next; /* what the second record leads to */
        bool truncated;
        const char *note;
    } cases[] = {
        {"beyond", STACK + 0x20, STACK + 0x80, true,
         "thread 0: only 80 bytes of its stack were captured; calls beyond are missing, or as the "
         "client sent them and without values"},
        {"beyond, all that there was", STACK + 0x20, STACK + 0x80, false, NULL},
        {"the first function", STACK + 0x20, 0, true, NULL},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct fixture f;
        struct fz_error err;
        struct resolve_stacks stacks = resolve_stacks_make();
        uint64_t stack[FZ_ARRAY_LEN(words)];
        set_up(&f);
        memcpy(stack, words, sizeof(words));
        stack[8] = cases[i].next;
        f.thread.stack.bytes = fz_span_make(stack, sizeof(stack));
        f.thread.stack.truncated = cases[i].truncated;
        struct report_thread threads[3] = {f.thread, f.thread, f.thread};
        threads[1].crashed = threads[2].crashed = false;
        f.report.threads = threads;
        f.report.n_threads = 3;
        assert_int_equal(resolve_stacks_unwind(&stacks, &f.report, files, &f, &f.arena, &err),
                         FZ_OK);
        assert_int_equal(threads[0].n_frames, 3);
        if (f.report.n_notes != (cases[i].note ? 2 : 0))
            fail_msg("%s: %zu notes", cases[i].name, f.report.n_notes);
        if (cases[i].note) {
            assert_string_equal(f.report.notes[0], cases[i].note);
            assert_string_equal(f.report.notes[1],
                                "2 threads that did not crash: only a part of the stack was "
                                "captured; calls beyond are missing, or as the client sent them");
        }
        resolve_stacks_deinit(&stacks);
        tear_down(&f);
    }
}

/* Many deep stacks: the crashed thread comes first, and a note says that others were left out. */
static void
too_many_frames_are_noted(void **state FZ_UNUSED)
{
    enum { THREADS = 100, RECORDS = 600 };
    struct fixture f;
    struct fz_error err;
    struct resolve_stacks stacks = resolve_stacks_make();
    static uint64_t records[2 * RECORDS];
    static struct report_thread threads[THREADS];
    set_up(&f);
    for (size_t i = 0; i < RECORDS; i++) {
        records[2 * i] = STACK + 16 * (i + 1);
        records[2 * i + 1] = A;
    }
    f.registers[3].value = STACK; /* fp */
    f.thread.crashed = false;
    f.thread.frames = NULL;
    f.thread.stack.bytes = fz_span_make(records, sizeof(records));
    for (size_t i = 0; i < THREADS; i++)
        threads[i] = f.thread;
    threads[THREADS - 1].crashed = true;
    f.report.threads = threads;
    f.report.n_threads = THREADS;
    assert_int_equal(resolve_stacks_unwind(&stacks, &f.report, files, &f, &f.arena, &err), FZ_OK);
    assert_int_equal(threads[THREADS - 1].n_frames, SYM_UNWIND_FRAMES_MAX);
    assert_int_equal(threads[0].n_frames, SYM_UNWIND_FRAMES_MAX);
    assert_int_equal(threads[THREADS - 2].n_frames, 0);
    assert_string_equal(f.report.notes[f.report.n_notes - 1],
                        "unwinding all threads would take too much time or memory: the last ones "
                        "are as they came");
    resolve_stacks_deinit(&stacks);
    tear_down(&f);
}

/* Frames of the report lead to those of the chain, which values are read from. */
static void
links_lead_to_the_chain(void **state FZ_UNUSED)
{
    struct fixture f;
    struct fz_error err;
    struct resolve_stacks stacks = resolve_stacks_make();
    static const int want[] = {0, -1, 1, 2};
    set_up(&f);
    static const uint64_t client[] = {PC, LR, A, B};
    for (size_t i = 0; i < FZ_ARRAY_LEN(client); i++)
        f.frames[f.thread.n_frames++] = (struct report_frame){.addr = client[i], .image = -1};
    assert_int_equal(resolve_stacks_unwind(&stacks, &f.report, files, &f, &f.arena, &err), FZ_OK);
    assert_int_equal(f.thread.n_frames, FZ_ARRAY_LEN(want));
    for (size_t i = 0; i < FZ_ARRAY_LEN(want); i++)
        assert_int_equal(stacks.threads[0].links[i], want[i]);
    resolve_stacks_deinit(&stacks);
    tear_down(&f);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains_are_merged),         cmocka_unit_test(no_memory_leaves_frames),
        cmocka_unit_test(no_sp_leaves_frames),       cmocka_unit_test(cut_stacks_are_noted),
        cmocka_unit_test(too_many_frames_are_noted), cmocka_unit_test(links_lead_to_the_chain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
