#!/bin/bash
# Rooms include only what stands below them, and none is crowded; include guards and tags are unique.
# The checker notices what is not so.
set -u
tools/check-layers || exit 1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/lib/common" "$scratch/lib/new"
echo '#include "event/event.h"' >"$scratch/lib/common/err.c"
echo >"$scratch/lib/new/a.c"
printf '#ifndef TI_ERR_H\n#define TI_ERR_H\nstruct ti_twice {\n};\n#endif\n' >"$scratch/lib/common/err.h"
printf '/* struct ti_twice { } */\nenum ti_twice { ONE };\n' >"$scratch/lib/common/two.c"
tools/check-layers "$scratch" >"$scratch/out"
[ $? -eq 1 ] && grep -q "common/err.c:1: 'common' may not include 'event/event.h'" "$scratch/out" &&
    grep -q "lib/new/a.c: .*does not name the room" "$scratch/out" &&
    grep -q "common/err.h: the include guard is not TI_COMMON_ERR_H" "$scratch/out" &&
    grep -q "common/two.c:2: the tag ti_twice is defined in lib/common/err.h:3, too" "$scratch/out" || { echo 'FAILED: not noticed'; cat "$scratch/out"; exit 1; }

# A list with a circle is refused.
sed 's/^    "common": \[\],/    "common": ["trace"],/' tools/check-layers >"$scratch/check"
python3 "$scratch/check" >"$scratch/out"
[ $? -eq 1 ] && grep -q "'trace' does not stand above 'common'" "$scratch/out" ||
    { echo 'FAILED: a circle was not noticed'; cat "$scratch/out"; exit 1; }
