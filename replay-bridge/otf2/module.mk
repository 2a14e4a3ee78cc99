# otf2: traces of Score-P.  They need the OTF2 library (lib/timeline/module.mk looks for it).
ifeq ($(has_otf2),yes)
otf2_src  := $(addprefix replay-bridge/otf2/,archive.c definitions.c survey.c events.c requests.c \
               collectives.c import.c)
else
otf2_src  := replay-bridge/otf2/absent.c
$(O)/replay-bridge/convert/main.o: tool_flags += -DTI_NO_OTF2
all: no-otf2
no-otf2:
	@echo '  no OTF2 traces, neither read nor written: they need the OTF2 library (libotf2-trace-dev)'
.PHONY: no-otf2
endif
