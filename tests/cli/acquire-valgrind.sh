#!/bin/bash
# ti-acquire with the valgrind counter: what the user has told valgrind elsewhere is
# left aside, wrappers are followed, what valgrind cannot run is explained, and glibc
# chooses its functions as told.
# shellcheck source=tests/cli/acquire-lib.bash
. tests/cli/acquire-lib.bash
command -v valgrind >/dev/null || skip 'valgrind is not installed'
[ -x "$o/libexec/valgrind/ticount-amd64-linux" ] || skip 'ticount was not built'
a="-q -c valgrind --mem-per-rank 10M"
ulimit -S -c unlimited 2>/dev/null # cores would be left

# volume BUNDLE: what was counted
volume() { "$o/ti-info" --json "$1" | sed -n 's/^ *"volume": \([0-9]*\),*$/\1/p' | head -n 1; }

# Options for another tool in all places where valgrind looks, in a program that is
# stripped, started by a script, and starts a shell itself.
mkdir ../home
printf '%s\n' --tool=memcheck --leak-check=full "--log-file=$tmp/rc.%p" >.valgrindrc
cp .valgrindrc ../home
strip -o ../stripped ../app
printf '#!/bin/sh\n"%s" "$@"\n' "$tmp/stripped" >../script
chmod +x ../script
# shellcheck disable=SC2086
HOME=$tmp/home VALGRIND_OPTS='--tool=none --xml=yes' VALGRIND_LIB=/nonexistent \
    run 0 $a --np 1 -o script.tib ../script system
silent err "warning: 'valgrind"
says out '1 ranks are done'
[ "$(volume script.tib)" -gt 100 ] || fail 'a script: nothing was counted'
! ls ../rc.* >/dev/null 2>&1 || fail 'the options of .valgrindrc were taken'
holds .valgrindrc script.tib

# By a program that is no script; glibc as on a machine of a level.
# shellcheck disable=SC2086
GLIBC_TUNABLES=glibc.malloc.arena_max=2 run 0 $a --np 1 --isa x86-64-v2 -o env.tib env NAME=1 ../app ok
[ "$(volume env.tib)" -gt 100 ] || fail 'env: nothing was counted'
unzip -p env.tib MANIFEST.json | grep '"tunables"' >../tunables
says tunables 'glibc.malloc.arena_max=2:glibc.cpu'
says tunables ',-AVX2,'
silent tunables '-SSSE3'
holds env.tib
# shellcheck disable=SC2086
run 2 $a --np 2 --isa x86-64-v9 ../app ok
says err '--isa must be x86-64, x86-64-v2 or x86-64-v3'

# Instructions that valgrind cannot execute, before and after MPI_Init.
# shellcheck disable=SC2086
run 6 $a --np 2 ../app early512
says err 'was killed by signal 4 (Illegal instruction) before any rank was through MPI_Init'
says err 'ticount: an AVX-512 instruction, which valgrind does not know, at 0x'
says err "in $tmp/app"
says err '-march=x86-64-v3'
[ "$(grep -c '^hint: ' ../err)" = 1 ] || fail "$(cat ../err)"
! ls ./*core* >/dev/null 2>&1 || fail 'a core was left'
find . -mindepth 1 -delete
# shellcheck disable=SC2086
run 6 $a --np 2 ../app avx512
says err 'which valgrind does not know, at 0x'
says err '-march=x86-64-v3'
find . -mindepth 1 -delete
# Newer libraries of UCX, which Open MPI loads, would catch the signal.
(ulimit -c 0; UCX_ERROR_SIGNALS="" VALGRIND_LIB=$o/libexec/valgrind exec valgrind --tool=ticount --vgdb=no ../app illegal) \
    >../out 2>../err
says err 'Illegal opcode'
silent err 'AVX-512'
find . -mindepth 1 -delete
finish
