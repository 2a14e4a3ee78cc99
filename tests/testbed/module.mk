# tests/testbed: nodes at several sites on one machine (README.md).  `bed` is a
# script; what it cannot do is in a program.
test_programs += $(O)/tests/testbed/wan $(O)/tests/testbed/ti-node-clock

$(O)/tests/testbed/wan: $(O)/tests/testbed/wan.o
	$(call say,LINK)$(CC) $(san_flags) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)
# A ti-node whose clock is wrong by what the bed says.
$(O)/tests/testbed/ti-node-clock: $(call obj,$(ti-node_src) $(lib_src)) $(O)/tests/testbed/clock.o $(built)
	$(call say,LINK)$(CC) $(san_flags) $(CFLAGS) $(LDFLAGS) -Wl,-s,--wrap=clock_gettime,--wrap=time -o $@ $^ \
	    $(node_libs) $(LDLIBS)

testbed-demo:
	@tools/install-deps
	@$(MAKE) --no-print-directory all examples
	@TI_BUILD=$(O) tests/testbed/demo
check-faults:
	@tools/install-deps
	@$(MAKE) --no-print-directory all examples $(test_programs)
	@TI_BUILD=$(O) tests/testbed/faults --trials $(or $(FAULTS),200) --first $(or $(FAULTS_SEED),1)
check-gather-faults:
	@tools/install-deps
	@$(MAKE) --no-print-directory all $(test_programs)
	@TI_BUILD=$(O) tests/testbed/gather-faults --runs $(or $(GATHER_FAULTS),200) \
	    $(if $(FAULTS_SEED),--seed $(FAULTS_SEED)) $(GATHER_CASES)
.PHONY: testbed-demo check-faults check-gather-faults
