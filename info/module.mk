# info: look inside traces.
progs += ti-info
ti-info_src := info/main.c info/summary.c info/summary_facts.c info/summary_text.c \
               info/summary_json.c info/rank.c info/output.c info/line.c info/event_json.c info/extra.c info/dump.c info/compare.c info/verify.c \
               info/names.c info/symbolizer.c info/pass.c info/tally.c info/traffic.c info/histogram.c info/rates.c \
               $(addprefix info/shapes/,folded.c shapes.c phases.c imbalance.c position.c) \
               info/merge.c info/split.c $(rates_src) $(sound_src) $(bundler_src) $(writer_src)

# Source lines of call sites need libdw (elfutils).
has_libdw := $(shell $(CC) -E -xc -include elfutils/libdw.h /dev/null >/dev/null 2>&1 && echo yes)
ifeq ($(has_libdw),yes)
libdw_libs  := -ldw -lelf
ti-info_src += info/debug_info.c
else
ti-info_src += info/debug_info_absent.c
$(O)/info/main.o: tool_flags += -DTI_NO_LIBDW
all: no-libdw
no-libdw:
	@echo '  no source lines of call sites in ti-info: they need elfutils (libdw-dev)'
.PHONY: no-libdw
endif
ti-info_libs := -lm $(libdw_libs)
$(O)/tests/unit/t-pass $(O)/tests/unit/t-verify: LDLIBS += $(libdw_libs)
t-pass_src := $(filter-out info/main.c,$(ti-info_src)) tests/unit/script.c tests/unit/fold_script.c
t-verify_src := $(t-pass_src)
