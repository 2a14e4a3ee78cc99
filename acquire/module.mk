# acquire: run a program and trace it.  Rooms, each of which may use those before it: where, plan,
# fleet, run, skew.
in = $(addprefix acquire/$(strip $(1))/,$(2))

acquire_src := acquire/options.c lib/bundle/output.c lib/bundle/merge_options.c \
  $(call in,where,where.c slurm.c nodefile.c batch.c check_sites.c) \
  $(call in,plan,plan.c place.c place_capacity.c place_family.c place_policy.c \
                 place_refuse.c place_options.c place_print.c order.c bisect.c rank_map.c \
                 like.c common_isa.c isa.c estimate.c memory_model.c) \
  $(call in,run,pipeline.c acquisition.c preflight.c environment.c describe.c supervise.c \
                result.c local.c forward.c mpirun.c choose.c pilot.c measure.c report.c runlog.c) \
  $(sites_src) $(sound_src) $(node_src)
# for runs over several nodes
nodes_src := $(call in,fleet,fleet.c fleet_ask.c fleet_names.c fleet_sites.c here.c rsh.c survey.c \
                  survey_print.c) \
  $(call in,run,nodes.c nodes_survey.c nodes_plan.c nodes_launch.c nodes_dry_launch.c \
                nodes_watch.c nodes_collect.c left.c) \
  $(gather_src)
progs += ti-acquire
ti-acquire_src := acquire/main.c $(nodes_src) $(acquire_src) $(counter_src)
ti-acquire_libs := -ldl -lm $(remote_libs)
# started by mpirun, not by users
helpers += ti-rsh
ti-rsh_src := acquire/fleet/ti-rsh.c lib/session/frame.c
progs += ti-skew
ti-skew_src := $(call in,skew,skew.c skew_options.c skew_run.c skew_compare.c skew_report.c \
                 skew_plot.c figures.c) $(acquire_src) $(counter_src)
ti-skew_libs := -ldl -lm
t-spread_src := acquire/skew/figures.c
t-fleet_src := acquire/fleet/fleet_ask.c acquire/fleet/fleet_sites.c
$(O)/tests/unit/t-fleet: LDLIBS += -Wl,--wrap=ti_now
t-survey_src := $(nodes_src) $(acquire_src) $(counter_src)
$(O)/tests/unit/t-survey: LDLIBS += $(remote_libs)
t-common-isa_src := $(call in,plan,common_isa.c isa.c)
t-container_src := $(node_src)
t-order_src := $(call in,plan,order.c bisect.c)
t-rank-map_src := acquire/plan/rank_map.c
t-like_src := acquire/plan/like.c $(t-order_src) $(sound_src) tests/unit/script.c
t-memory-model_src := acquire/plan/memory_model.c
t-plan_src := $(acquire_src) $(counter_src)
t-estimate_src := acquire/plan/estimate.c
t-place_src := $(acquire_src) $(counter_src)
t-where_src := $(acquire_src) $(counter_src)

# ti-node runs it to try a counter.  It needs the C library and nothing else.
ti-node-counter_src := $(call in,run,node_counter.c choose.c) lib/session/paths.c lib/program/program.c \
                       $(counter_src) $(addprefix lib/common/,beside.c err.c fds.c version.c write.c)
$(O)/ti-node-counter: $(call obj,$(ti-node-counter_src)) $(built)
	$(call say,LINK)$(CC) $(san_flags) $(CFLAGS) $(LDFLAGS) -Wl,-s -o $@ $^ -ldl $(LDLIBS)
