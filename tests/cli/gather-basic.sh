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
[ "$(unzip -Z1 lu.tib | tail -n 1)" = MANIFEST.json ] || fail "MANIFEST.json is not last"
[ "$(unzip -Z1 lu.tib | wc -l)" -eq 7 ] || fail "number of members"
unzip -p lu.tib rank-000004.ti | cmp - lu.run/rank-000004.ti || fail "rank 4 differs"
python3 - <<'PY' || fail "the manifest"
import json, zipfile, zlib
z = zipfile.ZipFile('lu.tib')
assert z.testzip() is None
m = json.loads(z.read('MANIFEST.json'))
assert m['format'] == 'tiara-bundle' and m['version'] == 1 and m['np'] == 6
assert m['complete'] is True and m['missing'] == [] and m['incomplete'] == []
assert m['command'] == 'lu -x' and m['application'] == 'app' and m['plan'] == {'folding': 3}
assert m['counter'] == dict(backend='papi', event='PAPI_TOT_INS', unit='instructions', exact=False,
                            estimate=False,
                            calibration=dict(least=40, most=45, spread=1))
assert m['acquisition']['note'] == 'tab\there'
steps = m['acquisition']['steps']
assert steps['run'] == 12.5 and steps['gather']['seconds'] >= steps['gather']['check_seconds'] >= 0
assert [n['ranks'] for n in m['nodes']] == ['0-1', '2-3', '4-5']
assert sum(r['events'] for r in m['ranks']) == m['totals']['events']
for r in m['ranks']:
    data = z.read('rank-%06d.ti' % r['rank'])
    assert len(data) == r['bytes'] and '%08x' % zlib.crc32(data) == r['crc32']
PY

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
says err "hint: the same command again"
run 2 ti-gather --compress=9 lu.run
says err "hint: traces are compressed already"
run 4 ti-gather /nonexistent.run
run 3 ti-gather -o b.tib lu.tib
run 0 ti-gather --help
says out "--remove"
run 0 ti-gather --version
exit $failed
