#!/bin/bash
# ti-info --compare: equal, different, and where.
# shellcheck source=tests/cli/trace-lib.bash
. tests/cli/trace-lib.bash

mktrace --np 4 --iterations 50 a.run
ti-gather -q a.run || fail "gather"
run 0 ti-info --compare a.run a.tib
says out "equal: 4 ranks, "
run 0 ti-info -q --compare a.run a.tib
[ -s out ] && fail "-q prints"
mktrace --np 4 --iterations 50 --sites elsewhere b.run
run 0 ti-info --compare a.run b.run

# another volume everywhere
mktrace --np 4 --iterations 50 --volume 3 c.run
run 1 ti-info --compare a.run c.run
says out "different: 4 of 4 ranks: 0-3"
says out "rank 0 differs at event 0:"
says out "  c.run: 3 init"
says out "  a.run: 0 init"
run 0 ti-info --compare a.run --no-volumes c.run
run 0 ti-info --compare a.run --tolerance 3 c.run
run 1 ti-info --compare a.run --tolerance 2 c.run

# one message of one rank
mktrace --np 4 --iterations 50 --change 2:33 d.run
run 1 ti-info --compare d.run --no-volumes a.tib
says out "different: 1 of 4 ranks: 2"
says out "rank 2 differs at event $((3 + 33 * 6)):"
says out "  a.tib: irecv comm=0 peer=any tag=7 bytes=34000"
says out "  d.run: irecv comm=0 peer=any tag=7 bytes=34008"

# one ends sooner; one has fewer ranks; one lacks a rank
mktrace --np 4 --iterations 50 --hold 3 e.run
truncate -s -200 e.run/rank-000003.ti
run 1 ti-info --compare a.run e.run
says out "rank 3 differs at event"
says out "(no more events)"
mktrace --np 5 --iterations 50 f.run
run 1 ti-info --compare a.run f.run
says out "different: 5 ranks and 4"
rm e.run/rank-000003.ti
run 1 ti-info --compare a.run e.run
says out "rank 3 is missing from 'e.run'"

# a call that is not traced is compared by its name: its number differs
mktrace --np 2 --untraced g.run
mktrace --np 2 --untraced --sites x h.run
run 0 ti-info --compare g.run h.run
run 4 ti-info --compare nothing a.run
run 3 ti-info --compare out a.run
exit $failed
