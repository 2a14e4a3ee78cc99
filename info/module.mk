# info: look inside traces.
progs += ti-info
ti-info_libs := -lm
ti-info_src := info/main.c info/summary.c info/summary_facts.c info/summary_text.c \
               info/summary_json.c info/rank.c info/output.c info/extra.c info/dump.c info/compare.c info/verify.c \
               info/names.c info/pass.c info/traffic.c info/histogram.c info/rates.c $(rates_src) $(sound_src)
t-pass_src := $(filter-out info/main.c,$(ti-info_src)) tests/unit/script.c
