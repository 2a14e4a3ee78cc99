# check: whether a trace is sound.  Linked into tools and unit tests.
check_src := $(addprefix check/,map.c comms.c walk.c problems.c)
