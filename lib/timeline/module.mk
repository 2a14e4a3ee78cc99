# timeline: what ranks do when.  OTF2 needs its library, version 3 or later.
ifeq ($(shell pkg-config --atleast-version=3 otf2 2>/dev/null && \
        $(CC) -E -xc -include otf2/otf2.h /dev/null >/dev/null 2>&1 && echo yes),yes)
has_otf2  := yes
otf2_libs := $(shell pkg-config --libs otf2)
endif
# Also needs $(sound_src) and $(callsite_src).
timeline_src := $(addprefix lib/timeline/,timeline.c track.c about.c intervals.c csv.c paje.c chrome.c \
                  $(if $(has_otf2),otf2.c otf2_definitions.c,otf2_absent.c))
timeline_libs := $(otf2_libs) -lm
t-intervals_src := lib/timeline/intervals.c
