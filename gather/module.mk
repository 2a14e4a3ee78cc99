# gather: traces from nodes into bundles.
progs += ti-gather
gather_tree_src := $(addprefix gather/fetch/,tree.c tree_cost.c tree_assume.c)
gather_fetch_src := $(addprefix gather/fetch/,fetch.c result.c plan.c loop.c connect.c transfer.c merged.c receive.c window.c listing.c announced.c \
              checksums.c removal.c copies.c abandon.c senders.c requests.c failures.c gathering.c nodes.c kept.c) \
              $(gather_tree_src)
gather_says_src := gather/report.c gather/show.c
gather_src := gather/gather.c gather/options.c $(gather_says_src) $(gather_fetch_src) $(bundler_src) $(conn_src) \
              $(node_src) $(remote_src)
ti-gather_src := gather/main.c $(gather_src)
ti-gather_libs := $(remote_libs)
t-window_src := gather/fetch/window.c
t-tree_src := $(gather_tree_src)
t-fetch_src := $(gather_fetch_src) lib/bundle/node_traces.c $(node_src) $(merger_src)
t-report_src := $(gather_says_src) gather/fetch/nodes.c $(gather_tree_src) $(bundler_src)
