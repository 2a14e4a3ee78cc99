# acquire: run a program and trace it.
progs += ti-acquire
acquire_src := acquire/options.c acquire/job.c acquire/run.c acquire/pass.c acquire/replayable.c acquire/plan.c acquire/mpirun.c \
               acquire/choose.c acquire/isa.c acquire/level.c acquire/pilot.c \
               acquire/measure.c acquire/memory_model.c acquire/report.c acquire/place.c \
               acquire/place_options.c acquire/place_print.c acquire/composite.c acquire/estimate.c gather/output.c $(node_src)
acquire_src += acquire/where.c acquire/where_slurm.c acquire/where_nodefile.c \
               acquire/check_sites.c $(sites_src)
acquire_src += acquire/like.c acquire/order.c acquire/bisect.c $(check_src)
# several nodes
nodes_src := $(addprefix acquire/,acquisition.c acquisition_plan.c acquisition_launch.c acquisition_census.c \
               acquisition_watch.c acquisition_collect.c fleet.c here.c rsh.c runlog.c survey.c) \
             $(remote_src) $(bootstrap_src)
ti-acquire_src := acquire/main.c $(nodes_src) $(acquire_src) $(counter_src)
ti-acquire_libs := -ldl -lm $(sites_libs) $(remote_libs)
# what mpirun starts, not people
helpers += ti-rsh
ti-rsh_src := acquire/ti-rsh.c node/frame.c
progs += ti-skew
ti-skew_src := acquire/skew.c acquire/skew_options.c acquire/skew_run.c acquire/skew_compare.c \
               acquire/skew_report.c acquire/skew_plot.c acquire/spread.c $(acquire_src) \
               $(counter_src)
ti-skew_libs := -ldl -lm $(sites_libs)
t-spread_src := acquire/spread.c
t-survey_src := $(nodes_src) $(acquire_src) $(counter_src)
$(O)/tests/unit/t-survey: LDLIBS += $(remote_libs)
t-level_src := acquire/level.c acquire/isa.c
t-order_src := acquire/order.c acquire/bisect.c
t-like_src := acquire/like.c $(t-order_src) $(check_src) tests/unit/script.c
t-memory-model_src := acquire/memory_model.c
t-plan_src := $(acquire_src) $(counter_src)
t-estimate_src := acquire/estimate.c
t-place_src := $(acquire_src) $(counter_src)

# What ti-node asks for a counter.  It needs the C library and nothing else.
ti-node-counter_src := acquire/node_counter.c acquire/choose.c node/paths.c node/program.c \
                       $(counter_src) common/err.c common/fds.c
$(O)/ti-node-counter: $(call obj,$(ti-node-counter_src))
	$(call say,LINK)$(CC) $(san_flags) $(CFLAGS) $(LDFLAGS) -Wl,-s -o $@ $^ -ldl $(LDLIBS)
t-place_src := $(acquire_src) $(counter_src)
t-where_src := $(acquire_src) $(counter_src)
