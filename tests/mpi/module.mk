# tests/mpi: programs that the scripts beside them trace; those in Fortran where
# there is an MPI Fortran compiler.
mpi_tests := $(patsubst tests/mpi/%.c,%,$(wildcard tests/mpi/*.c))
mpi_fortran_tests := $(if $(shell $(MPIFC) --version 2>/dev/null),$(patsubst tests/mpi/%,%,\
    $(basename $(wildcard tests/mpi/*.f tests/mpi/*.f90))))
test_programs += $(mpi_tests:%=$(O)/tests/mpi/%) $(mpi_fortran_tests:%=$(O)/tests/mpi/%)

# How the Fortran compiler is told that mpif.h, which has no interfaces, means
# buffers of any type.
FLEGACY ?= -std=legacy -w

$(O)/tests/mpi/%: tests/mpi/%.c
	@mkdir -p $(@D)
	$(call say,MPICC)$(MPICC) $(flags) $(CPPFLAGS) $(CFLAGS) -pthread -o $@ $< $(LDLIBS)
$(O)/tests/mpi/%: tests/mpi/%.f
	@mkdir -p $(@D)
	$(call say,MPIFC)$(MPIFC) $(FLEGACY) $(FFLAGS) -o $@ $< $(LDLIBS)
# Each has a folder for its own modules.
$(O)/tests/mpi/%: tests/mpi/%.f90
	@mkdir -p $@.mod
	$(call say,MPIFC)$(MPIFC) $(FMOD)$@.mod $(FFLAGS) -o $@ $< $(LDLIBS)
$(mpi_fortran_tests:%=$(O)/tests/mpi/%): $(wildcard tests/mpi/*.inc)

# A body for `use mpi_f08`, where ierror may be absent.
$(O)/tests/mpi/%_f08.inc: tests/mpi/%.inc
	@mkdir -p $(@D)
	$(call say,GEN)sed -e 's/, ierr)/)/' -e 's/(ierr)/()/' $< >$@
$(O)/tests/mpi/collseq_f08: $(O)/tests/mpi/collseq_f08.inc
$(O)/tests/mpi/collseq_f08: FFLAGS += -I$(O)/tests/mpi

# A library between this program and MPI's.
late := $(O)/tests/mpi/late.so
$(late): tests/mpi/late/idup.c
	@mkdir -p $(@D)
	$(call say,MPICC)$(MPICC) $(flags) $(CPPFLAGS) $(CFLAGS) -fPIC -shared -o $@ $<
$(O)/tests/mpi/late_idup: $(late)
$(O)/tests/mpi/late_idup: LDLIBS := $(abspath $(late)) $(LDLIBS)
