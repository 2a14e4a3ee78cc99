# minitrace: the preloaded library (dispatcher and MPI back ends), and the counters,
# which ti-acquire probes too.

# Shims and lists of names are generated from the table of MPI calls, below $(O).  A release
# contains them in generated/, so that building it needs no Python.
PYTHON    ?= python3
shims     := shim_c.c shim_f.c shim_f08.c shim_f08_large.c shim_f08ts.c shim_f08ts_large.c shim_f08_c.c \
             shim_f08ts_c.c
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
                   _papi_explain.c _papi_kinds.c _cputime.c _valgrind.c _blocks.c)
minitrace_src := $(addprefix minitrace/,mpi_backend.c mpi_backend_shims.S shim_by_hand.c begin.c \
                   metadata.c agree.c nodes.c) \
                 $(addprefix minitrace/core/,enter.c frame.c threads.c emit.c calibrate.c span.c end.c \
                   extra.c site.c memory.c untraced.c uncounted.c fortran.c) \
                 $(addprefix minitrace/recorders/,rec_p2p.c rec_probe.c rec_request.c rec_completion.c \
                   rec_coll.c rec_comm.c rec_rma.c rec_io.c type.c handle.c table.c neighbours.c) \
                 $(shims:%=$(made_dir)/minitrace/%)

# The MPI back ends, each compiled with a compiler that includes its MPI's mpi.h: MPICC, for the MPI
# that it has; MPICC_MPICH, if MPICH is installed beside Open MPI; and MPICC_ABI, for the standard ABI
# of MPI-5, which MPICH and Open MPI have each in a folder of its own.
mpi_of = $(if $(1),$(shell $(1) -E -dM -x c -include mpi.h /dev/null 2>/dev/null | \
             awk '$$2 == "OPEN_MPI" { print "openmpi" } $$2 == "MPICH_VERSION" { print "mpich" } \
                  $$2 == "MPI_ABI_VERSION" { print "abi" }' | sort -r | head -n 1))
# The first of several commands, each without blanks (',' stands for one), that compiles for MPI $(1).
compiles_for = $(subst $(comma), ,$(firstword $(foreach c,$(2),\
                 $(if $(filter $(1),$(call mpi_of,$(subst $(comma), ,$(c)))),$(c)))))
one_word = $(subst $(space),$(comma),$(strip $(1)))
MPICC_MPICH   ?= $(shell command -v mpicc.mpich)
MPICC_openmpi := $(call compiles_for,openmpi,$(call one_word,$(MPICC)))
MPICC_mpich   := $(call compiles_for,mpich,$(call one_word,$(MPICC)) $(call one_word,$(MPICC_MPICH)))
MPICC_ABI     ?= $(shell command -v mpicc_abi)
MPICC_abi     := $(call compiles_for,abi,$(call one_word,$(MPICC_ABI)) \
                   $(if $(MPICC_mpich),$(call one_word,$(MPICC_mpich) -DMPI_ABI)) \
                   $(if $(MPICC_openmpi),$(call one_word,$(CC) -I$(firstword $(shell $(MPICC_openmpi) --showme:incdirs))/standard_abi)))
mpi_backends      := $(foreach f,openmpi mpich abi,$(if $(MPICC_$(f)),$(f)))
ifeq ($(mpi_backends),)
  $(warning no MPI back end of libminitrace: '$(MPICC)' is neither Open MPI's compiler nor MPICH's)
endif

# A back end that cannot be compiled or linked is left out, so that it stops no other; but a missing
# one of NEED is an error.  What the compiler said is in a file beside the object.
NEED          ?=
ifneq ($(filter-out $(mpi_backends),$(NEED)),)
  $(error no compiler for the MPI back ends that NEED lists: $(filter-out $(mpi_backends),$(NEED)))
endif
libminitrace  := $(O)/libminitrace.so $(mpi_backends:%=$(O)/libminitrace-%.so)
# Those that were built.
built_libminitrace = $(shell ls $(libminitrace) 2>/dev/null)
built_backends     = $(patsubst $(O)/libminitrace-%.so,%,$(filter $(O)/libminitrace-%,$(built_libminitrace)))
all: $(libminitrace) no-mpich
no-mpich:
	@$(if $(MPICC_mpich),:,echo '  no libminitrace-mpich.so: no MPICH here (mpicc.mpich, or MPICC_MPICH=...)')
.PHONY: no-mpich

# (With the standard ABI, Fortran calls C: fortran.c.)
minitrace_objs = $(patsubst %,$(O)/pic-$(1)/%.o,$(basename \
                   $(if $(filter abi,$(1)),$(filter-out $(made_dir)/minitrace/shim_f%,$(minitrace_src)), \
                   $(minitrace_src)) $(counter_src) \
                   lib/event/event.c $(writer_src) lib/common/err.c lib/common/crc32c.c lib/common/fds.c lib/trace/foreign.c))

# Position-independent, all symbols hidden by default, and never sanitized: they are loaded
# into programs that are not.
pic_flags := $(maps) -fPIC -fvisibility=hidden -DTI_VERSION='"$(VERSION)"'
# Sections sorted by name: .bss.sparse (dispatcher.h) is behind .bss.  No debug information, which
# would be more than half of what is sent to nodes without Tiara; the names of symbols stay.
so_flags  := -shared -Wl,-S -Wl,-z,now -Wl,-z,noexecstack -Wl,--sort-section=name

# attempt BACK-END,COMMAND: make $@ with COMMAND, or leave it out.
attempt = $(if $(V),$(info $(2)))@if { $(2); } 2>$@.log; then cat $@.log >&2; rm -f $@.log; \
    else rm -f $@$(if $(filter $(1),$(NEED)),; cat $@.log >&2; exit 1); fi

define mpi_backend_objects
# A macro TI_HAS_MPI_X for each function of its mpi.h.
$(O)/pic-$(1)/minitrace/mpi_has.h: minitrace/module.mk
	@mkdir -p $$(@D)
	@$$(MPICC_$(1)) -DOMPI_OMIT_MPI1_COMPAT_DECLS=0 -E -P -x c -include mpi.h /dev/null | \
	    grep -o '\<MPI_[A-Za-z0-9_]* *(' | sort -u | sed 's/^\([^ (]*\).*/#define TI_HAS_\1 1/' >$$@
$(O)/pic-$(1)/%.o: %.c
	@mkdir -p $$(@D)
	$$(call say,MPICC)
	$$(call attempt,$(1),$$(MPICC_$(1)) $$(flags) -I$(O)/pic-$(1) $$(CPPFLAGS) $$(CFLAGS) $$(pic_flags) -c -o $$@ $$<)
$(O)/pic-$(1)/%.o: %.S
	@mkdir -p $$(@D)
	$$(call say,CC)$$(CC) -MMD -MP -I. -Ilib -I$$(made_dir) $$(maps) $$(CPPFLAGS) $$(CFLAGS) -c -o $$@ $$<
endef
$(foreach f,$(mpi_backends),$(eval $(call mpi_backend_objects,$(f))))
$(foreach f,$(mpi_backends),$(eval $(call minitrace_objs,$(f)): | $(made) $(O)/pic-$(f)/minitrace/mpi_has.h))
$(O)/dispatcher/dispatcher.o $(O)/dispatcher/dispatcher_stubs.o: | $(made)

# A back end's shims have the names of MPI's functions, so they are hidden.  The back ends for MPICH
# and for the standard ABI are linked with no MPI library, because several have their ABI.
mpi_backend_link = $(1) $(CFLAGS) $(LDFLAGS) $(so_flags) -Wl,-soname,$(@F) \
    -Wl,--version-script=minitrace/mpi_backend.map -o $@ $(filter %.o,$^) $(LIBZ_A) -ldl
link_alone = $(call mpi_backend_link,$(CC)) -Wl,--no-undefined
# try_link BACK-END,COMMAND: the same, if all of its objects were made; else say which was not.
define try_link
	$(call say,LINK)
	$(call attempt,$(1),[ `ls $(filter %.o,$^) 2>/dev/null | wc -l` -eq $(words $(filter %.o,$^)) ] && $(2))
	@[ -e $@ ] || for log in $(patsubst %,%.log,$(filter %.o,$^) $@); do if [ -s $$log ]; then \
	    echo "  no $(@F): $$(grep -m 1 -E 'error|undefined|multiple|cannot' $$log) (all of it: $$log)"; break; fi; done
endef

$(O)/libminitrace-openmpi.so: $(call minitrace_objs,openmpi) minitrace/mpi_backend.map
	$(call try_link,openmpi,$(call mpi_backend_link,$(MPICC_openmpi)))
$(O)/libminitrace-mpich.so: $(call minitrace_objs,mpich) minitrace/mpi_backend.map
	$(call try_link,mpich,$(link_alone))
$(O)/libminitrace-abi.so: $(call minitrace_objs,abi) minitrace/mpi_backend.map
	$(call try_link,abi,$(link_alone))

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
