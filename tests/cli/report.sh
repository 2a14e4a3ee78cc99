#!/bin/bash
# ti-report: the page of a real trace and of its replays shows what the tools print; red lines;
# inputs that are foreign, malformed or hostile.  How the page looks is for make check-report.
tool=ti-report
# shellcheck source=tests/cli/acquire-lib.bash
. tests/cli/acquire-lib.bash
for p in ti-info ti-replay ti-extrapolate tests/mktrace examples/lu; do
    [ -x "$o/$p" ] || skip "$o/$p was not built"
done
command -v smpirun >/dev/null || skip 'there is no smpirun'
/usr/bin/python3 -c 'import cffi, numpy' || skip 'there is no Python with cffi and numpy'
case $o in *build) ;; *) skip 'not with sanitizers: Python cannot load libtiara' ;; esac
PATH=$o:$o/tests:$PATH
# No test of the page depends on the library but one: any file that is called d3 will do for the others.
echo '/* d3: a stand-in, never executed here */' >d3.js

"$o/ti-acquire" -q --np 4 -c cputime --mem-per-rank 10M -o lu.tib "$o/examples/lu" S 2 >../out 2>../err ||
    { fail 'ti-acquire'; cat ../err; finish; }
replay=(ti-replay -q lu.tib --topology 'fat-tree:2;2,2;1,2;1,1' --speed 8Gf)
"${replay[@]}" --profile --causes --links --timeline lu.csv --watts 100,200 --json >lu.json || fail 'ti-replay'
"${replay[@]}" --sweep latency='1us|50us' --sweep placement=random:1..3 -o study >../out || fail 'a sweep'
"${replay[@]}" --tolerance latency=5% --json >tolerance.json || fail '--tolerance'

# --- what the page shows ------------------------------------------------------
all=(--replay lu.json --replay tolerance.json --study study --timeline lu.csv)
run 0 lu.tib "${all[@]}" --json
cp ../out page.json
check report trace_is_as_ti_info_says lu.tib page.json || fail 'figures of the trace'
check report replay_is_as_ti_replay_says lu.json page.json || fail 'figures of the replay'
check report calls_are_named_once lu.json page.json || fail 'rows of calls'
check report operations_have_costs lu.json page.json || fail 'costs of operations'
check report marks_are_said_once page.json || fail 'marks that are everywhere'
check report links_are_in_words page.json || fail 'names of links'
check report machines_in_words "$o/report" || fail 'machines in words'
check report phases_say_what_they_hide "$o/report" || fail 'phases that are left out'
"${replay[@]}" --latency 25us --json >half.json || fail 'a replay with half the latency'
check report faster_parts_are_bounds lu.json half.json page.json || fail 'half the latency'
check report sweep_is_as_its_results study page.json || fail 'figures of the sweep'
check report timeline_has_the_times_of_its_file lu.csv page.json || fail 'the timeline'
check report links_have_their_load lu.json page.json || fail 'the platform'
check report every_figure_draws_or_says_why page.json || fail 'empty figures'

# --- comparisons ----------------------------------------------------------------
for np in 2 4; do
    "$o/ti-acquire" -q --np $np -c cputime --mem-per-rank 10M --merge root -o longer.$np.tib "$o/examples/lu" S 4 \
        >../out 2>../err || fail 'ti-acquire'
done
ti-info -q --merge lu.tib -o lu.m || fail 'ti-info --merge'
ti-replay -q lu.m --versus longer.4.tib --json >versus.json || fail 'ti-replay --versus'
ti-replay -q longer.2.tib longer.4.tib --scaling --json >scaling.json || fail 'ti-replay --scaling'
ti-replay -q lu.m --versus lu.m --runs 6 --noise 5% --json >same.json || fail 'ti-replay --versus with itself'
ti-info --compare longer.4.tib lu.m --json >changes.json
run 0 lu.tib --comparison versus.json --comparison scaling.json --comparison changes.json --json
cp ../out compared.json
check report comparisons_are_as_the_tools_say versus.json scaling.json changes.json compared.json ||
    fail 'figures of comparisons'
ti-info --compare lu.m lu.m --json >equal.json
run 0 lu.tib --comparison same.json --comparison equal.json --json
cp ../out same.page
check report says_on_top same.page 'Unproven: the difference of simulated times may be noise' || fail 'noise'
check report is_empty same.page 'What differs in the trace' 'are equal' || fail 'equal traces'
check report is_empty same.page 'Scaling' '--comparison FILE' || fail 'no scaling, and no reason'

run 0 lu.tib "${all[@]}" --d3 d3.js -o lu.html
says err "ti-report: wrote lu.html: "
check report page_has_its_data lu.html page.json || fail 'the data of the page'
run 0 -q lu.tib "${all[@]}" --d3 d3.js -o again.html
[ -s ../err ] && fail '-q prints'
cmp lu.html again.html || fail 'two pages of the same inputs differ'

# --- pictures over time --------------------------------------------------------
"${replay[@]}" --links=12 --json >slices.json || fail 'ti-replay --links=12'
run 0 lu.tib --replay lu.json --replay slices.json --frames film
says err 'ti-report: wrote film: '
check report frames_have_the_load_of_links slices.json film || fail 'pictures over time'
ti-replay -q lu.tib --topology 'dragonfly:1,1;2,1;1,1;2' --speed 8Gf --links=5 --json >cells.json || fail 'a dragonfly'
run 0 -q lu.tib --replay cells.json --frames cells
check report cells_have_the_load_of_links cells.json cells || fail 'pictures of cells'

# --- red lines ----------------------------------------------------------------
check report says_in_red page.json 'What each rank does' Estimated || fail 'an estimate is not marked'
check report says_in_red page.json 'What would help' Bounded || fail 'bounds are not marked'
check report says_in_red page.json 'Simulated time' Unproven || fail 'what is not compared is not marked'
mktrace --np 5 part.run
rm part.run/rank-000003.ti
run 0 part.run --json
cp ../out part.json
for figure in 'What each rank does' 'Who sends to whom' Phases; do
    check report says_in_red part.json "$figure" 'rank 3 is missing' || fail "$figure: a missing rank is not marked"
done
check report is_empty part.json 'Time by rank' '--replay FILE' || fail 'no replay, and no reason'
check report is_empty part.json 'The plan' 'not taken by ti-acquire' || fail 'no plan, and no reason'
run 0 lu.tib --json
cp ../out alone.json
check report sentence alone.json 0 'not known' || fail 'a time without a replay'
echo '{"status": 3, "error": "the replay ran into a deadlock", "waiting": [{"rank": 0}]}' >failed.json
run 0 lu.tib --replay failed.json --json
cp ../out failed.page
check report sentence failed.page 0 'ran into a deadlock' || fail 'a failed replay'

# --- durations, and traces that nobody ran ---------------------------------------
mktrace --np 4 --times --iterations 5 timed.run
run 0 timed.run --json
cp ../out timed.json
check report operations_have_durations timed.run timed.json || fail 'durations of operations'
for np in 4 8 16; do mktrace --np $np --exact --plain --iterations 5 e$np; done
ti-extrapolate -q e4 e8 e16 --np 32 -o proven.tib || fail 'ti-extrapolate'
ti-extrapolate -q e4 e8 --np 32 -o unproven.tib 2>../err || fail 'ti-extrapolate without a proof'
for trace in proven unproven; do
    ti-replay -q $trace.tib --json >$trace.replay 2>../err || fail "ti-replay of $trace.tib"
    run 0 $trace.tib --replay $trace.replay --json
    cp ../out $trace.page
done
check report extrapolation_is_on_top proven.page Extrapolated || fail 'an extrapolated trace'
check report extrapolation_is_on_top unproven.page Unproven || fail 'an unproven trace'

# --- more than 512 ranks ------------------------------------------------------
mktrace --np 600 --iterations 1 many.run
ti-info --traffic --json many.run >many.traffic
ti-gather -q many.run || fail 'ti-gather'
run 0 many.tib --json
check report matrix_is_aggregated many.traffic ../out || fail 'the matrix of 600 ranks'
check report dense_matrix "$o/report" || fail 'a dense matrix'
check report timeline_is_thinned "$o/report" || fail 'a long timeline'

# --- hostile inputs -----------------------------------------------------------
evil='</script><script>hacked=1</script><img src=x onerror=hacked=1>'
cp lu.tib evil.tib
cp lu.json evil.json
json -w evil.tib "application=\"$evil\"" "command=\"$evil\"" "plan.mode=\"$evil\"" "nodes.0.name=\"$evil\""
json -w evil.json "platform=\"$evil\"" "profile.sites.*.function=\"$evil\"" "profile.sites.*.file=\"$evil\"" \
    "causes.helps.*.what=\"$evil\"" "links.*.link=\"$evil\""
cp versus.json evil-versus.json
cp changes.json evil-changes.json
json -w evil-versus.json "versus.traces.0=\"$evil\"" "versus.loops.0.loops.0=\"$evil\"" "versus.sites.*.operation=\"$evil\""
json -w evil-changes.json "paths.0=\"$evil\"" "changes.loops.0.loops.0=\"$evil\""
cat >evil.svg <<END
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9" onload="hacked=1"><script>hacked=1</script>
<g onclick="hacked=1"><a href="javascript:hacked=1"><path d="M0 0L1 1"/></a><rect width="1" height="1"
fill="url(http://example.org/)" style="x"><title>&lt;/script&gt;&lt;script&gt;hacked=1&lt;/script&gt;</title></rect>
<foreignObject><script>hacked=1</script></foreignObject></g></svg>
END
run 0 -q evil.tib --replay evil.json --platform evil.svg --comparison evil-versus.json \
    --comparison evil-changes.json --d3 d3.js -o evil.html
check report nothing_becomes_code lu.html evil.html || fail 'a text became HTML'
run 0 evil.tib --replay evil.json --platform evil.svg --json
check report shapes_only ../out || fail 'more than shapes of a picture'
cp slices.json evil-slices.json
json -w evil-slices.json "platform=\"$evil\"" "links.0.link=\"$evil\""
run 0 -q evil.tib --replay evil-slices.json --platform evil.svg --frames evil-film
check report only_drawing evil-film || fail 'a text became more than text in a picture'
# Results whose values have other types cost their figures, not the page.
cp lu.json odd.json
json -w odd.json 'profile.ranks=7' 'causes.path="x"' 'links.0.use=null' 'platform=[1]'
run 0 lu.tib --replay odd.json --json
says err "'Time by rank' cannot be drawn"
says out 'an input is not as expected'
cp versus.json odd.json
json -w odd.json 'versus.loops.0.in=0' 'versus.loops.0.number=0' 'versus.sites=7'
run 0 lu.tib --comparison odd.json --json
says err "'Which calls take longer or less long' cannot be drawn"

# --- errors -------------------------------------------------------------------
# refused STATUS TEXT OPTION...
refused() {
    local status=$1 text=$2
    shift 2
    run "$status" "$@"
    says err "$text"
    [ ! -s ../out ] || fail "it prints, and fails: $*"
}
echo '[1' >broken.json
echo '{"a": NaN}' >nan.json
echo '{}' >empty.json
mkdir empty
printf 'rank,event,start_s,end_s,state,waiting_s\n0,0,0,x,recv,0\n' >bad.csv
refused 2 'one TRACE is needed'
refused 2 'one TRACE is needed, not 2' lu.tib lu.tib
refused 2 "unknown option '--repaly'" --repaly x lu.tib
refused 2 "option '--output' needs a value" lu.tib --output
refused 2 "option '--json' takes no value" lu.tib --json=1
refused 3 "cannot open 'none.tib'" none.tib
refused 3 "'broken.json' is not JSON" lu.tib --replay broken.json
refused 3 "'nan.json' is not JSON" lu.tib --replay nan.json
refused 3 "'empty.json' is not a result of ti-replay" lu.tib --replay empty.json
says err 'hint: ti-replay TRACE ... --profile --causes --links --json >FILE makes one'
refused 3 "cannot read 'empty/results.json'" lu.tib --study empty
says err 'hint: ti-replay TRACE ... --sweep OPTION=VALUES -o DIR makes one'
refused 3 "'lu.json' is not a result of ti-replay --versus or --scaling" lu.tib --comparison lu.json
says err 'hint: ti-replay TRACE --versus OTHER ... --json >FILE makes one'
refused 3 "'empty.json' is not a result of ti-skew" lu.tib --skew empty.json
says err 'hint: ti-skew --np N --json PROGRAM >FILE makes one'
refused 3 "cannot read 'none.csv': No such file" lu.tib --timeline none.csv
says err 'hint: ti-replay TRACE ... --timeline FILE.csv makes one'
refused 3 "cannot read 'none.svg': No such file" lu.tib --platform none.svg
says err 'hint: ti-replay ... --show-platform=FILE.svg makes one'
refused 4 "'film' is not empty" lu.tib --replay slices.json --frames film
refused 3 '--frames needs a result with the load of links over time' lu.tib --replay lu.json --frames new
says err 'hint: ti-replay TRACE ... --links=60 --json >FILE makes one'
[ ! -e new ] || fail 'a folder for pictures that are not there'
refused 3 "'d3.js' is not JSON" lu.tib --replay d3.js
refused 4 "cannot read '/none/d3.js'" lu.tib --d3 /none/d3.js
refused 3 "'empty.json' is not d3" lu.tib --d3 empty.json
refused 4 "cannot write '/none/x.html'" -q lu.tib --d3 d3.js -o /none/x.html
run 0 lu.tib --timeline bad.csv --json
says out 'bad.csv:2: not a row of a timeline'
head -c 300 lu.tib >cut.tib
run 3 cut.tib --json
grep -q '^ti-report: .*cut.tib' ../err || { fail 'a bundle that is cut off'; cat ../err; }
grep -q Traceback ../err && fail 'a traceback'
mkdir none
for module in cffi numpy; do # as if it were not installed
    echo "raise ImportError(\"No module named '$module'\", name='$module')" >none/$module.py
    PYTHONPATH=none refused 4 "No module named '$module'" lu.tib --json
    says err "hint: install Debian's packages python3-cffi and python3-numpy"
    rm none/$module.py
done
TIARA_LIBRARY=/none/libtiara.so.1 refused 4 'cannot load libtiara.so.1: ' lu.tib --json
run 0 --list
says out 'The trace: Who sends to whom.'
finish
