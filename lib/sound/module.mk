# sound: whether a trace is sound.  Linked into tools and unit tests.
sound_src := $(addprefix lib/sound/,comms.c neighbours.c wildcards.c walk.c walk_calls.c walk_epochs.c \
             walk_messages.c walk_requests.c walk_marks.c trips.c text.c problems.c collectives.c pairs.c locate.c locate_pair.c \
             check_pairs.c check.c written.c)
t-check-trace_src := $(sound_src) $(merger_src) tests/unit/sound.c tests/unit/script.c tests/unit/fold_script.c
t-check-calls_src := $(t-check-trace_src)
$(O)/tests/unit/t-check-calls: LDLIBS += -Wl,--wrap=ti_event_text
t-check-loops_src := $(t-check-trace_src)
t-wildcards_src := lib/sound/wildcards.c tests/unit/script.c
