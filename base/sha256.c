/*
 * SHA-256: blocks of 64 bytes are mixed into eight words; the last block has a bit of 1, zeros and
 * the length in bits. The constants are the fractions of the roots of the first primes (FIPS 180-4,
 * 4.2.2 and 5.3.3). "abc" becomes ba7816bf...20015ad.
 */
#include "base/sha256.h"

static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

struct fz_sha256
fz_sha256_make(void)
{
    return (struct fz_sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                                        0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

static uint32_t
rotate(uint32_t x, unsigned n)
{
    return x >> n | x << (32 - n);
}

static void
mix(uint32_t state[8], const uint8_t block[FZ_SHA256_BLOCK])
{
    uint32_t w[64], s[8];
    for (size_t i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (size_t i = 16; i < 64; i++) {
        uint32_t a = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t b = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + a + w[i - 7] + b;
    }
    memcpy(s, state, sizeof(s));
    for (size_t i = 0; i < 64; i++) {
        uint32_t e = rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25);
        uint32_t chosen = (s[4] & s[5]) ^ (~s[4] & s[6]);
        uint32_t first = s[7] + e + chosen + constants[i] + w[i];
        uint32_t a = rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22);
        uint32_t second = a + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof(*s));
        s[4] += first;
        s[0] = first + second;
    }
    for (size_t i = 0; i < 8; i++)
        state[i] += s[i];
}

void
fz_sha256_add(struct fz_sha256 *hash, struct fz_span bytes)
{
    for (size_t at = 0; at < bytes.len;) {
        size_t used = hash->n % FZ_SHA256_BLOCK, part = FZ_SHA256_BLOCK - used;
        if (part > bytes.len - at)
            part = bytes.len - at;
        memcpy(hash->block + used, bytes.data + at, part);
        hash->n += part;
        at += part;
        if (hash->n % FZ_SHA256_BLOCK == 0)
            mix(hash->state, hash->block);
    }
}

void
fz_sha256_end(struct fz_sha256 *hash, uint8_t ret[FZ_SHA256_BYTES])
{
    uint64_t n_bits = hash->n * 8;
    uint8_t length[8];
    for (size_t i = 0; i < 8; i++)
        length[i] = (uint8_t)(n_bits >> (56 - 8 * i));
    static const uint8_t one = 0x80, zeros[FZ_SHA256_BLOCK] = {0};
    fz_sha256_add(hash, fz_span_make(&one, 1));
    /* So many zeros that the length ends the block. */
    size_t used = hash->n % FZ_SHA256_BLOCK;
    size_t room = FZ_SHA256_BLOCK - sizeof(length);
    fz_sha256_add(hash, fz_span_make(zeros, (used > room ? FZ_SHA256_BLOCK : 0) + room - used));
    fz_sha256_add(hash, fz_span_make(length, sizeof(length)));
    for (size_t i = 0; i < FZ_SHA256_BYTES; i++)
        ret[i] = (uint8_t)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
}
