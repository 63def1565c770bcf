/*
 * The hashes of base/digest.h by themselves (FIPS 180-4), for builds without the server, which have
 * no libcrypto. About a tenth of libcrypto's speed, since no instruction of a processor helps.
 */
#include "base/digest.h"

#include "base/text.h"

#include <stdlib.h>

enum { BLOCK = 64, LENGTH_AT = 56, STATE_MAX = 8 };

struct hash {
    uint32_t state[STATE_MAX];
    uint64_t len; /* bytes so far */
    uint8_t block[BLOCK];
    void (*mix)(uint32_t *state, const uint8_t *block);
};

struct fz_sha256 {
    struct hash hash;
};

struct fz_sha1 {
    struct hash hash;
};

static uint32_t
rotate_right(uint32_t x, unsigned n)
{
    return x >> n | x << (32 - n);
}

static uint32_t
load_be(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void
mix_sha256(uint32_t *state, const uint8_t *block)
{
    static const uint32_t k[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
        0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
        0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
        0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
        0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
        0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
        0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
        0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
        0xc67178f2,
    };
    uint32_t w[64], s[8];
    for (unsigned i = 0; i < 16; i++)
        w[i] = load_be(block + 4 * i);
    for (unsigned i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + w[i - 7] + (rotate_right(a, 7) ^ rotate_right(a, 18) ^ a >> 3) +
               (rotate_right(b, 17) ^ rotate_right(b, 19) ^ b >> 10);
    }
    memcpy(s, state, sizeof(s));
    for (unsigned i = 0; i < 64; i++) {
        uint32_t e = s[4], a = s[0];
        uint32_t one = s[7] + (rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25)) +
                       ((e & s[5]) ^ (~e & s[6])) + k[i] + w[i];
        uint32_t two = (rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22)) +
                       ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof(*s));
        s[4] += one;
        s[0] = one + two;
    }
    for (unsigned i = 0; i < 8; i++)
        state[i] += s[i];
}

static void
mix_sha1(uint32_t *state, const uint8_t *block)
{
    static const uint32_t k[4] = {0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6};
    uint32_t w[80], s[5];
    for (unsigned i = 0; i < 16; i++)
        w[i] = load_be(block + 4 * i);
    for (unsigned i = 16; i < 80; i++)
        w[i] = rotate_right(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 31);
    memcpy(s, state, sizeof(s));
    for (unsigned i = 0; i < 80; i++) {
        uint32_t b = s[1], c = s[2], d = s[3];
        uint32_t choice = i < 20              ? (b & c) | (~b & d)
                          : i < 40 || i >= 60 ? b ^ c ^ d
                                              : (b & c) | (b & d) | (c & d);
        uint32_t next = rotate_right(s[0], 27) + choice + s[4] + k[i / 20] + w[i];
        memmove(s + 1, s, 4 * sizeof(*s));
        s[2] = rotate_right(b, 2);
        s[0] = next;
    }
    for (unsigned i = 0; i < 5; i++)
        state[i] += s[i];
}

static void
update(struct hash *hash, struct fz_span bytes)
{
    while (bytes.len) {
        size_t used = hash->len % BLOCK, n = BLOCK - used;
        if (n > bytes.len)
            n = bytes.len;
        memcpy(hash->block + used, bytes.data, n);
        hash->len += n;
        bytes = fz_span_make(bytes.data + n, bytes.len - n);
        if (hash->len % BLOCK == 0)
            hash->mix(hash->state, hash->block);
    }
}

/* One bit, zeros, and the length in bits make the last block full. */
static void
finish(struct hash *hash, unsigned digest_len, char *ret_hex)
{
    static const uint8_t one = 0x80, zero = 0;
    uint8_t digest[FZ_SHA256_LEN], bits[8];
    for (unsigned i = 0; i < 8; i++)
        bits[i] = (uint8_t)(hash->len * 8 >> (56 - 8 * i));
    update(hash, fz_span_make(&one, 1));
    while (hash->len % BLOCK != LENGTH_AT)
        update(hash, fz_span_make(&zero, 1));
    update(hash, fz_span_make(bits, sizeof(bits)));
    for (unsigned i = 0; i < digest_len; i++)
        digest[i] = (uint8_t)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
    fz_text_hex(fz_span_make(digest, digest_len), ret_hex);
}

static struct hash
make_sha256(void)
{
    return (struct hash){{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
                          0x1f83d9ab, 0x5be0cd19},
                         0,
                         {0},
                         mix_sha256};
}

enum fz_code
fz_sha256_create(struct fz_sha256 **ret, struct fz_error *err)
{
    struct fz_sha256 *hash = malloc(sizeof(*hash));
    if (!hash)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    hash->hash = make_sha256();
    *ret = hash;
    return FZ_OK;
}

void
fz_sha256_destroy(struct fz_sha256 *hash)
{
    free(hash);
}

void
fz_sha256_destroyp(struct fz_sha256 **hash)
{
    fz_sha256_destroy(*hash);
}

void
fz_sha256_update(struct fz_sha256 *hash, struct fz_span bytes)
{
    update(&hash->hash, bytes);
}

void
fz_sha256_finish(struct fz_sha256 *hash, char ret_hex[FZ_SHA256_TEXT])
{
    finish(&hash->hash, FZ_SHA256_LEN, ret_hex);
}

enum fz_code
fz_sha1_create(struct fz_sha1 **ret, struct fz_error *err)
{
    struct fz_sha1 *hash = malloc(sizeof(*hash));
    if (!hash)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    hash->hash = (struct hash){
        {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0}, 0, {0}, mix_sha1};
    *ret = hash;
    return FZ_OK;
}

void
fz_sha1_destroy(struct fz_sha1 *hash)
{
    free(hash);
}

void
fz_sha1_destroyp(struct fz_sha1 **hash)
{
    fz_sha1_destroy(*hash);
}

void
fz_sha1_update(struct fz_sha1 *hash, struct fz_span bytes)
{
    update(&hash->hash, bytes);
}

void
fz_sha1_finish(struct fz_sha1 *hash, char ret_hex[FZ_SHA1_TEXT])
{
    finish(&hash->hash, FZ_SHA1_LEN, ret_hex);
}

void
fz_sha256_hex(struct fz_span bytes, char ret_hex[FZ_SHA256_TEXT])
{
    struct hash hash = make_sha256();
    update(&hash, bytes);
    finish(&hash, FZ_SHA256_LEN, ret_hex);
}

bool
fz_equal_constant_time(struct fz_span a, struct fz_span b)
{
    volatile uint8_t difference = 0; /* so that no compiler stops at the first one */
    if (a.len != b.len)
        return false;
    for (size_t i = 0; i < a.len; i++)
        difference = (uint8_t)(difference | (a.data[i] ^ b.data[i]));
    return difference == 0;
}
