#!/bin/bash
# Progress of ti-info, ti-gather and ti-convert: a line on a terminal, objects for scripts, nothing
# elsewhere.
# shellcheck source=tests/cli/trace-lib.bash
. tests/cli/trace-lib.bash
command -v python3 >/dev/null || { echo 'there is no python3'; exit 77; }

mktrace --np 4 --plain four || exit 1
run 0 ti-gather -q four -o four.tib --merge none

# steps LINE...: the steps of which err has objects
steps() {
    python3 -IBS "$top/tests/cli/progress_checks.py" steps err >got || failed=1
    printf '%s\n' "$@" | cmp -s got - || { fail "other steps: $*"; cat got err; }
}
bytes=$(cat four/rank-*.ti | wc -c)
run 0 ti-gather -q --progress json four -o all.tib
steps 'ti-gather checking: 4 of 4 ranks' "ti-gather merging: $bytes of $bytes bytes"
run 0 ti-info --progress=json --verify four.tib
steps 'ti-info checking: 4 of 4 ranks'
run 0 ti-info --progress json --merge four.tib -o merged.tib
steps 'ti-info merging: 4 of 4 ranks'
run 0 ti-info --progress json --split merged.tib -o split
steps 'ti-info writing: 4 of 4 ranks'
run 0 ti-info --progress json --compare four.tib merged.tib
steps 'ti-info comparing: 4 of 4 ranks'
run 0 ti-info --progress json --traffic four.tib
steps 'ti-info reading: 4 of 4 ranks'
if [ -x "$o/ti-convert" ]; then
    run 0 ti-convert --progress json --to goal --speed 1Gf four.tib -o four.goal
    steps 'ti-convert checking: 4 of 4 ranks' 'ti-convert writing: 4 of 4 ranks'
fi
# of a damaged trace, the step has no last object
cp -r four damaged
rm damaged/rank-000002.ti
head -c 100 four/rank-000003.ti >damaged/rank-000003.ti
ti-info --progress json --merge damaged -o no.tib >out 2>err && fail 'a damaged trace was merged'
grep '"left_s":0.000' err && fail 'a step that failed is complete'

# No terminal: nothing, whatever was asked for.
for form in '' auto line none; do
    run 0 ti-info ${form:+--progress "$form"} --verify four.tib
    [ -s err ] && { fail "--progress $form writes where there is no terminal"; cat -v err; }
done
run 2 ti-info --progress xml --verify four.tib
says err "--progress"

# On a terminal: the line is there, cut to its width, and what a person sees is the output alone.
cp out plain
on_terminal() { python3 -IBS "$top/tests/cli/on_terminal.py" 0 raw lines "$@" || failed=1; }
shown() { grep -q $'\r\033\\[Kchecking: 0 of 4 ranks' raw; }
ti-info --verify four.tib >plain
on_terminal "$o/ti-info" --verify four.tib
shown || { fail 'there is no line'; cat -v raw; }
cmp lines plain || cat -v raw
on_terminal "$o/ti-info" --verify --progress json four.tib
shown && fail 'a line beside objects'
for option in --no-progress '--progress=none' --quiet; do
    on_terminal "$o/ti-info" --verify $option four.tib
    shown && fail "a line with $option"
done
on_terminal "$o/ti-info" --verify --quiet --progress line four.tib
shown || fail 'there is no line with --quiet --progress line'
COLUMNS=12 on_terminal "$o/ti-info" --verify four.tib
grep -q $'\r\033\\[Kchecking: 0\r\033\\[K' raw || { fail 'the line is not cut'; cat -v raw; }
[ $failed -eq 0 ] && echo ok
exit $failed
