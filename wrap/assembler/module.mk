# blocks: the `as` that makes code count its instructions, on x86-64.  It needs Zydis; without
# Zydis, neither it nor ti-mpicc is built.
blocks_src := $(addprefix wrap/assembler/,memory.c text.c object.c flow.c insn.c decode.c live.c place.c loops.c \
                plan.c emit.c verify.c)
blocks_as  := $(if $(filter x86_64%,$(shell $(CC) -dumpmachine)),$(shell \
    $(CC) -E -xc -include Zydis/Zydis.h /dev/null >/dev/null 2>&1 && echo $(O)/libexec/blocks/as))

all: $(if $(blocks_as),$(blocks_as),no-blocks)
$(O)/libexec/blocks/as: $(call obj,wrap/assembler/main.c $(blocks_src) lib/common/err.c lib/common/write.c)
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(san_flags) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lZydis $(LDLIBS)
no-blocks:
	@echo '  no counter blocks: it is for x86-64, and needs Zydis (libzydis-dev)'
.PHONY: no-blocks
