# ti-calibrate: measurement of a machine for SimGrid.
fit_src := $(addprefix replay-bridge/calibrate/,fit.c samples.c network.c)
progs += ti-calibrate
ti-calibrate_src := $(addprefix replay-bridge/calibrate/,main.c trial.c align.c rate.c cores.c memory.c) $(fit_src) \
                    $(calibration_src)
ti-calibrate_libs := -lm
t-calibration_src := $(fit_src) $(calibration_src)
t-cores_src := replay-bridge/calibrate/cores.c $(calibration_src)
t-memory_src := replay-bridge/calibrate/memory.c $(calibration_src)
t-align_src := replay-bridge/calibrate/align.c
t-against_src := $(addprefix replay-bridge/simulation/,calibrated.c against.c) $(calibration_src)

# The MPI program that ti-calibrate runs; installed with the helpers.
mpi_helpers := $(O)/ti-calibrate-mpi
all: $(mpi_helpers)
$(O)/ti-calibrate-mpi: $(addprefix replay-bridge/calibrate/,ping.c time_cores.c time_cores.h time_memory.c time_memory.h) examples/burst.c \
                         lib/common/version.c $(built)
	@mkdir -p $(@D)
	$(call say,MPICC)$(MPICC) $(filter-out -MMD -MP,$(flags)) -DTI_VERSION='"$(VERSION)"' $(maps) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ \
	    $(filter %.c %.o,$^) $(LDLIBS)
