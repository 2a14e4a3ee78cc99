# info: look inside traces.
progs += ti-info
ti-info_src := info/main.c info/summary.c info/summary_facts.c info/summary_text.c \
               info/summary_json.c info/rank.c info/output.c info/event_json.c info/event_csv.c info/extra.c info/dump.c info/verify.c \
               info/traffic.c info/histogram.c info/rates.c \
               $(addprefix info/shapes/,phases.c imbalance.c position.c compare.c \
                   quantities.c changes.c) \
               info/merge.c info/split.c info/trips.c info/timeline.c $(timeline_src) $(analysis_src) $(versions_src) $(terminal_src) $(trips_src) $(callsite_src) $(rates_src) $(sound_src) $(bundler_src) $(writer_src)
ti-info_libs := $(timeline_libs) $(libdw_libs)
$(O)/tests/unit/t-pass $(O)/tests/unit/t-verify $(O)/tests/unit/t-no-memory: LDLIBS += $(libdw_libs) $(timeline_libs)
t-pass_src := $(filter-out info/main.c,$(ti-info_src)) tests/unit/script.c tests/unit/fold_script.c
t-verify_src := $(t-pass_src)
t-no-memory_src = $(t-pass_src) $(filter-out lib/api/silent.c,$(api_src)) tests/unit/failing.c tests/unit/work.c \
                  tests/unit/work_encode.c tests/unit/programs.c
$(O)/tests/unit/t-no-memory: LDLIBS += -Wl,--wrap=ti_pool_take,--wrap=ti_pool_take_any
