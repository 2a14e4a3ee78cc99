/* CRC-32C (Castagnoli), as in RFC 3720 appendix B.4.  Start with `crc` 0; pass the result of one
 * call to the next. */
#ifndef TI_COMMON_CRC32C_H
#define TI_COMMON_CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t ti_crc32c(uint32_t crc, const void *data, size_t bytes);

/* The same without the processor's CRC instruction; for tests and as the fallback. */
uint32_t ti_crc32c_portable(uint32_t crc, const void *data, size_t bytes);

#endif
