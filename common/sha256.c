#include "common/sha256.h"

#include <stdio.h>
#include <string.h>

/* The first 32 bits of the fractions of the cube roots of the first 64 primes. */
static const uint32_t roots[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t turned(uint32_t v, int by)
{
    return v >> by | v << (32 - by);
}

static uint32_t word_at(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void take_block(uint32_t state[8], const unsigned char *p)
{
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    uint32_t w[64];

    for (int i = 0; i < 16; i++)
        w[i] = word_at(p + 4 * i);
    for (int i = 16; i < 64; i++) {
        uint32_t x = w[i - 15], y = w[i - 2];

        w[i] = w[i - 16] + (turned(x, 7) ^ turned(x, 18) ^ x >> 3) + w[i - 7] +
               (turned(y, 17) ^ turned(y, 19) ^ y >> 10);
    }
    for (int i = 0; i < 64; i++) {
        uint32_t t = h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + (g ^ (e & (f ^ g))) +
                     roots[i] + w[i];
        uint32_t u = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) | (c & (a | b)));

        h = g;
        g = f;
        f = e;
        e = d + t;
        d = c;
        c = b;
        b = a;
        a = t + u;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
    state[5] += f;
    state[6] += g;
    state[7] += h;
}

void ti_sha256_begin(struct ti_sha256 *s)
{
    /* of the square roots of the first 8 primes */
    static const uint32_t first[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

    memcpy(s->state, first, sizeof first);
    s->bytes = 0;
}

void ti_sha256_add(struct ti_sha256 *s, const void *data, size_t bytes)
{
    const unsigned char *p = data;

    while (bytes) {
        size_t used = s->bytes % 64, piece = bytes < 64 - used ? bytes : 64 - used;

        if (piece == 64) {
            take_block(s->state, p);
        } else {
            memcpy(s->block + used, p, piece);
            if (used + piece == 64)
                take_block(s->state, s->block);
        }
        s->bytes += piece;
        p += piece;
        bytes -= piece;
    }
}

void ti_sha256_end(struct ti_sha256 *s, char hex[65])
{
    uint64_t bits = s->bytes * 8;
    unsigned char length[8];

    ti_sha256_add(s, "\x80", 1);
    while (s->bytes % 64 != 56)
        ti_sha256_add(s, "", 1);
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)(bits >> (56 - 8 * i));
    ti_sha256_add(s, length, sizeof length);
    for (int i = 0; i < 8; i++)
        snprintf(hex + 8 * i, 9, "%08x", s->state[i]);
}
