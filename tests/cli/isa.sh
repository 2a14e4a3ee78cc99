#!/bin/bash
# The tunables of --isa: on processors that differ, glibc executes the same.  What a
# processor has is taken away by tunables too, which is how glibc sees a lesser one.
set -u

o=$(realpath "${TI_BUILD:-build}")
cc=${CC:-gcc}

skip() { echo "skipped: $*"; exit 77; }
command -v valgrind >/dev/null || skip "valgrind is not installed"
[ -x "$o/libexec/valgrind/ticount-amd64-linux" ] || skip "ticount was not built"
getconf GNU_LIBC_VERSION >/dev/null 2>&1 || skip "not glibc"

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
failed=0
fail() { echo "FAILED: $*"; failed=1; }

# With a level: prints its tunables.  Else: calls what has several forms, and prints how
# many instructions that took.
cat >"$tmp/libc.c" <<'C'
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "acquire/plan/isa.h"
#include "minitrace/counters/counter.h"

static char a[1 << 21], b[1 << 21];
static wchar_t w[1000];

static size_t strings(size_t n)
{
    size_t sum = 0;

    memset(a, 'x', n);
    a[n] = 0;
    memcpy(b, a, n);
    memmove(b + 3, b, n);
    b[n + 3] = 0;
    sum += strlen(b) + strnlen(a, n) + (size_t)memcmp(a, b, n) + (strchr(a, 'y') != NULL) +
           (memchr(a, 'z', n) != NULL) + (size_t)(strrchr(a, 'x') - a) + (size_t)strcmp(a, b) +
           (size_t)strncmp(a, b, n) + (size_t)strcasecmp(a, b);
    if (n < 1000) {
        strcpy(b, a);
        strcat(b, a);
        strncpy(a, b, n);
        sum += strspn(a, "x") + strcspn(a, "y") + (strstr(a, "xy") != NULL);
        wmemset(w, L'x', n);
        sum += wcslen(w);
    }
    return sum;
}

int main(int argc, char **argv)
{
    struct ti_counter_request wish = {.choice = "valgrind"};
    struct ti_counter counter;
    struct ti_err err;
    volatile double x = 0.3;
    volatile size_t sum = 0;
    uint64_t start;

    if (argc > 1)
        return puts(ti_isa_tunables(argv[1])) < 0;
    if (ti_counter_open(&wish, &counter, &err) != TI_OK) {
        puts(err.text);
        return 1;
    }
    start = *counter.word;
    for (size_t n = 1; n < sizeof a - 64; n = n * 3 / 2 + 1)
        sum += strings(n);
    for (int i = 0; i < 100; i++)
        x = exp(x) / 3 + sin(x) + cos(x) + tan(x) + pow(x, 1.5) + atan(x) + floor(x) + rint(x) +
            log(x + 10) + fma(x, x, x) / 1e9;
    printf("%llu\n", (unsigned long long)(*counter.word - start));
    return 0;
}
C
"$cc" -std=c11 -D_GNU_SOURCE -O1 -fno-builtin -w -I. -Ilib -pthread -o "$tmp/libc" "$tmp/libc.c" \
    acquire/plan/isa.c minitrace/counters/counter*.c lib/common/err.c lib/common/fds.c -lm -ldl || exit 1

# count NODE [TUNABLES]: the instructions on a machine that is what NODE says
count() {
    local tunables=${2:-glibc.cpu.hwcaps=} caches

    caches=glibc.cpu.x86_shared_cache_size=0x$((1 + ${#1}))0000:glibc.cpu.x86_non_temporal_threshold=0x9000
    GLIBC_TUNABLES=$caches:${tunables/hwcaps=/hwcaps=$1,} VALGRIND_LIB=$o/libexec/valgrind \
        valgrind --command-line-only=yes --tool=ticount --vgdb=no "$tmp/libc"
}

no_avx2=-AVX2,-AVX2_Usable,-BMI2
no_v3=$no_avx2,-AVX,-AVX_Usable,-AVX_Fast_Unaligned_Load,-FMA,-FMA_Usable,-LZCNT,-MOVBE
no_v2=$no_v3,-SSSE3,-SSE4_1,-SSE4_2,-POPCNT
model=Slow_BSF,Prefer_No_VZEROUPPER,Prefer_ERMS,-Fast_Unaligned_Load

plain=
for level in x86-64 x86-64-v2 x86-64-v3; do
    tunables=$("$tmp/libc" "$level")
    counts=
    nodes=("" "$model")
    [ $level = x86-64-v3 ] || nodes+=("$no_v3")
    [ $level != x86-64 ] || nodes+=("$no_v2")
    for node in "${nodes[@]}"; do
        counts+="$(count "$node" "$tunables") "
        [ $level != x86-64 ] || plain+="$(count "$node") "
    done
    echo "$level: $counts"
    case $counts in *[!0-9\ ]*) fail "$counts" ;; esac
    [ "$(tr ' ' '\n' <<<"${counts% }" | sort -u | wc -l)" = 1 ] || fail "$level: counts differ"
done
echo "none: $plain"
[ "$(tr ' ' '\n' <<<"${plain% }" | sort -u | wc -l)" = 4 ] || fail 'without a level, the nodes do not differ'
[ $failed = 0 ] && echo ok
exit $failed
