#!/bin/bash
# The application sets a locale, has signal handlers on a stack of its own, closes descriptors of
# counters, or has hardly any: neither it nor its trace is harmed.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh

# runs NAME COUNTER ARGUMENT...: it ends well
runs() {
    local name=$1 counter=$2
    shift 2
    trace "$scratch/$name" 2 "$counter" "$built/foreign" "$@" >"$scratch/out" 2>&1 ||
        { fail "$name"; cat "$scratch/out"; }
}

runs alternate cputime alternate
"$TI_BUILD/ti-info" -q --verify "$scratch/alternate" || fail 'alternate: --verify'
[ "$(dump "$scratch/alternate" 0 | grep -c sendrecv)" = 20010 ] || fail 'alternate: events'

locale=$(locale -a 2>/dev/null | grep -m 1 '^\(de\|fr\|es\|ru\)_.*utf8')
if [ -z "$locale" ] && command -v localedef >/dev/null && [ -e /usr/share/i18n/locales/de_DE ]; then
    localedef -i de_DE -f UTF-8 "$scratch/de_DE.utf8" && export LOCPATH=$scratch && locale=de_DE.utf8
fi
if [ -n "$locale" ]; then
    runs locale cputime locale "$locale"
    "$TI_BUILD/ti-info" "$scratch/locale" --rank 0 | grep -q '^app_seconds  *0\.[3-9]' ||
        fail "locale: $("$TI_BUILD/ti-info" "$scratch/locale" --rank 0 | grep seconds)"
else
    echo 'not tried: a locale with a comma, which is not here'
fi

# Such an event is counted by the kernel everywhere where PAPI is.
if trace "$scratch/try" 1 papi:perf::CPU-CLOCK "$examples/is" >"$scratch/out" 2>&1 &&
    [ -e "$scratch/try/rank-000000.ti" ]; then
    runs counters papi:perf::CPU-CLOCK counters
    grep -q "cannot be read any more" "$scratch/out" || { fail 'counters: nothing is said'; cat "$scratch/out"; }
    if timeout 600 $mpirun -np 2 "$built/foreign" files >/dev/null 2>&1; then
        runs files auto files
        grep -q 'nothing is recorded: .*PAPI needs descriptors' "$scratch/out" ||
            { fail 'files: nothing is said'; cat "$scratch/out"; }
    fi
else
    echo "not tried: PAPI, which cannot count here: $(head -n 3 "$scratch/out")"
fi
finish
