# bench: what `make bench` runs; bench/run is the list of figures.
bench_programs := $(O)/bench/event $(O)/bench/null/libminitrace.so \
                  $(O)/bench/null/libminitrace-openmpi.so $(O)/bench/codec $(O)/bench/tracebytes \
                  $(O)/bench/peek $(O)/bench/empty $(O)/bench/counter $(O)/bench/onerank $(O)/bench/wavefront $(O)/bench/tree $(O)/tests/mktrace \
                  $(O)/tests/mpi/outstanding $(blocks_examples) $(O)/bench/lengths $(O)/bench/ahead \
                  $(if $(wrappers),$(O)/bench/blocks/lengths)

$(O)/bench/event $(O)/bench/empty: $(O)/bench/%: bench/%.c
	@mkdir -p $(@D)
	$(call say,MPICC)$(MPICC) $(flags) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -Wl,-z,now -o $@ $< $(LDLIBS)

$(O)/bench/lengths: bench/lengths.c examples/burst.c
	@mkdir -p $(@D)
	$(call say,MPICC)$(MPICC) -I. -Ilib $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)
$(O)/bench/blocks/lengths: bench/lengths.c examples/burst.c $(O)/ti-mpicc $(wrap_libs)
	@mkdir -p $(@D)
	$(call say,MPICC)$(O)/ti-mpicc -I. -Ilib $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.c,$^) $(LDLIBS)

# The library, but for its counter: the same dispatcher, and beside it an MPI back end with
# one that reads nothing.
$(O)/bench/null/libminitrace.so: $(O)/libminitrace.so
	@mkdir -p $(@D)
	ln -sf ../../libminitrace.so $@
$(O)/bench/null/libminitrace-openmpi.so: \
        $(filter-out $(counter_src:%.c=$(O)/pic-openmpi/%.o),$(call minitrace_objs,openmpi)) \
        $(O)/pic-openmpi/bench/counter_null.o minitrace/mpi_backend.map
	@mkdir -p $(@D)
	$(call say,LINK)$(call mpi_backend_link,$(MPICC_openmpi))

define bench_program
$(O)/bench/$(1): $(call obj,bench/$(1).c $(writer_src) $(lib_src))
	@mkdir -p $$(@D)
	$$(call say,LINK)$$(CC) $$(san_flags) $$(CFLAGS) $$(LDFLAGS) -o $$@ $$^ $$(pkg_libs) $$(LDLIBS)
endef
$(foreach b,codec tracebytes peek onerank wavefront,$(eval $(call bench_program,$(b))))

$(O)/bench/counter: $(call obj,bench/counter.c $(counter_src) lib/common/err.c lib/common/fds.c)
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(san_flags) $(CFLAGS) $(LDFLAGS) -o $@ $^ -ldl -lpthread $(LDLIBS)

$(O)/bench/tree: $(call obj,bench/tree.c $(gather_tree_src) $(common_src))
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(san_flags) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(pkg_libs) -lm $(LDLIBS)

$(O)/bench/ahead: $(call obj,bench/ahead.c $(bundler_src) $(lib_src))
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(san_flags) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(pkg_libs) -lpthread $(LDLIBS)
