#!/bin/bash
# ti-acquire: plan, run, bundle; names, options, results.
# shellcheck source=tests/cli/acquire-lib.bash
. tests/cli/acquire-lib.bash

a="-c cputime --pin $(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')" # one core: folding is sure
exact=false
command -v valgrind >/dev/null && [ -x "$o/libexec/valgrind/ticount-amd64-linux" ] && exact=true

# The plain thing.  What the program prints is all there is on stdout.
# shellcheck disable=SC2086  # words are meant
run 0 $a --np 4 ../app ok 0.1
[ "$(cat ../out)" = "4 ranks are done" ] || fail "stdout: $(cat ../out)"
says err "F-4: 4 ranks on 1 core"
says err "not measured"
silent err "pilot"
says err "wrote 'app.4.tib'"
if [ -x "$o/ti-replay" ]; then says err 'it can be replayed: "ti-replay app.4.tib"'; fi
clean
[ -x "$o/ti-info" ] && { "$o/ti-info" --verify app.4.tib >/dev/null || fail "the bundle is bad"; }
holds app.4.tib

# mpirun's spelling, names of one's own, a program that goes elsewhere.
# shellcheck disable=SC2086
run 0 $a -q -np 3 -o x.tib --trace-dir d --keep ../app cwd
[ "$(cat ../out)" = "3 ranks are done" ] || fail "stdout: $(cat ../out)"
[ "$(ls d)" = "$(printf 'RUN.json\nrank-00000%d.ti\n' 0 1 2 | sort -u)" ] || fail "d: $(ls d)"
grep -q '"state": "complete"' d/RUN.json || fail "RUN.json: $(cat d/RUN.json)"
holds x.tib d

# A bundle of merged ranks, as ti-gather makes it.
run 2 --np 2 --merge none --volumes exact ../app ok
says err "--volumes and --extras are not for --merge none"
run 2 --np 2 --merge root --extras bound:60% ../app ok
says err "--extras is exact, stats, or bound:N%"
# shellcheck disable=SC2086
run 0 $a --np 3 --times --trace-dir m.run --keep --merge root --volumes bound:1% --extras exact -o m.tib ../app ok 0.1
"$o/ti-gather" -q --merge root --volumes bound:1% --extras exact m.run -o again.tib || fail "ti-gather"
cmp <(unzip -p m.tib ranks.ti) <(unzip -p again.tib ranks.ti) || fail "--merge is not passed on"
rm -r m.tib m.run again.tib

# Words that may be secret: the values of -x, and arguments that are named.
# shellcheck disable=SC2086
{
    run 0 $a --np 2 -x TOKEN=geheim -x MINE --redact '--password=*' --redact verborgen --keep -o x.tib \
        ../app ok 0.1 0 --password=geheim verborgen
    grep -a -r -e geheim -e verborgen . && fail "secrets are recorded"
    for r in 0 1; do "$o/ti-info" x.tib --rank $r; done | grep -e geheim -e verborgen && fail "secrets are in a trace"
    unzip -p x.tib MANIFEST.json | grep -e geheim -e verborgen && fail "secrets are in the manifest"
    [ "$(stat -c %a app.2.run/RUN.json)" = 600 ] || fail "RUN.json: mode $(stat -c %a app.2.run/RUN.json)"
    "$o/ti-info" x.tib | grep -q '^command .* ok 0.1 0 .*redacted.* .*redacted' || fail "command: $("$o/ti-info" x.tib)"
    "$o/ti-info" x.tib --rank 0 | grep -q '^command .*ok 0.1 0 .redacted. .redacted.' || fail "command of a rank"
    unzip -p x.tib MANIFEST.json | tr -d ' \n' | grep -q '"-x","TOKEN","-x","MINE"' || fail "names of -x"
    holds app.2.run x.tib
    run 0 $a --np 2 -x TOKEN=geheim --record-environment -o x.tib ../app ok 0.1
    unzip -p x.tib MANIFEST.json | grep -q TOKEN=geheim || fail "--record-environment"
    holds x.tib
}

# Whose work counts is in the plan, the manifest and the traces.
for whose in caller sum; do
    # shellcheck disable=SC2086
    run 0 $a --np 2 --threads $whose -o x.tib ../app ok 0.1
    unzip -p x.tib MANIFEST.json | grep -q "\"threads\": *\"$whose\"" || fail "$whose: the manifest"
    unzip -p x.tib MANIFEST.json | grep -q '"estimate": *true' || fail "$whose: no estimate"
    says err 'nanoseconds, an estimate;'
    "$o/ti-info" --rank 1 x.tib | grep -q "^threads  *$whose$" || fail "$whose: the trace"
    said=caller
    "$o/ti-info" x.tib | grep -q '^counter .* of all threads, an estimate$' && said=sum
    [ $said = $whose ] || fail "ti-info says $said, not $whose"
    rm x.tib
done
# shellcheck disable=SC2086
{
    run 0 $a --np 2 --threads sum --dry-run --mem-per-rank 10M ../app
    says out "an estimate, of all threads"
    run 2 $a --np 2 --threads all ../app
    says err "ti-acquire: --threads must be auto, caller or sum, not 'all'"
}
# Of a program with OpenMP, all threads by default; else what they did is told to be missing.
# shellcheck disable=SC2086
if [ -x "$o/examples/hybrid" ]; then
    export OMP_NUM_THREADS=3
    run 0 $a --np 2 --target-ranks-per-node 1 -o x.tib "$o/examples/hybrid" 500000
    says err "uses OpenMP: volumes are of all threads"
    "$o/ti-info" x.tib | grep -q '^counter .* of all threads' || fail "OpenMP: not of all threads"
    "$o/ti-info" x.tib | grep -q '^CAVEAT' && fail "OpenMP: $("$o/ti-info" x.tib | grep CAVEAT)"
    rm x.tib
    run 0 $a --np 2 --threads caller -o x.tib "$o/examples/hybrid" 500000
    says err "threads that do not call MPI took"
    says err "in 2 of 2 ranks"
    says err "the program asked which ranks share a node"
    "$o/ti-info" x.tib | grep -q '^CAVEAT  *threads that do not call MPI took' || fail "ti-info on threads"
    "$o/ti-info" --json x.tib | grep -q '"threads that do not call MPI took' || fail "ti-info --json"
    "$o/ti-replay" --lint x.tib 2>&1 | grep -q 'warning: threads that do not' || fail "ti-replay on threads"
    rm x.tib
    OMP_NUM_THREADS=1 run 0 $a --np 2 --target-ranks-per-node 2 -o x.tib "$o/examples/hybrid"
    silent err OpenMP
    run 0 $a --np 2 -x OMP_NUM_THREADS=1 --target-ranks-per-node 2 -o x.tib --force "$o/examples/hybrid"
    silent err OpenMP
    rm x.tib
    unset OMP_NUM_THREADS
    run 2 $a --np 2 --target-ranks-per-node 0 ../app
fi
holds ""
holds ""

# Extra columns, which the environment does not decide.
# shellcheck disable=SC2086
{
    TIARA_TIMES=0 TIARA_ALSO=perf::NOTHING run 0 $a --np 2 --times -o x.tib ../app ok 0.1
    says err '  also      durations'
    unzip -p x.tib MANIFEST.json | grep -q '"times": *true' || fail "--times: the manifest"
    "$o/ti-info" --rank 1 x.tib | grep -q '^extra  *burst_ns:ns call_ns:ns$' || fail "--times: the trace"
    rm x.tib
    run 2 $a --np 2 -x TIARA_TIMES=1 ../app
    says err 'TIARA_TIMES is set by ti-acquire'
    run 3 $a --np 2 --also perf::NOTHING ../app
    says err "perf::NOTHING"
    run 2 $a --np 2 --also '' ../app
    if "$o/ti-acquire" $a --np 2 --also perf::PAGE-FAULTS --dry-run --mem-per-rank 10M ../app \
        >../out 2>../err; then
        run 0 $a --np 2 --times --also perf::PAGE-FAULTS -o x.tib ../app ok 0.1
        unzip -p x.tib MANIFEST.json | grep -q '"also": *"perf::PAGE-FAULTS"' || fail "--also: the manifest"
        "$o/ti-info" x.tib | grep -qE '^ +perf::PAGE-FAULTS [0-9,]+ events$' || fail "--also: the trace"
        rm x.tib
    else
        says err PAPI
    fi
}
holds ""

# No bundle; a run is not written over, unless asked to; files of others stay.
# shellcheck disable=SC2086
{
    run 0 $a -q --np 2 --no-gather ../app
    [ -f app.2.run/rank-000001.ti ] || fail "no trace"
    run 3 $a --np 2 ../app
    says err "the run directory 'app.2.run' is not empty"
    touch app.2.run/notes
    "$o/ti-info" -q --merge app.2.run -o app.2.run/ranks.ti || fail "no merged trace"
    run 0 $a --force -q --np 2 ../app
    [ "$(ls app.2.run)" = notes ] || fail "left: $(ls app.2.run)"
    run 4 $a --np 2 ../app
    says err "'app.2.tib' exists"
    run 0 $a --force -q --np 2 --mem-per-rank 10M ../app
    # A dry run is not kept from its plan by what is there.
    run 0 $a --np 2 --dry-run ../app
    says out "plan for ../app"
    says err "'app.2.tib' exists: a run would be refused"
    says err "'app.2.run' is not empty: a run would be refused"
}
holds app.2.tib app.2.run

# A dry run runs nothing and leaves nothing.
# shellcheck disable=SC2086
{
    run 0 $a --np 64 --dry-run --mem-per-rank 10M ../app
    says out "F-64: 64 ranks on 1 core"
    says out "656.0 MiB needed (10.2 MiB a rank)"
    joined says "chrt -i 0 ../app"
    silent out TIARA_LINGER
    run 0 $a --np 300 --dry-run --mem-per-rank 1M ../app
    joined says "-x TIARA_LINGER=2 "
    run 0 $a --np 300 --dry-run --mem-per-rank 1M -x TIARA_LINGER=20 ../app
    joined says "-x TIARA_LINGER=20 "
    joined silent "-x TIARA_LINGER=2 "
    run 0 $a --np 1 --dry-run --json ../app
    says out '"mode": "R"'
}
holds ""

# JSON on stdout, the program's output on stderr then.
# shellcheck disable=SC2086
run 0 $a --json --np 2 ../app ok 0.1
head -c 1 ../out | grep -q '{' || fail "stdout does not begin with JSON"
command -v python3 >/dev/null && { python3 -m json.tool <../out >/dev/null || fail "no JSON"; }
says out '"bundle": "app.2.tib"'
says out '"state": "complete"'
says out '"name": "application"'
says err "2 ranks are done"
holds app.2.tib

# Variables and settings go where they belong.
# shellcheck disable=SC2016  # for the script to expand
printf '#!/bin/sh\necho "$OMPI_COMM_WORLD_RANK:$FOO:$LD_BIND_NOW:${LD_PRELOAD##*/}" >>vars\nread -r l; echo "$l"\nexec ../app ok 0.1\n' >script
chmod +x script
echo hello >input
# shellcheck disable=SC2086
"$o/ti-acquire" $a -q --np 2 -x FOO=a\ b -x LD_BIND_NOW= ./script -- --tag-output <input >../out 2>../err ||
    fail "status $?: $(cat ../err)"
says err "cannot tell whether './script' is an MPI program"
grep -qx '\[1,0]<stdout>: \?hello' ../out || fail "the first rank does not say hello: $(cat ../out)"
says out "2 ranks are done"
[ "$(grep libminitrace.so vars | sort)" = "$(printf '%d:a b::libminitrace.so\n' 0 1)" ] ||
    fail "variables: $(cat vars)"
holds script script.2.tib input vars

# Names with blanks; a directory whose name is too long for Open MPI.
deep=$(printf 'a b%.0s' $(seq 30))
mkdir "$deep"
cp ../app "$deep/my app"
(cd "$deep" && "$o/ti-acquire" -q -c cputime --np 2 "./my app" ok 0.1 >/dev/null 2>../../err </dev/null) ||
    fail "$(cat ../err)"
[ -f "$deep/my app.2.tib" ] || fail "$(ls "$deep")"
clean
holds "$deep"

# Counting exactly, what counts is chosen.
if $exact; then
    run 0 --np 3 --mem-per-rank 10M ../app ok
    grep -qE 'counter   (papi|valgrind): .*, exact' ../err || fail "counter: $(cat ../err)"
    run 0 -q -c valgrind --np 3 --mem-per-rank 10M -o v.tib ../app ok
    silent err "warning"
    holds app.3.tib v.tib
fi

# Many ranks a core may sleep longer, few may not.
printf '#!/bin/sh\necho "slack $(cat /proc/self/timerslack_ns)"\nexec ../app ok\n' >../sleepy
chmod +x ../sleepy
for np in 4 16; do
    # shellcheck disable=SC2086
    run 0 $a -q --np $np --mem-per-rank 10M --force -o s.tib ../sleepy
    [ $np = 16 ] && want=50000000 || want=50000
    [ "$(grep -c "^slack $want$" ../out)" = $np ] || { fail "not $np ranks with slack $want"; cat ../out; }
done
holds s.tib

# Calls that are not traced are told of, added up over the ranks.
# shellcheck disable=SC2086
run 0 $a --np 2 --mem-per-rank 10M ../app port
says err "ti-acquire: not traced: "
grep -qE 'MPI_Open_port \(4 calls\).*; ti-replay will refuse this trace' ../err || fail "$(cat ../err)"
holds app.2.tib

# The page names all options.
for option in $("$o/ti-acquire" --help | grep -oE '^ +(-., )?--[a-z-]+' | grep -oE -- '--[a-z-]+'); do
    grep -q -- "^\.It Fl .*-${option#--}\( \|\$\)" "$OLDPWD/man/ti-acquire.1" ||
        fail "man/ti-acquire.1 does not have $option"
done
finish
