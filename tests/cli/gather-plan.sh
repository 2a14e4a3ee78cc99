#!/usr/bin/env bash
# ti-gather --plan: who sends to whom, of 778 nodes at 9 sites, reckoned once more by a few
# lines of Python; --arity, --assume, --dot; and that no node is connected to.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/trace-lib.bash
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
export HOME=$tmp/home
mkdir -p "$HOME" bin
# whoever connects all the same is found out
printf '#!/bin/sh\ntouch %s/connected\nexit 255\n' "$tmp" >bin/ssh
chmod +x bin/ssh
PATH=$tmp/bin:$PATH

# Eight sites behind gateways, one without; one node is this machine.
mkdir big.run
check gather write_big_run || exit 1

# As gather/fetch/tree.h says it, and otherwise than gather/fetch/tree.c does it.
for arity in 1 2 4 8 64 star auto; do
    run 0 ti-gather --plan --json --arity $arity big.run
    check gather tree_is_as_documented $arity || fail "arity $arity"
done
run 0 ti-gather --plan --json big.run
check gather tree_is_as_documented 4 || fail "the default is not 4"
run 0 ti-gather --plan --json --arity star --assume login-cpu=0.27s big.run
json out tree.predicted.assumed | grep -q login-cpu=270ms || fail "what is assumed is not told: $(head -c 600 out)"
awk "BEGIN { exit !($(json out tree.predicted.connect_seconds) > 0.27 * 778) }" ||
    fail "what is assumed does not count: $(head -c 600 out)"

# for people: all of them, each below the one it sends to, in as many ranks as it has
run 0 ti-gather --plan -v big.run
says err "16384 ranks would be fetched first, from 778 nodes"
says out "site0: 120 nodes through access.site0"
says out "site8: 70 nodes, from here"
grep -qE '^arity 4: 4 rounds, 4 hops at most, [0-9]+ connections from here, 13 from a node at most$' out ||
    fail "rounds: $(tail -n 5 out)"
says out "predicted: all nodes connected after"
says out "assumed: rtt=20ms,"
cp out all
run 0 ti-gather --plan --json big.run
check gather plan_in_words_is_the_json || fail "the plan in words is not that in JSON"
# ... unless -v, those that are like another one in a line
run 0 ti-gather --plan big.run
[ "$(wc -l <out)" -lt 90 ] || fail "a long plan: $(wc -l <out) lines"
says out "c0-[11,16,21]: 22 ranks each; pass on 4 nodes each, as c0-6"
run 0 ti-gather --plan --arity star big.run
says out "star: 778 connections from here"
# quiet, it is what was asked for, and nothing else
run 0 ti-gather --plan big.run
[ -s err ] || fail "not a word beside the plan"
cp out plan
run 0 ti-gather -q --plan big.run
cmp -s out plan || fail "another plan if quiet: $(diff plan out)"
[ -s err ] && fail "quiet, and says: $(cat err)"
run 0 ti-gather --plan --json big.run
sed '/^ "seconds"/d; /^  "seconds"/d' out >plan
run 0 ti-gather -q --plan --json big.run
sed '/^ "seconds"/d; /^  "seconds"/d' out | cmp -s - plan || fail "another plan in JSON if quiet: $(cat out)"
[ -s err ] && fail "quiet, and says: $(cat err)"
mktrace --np 3 here.run
run 0 ti-gather -q --plan here.run
says out "here.tib: would hold 3 of 3 ranks"
[ -s err ] && fail "quiet, and says: $(cat err)"
# what is here and what is to be fetched; what nobody has is missing
cat >part.json <<END
{"np": 5, "run_id": "5eed5eed5eed5eed5eed5eed5eed5eed",
 "nodes": [{"name": "a", "host": "a", "directory": "/a", "ranks": [[0, 2], [4, 4]]}]}
END
mktrace --np 5 --run-id 5eed5eed5eed5eed5eed5eed5eed5eed part.run
rm part.run/rank-00000[14].ti
cp part.json part.run/RUN.json
run 0 ti-gather --plan part.run
says err "2 ranks would be fetched first, from 1 node"
says out "part.tib: would hold 5 of 5 ranks"
says out ", 2 of them to be fetched; here are 3 from 2 nodes, "
grep -q missing err && fail "missing, and to be fetched: $(cat err)"
rm part.run/rank-000003.ti
run 1 ti-gather --plan --json part.run
says err "1 rank is missing: 3"
json out ranks=2 np=5 complete=false fetch.wanted=2 \
    'missing=[{"ranks": [[1, 1], [4, 4]], "state": "on a node, to be fetched"},
              {"ranks": [[3, 3]], "state": "missing", "reason": "no file"}]' || fail "a plan of a part"

# how long it takes, where RUN.json says how much nodes have: 100 MB a rank
run 0 ti-gather --plan big.run
says out "RUN.json does not say how much they have to send"
check gather write_sized_runs
mkdir sized.run many.run
cp big.json sized.run/RUN.json
cp many.json many.run/RUN.json
for arity in star 4 auto; do
    run 0 ti-gather --plan --json --arity $arity --assume site-rate=100mbit,headers=0% sized.run
    check gather sizes_bound_the_time || fail "sizes, arity $arity: $(head -c 2000 out)"
done
run 0 ti-gather --plan --assume site-rate=100mbit sized.run
grep -qE '^predicted: all nodes connected after [0-9.]+ s, the last byte after [0-9.]+ s; the links alone take [0-9.]+ s$' out ||
    fail "times: $(tail -n 5 out)"
for bytes in '"many"' -1 1e3 35184372088833; do # of 100,000 nodes, that sum would be no number
    sed "s/\"many\"/$bytes/" many.json >many.run/RUN.json
    run 3 ti-gather --plan many.run
    says err "\"bytes\" is no number of bytes"
done
# of what is here already, nothing has to be sent
json -w part.run/RUN.json nodes.0.bytes=4000
run 1 ti-gather --plan --json part.run
grep -q '"wanted_bytes": 2000' out || fail "half of the ranks are here: $(cat out)"

# a drawing: each node, each link, and nothing that Graphviz would not take
run 0 ti-gather -q --plan --dot tree.dot big.run
check gather drawing_is_a_graph tree.dot 779 778 || fail "the drawing"
if command -v dot >/dev/null; then
    dot -Tcanon tree.dot >/dev/null || fail "Graphviz does not take the drawing"
fi
rm -f lonely.dot
run 0 ti-gather -q --dot lonely.dot here.run
check gather drawing_is_a_graph lonely.dot 1 0 || fail "a drawing without nodes: $(cat lonely.dot)"
run 4 ti-gather -q --plan --dot no/such/tree.dot big.run
says err "cannot write the drawing 'no/such/tree.dot'"

# Many nodes that name many ranks, most of them the same: a matter of what there is, not of
# what is named.  (Rank by rank it is some minutes, and each rank would be looked for here.)
mkdir claimed.run
check gather write_claimed_run
run 0 ti-gather --plan --json claimed.run
check gather claimed_ranks_are_wanted_once || fail "what nodes name is not what is wanted: $(head -c 600 out)"
mktrace --np 1000000 --ranks 500-501 --run-id 5eed5eed5eed5eed5eed5eed5eed5eed claimed.run >/dev/null
run 0 ti-gather --plan claimed.run
says err "999998 ranks would be fetched first, from 10000 nodes"
says out "claimed.tib: would hold 1000000 of 1000000 ranks"
run 0 ti-gather --plan --json claimed.run
json out 'missing=[{"ranks": [[0, 499], [502, 999999]], "state": "on a node, to be fetched"}]' ||
    fail "what is to be fetched"
# ... of which some are here, whole as far as one can see, some nowhere, some said to be here
mkdir some.run
mktrace --np 300 --run-id 5eed5eed5eed5eed5eed5eed5eed5eed some.run >/dev/null
check gather write_some_run || fail "some.run"
run 1 ti-gather --plan --json some.run
check gather ranks_of_some_run_are_known || fail "what is here is not known: $(head -c 600 out)"

# options that make no sense
while IFS='|' read -r options text; do
    # shellcheck disable=SC2086  # words are meant
    run 2 ti-gather $options --plan big.run
    says err "$text"
    says err "try 'ti-gather --help'"
done <<'END'
--arity 0|--arity must be 1 to 64, auto or star, not '0'
--arity 65|--arity must be 1 to 64, auto or star, not '65'
--arity many|--arity must be 1 to 64, auto or star, not 'many'
--assume rtt|--assume: 'rtt' must be a time in us, ms or s
--assume rtt=20|--assume: 'rtt' must be a time in us, ms or s
--assume rate=-1mbit|--assume: 'rate' must be a rate in kbit, mbit
--assume rtt=1ms,speed=2|--assume: 'speed' cannot be assumed
--transport pigeon|--transport must be auto, libssh2 or openssh, not 'pigeon'
--transport libssh2 --forward-agent|--forward-agent needs OpenSSH
--timeout 0|--timeout
END
# What RUN.json says commands no terminal.
rm -rf escape && mkdir escape
check gather write_rude_run
run 0 ti-gather -n escape
says out 's?[31m??1m: 4 nodes through gate'
[ -e connected ] && fail "a plan connected to a node"
[ -e big.tib ] && fail "a plan wrote a bundle"
exit $failed
