#!/bin/bash
# ti-acquire finds the counter by itself; the bundle goes home, where any machine's
# tools read it.
# shellcheck source=tests/pmu/lib.sh
. tests/pmu/lib.sh
unset "${!OMPI_MCA_@}"

bundle=$PMU_OUT/ring.4.tib
"$TI_BUILD/ti-acquire" --np 4 -o "$bundle" "$examples/ring" 3 1000 100000 >"$scratch/log" 2>&1 ||
    fail "ti-acquire: $(cat "$scratch/log")"
"$TI_BUILD/ti-info" "$bundle" >"$scratch/info" 2>&1 || fail "$(cat "$scratch/info")"
grep -q '^counter  *papi, PAPI_TOT_INS, in instructions, exact$' "$scratch/info" ||
    fail "counter: $(cat "$scratch/info" "$scratch/log")"
"$TI_BUILD/ti-info" -q --verify "$bundle" >"$scratch/info" 2>&1 || fail "$(cat "$scratch/info")"
figure "ti-acquire: $(grep -m 1 -i 'papi' "$scratch/log")"
finish
