# minitrace/valgrind: ticount, our valgrind tool, in a private VALGRIND_LIB
# folder that links to the few installed files valgrind looks for there.
#
# Built where valgrind's development files are (pkg-config valgrind), and only
# for amd64; else ticount_files is empty and ticount_notice says why.  Gcc and
# clang both build it.  VALGRIND_LIBEXEC names the installed folder that holds
# vgpreload_core-amd64-linux.so, should the guesses fail.

ticount_dir    := $(O)/libexec/valgrind
ticount_files  :=
ticount_notice :=

ticount_pc   = $(shell pkg-config --variable=$(1) valgrind 2>/dev/null)
ticount_arch := $(call ticount_pc,platform)
ifeq ($(ticount_arch),)
  ticount_notice := no valgrind counter: valgrind's development files are not here
else ifneq ($(ticount_arch),amd64-linux)
  ticount_notice := no valgrind counter: ticount knows amd64-linux, not $(ticount_arch)
else
  ticount_libs   := $(call ticount_pc,libdir)/valgrind
  ticount_core   := vgpreload_core-amd64-linux.so
  VALGRIND_LIBEXEC ?= $(patsubst %/$(ticount_core),%,$(firstword $(wildcard \
      $(call ticount_pc,prefix)/libexec/valgrind/$(ticount_core) \
      $(ticount_libs)/$(ticount_core))))
  ifeq ($(wildcard $(ticount_libs)/libcoregrind-amd64-linux.a),)
    ticount_notice := no valgrind counter: libcoregrind-amd64-linux.a was not found
  else ifeq ($(VALGRIND_LIBEXEC),)
    ticount_notice := no valgrind counter: $(ticount_core) was not found, set VALGRIND_LIBEXEC
  else
    ticount_links := $(ticount_dir)/$(ticount_core) $(ticount_dir)/default.supp
    ticount_files := $(ticount_dir)/ticount-amd64-linux $(ticount_links)
  endif
endif

# The last line undoes what CFLAGS may ask for that cannot work without a libc.
ticount_flags  = -isystem $(call ticount_pc,includedir) \
                 -DVGA_amd64=1 -DVGO_linux=1 -DVGP_amd64_linux=1 -DVGPV_amd64_linux_vanilla=1 \
                 $(CPPFLAGS) $(CFLAGS) \
                 -fno-pie -fno-builtin -fno-lto -fno-stack-protector -U_FORTIFY_SOURCE -fno-sanitize=all
# Stripped: valgrind reads its own tool's debug information at every start.
ticount_ldflags = -static -nodefaultlibs -nostartfiles -Wl,-S \
                 -Wl,-Ttext-segment=$(call ticount_pc,valt_load_address)

$(O)/minitrace/valgrind/ticount.o: minitrace/valgrind/ticount.c | $(made)
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(flags) $(maps) $(ticount_flags) -c -o $@ $<

$(ticount_dir)/ticount-amd64-linux: $(O)/minitrace/valgrind/ticount.o
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(ticount_ldflags) -o $@ $< -L$(ticount_libs) \
	    -lcoregrind-amd64-linux -lvex-amd64-linux -lgcc-sup-amd64-linux -lgcc

$(ticount_links): $(ticount_dir)/%: $(VALGRIND_LIBEXEC)/%
	@mkdir -p $(@D)
	$(call say,LN)ln -sf $< $@

all: $(ticount_files) $(if $(ticount_notice),no-ticount)
no-ticount:
	@echo "  $(ticount_notice)"
.PHONY: no-ticount
