"""The figures of the report, in their order.  README.md says how to add one."""

import figures_compared as c
import figures_replay as r
import figures_trace as t
from figure import Figure
from picture import platform

REPLAY = "ti-replay {trace} ... --profile --causes --links --json"

FIGURES = [
    Figure("The replay", "Simulated time", r.simulated,
           "How long the program takes on each platform. Lines are intervals of the median, where there "
           "are several runs.", REPLAY),
    Figure("The replay", "What would help", r.helps,
           "By how much the time could fall at most without each of these.", REPLAY, "replays"),
    Figure("The replay", "What faster parts would bring", r.upgrades,
           "By how much the time could fall at most with half the latency, processors twice as fast, or "
           "twice the bandwidth.", REPLAY, "replays"),
    Figure("The replay", "The critical path", r.critical,
           "What the chain of work and messages consists of that decides how long the program takes.",
           REPLAY, "replays"),
    Figure("The replay", "Time by call", r.time_by_call,
           "The calls that take longest, with the bursts before them, over all ranks. Calls on one source "
           "line are one row.", REPLAY, "replays"),
    Figure("The replay", "Who waits for whom", r.waits,
           "Seconds that each rank (row) waits for each rank (column).", REPLAY, "replays"),
    Figure("The replay", "Why ranks wait", r.why_wait,
           "The longest kinds of waiting, and what the others do meanwhile.", REPLAY, "replays"),
    Figure("The replay", "Busiest links", r.links,
           "The share of the time for which a link is in use, in one direction; 100 % would be a link "
           "that is always in use.", REPLAY, "replays"),
    Figure("The replay", "Time by rank", r.time_by_rank,
           "How long each rank computes, communicates, and waits for a partner that is not ready.",
           REPLAY, "replays"),
    Figure("The replay", "Timeline", r.timeline,
           "What each rank does over time: simulated (of ti-replay) or measured (of ti-info). Zoom in to "
           "see calls.",
           "ti-replay {trace} ... --timeline FILE.csv"),
    Figure("The replay", "The platform", platform,
           "The simulated machine, with its links in the colour of their use by the first replay.", "ti-replay --show-platform=FILE.svg ..."),
    Figure("The replay", "Real and simulated", r.against,
           "The simulated time beside real ones.", "ti-replay {trace} ... --against FILE --json", "replays"),
    Figure("Other machines", "Sweep", r.sweep,
           "Simulated time over the values of an option. Bands reach from the least to the most of "
           "replays that differ in a seed only.", "ti-replay {trace} ... --sweep ... -o DIR", "studies"),
    Figure("Other machines", "Tolerance", r.tolerance,
           "How much worse a value may be before the program is slower.",
           "ti-replay {trace} ... --tolerance OPTION=1% --json"),
    Figure("Comparisons", "Where the simulated time differs", c.versus_loops,
           "How much longer or less long a rank spends in each loop of this trace than of the other one, on "
           "average, with the loops in it. Bars add up to the difference.",
           "ti-replay {trace} --versus OTHER ... --json", "versus"),
    Figure("Comparisons", "Which calls take longer or less long", c.versus_calls,
           "The same by call, with the computing before it.",
           "ti-replay {trace} --versus OTHER ... --json", "versus"),
    Figure("Comparisons", "Scaling", c.scaling,
           "Simulated time, speedup and efficiency with more ranks.",
           "ti-replay {trace} MORE... --scaling ... --json", "scaling"),
    Figure("Comparisons", "Where scaling loses time", c.losses,
           "The time of a rank beyond the ideal one in each loop, on average, with the most ranks.",
           "ti-replay {trace} MORE... --scaling ... --json", "scaling"),
    Figure("Comparisons", "What differs in the trace", c.quantities,
           "How much more or less all ranks compute, send and call in each loop, with the loops in it; the largest "
           "change first.",
           "ti-info --compare OTHER {trace} --json", "changes"),
    Figure("The trace", "What each rank does", t.by_rank,
           "Volume of compute bursts, events, and bytes of messages by rank. Flat is balanced.",
           "ti-info --rank N {trace}"),
    Figure("The trace", "Phases", t.phases,
           "The program as loops and calls, with the share of the volume before each call. Ranks that "
           "do the same are shown once.", "ti-info --phases {trace}"),
    Figure("The trace", "Operations", t.operations,
           "How often all ranks call each operation of MPI, and the time that they spend in it.",
           "ti-info {trace}; ti-replay {trace} ... --profile"),
    Figure("The trace", "Imbalance", t.imbalance,
           "By how much the rank with most work exceeds the mean, in per cent of all work of a rank: "
           "what balance could save at most.", "ti-info --imbalance {trace}"),
    Figure("The trace", "Who sends to whom", t.traffic,
           "Bytes of messages and one-sided transfers from each rank (row) to each rank (column); "
           "collectives are not in it.", "ti-info --traffic --all {trace}"),
    Figure("The trace", "Message sizes", t.sizes,
           "How many transfers have which size, in powers of two.", "ti-info --histogram {trace}"),
    Figure("The trace", "Lengths of bursts", t.bursts,
           "How many compute bursts have which volume, in powers of two.", "ti-info --histogram {trace}"),
    Figure("The trace", "Size of the trace", t.stored,
           "What the trace takes as text, as a file for each rank, and as it is, with its parts.",
           "unzip -lv {trace}; ti-info {trace}"),
    Figure("The trace", "Is the trace sound?", t.soundness,
           "Whether each message that is sent is received, and all ranks call the same collectives.",
           "ti-info --verify {trace}"),
    Figure("The run", "How it was extrapolated", t.extrapolation,
           "The runs that the trace was made from, and its proof: the largest of them, made from the others.",
           "ti-info {trace}; unzip -p {trace} MANIFEST.json"),
    Figure("The run", "What ran, and where", t.what_ran,
           "The program, the machine that traced it, and what the trace holds.", "ti-info {trace}"),
    Figure("The run", "The plan", t.plan,
           "Ranks of each cluster or node, and how many share a core. Volumes do not depend on it.",
           "ti-acquire --dry-run ..."),
    Figure("The run", "Steps of the acquisition", t.steps,
           "How long each step took. It says nothing of the time on the target machine.",
           "unzip -p {trace} MANIFEST.json"),
    Figure("The run", "How traces were gathered", t.gather,
           "The tree by which traces came here. Circles grow with the bytes on a connection.",
           "unzip -p {trace} MANIFEST.json"),
    Figure("The run", "How tracing changes the program", t.skew,
           "Medians of runs with tracing, relative to runs without; lines from the least to the most.",
           "ti-skew --json --np ... PROGRAM"),
]
