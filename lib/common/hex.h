/* Run ids, checksums and build-ids as text: two lower-case hexadecimal digits for a byte. */
#ifndef TI_COMMON_HEX_H
#define TI_COMMON_HEX_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Write the digits of `n` bytes, and a NUL, to `out`.  Returns out. */
static inline char *ti_hex(const void *bytes, size_t n, char *out)
{
    const unsigned char *byte = bytes;
    size_t at = 0;

    for (size_t i = 0; i < n; i++) {
        out[at++] = "0123456789abcdef"[byte[i] >> 4];
        out[at++] = "0123456789abcdef"[byte[i] & 15];
    }
    out[at] = '\0';
    return out;
}

/* Whether `text`, which may be NULL, is so many digits and nothing else. */
static inline bool ti_is_hex(const char *text, size_t digits)
{
    return text && strlen(text) == digits && strspn(text, "0123456789abcdef") == digits;
}

#endif
