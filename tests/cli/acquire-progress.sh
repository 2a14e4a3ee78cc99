#!/bin/bash
# Objects of --progress json by ti-acquire and ti-skew: none stands in a line of the program's, and
# a former run tells how long this one takes.  acquire-terminal.sh is about the line.
# tests/run: waits
# shellcheck source=tests/cli/acquire-lib.bash
. tests/cli/acquire-lib.bash
command -v python3 >/dev/null || skip 'there is no python3'

objects() { python3 -IBS "$top/tests/cli/progress_checks.py" "$@" || failed=1; }
# steps LINE...: the steps of which ../err has objects
steps() {
    objects steps ../err >../got
    printf '%s\n' "$@" | cmp -s ../got - || { fail "other steps: $*"; cat ../got ../err; }
}
p="--progress json --pilot no -c cputime"

# The program ends lines late, on the stream of which $1 is the number.  Both are one file here.
cat >../talks <<'END'
#!/bin/sh
for i in 1 2 3; do
    printf 'begin %s' $i >&$1
    sleep 0.7
    echo " end $i" >&$1
done
../app ok
printf 'the last line' >&$1
END
chmod +x ../talks
for stream in 1 2; do
    # shellcheck disable=SC2086  # words are meant
    "$o/ti-acquire" $p --np 1 ../talks $stream >../err 2>&1 </dev/null || fail 'the run failed'
    for line in 'begin 1 end 1' 'begin 3 end 3' 'the last line'; do
        grep -qxF "$line" ../err || { fail "not a line of its own: $line"; cat ../err; }
    done
    bytes=$(objects steps ../err | sed -n '1s/.* of \([0-9]*\) bytes$/\1/p')
    steps "ti-acquire running: $bytes of $bytes bytes" 'ti-gather checking: 1 of 1 ranks' \
        "ti-gather merging: $bytes of $bytes bytes"
    find . -mindepth 1 -delete
done

# Where they go elsewhere, the program has ti-acquire's own descriptors, and they have no objects.
# shellcheck disable=SC2086
run 0 $p -q --np 2 --no-gather ../talks 1
says out 'begin 1 end 1'
silent out progress
find . -mindepth 1 -delete

# A former run in a folder beside the new one, said to have taken 1000 s.
run 0 --pilot no -c cputime --np 2 --no-gather --trace-dir app.former ../app ok
python3 - <<'END'
import json
with open("app.former/RUN.json") as file:
    run = json.load(file)
for step in run["steps"]:
    if step["name"] == "application":
        step["seconds"] = 1000
with open("app.former/RUN.json", "w") as file:
    json.dump(run, file)
END
of=$(cat app.former/rank-*.ti | wc -c)
# shellcheck disable=SC2086
run 0 $p --np 2 --no-gather ../app ok
objects left ../err ti-acquire running >../left
head -n 1 ../left | awk -v of="$of" '$1 <= 0 || $1 > 1000 || $2 != of { exit 1 }' ||
    { fail "it is not what the former run took and wrote, $of"; cat ../left; }
tail -n 1 ../left | grep -q '^0' || { fail 'the last object is not complete'; cat ../left; }
rm -r app.2.run
# shellcheck disable=SC2086
run 0 $p --np 2 --no-gather ../app ok 0
objects left ../err ti-acquire running >../left
head -n 1 ../left | grep -qx '? ?' || { fail 'a run with other arguments tells the end'; cat ../left; }
find . -mindepth 1 -delete

# A run that fails has no last object.
# shellcheck disable=SC2086
run 6 $p --np 2 --no-gather ../app status
objects steps ../err >../got
grep -q '^ti-acquire running: .*, not completed$' ../got || { fail 'a failed run is complete'; cat ../got; }
find . -mindepth 1 -delete

if [ -x "$o/ti-skew" ]; then
    "$o/ti-skew" -c cputime --np 2 --runs 2 --progress json ../app ok >../out 2>../err </dev/null ||
        { fail 'ti-skew'; cat ../err; }
    steps "$(sed -n 's/.*"of":\([0-9]*\),"unit":"runs".*/ti-skew measuring: \1 of \1 runs/p' ../err | tail -n 1)"
fi
clean
finish
