# tests/pmu: the library in an emulated arm64 machine with hardware counters.
#
# The machine's files are kept in build-pmu; what is built for it, by a make of its
# own with other compilers, is in build-pmu/work/build.
pmu      := build-pmu
pmu_root := $(CURDIR)/$(pmu)/root
pmu_libs := $(pmu_root)/usr/lib/aarch64-linux-gnu
pmu_mpi  := -I$(pmu_libs)/openmpi/include -L$(pmu_libs)/openmpi/lib -Wl,--no-as-needed
pmu_cc   := aarch64-linux-gnu-gcc --sysroot=$(pmu_root)
pmu_fc   := aarch64-linux-gnu-gfortran --sysroot=$(pmu_root)
pmu_set  := O=$(pmu)/work/build SAN= CC='$(pmu_cc)' MPICC='$(pmu_cc) $(pmu_mpi) -lmpi' MPICC_MPICH= \
            MPIFC='$(pmu_fc) $(pmu_mpi) -I$$(wildcard $(pmu_libs)/fortran/gfortran-mod-*/openmpi) \
                -lmpi_usempif08 -lmpi_usempi_ignore_tkr -lmpi_mpifh -lmpi'

check-pmu:
	@tools/install-deps --pmu
	@tests/pmu/system $(pmu)
	@PKG_CONFIG_SYSROOT_DIR=$(pmu_root) PKG_CONFIG_LIBDIR=$(pmu_libs)/pkgconfig \
	    $(MAKE) --no-print-directory $(pmu_set) pmu-programs
	@tests/pmu/run $(pmu) '$(or $(T),*)'

pmu_tests := $(patsubst tests/pmu/%.c,%,$(wildcard tests/pmu/*.c))
pmu-programs: $(libminitrace) $(addprefix $(O)/,ti-info ti-acquire ti-gather bench/event) \
    $(pmu_tests:%=$(O)/tests/pmu/%) $(addprefix $(O)/tests/mpi/,bursts jump threads \
        sequence sequence_mpifh sequence_usempi sequence_f08) \
    $(addprefix $(O)/examples/,ring ring_mpifh ring_usempi ring_f08)
	@:
$(O)/tests/pmu/%: tests/pmu/%.c
	@mkdir -p $(@D)
	$(call say,MPICC)$(MPICC) $(flags) $(CPPFLAGS) $(CFLAGS) -o $@ $^ -lpapi $(LDLIBS)
$(O)/tests/pmu/own: $(O)/examples/burst.o

.PHONY: check-pmu pmu-programs
