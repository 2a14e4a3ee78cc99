# info: look inside traces.
progs += ti-info
ti-info_libs := -lm
ti-info_src := info/main.c info/summary.c info/extra.c info/dump.c info/compare.c info/verify.c $(check_src)
