/* Slices of a file, and files that are not Mach-O. */
#include "symbolicator/symbolicator.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "tests/unit/macho_writer.h"

static void
make_thin(struct fz_buffer *out, uint32_t cputype)
{
    struct macho_writer w = macho_writer_make();
    w.cputype = cputype;
    w.is_64 = fz_arch_pointer_size(cputype) == 8;
    macho_writer_section(&w, "__DWARF", "__debug_info", 0x2000, 0, fz_span_cstr("info"));
    fz_buffer_init(out, 0);
    macho_write(&w, out);
}

static void
test_fat_and_thin(void **state)
{
    (void)state;
    struct fz_buffer arm, arm64, fat;
    make_thin(&arm, FZ_ARCH_ARM);
    make_thin(&arm64, FZ_ARCH_ARM64);
    struct fat_part parts[] = {{FZ_ARCH_ARM, 9, fz_buffer_span(&arm)},
                               {FZ_ARCH_ARM64, 0, fz_buffer_span(&arm64)}};
    struct sym_slice slices[SYM_SLICES_MAX];
    struct sym_problems problems = {0};
    size_t n = 0;
    for (int is_64 = 0; is_64 < 2; is_64++) {
        for (size_t count = 1; count <= 2; count++) {
            fz_buffer_init(&fat, 0);
            macho_write_fat(parts, count, is_64, &fat);
            assert_true(sym_macho_has_magic(fz_buffer_span(&fat)));
            assert_int_equal(sym_macho_slices(fz_buffer_span(&fat), slices, &n, &problems, NULL),
                             FZ_OK);
            assert_int_equal(n, count);
            assert_string_equal(fz_arch_name(slices[0].cputype, slices[0].cpusubtype), "armv7");
            assert_int_equal(slices[n - 1].offset + slices[n - 1].size, fat.len);
            fz_buffer_deinit(&fat);
        }
    }
    assert_int_equal(sym_macho_slices(fz_buffer_span(&arm64), slices, &n, &problems, NULL), FZ_OK);
    assert_int_equal(n, 1);
    assert_int_equal(slices[0].offset, 0);
    assert_int_equal(slices[0].size, arm64.len);
    assert_int_equal(problems.n, 0);
    fz_buffer_deinit(&arm);
    fz_buffer_deinit(&arm64);
}

/* The 32-bit fat header of two slices: count at 4, first record at 8 (offset at 16, size at 20),
 * second at 28. */
static void
test_fat_lies(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t offset;
        uint32_t value;
        enum fz_code code;
        size_t n;
        const char *kind, *text; /* of the problem; of the error */
    } cases[] = {
        {"second slice beyond the file", 36, 0x10000000, FZ_OK, 1, "bad_slice", NULL},
        {"second slice cut off", 40, 0x10000000, FZ_OK, 2, "truncated", NULL},
        {"second slice in the header", 36, 0, FZ_OK, 1, "bad_slice", NULL},
        {"second slice is the first", 36, 48, FZ_OK, 1, "bad_slice", NULL},
        {"empty slice", 40, 0, FZ_OK, 1, "bad_slice", NULL},
        {"no slices", 4, 0, FZ_E_MALFORMED, 0, NULL, "fat header: no slice of 0 is a Mach-O"},
        {"33 slices", 4, 33, FZ_E_MALFORMED, 0, NULL, "fat header: 33 slices, at most 32"},
        {"a Java class", 4, 0x00000034, FZ_E_UNSUPPORTED, 0, NULL,
         "not a Mach-O file but a Java class"},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        print_message("%s\n", cases[i].name);
        struct fz_buffer thin, fat;
        make_thin(&thin, FZ_ARCH_ARM64);
        struct fat_part parts[] = {{FZ_ARCH_ARM64, 2, fz_buffer_span(&thin)},
                                   {FZ_ARCH_ARM64, 0, fz_buffer_span(&thin)}};
        fz_buffer_init(&fat, 0);
        macho_write_fat(parts, 2, false, &fat);
        for (unsigned k = 0; k < 4; k++)
            fat.data[cases[i].offset + k] = (char)(uint8_t)(cases[i].value >> (24 - 8 * k));
        struct sym_slice slices[SYM_SLICES_MAX];
        struct sym_problems problems = {0};
        struct fz_error err = {0};
        size_t n = 0;
        assert_int_equal(sym_macho_slices(fz_buffer_span(&fat), slices, &n, &problems, &err),
                         cases[i].code);
        assert_int_equal(n, cases[i].n);
        if (cases[i].kind) {
            assert_int_equal(problems.n, 1);
            assert_string_equal(sym_problem_kind_name(problems.list[0].kind), cases[i].kind);
        }
        if (cases[i].text)
            assert_string_equal(err.text, cases[i].text);
        fz_buffer_deinit(&thin);
        fz_buffer_deinit(&fat);
    }
}

static void
test_nested_fat_is_refused(void **state)
{
    (void)state;
    struct fz_buffer thin, inner, outer;
    make_thin(&thin, FZ_ARCH_ARM64);
    fz_buffer_init(&inner, 0);
    fz_buffer_init(&outer, 0);
    macho_write_fat(&(struct fat_part){FZ_ARCH_ARM64, 0, fz_buffer_span(&thin)}, 1, false, &inner);
    macho_write_fat(&(struct fat_part){FZ_ARCH_ARM64, 0, fz_buffer_span(&inner)}, 1, false, &outer);
    struct sym_slice slices[SYM_SLICES_MAX];
    size_t n = 0;
    assert_int_equal(sym_macho_slices(fz_buffer_span(&outer), slices, &n, NULL, NULL),
                     FZ_E_MALFORMED);
    fz_buffer_deinit(&thin);
    fz_buffer_deinit(&inner);
    fz_buffer_deinit(&outer);
}

static void
test_tells_what_it_is_instead(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t len;
        const char *text;
    } cases[] = {
        {"", 0, "not a Mach-O file but an empty file"},
        {"hello\n", 6, "not a Mach-O file but text"},
        {"\x7f"
         "ELF\2\1\1",
         7, "not a Mach-O file but an ELF file"},
        {"PK\3\4....", 8, "not a Mach-O file but a zip archive"},
        {"!<arch>\n", 8,
         "not a Mach-O file but a static archive (.a); give the linked binary or its dSYM"},
        {"\xca\xfe\xba\xbe\0\0\0\x3d", 8, "not a Mach-O file but a Java class"},
        {"\1\2\3\4", 4, "not a Mach-O file but an unknown binary format"},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct sym_slice slices[SYM_SLICES_MAX];
        struct fz_error err;
        size_t n = 0;
        struct fz_span file = fz_span_make(cases[i].bytes, cases[i].len);
        assert_false(sym_macho_has_magic(file));
        assert_int_equal(sym_macho_slices(file, slices, &n, NULL, &err), FZ_E_UNSUPPORTED);
        assert_string_equal(err.text, cases[i].text);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fat_and_thin),
        cmocka_unit_test(test_fat_lies),
        cmocka_unit_test(test_nested_fat_is_refused),
        cmocka_unit_test(test_tells_what_it_is_instead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
