#!/bin/bash
# The pages of the tools name all their options, and those of the formats all
# operations, fields and metadata that there are.
set -u

o=${TI_BUILD:-build}
failed=0
fail() { echo "FAILED: $*"; failed=1; }

for tool in ti-acquire ti-gather ti-info ti-replay; do
    [ -x "$o/$tool" ] || { echo "$o/$tool was not built"; exit 77; }
    for option in $("$o/$tool" --help | grep -oE '^ +(-., )?--[a-z-]+' | grep -oE -- '--[a-z-]+'); do
        sed 's/\\-/-/g' "man/$tool.1" | grep -qE -- "-${option#--}( |\$|[^a-z-])" ||
            fail "man/$tool.1 does not have $option"
    done
done
# the lists of formats/event.h: TI_FIELDS, TI_OPS, TI_REDOPS
while read -r name; do
    grep -qwF -- "$name" man/tiara-trace.5 || fail "man/tiara-trace.5 does not have $name"
done < <(grep -oE 'X\([A-Z0-9_]+, "[a-z0-9_]+"' formats/event.h | cut -d'"' -f2)
while read -r name; do
    grep -qwF -- "$name" man/tiara-trace.5 || fail "man/tiara-trace.5 does not have chunk $name"
done < <(sed -n '/^#define TI_CHUNKS/,/^$/p' formats/trace.h | grep -oE 'X\([A-Z]+' | cut -c3-)
if command -v mandoc >/dev/null; then
    for page in man/*.[15]; do
        mandoc -T lint "$page" | grep -v 'referenced manual not found' && fail "$page"
    done
fi
exit $failed
