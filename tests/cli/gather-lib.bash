# shellcheck shell=bash
# For the gather-*.sh scripts that fetch, which source it in place of trace-lib.bash: runs on several
# nodes, each of which is a directory here.
. tests/cli/trace-lib.bash
id=5eed5eed5eed5eed5eed5eed5eed5eed

# traces_of N NP [OPTION]...: the traces of NP ranks, divided among the directories node0 to
# node(N-1), by mktrace with these options; RUN.json in run/ says so
traces_of() {
    local n=$1 np=$2 i first last list=
    shift 2
    rm -rf run node[0-9]* && mkdir run
    for ((i = 0; i < n; i++)); do
        first=$((i * np / n)) last=$(((i + 1) * np / n - 1))
        mktrace --np "$np" --run-id $id "$@" --ranks $first-$last "node$i" || fail "mktrace"
        list+="${list:+, }{\"name\": \"node$i\", \"host\": null, \"gateway\": null, \"via\": null,
            \"directory\": \"$PWD/node$i\", \"ranks\": [[$first, $last]]}"
    done
    echo "{\"run_id\": \"$id\", \"np\": $np, \"nodes\": [$list]}" >run/RUN.json
}
# Words before a ti-gather whose timeout must not strike nodes that only did not get to run.
# shellcheck disable=SC2034  # for the scripts
patient=(env "ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0" "LD_PRELOAD=$o/tests/patient.so")
# change KEYPATH=JSON...: in RUN.json; see tests/jsonfile.py
change() { json -w run/RUN.json "$@" || fail "cannot change RUN.json: $*"; }
