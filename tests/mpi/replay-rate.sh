#!/bin/bash
# ti-replay --rate: how long bursts take by the rates of a file, with both engines, on hosts of the
# reference speed and others; and what is refused.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
command -v smpirun >/dev/null || skip 'there is no smpirun'
tmp=$scratch o=$TI_BUILD
[ -x "$o/ti-smpi-replay" ] || skip 'ti-smpi-replay was not built'
cd "$tmp" || exit 1
replay() { "$o/ti-replay" --no-progress "$@" >out 2>err; }
clock_of() { sed -n 's/^clock at end: *\([0-9.]*\) s$/\1/p' out; }
# near FOUND EXPECTED TOLERANCE WORDS
near() {
    awk -v f="$1" -v e="$2" -v t="$3" 'BEGIN { d = f - e; exit !(f != "" && d <= t && -d <= t) }' ||
        { fail "$4: found '$1', expected '$2' within $3"; cat err; }
}

# ---- rates by hand, and their sum once more from the events ----

"$o/tests/mktrace" --np 1 alone
"$o/tests/mktrace" --np 4 --plain --iterations 20 --noise 5000 four
cat >hand.rates <<'END'
[rates]
unit = "instructions"
reference = 2.5G
[class 0]
rate = 1.3G
[class 1000]
rate = 3.7G
[site]
site = "app+0x1020"
rate = 123456789
END
sed '/^.site/,$d' hand.rates >classes.rates
# seconds_of TRACE RANK SITE: that its bursts take on hosts of the reference speed.
seconds_of() {
    "$o/ti-info" "$1" --rank "$2" --dump --call-sites | awk -v slow=" site=\"$3\"$" '
        /^[0-9]/ {
            rate = $1 >= 1000 ? 3.7e9 : 1.3e9
            if ($0 ~ slow) rate = 123456789
            sum += $1 / rate
        }
        END { printf "%.15f\n", sum }'
}
expected=$(seconds_of alone 0 'app.0x1020')
[ "$expected" != "$(seconds_of alone 0 none)" ] || fail 'no burst at the site'
half=$(awk "BEGIN { printf \"%.15f\", $expected / 2 }")
replay alone --speed 5Gf --keep fast.d
for engine in stock tiara; do
    # to half a unit of volume at the reference speed
    replay alone --engine $engine --rate hand.rates || fail "$engine: status $?"
    near "$(clock_of)" "$expected" 3e-10 "$engine"
    grep -qx 'rates:  *hand.rates, of hosts of 2.5 Gf' out || { fail 'does not say the rates'; cat out; }
    grep -q '^platform: .* 2.5 Gf,' out || { fail 'hosts are not of the reference speed'; cat out; }
    replay alone --engine $engine --rate hand.rates --speed 5Gf
    near "$(clock_of)" "$half" 3e-10 "$engine, --speed"
    replay alone --engine $engine --rate hand.rates --platform fast.d/platform.xml
    near "$(clock_of)" "$half" 3e-10 "$engine, --platform"
done

# The calibrated speed, too, is not taken where the rates say how fast hosts are.
printf '[host]\nspeed = 5G\n' >calibration.conf
replay alone --rate hand.rates --calibration calibration.conf
near "$(clock_of)" "$expected" 3e-10 --calibration

# Several ranks: each computes as long, and both engines simulate the same.  (A rank rounds each
# burst to whole instructions at 2.5G a second, but not their sum.)
# alike TRACE RATES: in both engines.
alike() {
    local stock
    stock=$(replay "$1" --engine stock --rate "$2" && clock_of)
    replay "$1" --engine tiara --rate "$2"
    [ -n "$stock" ] && [ "$stock" = "$(clock_of)" ] || fail "$1: stock '$stock', tiara '$(clock_of)'"
}
alike four classes.rates
replay four --engine stock --rate classes.rates --keep four.d
for rank in 0 1 2 3; do
    found=$(awk '$2 == "compute" { sum += $3 } END { printf "%.15f", sum / 2.5e9 }' "four.d/rank-00000$rank.txt")
    near "$found" "$(seconds_of four $rank none)" 3e-10 "rank $rank"
done

# smpirun by hand
replay four --rate classes.rates --keep hand.d && said=$(sed -n 1p out)
(cd hand.d && smpirun -np 4 -platform platform.xml -hostfile hostfile -no-privatize \
    --cfg=smpi/simulate-computation:no "$o/ti-smpi-replay" --rate ../classes.rates ../four) >out 2>&1
grep -qxF "$said" out || { fail "smpirun: not '$said'"; tail -n 4 out; }

# Several jobs have the rates of one file.
replay alone --rate hand.rates --copies 2 || fail "--copies: status $?"
near "$(clock_of)" "$expected" 1e-9 --copies

# The default reference is the rate of the first class; a name with blanks.
sed '/reference/d' hand.rates >'by hand.rates'
for engine in stock tiara; do
    replay alone --engine $engine --rate 'by hand.rates'
    near "$(clock_of)" "$expected" 5e-10 "$engine, no reference"
    replay alone --engine $engine --rate 'by hand.rates' --speed 2.6Gf
    near "$(clock_of)" "$half" 5e-10 "$engine, no reference, --speed"
done

# ---- sweeps ----

sed 's/3.7G/1.85G/' hand.rates >slow.rates
replay alone --rate slow.rates && slow=$(clock_of)
replay alone --sweep rate=hand.rates,slow.rates -o study || { fail sweep; cat err; }
sed 1d study/results.csv | cut -d, -f1,3 >found
replay alone --rate hand.rates && printf 'hand.rates,%s\nslow.rates,%s\n' "$(clock_of)" "$slow" |
    sed 's/0*$//' >expected
same expected found sweep
awk -v s="$slow" -v e="$expected" 'BEGIN { exit !(s > e + 1e-6) }' || fail "slow.rates: $slow"

# ---- from a run: all bursts together take as long as they did ----

export TIARA_QUIET=1
"$o/ti-acquire" --times -c cputime --np 4 -o times.tib "$examples/lu" S >out 2>&1 </dev/null ||
    { fail ti-acquire; cat out; }
"$o/ti-info" -q --rates lu.rates times.tib 2>err || fail 'ti-info --rates'
grep -q '^reference = ' lu.rates || fail 'no reference speed'
replay times.tib --rate lu.rates --engine stock --keep lu.d || { fail lu; cat err; }
reference=$(replay times.tib --rate lu.rates --json &&
    sed -n 's/.*"reference": "\([0-9.]*\)Gf".*/\1/p' out)
for rank in 0 1 2 3; do "$o/ti-info" times.tib --rank $rank --dump --call-sites; done >dump
# Rates have six digits.  A site whose bursts have no volume at all has no rate.
awk '/^[0-9]/ {
         ns = site = $0
         sub(/.* burst_ns=/, "", ns); sub(/ .*/, "", ns)
         sub(/.* site="/, "", site)
         time[site] += ns; volume[site] += $1
     }
     END { for (s in time) if (volume[s]) sum += time[s]; printf "%.9f\n", sum / 1e9 }' dump >expected
found=$(cat lu.d/rank-*.txt | awk -v r="$reference" '$2 == "compute" { sum += $3 } END { printf "%.9f", sum / r / 1e9 }')
alike times.tib lu.rates
near "$found" "$(cat expected)" "$(awk '{ print 1e-6 * $1 }' expected)" 'lu, all bursts'

# Sites of another program: a warning, and the classes.
sed 's/^site = "/&not-/' lu.rates >other.rates
replay times.tib --rate other.rates || fail 'other sites'
grep -qF "rank 0 of 'times.tib' has none of the call sites of 'other.rates'" err || { fail 'no warning of sites'; cat err; }
replay times.tib --rate lu.rates && grep -F 'call sites' err && fail 'a warning of sites'

# ---- what is refused ----

refused() { # STATUS TEXT OPTION...
    replay alone "${@:3}"
    [ $? -eq "$1" ] || fail "status is not $1: ${*:3}"
    grep -qF -- "$2" err || { fail "does not say '$2': ${*:3}"; cat err; }
}
refused 2 '--rate and --times both determine how long bursts take' --rate hand.rates --times
refused 2 '--rate and --no-compute both determine how long bursts take' --rate hand.rates --no-compute
refused 2 '--rate and --threads both determine how long bursts take' --rate hand.rates --threads longest
refused 4 "'nowhere.rates': No such file" --rate nowhere.rates
printf '[class 0]\nrate = fast\n' >bad.rates
refused 3 "bad.rates:2:8: rate is volume a second, such as 2.53G, not 'fast'" --rate bad.rates
printf '[class 0]\nrate = 1\n[class 9]\nrate = x\n[class 99]\nrate = y\n' >worse.rates
refused 3 'worse.rates:6:8: rate is' --rate worse.rates
unit="the rates of 'lu.rates' are in nanoseconds a second, but the volumes of rank 0 of 'alone' are in instructions"
refused 3 "$unit" --rate lu.rates
refused 3 "$unit" --rate lu.rates --engine stock
refused 3 "$unit" --rate lu.rates --lint
printf '[rates]\nreference = 1000P\n[class 0]\nrate = 1\n' >long.rates
refused 3 'takes too long at the rate 1 of ' --rate long.rates --engine stock
refused 3 'takes too long at the rate 1 of ' --rate long.rates --engine tiara
by_hand() { # TEXT OPTION...
    (cd hand.d && smpirun -np 4 -platform platform.xml -hostfile hostfile -no-privatize \
        --cfg=smpi/simulate-computation:no "$o/ti-smpi-replay" "${@:2}" ../four) >out 2>&1 &&
        fail "by hand: $*"
    grep -qF -- "$1" out || { fail "by hand does not say '$1'"; tail -n 4 out; }
}
by_hand "'nowhere.rates': No such file" --rate nowhere.rates
by_hand 'bad.rates:2:8: rate is' --rate ../bad.rates
by_hand 'are in nanoseconds a second, but the volumes of rank 0' --rate ../lu.rates
by_hand '--rate determines how long bursts take: --times' --rate ../hand.rates --times
finish
