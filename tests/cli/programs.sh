#!/bin/bash
# All programs that `make install` installs: --help, --version and no arguments, with an empty
# environment, without a terminal, with standard streams that are closed or cannot be written.
top=$PWD
# shellcheck source=tests/cli/acquire-lib.bash
. tests/cli/acquire-lib.bash
to=$tmp/dest/usr/local

cd "$top" || exit 1
env -u MAKEFLAGS -u MAKELEVEL make -s install O="$o" DESTDIR="$tmp/dest" prefix=/usr/local >"$tmp/log" 2>&1 ||
    { fail "make install"; cat "$tmp/log"; finish; }
mkdir "$tmp/empty" && cd "$tmp/empty" || exit 1

# try COMMAND...: its status is in $rc; setsid: it has no terminal.  tried WORDS: it ended by itself,
# not by a signal and not because it waited.
try() { timeout 120 setsid -w "$@"; rc=$?; }
tried() { [ $rc -lt 124 ] || [ $rc -eq 255 ] || { fail "status $rc: $*"; head -n 3 ../err; }; }

programs=0
while read -r program; do
    name=${program##*/}
    programs=$((programs + 1))
    case $name in
        ticount-*) continue ;;   # valgrind starts it
        as) continue ;; # it answers as the assembler does: cli/wrappers
        ti-mpi*) # it answers as the compiler does: cli/wrappers
            try "$program" --tiara-help </dev/null >../out 2>../err
            [ $rc -eq 0 ] && grep -q "^Usage: $name" ../out && [ ! -s ../err ] || fail "$name --tiara-help"
            # without PATH, Open MPI's wrapper finds no compiler; MPICH's finds one
            try env -i "$program" --help </dev/null >../out 2>../err
            tried "$name --help, in an empty environment"
            [ $rc -eq 0 ] || grep -qE "^$name: cannot (run|tell which compiler is behind) .*: .*(No such file|unable to find the specified compiler [a-z]|Unable to get the user home directory)" ../err ||
                { fail "$name --help, in an empty environment: status $rc, without a reason"; cat ../err; }
            continue ;;
    esac
    for option in --help --version ''; do
        [ "$name$option" = ti-calibrate ] && continue # it measures this machine
        # shellcheck disable=SC2206  # no word, or one
        command=("$program" $option)
        words="$name $option"
        try "${command[@]}" </dev/null >../out 2>../err
        tried "$words"
        case $option in
            --help) grep -q "^Usage: $name" ../out || fail "$words does not say how it is used" ;;
            --version) grep -qE "^$name (\(Tiara\) )?[0-9]+\.[0-9]" ../out || fail "$words does not say its version"
                grep -qE '^ti-[a-z-]+ \(Tiara\) [0-9.]+, commit ([0-9a-f]{12}(\+changes)?|unknown)$' ../out &&
                    grep -qE '^built in: [+-]openmpi [+-]mpich ' ../out || { fail "$words names no commit, or not what is built in"; cat ../out; } ;;
            *) [ $rc -ne 0 ] && [ -s ../err ] && [ ! -s ../out ] || fail "$words: status $rc, and no error" ;;
        esac
        [ -z "$option" ] || [ $rc -eq 0 ] || fail "$words: status $rc"
        [ -z "$option" ] || [ ! -s ../err ] || { fail "$words writes to standard error"; cat ../err; }
        mv ../out ../first
        try env -i "${command[@]}" </dev/null >../out 2>../err
        tried "$words, in an empty environment"
        cmp -s ../out ../first || fail "$words: it prints something else in an empty environment"
        try "${command[@]}" <&- >../out 2>../err
        tried "$words, standard input closed"
        cmp -s ../out ../first || fail "$words: it prints something else if standard input is closed"
        try "${command[@]}" </dev/null >../out 2>&-
        tried "$words, standard error closed"
        try "${command[@]}" </dev/null >&- 2>../err
        tried "$words, standard output closed"
        [ $rc -ne 0 ] && [ -s ../err ] || fail "$words: a closed standard output is no error"
        try "${command[@]}" </dev/null >/dev/full 2>../err
        tried "$words, standard output full"
        [ $rc -ne 0 ] && [ -s ../err ] || fail "$words: a full standard output is no error"
    done
done < <(find "$to/bin" "$to/libexec" -type f -perm -u+x ! -name '*.so' | sort)
[ $programs -ge 15 ] || fail "$programs programs"
[ -z "$(ls -A)" ] || fail "files are left: $(ls -A)"
finish
