# gather: run directories into bundles.
progs += ti-gather
gather_src := gather/run.c gather/reading.c gather/ahead.c gather/manifest.c gather/bundle.c gather/output.c
gather_fetch_src := gather/fetch.c gather/findings.c gather/flow.c gather/holders.c gather/nodes.c gather/reach.c \
              gather/receive.c gather/transfer.c gather/tree.c gather/way.c
gather_says_src := gather/report.c gather/show.c
ti-gather_src := gather/main.c gather/options.c $(gather_says_src) $(gather_fetch_src) $(gather_src) $(bootstrap_src) $(node_src) $(remote_src)
ti-gather_libs := $(remote_libs)
gather_way_src := gather/way.c $(bootstrap_src) $(node_src) $(remote_src)
t-bundle_src := $(gather_src)
t-flow_src := gather/flow.c
t-tree_src := gather/tree.c
t-fetch_src := $(filter-out gather/way.c,$(gather_fetch_src)) $(node_src)
t-ahead_src := $(gather_src)
t-report_src := $(gather_says_src) gather/nodes.c gather/tree.c $(gather_src)
