#!/bin/bash
# ti-gather: a whole run into a bundle, its names and options.
# shellcheck source=tests/cli/trace-lib.bash
. tests/cli/trace-lib.bash
for tool in python3 unzip; do
    command -v $tool >/dev/null || { echo "there is no $tool"; exit 77; }
done

mktrace --np 6 lu.run || fail "mktrace"
cat >lu.run/RUN.json <<'JSON'
{"np": 6, "run_id": "30313233343536373839616263646500", "command": "lu -x",
 "plan": {"folding": 3}, "steps": {"run": 12.5}, "note": "tab\there"}
JSON
touch lu.run/stdout.log

run 0 ti-gather lu.run
says out "lu.tib: 6 of 6 ranks from 3 nodes"
[ -s err ] && { fail "it talks"; cat err; }
[ -f lu.tib ] || fail "no lu.tib"
[ -e lu.tib.part ] && fail "the .part is left"
run 4 ti-gather lu.run
says err "'lu.tib' exists"
says err "hint: --force"
run 0 ti-gather --force lu.run/
run 0 ti-gather lu.run -o other.zip
[ -f other.zip ] || fail "-o"
rm lu.tib
(cd lu.run && ti-gather -q .) || fail "RUN is ."
[ -f lu.tib ] || fail "RUN is . : no ../lu.tib"
run 0 ti-gather -q lu.run --force
[ -s out ] && fail "-q prints"
run 0 ti-gather -v lu.run --force
says err "rank 5: node-2, "

# other programs read it too; the manifest is the last member
run 0 unzip -tq lu.tib
[ "$(unzip -Z1 lu.tib | xargs)" = "ranks.ti MANIFEST.json" ] || fail "ranks are not merged"
run 0 ti-gather --merge none lu.run --force
run 0 unzip -tq lu.tib
[ "$(unzip -Z1 lu.tib | tail -n 1)" = MANIFEST.json ] || fail "MANIFEST.json is not last"
[ "$(unzip -Z1 lu.tib | wc -l)" -eq 7 ] || fail "number of members"
unzip -p lu.tib rank-000004.ti | cmp - lu.run/rank-000004.ti || fail "rank 4 differs"
check gather manifest_holds_all || fail "the manifest"

# --plan and --json
rm lu.tib
run 0 ti-gather --plan lu.run
says out "lu.tib: would hold 6 of 6 ranks"
[ -e lu.tib ] && fail "--plan writes"
run 0 ti-gather --json lu.run
says out '"complete": true'
says out '"bundle": "lu.tib"'

# --remove: the traces, and nothing else
run 0 ti-gather --remove --force lu.run
says out "removed 6 traces"
[ "$(echo lu.run/*)" = "lu.run/RUN.json lu.run/stdout.log" ] || fail "--remove left: $(echo lu.run/*)"
run 0 ti-info --verify lu.tib
says out "verified: 6 ranks"
run 3 ti-gather --force lu.run
says err "holds no rank-*.ti"
[ -f lu.tib ] || fail "a failed gather removed the old bundle"

run 2 ti-gather
run 2 ti-gather a b
run 2 ti-gather --nonsense lu.run
run 2 ti-gather --resume lu.run
says err "hint: run the same command again"
run 2 ti-gather --compress=9 lu.run
says err "hint: traces are compressed already"
run 4 ti-gather /nonexistent.run
run 3 ti-gather -o b.tib lu.tib
run 0 ti-gather --help
says out "--remove"
run 0 ti-gather --version
exit $failed
