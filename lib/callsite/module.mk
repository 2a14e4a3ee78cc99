# callsite: source lines of call sites.  They need libdw (elfutils).
callsite_src := lib/callsite/symbolizer.c
has_libdw := $(shell $(CC) -E -xc -include elfutils/libdw.h /dev/null >/dev/null 2>&1 && echo yes)
ifeq ($(has_libdw),yes)
libdw_libs  := -ldw -lelf
callsite_src += lib/callsite/debug_info.c
else
callsite_src += lib/callsite/debug_info_absent.c
$(O)/info/main.o $(O)/replay-bridge/options.o: tool_flags += -DTI_NO_LIBDW
all: no-libdw
no-libdw:
	@echo '  no source lines of call sites: they need elfutils (libdw-dev)'
.PHONY: no-libdw
endif
