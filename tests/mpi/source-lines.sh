#!/bin/bash
# ti-info names call sites by function, file and line: of programs in C and Fortran, of one that was
# compiled anew, of stripped ones, by debug information of other folders, and from damaged files.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
"$TI_BUILD/ti-info" --help | grep -q 'without libdw' && skip 'ti-info was built without libdw'
command -v objcopy >/dev/null || skip 'there is no objcopy'
readelf -S "$examples/ring" | grep -q '\.debug_info' || skip 'the examples have no debug information'
source=$PWD/examples
cp "$examples"/{ring,lu} "$scratch"
for p in ring_mpifh ring_usempi ring_f08; do
    [ -x "$examples/$p" ] && cp "$examples/$p" "$scratch"
done
cd "$scratch" || exit 1
export TIARA_QUIET=1

# lines OPTION...: "call function base:line" of the calls of rank 0 of ring.run, each once.
lines() {
    dump ring.run 0 --no-volumes --call-sites "$@" 2>err | awk '
        / function=/ {
            call = $1; f = l = $0
            sub(/.* function="/, ""); sub(/".*/, "")
            if (!sub(/.* file="/, "", f)) f = ""
            sub(/".*/, "", f); sub(/.*\//, "", f)
            if (!sub(/.* line=/, "", l)) l = ""
            sub(/ .*/, "", l)
            print call, $0, f (l == "" ? "" : ":") l
        }' | sort -u >found
}
# of FILE FUNCTION PATTERN CALL: the line of a source file with the first call.
of() { echo "$4 $2 $1:$(grep -n "$3" "$source/$1" | head -n 1 | cut -d: -f1)"; }

trace ring.run 2 cputime ./ring 2 100 1000 >log 2>&1 || { fail ring; cat log; }
lines
cp found whole
{ of ring.c main 'MPI_Finalize(' finalize; of ring.c main 'MPI_Recv(.*np - 1' recv
  of ring.c main 'MPI_Send(.*, 1, 0' send; } >expected
same expected found 'ring in C'
[ -s err ] && { fail 'ring in C: warnings'; cat err; }
[ "$(dump ring.run 0 --call-sites | grep -c ' site="ring+0x[0-9a-f]* \[[0-9a-f]*\]"$')" -ge 5 ] ||
    fail 'the call site is not last'

while read -r program suffix; do
    [ -x "$program" ] || continue
    rm -rf other.run
    trace other.run 2 cputime "./$program" 2 100 1000 >log 2>&1 || { fail "$program"; cat log; }
    dump other.run 0 --call-sites >dump
    for call in send recv; do
        line=$(grep -n -i "^ *call mpi_$call(" "$source/$program.$suffix" | head -n 1 | cut -d: -f1)
        grep " $call " dump | head -n 1 | grep -qE " function=\"ring\" file=\"[^\"]*$program\\.$suffix\" line=($line|$((line + 1))) " ||
            { fail "$program: $call of line $line"; grep " $call " dump; }
    done
done <<'END'
ring_mpifh f
ring_usempi f90
ring_f08 f90
END

# In the table of rates, and as JSON; the other keys are as before.
MPIRUN='-x TIARA_TIMES=1' trace lu.run 2 cputime ./lu S 2 >log 2>&1 || { fail lu; cat log; }
"$TI_BUILD/ti-info" --rates lu.rates lu.run >out 2>err
line=$(sed -n '/^static void receive_rim/,/^}/{/MPI_Recv(/=}' "$source/lu.c")
grep -q "  receive_rim lu.c:$line$" out || { fail "no line $line in the table of rates"; cat out; }
"$TI_BUILD/ti-info" --rates lu.rates --json lu.run >out 2>err
python3 - "$source/lu.c" out <<'PY' || fail 'rates as JSON'
import json, os, sys
source = open(sys.argv[1]).read().split('\n')
sites = [s for s in json.load(open(sys.argv[2]))['sites'] if s['file'] and s['file'].endswith('lu.c')]
assert len({s['function'] for s in sites}) >= 4, sites
for s in sites:
    assert list(s)[:4] == ['site', 'function', 'file', 'line'], s
    # (The last call of a function may be a jump: the call site is then in its caller.)
    assert any('MPI_' in line or 'send_rim(' in line for line in source[s['line'] - 1:s['line'] + 2]), s
PY

# A stripped program has functions only, or nothing; the debug information may be elsewhere.
mv ring full
strip --strip-debug -o ring full
lines
grep -qxE 'send main\+0x[0-9a-f]+ ' found || { fail 'symbols only'; cat found; }
strip -o ring full
lines
[ -s found ] && { fail 'a stripped program has functions'; cat found; }
# hints: all that was said is that the symbols of the program were not found.
hints() {
    [ "$(head -n 1 err)" = "ti-info: warning: no symbols of 'ring' were found: call sites have no source lines" ] &&
        grep -q '^hint: --debug-dir DIR ' err && [ "$(wc -l <err)" -eq 2 ] || { fail "$1: the hint"; cat err; }
}
hints 'a stripped program'
id=$(readelf -n full | sed -n 's/.*Build ID: //p')
mkdir -p "debug/.build-id/${id:0:2}" moved nothing
objcopy --only-keep-debug full "debug/.build-id/${id:0:2}/${id:2}.debug"
lines --debug-dir nothing:debug
same whole found '--debug-dir, by build-id'
mv ring elsewhere
lines
[ -s found ] && fail 'a program that is not there has functions'
hints 'a program that is not there'
"$TI_BUILD/ti-info" -q --dump --call-sites --rank 0 ring.run >out 2>err
[ -s err ] && { fail 'a hint with -q'; cat err; }
"$TI_BUILD/ti-info" --dump --rank 0 ring.run >out 2>err
[ -s err ] && { fail 'a hint without call sites'; cat err; }
cp full moved/ring
lines --debug-dir nothing:moved
same whole found '--debug-dir, by name'
mv moved/ring moved/ring.debug
lines --debug-dir moved/
same whole found '--debug-dir, by name.debug'

# Compiled anew.
cp lu ring
lines
[ -s found ] && { fail 'lines of another build'; cat found; }
grep -q "warning: 'ring' was compiled anew since it was traced\|warning: './ring' was compiled anew" err ||
    { fail 'no warning of another build'; cat err; }
[ "$(grep -c warning: err)" -eq 1 ] || { fail 'warnings of another build'; cat err; }
lines --debug-dir debug
same whole found 'compiled anew, but debug information is there'
[ -s err ] && { fail 'debug information is there: warnings'; cat err; }

# A file that is none, and damaged ones, harm nothing.
rm ring
mkfifo ring
"$TI_BUILD/ti-info" -q --dump --call-sites --rank 0 ring.run >out 2>err || fail "a FIFO: status $?"
rm ring
mkdir ring
lines
[ -s found ] && fail 'a folder'
rmdir ring
ln -s /dev/zero ring
"$TI_BUILD/ti-info" -q --dump --call-sites --rank 0 ring.run >out 2>err || fail "a device: status $?"
rm ring
cat >damage.py <<'PY'
import random, subprocess, sys
whole = open('full', 'rb').read()
seed = random.randrange(1 << 32)
random.seed(seed)
for i in range(120):
    data = bytearray(whole)
    if i % 4 == 0:
        data = data[:random.randrange(len(data))]
    elif i % 4 == 1:  # headers of sections
        for _ in range(20):
            data[random.randrange(len(data) - 3000, len(data))] = random.randrange(256)
    else:
        for _ in range(300):
            data[random.randrange(0x1000, len(data))] = random.randrange(256)
    open('ring', 'wb').write(data)
    done = subprocess.run([sys.argv[1], '--dump', '--call-sites', '--rank', '0', 'ring.run'], timeout=60,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if done.returncode:
        sys.exit(f'seed {seed}, file {i}: status {done.returncode}')
PY
python3 damage.py "$TI_BUILD/ti-info" || fail 'damaged files'
finish
