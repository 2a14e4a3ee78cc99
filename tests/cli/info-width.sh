#!/bin/bash
# Tables fit the terminal: no line of ti-info is longer than it is wide, with numbers and names of
# every length; without a terminal nothing is rounded or cut.
# shellcheck source=tests/cli/trace-lib.bash
. tests/cli/trace-lib.bash
on_terminal=$OLDPWD/tests/cli/on_terminal.py

site=a-module-with-a-name-of-forty-characters
mktrace --np 40 --iterations 30 --volume 12345678901234 --times --sites $site big.run
mktrace --np 4 --iterations 3 --times small.run

# longest FILE: the length of its longest line
longest() { awk '{ n = length($0) > n ? length($0) : n } END { print n + 0 }' "$1"; }

for mode in --phases '--phases --all' '--phases --top 5' --imbalance '--imbalance --all' --traffic '--traffic --all' \
    --histogram; do
    for trace in big.run small.run; do
        # shellcheck disable=SC2086  # words are meant
        for width in 80 100 132; do
            run 0 ti-info $mode --width $width $trace
            [ "$(longest out)" -le $width ] || { fail "$mode $trace: wider than $width"; awk "length > $width" out; }
        done
        # shellcheck disable=SC2086
        run 0 ti-info $mode $trace
        cp out wide
        # shellcheck disable=SC2086
        run 0 ti-info $mode --width 0 $trace
        diff wide out || fail "$mode $trace: --width 0"
        # shellcheck disable=SC2086
        run 0 env COLUMNS=90 ti-info $mode $trace
        # shellcheck disable=SC2086
        run 0 env COLUMNS=1000 ti-info $mode --width 90 $trace
        [ "$(longest out)" -le 90 ] || fail "$mode $trace: --width against COLUMNS"
        cp out narrow
        # shellcheck disable=SC2086
        run 0 env COLUMNS=90 ti-info $mode $trace
        diff narrow out || fail "$mode $trace: COLUMNS"
    done
done

# The tables of the summary and of a rank, also with extra columns, and rates of call sites.
for trace in big.run small.run; do
    for width in 80 100 132; do
        for mode in '' '--rank 3'; do
            # shellcheck disable=SC2086  # words are meant
            run 0 ti-info $mode --width $width $trace
            sed -i '1,/^$/d' out
            grep -q '^operation ' out && grep -q '^ranks .*[0-9]$' out && [ "$(longest out)" -le $width ] ||
                { fail "$mode $trace: wider than $width"; awk "length > $width" out; }
        done
        run 0 ti-info --rates $trace.rates --width $width $trace
        grep -q '^site ' out && [ "$(longest out)" -le $width ] ||
            { fail "--rates $trace: wider than $width"; awk "length > $width" out; }
    done
done
run 0 ti-info --rates big.rates big.run
grep -q "^$site+0x1010 .* 33.7%" out || fail '--rates: all of a name without a terminal'

# What does not fit is rounded, or loses its middle; all digits are there where there is room.
run 0 ti-info --imbalance big.run
grep -qE ' [0-9,]{21,} ' out && grep -q " at $site+0x[0-9a-f]*$" out || fail 'all digits without a terminal'
run 0 ti-info --imbalance --width 80 big.run
grep -qE ' [0-9.]{5}P ' out && grep -qE 'loop of.*[.]{3}.*[+]0x[0-9a-f]*$' out || { fail 'rounded'; cat out; }
run 0 ti-info --phases small.run
[ "$(longest out)" -gt 80 ] || fail 'a nest is not as wide as it needs'

# A terminal is measured.
if command -v python3 >/dev/null && python3 -c 'import pty' 2>/dev/null; then
    for columns in 80 120; do
        python3 "$on_terminal" 0 raw lines /bin/sh -c "stty cols $columns; TERM=dumb exec ti-info --phases big.run 2>/dev/null" || fail 'on a terminal'
        [ "$(longest lines)" -le $columns ] && [ "$(longest lines)" -gt $((columns - 10)) ] ||
            fail "on a terminal of $columns: $(longest lines)"
    done
fi

# --top
run 0 ti-info --traffic --top 3 big.run
[ "$(grep -c ' message ' out)" = 3 ] || fail '--traffic --top'
run 0 ti-info --imbalance --top 2 big.run
[ "$(sed -n '/^phases/,/^positions/p' out | grep -c ' % ')" -le 6 ] && grep -q '^\.\.\. and [0-9]* further ones' out ||
    { fail '--imbalance --top'; cat out; }
run 2 ti-info --histogram --top 2 big.run
says err '--top is for --traffic, --phases, --imbalance and --compare, without --all'
run 2 ti-info --phases --all --top 2 big.run
run 2 ti-info --phases --top 0 big.run
run 2 ti-info --phases --width -1 big.run
exit $failed
