#!/bin/bash
# What is misspelt on a command line: the message names what was meant, and only what is near.
# shellcheck source=tests/cli/trace-lib.bash
. tests/cli/trace-lib.bash
for p in ti-acquire ti-calibrate ti-convert ti-replay ti-skew; do
    [ -x "$o/$p" ] || { echo "$o/$p was not built"; exit 77; }
done
# silent TEXT: err does not hold it
silent() { ! grep -qF -- "$1" err || { fail "err says: $1"; cat err; }; }

# Every long option of every tool, without its third letter.
for tool in ti-acquire ti-calibrate ti-convert ti-gather ti-info ti-replay ti-skew; do
    run 0 "$tool" --help
    names=$(grep -oE '^ +(-., )?--[a-z-]{6,}' out | grep -oE -- '--[a-z-]+')
    [ -n "$names" ] || fail "$tool has no long options"
    for name in $names; do
        wrong=${name:0:4}${name:5}
        grep -qE -- "--$wrong" <<<"$names" && continue
        run 2 "$tool" "$wrong"
        says err "$tool: unknown option '$wrong'"
        says err "hint: did you mean '--"
        says err "try '$tool --help'"
    done
done

# Names of other words, values, one dash, several candidates, and what is near to nothing.
run 2 ti-acquire --polcy=memory x
says err "unknown option '--polcy=memory'"
says err "did you mean '--policy'?"
run 2 ti-gather -arity 4 x
says err "unknown option '-a'"
says err "did you mean '--arity'?"
run 2 ti-acquire --np 2 --no x
says err "option '--no' may be --no-dry-launch, --no-gather or --no-progress"
run 2 ti-acquire --json=x --np 2 x
says err "option '--json' takes no argument"
run 2 ti-info --tomography x
says err "unknown option '--tomography'"
silent "did you mean"

# Words to choose from.
run 2 ti-acquire --np 2 --policy memroy x
says err "did you mean 'memory'?"
run 2 ti-acquire --np 2 --threads caler x
says err "--threads must be auto, caller or sum, not 'caler'"
says err "did you mean 'caller'?"
run 2 ti-acquire --np 2 --isa x86_64-v3 x
says err "did you mean 'x86-64-v3'?"
run 2 ti-acquire --np 2 --transport telnet x
silent "did you mean"
run 2 ti-replay --topology fattree:2 x
says err "'fattree:2' is no topology; did you mean 'fat-tree'?"
run 2 ti-replay --placement roundrobin x
says err "did you mean 'round-robin'?"
run 2 ti-gather --assume heders=4 x
says err "did you mean 'headers'?"

# Files: near in their letters, with the same numbers.
mktrace --np 2 lu.2.run >/dev/null || exit 1
ti-gather -q --keep lu.2.run -o lu.2.tib 2>err || ti-gather -q lu.2.run -o lu.2.tib || exit 1
mkdir far
cp lu.2.tib far/lu.64.tib
run 4 ti-info lu.2.tb
says err "cannot open 'lu.2.tb': No such file or directory"
says err "did you mean 'lu.2.tib'?"
run 4 ti-info far/lu64.tib
says err "did you mean 'far/lu.64.tib'?"
run 4 ti-info far/lu.32.tib
silent "did you mean"
run 4 ti-info nowhere/lu.64.tib
silent "did you mean"
run 4 ti-gather lu.2.rum -o x.tib
says err "did you mean 'lu.2.run'?"
echo "[cluster a]" >grid.conf
run 4 ti-acquire --check-sites --sites gird.conf
says err "did you mean 'grid.conf'?"
cp "$(type -P true)" solver
run 3 ti-acquire --np 2 ./sovler
says err "cannot find the program './sovler'"
says err "did you mean './solver'?"

[ $failed -eq 0 ] && echo "ok"
exit $failed
