#!/bin/bash
# On a terminal the progress line and the program's output never share a line, also where the
# program ends a line late; what is read from the terminal in the end is what was written.
# shellcheck source=tests/cli/acquire-lib.bash
. tests/cli/acquire-lib.bash

cat >../talks <<'END'
#!/bin/sh
for i in 1 2; do
    printf 'begin %s' $i
    sleep 0.8
    echo " end $i"
    sleep 0.6
    echo "error $i" >&2
    sleep 0.4
done
exec ../app ok
END
chmod +x ../talks

# on_terminal STATUS OPTION...: ti-acquire with them on a terminal of its own: what was written
# there goes to ../raw, the lines that a person sees to ../out.
on_terminal() {
    local status=$1
    shift
    python3 -IBS "$top/tests/cli/on_terminal.py" "$status" ../raw ../out "$@" || failed=1
}

on_terminal 0 "$o/ti-acquire" --pilot no -c cputime --np 1 --no-gather ../talks
for line in 'begin 1 end 1' 'error 1' 'begin 2 end 2' 'error 2'; do
    grep -qxF "$line" ../out || fail "not a line of its own: $line"
done
grep -q $'\r\033\\[Krunning: 0 B, 0 of 1 ranks' ../raw || fail 'there was no progress line'
[ $failed -eq 0 ] || cat -v ../raw
find . -mindepth 1 -delete

# The same bytes in the same order where a lot is written, more than a pipe holds, and also where
# the terminal takes it slowly, after the program's end.
cat >../floods <<'END'
#!/bin/sh
seq 1 60000
exec ../app ok
END
chmod +x ../floods
for SLOW in '' 1; do
    export SLOW
    on_terminal 0 "$o/ti-acquire" --pilot no -c cputime --np 1 --no-gather ../floods
    grep -xE '[0-9]+' ../out | cmp -s - <(seq 1 60000) || fail "what was written is not what was read${SLOW:+, slowly}"
    find . -mindepth 1 -delete
done
unset SLOW

# Without a terminal the program has ti-acquire's own descriptors.
run 0 --pilot no -c cputime --np 1 --no-gather ../talks
says out 'begin 1 end 1'
silent out $'\r'
silent err $'\r'
finish
