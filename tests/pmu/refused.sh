#!/bin/bash
# Where PAPI may not count, one line says so, and nothing is written.
# shellcheck source=tests/pmu/lib.sh
. tests/pmu/lib.sh
paranoid=/proc/sys/kernel/perf_event_paranoid
chmod 777 "$scratch"

# refused WHAT COUNTER WORDS...: the program runs, but is not traced, and rank 0 says
# all of the words.
refused() {
    local what=$1 counter=$2 word
    shift 2
    LAUNCH=${LAUNCH:-} trace "$scratch/run" 2 "$counter" "${PROGRAM:-$examples/ring}" >"$scratch/log" 2>&1 ||
        fail "$what: status $?"
    grep '^tiara: ' "$scratch/log" >"$scratch/said"
    [ "$(wc -l <"$scratch/said")" = 1 ] || fail "$what: $(cat "$scratch/log")"
    for word in 'nothing is recorded' "$@"; do
        grep -qF -e "$word" "$scratch/said" || fail "$what: no '$word' in: $(cat "$scratch/said")"
    done
    [ -z "$(ls "$scratch/run" 2>/dev/null)" ] || fail "$what: a trace was written"
    rm -rf "$scratch/run"
}

for level in 3 4; do
    echo $level >$paranoid
    LAUNCH='chroot --userspec=1000:1000 --skip-chdir /' \
        refused "paranoid $level" papi "kernel.perf_event_paranoid is $level," 'needs 2 or less'
    LAUNCH='chroot --userspec=1000:1000 --skip-chdir /' \
        refused "paranoid $level, auto" auto 'no exact counter' "kernel.perf_event_paranoid is $level,"
done
# root could, but PAPI does not try
echo 3 >$paranoid
refused 'paranoid 3, root' papi 'kernel.perf_event_paranoid is 3,' 'needs 2 or less'
echo 2 >$paranoid
LAUNCH='chroot --userspec=1000:1000 --skip-chdir /' \
    trace "$scratch/run" 2 auto "$examples/ring" >"$scratch/log" 2>&1 || fail "$(cat "$scratch/log")"
"$TI_BUILD/ti-info" "$scratch/run" 2>&1 | grep -q '^counter  *papi, PAPI_TOT_INS' || fail 'paranoid 2'
rm -rf "$scratch/run"

refused 'no such event' papi:PAPI_L3_TCM 'PAPI_L3_TCM'
# one that counts nothing in a loop of integers
refused 'an event that stands still' papi:PAPI_FP_INS 'PAPI_FP_INS' 'it grew by 0'
MPIRUN='-x TIARA_ALSO=PAPI_TOT_CYC,PAPI_L3_TCM' refused 'beside the volume' papi 'PAPI_L3_TCM'
figure "refused: $(cut -d: -f4- "$scratch/said")"
finish
