#!/bin/bash
# libtiara: what programs see of it (symbols, header, pkg-config, static and shared), and that it
# gives what ti-info prints.
top=$PWD
# shellcheck source=tests/cli/trace-lib.bash
. tests/cli/trace-lib.bash
sed 's/^ *//; s/#.*//' "$top/lib/api/tiara.symbols" | sort >wanted
nm -D --defined-only "$o/libtiara.so.1" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort >exported
diff wanted exported || fail "libtiara.so.1 does not export what tiara.symbols lists"
nm --defined-only "$o/libtiara.a" | awk '$2 ~ /^[A-Z]$/ { print $3 }' | sort -u >exported
diff wanted exported || fail "libtiara.a does not define what tiara.symbols lists"
grep -oE '\<tiara_[a-z_]+\(' "$top/lib/api/tiara.h" | tr -d '(' | sort -u | comm -13 - wanted >undeclared
[ ! -s undeclared ] || fail "tiara.h does not declare $(cat undeclared)"

read -ra cc <<<"${CC:-cc}"
cc+=(-Wall -Wextra -pedantic -Werror -I "$top/lib/api" ${SAN:+-fsanitize=$SAN})
echo '#include <tiara.h>' >h.c
"${cc[@]}" -std=c99 -fsyntax-only h.c || fail "the header is no C99"
if command -v g++ >/dev/null; then g++ -Wall -Wextra -pedantic -Werror -I "$top/lib/api" -fsyntax-only -x c++ h.c || fail "the header is no C++"; fi
"${cc[@]}" -std=c11 "$top/tests/api/use.c" -o use -L "$o" -ltiara -pthread || fail "shared"
read -ra static <<<"$(sed -n 's/^Libs.private: //p' "$o/tiara.pc") $(pkg-config --libs jansson)"
"${cc[@]}" -std=c11 "$top/examples/messages.c" -o messages "$o/libtiara.a" "${static[@]}" -lelf -ldl || fail "static"
export LD_LIBRARY_PATH=$o${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

mktrace --np 4 --iterations 50 a.run
mktrace --np 5 --iterations 3 --untraced --noise 7 b.run
run 0 ti-info --merge a.run -o a.ti
run 0 ti-info --merge b.run -o b.ti
ti-gather -q b.run || fail gather
for source in a.run a.ti b.run b.tib; do
    for rank in 0 3; do
        run 0 ti-info --rank $rank --dump $source
        ./use dump $source $rank >got 2>&1
        diff out got >/dev/null || fail "$source, rank $rank: $(diff out got | head -n 5)"
        tail -n +8 out >want
        ./use dump $source $rank 7 >got 2>&1
        diff want got >/dev/null || fail "$source, rank $rank, from event 7: $(diff want got | head -n 5)"
        ./use read $source $rank >got 2>&1
        [ "$(wc -l <got)" -eq "$(wc -l <out)" ] || fail "$source, rank $rank: records"
        diff <(sed -E 's/^([0-9]+) ([a-z_]+).*/\2 \1/' out) <(cut -d' ' -f1,2 got) || fail "records of $source"
        diff <(sed -nE 's/^[0-9]+ i?send .*peer=\+?(-?[0-9]+)\(([0-9]+)\).* bytes=([0-9]+).*/\1 \2 \3/p' out) \
            <(sed -nE 's/^i?send [0-9]+ ([0-9-]+ [0-9]+ [0-9]+)$/\1/p' got) || fail "peers of $source"
    done
    ./use all $source >all 2>&1
    grep -q 'DIFFER\|that is none\|no sense' all && fail "$source: $(cat all)"
    run 0 ti-info --traffic --json $source
    diff <(python3 -c 'import json; [print("pair", *p[:4]) for p in sorted(json.load(open("out"))["pairs"])]') \
        <(grep '^pair ' all | sort -k2n -k3n) || fail "traffic of $source"
    run 0 ti-info --histogram --json $source
    diff <(python3 -c 'import json; [print(c["number"], c["volume"]) for c in json.load(open("out"))["bursts"]["classes"] if c["number"]]') \
        <(sed -n 's/^class [0-9]* \([0-9]* [0-9]*\) .*/\1/p' all) || fail "histogram of $source"
    grep -q '^verified: 0 problems' all || fail "$source: $(grep problem all)"
    [ "$(./use threads $source)" = 'threads agree' ] || fail "threads over $source"
done
./use all a.run >all
grep -q '^group of ' all && fail 'groups of rank files'
./use all a.ti >all
grep -q '^group of [1-4] ranks' all || fail "no groups in a merged trace: $(cat all)"
grep -q ' field bytes of symbol [0-9]*: ' all || fail "no formula: $(cat all)"
run 0 ti-info --phases --json a.ti
diff <(python3 -c '
import json
def loops(nodes):
    for n in nodes:
        if "body" in n:
            yield n["loop"]
            yield from loops(n["body"])
for s in json.load(open("out"))["shapes"]:
    for name in loops(s["body"]):
        print(name)') <(sed -n "s/^phase [0-9]* [0-9]* loop '\(.*\)' [0-9]* events.*/\1/p" all) || fail "loops of a.ti"

# what is missing, cut off or damaged is a value
./use all nowhere >got 2>err
[ $? -eq 1 ] && [ ! -s err ] || fail "a file that is not there: $(cat err)"
grep -q "^status [34]: .*nowhere" got || fail "a file that is not there: $(cat got)"
rm a.run/rank-000001.ti
truncate -s -40 a.run/rank-000002.ti
printf '\377\377\377' | dd of=a.run/rank-000003.ti bs=1 seek=300 conv=notrunc 2>/dev/null
./use all a.run >got 2>err || fail "a damaged run ends the program"
[ ! -s err ] || fail "the library prints: $(cat err)"
for words in 'traffic of . of 4 ranks, 1 missing, . incomplete, 1 damaged' 'verified of . of 4 ranks, 1 missing' \
    'status [13]: '; do
    grep -qE "$words" got || fail "no '$words': $(cat got)"
done

# the example, linked statically
run 0 ti-info --json b.tib
./messages b.tib >got || fail "messages: $(cat got)"
[ "$(wc -l <got)" -eq 5 ] || fail "messages: $(cat got)"
./messages >got 2>err
[ $? -eq 2 ] && grep -q usage err || fail "messages without a trace"

exit $failed
