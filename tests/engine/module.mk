# A ti-replay whose table of engines has one row more.
test_programs += $(O)/tests/engine/ti-replay
engine_again  := $(addprefix replay-bridge/,options.c simulation/engines.c)

$(O)/tests/engine/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(flags) $(tool_flags) $(pkg_cflags) $(CPPFLAGS) $(CFLAGS) \
	    '-DTI_ENGINES(X)=X(sums) X(stock) X(tiara)' -c -o $@ $<
$(O)/tests/engine/ti-replay: $(addprefix $(O)/tests/engine/,$(engine_again:.c=.o) tests/engine/sums.o) \
        $(call obj,$(filter-out $(engine_again),$(ti-replay_src)) $(lib_src))
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(san_flags) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(pkg_libs) $(ti-replay_libs) $(LDLIBS)
