#!/usr/bin/env bash
# The fuzz targets over their corpus: nothing aborts, and no file of a few bytes
# costs much time or memory.  `make fuzz` looks for more.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${TI_BUILD:-build}
status=0

# Sanitizers take their share.
case $build in
    *build) limits=(--seconds 10 --mib 768) ;;
    *) limits=(--seconds 60 --mib 4096) ;;
esac
# bombs/ holds traces of few bytes that ask for much; fuzzers leave them alone.
while read -r target folder; do
    replay=$build/tests/fuzz/replay-$target
    [ -x "$replay" ] || { echo "the fuzz targets are not built"; exit 77; }
    "$replay" "${limits[@]}" tests/fuzz/corpus/"$folder"/* || {
        echo "FAILED: $folder, at the file named last, or one that took too much"
        status=1
    }
done <<'END'
trace trace
trace bombs
bundle bundle
check trace
check bombs
check bundle
END
exit $status
