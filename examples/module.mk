# The example programs.  `make examples` builds all this machine can build:
# those in Fortran only where there is an MPI Fortran compiler.

# How the Fortran compiler is told where its module files go.
FMOD ?= -J

examples := ring lu stencil is cg ep multigrid amr master_worker hybrid
ifneq (,$(shell $(MPIFC) --version 2>/dev/null))
examples += ring_mpifh ring_usempi ring_f08
endif

ring_objs := ring.o burst.o example.o
$(foreach e,lu stencil is cg ep multigrid amr master_worker hybrid,$(eval $(e)_objs := $(e).o example.o))
$(foreach e,mpifh usempi f08,$(eval ring_$(e)_objs := ring_$(e).o burst.o))

# The programs that need the Fortran compiler for linking.
fortran_examples := ring_mpifh ring_usempi ring_f08

$(O)/examples/%.o: examples/%.c
	@mkdir -p $(@D)
	$(call say,MPICC)$(MPICC) $(flags) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<
# With OpenMP.
$(O)/examples/hybrid.o $(O)/examples/hybrid $(O)/blocks/hybrid.o $(O)/blocks/hybrid: CFLAGS += -fopenmp
$(O)/examples/%.o: examples/%.f
	@mkdir -p $(@D)
	$(call say,MPIFC)$(MPIFC) -Wall $(FMOD)$(@D) $(FFLAGS) -c -o $@ $<
$(O)/examples/%.o: examples/%.f90
	@mkdir -p $(@D)
	$(call say,MPIFC)$(MPIFC) -Wall $(FMOD)$(@D) $(FFLAGS) -c -o $@ $<

# Bound at start: a first call then costs no more than the later ones, in the
# burst before it.
define example
$(O)/examples/$(1): $(addprefix $(O)/examples/,$($(1)_objs))
	$$(call say,LINK)$(if $(filter $(1),$(fortran_examples)),$$(MPIFC) $$(FFLAGS),$$(MPICC) $$(CFLAGS)) \
	    $$(LDFLAGS) -Wl,-z,now -o $$@ $$^ -lm $$(LDLIBS)
endef
$(foreach e,$(examples),$(eval $(call example,$(e))))

examples: $(examples:%=$(O)/examples/%)
.PHONY: examples
