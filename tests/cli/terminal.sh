#!/bin/bash
# tests/run: long
# On a terminal with UTF-8, tables have bars, and matrices, volumes and a timeline are drawn in its
# width; the figures are those of the tables without a terminal.  Elsewhere nothing is drawn.
# shellcheck source=tests/cli/trace-lib.bash
. tests/cli/trace-lib.bash
on_terminal=$OLDPWD/tests/cli/on_terminal.py
python3 -c 'import pty' 2>/dev/null || { echo 'there is no python3'; exit 77; }
unset NO_COLOR COLORTERM LC_CTYPE LANG COLUMNS
export LC_ALL=C.UTF-8 TERM=xterm-256color

# shown STATUS COLUMNS COMMAND...: on a terminal; what is written there goes to raw, and without
# colours to lines.
shown() {
    local status=$1 columns=$2
    shift 2
    python3 "$on_terminal" "$status" raw lines /bin/sh -c "stty cols $columns; exec $* 2>/dev/null" ||
        fail "on a terminal of $columns: $*"
    sed -i 's/\x1b\[[0-9;]*m//g' lines
}
colours() { grep -q $'\x1b' raw; }
drawn() { grep -q '[█▄▀▌▏░]' raw; }
# words FILE: without what is drawn, and without blanks that align
words() { sed 's/[▏▎▍▌▋▊▉█▄▒·#]//g; s/  */ /g; s/ $//; s/^ //; /^wall time/d' "$1"; }
# fits COLUMNS WHAT: no line of lines is wider
fits() { [ "$(wc -L <lines)" -le "$1" ] || fail "wider than $1: $2"; }

big=123456789012345
mktrace --np 12 --iterations 30 --noise 100000 --volume $big --times --sites a-module-with-a-name-of-forty-characters wide.run
mktrace --np 4 --iterations 3 --noise 100000 --times --host-ranks 2 small.run
mktrace --np 1 --plain --volume 5000000 one.run

for trace in wide.run small.run one.run; do
    for mode in '' --phases --imbalance --traffic --histogram '--rank 0'; do
        command="ti-info $mode $trace"
        # shellcheck disable=SC2086  # words are meant
        run 0 $command
        cp out plain
        drawn_there=yes
        case $trace$mode in one.run--traffic | one.run--imbalance | *--rank*) drawn_there=maybe ;; esac
        for columns in 80 200; do
            shown 0 $columns "$command"
            fits $columns "$command"
            drawn || [ $drawn_there = maybe ] || fail "nothing is drawn: $command, $columns"
            # All digits are there where there is room, and lines that are drawn stand between.
            if [ $columns = 200 ] && [ $trace != wide.run ]; then
                diff <(words plain) <(words lines) | grep '^<' && fail "figures: $command"
            fi
            cp lines coloured
            NO_COLOR=1 shown 0 $columns "$command"
            fits $columns "$command without colours"
            colours && fail "colours in spite of NO_COLOR: $command"
            [ "$mode" = --traffic ] || diff coloured lines || fail "only the colours differ: $command"
            # Where nothing can be drawn, the output is that for a file.
            # shellcheck disable=SC2086
            run 0 $command --width $columns
            LC_ALL=C shown 0 $columns "$command"
            diff out raw || fail "without UTF-8: $command"
            TERM=dumb shown 0 $columns "$command"
            diff out raw || fail "on a dumb terminal: $command"
        done
        # shellcheck disable=SC2086
        run 0 env LC_ALL=C NO_COLOR=1 TERM=dumb $command
        diff plain out || fail "without a terminal: $command"
        # shellcheck disable=SC2086
        run 0 $command --json
        shown 0 80 "$command --json"
        diff out raw || fail "JSON: $command"
    done
done
shown 0 80 ti-info small.run
colours || fail 'no colours'
NO_COLOR='' shown 0 80 ti-info small.run
colours || fail 'an empty NO_COLOR is none'
LC_ALL='' LANG=de_DE.utf8 shown 0 80 ti-info small.run
drawn || fail 'the language decides where LC_ALL is empty'

# The matrix, by blocks and by colours; the same bytes as the table of pairs.
NO_COLOR=1 shown 0 80 ti-info --traffic small.run
sed -n '/^bytes from/,/up to/p' lines >is
cat >should <<'END'
bytes from ranks (left) to ranks (above)
       0
      ┌────────┐
     0│  ░░██  │
     1│    ░░██│
     2│      ░░│
     3│        │
      └────────┘
       ░ up to 22.1 kB  ▒ up to 78.7 kB  ▓ up to 281 kB  █ up to 1 MB
END
diff should is || fail 'the matrix'

# The title of a picture is broken, too.
mktrace --np 300 --plain many.run
NO_COLOR=1 shown 0 80 ti-info many.run
sed -i '1,/^per rank/d' lines
fits 80 'volumes of 300 ranks'
grep -A1 '^volume by rank, 6 ranks a character' lines | grep -q 'largest$' || { fail 'volumes of 300 ranks'; cat lines; }

# 16,384 ranks, most of which are missing: 32 lines at most.
mktrace --np 16384 --ranks 0-63 --iterations 3 huge.run
for columns in 80 200; do
    for none in '' 1; do
        NO_COLOR=$none shown 1 $columns ti-info --traffic huge.run
        fits $columns '--traffic of 16,384 ranks'
        grep -q '^bytes from .*, [0-9]* ranks a ' lines || fail 'how many ranks a line or character stands for'
        [ "$(grep -c '│.*│' lines)" = 32 ] && grep -q '^  12288│' lines ||
            { fail "lines of the matrix, $columns: NO_COLOR=$none"; cat lines; }
    done
done

command -v smpirun >/dev/null && [ -x "$o/ti-smpi-replay" ] || { echo 'there is no smpirun'; exit $((failed ? 1 : 77)); }

# The timeline of one rank: it computes all the time.
NO_COLOR=1 shown 0 80 ti-replay one.run --topology cluster --profile
grep -qx "     0 $(printf '█%.0s' {1..73})" lines && grep -q '^timeline: .* a character$' lines &&
    grep -qx '       █ computing' lines || { fail 'the timeline of one rank'; cat lines; }

for options in --profile '--profile --causes --links'; do
    command="ti-replay small.run --topology cluster $options"
    # shellcheck disable=SC2086  # words are meant
    run 0 $command
    cp out plain
    for columns in 80 200; do
        shown 0 $columns "$command"
        fits $columns "$command"
        colours && drawn && grep -q '^timeline: ' lines && grep -q '^share of the time by rank' lines &&
            grep -q '^waiting of ranks' lines || fail "pictures: $command"
        [ $columns = 80 ] || ! diff <(words plain) <(words lines) | grep '^<' || fail "figures: $command"
        [ "$(sed -n '/^timeline/,/╵/p' lines | grep -c '^ *[0-3] ')" = 4 ] || fail 'a line for each rank'
        NO_COLOR=1 shown 0 $columns "$command"
        fits $columns "$command without colours"
        colours && fail "colours in spite of NO_COLOR: $command"
        # shellcheck disable=SC2086
        run 0 $command --width $columns
        LC_ALL=C shown 0 $columns "$command"
        diff <(sed '/^wall time/d' out) <(sed '/^wall time/d' raw) || fail "without UTF-8: $command"
    done
done
shown 0 80 ti-replay small.run --topology cluster --profile --quiet
diff <(grep ^simulated plain) raw || fail '--quiet'
shown 0 80 ti-replay small.run --topology cluster --profile --json
grep -q overview raw && fail 'JSON has the picture'

# 16,384 ranks: 32 lines of 512, also where none of them waits for its neighbours.
mktrace --np 16384 --plain --iterations 3 --noise 5000000 --host-ranks 64 all.run
shown 0 200 ti-replay all.run --topology cluster --profile
fits 200 'a profile of 16,384 ranks'
grep -q '^timeline: .*, 512 ranks a line$' lines && grep -q '^  14336 [█▁▂▃▄▅▆▇ ]*$' lines &&
    [ "$(sed -n '/^timeline/,/╵/p' lines | wc -l)" = 34 ] || fail 'the timeline of 16,384 ranks'
exit $failed
