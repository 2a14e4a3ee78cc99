# tests/fuzz: `make fuzz` runs the fuzzers (clang) for FUZZ_SECONDS each; `make
# check` runs the same targets over the corpus, without clang (cli/fuzz-corpus).
FUZZ_CC      ?= clang
FUZZ_SECONDS ?= 60
fuzzers      := trace bundle check sites frame conn messages simgrid merged folded api $(if $(blocks_as),blocks)

fuzz_src     := tests/fuzz/common.c $(sound_src) $(lib_src)
fuzz_flags   := -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
                -fno-omit-frame-pointer
fuzz_src_frame   := lib/session/frame.c
fuzz_src_conn     := $(gather_fetch_src) lib/bundle/node_traces.c $(conn_src) $(node_src) $(merger_src)
fuzz_src_messages := $(filter-out lib/node/main.c lib/node/install.c,$(filter lib/node/% lib/program/% lib/session/%,$(ti-node_src))) $(merger_src) $(writer_src)
fuzz_libs_conn    := -Wl,--wrap=ti_now,--wrap=ti_warn,--wrap=ti_paths_find,--wrap=ti_sha256_end
fuzz_wrapped     := ti_now ti__now poll ti_paths_find ti_sha256_end ti_task_start ti_facts ti_left_find ti_left_remove ti_waits ti_launch_start ti_launch_signal \
                    ti_launch_each ti_launch_signal_fd ti_launch_sleep waitpid kill killpg fork execvp chdir \
                    sched_setscheduler open mkdir rmdir ti_folder_remove
fuzz_libs_messages := $(fuzz_wrapped:%=-Wl,--wrap=%)
fuzz_src_blocks  := $(blocks_src)
fuzz_src_sites   := $(sites_src)
fuzz_src_merged  := $(merger_src) $(trips_src) $(callsite_src)
fuzz_libs_merged := $(libdw_libs)
fuzz_src_folded  := $(merger_src)
fuzz_src_api     := $(filter-out lib/api/silent.c,$(api_src)) $(filter-out $(sound_src) $(lib_src),$(api_below))
fuzz_libs_api    := $(libdw_libs)
fuzz_corpus_api  := $(addprefix tests/fuzz/corpus/,trace merged bundle)
fuzz_src_simgrid := $(filter-out $(sound_src),$(convert_src)) $(writer_src)
fuzz_libs_simgrid := -lm -Wl,--wrap=ti_warn
fuzz_libs_blocks := -lZydis
test_programs += $(fuzzers:%=$(O)/tests/fuzz/replay-%)

define fuzzer
$(O)/tests/fuzz/replay-$(1): $(call obj,tests/fuzz/replay.c tests/fuzz/fuzz-$(1).c $(fuzz_src) $(fuzz_src_$(1)))
	@mkdir -p $$(@D)
	$$(call say,LINK)$$(CC) $$(san_flags) $$(CFLAGS) $$(LDFLAGS) -o $$@ $$^ $$(pkg_libs) $$(fuzz_libs_$(1)) $$(LDLIBS)
$(O)/tests/fuzz/fuzz-$(1): tests/fuzz/fuzz-$(1).c tests/fuzz/fuzz.h $(fuzz_src) $(fuzz_src_$(1)) $(wildcard lib/*/*.h)
	@mkdir -p $$(@D)
	$$(call say,FUZZ)$$(FUZZ_CC) $$(filter-out -MMD -MP,$$(flags)) $$(filter-out -fsanitize=%,$$(tool_flags)) \
	    $$(pkg_cflags) $$(fuzz_flags) -o $$@ $$(filter %.c,$$^) $$(pkg_libs) $$(fuzz_libs_$(1))
# What is found is left in $(O)/tests/fuzz/$(1).found; new inputs that reach
# more go to $(O)/tests/fuzz/$(1).corpus.
fuzz-$(1): $(O)/tests/fuzz/fuzz-$(1)
	@mkdir -p $(O)/tests/fuzz/$(1).corpus $(O)/tests/fuzz/$(1).found
	$(O)/tests/fuzz/fuzz-$(1) -max_total_time=$$(FUZZ_SECONDS) -timeout=10 -rss_limit_mb=2048 \
	    -max_len=16384 -print_final_stats=1 -artifact_prefix=$(O)/tests/fuzz/$(1).found/ \
	    $(O)/tests/fuzz/$(1).corpus $(or $(fuzz_corpus_$(1)),tests/fuzz/corpus/$(1))
endef
fuzz_corpus_check := $(addprefix tests/fuzz/corpus/,check trace bundle)
$(foreach f,$(fuzzers),$(eval $(call fuzzer,$(f))))

fuzz: $(fuzzers:%=fuzz-%)
.PHONY: fuzz $(fuzzers:%=fuzz-%)

# Where the corpus began: what the format has, and what asks for too much.  A change
# of the format is a reason to make it again.  (found-* are what fuzzers found to reach
# more than those do.)
$(O)/tests/fuzz/seeds: $(call obj,tests/fuzz/seeds.c tests/unit/script.c $(writer_src) $(merger_src) $(fuzz_src))
	$(call say,LINK)$(CC) $(san_flags) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(pkg_libs) -lcmocka $(LDLIBS)
$(O)/tests/fuzz/bombs: $(call obj,tests/fuzz/bombs.c $(fuzz_src))
	$(call say,LINK)$(CC) $(san_flags) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(pkg_libs) $(LDLIBS)
fuzz-corpus: $(O)/tests/fuzz/seeds $(O)/tests/fuzz/bombs $(O)/ti-gather
	$(O)/tests/fuzz/seeds $(O)/tests/fuzz
	$(O)/tests/fuzz/bombs tests/fuzz/corpus/bombs
	cp $(O)/tests/fuzz/trace/* tests/fuzz/corpus/trace
	@mkdir -p tests/fuzz/corpus/merged
	cp $(O)/tests/fuzz/merged/* tests/fuzz/corpus/merged
	@mkdir -p tests/fuzz/corpus/folded
	cp $(O)/tests/fuzz/folded/* tests/fuzz/corpus/folded
	$(O)/ti-gather --quiet --force --merge none -o tests/fuzz/corpus/bundle/sound $(O)/tests/fuzz/run
	$(O)/ti-gather --quiet --force -o tests/fuzz/corpus/bundle/merged $(O)/tests/fuzz/run
.PHONY: fuzz-corpus

# A seed of target blocks: the text, its length in front, and what it became.
$(O)/tests/fuzz/blocks-%: tests/blocks/%.s $(blocks_as)
	@mkdir -p $(@D)
	TIARA_FUZZ_SEED=$@ TIARA_AS=tests/fuzz/blocks-seed $(blocks_as) -o /dev/null $<
fuzz-corpus-blocks: $(O)/tests/fuzz/blocks-torture $(O)/tests/fuzz/blocks-intel $(O)/tests/fuzz/blocks-macros
	@mkdir -p tests/fuzz/corpus/blocks
	cp $^ tests/fuzz/corpus/blocks
.PHONY: fuzz-corpus-blocks
