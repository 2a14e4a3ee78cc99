# node: ti-node, our end on every node of a run, and what is said to it.
node_src := $(addprefix lib/node/,launch.c machine.c orphans.c overlay.c ranks.c rundir.c watch.c) \
  $(addprefix lib/program/,container.c program.c) $(wire_src)
t-bootstrap_src := $(addprefix lib/session/,payload.c bootstrap.c) lib/node/install.c $(node_src)
t-launch_src := $(node_src)
$(O)/tests/unit/t-launch: LDLIBS += -Wl,--wrap=nanosleep

# ti-node goes to nodes as it is: linked statically, where this machine can do that,
# so that it runs with any C library.  What needs libraries of the node's, which is
# PAPI, it leaves to ti-node-counter.  Neither is for people.
ti-node_src := $(addprefix lib/node/,main.c serve.c serve_requests.c serve_run.c serve_traces.c \
               start.c procs.c task.c facts.c load.c waits.c send.c traces.c merge.c outbox.c install.c relay.c) \
               $(session_src) $(node_src) $(remote_openssh_src) $(merger_src)
t-serve_src := $(filter-out lib/node/main.c,$(ti-node_src))
$(O)/tests/unit/t-serve: LDLIBS += -Wl,--wrap=ti_now,--wrap=poll,--wrap=ti_launch_signal
node_archives := libjansson.a libz.a libnettle.a
node_static := $(if $(SAN),,$(shell echo 'int main(void) { return 0; }' | \
    $(CC) $(LDFLAGS) -static -o /dev/null -xc - $(node_archives:%=-l:%) 2>/dev/null && echo yes))
node_libs   := $(if $(node_static),-static $(node_archives:%=-l:%) -lm,-ljansson -lz -lnettle -lm)
# Those that are not there, for who is told that it is not linked so.
node_lacks   = $(strip $(foreach a,libc.a $(node_archives),\
                 $(if $(filter /%,$(shell $(CC) -print-file-name=$(a))),,$(a))))
node_says    = ti-node is not linked statically$(if $(node_lacks),$(comma) for want of $(node_lacks)): \
               nodes that it is sent to need libjansson, libz, libnettle and a C library as new as those here
node_progs  := $(O)/ti-node $(O)/ti-node-counter

all: $(node_progs)
$(O)/ti-node: $(call obj,$(ti-node_src) $(lib_src)) $(built)
	$(call say,LINK)$(CC) $(san_flags) $(CFLAGS) $(LDFLAGS) -Wl,-s -o $@ $^ $(node_libs) $(LDLIBS)
	$(if $(node_static)$(SAN),,@echo '  $(node_says)')
