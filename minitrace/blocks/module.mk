# blocks: the `as` that makes code count its instructions.  It needs Zydis, and is
# left out where that is not installed.
blocks_src := $(addprefix minitrace/blocks/,memory.c text.c object.c flow.c emit.c verify.c)
blocks_as  := $(if $(shell printf '\#include <Zydis/Zydis.h>\n' | $(CC) -E -xc - >/dev/null 2>&1 && echo 1),$(O)/libexec/blocks/as)

all: $(if $(blocks_as),$(blocks_as),no-blocks)
$(O)/libexec/blocks/as: $(call obj,minitrace/blocks/main.c $(blocks_src) common/err.c)
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(san_flags) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lZydis $(LDLIBS)
no-blocks:
	@echo '  no counter blocks: Zydis is not installed (libzydis-dev)'
.PHONY: no-blocks
