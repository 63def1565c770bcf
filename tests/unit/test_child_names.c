/* Uploads of bitcode builds: a dSYM with hidden names and its BCSymbolMap in any order of an
 * archive. A real child process reads them: this program started again. */
#define _GNU_SOURCE /* memfd_create */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <archive.h>
#include <archive_entry.h>
#include <cmocka.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/file.h"
#include "base/text.h"
#include "server/children/process.h"
#include "server/worker/job.h"
#include "tests/unit/tiny_macho.h"

enum { ROOM = 1024 * 1024, FILES = 8, MEMBERS = 4 };

#define OWN "0A0A0A0A-0A0A-0A0A-0A0A-0A0A0A0A0A0A"
#define OTHER "11111111-2222-3333-4444-555555555555"
static const char map[] = "BCSymbolMap Version: 2.0\n_tail\n_work_step\n";
static const char plist[] =
    "<plist><dict><key>DBGOriginalUUID</key><string>" OTHER "</string></dict></plist>";

static struct fz_buffer
make_dsym(void)
{
    static const struct tiny_symbol symbols[] = {{0x10001000, "__hidden#1_"}};
    struct tiny_macho tiny = {.cputype = FZ_ARCH_ARM64,
                              .text_vmaddr = 0x10000000,
                              .text_size = 0x2000,
                              .symbols = symbols,
                              .n_symbols = 1};
    struct fz_buffer out;
    memset(tiny.uuid.bytes, 0x0a, sizeof(tiny.uuid.bytes));
    fz_buffer_init(&out, 0);
    tiny_macho_write(&tiny, &out);
    return out;
}

struct member {
    const char *name, *content; /* content NULL: the dSYM */
};

/* A zip of the members; freed by the caller. */
static struct fz_span
pack(const struct member *members)
{
    struct archive *a = archive_write_new();
    struct fz_buffer dsym = make_dsym();
    char *out = malloc(ROOM);
    size_t used = 0;
    assert_true(a && out);
    assert_int_equal(archive_write_set_format_zip(a), ARCHIVE_OK);
    assert_int_equal(archive_write_open_memory(a, out, ROOM, &used), ARCHIVE_OK);
    for (size_t i = 0; i < MEMBERS && members[i].name; i++) {
        struct fz_span content =
            members[i].content ? fz_span_cstr(members[i].content) : fz_buffer_span(&dsym);
        struct archive_entry *entry = archive_entry_new();
        archive_entry_set_pathname(entry, members[i].name);
        archive_entry_set_filetype(entry, AE_IFREG);
        archive_entry_set_perm(entry, 0644);
        archive_entry_set_size(entry, (la_int64_t)content.len);
        assert_int_equal(archive_write_header(a, entry), ARCHIVE_OK);
        assert_int_equal(archive_write_data(a, content.data, content.len), (la_ssize_t)content.len);
        archive_entry_free(entry);
    }
    assert_int_equal(archive_write_close(a), ARCHIVE_OK);
    archive_write_free(a);
    fz_buffer_deinit(&dsym);
    return fz_span_make(out, used);
}

static int
make_file(struct fz_span content)
{
    int fd = memfd_create("test", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(fz_file_write_fd(fd, content, NULL), FZ_OK);
    return fd;
}

struct reading {
    struct child_process child;
    struct fz_arena arena;
    int files[FILES];
    size_t n_files, n_slices;
    size_t n_maps;            /* symbol maps and their property lists */
    struct proto_slice slice; /* the last other slice */
    struct proto_slice map;   /* the last that is one */
    struct sym_problems problems;
    struct fz_error err;
};

static void
give_file(struct reading *r)
{
    struct fz_buffer body;
    assert_true(r->n_files < FILES);
    fz_buffer_init(&body, 0);
    proto_put_u8(&body, FZ_OK);
    proto_put_u32(&body, (uint32_t)r->n_files);
    r->files[r->n_files] = make_file((struct fz_span){NULL, 0});
    assert_int_equal(
        child_process_send(&r->child, PROTO_FILE_IS, &body, &r->files[r->n_files], 1, NULL), FZ_OK);
    r->n_files++;
    fz_buffer_deinit(&body);
}

static enum fz_code
converse(struct reading *r)
{
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
        struct proto_slice slice;
        assert_int_equal(proto_slice_decode(said, &r->arena, &slice, &r->err), FZ_OK);
        if (slice.has_index) {
            r->slice = slice;
            r->n_slices++;
        } else {
            r->n_maps++;
            r->map = slice;
        }
    }
}

/* Have a child read the upload, with a map of the worker's or NULL. */
static enum fz_code
read_upload(struct reading *r, struct fz_span upload, const char *given)
{
    struct limits limits = limits_default();
    struct fz_buffer body;
    *r = (struct reading){.child = {.sock = -1}};
    fz_arena_init(&r->arena, ROOM);
    assert_int_equal(child_process_start(&r->child, PROTO_ROLE_SYMBOLS, &limits, &r->err), FZ_OK);
    child_process_begin(&r->child, 60);
    int fds[2] = {make_file(upload), given ? make_file(fz_span_cstr(given)) : -1};
    fz_buffer_init(&body, 0);
    proto_put_text(&body, "Shop.zip", PROTO_NAME_MAX);
    assert_int_equal(
        child_process_send(&r->child, PROTO_READ_SYMBOLS, &body, fds, given ? 2 : 1, NULL), FZ_OK);
    fz_buffer_deinit(&body);
    close(fds[0]);
    if (given)
        close(fds[1]);
    return converse(r);
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
append_kinds(const struct sym_problems *problems, struct fz_buffer *out)
{
    for (size_t i = 0; i < problems->n; i++)
        fz_buffer_printf(out, " %s", sym_problem_kind_name(problems->list[i].kind));
}

static const struct {
    const char *name, *given;
    struct member members[MEMBERS];
    const char *function, *problems;
} cases[] = {
    {"as in an .xcarchive",
     NULL,
     {{"a/BCSymbolMaps/" OTHER ".bcsymbolmap", map},
      {"a/dSYMs/Shop.dSYM/Contents/Resources/" OWN ".plist", plist},
      {"a/dSYMs/Shop.dSYM/Contents/Resources/DWARF/Shop", NULL}},
     "_work_step",
     " no_dwarf"},
    {"property list and map after the dSYM",
     NULL,
     {{"Shop", NULL}, {OWN ".plist", plist}, {OTHER ".bcsymbolmap", map}},
     "_work_step",
     " no_dwarf"},
    {"map first, property list last",
     NULL,
     {{OTHER ".bcsymbolmap", map}, {"Shop", NULL}, {OWN ".plist", plist}},
     "_work_step",
     " no_dwarf"},
    {"map of the dSYM's own UUID",
     NULL,
     {{"Shop", NULL}, {OWN ".bcsymbolmap", map}},
     "_work_step",
     " no_dwarf"},
    {"no map", NULL, {{"Shop", NULL}}, "__hidden#1_", " no_dwarf hidden_names"},
    {"map of another",
     NULL,
     {{"Shop", NULL}, {OTHER ".bcsymbolmap", map}},
     "__hidden#1_",
     " no_dwarf hidden_names; unused_symbol_map"},
    {"map without a UUID",
     NULL,
     {{"Shop", NULL}, {"Shop.bcsymbolmap", map}},
     "__hidden#1_",
     " no_dwarf hidden_names; bad_symbol_map"},
    {"map of the future",
     NULL,
     {{"Shop", NULL}, {OWN ".bcsymbolmap", "BCSymbolMap Version: 9.0\n"}},
     "__hidden#1_",
     " no_dwarf hidden_names; bad_symbol_map"},
    {"the worker's map", map, {{"Shop", NULL}}, "_work_step", " no_dwarf"},
    {"the worker's broken map",
     "_main\n",
     {{"Shop", NULL}},
     "__hidden#1_",
     " no_dwarf hidden_names; bad_symbol_map"},
};

static void
test_uploads(void **state)
{
    (void)state;
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct fz_span zip = pack(cases[i].members);
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer kinds = fz_buffer_make(0);
        struct reading r;
        struct sym_frame frame;
        struct sym_index *index;
        print_message("%s\n", cases[i].name);
        if (read_upload(&r, zip, cases[i].given) != FZ_OK)
            fail_msg("%s", r.err.text);
        assert_int_equal(r.n_slices, 1);
        assert_string_equal(r.slice.name, "Shop");
        append_kinds(&r.slice.problems, &kinds);
        if (r.problems.n)
            fz_buffer_char(&kinds, ';');
        append_kinds(&r.problems, &kinds);
        assert_string_equal(fz_buffer_cstr(&kinds), cases[i].problems);
        assert_int_equal(sym_index_open_fd(r.files[r.slice.index_file], &index, NULL), FZ_OK);
        assert_int_equal(sym_index_lookup(index, 0x10001004, &frame, 1), 1);
        assert_string_equal(frame.name, cases[i].function);
        sym_index_close(index);
        struct fz_map bytes;
        assert_int_equal(fz_map_open_fd(r.files[r.slice.file], &bytes, NULL), FZ_OK);
        struct fz_buffer dsym = make_dsym();
        assert_true(fz_span_equal(bytes.bytes, fz_buffer_span(&dsym)));
        fz_map_close(&bytes);
        fz_buffer_deinit(&dsym);
        end(&r);
        free((void *)(uintptr_t)zip.data);
    }
}

static void
test_map_alone(void **state)
{
    (void)state;
    static const struct member members[MEMBERS] = {{OTHER ".bcsymbolmap", map}};
    struct fz_span zip = pack(members);
    struct reading r;
    assert_int_equal(read_upload(&r, zip, NULL), FZ_OK);
    assert_int_equal(r.n_slices, 0);
    assert_int_equal(r.n_maps, 1);
    assert_int_equal(r.map.kind, PROTO_SLICE_BCSYMBOLMAP);
    char uuid[FZ_UUID_TEXT];
    fz_uuid_format(&r.map.uuid, uuid);
    assert_string_equal(uuid, "11111111222233334444555555555555");
    assert_string_equal(sym_problem_kind_name(r.problems.list[0].kind), "unused_symbol_map");
    struct fz_map bytes;
    assert_int_equal(fz_map_open_fd(r.files[r.map.file], &bytes, NULL), FZ_OK);
    assert_true(fz_span_equal(bytes.bytes, fz_span_cstr(map)));
    fz_map_close(&bytes);
    end(&r);
    free((void *)(uintptr_t)zip.data);
    assert_int_equal(read_upload(&r, fz_span_cstr(map), NULL), FZ_E_MALFORMED);
    assert_string_equal(r.err.text, "Shop.zip: name it <UUID>.bcsymbolmap; the file itself does "
                                    "not say which image it is for");
    end(&r);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_uploads),
        cmocka_unit_test(test_map_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
