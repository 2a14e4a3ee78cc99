# bundle: run directories and bundles.
bundle_src := $(addprefix lib/bundle/,zip.c runjson.c doubts.c source.c source_kinds.c source_manifest.c)
# It needs the encoder, which only programs that merge have.
merger_src += lib/bundle/source_record.c
# Checking run directories, and writing bundles.
bundler_src := $(addprefix lib/bundle/,run.c check.c identify.c totals.c rank_scan.c scanner.c manifest.c \
                 bundle.c zip_writer.c read_back.c remove.c output.c part.c merging.c merge_options.c \
                 node_traces.c) $(merger_src)
t-bundle_src := $(bundler_src)
$(O)/tests/unit/t-bundle: LDLIBS += -Wl,--wrap=ti_merger_add
t-scanner_src := $(bundler_src)
