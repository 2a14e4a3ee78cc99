# bench: what `make bench` runs; bench/run is the list of figures.
bench_programs := $(O)/bench/event $(O)/bench/libnull.so $(O)/bench/codec $(O)/bench/tracebytes \
                  $(O)/bench/peek $(O)/bench/onerank $(O)/tests/mktrace

$(O)/bench/event: bench/event.c
	@mkdir -p $(@D)
	$(call say,MPICC)$(MPICC) $(flags) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -Wl,-z,now -o $@ $< $(LDLIBS)

# The library, but for its counter.
$(O)/bench/libnull.so: $(filter-out $(patsubst %.c,$(O)/pic/%.o,$(counter_src)),$(minitrace_objs)) \
                       $(O)/pic/bench/counter_null.o
	@mkdir -p $(@D)
	$(call say,LINK)$(MPICC) -shared $(CFLAGS) $(LDFLAGS) -Wl,--exclude-libs,ALL -Wl,-z,now -o $@ $^ \
	    $(LIBZ_A) -ldl

define bench_program
$(O)/bench/$(1): $(call obj,bench/$(1).c formats/writer.c $(formats_src) $(common_src))
	@mkdir -p $$(@D)
	$$(call say,LINK)$$(CC) $$(san_flags) $$(CFLAGS) $$(LDFLAGS) -o $$@ $$^ $$(pkg_libs) $$(LDLIBS)
endef
$(foreach b,codec tracebytes peek onerank,$(eval $(call bench_program,$(b))))
