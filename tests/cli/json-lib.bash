# shellcheck shell=bash
# For trace-lib.bash and acquire-lib.bash, which source it from the root of the repository.
top=$PWD

# json FILE KEYPATH...: what a JSON file or a bundle's manifest holds; see tests/jsonfile.py
json() { python3 -IBS "$top/tests/jsonfile.py" "$@"; }
# check MODULE FUNCTION ARGUMENT...: of tests/cli/MODULE_checks.py
check() {
    local module=${1}_checks.py
    shift
    python3 -B "$top/tests/cli/$module" "$@"
}
