# otf2: traces of Score-P.  They need the OTF2 library, version 3 or later.
ifeq ($(shell pkg-config --atleast-version=3 otf2 2>/dev/null && \
        $(CC) -E -xc -include otf2/otf2.h /dev/null >/dev/null 2>&1 && echo yes),yes)
has_otf2  := yes
otf2_libs := $(shell pkg-config --libs otf2)
otf2_src  := $(addprefix replay-bridge/otf2/,archive.c definitions.c survey.c events.c requests.c \
               collectives.c import.c)
else
otf2_src  := replay-bridge/otf2/absent.c
$(O)/replay-bridge/convert/main.o: tool_flags += -DTI_NO_OTF2
all: no-otf2
no-otf2:
	@echo '  no OTF2 traces in ti-convert: they need the OTF2 library (libotf2-trace-dev)'
.PHONY: no-otf2
endif
