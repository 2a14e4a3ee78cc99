#include "acquire/plan/isa.h"

#include <stddef.h>
#include <string.h>

#define CACHES                                                                                     \
    "glibc.cpu.x86_data_cache_size=0x8000:glibc.cpu.x86_shared_cache_size=0x100000:"               \
    "glibc.cpu.x86_non_temporal_threshold=0xc0000:"

/* For all levels; preferences by processor model are set to those of most models. */
#define COMMON                                                                                     \
    "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX512CD,-AVX512DQ,-AVX512ER,-AVX512PF,"       \
    "-AVX512F_Usable,-AVX512DQ_Usable,-FMA4,-FMA4_Usable,-RTM,-ERMS,-Prefer_ERMS,-Prefer_FSRM,"    \
    "-Prefer_No_VZEROUPPER,-Slow_BSF,-Slow_SSE4_2,-Fast_Copy_Backward,-Fast_Rep_String,"           \
    "Fast_Unaligned_Load,Fast_Unaligned_Copy,Prefer_PMINUB_for_stringop"

#define NO_V3                                                                                      \
    ",-AVX,-AVX_Usable,-AVX_Fast_Unaligned_Load,-AVX2,-AVX2_Usable,-FMA,-FMA_Usable,-BMI1,-BMI2,"  \
    "-LZCNT,-MOVBE"

#define NO_V2 ",-SSSE3,-SSE4_1,-SSE4_2,-POPCNT"

static const struct {
    const char *level, *tunables;
} levels[] = {
    {"x86-64", CACHES COMMON NO_V3 NO_V2},
    {"x86-64-v2", CACHES COMMON NO_V3},
    {"x86-64-v3", CACHES COMMON ",AVX_Fast_Unaligned_Load"},
};

static const char *const names[] = {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"};

int ti_isa_level(const char *text)
{
    for (int i = 0; i < 4; i++)
        if (strcmp(text, names[i]) == 0)
            return i + 1;
    return strcmp(text, "x86-64-v1") == 0;
}

const char *ti_isa_name(int level)
{
    return names[level - 1];
}

const char *ti_isa_tunables(const char *level)
{
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        if (strcmp(level, levels[i].level) == 0)
            return levels[i].tunables;
    return NULL;
}
