# One make process sees every dependency; each folder adds its module.mk.
# `make help` lists targets and variables.

all:

prefix     ?= /usr/local
bindir     ?= $(prefix)/bin
libdir     ?= $(prefix)/lib
# Of libraries that are loaded into programs, and that nobody names when linking.
preloaddir ?= $(libdir)
libexecdir ?= $(prefix)/libexec
includedir ?= $(prefix)/include
pythondir  ?= $(prefix)/lib/python3/dist-packages
datadir    ?= $(prefix)/share
mandir     ?= $(datadir)/man
docdir     ?= $(datadir)/doc/tiara
bashcompdir ?= $(datadir)/bash-completion/completions
zshcompdir  ?= $(datadir)/zsh/site-functions
fishcompdir ?= $(datadir)/fish/vendor_completions.d
MPICC      ?= mpicc
MPIFC      ?= $(mpi_bin)mpifort
# The prefix of a SimGrid that is not on PATH.
SIMGRID    ?=
CFLAGS     ?= -O2 -g
FFLAGS     ?= -O2 -g
# Builds of different kinds never share objects.  (No comment behind a value: it adds spaces.)
comma      := ,
space      := $(subst ,, )
O          := build$(if $(SAN),-$(subst $(comma),-,$(SAN)))
VERSION    := 0.1.0
-include config.mk

# What make runs finds the commands of that MPI library and of that SimGrid first.
mpi_bin     = $(if $(findstring /,$(firstword $(MPICC))),$(dir $(firstword $(MPICC))))
ifneq ($(mpi_bin)$(SIMGRID),)
export PATH := $(mpi_bin:%/=%:)$(SIMGRID:%=%/bin:)$(PATH)
endif
# Builds in different folders are equal: debugging information names sources from the top of the tree.
maps       := -ffile-prefix-map=$(CURDIR)=. -ffile-prefix-map=$(CURDIR)/=
pkgs       := libarchive jansson nettle
# Where pkg-config knows libraries to be, if that is a folder of their own: programs look there, too.
in_folders  = $(sort $(shell for p in $(pkgs) zlib libssh2 papi libdw otf2 cmocka; do \
                  pkg-config $(1) $$p 2>/dev/null; done))
lib_folders := $(call in_folders,--libs-only-L)
include_folders := $(call in_folders,--cflags-only-I)
override CPPFLAGS += $(include_folders)
override LDFLAGS  += $(lib_folders) $(lib_folders:-L%=-Wl,-rpath,%)
san_flags  := $(SAN:%=-fsanitize=%) $(if $(SAN),-fno-omit-frame-pointer -fno-sanitize-recover=all)
warnings   := -Wall -Wextra -Wshadow -Wvla -Wstrict-prototypes -Wmissing-prototypes \
              $(if $(filter 1,$(WERROR)),-Werror)
flags      := -std=c11 -D_GNU_SOURCE $(warnings) -MMD -MP -I. -Ilib
tool_flags := -DTI_VERSION='"$(VERSION)"' -DTI_LIBDIR='"$(preloaddir)"' \
              -DTI_LIBEXECDIR='"$(libexecdir)"' $(maps) $(san_flags)
pkg_cflags  = $(shell pkg-config --cflags $(pkgs))
pkg_libs    = $(shell pkg-config --libs $(pkgs)) -lz -lm
# zlib is linked into the library itself, hidden, so that it meets no other.
LIBZ_A     ?= -l:libz.a

say = $(if $(V),,@printf '  %-7s %s\n' $(1) $@;)
obj = $(patsubst %.c,$(O)/%.o,$(1))

progs      :=
helpers    :=
unit_tests :=
examples   :=
built      := $(O)/built.o
include $(foreach room,common config event fold trace merged bundle,lib/$(room)/module.mk)
# What every program is linked with.
lib_src := $(bundle_src) $(merged_src) $(trace_src) $(fold_src) $(event_src) $(config_src) $(common_src)
include $(foreach room,remote session node callsite sound trips versions analysis api timeline terminal,lib/$(room)/module.mk)
include $(foreach room,minitrace wrap gather acquire info extrapolate replay-bridge report examples tests \
    bench,$(room)/module.mk)

all: $(progs:%=$(O)/%) $(helpers:%=$(O)/%) $(O)/ti-report

# What --version says: the commit (in a release, from the file generated/commit), and what is built in.
has = $(if $(2),+,-)$(1)
built_in = $(foreach f,openmpi mpich abi,$(call has,$(f),$(filter $(f),$(built_backends)))) \
    $(call has,valgrind,$(ticount_files)) $(call has,blocks,$(blocks_as)) $(call has,smpi,$(has_smpi)) \
    $(call has,source-lines,$(filter yes,$(has_libdw))) $(call has,otf2,$(has_otf2)) \
    $(call has,static-node,$(node_static))
$(O)/built.c: always | $(libminitrace)
	@mkdir -p $(@D)
	@tools/write-built $@ '$(built_in)'
# Constants for programs with sanitizers and without.
$(built): $(O)/built.c
	$(call say,CC)$(CC) $(flags) $(filter-out $(san_flags),$(tool_flags)) $(CPPFLAGS) $(CFLAGS) -fPIC -c -o $@ $<
.PHONY: always

$(O)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(flags) $(tool_flags) $(pkg_cflags) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

define program
$(O)/$(1): $(call obj,$($(1)_src) $(lib_src)) $(built)
	$$(call say,LINK)$$(CC) $$(san_flags) $$(CFLAGS) $$(LDFLAGS) -o $$@ $$^ $$(pkg_libs) $$($(1)_libs) $$(LDLIBS)
endef
$(foreach p,$(progs) $(helpers),$(eval $(call program,$(p))))

# Completion of the tools for shells, from their tables of options.
AWK        ?= awk
completed       := $(progs) ti-report
bash_completion := $(completed:%=$(O)/completion/%.bash)
zsh_completion  := $(completed:%=$(O)/completion/%.zsh)
fish_completion := $(completed:%=$(O)/completion/%.fish)
all: $(bash_completion) $(zsh_completion) $(fish_completion)
define completion
$(O)/completion/%.$(1): $(O)/% tools/gen-completion
	@mkdir -p $$(@D)
	$$(call say,GEN)$$< --option-table | $$(AWK) -f tools/gen-completion -v shell=$(1) >$$@
$(O)/completion/ti-report.$(1): $(report_table) tools/gen-completion
	@mkdir -p $$(@D)
	$$(call say,GEN)$$(AWK) -f tools/gen-completion -v shell=$(1) <$$< >$$@
endef
$(foreach s,bash zsh fish,$(eval $(call completion,$(s))))

# Builds that take long use all processors, unless make was told how many.
all_cores = $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc))

# The two commands of the README.  Each first installs what is missing, then
# starts over so that make sees it.
demo:
	@tools/install-deps
	@$(MAKE) --no-print-directory $(all_cores) all examples
	@TI_BUILD=$(O) tools/demo
check:
	@tools/install-deps
	@$(MAKE) --no-print-directory $(all_cores) NEED='$(or $(NEED),$(mpi_backends))' check-build
	@TI_BUILD=$(O) tests/run '$(or $(T),*)'
# The unit tests, with sanitizers: three minutes.
check-sanitized:
	@$(MAKE) --no-print-directory $(all_cores) SAN=address,undefined unit-tests
	@TI_BUILD=build-address-undefined tests/run 'unit/*'
# (unit/t-bootstrap sends what nodes get.)
unit-tests: $(unit_tests:%=$(O)/tests/unit/%) $(node_progs) $(libminitrace) $(ticount_files)
check-build: all examples $(unit_tests:%=$(O)/tests/unit/%) $(test_programs)
bench:
	@tools/install-deps
	@$(MAKE) --no-print-directory all examples $(bench_programs)
	@TI_BUILD=$(O) bench/run $(B)
bench-modes:
	@$(MAKE) --no-print-directory bench B=modes
bench-gather:
	@$(MAKE) --no-print-directory bench B=gather
rehearsal:
	@$(MAKE) --no-print-directory $(test_programs) bench B=rehearsal

install: all install-python
	install -d $(DESTDIR)$(bindir) $(DESTDIR)$(libdir) $(DESTDIR)$(preloaddir) $(DESTDIR)$(mandir)/man1 $(DESTDIR)$(mandir)/man5 \
	    $(DESTDIR)$(mandir)/man7
	install $(progs:%=$(O)/%) $(replayers) $(O)/ti-report $(DESTDIR)$(bindir)
	install -d $(DESTDIR)$(datadir)/tiara/report
	install -m 644 $(report_parts) $(DESTDIR)$(datadir)/tiara/report
	install -d $(DESTDIR)$(libexecdir)/tiara
	install $(node_progs) $(helpers:%=$(O)/%) $(smpi_parts) $(mpi_helpers) $(DESTDIR)$(libexecdir)/tiara
	$(if $(SIMGRID),ln -sf $(SIMGRID)/bin/smpirun $(DESTDIR)$(libexecdir)/tiara/smpirun)
	install -m 644 $(built_libminitrace) $(DESTDIR)$(preloaddir)
	install -d $(DESTDIR)$(includedir) $(DESTDIR)$(libdir)/pkgconfig
	install -m 644 lib/api/tiara.h $(DESTDIR)$(includedir)
	install -m 644 $(O)/libtiara.so.$(soversion) $(O)/libtiara.a $(DESTDIR)$(libdir)
	ln -sf libtiara.so.$(soversion) $(DESTDIR)$(libdir)/libtiara.so
	install -m 644 $(O)/tiara.pc $(DESTDIR)$(libdir)/pkgconfig
	install -m 644 $(wildcard man/*.1) $(DESTDIR)$(mandir)/man1
	install -d $(DESTDIR)$(mandir)/man3
	install -m 644 $(wildcard man/*.3) $(DESTDIR)$(mandir)/man3
	install -m 644 $(wildcard man/*.5) $(DESTDIR)$(mandir)/man5
	install -m 644 $(wildcard man/*.7) $(DESTDIR)$(mandir)/man7
	install -d $(DESTDIR)$(datadir)/tiara/hostfiles $(DESTDIR)$(datadir)/tiara/examples/ring4 \
	    $(DESTDIR)$(datadir)/tiara/examples/studies
	install -m 644 $(wildcard hostfiles/*.conf) $(DESTDIR)$(datadir)/tiara/hostfiles
	install -m 644 $(foreach e,c h f f90 md py,$(wildcard examples/*.$(e))) examples/module.mk \
	    $(DESTDIR)$(datadir)/tiara/examples
	install -m 644 $(wildcard examples/ring4/*) $(DESTDIR)$(datadir)/tiara/examples/ring4
	install $(wildcard examples/studies/*) $(DESTDIR)$(datadir)/tiara/examples/studies
	chmod 644 $(DESTDIR)$(datadir)/tiara/examples/studies/README.md \
	    $(DESTDIR)$(datadir)/tiara/examples/studies/lib.sh
	install -m 644 examples/installed.mk $(DESTDIR)$(datadir)/tiara/Makefile
	install -d $(DESTDIR)$(docdir)/docs
	install -m 644 README.md CHANGELOG.md LICENSE $(DESTDIR)$(docdir)
	install -m 644 $(wildcard docs/*.md) $(DESTDIR)$(docdir)/docs
	install -d $(DESTDIR)$(bashcompdir) $(DESTDIR)$(zshcompdir) $(DESTDIR)$(fishcompdir)
	for f in $(completed); do \
	    install -m 644 $(O)/completion/$$f.bash $(DESTDIR)$(bashcompdir)/$$f && \
	    install -m 644 $(O)/completion/$$f.zsh $(DESTDIR)$(zshcompdir)/_$$f && \
	    install -m 644 $(O)/completion/$$f.fish $(DESTDIR)$(fishcompdir)/$$f.fish || exit; done
ifneq ($(ticount_files),)
	install -d $(DESTDIR)$(libexecdir)/tiara/valgrind
	install $(O)/libexec/valgrind/ticount-amd64-linux $(DESTDIR)$(libexecdir)/tiara/valgrind
	for f in $(notdir $(ticount_links)); do \
	    ln -sf $(VALGRIND_LIBEXEC)/$$f $(DESTDIR)$(libexecdir)/tiara/valgrind/$$f; done
endif

ifneq ($(blocks_as),)
	install -d $(DESTDIR)$(libexecdir)/tiara/blocks
	install $(blocks_as) $(DESTDIR)$(libexecdir)/tiara/blocks
	install $(O)/ti-mpicc $(DESTDIR)$(bindir)
	install -m 644 $(wrap_libs) $(DESTDIR)$(preloaddir)
	for w in $(wrap_links); do ln -sf ti-mpicc $(DESTDIR)$(bindir)/$$w; \
	    ln -sf ti-mpicc.1 $(DESTDIR)$(mandir)/man1/$$w.1; done
endif

install-python:
	install -d $(DESTDIR)$(pythondir)/tiara
	install -m 644 $(package_parts) $(DESTDIR)$(pythondir)/tiara

# Removes what `make install` with the same variables installs, and the folders of ours that are then
# empty.
uninstall: staged := $(abspath $(O))/uninstall
uninstall: all
	rm -rf $(staged)
	@$(MAKE) --no-print-directory -s install DESTDIR=$(staged)
	@cd $(abspath $(DESTDIR))/ && find $(staged) ! -type d -printf '%P\0' | xargs -0 rm -f
	@cd $(abspath $(DESTDIR))/ && find $(staged) -depth -type d -regex '$(staged).*/tiara\(/.*\)?' \
	    -printf '%P\0' | xargs -0 rmdir --ignore-fail-on-non-empty
	rm -rf $(staged)

# A release: what is committed, and what is generated.
dist: $(made) $(report_table)
	rm -rf $(O)/dist
	mkdir -p $(O)/dist/tiara-$(VERSION)/generated/minitrace
	git archive HEAD | tar -x -C $(O)/dist/tiara-$(VERSION)
	cp $(made) $(O)/dist/tiara-$(VERSION)/generated/minitrace
	cp $(report_table) $(O)/dist/tiara-$(VERSION)/generated
	git rev-parse --short=12 HEAD >$(O)/dist/tiara-$(VERSION)/generated/commit
	tar -c -C $(O)/dist --owner=0 --group=0 --sort=name --mode=u=rwX,go=rX \
	    --mtime=@$$(git log -1 --format=%ct) tiara-$(VERSION) | gzip -n9 >$(O)/tiara-$(VERSION).tar.gz
	rm -rf $(O)/dist
# That a release is complete: it builds where its sources cannot be written, runs, installs, and
# uninstalls without leaving a file.
distcheck: dist
	@tools/distcheck $(O)/tiara-$(VERSION).tar.gz
# That builds of a release in two folders are equal, byte by byte.
check-reproducible: dist
	@tools/check-reproducible $(O)/tiara-$(VERSION).tar.gz
# That the Debian packages of a release can be built and used where there is nothing else, on a
# release of Debian: 20 minutes, as root.
RELEASE    ?= bookworm
check-packages: dist
	@tools/check-packages $(O)/tiara-$(VERSION).tar.gz build-packages/$(RELEASE) $(RELEASE)
# The README's two commands in roots of other releases of Debian: an hour each, as root.
RELEASES   ?= trixie forky
RELEASES_DIR ?= build-releases
check-releases:
	@tools/install-deps --releases
	@tools/check-releases $(RELEASES_DIR) '$(or $(T),*)' $(RELEASES)
clean:
	rm -rf build build-*

help:
	@echo 'make              build the tools, the library, its counters and compilers into $(O)/'
	@echo 'make demo         install what is missing, trace an application here, replay it elsewhere'
	@echo 'make testbed-demo the same over eight nodes at two sites, made out of this machine (root)'
	@echo 'make check        install what is missing, run the tests; T=PATTERN runs some (T="cli/*"),'
	@echo '                  TESTS_JOBS=N as many at a time [a processor each, 4 at most]'
	@echo 'make check-sanitized  run the unit tests with address and undefined sanitizers;'
	@echo '                  SAN=address,undefined make check runs all tests so'
	@echo 'make check-pmu    run the library in an emulated arm64 machine with hardware counters;'
	@echo '                  minutes, and 1 GB in build-pmu; T=PATTERN as above (T="pmu/*")'
	@echo 'make check-report open pages of ti-report in headless Chromium, use and picture them'
	@echo 'make bench        print the figures of docs/figures.md; B=NAME prints some (B=event)'
	@echo 'make bench-modes  execution times by mode of acquisition, on the test bed (root)'
	@echo 'make bench-gather ti-gather beside scp, tar and rpdcp, on the test bed (root); half an hour,'
	@echo '                  BENCH_RUNS=1: a third; BENCH_PARTS="small bytes" some of it'
	@echo 'make rehearsal    the largest run of the papers, 778 nodes at 9 sites, on the test bed (root);'
	@echo '                  most of an hour, BENCH_PARTS="survey run gather lost" some of it'
	@echo 'make check-faults 200 acquisitions and gathers with faults at random, on test beds (root; an'
	@echo '                  hour); FAULTS=N so many, FAULTS_SEED=N others; goes on where it ended'
	@echo 'make check-gather-faults  200 gathers of sound, damaged and doubled traces with faults (root);'
	@echo '                  GATHER_FAULTS=N so many, FAULTS_SEED=N others, GATHER_CASES=CASE some'
	@echo 'make examples     build the example programs'
	@echo 'make install      into prefix (DESTDIR is put in front)'
	@echo 'make uninstall    what make install with the same variables has installed'
	@echo 'make check-symbols   the shims of MPI functions against the installed MPI'
	@echo 'make dist         tiara-$(VERSION).tar.gz, which is built without Python'
	@echo 'make distcheck    the same, and that it builds, runs, installs and uninstalls'
	@echo 'make check-reproducible  builds of the release in two folders are equal'
	@echo 'make check-packages   build the Debian packages in a new root of RELEASE=bookworm (trixie, forky),'
	@echo '                  run the README and the tutorial in another (root, network; 20 minutes)'
	@echo 'make check-releases  make demo and make check in roots of Debian RELEASES="trixie forky", which'
	@echo '                  are kept in RELEASES_DIR=build-releases (root, network); T=PATTERN as above, or none'
	@echo 'make fuzz         fuzz the readers with clang, FUZZ_SECONDS=60 each'
	@echo 'make clean'
	@echo
	@echo 'V=1               show the commands'
	@echo 'WERROR=1          warnings are errors'
	@echo 'SAN=address,undefined   build and check with sanitizers, in a folder of its own'
	@echo 'SIMGRID=PREFIX    of a SimGrid that is not on PATH; MPICC=PREFIX/bin/mpicc likewise (docs/install.md)'
	@echo 'CC, MPICC, MPIFC, CFLAGS, FFLAGS, LDFLAGS, prefix, libdir, ...  as usual; also from config.mk'

.PHONY: all demo check check-sanitized unit-tests dist distcheck check-reproducible check-packages check-releases check-build install-python bench bench-modes bench-gather rehearsal install uninstall clean help
.DELETE_ON_ERROR:
.SECONDARY:
-include $(shell find $(O) -name '*.d' 2>/dev/null)
