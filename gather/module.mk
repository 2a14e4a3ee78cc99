# gather: run directories into bundles.
progs += ti-gather
gather_src := gather/run.c gather/manifest.c gather/bundle.c gather/output.c
ti-gather_src := gather/main.c $(gather_src)
t-bundle_src := $(gather_src)
