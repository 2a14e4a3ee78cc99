# wrap: ti-mpicc and its variants, one program under several names; and the library with
# the counter that compiled code adds to.  assembler/ is the `as` that they call.
include wrap/assembler/module.mk
wrap_src   := wrap/driver.c
wrap_links := ti-mpicxx ti-mpic++ ti-mpifort ti-mpif77 ti-mpif90
wrap_libs  := $(O)/libtiara-blocks.so $(O)/libtiara-blocks.a
ifneq ($(blocks_as),)
wrappers := ti-mpicc $(wrap_links)
all: $(wrappers:%=$(O)/%) $(wrap_libs)
endif

$(O)/ti-mpicc: $(call obj,wrap/main.c $(wrap_src) $(addprefix lib/common/,args.c beside.c map.c err.c version.c write.c)) $(built)
	$(call say,LINK)$(CC) $(san_flags) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)
$(wrap_links:%=$(O)/%): $(O)/ti-mpicc
	$(call say,LN)ln -sf ti-mpicc $@

$(O)/wrap/blocks.o: wrap/blocks.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(flags) $(maps) $(CPPFLAGS) $(CFLAGS) -fPIC -fno-lto -c -o $@ $<
$(O)/libtiara-blocks.a: $(O)/wrap/blocks.o
	$(call say,AR)rm -f $@; $(AR) rcs $@ $<
$(O)/libtiara-blocks.so: $(O)/wrap/blocks.o
	$(call say,LINK)$(CC) $(LDFLAGS) -shared -Wl,-soname,libtiara-blocks.so -nostdlib -o $@ $<

t-wrap_src := $(wrap_src)
t-blocks_src := $(counter_src) wrap/blocks.c
$(O)/tests/unit/t-blocks: LDLIBS += -Wl,--export-dynamic-symbol=tiara_blocks
