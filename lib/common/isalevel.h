/* The instruction set level of this processor: "x86-64", "x86-64-v2", "armv8-a", "unknown". */
#ifndef TI_COMMON_ISALEVEL_H
#define TI_COMMON_ISALEVEL_H

static inline const char *ti_isa_level(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
        return "x86-64-v4";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") &&
        __builtin_cpu_supports("fma"))
        return "x86-64-v3";
    if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt"))
        return "x86-64-v2";
    return "x86-64";
#elif defined(__aarch64__)
    return "armv8-a";
#else
    return "unknown";
#endif
}

#endif
