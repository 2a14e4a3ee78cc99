# gather: run directories into bundles.
progs += ti-gather
gather_src := gather/run.c gather/rank_scan.c gather/scanner.c gather/manifest.c gather/bundle.c gather/output.c
gather_fetch_src := gather/fetch.c gather/failures.c gather/window.c gather/copies.c gather/nodes.c gather/connect.c \
              gather/receive.c gather/transfer.c gather/tree.c
gather_says_src := gather/report.c gather/show.c
ti-gather_src := gather/main.c gather/options.c $(gather_says_src) $(gather_fetch_src) $(gather_src) $(conn_src) $(node_src) $(remote_src)
ti-gather_libs := $(remote_libs)
t-bundle_src := $(gather_src)
t-window_src := gather/window.c
t-tree_src := gather/tree.c
t-fetch_src := $(gather_fetch_src) $(node_src)
t-scanner_src := $(gather_src)
t-report_src := $(gather_says_src) gather/nodes.c gather/tree.c $(gather_src)
