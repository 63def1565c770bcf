/* A worker and a real child process: this program started again as the child. The test plays the
 * worker, with a table instead of a database. */
#define _GNU_SOURCE /* memfd_create, prlimit */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <dirent.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/file.h"
#include "base/text.h"
#include "base/time.h"
#include "server/children/process.h"
#include "server/report/columns.h"
#include "server/worker/job.h"
#include "tests/unit/tiny_macho.h"

static const struct tiny_symbol symbols[] = {{0x10001000, "_work"}, {0x10001100, "_main"}};

static struct fz_buffer
make_macho(uint8_t uuid_byte)
{
    struct tiny_macho tiny = {.cputype = FZ_ARCH_ARM64,
                              .text_vmaddr = 0x10000000,
                              .text_size = 0x2000,
                              .symbols = symbols,
                              .n_symbols = 2};
    memset(tiny.uuid.bytes, uuid_byte, sizeof(tiny.uuid.bytes));
    struct fz_buffer out;
    fz_buffer_init(&out, 0);
    tiny_macho_write(&tiny, &out);
    assert_int_equal(fz_buffer_done(&out, NULL), FZ_OK);
    return out;
}

static int
make_file(struct fz_span content)
{
    int fd = memfd_create("test", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(fz_file_write_fd(fd, content, NULL), FZ_OK);
    return fd;
}

static void
start(struct child_process *child, enum proto_role role, unsigned wall_s)
{
    struct limits limits = limits_default();
    struct fz_error err;
    *child = (struct child_process){.sock = -1};
    if (child_process_start(child, role, &limits, &err) != FZ_OK)
        fail_msg("%s", err.text);
    child_process_begin(child, wall_s);
}

/* ---- symbol files ------------------------------------------------------------------------- */

struct reading {
    struct child_process child;
    struct fz_arena arena;
    int files[8];
    size_t n_files;
    struct proto_slice slices[4];
    size_t n_slices;
    struct sym_problems problems;
    struct fz_error err;
};

static void
give_file(struct reading *r)
{
    assert_true(r->n_files < FZ_ARRAY_LEN(r->files));
    struct fz_buffer body;
    fz_buffer_init(&body, 0);
    proto_put_u8(&body, FZ_OK);
    proto_put_u32(&body, (uint32_t)r->n_files);
    r->files[r->n_files] = make_file((struct fz_span){NULL, 0});
    assert_int_equal(
        child_process_send(&r->child, PROTO_FILE_IS, &body, &r->files[r->n_files], 1, NULL), FZ_OK);
    r->n_files++;
    fz_buffer_deinit(&body);
}

/* Have a child read the upload; its answer, as the worker would see it, is left in *r. */
static enum fz_code
read_upload(struct reading *r, struct fz_span upload)
{
    *r = (struct reading){.err = {.code = FZ_OK}};
    fz_arena_init(&r->arena, 1024 * 1024);
    start(&r->child, PROTO_ROLE_SYMBOLS, 60);
    struct fz_buffer body;
    fz_buffer_init(&body, 0);
    proto_put_text(&body, "Shop.bin", PROTO_NAME_MAX);
    int fd = make_file(upload);
    assert_int_equal(child_process_send(&r->child, PROTO_READ_SYMBOLS, &body, &fd, 1, NULL), FZ_OK);
    close(fd);
    fz_buffer_deinit(&body);
    for (;;) {
        enum fz_code code = child_process_next(&r->child, &r->err);
        if (code != FZ_OK)
            return code;
        struct fz_span said = r->child.inbox.body;
        if (r->child.inbox.kind == PROTO_FAILED)
            return child_process_failure(&r->child, &r->err);
        if (r->child.inbox.kind == PROTO_DONE)
            return proto_problems_decode(said, &r->arena, &r->problems, &r->err);
        if (r->child.inbox.kind == PROTO_FILE) {
            give_file(r);
            continue;
        }
        assert_int_equal(r->child.inbox.kind, PROTO_SLICE);
        assert_true(r->n_slices < FZ_ARRAY_LEN(r->slices));
        assert_int_equal(proto_slice_decode(said, &r->arena, &r->slices[r->n_slices++], &r->err),
                         FZ_OK);
    }
}

static void
end(struct reading *r)
{
    child_process_stop(&r->child);
    for (size_t i = 0; i < r->n_files; i++)
        close(r->files[i]);
    fz_arena_deinit(&r->arena);
}

static void
test_thin_upload(void **state FZ_UNUSED)
{
    struct fz_buffer macho = make_macho(7);
    struct reading r;
    if (read_upload(&r, fz_buffer_span(&macho)) != FZ_OK)
        fail_msg("%s", r.err.text);
    assert_int_equal(r.n_slices, 1);
    const struct proto_slice *slice = &r.slices[0];
    assert_int_equal(slice->uuid.bytes[3], 7);
    assert_string_equal(slice->arch, "arm64");
    assert_int_equal(slice->kind, PROTO_SLICE_DSYM);
    assert_string_equal(slice->name, "Shop.bin");
    assert_true(slice->features.symtab);
    assert_false(slice->features.dwarf);
    assert_true(slice->has_index);

    struct fz_map map;
    assert_int_equal(fz_map_open_fd(r.files[slice->file], &map, NULL), FZ_OK);
    assert_true(fz_span_equal(map.bytes, fz_buffer_span(&macho)));
    fz_map_close(&map);
    struct sym_index *index;
    struct sym_frame frames[2];
    assert_int_equal(sym_index_open_fd(r.files[slice->index_file], &index, NULL), FZ_OK);
    assert_int_equal(sym_index_lookup(index, 0x10001004, frames, 2), 1);
    assert_string_equal(frames[0].name, "_work");
    sym_index_close(index);
    end(&r);
    fz_buffer_deinit(&macho);
}

static void
test_unusable_uploads(void **state FZ_UNUSED)
{
    struct fz_buffer no_uuid = make_macho(0), whole = make_macho(7);
    static const char empty_zip[22] = "PK\x05\x06";
    static const char hint[] = "upload a Mach-O binary or dSYM, or a zip or tar.gz of .dSYM "
                               "bundles, binaries or an .xcarchive";
    const struct {
        const char *name;
        struct fz_span bytes;
        enum fz_code code;
        const char *text, *then;
    } cases[] = {
        {"text", fz_span_cstr("dear server\n"), FZ_E_UNSUPPORTED, "text, no symbol file; ", hint},
        {"nothing", {NULL, 0}, FZ_E_UNSUPPORTED, "an empty file, no symbol file; ", hint},
        {"empty zip", fz_span_make(empty_zip, sizeof(empty_zip)), FZ_E_UNSUPPORTED,
         "an empty zip archive; ", hint},
        {"no UUID", fz_buffer_span(&no_uuid), FZ_E_MALFORMED, "Shop.bin (arm64): it has no UUID",
         NULL},
        {"cut", fz_span_make(whole.data, 20), FZ_E_MALFORMED, "", NULL},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct reading r;
        enum fz_code code = read_upload(&r, cases[i].bytes);
        size_t len = strlen(cases[i].text);
        if (code != cases[i].code || !fz_text_has_prefix(r.err.text, cases[i].text) ||
            (cases[i].then && strcmp(r.err.text + len, cases[i].then) != 0))
            fail_msg("%s: %s: %s", cases[i].name, fz_code_name(code), r.err.text);
        assert_false(r.child.died);
        end(&r);
    }
    fz_buffer_deinit(&no_uuid);
    fz_buffer_deinit(&whole);
}

/* ---- reports ------------------------------------------------------------------------------ */

static const char report[] =
    "{\"framezero\":1,\"arch\":\"arm64\",\"addresses\":[\"0x20001104\",\"0x20001008\"],"
    "\"images\":[{\"uuid\":\"07070707-0707-0707-0707-070707070707\",\"name\":\"Shop\","
    "\"address\":\"0x20000000\",\"size\":8192}]}";

struct table {    /* what the worker would find in its database */
    int index_fd; /* -1 = none */
    uint8_t sha256[FZ_SHA256_LEN];
    size_t n_named, n_fetched;
    bool is_named;      /* by an answer for this report: the worker refuses to give any other */
    uint64_t claim;     /* of the last report */
    bool is_same_claim; /* of the next one */
    const char *reader; /* of the next report */
};

static void
answer(struct child_process *child, struct table *table)
{
    bool is_get = child->inbox.kind == PROTO_INDEX_GET;
    bool is_first = !is_get && child->inbox.body.data[child->inbox.body.len - 1] == 0;
    bool is_found = table->index_fd >= 0 && (is_get || is_first);
    struct fz_buffer body;
    fz_buffer_init(&body, 0);
    proto_put_u8(&body, is_found ? PROTO_INDEX_FOUND : PROTO_INDEX_MISSING);
    fz_buffer_append(&body, table->sha256, sizeof(table->sha256));
    proto_put_u8(&body, PROTO_SLICE_DSYM);
    proto_put_text(&body, "Shop", PROTO_TEXT_MAX);
    proto_put_text(&body, NULL, PROTO_TEXT_MAX);
    assert_true(!is_get || table->is_named);
    table->is_named = table->is_named || is_first;
    table->n_named += is_first ? 1 : 0;
    table->n_fetched += is_get ? 1 : 0;
    assert_int_equal(
        child_process_send(child, PROTO_INDEX_IS, &body, &table->index_fd, is_get ? 1 : 0, NULL),
        FZ_OK);
    fz_buffer_deinit(&body);
}

/* One report to a running child; the result as text in `ret`, the rest in *ret_info. */
static enum fz_code
symbolicate(struct child_process *child, const char *raw, struct table *table,
            struct fz_arena *arena, char **ret, struct proto_info *ret_info, struct fz_error *err)
{
    struct fz_buffer body;
    fz_buffer_init(&body, 0);
    proto_put_text(&body, "0123", PROTO_TEXT_MAX);
    proto_put_text(&body, "shop", PROTO_TEXT_MAX);
    proto_put_u64(&body, 1000);
    proto_put_text(&body, NULL, PROTO_TEXT_MAX);
    proto_put_u8(&body, 0);
    proto_put_u8(&body, 0);
    proto_put_text(&body, NULL, PROTO_REDACT_MAX);
    proto_put_text(&body, NULL, PROTO_REDACT_MAX);
    proto_put_text(&body, table->reader, PROTO_TEXT_MAX);
    proto_put_text(&body, NULL, PROTO_RULES_MAX);
    proto_put_u8(&body, 0);
    proto_put_text(&body, NULL, PROTO_REDACT_MAX);
    table->claim += !table->is_same_claim;
    table->is_named = false;
    proto_put_u64(&body, table->claim);
    int fds[2] = {make_file(fz_span_cstr(raw)), make_file((struct fz_span){NULL, 0})};
    child_process_begin(child, 60);
    assert_int_equal(child_process_send(child, PROTO_SYMBOLICATE, &body, fds, 2, err), FZ_OK);
    fz_buffer_deinit(&body);
    close(fds[0]);
    enum fz_code code;
    while ((code = child_process_next(child, err)) == FZ_OK &&
           (child->inbox.kind == PROTO_INDEX || child->inbox.kind == PROTO_INDEX_GET))
        answer(child, table);
    if (code == FZ_OK && child->inbox.kind == PROTO_FAILED)
        code = child_process_failure(child, err);
    if (code == FZ_OK) {
        struct fz_reader in = fz_reader_make(child->inbox.body, "done");
        uint64_t json_len = fz_read_u64(&in), info_len = fz_read_u64(&in);
        struct fz_map map;
        assert_int_equal(fz_map_open_fd(fds[1], &map, err), FZ_OK);
        assert_int_equal(map.bytes.len, json_len + info_len);
        *ret = fz_arena_text(arena, fz_span_make(map.bytes.data, (size_t)json_len));
        code = proto_info_decode(fz_span_make(map.bytes.data + json_len, (size_t)info_len),
                                 &report_columns, 8, arena, ret_info, err);
        fz_map_close(&map);
    }
    close(fds[1]);
    return code;
}

static void
test_reports_and_index_cache(void **state FZ_UNUSED)
{
    struct fz_buffer macho = make_macho(7);
    struct reading r;
    assert_int_equal(read_upload(&r, fz_buffer_span(&macho)), FZ_OK);
    struct child_process child;
    struct table table = {.index_fd = -1};
    struct fz_arena arena;
    struct proto_info info;
    struct fz_error err;
    char *json = NULL;
    fz_arena_init(&arena, 4 * 1024 * 1024);
    start(&child, PROTO_ROLE_REPORTS, 60);

    /* Before the dSYM is there. */
    assert_int_equal(symbolicate(&child, report, &table, &arena, &json, &info, &err), FZ_OK);
    assert_int_equal(info.status, PROTO_UNSYMBOLICATED);
    assert_int_equal(info.n_images, 1);
    assert_true(info.images[0].is_waiting);
    assert_string_equal(info.images[0].name, "Shop");
    assert_int_equal(table.n_fetched, 0);
    /* Its issue is one of a place, until there are names. */
    assert_true(info.issue.is_placeholder && info.issue.stack.len > 0);
    assert_string_equal(info.issue.title, "Shop + 0x1104");
    assert_non_null(strstr(json, "\"issue\":{\"hash\":\""));

    /* After: that it was missing is not remembered; then the index stays open. */
    table.index_fd = r.files[r.slices[0].index_file];
    table.sha256[0] = 1;
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(symbolicate(&child, report, &table, &arena, &json, &info, &err), FZ_OK);
        assert_int_equal(info.status, PROTO_SYMBOLICATED);
        assert_string_equal(fz_columns_text(&report_columns, info.values, "top_function"), "work");
        assert_false(info.issue.is_placeholder);
        assert_string_equal(info.issue.title, "work");
        assert_string_equal(info.issue.label, "unknown");
        assert_true(info.images[0].is_waiting); /* a symbol table alone: its dSYM is still wanted */
        assert_int_equal(info.n_frames_named, 2);
        assert_int_equal(info.n_cache_misses, i == 0);
        assert_non_null(strstr(json, "\"function\":\"work\""));
        assert_non_null(strstr(json, "\"project\":\"shop\""));
    }
    assert_int_equal(table.n_named, 4); /* asked for each claim, so a new dSYM counts at once */
    assert_int_equal(table.n_fetched, 1);
    table.sha256[0] = 2; /* a better one was uploaded */
    assert_int_equal(symbolicate(&child, report, &table, &arena, &json, &info, &err), FZ_OK);
    assert_int_equal(table.n_fetched, 2);
    assert_int_equal(table.n_named, 5);
    /* Not for another report of the same claim. */
    table.is_same_claim = true;
    table.sha256[0] = 4;
    assert_int_equal(symbolicate(&child, report, &table, &arena, &json, &info, &err), FZ_OK);
    assert_int_equal(info.n_frames_named, 2);
    assert_int_equal(info.n_cache_misses, 0);
    assert_int_equal(table.n_named, 5);
    table.is_same_claim = false;

    /* An invalid report fails alone; the child continues. */
    /* What was detected when it came in is not detected again, and is taken as given. */
    table.reader = "minidump";
    assert_int_equal(symbolicate(&child, report, &table, &arena, &json, &info, &err),
                     FZ_E_MALFORMED);
    table.reader = "framezero";
    assert_int_equal(symbolicate(&child, report, &table, &arena, &json, &info, &err), FZ_OK);
    table.reader = NULL;
    assert_int_equal(symbolicate(&child, "{\"no\":1}", &table, &arena, &json, &info, &err),
                     FZ_E_UNSUPPORTED);
    assert_int_equal(symbolicate(&child, report, &table, &arena, &json, &info, &err), FZ_OK);

    /* An index that is garbage makes the image fail, not the report. */
    table.index_fd = make_file(fz_span_cstr("no index at all"));
    table.sha256[0] = 3;
    assert_int_equal(symbolicate(&child, report, &table, &arena, &json, &info, &err), FZ_OK);
    assert_non_null(strstr(json, "malformed_symbol_file"));
    /* It is not kept, so the next report needs its name anew, also in the same claim; by then there is a good one. */
    close(table.index_fd);
    table.index_fd = r.files[r.slices[0].index_file];
    table.is_same_claim = true;
    table.sha256[0] = 5;
    assert_int_equal(symbolicate(&child, report, &table, &arena, &json, &info, &err), FZ_OK);
    assert_non_null(strstr(json, "\"function\":\"work\""));
    child_process_stop(&child);
    fz_arena_deinit(&arena);
    end(&r);
    fz_buffer_deinit(&macho);
}

/* ---- death and limits --------------------------------------------------------------------- */

static void
test_death_is_reported(void **state FZ_UNUSED)
{
    static const struct {
        int number;
        const char *text;
        bool is_outside; /* the input is not to blame */
    } cases[] = {
        {SIGKILL, "the process that read it was ended from outside, by signal SIGKILL", true},
        {SIGTERM, "the process that read it was ended from outside, by signal SIGTERM", true},
        {SIGSEGV, "the process that read it was ended by signal SIGSEGV", false},
        {SIGSYS, "the process that read it made a system call that it may not make", false},
        {SIGXCPU, "reading it took more than its limit of CPU time", false},
        {SIGXFSZ, "reading it made more output than its limit", false},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct child_process child;
        struct fz_error err;
        if (FZ_IS_WATCHED && cases[i].number == SIGSEGV)
            continue; /* the sanitizer turns it into an exit */
        start(&child, PROTO_ROLE_REPORTS, 60);
        assert_int_equal(kill(child.pid, cases[i].number), 0);
        assert_int_equal(child_process_next(&child, &err),
                         cases[i].is_outside ? FZ_E_UNAVAILABLE : FZ_E_MALFORMED);
        assert_string_equal(err.text, cases[i].text);
        assert_int_equal(child.died, !cases[i].is_outside);
        assert_int_equal(child.was_killed, cases[i].is_outside);
        assert_false(child_process_runs(&child));
        child_process_stop(&child);
    }
}

static size_t
count_descriptors(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    DIR *dir = opendir(path);
    size_t n = 0;
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        n += entry->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return n;
}

/* A line of /proc/PID/limits. */
static void
read_limit(pid_t pid, const char *name, uint64_t *ret_soft, uint64_t *ret_hard)
{
    char path[64], line[256];
    bool found = false;
    snprintf(path, sizeof(path), "/proc/%d/limits", (int)pid);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (!found && fgets(line, sizeof(line), file))
        found = strncmp(line, name, strlen(name)) == 0 &&
                sscanf(line + strlen(name), "%" SCNu64 " %" SCNu64, ret_soft, ret_hard) == 2;
    fclose(file);
    assert_true(found);
}

static void
test_restrictions(void **state FZ_UNUSED)
{
    struct child_process child;
    struct table table = {.index_fd = -1};
    struct fz_arena arena;
    struct proto_info info;
    struct fz_error err;
    char *json;
    int extra = dup(STDERR_FILENO); /* inheritable on purpose */
    fz_arena_init(&arena, 1024 * 1024);
    start(&child, PROTO_ROLE_REPORTS, 60);
    assert_int_equal(symbolicate(&child, report, &table, &arena, &json, &info, &err), FZ_OK);

    /* By /proc: a child that runs as another user shows them to no prlimit(). */
    static const struct {
        const char *name;
        uint64_t soft, hard;
    } limits[] = {
        {"Max core file size", 0, 0},
        {"Max file size", 256 * 1024 * 1024, 256 * 1024 * 1024},
#ifndef FZ_VALGRIND /* there, limits.c of the sandbox leaves it as it is */
        {"Max open files", 64, 64},
#endif
        {"Max cpu time", 61, 602}, /* of a job; of its life */
        {"Max data size", UINT64_C(2) << 30, UINT64_C(2) << 30},
        {"Max processes", 0, 0},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(limits) - (FZ_IS_WATCHED ? 2 : 0); i++) {
        uint64_t soft = 1, hard = 1;
        read_limit(child.pid, limits[i].name, &soft, &hard);
        assert_int_equal(soft, limits[i].soft);
        assert_int_equal(hard, limits[i].hard);
    }
    /* Only root may look into a process that forbids tracing. It closes what came with the report
     * after it has answered. */
    size_t n = 0;
    for (int tries = 0; tries < 200 && (n = count_descriptors(child.pid)) > 4; tries++)
        fz_time_sleep_ms(5);
    if (n > 0)
        assert_int_equal(n, 4);
    close(extra);
    child_process_stop(&child);
    fz_arena_deinit(&arena);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_thin_upload),
        cmocka_unit_test(test_unusable_uploads),
        cmocka_unit_test(test_reports_and_index_cache),
        cmocka_unit_test(test_death_is_reported),
        cmocka_unit_test(test_restrictions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
