# check: whether a trace is sound.  Linked into tools and unit tests.
check_src := $(addprefix lib/check/,map.c comms.c neighbours.c wildcards.c walk.c text.c problems.c \
             collectives.c pairs.c look.c check.c)
t-check-trace_src := $(check_src) tests/unit/sound.c tests/unit/script.c
t-check-calls_src := $(t-check-trace_src)
