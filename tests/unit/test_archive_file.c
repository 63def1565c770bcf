/* What a person may name as a symbol file: file, bundle, folder, archive. */
#include "symbolicator/macho/macho.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <archive.h>
#include <archive_entry.h>
#include <cmocka.h>

#include "base/file.h"
#include "base/text.h"
#include "tests/unit/corpus.h"
#include "tests/unit/macho_writer.h"

static const uint8_t uuid_a[16] = {0xaa, 1}, uuid_b[16] = {0xbb, 1};
static char top[64];

static void
make_macho(struct fz_buffer *out, uint32_t cputype, const uint8_t *uuid, bool has_dwarf)
{
    struct macho_writer w = macho_writer_make();
    w.cputype = cputype;
    w.uuid = uuid;
    macho_writer_section(&w, "__DWARF", has_dwarf ? "__debug_info" : "__other", 0x2000, 0,
                         fz_span_cstr("info"));
    fz_buffer_init(out, 0);
    macho_write(&w, out);
}

static const char *
in_top(const char *name)
{
    static char path[256];
    snprintf(path, sizeof(path), "%s/%s", top, name);
    return path;
}

static void
put_file(const char *name, struct fz_span bytes)
{
    char folder[256];
    snprintf(folder, sizeof(folder), "%s", in_top(name));
    *strrchr(folder, '/') = '\0';
    assert_int_equal(fz_file_make_dirs(folder, NULL), FZ_OK);
    assert_int_equal(fz_file_write_atomic(in_top(name), bytes, 0600, NULL), FZ_OK);
}

static int
set_up(void **state)
{
    (void)state;
    struct fz_buffer full, stub, intel;
    snprintf(top, sizeof(top), "/tmp/fz-file-XXXXXX");
    assert_non_null(mkdtemp(top));
    make_macho(&full, FZ_ARCH_ARM64, uuid_a, true);
    make_macho(&stub, FZ_ARCH_ARM64, uuid_a, false);
    make_macho(&intel, FZ_ARCH_X86_64, uuid_b, true);
    put_file("A.dSYM/Contents/Info.plist", fz_span_cstr("<?xml?>"));
    put_file("A.dSYM/Contents/Resources/DWARF/._A", fz_buffer_span(&full));
    put_file("A.dSYM/Contents/Resources/DWARF/A", fz_buffer_span(&stub));
    put_file("A.dSYM/Contents/Resources/DWARF/B.dSYM/A", fz_buffer_span(&full));
    put_file("two/intel", fz_buffer_span(&intel));
    put_file("two/arm", fz_buffer_span(&full));
    put_file("two/broken", fz_span_make(full.data, 20));
    put_file("empty/readme.txt", fz_span_cstr("nothing here"));
    put_file("broken/A", fz_span_make(full.data, 20));
    fz_buffer_deinit(&full);
    fz_buffer_deinit(&stub);
    fz_buffer_deinit(&intel);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof(command), "rm -r '%s'", top);
    return system(command);
}

static void
test_bundle_skips_what_is_none(void **state)
{
    (void)state;
    FZ_CLEANUP(sym_file_closep) struct sym_file *file = NULL;
    assert_int_equal(sym_file_open(in_top("A.dSYM"), &file, NULL), FZ_OK);
    assert_int_equal(file->n_slices, 2);
    assert_int_equal(file->problems.n, 0);
    assert_string_equal(file->slices[0]->path, in_top("A.dSYM/Contents/Resources/DWARF/A"));
    assert_string_equal(file->slices[0]->arch, "arm64");
    /* Both have one UUID: the one with debug information is meant. */
    const struct sym_file_slice *slice = NULL;
    assert_int_equal(sym_file_choose(file, NULL, NULL, &slice, NULL), FZ_OK);
    assert_ptr_equal(slice, file->slices[1]);
    struct fz_uuid uuid;
    memcpy(uuid.bytes, uuid_a, 16);
    assert_ptr_equal(sym_file_find(file, &uuid), file->slices[1]);
    memcpy(uuid.bytes, uuid_b, 16);
    assert_null(sym_file_find(file, &uuid));
}

static void
test_folder_tells_the_broken_one(void **state)
{
    (void)state;
    FZ_CLEANUP(sym_file_closep) struct sym_file *file = NULL;
    struct fz_error err;
    const struct sym_file_slice *slice = NULL;
    assert_int_equal(sym_file_open(in_top("two"), &file, NULL), FZ_OK);
    assert_int_equal(file->n_slices, 2);
    assert_int_equal(file->problems.n, 1);
    assert_string_equal(sym_problem_kind_name(file->problems.list[0].kind), "unreadable");
    assert_non_null(strstr(file->problems.list[0].text, "two/broken: macho: header truncated"));
    assert_int_equal(sym_file_choose(file, NULL, NULL, &slice, &err), FZ_E_CONFLICT);
    assert_string_equal(err.text, "several slices fit, choose one: arm64 "
                                  "aa010000000000000000000000000000, x86_64 "
                                  "bb010000000000000000000000000000");
    assert_int_equal(sym_file_choose(file, "X86-64", NULL, &slice, &err), FZ_OK);
    assert_string_equal(slice->arch, "x86_64");
    assert_int_equal(sym_file_choose(file, "armv7", NULL, &slice, &err), FZ_E_NOT_FOUND);
}

static void
test_failures_say_why(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text;
        enum fz_code code;
    } cases[] = {
        {"missing", "missing: No such file or directory", FZ_E_NOT_FOUND},
        {"empty", "empty: holds no Mach-O file, dSYM or archive of dSYMs", FZ_E_UNSUPPORTED},
        {"empty/readme.txt", "readme.txt: not a Mach-O file but text", FZ_E_UNSUPPORTED},
        {"broken", "A: macho: header truncated at byte 20", FZ_E_MALFORMED},
        {"broken/A", "A: macho: header truncated at byte 20", FZ_E_MALFORMED},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct sym_file *file = NULL;
        struct fz_error err;
        print_message("%s\n", cases[i].name);
        assert_int_equal(sym_file_open(in_top(cases[i].name), &file, &err), cases[i].code);
        assert_true(fz_text_has_suffix(err.text, cases[i].text));
    }
}

static void
write_archive(const char *path, const char *const *names, size_t n, struct fz_span bytes)
{
    struct archive *archive = archive_write_new();
    if (strstr(path, ".zip"))
        archive_write_set_format_zip(archive);
    else if (strstr(path, ".tar"))
        archive_write_set_format_pax_restricted(archive);
    else
        archive_write_set_format_raw(archive);
    if (strstr(path, ".gz"))
        archive_write_add_filter_gzip(archive);
    if (strstr(path, ".bz2"))
        archive_write_add_filter_bzip2(archive);
    assert_int_equal(archive_write_open_filename(archive, path), ARCHIVE_OK);
    for (size_t i = 0; i < n; i++) {
        struct archive_entry *entry = archive_entry_new();
        archive_entry_set_pathname(entry, names[i]);
        archive_entry_set_filetype(entry, AE_IFREG);
        archive_entry_set_perm(entry, 0644);
        archive_entry_set_size(entry, (int64_t)bytes.len);
        assert_int_equal(archive_write_header(archive, entry), ARCHIVE_OK);
        assert_int_equal(archive_write_data(archive, bytes.data, bytes.len), bytes.len);
        archive_entry_free(entry);
    }
    archive_write_close(archive);
    archive_write_free(archive);
}

static void
test_archives(void **state)
{
    (void)state;
    static const char *const names[] = {"A.dSYM/Contents/Resources/DWARF/A", "x/._A", "__MACOSX/A",
                                        "../../../etc/A"};
    static const char *const archives[] = {"a.zip", "a.tar.gz", "a.tar.bz2"};
    struct fz_buffer macho;
    make_macho(&macho, FZ_ARCH_ARM64, uuid_a, true);
    for (size_t i = 0; i < FZ_ARRAY_LEN(archives); i++) {
        FZ_CLEANUP(sym_file_closep) struct sym_file *file = NULL;
        char path[256], want[300];
        snprintf(path, sizeof(path), "%s", in_top(archives[i]));
        write_archive(path, names, FZ_ARRAY_LEN(names), fz_buffer_span(&macho));
        assert_int_equal(sym_file_open(path, &file, NULL), FZ_OK);
        assert_int_equal(file->n_slices, 2); /* a name is only a label: ".." leads nowhere */
        snprintf(want, sizeof(want), "%s:%s", path, names[0]);
        assert_string_equal(file->slices[0]->path, want);
    }
    write_archive(in_top("none.zip"), names, 1, fz_span_cstr("text"));
    struct sym_file *file = NULL;
    struct fz_error err;
    /* A file that is only compressed, as in uploads. */
    write_archive(in_top("a.gz"), names, 1, fz_buffer_span(&macho));
    assert_int_equal(sym_file_open(in_top("a.gz"), &file, &err), FZ_OK);
    assert_string_equal(file->slices[0]->path, in_top("a.gz"));
    sym_file_closep(&file);
    assert_int_equal(sym_file_open(in_top("none.zip"), &file, &err), FZ_E_UNSUPPORTED);
    put_file("bad.zip", fz_span_make("PK\3\4\xff\xff\xff", 7));
    assert_int_equal(sym_file_open(in_top("bad.zip"), &file, &err), FZ_E_MALFORMED);
    assert_non_null(strstr(err.text, "broken archive"));
    fz_buffer_deinit(&macho);
}

/* Everything that reads a slice, on the broken files of the corpus. */
static void
test_corpus_of_malformed_files(void **state)
{
    (void)state;
    char folder[512], path[1024];
    if (!corpus_path("malformed/llvm", folder, sizeof(folder)))
        skip();
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    size_t n_files = 0, n_opened = 0;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        FZ_CLEANUP(sym_file_closep) struct sym_file *file = NULL;
        struct fz_error err;
        n_files++;
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        enum fz_code code = sym_file_open(path, &file, &err);
        assert_true(code == FZ_OK || code == FZ_E_MALFORMED || code == FZ_E_UNSUPPORTED);
        for (size_t i = 0; code == FZ_OK && i < file->n_slices; i++) {
            struct fz_arena arena;
            struct sym_symbol *symbols;
            uint64_t *starts;
            size_t n;
            const struct sym_macho *macho = &file->slices[i]->macho;
            fz_arena_init(&arena, 64 << 20);
            assert_int_equal(sym_macho_symbols(macho, &arena, &symbols, &n, NULL, &err), FZ_OK);
            assert_int_equal(sym_macho_function_starts(macho, &arena, &starts, &n, NULL, &err),
                             FZ_OK);
            fz_arena_deinit(&arena);
            n_opened++;
        }
    }
    closedir(dir);
    print_message("%zu files, %zu slices read\n", n_files, n_opened);
    assert_true(n_files > 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bundle_skips_what_is_none),
        cmocka_unit_test(test_folder_tells_the_broken_one),
        cmocka_unit_test(test_failures_say_why),
        cmocka_unit_test(test_archives),
        cmocka_unit_test(test_corpus_of_malformed_files),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
