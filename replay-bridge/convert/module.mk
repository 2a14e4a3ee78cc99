# convert: traces from and to the formats of other simulators.  Everything but main.c is also
# linked into the fuzz target.
convert_src = $(lower_src) $(addprefix replay-bridge/convert/,sizes.c clock.c target.c collectives.c goal.c dimemas.c \
               actions.c syntax.c import.c import_survey.c import_events.c)
progs += ti-convert
ti-convert_src = replay-bridge/convert/main.c $(convert_src) $(otf2_src) $(writer_src)
ti-convert_libs := -lm $(otf2_libs)
