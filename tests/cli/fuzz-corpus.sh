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
    [ "$target" != blocks ] || [ -x "$build/libexec/blocks/as" ] || continue
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
check check
sites sites
frame frame
messages messages
conn conn
simgrid simgrid
merged merged
folded folded
api trace
api bombs
api bundle
api merged
blocks blocks
END

# The corpus is of the present format, or it tests nothing: seeds are sound, and
# bombs are what they were made to be.  Else: `make fuzz-corpus`.  old-* and folded-* are of
# version 3 of chunks, the latter with FLD; nothing makes them any more.
while read -r file expected; do
    found=$("$build/ti-info" tests/fuzz/corpus/"$file" 2>&1 | tr -s ' ')
    [[ $found == *"$expected"* && ($expected == *a\ chunk* || $found != *damaged*) ]] || {
        echo "FAILED: $file is not read as it should be: no '$expected' in"
        echo "$found" | head -n 12
        status=1
    }
done <<'END'
trace/comm-of-others at byte 207: a chunk's content is malformed
trace/communicators events 5
trace/empty events 0
trace/every-null events 211
trace/every-operation events 211
trace/every-optional-field events 211
trace/every-root-self events 211
trace/long-vectors events 3
trace/extra-columns events 200
trace/loop events 1,200
trace/periods events 2,007
trace/periods-extra events 2,007
trace/old-every-null events 211
trace/old-extra-columns events 200
trace/old-loop events 1,200
trace/folded-loop events 1,200
trace/folded-operations events 211
trace/folded-extra-columns events 200
bundle/sound bundle of 3 ranks
bundle/merged bundle of 3 ranks
bombs/communicators at byte 140: a chunk's content is malformed
bombs/dimensions cart_create 1
bombs/elements alltoallv 98,304
bombs/elements-over at byte 91: a chunk of events is malformed
bombs/events barrier 983,040
bombs/events-over at byte 91: a chunk is too large
bombs/inline-length at byte 91: a chunk of events is malformed
bombs/inline-length-4 at byte 91: a chunk of events is malformed
bombs/goes-on a chunk of events is malformed
bombs/topologies graph_create 1,966,080
bombs/nest barrier 1,000
bombs/nest-trips a chunk of events is malformed
bombs/nest-columns a chunk of events is malformed
END
exit $status
