#include "base/sha256.h"

#include <stdarg.h>
#include <stdlib.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/attr.h"
#include "base/text.h"

static void
check(struct fz_span in, size_t piece, const char *want)
{
    struct fz_sha256 hash = fz_sha256_make();
    uint8_t digest[FZ_SHA256_BYTES];
    char hex[2 * FZ_SHA256_BYTES + 1];
    for (size_t at = 0; at < in.len; at += piece)
        fz_sha256_add(&hash, fz_span_between(in, at, at + piece));
    fz_sha256_end(&hash, digest);
    fz_text_hex(fz_span_make(digest, sizeof(digest)), hex);
    assert_string_equal(hex, want);
}

/* FIPS 180-4 examples, and lengths around one block, against what sha256sum says. */
static void
test_sha256(void **state)
{
    static const struct {
        const char *in, *want;
    } cases[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    static const struct {
        size_t len;
        const char *want;
    } lengths[] = {
        {55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"},
        {56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"},
        {57, "f13b2d724659eb3bf47f2dd6af1accc87b81f09f59f2b75e5c0bed6589dfe8c6"},
        {63, "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34"},
        {64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"},
        {65, "635361c48bb9eab14198e76ea8ab7f1a41685d6ad62aa9146d301d4f17eb0ae0"},
        {119, "31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb"},
        {120, "2f3d335432c70b580af0e8e1b3674a7c020d683aa5f73aaaedfdc55af904c21c"},
        {128, "6836cf13bac400e9105071cd6af47084dfacad4e5e302c94bfed24e013afb73e"},
        {200, "c2a908d98f5df987ade41b5fce213067efbcc21ef2240212a41e54b5e7c28ae5"},
    };
    (void)state;
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        check(fz_span_cstr(cases[i].in), 100, cases[i].want);
        check(fz_span_cstr(cases[i].in), 1, cases[i].want);
    }
    uint8_t bytes[200];
    memset(bytes, 'a', sizeof(bytes));
    for (size_t i = 0; i < FZ_ARRAY_LEN(lengths); i++) {
        check(fz_span_make(bytes, lengths[i].len), 200, lengths[i].want);
        check(fz_span_make(bytes, lengths[i].len), 7, lengths[i].want);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sha256)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
