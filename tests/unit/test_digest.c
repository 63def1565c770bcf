#include "base/digest.h"

#include <stdarg.h>
#include <stdlib.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/text.h"

/* FIPS 180-4 examples. */
static const struct {
    const char *in, *want;
} cases[] = {
    {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
};

static void
test_sha256(void **state)
{
    (void)state;
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        char hex[FZ_SHA256_TEXT];
        struct fz_span in = fz_span_cstr(cases[i].in);
        fz_sha256_hex(in, hex);
        assert_string_equal(hex, cases[i].want);
        FZ_CLEANUP(fz_hash_destroyp) struct fz_hash *hash = NULL;
        assert_int_equal(fz_hash_create(FZ_HASH_SHA256, &hash, NULL), FZ_OK);
        for (size_t k = 0; k < in.len; k++)
            fz_hash_update(hash, fz_span_make(in.data + k, 1));
        fz_hash_update(hash, fz_span_make(NULL, 0));
        fz_hash_finish(hash, hex);
        assert_string_equal(hex, cases[i].want);
    }
    fz_hash_destroyp(&(struct fz_hash *){NULL});
}

static void
test_sha1(void **state)
{
    (void)state;
    static const char *const want[] = {"da39a3ee5e6b4b0d3255bfef95601890afd80709",
                                       "a9993e364706816aba3e25717850c26c9cd0d89d",
                                       "84983e441c3bd26ebaae4aa1f95129e5e54670f1"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        char hex[FZ_SHA1_TEXT];
        struct fz_span in = fz_span_cstr(cases[i].in);
        FZ_CLEANUP(fz_hash_destroyp) struct fz_hash *hash = NULL;
        assert_int_equal(fz_hash_create(FZ_HASH_SHA1, &hash, NULL), FZ_OK);
        for (size_t k = 0; k < in.len; k++)
            fz_hash_update(hash, fz_span_make(in.data + k, 1));
        fz_hash_finish(hash, hex);
        assert_string_equal(hex, want[i]);
    }
    fz_hash_destroyp(&(struct fz_hash *){NULL});
}

/* All lengths around one and two blocks, in two pieces, against what sha1sum and sha256sum say of
 * their hashes; and a million bytes. */
static void
test_lengths(void **state)
{
    (void)state;
    uint8_t text[200];
    char hex256[FZ_SHA256_TEXT], hex1[FZ_SHA1_TEXT], once[FZ_SHA256_TEXT];
    FZ_CLEANUP(fz_hash_destroyp) struct fz_hash *all256 = NULL;
    FZ_CLEANUP(fz_hash_destroyp) struct fz_hash *all1 = NULL;
    assert_int_equal(fz_hash_create(FZ_HASH_SHA256, &all256, NULL), FZ_OK);
    assert_int_equal(fz_hash_create(FZ_HASH_SHA1, &all1, NULL), FZ_OK);
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (uint8_t)(i * 7 + 3);
    for (size_t len = 0; len <= sizeof(text); len++) {
        FZ_CLEANUP(fz_hash_destroyp) struct fz_hash *sha256 = NULL;
        FZ_CLEANUP(fz_hash_destroyp) struct fz_hash *sha1 = NULL;
        assert_int_equal(fz_hash_create(FZ_HASH_SHA256, &sha256, NULL), FZ_OK);
        assert_int_equal(fz_hash_create(FZ_HASH_SHA1, &sha1, NULL), FZ_OK);
        struct fz_span head = fz_span_make(text, len / 3),
                       tail = fz_span_make(text + len / 3, len - len / 3);
        fz_hash_update(sha256, head);
        fz_hash_update(sha256, tail);
        fz_hash_finish(sha256, hex256);
        fz_sha256_hex(fz_span_make(text, len), once);
        assert_string_equal(hex256, once);
        fz_hash_update(sha1, head);
        fz_hash_update(sha1, tail);
        fz_hash_finish(sha1, hex1);
        fz_hash_update(all256, fz_span_cstr(hex256));
        fz_hash_update(all1, fz_span_cstr(hex1));
    }
    fz_hash_finish(all256, hex256);
    fz_hash_finish(all1, hex1);
    assert_string_equal(hex256, "530566f39d545b371e5360fbfe251c0da6410ba297e67392dfaec0cb575d67ed");
    assert_string_equal(hex1, "fd79730aeac91eb4b5c69ad92ffae67091f61970");

    FZ_CLEANUP(fz_hash_destroyp) struct fz_hash *many = NULL;
    assert_int_equal(fz_hash_create(FZ_HASH_SHA256, &many, NULL), FZ_OK);
    memset(text, 'a', sizeof(text));
    for (int i = 0; i < 1000000; i += (int)sizeof(text))
        fz_hash_update(many, fz_span_make(text, sizeof(text)));
    fz_hash_finish(many, hex256);
    assert_string_equal(hex256, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void
test_equal(void **state)
{
    (void)state;
    assert_true(fz_equal_constant_time(fz_span_cstr("abc"), fz_span_cstr("abc")));
    assert_false(fz_equal_constant_time(fz_span_cstr("abc"), fz_span_cstr("abd")));
    assert_false(fz_equal_constant_time(fz_span_cstr("abc"), fz_span_cstr("ab")));
    assert_true(fz_equal_constant_time(fz_span_make(NULL, 0), fz_span_cstr("")));
}

/* RFC 4231, test cases 1, 2 and 6; and an empty key. */
static void
test_hmac(void **state)
{
    (void)state;
    static uint8_t ones[131], twenty[20];
    memset(ones, 0xaa, sizeof(ones));
    memset(twenty, 0x0b, sizeof(twenty));
    const struct {
        struct fz_span key;
        const char *text, *want;
    } rows[] = {
        {{twenty, sizeof(twenty)},
         "Hi There",
         "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
        {fz_span_cstr("Jefe"), "what do ya want for nothing?",
         "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
        {{ones, sizeof(ones)},
         "Test Using Larger Than Block-Size Key - Hash Key First",
         "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
        {{NULL, 0}, "", "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(rows); i++) {
        uint8_t mac[FZ_SHA256_LEN];
        char hex[FZ_SHA256_TEXT];
        fz_hmac_sha256(rows[i].key, fz_span_cstr(rows[i].text), mac);
        fz_text_hex(fz_span_make(mac, sizeof(mac)), hex);
        assert_string_equal(hex, rows[i].want);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sha256), cmocka_unit_test(test_sha1), cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_equal),  cmocka_unit_test(test_hmac),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
