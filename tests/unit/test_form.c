#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/form.h"

#define CRLF "\r\n"
#define FIELD(name) "Content-Disposition: form-data; name=\"" name "\"" CRLF

static void
test_boundary(void **state)
{
    (void)state;
    static const struct {
        const char *type, *want;
        enum fz_code code;
    } cases[] = {
        {"multipart/form-data; boundary=------------------------0123456789abcdef",
         "------------------------0123456789abcdef", FZ_OK},
        {"Multipart/Form-Data;boundary=\"a b\"", "a b", FZ_OK},
        {"multipart/form-data; charset=utf-8; Boundary=x", "x", FZ_OK},
        {"multipart/form-data; boundary=---MultipartBoundary-0123456789ABCDEFabcdef0123456789---",
         "---MultipartBoundary-0123456789ABCDEFabcdef0123456789---", FZ_OK},
        {"multipart/form-data; charset=\"; boundary=no\"; boundary=yes", "yes", FZ_OK},
        {"multipart/form-data", NULL, FZ_E_MALFORMED},
        {"multipart/form-data; boundary=", NULL, FZ_E_MALFORMED},
        {"multipart/form-data; boundary=\"\"", NULL, FZ_E_MALFORMED},
        {"multipart/form-data; "
         "boundary=00000000001111111111222222222233333333334444444444555555555566666666667",
         NULL, FZ_E_MALFORMED},
        {"multipart/mixed; boundary=x", NULL, FZ_E_UNSUPPORTED},
        {"application/json", NULL, FZ_E_UNSUPPORTED},
        {"", NULL, FZ_E_UNSUPPORTED},
        {NULL, NULL, FZ_E_UNSUPPORTED},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        char got[FZ_FORM_BOUNDARY] = "";
        struct fz_error err;
        print_message("%s\n", cases[i].type ? cases[i].type : "(none)");
        assert_int_equal(fz_form_boundary(cases[i].type, got, &err), cases[i].code);
        if (cases[i].want)
            assert_string_equal(got, cases[i].want);
    }
}

/* "name/filename/type=content" for each part. */
static void
show(const char *body, const struct fz_form_part *parts, size_t n, struct fz_buffer *out)
{
    for (size_t i = 0; i < n; i++)
        fz_buffer_printf(out, "[%s/%s/%s=%.*s]", parts[i].name,
                         parts[i].filename ? parts[i].filename : "",
                         parts[i].content_type ? parts[i].content_type : "", (int)parts[i].len,
                         body + parts[i].offset);
}

static const struct {
    const char *body, *want;
    enum fz_code code;
    const char *message;
    int64_t offset; /* of a failure */
} cases[] = {
    {"--B" CRLF FIELD("a") CRLF "one" CRLF "--B--" CRLF, "[a//=one]", FZ_OK, NULL, 0},
    {"--B" CRLF FIELD("a") CRLF "one" CRLF "--B" CRLF FIELD("b") CRLF "two" CRLF "--B--",
     "[a//=one][b//=two]", FZ_OK, NULL, 0},
    {CRLF "--B" CRLF FIELD("a") CRLF "one" CRLF "--B--", "[a//=one]", FZ_OK, NULL, 0},
    {"preamble" CRLF "--B" CRLF FIELD("a") CRLF CRLF "--B-- epilogue", "[a//=]", FZ_OK, NULL, 0},
    {"--B--", "", FZ_OK, NULL, 0},
    {"--B \t" CRLF CRLF "x" CRLF "--B  " CRLF CRLF "y" CRLF "--B--", "[//=x][//=y]", FZ_OK, NULL,
     0},
    {"--B" CRLF "content-disposition:form-data;name=f; filename=\"a \\\"b\\\" c;d.zip\"" CRLF
     "Content-type: application/zip" CRLF CRLF "PK" CRLF "--B--",
     "[f/a \"b\" c;d.zip/application/zip=PK]", FZ_OK, NULL, 0},
    {"--B" CRLF "Content-Disposition: form-data; filename=\"C:\\x\\y.zip\"; name=f" CRLF CRLF
     "z" CRLF "--B--",
     "[f/C:\\x\\y.zip/=z]", FZ_OK, NULL, 0},
    {"--B" CRLF FIELD("a") CRLF "--B is not the end" CRLF "--Bx" CRLF "--B -" CRLF "--B--",
     "[a//=--B is not the end\r\n--Bx\r\n--B -]", FZ_OK, NULL, 0},
    {"--B" CRLF FIELD("\xff") CRLF "x" CRLF "--B--", "[\xef\xbf\xbd//=x]", FZ_OK, NULL, 0},
    {"--B" CRLF "no colon" CRLF CRLF "x" CRLF "--B--", "[//=x]", FZ_OK, NULL, 0},
    {"--B" CRLF "Content-Disposition: form-data; name" CRLF CRLF "x" CRLF "--B--", "[//=x]", FZ_OK,
     NULL, 0},
    {"", NULL, FZ_E_MALFORMED, "ends without its closing delimiter", 0},
    {"--B", NULL, FZ_E_MALFORMED, "ends without its closing delimiter", 3},
    {"--A" CRLF CRLF "x" CRLF "--A--", NULL, FZ_E_MALFORMED, "ends without its closing", 15},
    {"--B" CRLF FIELD("a"), NULL, FZ_E_MALFORMED, "within a part's header", 47},
    {"--B" CRLF FIELD("a") CRLF "one", NULL, FZ_E_MALFORMED, "closing delimiter", 52},
    {"--B" CRLF CRLF "one" CRLF "--B" CRLF, NULL, FZ_E_MALFORMED, "within a part's header", 17},
};

static void
test_parse(void **state)
{
    (void)state;
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct fz_span body = fz_span_cstr(cases[i].body);
        struct fz_form_part *parts;
        size_t n;
        struct fz_error err;
        struct fz_arena arena;
        print_message("case %zu: %s\n", i, cases[i].body);
        FILE *file = tmpfile();
        assert_non_null(file);
        assert_int_equal(fwrite(body.data, 1, body.len, file), body.len);
        fflush(file);
        for (int in_file = 0; in_file < 2; in_file++) {
            fz_arena_init(&arena, 1024 * 1024);
            enum fz_code code = in_file
                                    ? fz_form_parse_fd(fileno(file), "B", &arena, &parts, &n, &err)
                                    : fz_form_parse(body, "B", &arena, &parts, &n, &err);
            assert_int_equal(code, cases[i].code);
            if (code) {
                assert_non_null(strstr(err.text, cases[i].message));
                assert_int_equal(err.offset, cases[i].offset);
            } else {
                struct fz_buffer out;
                fz_buffer_init(&out, 0);
                show(cases[i].body, parts, n, &out);
                assert_string_equal(fz_buffer_cstr(&out), cases[i].want);
                fz_buffer_deinit(&out);
            }
            fz_arena_deinit(&arena);
        }
        fclose(file);
    }
}

static void
test_limits(void **state)
{
    (void)state;
    for (int extra = 0; extra < 2; extra++) {
        struct fz_buffer many, wide;
        struct fz_arena arena;
        struct fz_form_part *parts;
        size_t n;
        struct fz_error err;
        fz_buffer_init(&many, 0);
        fz_buffer_init(&wide, 0);
        fz_arena_init(&arena, 1024 * 1024);
        for (int i = 0; i < FZ_FORM_PARTS_MAX + extra; i++)
            fz_buffer_text(&many, CRLF "--B" CRLF CRLF "x");
        fz_buffer_text(&many, CRLF "--B--");
        enum fz_code code = fz_form_parse(fz_buffer_span(&many), "B", &arena, &parts, &n, &err);
        assert_int_equal(code, extra ? FZ_E_LIMIT : FZ_OK);
        if (!code)
            assert_int_equal(n, FZ_FORM_PARTS_MAX);
        fz_buffer_text(&wide, "--B" CRLF "X: ");
        while (wide.len < (size_t)(5 + 8 * 1024 - 4 + extra))
            fz_buffer_char(&wide, 'x');
        fz_buffer_text(&wide, CRLF CRLF "content" CRLF "--B--");
        code = fz_form_parse(fz_buffer_span(&wide), "B", &arena, &parts, &n, &err);
        assert_int_equal(code, extra ? FZ_E_LIMIT : FZ_OK);
        fz_buffer_deinit(&many);
        fz_buffer_deinit(&wide);
        fz_arena_deinit(&arena);
    }
}

/* Delimiters on both sides of the edge of a window, and a part larger than one. */
static void
test_large_file(void **state)
{
    (void)state;
    static const char head[] = "--B" CRLF FIELD("file") CRLF, tail[] = CRLF "--B--" CRLF;
    static const off_t edge = 64 * 1024 * 1024;
    for (off_t shift = -6; shift <= 3; shift++) {
        FILE *file = tmpfile();
        assert_non_null(file);
        int fd = fileno(file);
        off_t at = 2 * edge + shift;
        assert_int_equal(pwrite(fd, head, sizeof(head) - 1, 0), sizeof(head) - 1);
        assert_int_equal(pwrite(fd, tail, sizeof(tail) - 1, at), sizeof(tail) - 1);
        struct fz_arena arena;
        struct fz_form_part *parts;
        size_t n;
        struct fz_error err = {.text = ""};
        fz_arena_init(&arena, 1024 * 1024);
        assert_int_equal(fz_form_parse_fd(fd, "B", &arena, &parts, &n, &err), FZ_OK);
        assert_int_equal(n, 1);
        assert_int_equal(parts[0].offset, sizeof(head) - 1);
        assert_int_equal(parts[0].len, (uint64_t)at - (sizeof(head) - 1));
        fz_arena_deinit(&arena);
        fclose(file);
    }
}

/* Each allocation fails once. */
static void
test_no_memory(void **state)
{
    (void)state;
    static const char body[] = "--B" CRLF "Content-Disposition: form-data; name=a; filename=b" CRLF
                               "Content-Type: c" CRLF CRLF "x" CRLF "--B--";
    for (int64_t n_ok = 0;; n_ok++) {
        struct fz_arena arena;
        struct fz_form_part *parts;
        size_t n;
        struct fz_error err;
        fz_arena_init(&arena, 1024 * 1024);
        arena.fail_after = n_ok;
        enum fz_code code = fz_form_parse(fz_span_cstr(body), "B", &arena, &parts, &n, &err);
        fz_arena_deinit(&arena);
        if (!code) {
            assert_true(n_ok >= 5);
            break;
        }
        assert_int_equal(code, FZ_E_NO_MEMORY);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_boundary),  cmocka_unit_test(test_parse),
        cmocka_unit_test(test_limits),    cmocka_unit_test(test_large_file),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
