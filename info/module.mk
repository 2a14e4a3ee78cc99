# info: look inside traces.
progs += ti-info
ti-info_src := info/main.c info/summary.c info/dump.c info/compare.c info/verify.c $(check_src)
