#!/bin/bash
# A second user of the machine: can read no trace of ours and replace none, and lays no trap with
# names in folders where everybody may make some.  Root's part needs root, to be that user.
# shellcheck source=tests/cli/acquire-lib.bash
. tests/cli/acquire-lib.bash

umask 022
chmod 755 "$tmp"
# shellcheck disable=SC2086  # words are meant
acquire() { local want=$1; shift; run "$want" -q -c cputime --pilot no --np 2 "$@" ../app ok 0.1; }
mode() { [ "$(stat -c %a "$2")" = "$1" ] || fail "$2: mode $(stat -c %a "$2"), not $1"; }

# What Tiara makes is ours alone; the bundle is a result like any other, and follows the umask.
acquire 0 --keep -o x.tib
mode 700 app.2.run
mode 600 app.2.run/RUN.json
mode 644 app.2.run/rank-000000.ti
mode 644 x.tib
# The library on its own makes its directory as ti-acquire does.
traced() {
    TIARA_TRACE_DIR=$1 TIARA_COUNTER=cputime mpirun -x LD_PRELOAD="$o/libminitrace.so" -np 2 \
        ../app ok 0.1 >../out 2>../err || fail "mpirun: $(cat ../err)"
}
traced own.run
mode 700 own.run
[ -s own.run/rank-000001.ti ] || fail "nothing was traced: $(cat ../err)"
# A directory that is there keeps its mode, and the umask decides for files: what a group shares.
mkdir -m 2750 group.run
umask 027
acquire 0 --keep --trace-dir group.run -o group.tib
umask 022
mode 2750 group.run
mode 640 group.run/rank-000001.ti
mode 640 group.tib

[ "$(id -u)" = 0 ] || skip "not root: nobody else to try it as"
command -v setpriv >/dev/null || skip "no setpriv"
them() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@" 2>/dev/null; }
them test -r x.tib || fail "the other user cannot even read the bundle"
for f in app.2.run/rank-000000.ti own.run/rank-000000.ti group.run/rank-000000.ti; do
    them cat $f >/dev/null && fail "$f can be read"
    them sh -c ": >>$f" && fail "$f can be written"
    them mv $f "$f.old" && fail "$f can be replaced"
done

# A directory, a link and a .part file that are there before us, as in /tmp.
mkdir -m 1777 open theirs
chown 65534 theirs
rm -rf app.2.run own.run group.run
for name in open/a open/b; do them mkdir -m 777 $name || fail "cannot make $name"; done
them ln -s ../theirs open/link || fail "cannot make a link"
theirs="belongs to another user, in a folder that everybody can write to"
for name in open/a open/link open/link/ open/a/run; do
    other=${name#open/} other=open/${other%%/*}
    acquire 3 --trace-dir "$name" -o y.tib
    says err "the run directory '$name' is not safe: '$other' $theirs"
    traced "$name"
    says err "the trace directory '$name' is not safe: '$other' $theirs"
    rmdir open/a/run 2>/dev/null
done
if command -v smpirun >/dev/null; then
    "$o/ti-replay" --keep open/a x.tib >../out 2>../err && fail "replayed in another user's folder"
    says err "the directory 'open/a' is not safe: 'open/a' $theirs"
fi
[ -z "$(find open/a theirs -mindepth 1)" ] || fail "written: $(find open/a theirs -mindepth 1)"
them touch open/z.tib.part || fail "cannot make open/z.tib.part"
acquire 4 -o open/z.tib
says err "'open/z.tib.part' is not safe: 'open/z.tib.part' $theirs"
[ ! -s open/z.tib.part ] || fail "a bundle was written into another user's file"
# A directory of another user is fine where only that user, or a group, can have made it.
mkdir theirs/run && chown 65534 theirs/run && chmod 755 theirs
acquire 0 --keep --trace-dir theirs/run -o ours.tib
rm -rf ./*
finish
