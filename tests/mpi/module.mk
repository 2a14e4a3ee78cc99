# tests/mpi: programs that the scripts beside them trace.
mpi_tests := $(patsubst tests/mpi/%.c,%,$(wildcard tests/mpi/*.c))
test_programs += $(mpi_tests:%=$(O)/tests/mpi/%)

$(O)/tests/mpi/%: tests/mpi/%.c
	@mkdir -p $(@D)
	$(call say,MPICC)$(MPICC) $(flags) $(CPPFLAGS) $(CFLAGS) -o $@ $< $(LDLIBS)
