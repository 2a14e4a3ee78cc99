#!/bin/bash
# tools/install-deps on other distributions, and where nothing may be installed: what it prints, and
# whether it goes on.  The distributions are not here: a file like their /etc/os-release is, and a
# PATH with few commands.
set -u
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
failed=0
fail() { echo "FAILED: $*"; failed=1; }
mkdir "$tmp/none" "$tmp/build"
for c in cat tr id uname sh; do ln -s "$(type -P $c)" "$tmp/none"; done
cp -P "$tmp"/none/* "$tmp/build"
# What a build needs, and no more.
for c in make pkg-config mpicc smpicc python3; do ln -s "$(type -P true)" "$tmp/build/$c"; done
printf '%s\n' '#!/bin/sh' 'case $* in *-print-file-name=*) echo /x/libz.a ;; esac' >"$tmp/build/cc"
chmod +x "$tmp/build/cc"

# run STATUS PATH OS-RELEASE: its output is in $tmp/err
run() {
    echo "$3" >"$tmp/os-release"
    env -i PATH="$2" OS_RELEASE="$tmp/os-release" sh tools/install-deps >"$tmp/out" 2>"$tmp/err"
    local rc=$?
    [ $rc = "$1" ] || { fail "status $rc, not $1: $3"; cat "$tmp/err"; }
    [ ! -s "$tmp/out" ] || fail "output for $3"
}
says() { grep -qE -- "$1" "$tmp/err" || { fail "it does not say: $1"; cat "$tmp/err"; }; }
silent() { ! grep -qE -- "$1" "$tmp/err" || { fail "it says: $1"; cat "$tmp/err"; }; }

# Each row of the table has a column for each distribution.
rows=$(sed -n '/^for  /,/^END/p' tools/install-deps | grep -cv ^END)
[ "$rows" -gt 30 ] && [ "$(sed -n '/^for  /,/^END/p' tools/install-deps | awk 'NF == 7' | wc -l)" = "$rows" ] ||
    fail 'the table has a row without all columns'

while IFS='|' read -r os command lacks; do
    run 1 "$tmp/none" "$os"
    says "run: $command"
    says "untried"
    says "no package here has: $lacks"
    says "SIMGRID=PREFIX"
    says '^install-deps: a build needs: cc make pkg-config mpicc libarchive.pc libz.a jansson.pc nettle.pc smpicc'
done <<'END'
ID=fedora|dnf install gcc make pkgconf-pkg-config openmpi-devel papi-devel libarchive-devel|smpicc
ID="rocky"; ID_LIKE="rhel centos fedora"|dnf --enablerepo=crb install epel-release && dnf --enablerepo=crb install gcc|smpicc
ID=rhel; ID_LIKE=fedora|dnf --enablerepo=crb install epel-release|smpicc
ID="opensuse-leap"; ID_LIKE="suse opensuse"|zypper install gcc make pkgconf-pkg-config openmpi4-devel|smpicc
ID=endeavouros; ID_LIKE=arch|pacman -S --needed gcc make pkgconf openmpi|papi.pc smpicc
END
run 1 "$tmp/none" 'ID=other'
says "not known.*Debian's names"
says 'apt-get install gcc make'

# Nothing but what a build needs is there: it says what is missing, and goes on.
run 0 "$tmp/build" ID=fedora
says 'dnf install .*clang'
silent 'openmpi-devel'
says 'going on without these'

# On Debian without root and sudo, packages or not.
printf '%s\n' '#!/bin/sh' 'exit 1' >"$tmp/build/dpkg-query"
printf '%s\n' '#!/bin/sh' 'echo 1000' >"$tmp/id"
chmod +x "$tmp/build/dpkg-query" "$tmp/id"
rm "$tmp"/*/id
for d in none build; do ln -s "$tmp/id" "$tmp/$d/id"; done
ln -s "$tmp/build/dpkg-query" "$tmp/none"
for os in ID=debian ID=ubuntu 'ID=linuxmint; ID_LIKE="ubuntu debian"'; do
    run 0 "$tmp/build" "$os"
    says 'as root, run: apt-get install .*clang'
    # commands from other folders are the user's own; Debian's are not installed beside them
    silent 'openmpi|simgrid|untried'
    says 'going on without these'
    run 1 "$tmp/none" "$os"
    says 'apt-get install gcc make pkg-config openmpi-bin libopenmpi-dev'
    says 'a build needs: cc make'
done
[ $failed = 0 ] && echo ok
exit $failed
