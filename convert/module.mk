# convert: traces from and to the formats of other simulators.  Everything but main.c is also
# linked into the fuzz target.
convert_src := $(check_src) $(addprefix replay-bridge/,bursts.c lint.c lower.c scratch.c platform.c) \
               $(addprefix convert/,sizes.c clock.c target.c collectives.c goal.c dimemas.c \
               actions.c syntax.c import.c)
progs += ti-convert
ti-convert_src := convert/main.c $(convert_src) formats/writer.c
ti-convert_libs := -lm
