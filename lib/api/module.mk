# api: libtiara, shared and static.  Its objects are compiled apart from those of the tools, for a
# shared library; of these, the linker takes what tiara.h needs.
soversion  := 1
api_src    := $(addprefix lib/api/,trace.c rank.c shape.c sums.c silent.c)
api_below  := $(filter-out lib/common/talk.c,$(sort $(analysis_src) $(trips_src) $(callsite_src) $(sound_src) $(merger_src) $(lib_src)))
api_pic     = $(patsubst %.c,$(O)/pic/%.o,$(1))
libtiara   := $(O)/libtiara.so.$(soversion) $(O)/libtiara.so $(O)/libtiara.a $(O)/tiara.pc
# What a static libtiara needs, and the shared one is linked with.
libtiara_pkgs := jansson
libtiara_libs := -lz -lm $(libdw_libs)
all: $(libtiara)

$(O)/pic/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(flags) -fPIC -fvisibility=hidden -ffunction-sections $(tool_flags) \
	    $(pkg_cflags) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<
$(O)/pic/below.a: $(call api_pic,$(api_below))
	@rm -f $@
	$(call say,AR)$(AR) cr $@ $^
$(O)/libtiara.so.$(soversion): $(call api_pic,$(api_src)) $(O)/pic/below.a lib/api/tiara.map
	$(call say,LINK)$(CC) -shared $(san_flags) $(CFLAGS) $(LDFLAGS) -Wl,-soname,$(@F) -Wl,--gc-sections \
	    -Wl,--version-script=lib/api/tiara.map $(if $(SAN),,-Wl,-z,defs) -o $@ $(filter-out %.map,$^) \
	    $$(pkg-config --libs $(libtiara_pkgs)) $(libtiara_libs) $(LDLIBS)
$(O)/libtiara.so: $(O)/libtiara.so.$(soversion)
	ln -sf $(<F) $@
# One object, of which only the functions of tiara.h can be seen.
$(O)/libtiara.a: $(call api_pic,$(api_src)) $(O)/pic/below.a
	$(call say,AR)$(CC) -r -nostdlib -Wl,--gc-keep-exported -o $(O)/pic/tiara.o $^
	@objcopy --wildcard --keep-global-symbol='tiara_*' $(O)/pic/tiara.o
	@rm -f $@
	@$(AR) cr $@ $(O)/pic/tiara.o
$(O)/tiara.pc: lib/api/module.mk
	@mkdir -p $(@D)
	@printf '%s\n' 'prefix=$(prefix)' 'includedir=$(includedir)' 'libdir=$(libdir)' '' 'Name: tiara' \
	    'Description: read time-independent MPI traces' 'Version: $(VERSION)' \
	    'Requires.private: $(libtiara_pkgs)' 'Cflags: -I$${includedir}' \
	    'Libs: -L$${libdir} -ltiara' 'Libs.private: $(libtiara_libs)' >$@
