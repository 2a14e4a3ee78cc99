# replay-bridge: a trace in, simulated time out.  Everything but main.c is also
# linked into the unit tests.
replay_src := $(check_src) $(addprefix replay-bridge/,bursts.c lint.c lower.c \
              platform.c hosts.c scratch.c simulate.c verdict.c)
progs += ti-replay
ti-replay_src := replay-bridge/main.c $(replay_src)
t-replay-trace_src := $(replay_src) tests/unit/script.c
t-replay-platform_src := $(replay_src)
t-replay-verdict_src := $(replay_src)
