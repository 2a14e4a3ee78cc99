#!/bin/bash
# The pages of the tools name all their options, and those of the formats all
# operations, fields and metadata that there are.
set -u
command -v mandoc >/dev/null || { echo "there is no mandoc"; exit 77; }

o=${TI_BUILD:-build}
failed=0
fail() { echo "FAILED: $*"; failed=1; }

for tool in ti-acquire ti-calibrate ti-convert ti-extrapolate ti-gather ti-info ti-replay ti-report ti-skew; do
    [ -x "$o/$tool" ] || { echo "$o/$tool was not built"; exit 77; }
    for option in $("$o/$tool" --help | grep -oE '^ +(-., )?--[a-z-]+' | grep -oE -- '--[a-z-]+'); do
        sed 's/\\-/-/g' "man/$tool.1" | grep -qE -- "-${option#--}( |\$|[^a-z-])" ||
            fail "man/$tool.1 does not have $option"
    done
done
# (An MPI program cannot always run without smpirun: its options are in its source.)
for option in $(sed -n '/^static const struct ti_opt opts/,/TI_OPT_END/p' replay-bridge/replayer/main.c |
    sed '/^#else/,/^#endif/d' | grep -oE '^ *\{[^,]*, "[a-z-]+"' | grep -oE '"[a-z-]+"' | tr -d '"'); do
    sed 's/\\-/-/g' man/ti-smpi-replay.1 | grep -qE -- "--$option( |$|[^a-z-])" ||
        fail "man/ti-smpi-replay.1 does not have --$option"
done
for option in $(sed -n '/^static const struct ti_opt opts/,/TI_OPT_END/p' replay-bridge/replayer/main.c |
    sed '/^#if/,/^#else/d' | grep -oE '^ *\{[^,]*, "[a-z-]+"' | grep -oE '"[a-z-]+"' | tr -d '"') \
    wildcards times; do
    sed 's/\\-/-/g' man/ti-live-replay.1 | grep -qE -- "--$option( |$|[^a-z-])" ||
        fail "man/ti-live-replay.1 does not have --$option"
done
if [ -x "$o/ti-mpicc" ]; then
    for option in $("$o/ti-mpicc" --tiara-help | grep -oE -- '--tiara-[a-z]+'); do
        grep -qE -- "-${option#--}( |\$)" man/ti-mpicc.1 || fail "man/ti-mpicc.1 does not have $option"
    done
fi
# The words of lib/event/event.h: operations with their fields and vectors, `.It Cm
# send , recv` and a line; the fields, in the order of their bits; the rest somewhere.
[ -x "$o/tests/vocabulary" ] || { echo "$o/tests/vocabulary was not built"; exit 77; }
page=man/tiara-trace.5
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
"$o/tests/vocabulary" >"$tmp/words"
grep '^op ' "$tmp/words" | sort >"$tmp/expected"
sed -n '/^The operations, with their fields/,/^Reduction operations are/p' $page | awk '
    /^\.It Cm/ {
        names = substr($0, 8); getline fields
        if (fields == "\\(em") fields = ""
        n = split(names, name, " , ")
        for (i = 1; i <= n; i++) print "op " name[i] ":" (fields == "" ? "" : " ") fields
    }' | sort >"$tmp/found"
diff "$tmp/expected" "$tmp/found" >"$tmp/diff" ||
    { fail "$page: operations (< lib/event/event.h, > the page)"; cat "$tmp/diff"; }
grep '^field ' "$tmp/words" >"$tmp/expected"
sed -n '/^Fields are 64-bit integers/,/^\.El/s/^\.It Cm /field /p' $page >"$tmp/found"
diff "$tmp/expected" "$tmp/found" >"$tmp/diff" ||
    { fail "$page: fields, in order (< lib/event/event.h, > the page)"; cat "$tmp/diff"; }
while read -r kind name; do
    grep -qwF -- "$name" $page || fail "$page does not have $kind $name"
done < <(grep -E '^(mode|redop) ' "$tmp/words")
while read -r name; do
    grep -qwF -- "$name" man/tiara-trace.5 || fail "man/tiara-trace.5 does not have chunk $name"
done < <(sed -n '/^#define TI_CHUNKS/,/^$/p' lib/trace/trace.h | grep -oE 'X\([A-Z]+' | cut -c3-)
# How each operation is replayed.
tools/replay-table >"$tmp/expected"
sed -n '/^\.SH OPERATIONS/,/^\.PP/{/^\.TP/,$p}' man/ti-smpi-replay.1 | sed '/^\.PP/d' >"$tmp/found"
diff "$tmp/expected" "$tmp/found" >"$tmp/diff" ||
    { fail "man/ti-smpi-replay.1: the table (< tools/replay-table, > the page)"; cat "$tmp/diff"; }
# The keys of sites files and rate files: the page has those of the header, in that order.
while IFS=: read -r page kind from to; do
    grep "^$kind " "$tmp/words" >"$tmp/expected"
    sed -n "/^\.Ss $from/,/^\.Ss $to/s/^\.It Cm /$kind /p" "man/$page.5" >"$tmp/found"
    diff "$tmp/expected" "$tmp/found" >"$tmp/diff" ||
        { fail "man/$page.5: keys (< lib/config/${page#tiara-}.h, > the page)"; cat "$tmp/diff"; }
done <<'END'
tiara-sites:site:Sites:Clusters
tiara-sites:cluster:Clusters:The machine
tiara-sites:target:The machine:Hostlists
tiara-rates:rates:Rates of the file:Classes
tiara-rates:rate:Classes and sites:Other machines
END
for page in man/*.[1357]; do
    mandoc -T lint "$page" | grep -v 'referenced manual not found' && fail "$page"
done
exit $failed
