# minitrace: the preloaded library (dispatcher and MPI back ends), and the counters,
# which ti-acquire probes too.

# Shims and lists of names are generated from the table of MPI calls, below $(O).  A release
# contains them in generated/, so that building it needs no Python.
PYTHON    ?= python3
shims     := shim_c.c shim_f.c shim_f08.c shim_f08_large.c shim_f08ts.c shim_f08ts_large.c
made_dir  := $(if $(wildcard generated/minitrace/shim_c.c),generated,$(O)/generated)
made      := $(addprefix $(made_dir)/minitrace/,$(shims) recorders.h mpi_names.inc mpi_real.h)
flags     += -I$(made_dir)
ifneq ($(made_dir),generated)
$(made_dir)/minitrace/.made: minitrace/mpi_calls.tbl tools/gen-shims
	@mkdir -p $(@D)
	$(call say,GEN)touch $@ && $(PYTHON) tools/gen-shims minitrace/mpi_calls.tbl $(@D) || { rm -f $@; false; }
$(made): $(made_dir)/minitrace/.made ;
endif

check-symbols: $(libminitrace)
	TI_BUILD=$(O) MPICC='$(MPICC)' NAMES=$(made_dir)/minitrace/mpi_names.inc tools/check-symbols
.PHONY: check-symbols

include minitrace/valgrind/module.mk

counter_src := $(addprefix minitrace/counters/counter,.c _table.c _papi.c _papi_load.c _papi_sets.c \
                   _papi_explain.c _cputime.c _valgrind.c _blocks.c)
minitrace_src := $(addprefix minitrace/,mpi_backend.c mpi_backend_shims.S shim_by_hand.c begin.c \
                   metadata.c agree.c nodes.c) \
                 $(addprefix minitrace/core/,enter.c frame.c threads.c emit.c calibrate.c span.c end.c \
                   extra.c site.c memory.c untraced.c uncounted.c fortran.c) \
                 $(addprefix minitrace/recorders/,rec_p2p.c rec_probe.c rec_request.c rec_completion.c \
                   rec_coll.c rec_comm.c rec_rma.c rec_io.c type.c handle.c table.c neighbours.c) \
                 $(shims:%=$(made_dir)/minitrace/%)

# The MPI back ends, each compiled with its MPI's compiler: MPICC, for the MPI that it has;
# and MPICC_MPICH, if MPICH is installed beside Open MPI.
mpi_of = $(if $(1),$(shell $(1) -E -dM -x c -include mpi.h /dev/null 2>/dev/null | \
             awk '$$2 == "OPEN_MPI" { print "openmpi" } $$2 == "MPICH_VERSION" { print "mpich" }'))
MPICC_MPICH   ?= $(shell command -v mpicc.mpich)
MPICC_openmpi := $(if $(filter openmpi,$(call mpi_of,$(MPICC))),$(MPICC))
MPICC_mpich   := $(firstword $(foreach c,MPICC MPICC_MPICH,\
                   $(if $(filter mpich,$(call mpi_of,$($(c)))),$($(c)))))
mpi_backends      := $(foreach f,openmpi mpich,$(if $(MPICC_$(f)),$(f)))
ifeq ($(mpi_backends),)
  $(warning no MPI back end of libminitrace: '$(MPICC)' is neither Open MPI's compiler nor MPICH's)
endif
ifeq ($(MPICC_mpich),)
all: no-mpich
no-mpich:
	@echo '  no libminitrace-mpich.so: no MPICH here (mpicc.mpich, or MPICC_MPICH=...)'
.PHONY: no-mpich
endif

libminitrace := $(O)/libminitrace.so $(mpi_backends:%=$(O)/libminitrace-%.so)
all: $(libminitrace)

minitrace_objs = $(patsubst %,$(O)/pic-$(1)/%.o,$(basename $(minitrace_src) $(counter_src) \
                   lib/event/event.c $(writer_src) lib/common/err.c lib/common/crc32c.c lib/common/fds.c lib/trace/foreign.c))

# Position-independent, all symbols hidden by default, and never sanitized: they are loaded
# into programs that are not.
pic_flags := $(maps) -fPIC -fvisibility=hidden -DTI_VERSION='"$(VERSION)"'
# Sections sorted by name: .bss.sparse (dispatcher.h) is behind .bss.  No debug information, which
# would be more than half of what is sent to nodes without Tiara; the names of symbols stay.
so_flags  := -shared -Wl,-S -Wl,-z,now -Wl,-z,noexecstack -Wl,--sort-section=name

define mpi_backend_objects
$(O)/pic-$(1)/%.o: %.c
	@mkdir -p $$(@D)
	$$(call say,MPICC)$$(MPICC_$(1)) $$(flags) $$(CPPFLAGS) $$(CFLAGS) $$(pic_flags) -c -o $$@ $$<
$(O)/pic-$(1)/%.o: %.S
	@mkdir -p $$(@D)
	$$(call say,CC)$$(CC) -MMD -MP -I. -Ilib -I$$(made_dir) $$(maps) $$(CPPFLAGS) $$(CFLAGS) -c -o $$@ $$<
endef
$(foreach f,$(mpi_backends),$(eval $(call mpi_backend_objects,$(f))))
$(foreach f,$(mpi_backends),$(eval $(call minitrace_objs,$(f)): | $(made)))
$(O)/dispatcher/dispatcher.o $(O)/dispatcher/dispatcher_stubs.o: | $(made)

# A back end's shims have the names of MPI's functions, so they are hidden.  The back end for
# MPICH is not linked with it, because the library has two names and one ABI.
link_mpi_backend = $(call say,LINK)$(1) $(CFLAGS) $(LDFLAGS) $(so_flags) -Wl,-soname,$(@F) \
    -Wl,--version-script=minitrace/mpi_backend.map -o $@ $(filter %.o,$^) $(LIBZ_A) -ldl

$(O)/libminitrace-openmpi.so: $(call minitrace_objs,openmpi) minitrace/mpi_backend.map
	$(call link_mpi_backend,$(MPICC_openmpi))
$(O)/libminitrace-mpich.so: $(call minitrace_objs,mpich) minitrace/mpi_backend.map
	$(call link_mpi_backend,$(CC)) -Wl,--no-undefined

# The dispatcher knows no MPI.  It is never sanitized: sanitizers call dlsym(), which it
# exports, before they are initialized.
$(O)/dispatcher/%.o: minitrace/dispatcher/%.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(flags) $(CPPFLAGS) $(CFLAGS) $(pic_flags) -fno-sanitize=all -c -o $@ $<
$(O)/dispatcher/%.o: minitrace/dispatcher/%.S
	@mkdir -p $(@D)
	$(call say,CC)$(CC) -MMD -MP -I. -Ilib -I$(made_dir) $(maps) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<
$(O)/libminitrace.so: $(O)/dispatcher/dispatcher.o $(O)/dispatcher/dispatcher_stubs.o
	$(call say,LINK)$(CC) $(CFLAGS) $(LDFLAGS) $(so_flags) -Wl,-soname,libminitrace.so.0 -o $@ $^ \
	    -ldl -lpthread
