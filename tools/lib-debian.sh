# shellcheck shell=bash
# Roots of Debian's releases, in which tools try Tiara.  Bash scripts source this; they need root
# and mmdebstrap.

# debian_mirror: print a mirror of Debian's archive: TIARA_MIRROR, or what this machine's apt uses.
debian_mirror() {
    local mirror=${TIARA_MIRROR:-}
    [ -n "$mirror" ] || mirror=$(apt-get --print-uris update 2>/dev/null |
        sed -n "s|^'\(https\?://.*/debian\)/*/dists/.*|\1|p" | head -n 1)
    echo "${mirror:-http://deb.debian.org/debian}"
}

# new_root RELEASE DIR [PACKAGE...]: make the folder DIR a root of the release (bookworm, trixie, ...),
# with apt and these packages.  It has this machine's resolver and apt's proxy, and takes a Release
# file that is past its date, as that of testing can be.  dpkg does not wait for the disk there.
new_root() {
    local release=$1 dir=$2
    shift 2
    mmdebstrap --variant=apt --aptopt='Acquire::Check-Valid-Until "false"' \
        --aptopt='Acquire::Languages "none"' --dpkgopt=force-unsafe-io --include="${*:-apt}" \
        "$release" "$dir" "$(debian_mirror)" || return
    cp -L /etc/resolv.conf "$dir/etc/resolv.conf"
    grep -hs 'Acquire::.*Proxy' /etc/apt/apt.conf.d/* >"$dir/etc/apt/apt.conf.d/90proxy" || true
}

# in_root [OPTION OF UNSHARE...] DIR COMMAND: execute a shell's command in a root, with processes,
# mounts, /tmp, /run and /dev/shm of its own, and this machine's network; --net: with loopback only.
in_root() {
    local options=()
    while [ "${1#--}" != "$1" ]; do
        options+=("$1")
        shift
    done
    # shellcheck disable=SC2016  # for the inner shell
    unshare --mount --pid --ipc --fork --kill-child "${options[@]}" bash -c '
        set -e
        mount --bind "$0" "$0"
        cd "$0"
        mount -t proc proc proc
        mount --rbind /sys sys
        mount --rbind /dev dev
        for d in dev/shm tmp run; do mount -t tmpfs tmpfs $d; done
        case $2 in *--net*) ip link set lo up ;; esac
        # Not chroot: that permits no mount namespaces, which beds are made of, and nsenter into one
        # would lead out of the root.
        mkdir run/old
        pivot_root . run/old
        cd /
        # a bare root may lack it
        if command -v umount >/dev/null; then umount -l run/old; rmdir run/old; fi
        exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
            LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive bash -c "$1"' "$1" "$2" "${options[*]}"
}
