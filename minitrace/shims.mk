# The generated shims: written from the table of MPI calls, and committed, so that
# building needs no Python.
shims := shim_c.c shim_f.c shim_f08.c shim_f08ts.c shim_f08_large.c \
         shim_f08ts_large.c mpi_names.inc mpi_real.h

generate:
	tools/gen-shims minitrace/mpi_calls.tbl minitrace

check-generated:
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && \
	tools/gen-shims minitrace/mpi_calls.tbl "$$dir" && \
	for shim in $(shims); do \
	    diff -u minitrace/$$shim "$$dir/$$shim" || \
	        { echo "check-generated: minitrace/$$shim is not what the table says: make generate" >&2; exit 1; }; \
	done

check-symbols: $(libminitrace)
	TI_BUILD=$(O) MPICC='$(MPICC)' tools/check-symbols

.PHONY: generate check-generated check-symbols
