# shellcheck shell=bash
# For tests of containers: an image made out of this machine's Open MPI, so nothing is downloaded.

ompi_path() { ompi_info --path "$1" --parsable | sed 's/.*://'; }

image_folders() { # ROOT: the folders of an image
    local d
    mkdir -p "$1"/{usr/{bin,lib,lib64},etc,tmp,proc,sys,dev,run,var}
    for d in bin lib lib64; do ln -s usr/$d "$1/$d"; done
}

# fill_image ROOT LOG, ROOT being absolute: a shell, Open MPI, and the libraries of the programs in ROOT/usr/bin.
fill_image() {
    local root=$1 log=$2 programs="/usr/bin/sh /usr/bin/true /usr/bin/env" plugins libraries
    plugins=$(find -L "$(ompi_path pkglibdir)" "$(realpath "$(ompi_path pkglibdir)/../../../pmix2")" -name '*.so' 2>/dev/null)
    # shellcheck disable=SC2086  # lists of names without blanks
    libraries=$(ldd $programs "$root"/usr/bin/* $plugins 2>/dev/null | grep -v '^/' | grep -o '/[^ ]*' |
        sed 's,^/lib,/usr/lib,' | sort -u)
    # shellcheck disable=SC2086
    (set -o pipefail && tar -c -h -P $libraries $plugins $programs "$(ompi_path pkgdatadir)" "$(ompi_path sysconfdir)" 2>"$log" |
        tar -x -C "$root" 2>>"$log")
}
