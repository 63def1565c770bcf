/* Variables in reports: a recorded crash of tests/variables, resolved as a worker's child does it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/attr.h"
#include "server/resolve/resolve.h"
#include "symbolicator/variables/variables.h"
#include "tests/variables/dump.h"

#define DUMP FZ_TOP "/tests/variables/data/classes-x86_64-O0-dw4"

static struct dump dump; /* large for a stack */

struct crash {
    struct report report;
    struct report_thread thread;
    struct report_image image;
    struct report_register registers[FZ_REGISTER_NUMBERS];
    struct report_memory memory[DUMP_REGIONS_MAX];
};

static enum fz_code
find(void *user FZ_UNUSED, const struct report_image *image FZ_UNUSED, unsigned rank,
     struct resolve_found *ret, struct fz_error *err)
{
    if (rank > 0)
        return fz_fail(err, FZ_E_NOT_FOUND, "no more");
    ret->index = dump.index;
    return FZ_OK;
}

static enum fz_code
find_files(void *user, const struct report_image *image FZ_UNUSED, struct sym_process_files *ret,
           struct fz_error *err FZ_UNUSED)
{
    const bool *has_binary = user;
    ret->dsym = &dump.dsym;
    ret->binary = *has_binary ? &dump.binary : NULL;
    return FZ_OK;
}

static void
make_report(struct crash *crash)
{
    memset(crash, 0, sizeof(*crash));
    crash->image = (struct report_image){.name = "Shop",
                                         .path = "/Applications/Shop.app/Shop",
                                         .uuid = dump.dsym.uuid,
                                         .has_uuid = true,
                                         .addr = dump.images[0].addr,
                                         .size = dump.images[0].size};
    crash->thread.registers = crash->registers;
    for (int i = 0; i < FZ_REGISTER_NUMBERS; i++) {
        if (dump.registers.known[i])
            crash->registers[crash->thread.n_registers++] =
                (struct report_register){.number = i, .value = dump.registers.value[i]};
    }
    for (size_t i = 0; i < dump.n_regions; i++)
        crash->memory[i] =
            (struct report_memory){.addr = dump.regions[i].addr, .bytes = dump.regions[i].bytes};
    crash->report = (struct report){.arch = "x86_64",
                                    .cpu = FZ_CPU_X86_64,
                                    .crash = {.thread = -1},
                                    .threads = &crash->thread,
                                    .n_threads = 1,
                                    .images = &crash->image,
                                    .n_images = 1,
                                    .memory = crash->memory,
                                    .n_memory = dump.n_regions};
}

static void
resolve(struct crash *crash, struct resolve_options *options, bool has_binary,
        struct fz_arena *arena)
{
    struct fz_error err;
    make_report(crash);
    options->files = find_files;
    if (resolve_report(&crash->report, find, &has_binary, options, arena, &err) != FZ_OK)
        fail_msg("%s", err.text);
    assert_true(crash->thread.n_frames >= 4);
}

/* A variable of the frame's function, NULL if there is none. */
static const struct report_variable *
variable_of(const struct crash *crash, size_t frame, const char *name)
{
    const struct report_frame *at = &crash->thread.frames[frame];
    assert_true(at->n_symbols > 0);
    const struct report_symbol *symbol = &at->symbols[at->n_symbols - 1];
    for (size_t i = 0; i < symbol->n_variables; i++) {
        if (strcmp(symbol->variables[i].name, name) == 0)
            return &symbol->variables[i];
    }
    return NULL;
}

static void
values_on_request_only(void **state FZ_UNUSED)
{
    static struct crash crash;
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(64 << 20);
    struct resolve_options options = {.values = true};
    resolve(&crash, &options, true, &arena);
    const struct report_variable *id = variable_of(&crash, 0, "id");
    assert_non_null(id);
    assert_string_equal(id->type, "int");
    assert_string_equal(id->value, "31");
    assert_int_equal(id->availability, REPORT_VALUE_AVAILABLE);
    assert_false(crash.image.wants_better);
    options.values = false;
    resolve(&crash, &options, true, &arena);
    for (size_t i = 0; i < crash.thread.n_frames; i++) {
        for (size_t k = 0; k < crash.thread.frames[i].n_symbols; k++)
            assert_int_equal(crash.thread.frames[i].symbols[k].n_variables, 0);
    }
}

static void
redacted_without_value_and_fields(void **state FZ_UNUSED)
{
    static struct crash crash;
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(64 << 20);
    const struct resolve_redact_rules rules = {.deny = "both\nid\ntotal"};
    struct resolve_options options = {.values = true, .redact = &rules};
    resolve(&crash, &options, true, &arena);
    static const char *const names[] = {"both", "id"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(names); i++) {
        const struct report_variable *variable = variable_of(&crash, 0, names[i]);
        assert_non_null(variable);
        assert_int_equal(variable->availability, REPORT_VALUE_REDACTED);
        assert_null(variable->value);
        assert_int_equal(variable->n_fields, 0);
        assert_non_null(variable->type);
        assert_true(variable->has_address); /* of a variable it is no secret where it is */
    }
    assert_non_null(variable_of(&crash, 0, "where")->value);
    /* A field without the others. */
    const struct report_variable *box = variable_of(&crash, crash.thread.n_frames - 1, "box");
    assert_non_null(box);
    assert_int_equal(box->n_fields, 2);
    for (size_t i = 0; i < box->n_fields; i++)
        assert_int_equal(box->fields[i].availability, strcmp(box->fields[i].name, "total") == 0
                                                          ? REPORT_VALUE_REDACTED
                                                          : REPORT_VALUE_AVAILABLE);
}

/* The stack ends above the record of the first frame: the caller is known, its variables are not. */
static void
values_beyond_a_cut_stack(void **state FZ_UNUSED)
{
    static struct crash crash;
    struct fz_error err;
    bool has_binary = true;
    size_t n_missing = 0, n_cut = 0;
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(64 << 20);
    struct resolve_options options = {.values = true, .files = find_files};
    uint64_t fp = dump.registers.value[FZ_X86_64_RBP];
    make_report(&crash);
    for (size_t i = 0; i < crash.report.n_memory; i++) {
        struct report_memory *memory = &crash.memory[i];
        if (fp < memory->addr || fp - memory->addr >= memory->bytes.len)
            continue;
        crash.thread.stack = *memory;
        crash.thread.stack.bytes.len = (size_t)(fp + 16 - memory->addr);
        crash.thread.stack.truncated = true;
        memory->bytes.len = 0;
        n_cut++;
    }
    assert_int_equal(n_cut, 1);
    assert_int_equal(resolve_report(&crash.report, find, &has_binary, &options, &arena, &err),
                     FZ_OK);
    assert_int_equal(crash.thread.n_frames, 2);
    assert_string_equal(variable_of(&crash, 0, "id")->value, "31");
    const struct report_frame *caller = &crash.thread.frames[1];
    const struct report_symbol *symbol = &caller->symbols[caller->n_symbols - 1];
    for (size_t i = 0; i < symbol->n_variables; i++) {
        assert_int_not_equal(symbol->variables[i].availability, REPORT_VALUE_AVAILABLE);
        n_missing += symbol->variables[i].availability == REPORT_VALUE_MEMORY_NOT_CAPTURED;
    }
    assert_true(n_missing > 0);
    assert_int_equal(crash.report.n_notes, 1);
    assert_non_null(strstr(crash.report.notes[0], "of its stack were captured"));
}

/* An own image without its binary would have more values with it, and waits for it. */
static void
waits_for_the_binary(void **state FZ_UNUSED)
{
    static struct crash crash;
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(64 << 20);
    struct resolve_options options = {.values = true};
    resolve(&crash, &options, false, &arena);
    assert_true(crash.image.wants_better);
    options.values = false;
    resolve(&crash, &options, false, &arena);
    assert_false(crash.image.wants_better);
}

static int
open_dump(void **state FZ_UNUSED)
{
    return dump_open(&dump, DUMP ".gz", DUMP ".dsym.gz", DUMP ".binary.gz") ? 0 : -1;
}

static int
close_dump(void **state FZ_UNUSED)
{
    dump_close(&dump);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_on_request_only),
        cmocka_unit_test(redacted_without_value_and_fields),
        cmocka_unit_test(values_beyond_a_cut_stack),
        cmocka_unit_test(waits_for_the_binary),
    };
    return cmocka_run_group_tests(tests, open_dump, close_dump);
}
