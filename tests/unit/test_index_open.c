/* Opening: what is rejected at once, and that the lookup finds damage after the header. */
#include "symbolicator/symbolicator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "symbolicator/index/reader.h"
#include "tests/unit/dwarf_text.h"

enum { CODE = 0x1000 };

/* The bytes of a small index: f() at 0x1000, 16 bytes, and data for the empty parts. */
static struct fz_buffer
sample_bytes(void)
{
    struct dwarf_text text = {
        .info = "{ 2:4 4:0 8 1 8:1000 2 'f' 8:1000 4:10 0 0 }",
        .abbrev = "1 11 1 11 1 0 0 2 2e 1 3 8 11 1 12 6 0 0 0",
    };
    struct dwarf_sample sample;
    struct fz_buffer bytes;
    struct fz_map map;
    FILE *file = tmpfile();
    assert_non_null(file);
    fz_buffer_init(&bytes, 0);
    dwarf_sample_init(&sample, &text);
    sample.macho.has_uuid = true;
    memset(sample.macho.uuid.bytes, 0xab, 16);
    sample.macho.text_vmaddr = 0x1000;
    sample.macho.text_vmsize = 0x2000;
    assert_int_equal(sym_index_build(&sample.macho, NULL, fileno(file), NULL, NULL, NULL), FZ_OK);
    assert_int_equal(fz_map_open_fd(fileno(file), &map, NULL), FZ_OK);
    fz_buffer_append(&bytes, map.bytes.data, map.bytes.len);
    fz_map_close(&map);
    fclose(file);
    dwarf_sample_deinit(&sample);
    return bytes;
}

static enum fz_code
try_open(const struct fz_buffer *bytes, size_t len, struct fz_error *err)
{
    struct sym_index *index = NULL;
    enum fz_code code = index_open_bytes(fz_span_make(bytes->data, len), &index, err);
    sym_index_close(index);
    return code;
}

static void
test_info(void **state)
{
    (void)state;
    struct fz_buffer bytes = sample_bytes();
    struct sym_index *index = NULL;
    struct sym_index_info info;
    assert_int_equal(index_open_bytes(fz_buffer_span(&bytes), &index, NULL), FZ_OK);
    sym_index_info(index, &info);
    assert_int_equal(info.version, INDEX_VERSION);
    assert_true(info.has_uuid);
    assert_int_equal(info.uuid.bytes[15], 0xab);
    assert_int_equal(info.cputype, FZ_ARCH_ARM64);
    assert_int_equal(info.text_vmaddr, 0x1000);
    assert_int_equal(info.text_vmsize, 0x2000);
    assert_int_equal(info.stats.n_functions, 1);
    assert_int_equal(info.stats.n_units, 1);
    assert_int_equal(info.stats.min_dwarf_version, 4);
    assert_int_equal(info.stats.bytes, bytes.len);
    sym_index_close(index);
    fz_buffer_deinit(&bytes);
}

static void
test_refused(void **state)
{
    (void)state;
    struct fz_buffer bytes = sample_bytes();
    struct fz_error err;
    struct sym_index *index = NULL;
    assert_int_equal(sym_index_open("/nonexistent/index", &index, &err), FZ_E_NOT_FOUND);
    for (size_t len = 0; len < bytes.len; len++)
        assert_int_equal(try_open(&bytes, len, &err), FZ_E_MALFORMED);
    assert_string_equal(err.text, "symbol index: truncated");
    for (size_t at = 0; at < INDEX_HEADER; at++) {
        bytes.data[at] = (char)(bytes.data[at] ^ 0x10);
        enum fz_code want = at >= 8 && at < 12 ? FZ_E_UNSUPPORTED : FZ_E_MALFORMED;
        if (try_open(&bytes, bytes.len, &err) != want)
            fail_msg("byte %zu of the header: %s", at, err.text);
        bytes.data[at] = (char)(bytes.data[at] ^ 0x10);
    }
    assert_int_equal(try_open(&bytes, bytes.len, &err), FZ_OK);
    fz_buffer_deinit(&bytes);
}

/* A damaged block has no names; it is never read as if it were good. */
static void
test_damaged(void **state)
{
    (void)state;
    struct fz_buffer bytes = sample_bytes();
    for (size_t at = INDEX_HEADER; at < bytes.len; at++) {
        struct sym_index *index = NULL;
        struct sym_frame frame;
        bytes.data[at] = (char)(bytes.data[at] ^ 0x10);
        if (index_open_bytes(fz_buffer_span(&bytes), &index, NULL) == FZ_OK &&
            (sym_index_lookup(index, CODE, &frame, 1) != 0 ||
             sym_index_lookup(index, CODE, &frame, 1) != 0)) /* nor later */
            fail_msg("damage at byte %zu was believed", at);
        sym_index_close(index);
        bytes.data[at] = (char)(bytes.data[at] ^ 0x10);
    }
    fz_buffer_deinit(&bytes);
}

/* Whoever writes the checks too can put any offset anywhere: no lookup may leave the bytes. */
static void
test_lies(void **state)
{
    (void)state;
    struct fz_buffer bytes = sample_bytes();
    uint8_t *data = (uint8_t *)bytes.data;
    uint64_t checks = load64(data + INDEX_SECTIONS + 16 * INDEX_CHECKS);
    static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff};
    for (size_t at = INDEX_HEADER; at < checks; at++) {
        uint8_t was = data[at];
        for (size_t i = 0; i < FZ_ARRAY_LEN(values); i++) {
            struct sym_index *index = NULL;
            struct sym_frame frames[4];
            data[at] = values[i];
            store32(data + checks, index_check(data + INDEX_HEADER, (size_t)checks - INDEX_HEADER));
            if (index_open_bytes(fz_buffer_span(&bytes), &index, NULL) == FZ_OK) {
                for (uint64_t addr = CODE - 16; addr < CODE + 64; addr++) {
                    size_t n = sym_index_lookup(index, addr, frames, 4);
                    assert_true(n <= 4);
                    for (size_t k = 0; k < n; k++)
                        assert_true(strlen(frames[k].name) < bytes.len);
                    sym_index_aliases(index, addr, NULL, 0);
                    struct sym_function_die die;
                    if (sym_index_function_die(index, addr, &die))
                        assert_true(die.die < die.info_size);
                }
            }
            sym_index_close(index);
        }
        data[at] = was;
    }
    fz_buffer_deinit(&bytes);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_info), cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_damaged), cmocka_unit_test(test_lies)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
