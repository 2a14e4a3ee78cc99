#!/bin/bash
# What `make install` puts below a DESTDIR is complete, works from there with the build
# folder out of sight, and knows nothing of that.
top=$PWD
# shellcheck source=tests/cli/acquire-lib.bash
. tests/cli/acquire-lib.bash
to=$tmp/dest/usr/local

cd "$top" || exit 1
env -u MAKEFLAGS -u MAKELEVEL make -s install O="$o" DESTDIR="$tmp/dest" prefix=/usr/local >"$tmp/log" 2>&1 ||
    { fail "make install"; cat "$tmp/log"; finish; }

# --- what is there ------------------------------------------------------------
for f in bin/{ti-acquire,ti-calibrate,ti-convert,ti-extrapolate,ti-gather,ti-info,ti-replay,ti-report,ti-skew} share/tiara/report/page.js lib/libminitrace.so \
    lib/libtiara.{so.1,a} lib/pkgconfig/tiara.pc include/tiara.h libexec/tiara/{ti-node,ti-node-counter,ti-rsh,ti-calibrate-mpi} man/*.[1357] hostfiles/*.conf; do
    case $f in
        man/*) f=share/man/man${f##*.}/${f##*/} ;;
        hostfiles/*) f=share/tiara/$f ;;
    esac
    [ -f "$to/$f" ] || fail "$f is not installed"
done
for f in tiara/{Makefile,examples/{lu.c,module.mk,ring4/list.txt,studies/torus.sh}} doc/tiara/{README.md,docs/tutorial.md} \
    bash-completion/completions/ti-gather zsh/site-functions/_ti-gather fish/vendor_completions.d/ti-gather.fish; do
    [ -s "$to/share/$f" ] || fail "share/$f is not installed"
done
[ ! -e "$o/ti-mpicc" ] || [ -x "$to/bin/ti-mpifort" ] || fail "the compiler wrappers are not installed"
dangling=$(find "$tmp/dest" -xtype l)
[ -z "$dangling" ] || fail "links that lead nowhere: $dangling"
inward=$(find "$tmp/dest" -type l -lname "$top*")
[ -z "$inward" ] || fail "links into the repository: $inward"

# Debugging information may tell where the sources are; nothing else.  Libraries in prefixes of their
# own are looked for there.
prefixes=
for c in "${MPICC:-mpicc}" smpicc; do
    case $(type -P "$c") in '' | /usr/bin/*) ;; *) prefixes+=" $c" ;; esac
done
while read -r f; do
    case $(head -c 4 "$f" | tail -c 3) in
        ELF)
            [ -n "$prefixes" ] || ! readelf -d "$f" 2>/dev/null | grep -E 'RPATH|RUNPATH' ||
                fail "$f: the linker is told where to look"
            objcopy --strip-debug "$f" "$tmp/stripped" || fail "$f cannot be stripped"
            ;;
        *) cp "$f" "$tmp/stripped" ;;
    esac
    ! grep -qaF -e "$o/" -e "$top/" "$tmp/stripped" || fail "$f names the build folder"
done < <(find "$tmp/dest" -type f ! -name '*.a')

# A build that cannot link ti-node statically says what is missing, and what that means.
links() { env -u MAKEFLAGS -u MAKELEVEL -u SAN make -n O="$tmp/none" "$@" "$tmp/none/ti-node" 2>&1 | grep '^echo.*statically'; }
says="for want of libtiara-none.a: nodes that it is sent to need libjansson, libz, libnettle and a C library"
links node_archives='libz.a libtiara-none.a' | grep -q "$says" || fail "not linked statically, and nothing is said"
for how in SAN=address node_static=yes; do
    links "$how" && fail "$how: something is said of static linking"
done

# --- that it works ------------------------------------------------------------
# Where one may mount, the build folder is empty meanwhile.
hidden() {
    if unshare --mount true 2>/dev/null; then
        # shellcheck disable=SC2016
        unshare --mount sh -c 'mount -t tmpfs none "$0" && exec "$@"' "$o" "$@"
    else
        "$@"
    fi
}
# works COMMAND...: installed, with status 0
works() {
    hidden "$to/bin/$1" "${@:2}" >../out 2>../err </dev/null || { fail "status $?: $*"; cat ../out ../err; }
}
cd "$tmp/w" || exit 1
counter=cputime
[ ! -e "$to/libexec/tiara/valgrind/ticount-amd64-linux" ] || counter=valgrind
works ti-acquire --np 2 -c $counter --mem-per-rank 10M --no-gather --trace-dir w.run ../app ok
works ti-gather w.run -o w.tib
works ti-info -q --verify w.tib
works ti-info w.tib
says out 'ranks'
works ti-replay --lint w.tib
works ti-report w.tib --json
says out '"title"'
if [ -x "$to/bin/ti-mpicc" ] && [ -e "$to/libexec/tiara/blocks/as" ]; then
    works ti-mpicc -O1 -o counted "$top/tests/cli/acquire-app.c"
    works ti-acquire --np 2 -c blocks --mem-per-rank 10M -o b.tib ./counted ok
    works ti-info -q --verify b.tib
fi
# a program of the library, as somebody else compiles it
if command -v pkg-config >/dev/null; then
    read -ra flags <<<"$(PKG_CONFIG_PATH=$to/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$tmp/dest \
        pkg-config --cflags --libs tiara)"
    cc -Wall -Werror "$top/examples/messages.c" -o messages "${flags[@]}" ${SAN:+-fsanitize=$SAN} ||
        fail "a program of libtiara: ${flags[*]}"
    LD_LIBRARY_PATH=$to/lib hidden ./messages w.tib >../out 2>../err || fail "messages: $(cat ../err)"
    says out 'rank 1: '
fi

# --- that it goes again, and nothing else does ---------------------------------
cd "$top" || exit 1
touch "$to/bin/other" "$to/share/tiara/mine"
env -u MAKEFLAGS -u MAKELEVEL make -s uninstall O="$o" DESTDIR="$tmp/dest" prefix=/usr/local >"$tmp/log" 2>&1 ||
    { fail "make uninstall"; cat "$tmp/log"; }
left=$(cd "$to" && find . ! -type d -o -path '*/tiara*' | sort | tr '\n' ' ')
[ "$left" = './bin/other ./share/tiara ./share/tiara/mine ' ] || fail "make uninstall leaves: $left"
finish
