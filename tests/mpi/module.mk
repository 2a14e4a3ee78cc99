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
	$(call say,MPICC)$(MPICC) $(flags) $(CPPFLAGS) $(CFLAGS) -pthread -o $@ $< -lm $(LDLIBS)
$(O)/tests/mpi/%: tests/mpi/%.f
	@mkdir -p $(@D)
	$(call say,MPIFC)$(MPIFC) $(FLEGACY) $(FFLAGS) -o $@ $< $(LDLIBS)
# Each has a folder for its own modules.
$(O)/tests/mpi/%: tests/mpi/%.f90
	@mkdir -p $@.mod
	$(call say,MPIFC)$(MPIFC) $(FMOD)$@.mod -I$(@D) $(FFLAGS) -o $@ $< $(LDLIBS)
$(mpi_fortran_tests:%=$(O)/tests/mpi/%): $(wildcard tests/mpi/*.inc)

# A body for `use mpi_f08`, where ierror may be absent.
$(O)/tests/mpi/%_f08.inc: tests/mpi/%.inc
	@mkdir -p $(@D)
	$(call say,GEN)sed -e 's/, ierr)/)/' -e 's/(ierr)/()/' $< >$@
$(O)/tests/mpi/collseq_f08: $(O)/tests/mpi/collseq_f08.inc
$(O)/tests/mpi/reqseq_f08: $(O)/tests/mpi/reqseq_f08.inc

# Writes OTF2 traces: preloaded into the examples.
ifeq ($(has_otf2),yes)
test_programs += $(O)/tests/otf2-tracer.so
$(O)/tests/otf2-tracer.so: tests/mpi/otf2/tracer.c
	@mkdir -p $(@D)
	$(call say,MPICC)$(MPICC) $(flags) $(CPPFLAGS) $(CFLAGS) -fPIC -shared -o $@ $< $(otf2_libs)
endif

# The library, but it does not wait long for ranks that say nothing.
$(O)/tests/hasty/libminitrace.so: $(O)/libminitrace.so
	@mkdir -p $(@D)
	ln -sf ../../libminitrace.so $@
$(O)/pic-openmpi/tests/hasty/agree.o: minitrace/agree.c | $(O)/pic-openmpi/minitrace/mpi_has.h
	@mkdir -p $(@D)
	$(call say,MPICC)$(MPICC_openmpi) $(flags) -I$(O)/pic-openmpi $(CPPFLAGS) $(CFLAGS) $(pic_flags) \
	    -DSILENCE_S=4 -DSILENCE_A_RANK_S=0.05 -c -o $@ $<
$(O)/tests/hasty/libminitrace-openmpi.so: $(O)/pic-openmpi/tests/hasty/agree.o \
        $(filter-out %/minitrace/agree.o,$(call minitrace_objs,openmpi)) minitrace/mpi_backend.map
	@mkdir -p $(@D)
	$(call say,LINK)$(call mpi_backend_link,$(MPICC_openmpi))
ifneq ($(MPICC_openmpi),)
test_programs += $(O)/tests/hasty/libminitrace.so $(O)/tests/hasty/libminitrace-openmpi.so
endif

# The library and ti-acquire with another table of counters, which has one more (counter.sh).
more_counters = $(filter-out %/counter_table.o,$(2)) $(1)/tests/mpi/tsc/counter_tsc.o
$(O)/tests/tsc/libminitrace.so: $(O)/libminitrace.so
	@mkdir -p $(@D)
	cp $< $@
$(O)/tests/tsc/libminitrace-openmpi.so: \
        $(call more_counters,$(O)/pic-openmpi,$(call minitrace_objs,openmpi)) minitrace/mpi_backend.map
	@mkdir -p $(@D)
	$(call say,LINK)$(call mpi_backend_link,$(MPICC_openmpi))
$(O)/tests/tsc/ti-acquire: $(call more_counters,$(O),$(call obj,$(ti-acquire_src) $(lib_src)))
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(san_flags) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(ti-acquire_libs) $(pkg_libs) $(LDLIBS)
ifneq ($(MPICC_openmpi),)
test_programs += $(addprefix $(O)/tests/tsc/,libminitrace.so libminitrace-openmpi.so ti-acquire)
endif

# Makes traces of many ranks (replay-ranks.sh).
test_programs += $(O)/bench/wavefront

# A library between this program and MPI's.
late := $(O)/tests/mpi/late.so
$(late): tests/mpi/late/idup.c
test_programs += $(O)/tests/mpi/late_rank.so
$(O)/tests/mpi/late_rank.so: tests/mpi/late/rank.c
$(late) $(O)/tests/mpi/late_rank.so:
	@mkdir -p $(@D)
	$(call say,MPICC)$(MPICC) $(flags) $(CPPFLAGS) $(CFLAGS) -fPIC -shared -o $@ $<
$(O)/tests/mpi/late_idup: $(late)
$(O)/tests/mpi/late_idup: LDLIBS := $(abspath $(late)) $(LDLIBS)

# A program that uses PAPI, where there is one with software defined events.
has_sde := $(shell $(CC) -E -x c -include papi.h -include sde_lib.h /dev/null >/dev/null 2>&1 && \
    echo yes)
$(O)/tests/mpi/residuals $(O)/tests/mpich/residuals: | $(made)
$(O)/tests/mpi/papi $(O)/tests/mpi/residuals $(O)/tests/mpich/residuals: \
    LDLIBS := $(if $(has_sde),-lpapi -lsde) $(LDLIBS)

# Some of them with MPICH (mpich.sh), where its back end is built.
MPIFC_MPICH ?= $(if $(filter mpich,$(call mpi_of,$(MPICC))),$(MPIFC),$(shell command -v mpifort.mpich))
ifneq ($(MPICC_mpich),)
mpich_tests := nodes bursts residuals callbacks p2p requests persistent matched cancel comms creations datatypes collectives \
               icollectives neighbors intercoll rma io mpi4 mpi41 random sequence ring
ifneq ($(MPIFC_MPICH),)
mpich_tests += sequence_mpifh sequence_usempi sequence_f08 ring_mpifh ring_usempi ring_f08
endif
test_programs += $(mpich_tests:%=$(O)/tests/mpich/%) $(O)/tests/mpich/ti-live-replay

# (Its MPI_STATUSES_IGNORE is the address 1, which gcc takes for an array.)
mpich_c = $(call say,MPICC)$(MPICC_mpich) $(flags) -Wno-stringop-overflow -Wno-unknown-warning-option \
    $(CPPFLAGS) $(CFLAGS) -pthread
mpich_f = $(call say,MPIFC)$(MPIFC_MPICH) $(FLEGACY) $(FFLAGS) $(FMOD)$@.mod
$(O)/tests/mpich/%: tests/mpi/%.c
	@mkdir -p $(@D)
	$(mpich_c) -o $@ $< $(LDLIBS)
$(O)/tests/mpich/%: tests/mpi/%.f
	@mkdir -p $@.mod
	$(mpich_f) -o $@ $< $(LDLIBS)
$(O)/tests/mpich/%: tests/mpi/%.f90
	@mkdir -p $@.mod
	$(mpich_f) -o $@ $< $(LDLIBS)
$(O)/tests/mpich/ring: examples/ring.c examples/burst.c examples/example.c
	@mkdir -p $(@D)
	$(mpich_c) -Wl,-z,now -o $@ $(filter %.c,$^) -lm $(LDLIBS)
$(O)/tests/mpich/ring_mpifh: examples/ring_mpifh.f $(O)/examples/burst.o
	@mkdir -p $@.mod
	$(mpich_f) -Wl,-z,now -o $@ $^ $(LDLIBS)
$(O)/tests/mpich/ring_%: examples/ring_%.f90 $(O)/examples/burst.o
	@mkdir -p $@.mod
	$(mpich_f) -Wl,-z,now -o $@ $^ $(LDLIBS)
$(O)/tests/mpich/sequence_mpifh $(O)/tests/mpich/sequence_usempi: tests/mpi/sequence.inc
$(O)/live-mpich/%.o: %.c
	@mkdir -p $(@D)
	$(mpich_c) $(live_flags) $(tool_flags) $(pkg_cflags) -c -o $@ $<
$(O)/tests/mpich/ti-live-replay: $(patsubst %.c,$(O)/live-mpich/%.o,$(live_files) examples/burst.c) \
        $(call obj,$(replayer_tools))
	@mkdir -p $(@D)
	$(mpich_c) $(san_flags) -o $@ $^ $(pkg_libs) $(LDLIBS)
endif

# Some of them with the standard ABI (abi.sh): built once, run with each library that has it.
ifneq ($(MPICC_abi),)
abi_tests := p2p requests persistent matched cancel comms creations datatypes collectives icollectives \
             neighbors intercoll rma mpi4 mpi41 ring stencil cg master_worker lu
test_programs += $(abi_tests:%=$(O)/tests/abi/%)
LIBMPI_ABI ?= -lmpi_abi
abi_c = $(call say,MPICC)$(MPICC_abi) $(flags) -Wno-stringop-overflow -Wno-unknown-warning-option \
    $(CPPFLAGS) $(CFLAGS) -pthread -c -o $@ $<
$(O)/abi/%.o: %.c
	@mkdir -p $(@D)
	$(abi_c)
abi_link = $(call say,LINK)$(CC) $(LDFLAGS) -Wl,-z,now -o $@ $^ -lm $(LIBMPI_ABI) $(LDLIBS)
$(O)/tests/abi/%: $(O)/abi/tests/mpi/%.o
	@mkdir -p $(@D)
	$(abi_link)
$(patsubst %,$(O)/tests/abi/%,ring stencil cg master_worker lu): \
        $(O)/tests/abi/%: $(O)/abi/examples/%.o $(O)/abi/examples/burst.o $(O)/abi/examples/example.o
	@mkdir -p $(@D)
	$(abi_link)
endif

include tests/mpi/blocks.mk
