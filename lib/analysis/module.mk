# analysis: sums over all ranks of a trace, and texts of its events.
analysis_src := $(addprefix lib/analysis/,line.c pass.c tally.c traffic.c histogram.c folded.c shapes.c compare.c)
