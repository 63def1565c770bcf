/* The archive that carries a slice and its symbol map, as the server's reader sees it. */
#include "server/cli/upload_archive.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/attr.h"
#include "symbolicator/symbolicator.h"

static enum fz_code
on_begin(void *user, const char *name, struct fz_error *err FZ_UNUSED)
{
    fz_buffer_printf(user, "%s=", name);
    return FZ_OK;
}

static enum fz_code
on_write(void *user, uint64_t offset FZ_UNUSED, struct fz_span bytes,
         struct fz_error *err FZ_UNUSED)
{
    fz_buffer_append(user, bytes.data, bytes.len);
    return FZ_OK;
}

static enum fz_code
on_end(void *user, enum sym_member_state state, struct fz_error *err FZ_UNUSED)
{
    fz_buffer_text(user, state == SYM_MEMBER_WHOLE ? ";" : "(broken);");
    return FZ_OK;
}

static void
test_both_are_read(void **state)
{
    (void)state;
    static const char map[] = "BCSymbolMap Version: 2.0\n_work\n";
    static const size_t sizes[] = {4, 511, 512, 513, 70000}; /* around a block, and many */
    for (size_t i = 0; i < FZ_ARRAY_LEN(sizes); i++) {
        struct sym_archive_limits limits = {
            .bytes = 1 << 20, .member_bytes = 1 << 20, .entries = 10};
        struct fz_buffer macho, packed, seen, want;
        struct sym_archive_summary summary;
        struct sym_problems problems = {0};
        struct sym_archive_sink sink = {.wants = sym_archive_wants_symbols,
                                        .begin = on_begin,
                                        .write = on_write,
                                        .end = on_end,
                                        .user = &seen};
        struct sym_file_slice slice = {.path = "Shop.dSYM/Contents/Resources/DWARF/Shop"};
        fz_buffer_init(&macho, 0);
        fz_buffer_init(&packed, 0);
        fz_buffer_init(&seen, 0);
        fz_buffer_init(&want, 0);
        fz_buffer_append(&macho, "\xcf\xfa\xed\xfe", 4);
        while (macho.len < sizes[i])
            fz_buffer_char(&macho, 'x');
        memset(slice.macho.uuid.bytes, 0x0a, sizeof(slice.macho.uuid.bytes));
        slice.macho.bytes = fz_buffer_span(&macho);
        slice.symbol_map_bytes = fz_span_cstr(map);
        upload_archive(&slice, &packed);
        assert_int_equal(packed.len % 512, 0);
        assert_int_equal(
            sym_archive_walk(fz_buffer_span(&packed), &limits, &sink, &summary, &problems, NULL),
            FZ_OK);
        fz_buffer_text(&want, "Shop=");
        fz_buffer_append(&want, macho.data, macho.len);
        fz_buffer_printf(&want, ";0a0a0a0a-0a0a-0a0a-0a0a-0a0a0a0a0a0a.bcsymbolmap=%s;", map);
        assert_int_equal(seen.len, want.len);
        assert_memory_equal(seen.data, want.data, want.len);
        assert_int_equal(problems.n, 0);
        fz_buffer_deinit(&macho);
        fz_buffer_deinit(&packed);
        fz_buffer_deinit(&seen);
        fz_buffer_deinit(&want);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_both_are_read)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
