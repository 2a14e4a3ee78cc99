# replay-bridge: a trace in, simulated time out.  The sources of its rooms are also linked into the
# unit tests.
include replay-bridge/otf2/module.mk replay-bridge/convert/module.mk replay-bridge/calibrate/module.mk
rb = $(addprefix replay-bridge/$(strip $(1))/,$(2))

# What a trace is to a replay; converters and the replayer have it, too.
lower_src = $(sound_src) $(rates_src) $(call rb,trace,bursts.c elements.c lint.c lower.c noise.c \
    objects.c refusal.c)
replay_src := $(lower_src) $(sites_src) $(calibration_src) \
  $(call rb,platform,hosts.c placement.c platform.c platform_levels.c platform_sites.c shape.c \
                     picture.c picture_layout.c) \
  $(call rb,simulation,engines.c stock.c tiara.c smpirun.c simulate.c state.c verdict.c \
                       messages.c against.c calibrated.c)
sweep_src := $(call rb,sweep,sweep.c interval.c search.c study.c study_run.c study_plot.c plot.c)
progs += ti-replay
ti-replay_src := $(addprefix replay-bridge/,main.c load.c plan.c check.c act.c options.c options_check.c options_runs.c \
                   machine.c advice.c call_sites.c report.c energy.c profile_report.c \
                   causes.c causes_report.c runs.c tolerance.c replays.c replays_report.c versus.c \
                   scaling.c) \
                 $(call rb,sweep,sweep_command.c) \
                 $(sweep_src) $(replay_src) $(trips_src) $(versions_src) $(timeline_src) $(terminal_src) $(callsite_src) $(merger_src)
ti-replay_libs := $(timeline_libs) $(libdw_libs)
t-replay-trace_src := $(replay_src) tests/unit/script.c
t-replay-platform_src := $(replay_src)
t-replay-verdict_src := $(replay_src)
t-path_src := replay-bridge/replayer/profile/path.c
t-overview_src := replay-bridge/replayer/profile/overview.c
t-converge_src := replay-bridge/replayer/converge.c
t-search_src := replay-bridge/sweep/search.c
t-noise_src := replay-bridge/trace/noise.c
t-sweep_src := $(sweep_src) $(replay_src)

# The replayer: one source, compiled for SMPI and for a real MPI library.  What it shares with
# the tools is compiled for shared objects, since smpirun loads it as one.
replayer_files := $(addprefix replay-bridge/replayer/,main.c replay.c p2p.c request.c coll.c comm.c \
                  rma.c file.c options.c profile.c profile_actions.c critical.c steady.c \
                  converge.c trip.c profile/loops.c profile/overview.c profile/partners.c profile/path.c \
                  profile/waiting.c)
live_files := $(replayer_files) $(addprefix replay-bridge/replayer/,engine_live.c places.c)
replayer_tools := $(lower_src) replay-bridge/simulation/state.c lib/timeline/intervals.c $(lib_src)
SMPICC  ?= $(SIMGRID:%=%/bin/)smpicc
has_smpi := $(shell command -v $(SMPICC) 2>/dev/null)
pic_obj = $(patsubst %.c,$(O)/pic/%.o,$(1))

# Never sanitized: smpirun's own program, which loads it, is not.  (-isystem: no warnings of headers.)
smpi_flags = $(filter-out $(san_flags),$(tool_flags))
$(O)/pic/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(flags) $(smpi_flags) $(pkg_cflags) $(CPPFLAGS) $(CFLAGS) -fPIC -c -o $@ $<
$(O)/smpi/%.o: %.c
	@mkdir -p $(@D)
	$(call say,SMPICC)$(SMPICC) $(flags) $(SIMGRID:%=-isystem %/include) $(smpi_flags) $(pkg_cflags) $(CPPFLAGS) $(CFLAGS) -fPIC \
	    -DTI_SIMULATED -DSMPI_NO_OVERRIDE_MALLOC -c -o $@ $<
replayers := $(if $(has_smpi),$(O)/ti-smpi-replay) $(O)/ti-live-replay
smpi_parts := $(if $(has_smpi),$(addprefix $(O)/,libti-smpi-preload.so ti-smpi-routes))
all: $(replayers) $(smpi_parts)
# The replayer and smpirun must be of one SimGrid: of the prefix SIMGRID, if that is given.
ifneq ($(SIMGRID),)
simgrid_lib := $(patsubst %/,%,$(dir $(firstword $(wildcard $(SIMGRID)/lib*/libsimgrid.so $(SIMGRID)/lib/*/libsimgrid.so))))
smpi_rpath  := $(simgrid_lib:%=-Wl,-rpath,%)
all: $(O)/smpirun
$(O)/smpirun: $(SIMGRID)/bin/smpirun always
	$(call say,LN)ln -sf $< $@
endif
# The library that ti-replay preloads into smpirun also holds jemalloc, if it is installed: SimGrid
# allocates dozens of small objects for each event.  jemalloc is linked in, because a preloaded library
# that is missing is reported by each program, and dlopen() cannot load jemalloc (its TLS is static).
jemalloc := $(wildcard $(shell pkg-config --variable=libdir jemalloc 2>/dev/null)/libjemalloc_pic.a)
ifneq ($(jemalloc),)
jemalloc_libs := -Wl,--whole-archive $(jemalloc) -Wl,--no-whole-archive -lstdc++ -lm -pthread
else ifneq ($(has_smpi),)
all: no-jemalloc
no-jemalloc:
	@echo '  replays take up to twice the time without jemalloc (libjemalloc-dev)'
.PHONY: no-jemalloc
endif
$(O)/libti-smpi-preload.so: $(call pic_obj,$(call rb,replayer,clock.c eager.c))
	$(call say,LINK)$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-z,noexecstack -o $@ $^ $(jemalloc_libs)
# What smpirun loads can also be executed: it has an entry point of ours, and names the program that
# loads the libraries of sh.
$(O)/pic/replay-bridge/replayer/alone.o: CPPFLAGS += $(patsubst %,-DTI_INTERPRETER='"%"',$(shell \
    LC_ALL=C readelf -l "$$(command -v sh)" 2>/dev/null | sed -n 's/.*interpreter: \(.*\)\]/\1/p'))
alone = $(O)/pic/replay-bridge/replayer/alone.o
smpi_entry = -Wl,-e,ti_alone_start
$(O)/ti-smpi-replay: $(patsubst %.c,$(O)/smpi/%.o,$(replayer_files) $(call rb,replayer,engine_smpi.c energy.c)) \
        $(call pic_obj,$(replayer_tools)) $(built) $(alone)
	$(call say,LINK)$(SMPICC) $(CFLAGS) $(LDFLAGS) $(smpi_entry) $(smpi_rpath) -o $@ $^ $(pkg_libs) $(LDLIBS)

$(O)/ti-smpi-routes: $(O)/smpi/replay-bridge/replayer/routes.o $(call pic_obj,$(common_src)) $(built) $(alone)
	$(call say,LINK)$(SMPICC) $(CFLAGS) $(LDFLAGS) $(smpi_entry) $(smpi_rpath) -o $@ $^ $(pkg_libs) $(LDLIBS)

# (MPI_UNWEIGHTED is the address of a variable or a small number, which gcc takes for an array.)
live_flags := -Wno-stringop-overflow -Wno-stringop-overread -Wno-unknown-warning-option
$(O)/live/%.o: %.c
	@mkdir -p $(@D)
	$(call say,MPICC)$(MPICC) $(flags) $(live_flags) $(tool_flags) $(pkg_cflags) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<
$(O)/ti-live-replay: $(patsubst %.c,$(O)/live/%.o,$(live_files) \
        examples/burst.c) $(call obj,$(replayer_tools)) $(built)
	$(call say,LINK)$(MPICC) $(san_flags) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(pkg_libs) $(LDLIBS)
