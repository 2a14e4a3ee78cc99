#include "common/sha256.h"

#include <nettle/version.h>
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

/* The whole digest: nettle 4 gives no part of it, and takes no length. */
static void whole_digest(struct ti_sha256 *s, unsigned char digest[SHA256_DIGEST_SIZE])
{
#if NETTLE_VERSION_MAJOR >= 4
    sha256_digest(&s->sum, digest);
#else
    sha256_digest(&s->sum, SHA256_DIGEST_SIZE, digest);
#endif
}

void ti_sha256_end(struct ti_sha256 *s, char hex[65])
{
    unsigned char digest[SHA256_DIGEST_SIZE];

    whole_digest(s, digest);
    ti_hex(digest, sizeof digest, hex);
}

void ti_sha256_end_key(struct ti_sha256 *s, int64_t key[2])
{
    unsigned char digest[SHA256_DIGEST_SIZE];

    whole_digest(s, digest);
    memcpy(key, digest, 2 * sizeof key[0]);
}
