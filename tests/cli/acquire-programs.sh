#!/bin/bash
# ti-acquire: several programs in one run, "--np 2 ./a : --np 4 ./b".
# shellcheck source=tests/cli/acquire-lib.bash
. tests/cli/acquire-lib.bash
cp ../app ../ocean
cp ../app ../air

# Ranks of both in one world; the manifest and each trace say whose they are.
core=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//') # one core: folding is sure
run 0 -c cputime --pin "$core" --np 2 --keep -x SECRET=geheim ../ocean ok 0.1 : -np 3 ../air ok 0.1 0 its : --np=1 ../ocean ok 0.1
[ "$(cat ../out)" = "6 ranks are done" ] || fail "stdout: $(cat ../out)"
says err "plan for --np 2 ../ocean ok 0.1 : --np 3 ../air ok 0.1 0 its : --np 1 ../ocean ok 0.1"
says err "F-6: 6 ranks on 1 core"
says err "wrote 'ocean+air.6.tib'"
[ -f ocean+air.6.run/RUN.json ] || fail "no run directory ocean+air.6.run"
"$o/ti-info" ocean+air.6.tib >../info
says info "bundle of 6 ranks"
says info "programs     ranks 0-1: ../ocean ok 0.1"
says info "             ranks 2-4: ../air ok 0.1 0 its"
says info "             ranks 5: ../ocean ok 0.1"
for r in 0 1 5; do
    "$o/ti-info" ocean+air.6.tib --rank $r | grep -q '^command  *../ocean ok 0.1$' || fail "command of rank $r"
done
for r in 2 3 4; do
    "$o/ti-info" ocean+air.6.tib --rank $r | grep -q '^command  *../air ok 0.1 0 its$' || fail "command of rank $r"
done
unzip -p ocean+air.6.tib MANIFEST.json >manifest.json
json manifest.json 'programs.*.ranks=["0-1", "2-4", "5"]' np=6 'programs.1.command="../air ok 0.1 0 its"' || fail "programs"
grep -q geheim manifest.json && fail "a secret is recorded"
"$o/ti-info" --verify ocean+air.6.tib >/dev/null || fail "the bundle is not sound"
rm -r ocean+air.6.*

# The counter counts all of them: under valgrind, events and volumes are those of one program.
if [ -x "$o/examples/stencil" ] && command -v valgrind >/dev/null && [ -x "$o/libexec/valgrind/ticount-amd64-linux" ]; then
    cp "$o/examples/stencil" ../stencil
    run 0 -c valgrind --np 4 -o one.tib ../stencil 64 5
    run 0 -c valgrind --np 1 -o two.tib ../stencil 64 5 : --np 3 ../stencil 64 5
    "$o/ti-info" --compare one.tib two.tib >../compared || fail "$(cat ../compared)"
    grep -q "ticount" ../err || grep -q valgrind ../err || fail "not under valgrind"
else
    echo "without the counter valgrind"
fi

# Command lines that are refused before anything runs.
run 2 --np 2 ../ocean ok : -x A=1 ../air ok
says err "':' is followed by '-x', not by --np N PROGRAM"
run 2 --np 2 ../ocean ok :
says err "there is no program behind ':'"
run 2 --np 2 : --np 2 ../air
says err "there is no program before ':'"
run 2 --np 2 ../ocean : --np 2
says err "'--np' is followed by no program"
run 2 --np 2 ../ocean : --np none ../air
says err "--np must be a whole number from 1 to"
run 2 ../ocean : --np 2 ../air
says err "how many ranks of '../ocean'?"
run 2 --np 2 --pilot 2 ../ocean : --np 2 ../air
says err "--pilot runs one program with few ranks"
run 3 --np 2 ../ocean : --np 2 ../aire
says err "cannot find the program '../aire'"
run 3 --np 2 ../ocean : --np 2 /bin/true:
says err "cannot find the program '/bin/true:'"
[ -z "$(find . -mindepth 1 ! -name '*.tib' ! -name manifest.json)" ] || fail "left: $(ls -A)"

# One that crashes: not blamed on the first.
run 6 -c cputime --np 2 -o bad.tib ../ocean ok 0.1 : --np 1 ../air early
says err "'ocean+air'"
silent err "Try: mpirun"
finish
