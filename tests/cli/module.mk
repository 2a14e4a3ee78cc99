# A program that makes run directories for the scripts here.
test_programs += $(O)/tests/mktrace

$(O)/tests/mktrace: $(call obj,tests/cli/mktrace.c $(writer_src) $(lib_src))
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(san_flags) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(pkg_libs) $(LDLIBS)

# A program that makes run directories of scripts.
test_programs += $(O)/tests/mkscript

$(O)/tests/mkscript: $(call obj,tests/cli/mkscript.c tests/unit/script.c $(writer_src) $(lib_src))
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(san_flags) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(pkg_libs) -lcmocka $(LDLIBS)

# A program that lengthens loops of merged traces.
test_programs += $(O)/tests/stretch

$(O)/tests/stretch: $(call obj,tests/cli/stretch.c $(merger_src) $(lib_src))
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(san_flags) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(pkg_libs) $(LDLIBS)

# A program that prints the words of traces.
test_programs += $(O)/tests/vocabulary

$(O)/tests/vocabulary: $(call obj,tests/cli/vocabulary.c lib/event/event.c)
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(san_flags) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# The API of remote/ from the command line.
test_programs += $(O)/tests/remote-try

$(O)/tests/remote-try: $(call obj,tests/cli/remote-try.c $(remote_src) $(common_src))
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(san_flags) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(pkg_libs) $(remote_libs) -lm $(LDLIBS)

# The API of session/conn.h, too, with a clock that the test turns.
test_programs += $(O)/tests/conn-try

$(O)/tests/conn-try: $(call obj,tests/cli/conn-try.c tests/cli/turned.c $(conn_src) $(node_src) $(remote_src) $(lib_src))
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(san_flags) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(pkg_libs) $(remote_libs) -lm -Wl,--wrap=ti_now $(LDLIBS)

# Damages bundles as they get their names: preloaded into ti-gather.
test_programs += $(O)/tests/damage.so

$(O)/tests/damage.so: tests/cli/damage.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(flags) $(CPPFLAGS) $(CFLAGS) -fPIC -shared -o $@ $<

# Kills ti-gather at any call that changes a file: preloaded, too.
test_programs += $(O)/tests/killed.so

$(O)/tests/killed.so: tests/cli/killed.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(flags) $(CPPFLAGS) $(CFLAGS) -fPIC -shared -o $@ $<

# Stops ti-gather while it fetches: preloaded, too.
test_programs += $(O)/tests/halt.so

$(O)/tests/halt.so: tests/cli/halt.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(flags) $(CPPFLAGS) $(CFLAGS) -fPIC -shared -o $@ $<

# Has what comes on sockets come late: preloaded into remote-try.
test_programs += $(O)/tests/late.so

$(O)/tests/late.so: tests/cli/late.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(flags) $(CPPFLAGS) $(CFLAGS) -fPIC -shared -o $@ $<

# Has the clock stand still while those that ti-gather started have something to do: preloaded into it.
test_programs += $(O)/tests/patient.so

$(O)/tests/patient.so: tests/cli/patient.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(flags) $(CPPFLAGS) $(CFLAGS) -fPIC -shared -o $@ $<

# Writes OTF2 traces; and an OTF2 library that gets stuck, preloaded into ti-convert.
ifeq ($(has_otf2),yes)
test_programs += $(O)/tests/stuck.so

$(O)/tests/stuck.so: tests/cli/stuck.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(flags) $(CPPFLAGS) $(CFLAGS) -fPIC -shared -o $@ $<

test_programs += $(O)/tests/mkotf2

$(O)/tests/mkotf2: $(call obj,tests/cli/mkotf2.c)
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(san_flags) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(otf2_libs) $(LDLIBS)
endif
