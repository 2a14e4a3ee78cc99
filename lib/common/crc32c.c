#include "common/crc32c.h"

#include <stdbool.h>
#include <string.h>

#if defined __x86_64__
#include <nmmintrin.h>
#elif defined __AARCH64EL__ && defined __linux__
#include <arm_acle.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

/* 16 entries, two steps a byte.  The usual table of 256 entries would cost the traced process 1 KiB
 * of cache, and nearly every processor has an instruction. */
static const uint32_t nibble[16] = {
    0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
    0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
};

uint32_t ti_crc32c_portable(uint32_t crc, const void *data, size_t bytes)
{
    const uint8_t *p = data;

    crc = ~crc;
    while (bytes--) {
        crc ^= *p++;
        crc = crc >> 4 ^ nibble[crc & 15];
        crc = crc >> 4 ^ nibble[crc & 15];
    }
    return ~crc;
}

#if defined __x86_64__
#define WITH_INSTRUCTION __attribute__((target("sse4.2")))
#define STEP_8(crc, v)   (uint32_t) _mm_crc32_u64(crc, v)
#define STEP_1(crc, v)   _mm_crc32_u8(crc, v)

static bool has_instruction(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("sse4.2");
}
#elif defined __AARCH64EL__ && defined __linux__
#define WITH_INSTRUCTION __attribute__((target("+crc")))
#define STEP_8(crc, v)   __crc32cd(crc, v)
#define STEP_1(crc, v)   __crc32cb(crc, v)

static bool has_instruction(void)
{
    return getauxval(AT_HWCAP) & HWCAP_CRC32;
}
#endif

#ifdef WITH_INSTRUCTION
WITH_INSTRUCTION static uint32_t by_instruction(uint32_t crc, const uint8_t *p, size_t bytes)
{
    crc = ~crc;
    for (; bytes >= 8; p += 8, bytes -= 8) {
        uint64_t v;

        memcpy(&v, p, 8);
        crc = STEP_8(crc, v);
    }
    for (; bytes; p++, bytes--)
        crc = STEP_1(crc, *p);
    return ~crc;
}
#endif

uint32_t ti_crc32c(uint32_t crc, const void *data, size_t bytes)
{
#ifdef WITH_INSTRUCTION
    static _Atomic signed char has; /* 0: not known yet, 1: yes, -1: no */

    if (!has)
        has = has_instruction() ? 1 : -1;
    if (has > 0)
        return by_instruction(crc, data, bytes);
#endif
    return ti_crc32c_portable(crc, data, bytes);
}
