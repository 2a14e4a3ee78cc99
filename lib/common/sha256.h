/* SHA-256 (FIPS 180-4), by libnettle. */
#ifndef TI_COMMON_SHA256_H
#define TI_COMMON_SHA256_H

#include <nettle/sha2.h>
#include <stddef.h>
#include <stdint.h>

struct ti_sha256 {
    struct sha256_ctx sum;
};

void ti_sha256_begin(struct ti_sha256 *s);
void ti_sha256_add(struct ti_sha256 *s, const void *data, size_t bytes);
void ti_sha256_end(struct ti_sha256 *s, char hex[65]); /* 64 digits */

/* The first 128 bits of the hash, as the key of a table. */
void ti_sha256_end_key(struct ti_sha256 *s, int64_t key[2]);

#endif
