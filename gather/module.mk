# gather: run directories into bundles.
progs += ti-gather
gather_src := $(addprefix gather/bundle/,run.c check.c identify.c totals.c rank_scan.c scanner.c manifest.c bundle.c zip_writer.c \
              read_back.c remove.c output.c part.c merging.c merge_options.c node_traces.c) $(merger_src)
gather_tree_src := $(addprefix gather/fetch/,tree.c tree_cost.c tree_assume.c)
gather_fetch_src := $(addprefix gather/fetch/,fetch.c result.c plan.c loop.c connect.c transfer.c merged.c receive.c window.c listing.c \
              checksums.c removal.c copies.c abandon.c senders.c requests.c failures.c job.c nodes.c) \
              $(gather_tree_src)
gather_says_src := gather/report.c gather/show.c
ti-gather_src := gather/main.c gather/options.c $(gather_says_src) $(gather_fetch_src) $(gather_src) $(conn_src) $(node_src) $(remote_src)
ti-gather_libs := $(remote_libs)
t-bundle_src := $(gather_src)
$(O)/tests/unit/t-bundle: LDLIBS += -Wl,--wrap=ti_merger_add
t-window_src := gather/fetch/window.c
t-tree_src := $(gather_tree_src)
t-fetch_src := $(gather_fetch_src) gather/bundle/node_traces.c $(node_src) $(merger_src)
t-scanner_src := $(gather_src)
t-report_src := $(gather_says_src) gather/fetch/nodes.c $(gather_tree_src) $(gather_src)
