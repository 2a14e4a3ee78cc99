#include "common/sha256.h"

#include <string.h>

#include "common/hex.h"

void ti_sha256_begin(struct ti_sha256 *s)
{
    sha256_init(&s->sum);
}

void ti_sha256_add(struct ti_sha256 *s, const void *data, size_t bytes)
{
    sha256_update(&s->sum, bytes, data);
}

void ti_sha256_end(struct ti_sha256 *s, char hex[65])
{
    unsigned char digest[SHA256_DIGEST_SIZE];

    sha256_digest(&s->sum, sizeof digest, digest);
    ti_hex(digest, sizeof digest, hex);
}

void ti_sha256_end_key(struct ti_sha256 *s, int64_t key[2])
{
    unsigned char digest[2 * sizeof key[0]];

    sha256_digest(&s->sum, sizeof digest, digest);
    memcpy(key, digest, sizeof digest);
}
