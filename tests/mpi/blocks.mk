# The examples, and programs of tests/mpi, as ti-mpicc compiles them; with MPICH too.
ifneq ($(blocks_as),)
blocks_c := $(wrappers:%=$(O)/%) $(wrap_libs)
blocks_examples := $(examples:%=$(O)/blocks/%)
blocks_tests    := $(O)/blocks/bursts $(O)/blocks/threads $(O)/blocks/callbacks $(O)/blocks/misses
ifneq ($(MPICC_mpich),)
blocks_tests    += $(O)/blocks/bursts.mpich
endif
test_programs   += $(blocks_examples) $(blocks_tests) $(O)/blocks/audit/lu

ti_c = $(call say,TI-CC)TIARA_MPICC='$(MPICC)' $(O)/ti-mpicc
ti_f = $(call say,TI-FC)TIARA_MPIFORT='$(MPIFC)' $(O)/ti-mpifort
$(O)/blocks/%.o: examples/%.c $(blocks_as) | $(blocks_c)
	@mkdir -p $(@D)
	$(ti_c) $(flags) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<
$(O)/blocks/%.o: examples/%.f $(blocks_as) | $(blocks_c)
	@mkdir -p $(@D)
	$(ti_f) -Wall $(FMOD)$(@D) $(FFLAGS) -c -o $@ $<
$(O)/blocks/%.o: examples/%.f90 $(blocks_as) | $(blocks_c)
	@mkdir -p $(@D)
	$(ti_f) -Wall $(FMOD)$(@D) $(FFLAGS) -c -o $@ $<

$(O)/blocks/audit/lu: examples/lu.c examples/example.c $(blocks_as) | $(blocks_c)
	@mkdir -p $(@D)
	$(ti_c) --tiara-audit $(flags) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -Wl,-z,now -o $@ \
	    $(filter %.c,$^) -lm $(LDLIBS)

define blocks_example
$(O)/blocks/$(1): $(addprefix $(O)/blocks/,$($(1)_objs))
	$$(if $$(filter $(1),$$(fortran_examples)),$$(ti_f) $$(FFLAGS),$$(ti_c) $$(CFLAGS)) \
	    $$(LDFLAGS) -Wl,-z,now -o $$@ $$^ -lm $$(LDLIBS)
endef
$(foreach e,$(examples),$(eval $(call blocks_example,$(e))))

$(filter-out %.mpich,$(blocks_tests)): $(O)/blocks/%: tests/mpi/%.c $(blocks_as) | $(blocks_c)
	@mkdir -p $(@D)
	$(ti_c) $(flags) $(CPPFLAGS) $(CFLAGS) -pthread -o $@ $< -lm $(LDLIBS)
$(O)/blocks/bursts.mpich: tests/mpi/bursts.c $(blocks_as) | $(blocks_c)
	@mkdir -p $(@D)
	$(call say,TI-CC)TIARA_MPICC='$(MPICC_mpich)' $(O)/ti-mpicc $(flags) -Wno-stringop-overflow \
	    -Wno-unknown-warning-option $(CPPFLAGS) $(CFLAGS) -o $@ $< $(LDLIBS)
endif
