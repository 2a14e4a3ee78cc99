# tests/testbed: nodes at several sites on one machine (README.md).  `bed` is a
# script; what it cannot do is in a program.
test_programs += $(O)/tests/testbed/wan

$(O)/tests/testbed/wan: $(O)/tests/testbed/wan.o
	$(call say,LINK)$(CC) $(san_flags) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

testbed-demo:
	@tools/install-deps
	@$(MAKE) --no-print-directory all examples
	@TI_BUILD=$(O) tests/testbed/demo
check-faults:
	@tools/install-deps
	@$(MAKE) --no-print-directory all $(test_programs)
	@TI_BUILD=$(O) tests/testbed/faults --runs $(or $(BED_FAULTS),200) \
	    $(if $(FAULTS_SEED),--seed $(FAULTS_SEED)) $(FAULTS)
.PHONY: testbed-demo check-faults
