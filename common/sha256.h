/* SHA-256 (FIPS 180-4). */
#ifndef TI_SHA256_H
#define TI_SHA256_H

#include <stddef.h>
#include <stdint.h>

struct ti_sha256 {
    uint32_t state[8];
    uint64_t bytes;
    unsigned char block[64]; /* what is not enough for one yet */
};

void ti_sha256_begin(struct ti_sha256 *s);
void ti_sha256_add(struct ti_sha256 *s, const void *data, size_t bytes);
void ti_sha256_end(struct ti_sha256 *s, char hex[65]);

#endif
