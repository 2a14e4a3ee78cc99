#!/bin/bash
# Completion in bash, zsh and fish, from where `make install` puts it: each offers the options that
# --help names, the words that they choose from, and files where the option takes one.
set -u
o=$(realpath "${TI_BUILD:-build}")
failed=0
fail() { echo "FAILED: $*"; failed=1; }
for shell in bash zsh fish; do
    command -v $shell >/dev/null || { echo "there is no $shell"; exit 77; }
done
[ -e "$o/completion/ti-info.bash" ] || { echo "$o/completion was not built"; exit 77; }

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
env -u MAKEFLAGS -u MAKELEVEL make -s install O="$o" DESTDIR="$tmp" prefix=/usr >"$tmp/log" 2>&1 ||
    { cat "$tmp/log"; fail 'make install'; exit 1; }
share=$tmp/usr/share
tools=$(cd "$share/bash-completion/completions" && echo *)

# --- all options of all tools: bash and fish say it without a terminal, zsh's are in its file ---
# shellcheck disable=SC2016  # for the inner shell
for tool in $tools; do
    "$o/$tool" --help | grep -oE '^  (-., |    )--[a-z0-9-]+' | grep -oE -- '--[a-z0-9-]+' | sort >"$tmp/expected"
    [ "$(wc -l <"$tmp/expected")" -ge 8 ] || fail "$tool --help has hardly any options"
    bash --norc -c '. "$1" && COMP_WORDS=("$2" --) COMP_CWORD=1 && compopt() { :; } && _"${2//-/_}" &&
        printf "%s\n" "${COMPREPLY[@]}"' - "$share/bash-completion/completions/$tool" "$tool" | sort >"$tmp/bash"
    fish --no-config -c 'source $argv[1]; complete -C "$argv[2] --"' \
        "$share/fish/vendor_completions.d/$tool.fish" "$tool" | cut -f 1 | tr -d '=' | sort -u >"$tmp/fish"
    sed -n 's/^    \([^[]*\)\[.*/\1/p' "$share/zsh/site-functions/_$tool" | grep -oE -- '--[a-z0-9-]+' | sort >"$tmp/zsh"
    for shell in bash zsh fish; do
        diff "$tmp/expected" "$tmp/$shell" >"$tmp/diff" ||
            { fail "$tool: options in $shell (< --help, > completion)"; cat "$tmp/diff"; }
    done
    head -n 1 "$share/zsh/site-functions/_$tool" | grep -qx "#compdef $tool" || fail "_$tool is for no command"
done

# --- as it is typed: what the tool would be started with -----------------------
mkdir -p "$tmp/bin" "$tmp/w/somewhere" || exit 1
touch "$tmp/w/lu.8.tib" "$tmp/w/platform.xml"
for tool in $tools; do
    # shellcheck disable=SC2016  # for that script
    printf '#!/bin/sh\nprintf "<%%s>" "${0##*/}" "$@" >%s\n' "$tmp/started" >"$tmp/bin/$tool"
    chmod +x "$tmp/bin/$tool"
done
python3 -IBS tests/cli/completion.py "$tmp" || failed=1
exit $failed
