#!/bin/bash
# An OAR job, by what one has of it: a file with a line for each core, and oarsh,
# which is ssh under another name.
# shellcheck source=tests/testbed/lib.bash
. tests/testbed/lib.bash
command -v mpirun >/dev/null || skip "there is no mpirun"

"$o/ti-mpicc" -O1 -std=gnu11 -I"$top" -o "$scratch/lu" "$top/examples/lu.c" "$top/examples/example.c" \
    -lm || fail "ti-mpicc"
bed_up --nodes 3 --share "$scratch"
cd "$scratch" || exit 1
mkdir bin
# shellcheck disable=SC2016  # for the shell that runs it
printf '#!/bin/sh\necho "$1" >>%s/by-oarsh\nexec ssh "$@"\n' "$scratch" >bin/oarsh
chmod +x bin/oarsh
printf 'n%s.site1\n' 1 1 3 3 2 2 >nodes
front env PATH="$scratch/bin:$PATH" OAR_JOB_ID=77 OAR_NODEFILE="$scratch/nodes" \
    "$o/ti-acquire" --np 12 --mem-per-rank 30M -c blocks ./lu S 3 >out 2>&1 </dev/null ||
    { fail "status $?"; cat out; }
grep -q 'on OAR job 77' out || { fail "where it runs"; cat out; }
grep -q '12 ranks: .*: verified' out || { fail "lu"; cat out; }
[ "$(sort -u by-oarsh | tr '\n' ' ')" = "n1.site1 n2.site1 n3.site1 " ] || fail "nodes: $(cat by-oarsh)"
"$o/ti-info" --verify lu.12.tib >verify 2>&1 || { fail "ti-info --verify"; cat verify; }
[ "$("$bed" ps)" = "" ] || fail "left: $("$bed" ps)"
rm by-oarsh
OAR_JOB_ID=78 OAR_NODEFILE=$scratch/none front "$o/ti-acquire" --np 2 -c blocks --dry-run ./lu S >out 2>&1 &&
    fail "a node file that is not there"
grep -q "cannot open '$scratch/none'" out || { fail "no file: what is said"; cat out; }
finish
